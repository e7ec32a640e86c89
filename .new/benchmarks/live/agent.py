"""Cases about the agent of a node: what it costs, how late a cap is, and what an emulated machine costs."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.rows import Rows, row
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree

NODE = """
site = "bench"
run_dir = "run"
[node]
name = "n1"
powercap = "tree"
safe = "180 W"
min = "120 W"
max = "350 W"
[model]
profile = "gold-6132"
"""

MEASURE = """
import json, sys, time
from pathlib import Path
sys.argv = ["wattline", "agent", "node.toml", "--quiet"]
import wattline.cli.app
from wattline.live.agent.agent import make
from wattline.live.agent.config import read_settings
from wattline.live.clock import Clock
lasting_s = float(sys.stdin.readline())
(agent,) = make(read_settings("node.toml"), Clock(), lambda *_, **__: None)
agent.begin()
end_s, began_s = time.monotonic() + lasting_s, time.process_time()
while time.monotonic() < end_s:
    agent.step()
used_s = time.process_time() - began_s
agent.end()
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
print(json.dumps([used_s / lasting_s, 1024 * peak]))
"""


def agent_cost(quick: bool) -> Rows:
    """An agent at one turn a second, as its own process with the command line loaded: CPU and memory."""
    lasting_s = 5.0 if quick else 20.0
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(Path(folder) / "tree")
        (Path(folder) / "node.toml").write_text(NODE)
        with Plant([FakeNode("n1", root)], noise_w=2.0) as plant:
            process = subprocess.Popen(
                [sys.executable, "-c", MEASURE], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert process.stdin is not None
            process.stdin.write(f"{lasting_s}\n")
            process.stdin.close()
            process.stdin = None
            while process.poll() is None:
                plant.step(time.monotonic())
                time.sleep(0.1)
            out, _ = process.communicate()
    share, memory = json.loads(out)
    return [
        row("agent at 1 Hz: share of a core", f"{100 * share:.2f} %", "≤ 1 %", met=share <= 0.01, share=share),
        row("agent: memory", f"{memory / 1e6:.0f} MB", "≤ 60 MB", met=memory <= 60e6, bytes=memory),
    ]


def agent_turn(quick: bool) -> Rows:
    """A turn (reading, PID, limit, status) and a cap on arrival, in one process."""
    from wattline.live.agent.agent import make
    from wattline.live.agent.config import read_settings
    from wattline.live.agent.lease import Cap
    from wattline.live.clock import Clock

    at = [1.8e9]
    clock = Clock(wall=lambda: at[0], monotonic=lambda: at[0], rest=lambda _: None)
    count = 200 if quick else 2000
    turns, caps = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(Path(folder) / "tree")
        (Path(folder) / "node.toml").write_text(NODE)
        with Plant([FakeNode("n1", root)], noise_w=2.0) as plant:
            (agent,) = make(read_settings(Path(folder) / "node.toml"), clock, lambda *_, **__: None)
            agent.begin()
            plant.busy("n1", 320.0, 120.0)
            for i in range(count):
                at[0] += 1.0
                plant.step(at[0])
                caps.append(_seconds(agent.node.take, Cap(220.0 + i % 9, 5.0, 1, at[0]), at[0]))
                turns.append(_seconds(agent.step, 0.0))
            agent.end()
    return [
        row(
            "agent: cap on arrival to limit read back, p50 / p99",
            f"{1e3 * statistics.median(caps):.2f} / {1e3 * _p99(caps):.2f} ms",
            seconds=statistics.median(caps),
        ),
        row(
            "agent: a turn, p50 / p99",
            f"{1e3 * statistics.median(turns):.2f} / {1e3 * _p99(turns):.2f} ms",
            seconds=statistics.median(turns),
        ),
    ]


def plant_step(quick: bool) -> Rows:
    """A step of the plant of the demo: 32 two-socket nodes."""
    with tempfile.TemporaryDirectory() as folder:
        nodes = [FakeNode(f"n{i}", make_tree(Path(folder) / f"n{i}")) for i in range(32)]
        with Plant(nodes, noise_w=3.0) as plant:
            plant.step(0.0)
            steps = [_seconds(plant.step, i / 10.0) for i in range(1, 100 if quick else 500)]
    best_s = statistics.median(steps)
    shown = f"{1e3 * best_s:.2f} ms, {100 * 200 * best_s:.0f} % of a core"
    return [row("plant of 32 nodes: a step; ten a second at 20 times the speed", shown, "≤ 5 ms", met=best_s <= 0.005)]


def _seconds(call: Any, *given: Any) -> float:
    began_s = time.perf_counter()
    call(*given)
    return time.perf_counter() - began_s


def _p99(values: list[float]) -> float:
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


CASES = (agent_cost, agent_turn, plant_step)
