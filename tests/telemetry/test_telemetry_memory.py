"""A run twice as long takes no more memory: samples stream through."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys, tracemalloc
import numpy as np, polars as pl
sys.path.insert(0, {here!r})
from telemetry_world import world
from wattline.telemetry.read import Wanted, read
from wattline.telemetry.cleaning.rules import Rules
from wattline.telemetry.join import Join, Split

class Endless:
    name, columns, rows = "endless", ["node", "time_s", "power_w"], None
    def __init__(self, days): self.days = days
    def batches(self, wanted, time):
        random = np.random.default_rng(1)
        node = np.tile(np.arange(512), 120)
        for hour in range(24 * self.days):
            time_s = np.repeat(hour * 3600 + 30.0 * np.arange(120), 512)
            yield pl.DataFrame(dict(node=node, time_s=time_s, power_w=random.uniform(50, 150, node.size)))

days = int(sys.argv[1])
work, _ = world(512, days)
reading = read(Endless(days), Wanted(), Rules(), work, window=1 << 18)
joining = Join(work.placed, work.coverage("node"), Split(300.0), reading.tally)
reading.cleaner.moves = joining.held
tracemalloc.start()
ended = 0
for found in reading.stretches():
    ended += joining.take(found).job.size
ended += joining.finish().job.size
print(tracemalloc.get_traced_memory()[1], reading.tally.samples, ended)
"""


def peak(days: int) -> tuple[int, int, int]:
    """Return the greatest memory of a join, and how many samples and jobs there were."""
    program = PROGRAM.format(here=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", program, str(days)], capture_output=True, text=True, check=True)
    most, samples, jobs = map(int, done.stdout.split())
    return most, samples, jobs


def test_memory_does_not_grow_with_the_run() -> None:
    """Twice the samples and twice the jobs need the same memory within a fifth; less than all samples would take."""
    short, samples, jobs = peak(2)
    long, twice, more = peak(4)
    assert twice == 2 * samples == 2 * 512 * 2880 * 2
    assert more > 1.7 * jobs
    assert long < 1.2 * short
    assert long < 24 * twice
