"""The engine on whole recorded traces: the fast delay recursion, other people's schedules, and the same bytes in every
mode.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from reference.engine import policies
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.sim.simulate import simulate
from wattline.theory.recursion import fcfs_delays
from wattline.wiring.options import Options


def fcfs(jobs: JobTable, nodes: int, ties: str) -> np.ndarray:
    """Delays of the engine, first come first served."""
    result = simulate(jobs, Cluster((NodeClass("node", nodes, 1.0, 2.0),)), policies(), Options(ties=ties))
    return np.asarray(result.state.started_s - result.state.submit_s)


@pytest.mark.parametrize("ties", ["instant", "event"])
def test_every_krc_delay_is_the_recursions_and_hpcwlds(data_dir: Path, ties: str) -> None:
    """8,281 delays on 80 cores: engine = fast recursion = what hpcwld itself computed, exactly."""
    from wattline.formats.jobs.krc.read import CORES, read_krc

    folder = data_dir / "krc"
    jobs = read_krc(folder / "HPC_KRC.csv", drop_zero_service=False, spread_ties=False).jobs
    got = fcfs(jobs, CORES, ties)
    assert got.size == 8281
    assert got.tolist() == fcfs_delays(jobs.submit_s, jobs.work_s, jobs.nodes, CORES).tolist()
    with gzip.open(folder / "HPC_KRC_hpcwld_fcfs_delays_80cores.csv.gz", "rt") as text:
        assert got.tolist() == np.genfromtxt(text, delimiter=",", names=True)["delay_model"].tolist()


@pytest.mark.parametrize("ties", ["instant", "event"])
def test_every_kth_start_is_hpcwlds(data_dir: Path, ties: str) -> None:
    """28,489 FCFS starts on 100 processors: engine = fast recursion = hpcwld's schedule, exactly."""
    from wattline.formats.jobs.swf.read import read_swf

    jobs = read_swf(data_dir / "schedules" / "kth_norm.swf.gz").jobs
    got = fcfs(jobs, 100, ties)
    assert got.tolist() == fcfs_delays(jobs.submit_s, jobs.work_s, jobs.nodes, 100).tolist()
    with gzip.open(data_dir / "schedules" / "kth_fcfs_hpcwld.csv.gz", "rt") as text:
        schedule = np.genfromtxt(text, delimiter=",", names=True)
    start = dict(zip(schedule["job_id"].astype(int).tolist(), schedule["start"].tolist(), strict=True))
    assert (jobs.submit_s + got).tolist() == [start[job] for job in jobs.job_id.tolist()]
    assert got.size == 28489


PROGRAM = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from reference.engine import DISCIPLINES, run
from systems_cases import RATES, SWITCHING, customers
for name in DISCIPLINES:
    for cap, params in SWITCHING.values():
        got = run(*customers(1, 60, 8), 8, rates=RATES, discipline=name, cap=cap, cap_params=params, seed=3)
        digest = hashlib.sha256()
        for column in (got.state.started_s, got.state.end_s, got.state.energy_j, *got.logs.values()):
            digest.update(column.tobytes())
        print(name, cap, digest.hexdigest())
"""


def digests(*, jit: bool) -> list[str]:
    """Hashes of everything a run leaves, for all disciplines and rules, from a process of its own."""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if jit else "1", "PYTHONPATH": _path(tests / "systems")}
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _path(folder: Path) -> str:
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_without_compilation_every_byte_is_the_same() -> None:
    """All disciplines under all switching rules leave the same bytes with and without JIT, and warn of nothing."""
    compiled = digests(jit=True)
    assert len(compiled) == 7 * 7
    assert digests(jit=False) == compiled


def test_threads_change_no_byte() -> None:
    """Eight runs in two threads leave what they leave one after another."""
    from systems_cases import RATES, customers

    from reference.engine import run

    def one(seed: int) -> bytes:
        got = run(
            *customers(seed, 400, 8),
            8,
            rates=RATES,
            cap="randomized",
            cap_params={"p_low": 0.4, "p_high": 0.4},
            seed=seed,
        )
        return bytes(got.state.end_s.tobytes() + got.logs["timeline"].tobytes())

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(one, range(8)))
    assert together == [one(seed) for seed in range(8)]
