"""A run that is stopped or killed in the middle leaves a readable journal and goes on, with --resume, to the same
end.
"""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest
from calling import SCENARIO, Call, program

from programs import Running
from wattline.journal.journal import SCHEMA, open_journal

LONG = """\
name = "long"
seed = 3
[trace]
generator = "lublin"
jobs = 20000
load = 1.2
[cluster]
nodes = 128
failures = {mtbf = "40 d", repair = "6 h"}
[policy]
select = "conservative"
learn = "recent"
[run]
kill = true
[output]
report = false
"""
"""Seconds of compiled simulation in which nodes fail, jobs are killed and estimates are learned; its journal is small.
"""

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of the long run, undisturbed."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "long.toml").write_text(LONG)
    running = program("run", "long.toml", "-q", cwd=folder)
    assert running.communicate(timeout=PATIENCE_S) == ("", "")
    return folder / "out/long"


def begun(folder: Path, *more: str) -> Running:
    """Return the long run, going on, of which at least one hour was kept."""
    (folder / "long.toml").write_text(LONG)
    running = program("run", "long.toml", *more, cwd=folder)
    deadline = time.monotonic() + PATIENCE_S
    while not (folder / "out/long/.unfinished/flush-1.json").exists():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return running


def hours_of(folder: Path) -> float:
    """Return how many hours a journal covers."""
    manifest = open_journal(folder).manifest
    return float((manifest["end_s"] - manifest["start_s"]) / 3600)


def is_the_same(one: Path, other: Path) -> bool:
    """Tell whether two journals are the same, byte by byte but for wall time, date and the seal over them."""
    about = [open_journal(folder).manifest | {"wall_s": 0, "created": "", "seal": ""} for folder in (one, other)]
    files = [f"{name}.parquet" for name in SCHEMA]
    return about[0] == about[1] and all((one / f).read_bytes() == (other / f).read_bytes() for f in files)


def test_a_killed_run_can_be_read_and_resumed(folder: Path, whole: Path, wattline: Call) -> None:
    """After kill -9 every command that reads a journal works and says how far it goes; --resume leads to the same
    bytes.
    """
    running = begun(folder)
    for command in (["report", "out/long"], ["run", "long.toml"]):
        busy = wattline(*command)  # while the run goes on
        assert (busy.code, busy.err) == (
            2,
            "wattline: out/long: another run is writing there; wait for it, or stop it\n",
        )
    running.kill()
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    shutil.copytree("out/long", "copy")
    answer = wattline("report", "out/long")
    assert answer.code == 0
    assert answer.err.startswith("out/long: cut off after ")
    assert answer.err.endswith(" of simulated time; the command that began it goes on with --resume\n")
    assert answer.err.count("\n") == 1
    assert hours_of(folder / "out/long") == int(hours_of(folder / "out/long")) > 0
    assert open_journal(folder / "out/long").manifest["stopped"] == "interrupted"
    assert wattline("trace", "info", "copy").err.startswith("copy: cut off after ")
    resumed = wattline("run", "long.toml", "--resume")
    assert resumed.code == 0
    assert resumed.err.startswith("out/long: going on after ")
    assert is_the_same(folder / "out/long", whole)
    assert not (folder / "out/long/.unfinished").exists()


def test_sigterm_ends_a_run_at_a_full_hour(folder: Path, whole: Path, wattline: Call) -> None:
    """SIGTERM: exit code 143, one line, the journal up to a full hour; --resume leads to the same bytes."""
    running = begun(folder)
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 143
    told = err.splitlines()[-1]
    assert told.startswith("wattline: interrupted after ")
    assert told.endswith("; the journal up to there is in out/long; --resume goes on from there")
    assert hours_of(folder / "out/long") == int(hours_of(folder / "out/long")) > 0
    assert open_journal(folder / "out/long").manifest["stopped"] == "interrupted"
    kept = sorted(open_journal(folder / "out/long").read("events")["time_s"])
    everything = sorted(open_journal(whole).read("events")["time_s"])
    assert kept == [t for t in everything if t <= kept[-1]]
    assert wattline("run", "long.toml", "--resume", "-q").code == 0
    assert is_the_same(folder / "out/long", whole)


def test_nothing_to_resume(folder: Path, wattline: Call) -> None:
    """--resume begins at the beginning where nothing was kept, and does nothing where the run is over."""
    first = wattline("run", "small.toml", "--resume", "--no-report")
    assert first.code == 0
    assert first.err.startswith("out/small: nothing to resume; starting at the beginning\n")
    before = (folder / "out/small/manifest.json").stat().st_mtime_ns
    again = wattline("run", "small.toml", "--resume", "--no-report")
    over = "out/small: this run is over, nothing is left to resume"
    assert (again.code, again.err) == (0, f"{over}; `wattline report out/small` makes its page\n")
    assert wattline("report", "out/small").code == 0
    assert wattline("run", "small.toml", "--resume").err == f"{over}\n"
    assert (folder / "out/small/manifest.json").stat().st_mtime_ns == before
    other = wattline("run", "small.toml", "--resume", "--no-report", "--set", "cluster.nodes=20")
    assert other.err.startswith("out/small: nothing to resume")
    replayed = wattline("replay", "small.swf", "--resume", "--no-report")
    assert replayed.code == 0
    assert replayed.err.startswith("out/small: nothing to resume")


def test_killed_before_anything_was_kept(folder: Path, wattline: Call) -> None:
    """A run that was killed while it wrote for the first time has no journal, and is in nobody's way."""
    (folder / "out/small/.unfinished").mkdir(parents=True)
    (folder / "out/small/.unfinished/flush-1.bin.part").write_bytes(b"half")
    answer = wattline("report", "out/small")
    assert (answer.code, answer.err) == (2, "wattline: out/small: was cut off before its first flush; run it again\n")
    for more in ([], ["--resume"]):
        assert wattline("run", "small.toml", "--no-report", *more).code == 0
        assert open_journal(folder / "out/small").manifest["stopped"] == "done"


@pytest.fixture
def stopped(folder: Path) -> Path:
    """The folder of a small run that was told to stop at once."""
    from wattline.scenario import read_scenario, variants, wire
    from wattline.scenario.resume import keeper_for

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    (folder / "week.toml").write_text(SCENARIO.replace('"small"', '"week"').replace("jobs = 60", "jobs = 30000"))
    study = wire(variants(read_scenario("week.toml"))[0])
    with keeper_for(study, Path("out/week")) as keeper:
        result = study.simulate(stop, keeper)
    study.write(result, Path("out/week"), resume=keeper.kept)
    return Path("out/week")


def test_another_scenario_is_not_resumed(stopped: Path, wattline: Call) -> None:
    """What was begun otherwise is refused in one line, with exit code 2, and left as it is."""
    answer = wattline("run", "week.toml", "--resume", "--set", "cluster.nodes=20")
    assert answer.code == 2
    assert answer.err.startswith("wattline: out/week: cannot be resumed: the scenario has changed since")
    assert answer.err.count("\n") == 1
    assert wattline("run", "week.toml", "--resume", "-q", "--no-report").code == 0
    assert open_journal(stopped).manifest["stopped"] == "done"


def test_starting_over_is_said(stopped: Path, wattline: Call) -> None:
    """Without --resume the run starts over, says what it drops, and leaves nothing of it."""
    answer = wattline("run", "week.toml", "--no-report")
    assert answer.err.startswith("out/week: starting over; the run there, cut off after ")
    assert "--resume would go on with it" in answer.err
    assert open_journal(stopped).manifest["stopped"] == "done"
    assert not (stopped / ".unfinished").exists()


def test_a_damaged_flush_is_one_line(stopped: Path, wattline: Call) -> None:
    """Where no flush is whole, --resume says which file is to blame and what to do; the journal is still there."""
    file = next((stopped / ".unfinished").glob("flush-*.bin"))
    file.write_bytes(file.read_bytes()[:1000])
    answer = wattline("run", "week.toml", "--resume")
    assert answer.code == 2
    assert answer.err.startswith(f"wattline: {file}: is cut off (1,000 bytes of ")
    assert answer.err.endswith("no flush is whole: run it again without --resume\n")
    assert answer.err.count("\n") == 1
    read = wattline("report", "out/week")
    assert read.code == 0
    assert read.err.startswith("out/week: the journal of the first ")
    assert read.err.count("\n") == 1


def test_a_baseline_that_was_cut_off_is_resumed_alone(folder: Path, wattline: Call) -> None:
    """Where the run is over but the one that it is held against is not, only the latter goes on, to the same end."""
    from wattline.scenario import read_scenario, variants, wire
    from wattline.scenario.resume import keeper_for

    text = (Path(__file__).parents[2] / "examples/slackline-w4.toml").read_text()
    (folder / "sold.toml").write_text(text.replace("warmup =", 'baseline = "easy"\nwarmup ='))
    assert wattline("run", "sold.toml", "-q", "--no-report").code == 0
    shutil.copytree("out/slackline-w4", "whole")
    shutil.rmtree("out/slackline-w4/baseline")
    baseline = wire(variants(read_scenario("sold.toml"))[0]).baseline
    assert baseline is not None
    beside = Path("out/slackline-w4/baseline")

    def cut(_done: int, _total: int) -> None:
        if (beside / ".unfinished/flush-1.json").exists():
            raise RuntimeError

    with pytest.raises(RuntimeError), keeper_for(baseline, beside, every_hour=True) as keeper:
        baseline.simulate(cut, keeper)
    cut_off = wattline("report", "out/slackline-w4")
    told = "its baseline was cut off; the command that began it goes on with --resume"
    assert cut_off.err == f"out/slackline-w4: {told}\n"
    assert "no market" not in cut_off.out
    resumed = wattline("run", "sold.toml", "--resume", "--no-report")
    assert resumed.code == 0
    assert resumed.err.startswith("out/slackline-w4/baseline: going on after 1 h of simulated time\n")
    assert "no market (easy)" in resumed.out
    assert is_the_same(folder / "out/slackline-w4", folder / "whole")
    assert is_the_same(folder / "out/slackline-w4/baseline", folder / "whole/baseline")


def test_a_full_disk_is_one_line(folder: Path) -> None:
    """What does not fit on the disk is warned about in one line and the run goes on; a journal that does not fit is an
    error.
    """
    (folder / "long.toml").write_text(LONG)
    running = program("run", "long.toml", cwd=folder, largest_file=100_000)
    _, err = running.communicate(timeout=PATIENCE_S)
    lines = [line for line in err.splitlines() if line.startswith("wattline")]
    why = "File too large"
    assert lines == [
        f"wattline: warning: out/long: what is done cannot be kept ({why}); the run goes on, but could not be resumed",
        f"wattline: out/long: cannot be written: {why}; give another folder",
    ]
    assert running.returncode == 2
