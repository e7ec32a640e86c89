"""A real agent process on a fake tree: killed, restarted, stopped in order; and how much it uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wattline.live.agent.local import ProcessGroups, _start_ticks
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree
from wattline.live.power.server.model import PROFILES

SAFE_CPU_W = PROFILES["gold-6132"].cpu_w(180.0, 20.0)
NODE = """
site = "s"
run_dir = "run"
period = "{period}"
jobs = "jobs"
[node]
name = "n1"
powercap = "tree"
safe = "180 W"
min = "120 W"
max = "350 W"
[model]
profile = "gold-6132"
"""
Start = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts agents, which are gone after the test."""
    make_tree(tmp_path / "tree")
    (tmp_path / "node.toml").write_text(NODE.format(period="0.1 s"))
    begun: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "wattline", "agent", "node.toml"]
        begun.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _event(process: subprocess.Popen[str], word: str) -> dict[str, Any]:
    """Wait for a line of the log."""
    assert process.stderr is not None
    for line in process.stderr:
        told = json.loads(line) if line.startswith("{") else {"event": line}
        if told["event"] == word:
            return told
    raise AssertionError(f"{word} was never said")


def _limit_w(folder: Path, tree: str = "tree") -> float:
    paths = [folder / tree / f"intel-rapl:{i}" / "constraint_0_power_limit_uw" for i in range(2)]
    return sum(int(path.read_text()) for path in paths) / 1e6


def _stopped_job(folder: Path, **more: object) -> subprocess.Popen[bytes]:
    job = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    (folder / "jobs").mkdir(exist_ok=True)
    told = {"pgid": job.pid, "start_ticks": _start_ticks(job.pid), "nodes": ["n1", "n2"], "phase": "paused", **more}
    (folder / "jobs" / f"{job.pid}.json").write_text(json.dumps(told))
    os.killpg(job.pid, signal.SIGSTOP)
    _wait_for(job.pid, "T")
    return job


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _wait_for(pid: int, letter: str) -> None:
    for _ in range(500):
        if (_state(pid) == "T") == (letter == "T"):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is {_state(pid)}, not {letter}")


def test_killed_and_restarted_it_is_safe_and_knows_what_to_put_back(start: Start, tmp_path: Path) -> None:
    """A kill -9 leaves the last limit and the save file; a restart goes to the safe cap, continues stopped jobs, and
    SIGTERM puts back what the first agent found. A second agent meanwhile is refused with exit code 2.
    """
    first = start()
    _event(first, "began")
    assert _limit_w(tmp_path) == pytest.approx(SAFE_CPU_W, abs=1.0)
    second = start()
    assert second.wait(timeout=30) == 2
    assert second.stderr is not None
    assert (
        f"another agent leads this node already ({tmp_path}/run/n1.lock, process {first.pid})" in second.stderr.read()
    )
    first.send_signal(signal.SIGKILL)
    first.wait()
    for i in range(2):  # what a controller had lent it last
        (tmp_path / "tree" / f"intel-rapl:{i}" / "constraint_0_power_limit_uw").write_text("150000000\n")
    job = _stopped_job(tmp_path)
    try:
        again = start()
        told = _event(again, "recovered")
        assert told["found"]["package-0/long_term"] == 205.0
        assert told["continued"] == 1
        _event(again, "began")
        assert _limit_w(tmp_path) == pytest.approx(SAFE_CPU_W, abs=1.0)
        _wait_for(job.pid, "S")
        again.send_signal(signal.SIGTERM)
        assert again.wait(timeout=30) == 0
    finally:
        job.kill()
        job.wait()
    assert _limit_w(tmp_path) == 410.0
    assert not list((tmp_path / "run").glob("*.json"))


def test_nodes_that_share_a_process_are_all_given_back(start: Start, tmp_path: Path) -> None:
    """Several nodes of one file are led side by side; SIGTERM puts all of them back. Where one cannot be led, the
    process ends with exit code 2 and none stays capped.
    """
    text = (tmp_path / "node.toml").read_text()
    node = text[text.index("[node]") : text.index("[model]")]
    make_tree(tmp_path / "more")
    other = node.replace("n1", "n2").replace('"tree"', '"more"')
    (tmp_path / "node.toml").write_text(text.replace(node, (node + other).replace("[node]", "[[node]]")))
    both = start()
    _event(both, "began")
    assert _event(both, "began")["node"] == "n2"
    assert _limit_w(tmp_path) == _limit_w(tmp_path, "more") == pytest.approx(SAFE_CPU_W, abs=1.0)
    both.send_signal(signal.SIGTERM)
    assert both.wait(timeout=30) == 0
    assert _limit_w(tmp_path) == _limit_w(tmp_path, "more") == 410.0
    (tmp_path / "run" / "n2.found.json").mkdir()  # a save file that can neither be read nor written
    again = start()
    assert again.wait(timeout=30) != 0
    assert _limit_w(tmp_path) == _limit_w(tmp_path, "more") == 410.0


def test_only_jobs_of_the_node_that_are_alive_go_on(tmp_path: Path) -> None:
    """A job of another node, one that has ended, a process number that another process has now, and files that make no
    sense are left alone.
    """
    left = [
        _stopped_job(tmp_path, nodes=["n2"]),
        _stopped_job(tmp_path, phase="ended"),
        _stopped_job(tmp_path, start_ticks=1),
    ]
    mine = _stopped_job(tmp_path)
    for name, text in (
        ("a", "{"),
        ("b", "[]"),
        ("c", '{"pgid": 1, "start_ticks": 0, "nodes": ["n1"], "phase": "paused"}'),
    ):
        (tmp_path / "jobs" / f"{name}.json").write_text(text)
    try:
        assert ProcessGroups(tmp_path / "jobs").continue_all("n1") == 1
        assert ProcessGroups(tmp_path / "nowhere").continue_all("n1") == 0
        _wait_for(mine.pid, "S")
        assert [_state(job.pid) for job in left] == ["T"] * 3
    finally:
        for job in [*left, mine]:
            job.kill()
            job.wait()


MEASURE = """
import json, sys, time
from pathlib import Path
from wattline.live.agent.agent import make
from wattline.live.agent.config import read_settings
from wattline.live.clock import Clock
(agent,) = make(read_settings("node.toml"), Clock(), lambda *_, **__: None)
agent.begin()
end_s = time.monotonic() + 2.0
began = time.process_time()
while time.monotonic() < end_s:
    agent.step()
used_s = time.process_time() - began
agent.end()
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
print(json.dumps([used_s, peak]))
"""


def test_an_agent_is_light(tmp_path: Path) -> None:
    """At ten turns a second, ten times as many as usual, an agent takes less than a tenth of a core, so at one a second
    1 %; and less than 60 MB of memory.
    """
    root = make_tree(tmp_path / "tree")
    (tmp_path / "node.toml").write_text(NODE.format(period="0.1 s"))
    with Plant([FakeNode("n1", root)]) as plant:
        process = subprocess.Popen([sys.executable, "-c", MEASURE], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        while process.poll() is None:
            plant.step(time.monotonic())
            time.sleep(0.05)
        out, _ = process.communicate()
    used_s, kilobytes = json.loads(out)
    assert used_s / 2.0 < 0.1
    assert kilobytes < 60_000
