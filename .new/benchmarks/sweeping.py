"""Cases about many runs: what a sweep costs beside the runs themselves, and what a second core gives it."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import wattline as wl
from benchmarks.rows import Rows, row

SCENARIO = """\
name = "many"

[trace]
generator = "lublin"
jobs = 1000
load = 0.8

[cluster]
nodes = 64
idle = "90 W"
max = "350 W"
"""

PLAIN = """\
import wattline as wl


@wl.policy("order", wake="end node arrival")
def widest(s, happened, param, memory):
    for j in wl.waiting(s, new=True):
        s.key[j] = -s.nodes[j]
    return 0
"""

OVERHEAD_MS, GAIN = 2.0, 1.7


def _study(folder: str) -> wl.Study:
    path = Path(folder) / "many.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return wl.load(path)


def _cpu_and_wall(call: Callable[[], object]) -> tuple[float, float]:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    call()
    return time.process_time() - cpu_s, time.perf_counter() - wall_s


def sweep_overhead(quick: bool) -> Rows:
    """Run the same worlds by ``wl.simulate`` one after the other and sum them up, and as a sweep that keeps rows alone.

    CPU time of one thread: others on the machine take none of it.
    """
    runs = 300 if quick else 2000
    with tempfile.TemporaryDirectory() as folder:
        study = _study(folder)
        seeds = range(1, runs + 1)
        study.vary({"seed": [1, 2]}).run(folder=f"{folder}/warm", keep="summary", threads=1, progress=False)

        def plain() -> None:
            for seed in seeds:
                _ = wl.simulate(study.set({"seed": seed}), progress=False).summary

        def swept() -> None:
            sweep = study.vary({"seed": list(seeds)})
            sweep.run(folder=f"{folder}/swept", keep="summary", threads=1, progress=False)

        plain_s, _ = _cpu_and_wall(plain)
        swept_s, wall_s = _cpu_and_wall(swept)
    over_ms = 1e3 * (swept_s - plain_s) / runs
    shown = f"{over_ms:+.2f} ms a run ({1e3 * swept_s / runs:.2f} beside {1e3 * plain_s / runs:.2f} ms)"
    what = f"overhead of a sweep over wl.simulate and summary, {runs:,} runs of 1,000 jobs, CPU"
    met = over_ms <= OVERHEAD_MS
    return [row(what, shown, f"≤ {OVERHEAD_MS:g} ms a run", met=met, over_ms=over_ms, wall_s=wall_s)]


def sweep_processes(quick: bool) -> Rows:
    """Run a policy in plain Python in one process, and in two."""
    runs = 24 if quick else 120
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "widest.py").write_text(PLAIN, encoding="utf-8")
        study = _study(folder).set({"policy.order": "widest.py"})
        took = {}
        for count in (1, 2):
            sweep = study.vary({"seed": list(range(1, runs + 1))})
            place = f"{folder}/{count}"
            _, took[count] = _cpu_and_wall(
                functools.partial(
                    sweep.run, folder=place, keep="summary", threads=count, on="processes", progress=False
                )
            )
    return [_gain(f"two processes over one, {runs} runs of a policy in plain Python", took[1] / took[2])]


def sweep_dask(quick: bool) -> Rows:
    """Run a sweep on one worker of Dask, and on two, each a process of one thread on this machine."""
    try:
        from distributed import LocalCluster
    except ImportError:
        return [row("two workers of Dask over one", "Dask is not installed")]
    runs = 100 if quick else 1_000
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        study = _study(folder)
        for count in (1, 2):
            cluster = LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=None, local_directory=f"{folder}/dask-{count}"
            )
            with cluster:
                address = cluster.scheduler_address

                def run(first: int, last: int, name: str, address: str = address) -> None:
                    sweep = study.vary({"seed": list(range(first, last + 1))})
                    sweep.run(folder=f"{folder}/{name}", keep="summary", on=address, progress=False)

                run(1_000_001, 1_000_008, f"warm-{count}")  # workers load and compile what they need
                _, took[count] = _cpu_and_wall(functools.partial(run, 1, runs, f"runs-{count}"))
    return [_gain(f"two workers of Dask over one, {runs:,} runs of 1,000 jobs", took[1] / took[2])]


def _gain(what: str, gain: float) -> dict[str, object]:
    busy = os.getloadavg()[0]
    enough = (os.cpu_count() or 1) >= 2
    shown = f"{gain:.2f} × (load average {busy:.1f})"
    return row(what, shown, f"≥ {GAIN:g} × on 2 idle cores", met=gain >= GAIN if enough else None, gain=gain)


CASES = [sweep_overhead, sweep_processes, sweep_dask]
