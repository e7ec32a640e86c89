"""Runs that were cut off: their journal can be read, they go on to the same journal, and nothing else is taken for
them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest

from wattline.errors import ScenarioError, TraceError
from wattline.journal.frozen import freeze, thaw
from wattline.journal.journal import SCHEMA, open_journal
from wattline.journal.unfinished import place, read_flush
from wattline.journal.unfinished_record import SEAL, encode
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.built.cut_off import make_readable
from wattline.scenario.resume import identity, is_over, keeper_for, pick_up

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNS = {
    "outages": ("failures", "trace.jobs=250"),
    "sleep, two classes": ("two-classes-sleep", "trace.jobs=250"),
    "learned estimates, kills, levels": ("bursty-recent", "trace.jobs=400", "policy.learn=recent"),
    "power limit": (
        "power-limit",
        "trace.jobs=300",
        "policy.select=conservative",
        "run.backlog=true",
        "run.ties=event",
    ),
    "regulation, ours": ("slackline-w4", "trace.duration=6 h"),
    "regulation, published": ("aqa-w4", "trace.duration=6 h"),
    "bids, prices, accounts": ("market",),
    "moldable jobs, budgets, nodes that differ": (
        "site-budget",
        "policy.select=surplus",
        "configurations.0.times=scaled",
    ),
    "compiled policy of one's own": ("own-policy", "trace.jobs=300", "policy.order=widest_first.py"),
}


MARKET = """\
name = "market"
seed = 3
kinds = {workload = "W2", average = true}
[trace]
generator = "kinds"
duration = "8 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "qoscap"
cap = "match-target"
bid = "adaptive"
[regulation]
warmup = "1 h"
lead = "10 min"
baseline = "easy"
[prices]
rules = "pjm"
energy = 0.05
capacity = "20 $/MW"
carbon = 350
"""


class Killed(Exception):  # noqa: N818
    """The process is gone."""


@pytest.fixture(autouse=True)
def _no_power_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wattline.journal.unfinished.os.fsync", lambda _: None)


def study_of(name: str, *sets: str) -> Study:
    """Return an example, smaller, or the scenario above."""
    if name != "market":
        return wire(variants(read_scenario(EXAMPLES / f"{name}.toml", sets))[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "market.toml"
        path.write_text(MARKET)
        return wire(variants(read_scenario(path, sets))[0])


def kill(study: Study, folder: Path, hours: int) -> None:
    """Carry out a run that is gone once so many hours were kept."""
    with keeper_for(study, folder, every_hour=True) as keeper:

        def look(_done: int, _total: int) -> None:
            if keeper.kept is not None and keeper.kept["flush"] >= hours:
                raise Killed

        with pytest.raises(Killed):
            study.simulate(look, keeper)


def go_on(study: Study, folder: Path) -> None:
    """Carry on what lies in a folder and write the journal."""
    with keeper_for(study, folder, pick_up(study, folder)) as keeper:
        study.write(study.simulate(keeper=keeper), folder)


def same_files(one: Path, other: Path) -> bool:
    """Tell whether the tables of two journals are the same, byte by byte."""
    return all((one / f"{name}.parquet").read_bytes() == (other / f"{name}.parquet").read_bytes() for name in SCHEMA)


def manifest_of(folder: Path) -> dict[str, object]:
    """Return a manifest without what differs between any two runs."""
    return {k: v for k, v in open_journal(folder).manifest.items() if k not in ("wall_s", "created", "seal")}


@pytest.fixture
def cut(tmp_path: Path) -> tuple[Study, Path]:
    """A run with failures that was killed after three hours."""
    study = study_of("failures", "trace.jobs=100")
    kill(study, tmp_path / "cut", 3)
    return study, tmp_path / "cut"


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_ends_in_the_same_journal(name: str, tmp_path: Path) -> None:
    """Whatever is on, all tables are the same bytes as those of an undisturbed run, and the manifest says the same."""
    study = study_of(*RUNS[name])
    study.write(study.simulate(), tmp_path / "whole")
    kill(study, tmp_path / "cut", 4)
    go_on(study_of(*RUNS[name]), tmp_path / "cut")
    assert same_files(tmp_path / "whole", tmp_path / "cut")
    assert manifest_of(tmp_path / "whole") == manifest_of(tmp_path / "cut")
    assert sorted(p.name for p in (tmp_path / "cut").iterdir()) == sorted(
        p.name for p in (tmp_path / "whole").iterdir()
    )


@pytest.mark.parametrize("name", RUNS)
def test_what_was_kept_is_a_journal_up_to_the_hour(name: str, tmp_path: Path) -> None:
    """The journal of a killed run is the one of a run that ends at that hour, and says that it was interrupted."""
    study = study_of(*RUNS[name])
    kill(study, tmp_path / "cut", 4)
    with pytest.raises(TraceError, match=r"holds a run that was cut off; `wattline report .*` makes its journal"):
        open_journal(tmp_path / "cut")
    said = make_readable(tmp_path / "cut")
    hours = (manifest_of(tmp_path / "cut")["end_s"] - manifest_of(tmp_path / "cut")["start_s"]) / 3600  # type: ignore[operator]
    assert hours == round(hours) >= 4
    assert (
        said == f"{tmp_path / 'cut'}: cut off after {hours:.0f} h of simulated time; the command that began it goes on "
        "with --resume"
    )
    assert manifest_of(tmp_path / "cut")["stopped"] == "interrupted"
    until = study_of(*RUNS[name], f"run.until={hours * 3600}")
    until.write(until.simulate(), tmp_path / "until")
    assert same_files(tmp_path / "until", tmp_path / "cut")


def test_a_journal_that_was_made_is_not_made_again(cut: tuple[Study, Path]) -> None:
    """Reading twice writes once, leaves what is needed to go on, and going on leaves nothing of it."""
    study, folder = cut
    assert "cut off after 3 h" in make_readable(folder)
    before = (folder / "manifest.json").stat().st_mtime_ns
    assert "cut off after 3 h" in make_readable(folder)
    assert (folder / "manifest.json").stat().st_mtime_ns == before
    go_on(study, folder)
    assert make_readable(folder) == ""
    assert not place(folder).exists()


def test_an_older_journal_in_the_folder_gives_way(tmp_path: Path) -> None:
    """Where a finished run was begun again and killed, what is read is the new run."""
    old = study_of("failures", "trace.jobs=30")
    old.write(old.simulate(), tmp_path)
    kill(study_of("failures", "trace.jobs=100"), tmp_path, 2)
    assert manifest_of(tmp_path)["stopped"] == "done"
    assert "cut off after 2 h" in make_readable(tmp_path)
    assert manifest_of(tmp_path)["stopped"] == "interrupted"
    assert open_journal(tmp_path).read("jobs").height == 100


def test_it_can_be_read_without_scenario_and_trace(tmp_path: Path) -> None:
    """The folder holds all that its journal is made of: scenario and trace may be gone, the folder elsewhere."""
    (tmp_path / "in").mkdir()
    rows = "".join(f"{i},{i * 600},{1 + i % 3},1500\n" for i in range(40))
    (tmp_path / "in/jobs.csv").write_text("job_id,submit_s,nodes,work_s\n" + rows)
    (tmp_path / "in/s.toml").write_text('[trace]\nfile = "jobs.csv"\n[cluster]\nnodes = 4\n')
    kill(wire(variants(read_scenario(tmp_path / "in/s.toml"))[0]), tmp_path / "cut", 2)
    shutil.rmtree(tmp_path / "in")
    (tmp_path / "cut").rename(tmp_path / "elsewhere")
    assert "cut off after 2 h" in make_readable(tmp_path / "elsewhere")
    assert open_journal(tmp_path / "elsewhere").read("jobs")["start_s"].drop_nulls().len() > 3


# ------------------------------------------------------------------ what is refused

OTHERS = {
    "scenario": (("trace.jobs=101",), "the scenario has changed since"),
    "seed": (("seed=9",), "it was begun with seed 3, not 9"),
    "outputs": (("output.decisions=false",), "machine, limits, signal or outputs are not the same"),
}


@pytest.mark.parametrize("part", OTHERS)
def test_another_run_is_not_carried_on(part: str, cut: tuple[Study, Path]) -> None:
    """Another scenario, seed or output is refused in one line that says what differs and what to do."""
    sets, told = OTHERS[part]
    with pytest.raises(ScenarioError) as caught:
        pick_up(study_of("failures", "trace.jobs=100", *sets), cut[1])
    assert str(caught.value).startswith(f"{cut[1]}: cannot be resumed: {told}")
    assert str(caught.value).endswith("; start over without --resume")


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("wattline", "it was begun by Wattline 0.0.9, this is "),
        ("sources", "another state of Wattline's sources"),
        ("trace", "the trace has changed since"),
    ],
)
def test_other_versions_and_traces_are_refused(part: str, told: str, cut: tuple[Study, Path]) -> None:
    """What another Wattline began, or on other jobs under the same name, is refused."""
    file = place(cut[1]) / "run.json"
    record = json.loads(file.read_text())
    record["identity"][part] = "0.0.9"
    file.write_bytes(encode({key: value for key, value in record.items() if key != SEAL}))
    with pytest.raises(ScenarioError, match=told):
        pick_up(*cut)


def test_the_identity_sees_every_job(cut: tuple[Study, Path]) -> None:
    """One second more of one job is another trace."""
    study, _ = cut
    before = identity(study)
    study.trace.jobs.work_s[7] += 1.0
    after = identity(study)
    assert {part for part in before if before[part] != after[part]} == {"trace"}


def priced(folder: Path, prices: tuple[float, float]) -> Study:
    """Return a run whose energy costs what a file says."""
    (folder / "e.csv").write_text(
        "time,price\n" + "".join(f"{h}:00,{p}\n" for h, p in zip((0, 7), prices, strict=True))
    )
    text = (EXAMPLES / "failures.toml").read_text()
    (folder / "s.toml").write_text(f'{text}\n[prices]\nenergy = {{file = "e.csv", unit = "$/kWh", repeat = true}}\n')
    return wire(variants(read_scenario(folder / "s.toml", ["trace.jobs=100"]))[0])


def test_other_prices_are_refused(tmp_path: Path) -> None:
    """A run whose file of prices has changed is not carried on, and one that is over with other prices is not over."""
    study = priced(tmp_path, (0.1, 0.2))
    kill(study, tmp_path / "cut", 3)
    other = priced(tmp_path, (0.1, 0.3))
    with pytest.raises(
        ScenarioError, match="cannot be resumed: the prices are not the same: a series has changed since;"
    ):
        pick_up(other, tmp_path / "cut")
    go_on(priced(tmp_path, (0.1, 0.2)), tmp_path / "cut")
    assert is_over(study, tmp_path / "cut")
    assert not is_over(other, tmp_path / "cut")


HIDDEN = """\
from wattline import policy
seen = []

@policy(slot="order", wake="arrival")
def mine(s, arg, param, memory):
    seen.append(s.now[0])
    return 0
"""


def test_hidden_state_cannot_be_resumed_but_read(tmp_path: Path) -> None:
    """A plain-Python policy that remembers outside its memory: what was kept can be read; going on is refused and says
    why.
    """
    (tmp_path / "mine.py").write_text(HIDDEN)
    study = study_of("failures", "trace.jobs=100", f"policy.order={tmp_path / 'mine.py'}")
    kill(study, tmp_path / "cut", 2)
    with pytest.raises(ScenarioError, match=r"mine\.py:4: policy 'mine' uses 'seen', a list, which is not kept"):
        pick_up(study, tmp_path / "cut")
    assert make_readable(tmp_path / "cut").endswith("it cannot be resumed")
    assert manifest_of(tmp_path / "cut")["stopped"] == "interrupted"


def test_a_changed_policy_is_refused(tmp_path: Path) -> None:
    """A policy of one's own that was edited since is another policy."""
    text = HIDDEN.replace("    seen.append(s.now[0])\n", "    memory[0] += 1\n").replace(
        '"arrival"', '"arrival", memory=1'
    )
    (tmp_path / "mine.py").write_text(text)
    sets = ("failures", "trace.jobs=100", f"policy.order={tmp_path / 'mine.py'}")
    kill(study_of(*sets), tmp_path / "cut", 2)
    pick_up(study_of(*sets), tmp_path / "cut")
    (tmp_path / "mine.py").write_text(text.replace("+= 1", "+= 2"))
    with pytest.raises(ScenarioError, match="a policy's file has changed since"):
        pick_up(study_of(*sets), tmp_path / "cut")


# ------------------------------------------------------------------ damage


def damage(folder: Path, name: str, how: str) -> None:
    """Cut a file in half, or change one byte of it."""
    file = place(folder) / name
    content = bytearray(file.read_bytes())
    if how == "cut":
        content = content[: len(content) // 2]
    else:
        content[len(content) // 3] ^= 255
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["cut", "bit"])
@pytest.mark.parametrize("kind", ["json", "bin"])
def test_a_damaged_flush_gives_way_to_the_one_before(kind: str, how: str, tmp_path: Path) -> None:
    """A flush that is cut off or damaged is warned about in one line; the one before it leads to the same end."""
    study = study_of("failures", "trace.jobs=100")
    study.write(study.simulate(), tmp_path / "whole")
    kill(study, tmp_path / "cut", 3)
    last = read_flush(tmp_path / "cut").record["flush"]
    if (kind, how) == ("json", "bit"):
        (place(tmp_path / "cut") / f"flush-{last}.json").write_bytes(b"\xff\xfe\xfd")
    else:
        damage(tmp_path / "cut", f"flush-{last}.{kind}", how)
    with pytest.warns(
        UserWarning, match=rf"flush-{last}\.{kind}: is (cut off|damaged) .*; the flush before it is used"
    ):
        flush = pick_up(study, tmp_path / "cut")
    assert flush.record["flush"] == last - 1
    with keeper_for(study, tmp_path / "cut", flush, every_hour=True) as keeper:
        study.write(study.simulate(keeper=keeper), tmp_path / "cut")
    assert same_files(tmp_path / "whole", tmp_path / "cut")


def test_damaged_logs_are_refused(cut: tuple[Study, Path]) -> None:
    """Logs that are cut off before what both flushes need leave nothing to go on from: one line says so."""
    damage(cut[1], "logs.bin", "cut")
    with pytest.raises(
        TraceError, match=r"logs\.bin: is cut off \(.*\); no flush is whole: run it again without --resume"
    ):
        pick_up(*cut)
    with pytest.raises(TraceError, match=r"no flush is whole"):
        make_readable(cut[1])


def test_rows_that_no_flush_speaks_of_are_ignored(cut: tuple[Study, Path], tmp_path: Path) -> None:
    """What a killed process wrote of a flush that never came to count changes nothing."""
    study, folder = cut
    with (place(folder) / "logs.bin").open("ab") as file:
        file.write(b"half of a flush")
    (place(folder) / "flush-9.bin.part").write_bytes(b"half")
    study.write(study.simulate(), tmp_path / "whole")
    go_on(study, folder)
    assert same_files(tmp_path / "whole", folder)


def test_a_damaged_description_is_refused(cut: tuple[Study, Path]) -> None:
    """Without what tells the run from others it is not carried on."""
    (place(cut[1]) / "run.json").write_text("{")
    with pytest.raises(TraceError, match=r"run\.json: is damaged \(not JSON\); run it again without --resume"):
        pick_up(*cut)


def test_damaged_arrays_of_what_is_run_are_said_and_not_needed(cut: tuple[Study, Path]) -> None:
    """A run goes on without them, with a warning; what wants to read it is told so."""
    study, out = cut
    arrays = out / ".unfinished" / "run.bin"
    arrays.write_bytes(b"x" + arrays.read_bytes()[1:])
    with pytest.raises(
        TraceError, match=r"run\.bin: is damaged .*; --resume of the command that began it does without"
    ):
        make_readable(out)
    with pytest.warns(UserWarning, match=r"run\.bin: is damaged .*; the run goes on without it"):
        assert pick_up(study, out).record["flush"] > 0
    arrays.unlink()
    with pytest.warns(UserWarning, match=r"run\.bin: cannot be read .*; the run goes on without it"):
        pick_up(study, out)


def test_cut_off_before_the_first_hour(tmp_path: Path) -> None:
    """A folder in which nothing was kept yet has no journal to be made."""
    kill(study_of("failures", "trace.jobs=100"), tmp_path, 1)
    for file in place(tmp_path).glob("flush-*"):
        file.unlink()
    with pytest.raises(TraceError, match="was cut off before its first flush"):
        make_readable(tmp_path)


# ------------------------------------------------------------------ facts as plain data


@pytest.mark.parametrize("name", [*RUNS, "policies listed"])
def test_studies_survive_being_written_down(name: str) -> None:
    """What a run is started with comes back from plain data as it was, but for functions and paths."""
    study = study_of(*RUNS.get(name, ("easy-vs-fcfs", "policy.select=easy")))
    text, arrays = freeze(study)
    twin = thaw(text, arrays)
    assert freeze(twin)[0] == text
    assert name != "bids, prices, accounts" or (twin.billing is not None and twin.baseline is not None)
    assert {k: v for k, v in identity(study).items() if k != "policies"} == {
        k: v for k, v in identity(twin).items() if k != "policies"
    }
    assert type(twin) is Study
    assert twin.policies.select.function is None


def test_plain_data_makes_nothing_but_facts() -> None:
    """Data that names anything but a dataclass of this package, or one with other fields, is refused."""
    for name in ("os:system", "wattline.errors:TraceError", "wattline.scenario.study:wire"):
        with pytest.raises(TraceError, match="no fact that this Wattline knows"):
            thaw(json.dumps({"class": name, "fields": {}}), [])
    with pytest.raises(TraceError, match="has other fields in this Wattline"):
        thaw(json.dumps({"class": "wattline.model.regulation:Bid", "fields": {"mean_w": 1.0}}), [])
    with pytest.raises(TypeError, match="set cannot be written as plain data"):
        freeze({1, 2})


def test_a_cut_journal_can_be_replayed(cut: tuple[Study, Path], tmp_path: Path) -> None:
    """A scenario whose trace is the folder of a run that was cut off makes its journal, and a note says so."""
    (tmp_path / "again.toml").write_text('[trace]\nfile = "cut"\n')
    study = wire(variants(read_scenario(tmp_path / "again.toml"))[0])
    assert any("cut off after 3 h" in note.reason for note in study.trace.notes)
    assert len(study.trace.jobs) == 100
    assert isinstance(open_journal(cut[1]).jobs, pl.LazyFrame)
