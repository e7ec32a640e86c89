"""Cases about waiting for the program itself: the first use on a machine, and the start of a command that is compiled
already.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import Rows, row

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

MEASURE = """
import json, os, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
wall_s = time.perf_counter() - began
if done.returncode:
    sys.exit(done.stderr.decode())
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([wall_s, used.ru_utime + used.ru_stime]))
"""


def _seconds(*words: str, cache: str = "") -> tuple[float, float]:
    """Run a command; return its seconds by the clock and of CPU, its helpers' too.

    Python must be allowed to keep what it translates: a user's does.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if cache:
        environment["WATTLINE_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *words], capture_output=True, text=True, check=True, env=environment
    )
    wall_s, cpu_s = json.loads(done.stdout)
    return wall_s, cpu_s


def _kth() -> str:
    folder = os.environ.get("WATTLINE_DATA")
    return str(Path(folder) / "schedules/kth_norm.swf.gz") if folder else ""


def cold_start(quick: bool) -> Rows:
    """The first replay on a machine, then the first hour of a system with other policies and all chores: what compiling
    costs.
    """
    with tempfile.TemporaryDirectory() as folder:
        cache, out = f"{folder}/cache", f"{folder}/out"
        log = _kth()
        first = ("replay", log, "--nodes", "100") if log else ("run", str(EXAMPLES / "power-limit.toml"), "--no-report")
        hour = ("run", str(EXAMPLES / "slackline-w4.toml"), "--no-report", "--force", "--out", out)
        name = "first replay of KTH" if log else "first run of power-limit"
        measured = []
        for command in (first, hour):
            cold = _seconds(
                "wattline", *command, *(() if command is hour else ("--out", f"{folder}/first")), cache=cache
            )
            warm = _seconds(
                "wattline", *command, *(() if command is hour else ("--out", f"{folder}/again")), cache=cache
            )
            measured.append((cold, warm))
    (replay, _), (slackline, again) = measured
    more = [a - b for a, b in zip(slackline, again, strict=True)]
    return [
        row(
            f"{name} on a machine: by the clock, CPU",
            f"{replay[0]:.1f} s, {replay[1]:.1f} s",
            "≤ 11 s on two idle cores",
            met=replay[0] <= 11.0,
            seconds=replay[0],
            cpu_seconds=replay[1],
        ),
        row(
            "… then the first Slackline hour, more than the second",
            f"{more[0]:.1f} s, {more[1]:.1f} s",
            "≤ 8 s on two idle cores",
            met=more[0] <= 8.0,
            seconds=more[0],
            cpu_seconds=more[1],
        ),
    ]


def start_up(quick: bool) -> Rows:
    """Commands whose code is compiled already: the least of several starts."""
    rows = []
    commands = [
        ("wattline --help", ("wattline", "--help"), 0.2),
        ("import wattline", (sys.executable, "-c", "import wattline"), 0.1),
    ]
    with tempfile.TemporaryDirectory() as folder:
        if _kth():
            replay = ("wattline", "replay", _kth(), "--nodes", "100", "--out", f"{folder}/kth")
            _seconds(*replay)
            commands.insert(0, ("wattline replay KTH, cached", replay, 1.2))
        for name, words, goal_s in commands:
            wall_s, cpu_s = min(_seconds(*words) for _ in range(3 if quick else 7))
            rows.append(
                row(
                    f"{name}: by the clock, CPU",
                    f"{wall_s:.2f} s, {cpu_s:.2f} s",
                    f"≤ {goal_s:g} s",
                    met=wall_s <= goal_s,
                    seconds=wall_s,
                    cpu_seconds=cpu_s,
                )
            )
    return rows


CASES = (start_up, cold_start)
