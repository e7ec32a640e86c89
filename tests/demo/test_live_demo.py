"""``wattline live-demo``: a whole machine on one computer, and nothing left of it but a folder."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import plotly.graph_objects as go
import pytest

from programs import command
from wattline.api.controlling import get_ready
from wattline.api.site.plan import plan_site
from wattline.demo.rmap import AskedRmap, beside
from wattline.demo.rmap_page import lines, power_figure, start_figure, write_beside
from wattline.demo.run import run_demo
from wattline.demo.slurm_cluster import why_not as slurm_missing
from wattline.kernel.compiled import JIT
from wattline.scenario import read_scenario, variants, wire


def processes_of(folder: Path) -> list[str]:
    """Return the processes that name a folder or work in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if str(folder) in words:
                    found.append(f"{entry.name} {words}")
            except OSError:
                continue
    return found


def test_three_minutes_of_a_small_machine(tmp_path: Path) -> None:
    """It leaves no process, no stopped job and no cap; its journal is sealed, its replay is identical, power follows
    the target, and jobs run as in the simulation.
    """
    base = tmp_path / "demo"
    size = ["--minutes", "3", "--speed", "10", "--nodes", "8", "--agents", "2"]
    done = command(["wattline", "live-demo", *size, "--out", str(base), "--json"], tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["left_behind"] == []
    assert processes_of(base) == []
    assert not (base / "status.sock").exists()
    assert math.isfinite(found["live"]["mean_error"])
    assert found["live"]["mean_error"] < found["simulated"]["mean_error"] + 0.25
    assert found["live"]["started"] > 0.5 * found["simulated"]["started"]
    late = wire(variants(read_scenario(base / "late.toml"))[0]).options
    starts = found["start_late_s"]
    assert late.late_start_s == pytest.approx((starts["median"] / 2, max(starts.values())), abs=1e-3)
    assert (late.late_cap_s[0], late.noise) > (0.0, 0.0)
    (journal,) = (base / "journal" / "journals").iterdir()
    assert json.loads((journal / "manifest.json").read_text())
    replayed = command(["wattline", "replay-live", str(base / "journal"), "--json"], tmp_path)
    told = json.loads(replayed.out)
    assert (told["identical"], told["ended"]) == (True, True)
    assert told["actions"] > 0
    page = (Path(__file__).parents[2] / "docs" / "live" / "journal.md").read_text(encoding="utf-8")
    assert [path.name for path in (base / "journal").iterdir() if f"`{path.name}" not in page] == []


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    """A demonstration that is interrupted ends its processes and its jobs, and says so by its exit code."""
    base = tmp_path / "demo"
    line = [sys.executable, "-m", "wattline", "live-demo", "--nodes", "4", "--agents", "1", "--out", str(base)]
    process = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 240.0
    while not (base / "agents-00.out").exists() or "began" not in (base / "agents-00.out").read_text():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stopping, and ending all processes (Ctrl-C again to begin with that at once) ..." in said
    assert processes_of(base) == []


@pytest.mark.parametrize(
    "manager",
    [[], pytest.param(["--slurm"], marks=pytest.mark.skipif(bool(slurm_missing()), reason=slurm_missing()))],
)
def test_a_closed_terminal_leaves_nothing(manager: list[str]) -> None:
    """Whoever closes the terminal, or loses the connection, leaves no process, job or daemon behind."""
    with tempfile.TemporaryDirectory(prefix="wattline-demo-") as folder:
        base = Path(folder) / "demo"
        line = [sys.executable, "-m", "wattline", "live-demo", *manager, "--nodes", "4", "--agents", "1"]
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *line, "--out", str(base)],
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.set_blocking(ours, False)
        until = time.monotonic() + 240.0
        while not (base / "agents-00.out").exists() or "began" not in (base / "agents-00.out").read_text():
            with contextlib.suppress(OSError):
                os.read(ours, 100_000)  # a terminal that is full would stop who writes
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        os.close(ours)
        assert process.wait(90) == 130
        assert processes_of(base) == []


@pytest.mark.skipif(bool(slurm_missing()), reason=slurm_missing())
def test_a_minute_on_a_real_slurm() -> None:
    """Jobs run on Slurm's nodes; no daemon, job or cap is left, and each job was started once."""
    # not in pytest's own folder: names of sockets have at most 108 letters
    with tempfile.TemporaryDirectory(prefix="wattline-demo-") as folder:
        base = Path(folder) / "demo"
        size = ["--minutes", "1", "--nodes", "8", "--agents", "1"]
        done = command(["wattline", "live-demo", "--slurm", *size, "--out", str(base), "--json"], base.parent)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert found["left_behind"] == []
        assert processes_of(base) == []
        assert found["live"]["started"] > 0.5 * found["simulated"]["started"]
        told = [json.loads(line) for line in (base / "controller.log").read_text().splitlines()]
        released = [line["job"] for line in told if line.get("what") == "release" and line["event"] == "does"]
        assert len(released) == len(set(released)) >= found["live"]["started"]


@pytest.mark.skipif(bool(slurm_missing()) or not JIT, reason=slurm_missing() or "plain Python takes too long")
def test_a_few_moldable_jobs_on_a_real_slurm_beside_their_simulation() -> None:
    """Each of the first jobs of the thesis' trace runs once, in a configuration of its application's table, under the
    limit; those that find the machine empty start in the simulator's configuration; the page has both runs.
    """
    with tempfile.TemporaryDirectory(prefix="wattline-demo-") as folder:
        base = Path(folder) / "demo"
        asked = AskedRmap(minutes=0.25, jobs=5, agents=2)
        ran = run_demo(asked, base, get_ready=lambda file: get_ready(plan_site(file)))
        found = beside(ran)
        page = write_beside(found, base).read_text()
        assert (ran.left, found.doubled, processes_of(base)) == ([], (), [])
        assert found.ran() == 5
        live, simulated, _ = found.runs
        assert found.limit_w == 12_000.0 + 64 * 169.0
        assert 64 * 169.0 < live.most_w() <= found.limit_w * 1.01
        assert live.jobs[0] is not None
        assert simulated.jobs[0] is not None
        assert live.jobs[0].form == simulated.jobs[0].form
        tables = {
            (row[0], f"{row[1]} x {row[2]}, {row[3]} W")
            for row in map(str.split, (base / "times.txt").read_text().splitlines())
        }
        for kind, job in zip(found.kinds, live.jobs, strict=True):
            assert job is not None
            assert (kind, job.form) in tables
            assert page.count(job.form) >= 2
        assert json.loads((base / "rmap.json").read_text())["ran"] == 5
        assert len(lines(found)) == 5 + 5
        for figure in (power_figure(found), start_figure(found)):
            go.Figure(json.loads(figure.figure.to_json()))


@pytest.mark.skipif(bool(slurm_missing()) or not JIT, reason=slurm_missing() or "plain Python takes too long")
def test_ctrl_c_ends_slurm_too() -> None:
    """Interrupted while its daemons run, the demonstration ends them all."""
    with tempfile.TemporaryDirectory(prefix="wattline-demo-") as folder:
        base = Path(folder) / "demo"
        line = [sys.executable, "-m", "wattline", "live-demo", "--slurm", "--rmap", "--agents", "1", "--out", str(base)]
        process = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 240.0
        while not (base / "agents-00.out").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        assert any("slurmd" in one for one in processes_of(base))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=90)
        assert process.returncode == 130, said
        assert processes_of(base) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rmap"], "give --slurm, too"),
        (["--rest"], "give --slurm, too"),
        (["--slurm", "--rmap", "--policy", "rmap-adaptiv"], "did you mean 'rmap-adaptive'"),
        (["--slurm", "--rmap", "--nodes", "32"], "the trace is one of 64 nodes"),
    ],
)
def test_what_rmap_cannot_do_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    """What does not fit is refused before anything is started."""
    done = command(["wattline", "live-demo", *words, "--out", "demo"], tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_slurm_does_not_run_faster_than_the_wall(tmp_path: Path) -> None:
    """A speed is refused in a line."""
    done = command(["wattline", "live-demo", "--slurm", "--speed", "5"], tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "Slurm's clock is the wall's" in done.err


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    """Nothing of somebody else's is overwritten."""
    (tmp_path / "mine.txt").write_text("mine")
    done = command(["wattline", "live-demo", "--out", "."], tmp_path)
    assert done.code == 2
    assert "is not empty" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["zmq"])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, name: str) -> None:
    """A missing extra is one line."""
    (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError('No module named zmq', name='zmq')")
    words = [sys.executable, "-m", "wattline", "live-demo", "--nodes", "4", "--out", "demo"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'wattline[live]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "demo").iterdir()) == [], "the folder can be used again"


def test_what_cannot_begin_leaves_an_empty_folder(tmp_path: Path) -> None:
    """A policy that there is not, or a file in the place of the folder, is one line."""
    done = command(["wattline", "live-demo", "--policy", "nobody", "--out", "demo"], tmp_path)
    assert (done.code, list((tmp_path / "demo").iterdir())) == (2, [])
    assert "unknown select policy 'nobody'" in done.err
    (tmp_path / "file").write_text("mine")
    done = command(["wattline", "live-demo", "--out", "file"], tmp_path)
    assert (done.code, (tmp_path / "file").read_text()) == (2, "mine")
    assert "Traceback" not in done.err
