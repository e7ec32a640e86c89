"""The same run gives the same bytes: again, in threads, without compilation; and no cycle of channels anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from packets.machines import simulator
from packets.runs import fingerprint
from wattline.physics.packets.jobs import PacketJob

TESTS = Path(__file__).parents[1]


def _plain(*arguments: str) -> str:
    """Run ``packets.runs`` without compilation."""
    place = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "packets.runs", *arguments]
    done = subprocess.run(command, env=os.environ | place, capture_output=True, text=True, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_seeds() -> None:
    """The same seed gives the same bytes, another seed others."""
    assert fingerprint(1) == fingerprint(1) != fingerprint(2)


def test_threads() -> None:
    """Simulators in two threads give the bytes that they give alone."""
    alone = [fingerprint(seed) for seed in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(fingerprint, (0, 1))) == alone


def test_without_compilation() -> None:
    """With NUMBA_DISABLE_JIT=1 the same source, as plain Python, gives the same bytes."""
    assert _plain() == fingerprint()


def test_a_simulator_forgets() -> None:
    """A run on a used simulator is the run on a new one, also after one that was stopped half-way."""
    job = PacketJob(np.arange(72), "fft3d", message_bytes=5000)
    used = simulator(routing="ugal", crossbar=1.5)
    first = used.run([job], seed=4)
    used.run([PacketJob(np.arange(50), "all-to-all")], until=30e-6)
    again = used.run([job], seed=4)
    assert again.jobs[0].end_s == first.jobs[0].end_s
    assert np.array_equal(again.counters.stall_s, first.counters.stall_s)
    assert again.events == first.events


def test_channels_never_wait_in_a_circle() -> None:
    """The graph of (link, channel) dependencies over all routes and detours has an order: no deadlock is possible."""
    lines = _plain("graph").split("\n")[:-1]
    assert len(lines) == 6
    for line in lines:
        ordered, lanes = map(int, line.split())
        assert ordered == lanes > 20
