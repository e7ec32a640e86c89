"""The benchmark cases; each returns rows of what was measured, the goal, and whether it was met."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bare_easy import bare_easy
from benchmarks.reference import python_easy
from benchmarks.rows import Rows, row
from wattline.control.catalog import find
from wattline.formats.jobs import read_trace
from wattline.generate.jobs import Lublin, generate
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.codes import TL_RUNNING
from wattline.model.jobs import JobTable
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

QUIET = Options(timeline=False, placements=False, decisions=False)


def policies(select: str = "easy") -> Policies:
    """Return FCFS order with a select policy and user estimates."""
    return Policies(
        order=find("order", "fcfs"),
        select=find("select", select),
        place=find("place", "lowest"),
        cap=find("cap", "none"),
        learn=find("learn", "request"),
    )


def simulated(jobs: JobTable, nodes: int, options: Options = QUIET, select: str = "easy") -> Result:
    """Simulate on a uniform cluster."""
    cluster = Cluster((NodeClass("node", nodes, idle_w=100.0, max_w=300.0),))
    return Simulation(jobs, cluster, policies(select), options).run()


def best(repeat: int, *functions: Callable[[], float]) -> list[float]:
    """Return the least seconds of each function over interleaved repetitions, so that all see the same machine."""
    least = [float("inf")] * len(functions)
    for _ in range(repeat):
        for i, function in enumerate(functions):
            least[i] = min(least[i], function())
    return least


def timed(function: Callable[[], Any]) -> float:
    """Return the seconds a call takes."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def data(name: str) -> Path | None:
    """Return a file of real data, or None without WATTLINE_DATA."""
    folder = os.environ.get("WATTLINE_DATA")
    return Path(folder) / name if folder else None


def easy_ratio(quick: bool) -> Rows:
    """EASY through the general engine against a bare kernel and plain Python, on KTH (or Lublin without data)."""
    path = data("schedules/kth_norm.swf.gz")
    jobs = read_trace(path).jobs if path else generate(Lublin(jobs=28_489, nodes=100, load=0.7, seed=1)).jobs
    if not path:
        jobs = jobs.with_columns(request_s=jobs.work_s)
    columns = (jobs.submit_s, jobs.work_s, jobs.nodes, jobs.request_s)
    submit, work, width, estimate = (column.tolist() for column in columns)
    starts = bare_easy(*columns, 100)
    assert np.array_equal(starts, simulated(jobs, 100).state.started_s)  # the race is only fair at equal results
    assert np.array_equal(starts, python_easy(submit, work, width, estimate, 100))
    bare, engine, logged = best(
        5 if quick else 25,
        lambda: timed(lambda: bare_easy(*columns, 100)),
        lambda: simulated(jobs, 100).wall_s,
        lambda: simulated(jobs, 100, Options()).wall_s,
    )
    python = timed(lambda: python_easy(submit, work, width, estimate, 100))
    n = len(jobs)
    name = "KTH" if path else "Lublin"
    return [
        row(
            f"EASY on {name}, engine / bare kernel",
            f"{bare / engine:.2f} ×",
            "≥ 0.50 ×",
            met=bare / engine >= 0.50,
            ratio=bare / engine,
        ),
        row(
            "… with timeline, decisions and placements logged",
            f"{bare / logged:.2f} ×",
            "≥ 0.38 ×",
            met=bare / logged >= 0.38,
            ratio=bare / logged,
        ),
        row("EASY, engine / plain Python", f"{python / engine:.0f} ×", ratio=python / engine),
        row(
            "jobs per second: bare, engine, logged, Python",
            " / ".join(f"{n / t / 1e6:.2f} M" for t in (bare, engine, logged, python)),
        ),
    ]


def whole_runs(quick: bool) -> Rows:
    """Read, EASY, journal and summary as one process, by the command line."""
    rows = []
    path = data("swf/CEA-Curie-2011-2.1-cln.swf.gz")
    with tempfile.TemporaryDirectory() as folder:
        if path:
            seconds, peak_gb = _command(
                "replay", str(path), "--nodes", "93312", "--out", f"{folder}/curie", "--no-report"
            )
            rows.append(
                row(
                    "CEA-Curie: read + EASY + journal + summary",
                    f"{seconds:.1f} s, {peak_gb:.2f} GB",
                    "≤ 5 s, ≤ 1.5 GB",
                    met=seconds <= 5 and peak_gb <= 1.5,
                    seconds=seconds,
                    peak_gb=peak_gb,
                )
            )
    if not quick:
        jobs = generate(Lublin(jobs=1_000_000, nodes=256, load=0.9, seed=1)).jobs
        seconds = timed(lambda: simulated(jobs, 256, Options()))
        rows.append(
            row("one million Lublin jobs, logged", f"{seconds:.1f} s", "≤ 10 s", met=seconds <= 10, seconds=seconds)
        )
    return rows


def _command(*words: str) -> tuple[float, float]:
    """Run a command; return its seconds and peak memory in GB (measured by a small parent of its own)."""
    script = (
        "import json,resource,subprocess,sys,time;t=time.perf_counter();"
        "r=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.PIPE);"
        "sys.exit(r.stderr.decode()) if r.returncode else None;"
        "print(json.dumps([time.perf_counter()-t,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss/1e6]))"
    )
    out = subprocess.run([sys.executable, "-c", script, "wattline", *words], capture_output=True, text=True, check=True)
    seconds, peak_gb = json.loads(out.stdout)
    return seconds, peak_gb


def growth(quick: bool) -> Rows:
    """Cost per job from 10⁴ to 10⁶ jobs, 10² to 10⁵ nodes, and in overload: it may grow as a logarithm, not as a
    power.
    """
    rows = []
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    for load in (0.9, 1.2):
        per_job = []
        for n in sizes:
            jobs = generate(Lublin(jobs=n, nodes=256, load=load, seed=1)).jobs
            per_job.append(min(simulated(jobs, 256).wall_s for _ in range(2)) / n * 1e6)
        growth_of = per_job[-1] / per_job[0]
        allowed = 2.0 * np.log(sizes[-1]) / np.log(sizes[0])
        rows.append(
            row(
                f"load {load}: µs per job at {', '.join(f'{n:.0e}' for n in sizes)} jobs",
                ", ".join(f"{x:.2f}" for x in per_job),
                f"grows ≤ {allowed:.1f} ×",
                met=growth_of <= allowed,
                growth=growth_of,
            )
        )
    per_job = []
    machines = (100, 1_000, 10_000, 100_000)
    for nodes in machines:
        jobs = generate(Lublin(jobs=50_000, nodes=nodes, load=0.9, seed=1)).jobs
        per_job.append(min(simulated(jobs, nodes).wall_s for _ in range(2)) / len(jobs) * 1e6)
    rows.append(
        row(
            "µs per job at 1e2 … 1e5 nodes",
            ", ".join(f"{x:.2f}" for x in per_job),
            "grows ≤ 5 ×",
            met=per_job[-1] / per_job[0] <= 5,
            growth=per_job[-1] / per_job[0],
        )
    )
    return rows


def many_running(quick: bool) -> Rows:
    """Speed by how many jobs run at once: one-node jobs that fill the machine, under EASY, by users' estimates."""
    n = 60_000 if quick else 200_000
    machines = (100, 13_600)

    def world(nodes: int) -> JobTable:
        rng = np.random.default_rng(1)
        work = np.ceil(rng.exponential(3600, n))
        return JobTable.build(
            submit_s=np.floor(np.cumsum(rng.exponential(work.mean() / nodes, n))),
            work_s=work,
            nodes=np.ones(n, dtype=int),
            request_s=60 * np.ceil(work * rng.uniform(1, 5, n) / 60),
        )

    few, many = ((world(nodes), nodes) for nodes in machines)
    most = simulated(*many, Options(placements=False, decisions=False)).logs["timeline"][:, TL_RUNNING].max()
    assert most > 0.95 * machines[1], most
    few_s, many_s = best(3 if quick else 6, lambda: simulated(*few).wall_s, lambda: simulated(*many).wall_s)
    speeds = " / ".join(f"{n / t / 1e6:.2f} M" for t in (few_s, many_s))
    return [
        row(
            "EASY, speed with 13,600 jobs running / with 100",
            f"{few_s / many_s:.2f} × ({speeds} jobs/s)",
            "≥ 0.2 ×",
            met=few_s / many_s >= 0.2,
            ratio=few_s / many_s,
        )
    ]


def control_loop(quick: bool) -> Rows:
    """Caps that change every second on all running jobs: what demand response will ask of the engine."""
    from benchmarks.sway import sway

    rows = []
    for nodes, jobs_per_hour, goal_ms in ((36, 500, 2.0), (10_000, 139_000, 300.0)):
        rng = np.random.default_rng(1)
        n = jobs_per_hour
        submit = np.sort(rng.uniform(0, 3600, n))
        kinds = rng.integers(0, 8, n)
        jobs = JobTable.build(
            submit_s=submit,
            work_s=rng.exponential(200, n),
            nodes=np.ones(n, dtype=int),
            kind=kinds,
            draw_w=150.0 + 10.0 * kinds,
            floor_w=np.full(n, 90.0),
            stretch=1.2 + 0.1 * kinds,
        )
        cluster = Cluster((NodeClass("node", nodes, idle_w=60.0, max_w=220.0, min_cap_w=80.0),))
        chosen = Policies(
            find("order", "fcfs"), find("select", "in-order"), find("place", "lowest"), sway, find("learn", "exact")
        )
        options = Options(timeline=False, placements=False, decisions=False, tick_s=1.0, until_s=3600.0)
        ms = min(Simulation(jobs, cluster, chosen, options).run().wall_s for _ in range(3 if quick else 8)) * 1e3
        rows.append(
            row(
                f"one hour, {nodes} nodes, all caps change every second",
                f"{ms:.1f} ms",
                f"≤ {goal_ms:g} ms",
                met=ms <= goal_ms,
                ms=ms,
            )
        )
    return rows


def threads(quick: bool) -> Rows:
    """Two runs in two threads against one after the other: compiled code works without the interpreter's lock."""
    from concurrent.futures import ThreadPoolExecutor

    jobs = generate(Lublin(jobs=20_000 if quick else 100_000, nodes=256, load=0.9, seed=1)).jobs
    one = timed(lambda: [simulated(jobs, 256) for _ in range(4)])
    with ThreadPoolExecutor(2) as pool:
        two = timed(lambda: list(pool.map(lambda _: simulated(jobs, 256), range(4))))
    return [row("two threads against one", f"{one / two:.2f} ×", ratio=one / two)]


CASES = [easy_ratio, whole_runs, growth, many_running, control_loop, threads]
