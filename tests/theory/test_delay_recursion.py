"""The delay recursion against other people's schedules, a plain sort, and closed forms."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.batches import assert_agrees
from reference.queueing import mg1_wait_mean_s, mmc_wait_mean_s, mmc_wait_tail
from wattline.errors import InputError
from wattline.theory.recursion import arrivals_from_gaps, fcfs_delays, fcfs_starts


def read_csv(path: Path) -> Any:
    """A gzipped table with a header as a structured array."""
    with gzip.open(path, "rt") as text:
        return np.genfromtxt(text, delimiter=",", names=True)


def test_every_krc_delay_is_hpcwlds(data_dir: Path) -> None:
    """All 8,281 delays on 80 cores: widths are the cores *used*, a gap leads to the *next* task, nothing is cleaned."""
    table = read_csv(data_dir / "krc" / "HPC_KRC_hpcwld_fcfs_delays_80cores.csv.gz")
    arrival = arrivals_from_gaps(table["interarrival"])
    delay = fcfs_delays(arrival, table["service"], table["cores_used"], 80)
    assert delay.size == 8281
    assert np.array_equal(delay, table["delay_model"])


def test_every_kth_start_is_hpcwlds(data_dir: Path) -> None:
    """All 28,489 FCFS starts on 100 processors."""
    with gzip.open(data_dir / "schedules" / "kth_norm.swf.gz", "rt") as text:
        job_id, submit, run, width = np.loadtxt(text, comments=";", usecols=(0, 1, 3, 7), unpack=True)
    expected = read_csv(data_dir / "schedules" / "kth_fcfs_hpcwld.csv.gz")
    start = fcfs_starts(submit, run, width, 100)
    assert start.size == 28489
    assert np.array_equal(job_id, expected["job_id"])
    assert np.array_equal(start, expected["start"])


def by_sorting(arrival: list[int], service: list[int], width: list[int], servers: int) -> list[int]:
    """Eq. 13 as printed: the workload vector, lowered by the gaps and sorted anew for every customer."""
    load, delays, last = [0] * servers, [], 0
    for t, s, n in zip(arrival, service, width, strict=True):
        load = [max(0, w - (t - last)) for w in load]
        last = t
        delays.append(load[n - 1])
        load = sorted([load[n - 1] + s] * n + load[n:])
    return delays


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(1, 6)), max_size=40))
def test_merging_is_sorting(customers: list[tuple[int, int, int]]) -> None:
    """Merging equal entries into absolute times gives exactly what sorting the workload vector gives."""
    arrival = np.cumsum([gap for gap, _, _ in customers], dtype=np.int64).tolist()
    service, width = [s for _, s, _ in customers], [n for _, _, n in customers]
    assert fcfs_delays(arrival, service, width, 6).tolist() == by_sorting(arrival, service, width, 6)


Column = npt.NDArray[np.float64]


def poisson(seed: int, rate: float, n: int) -> tuple[np.random.Generator, Column]:
    """A seeded generator and n Poisson arrivals."""
    rng = np.random.default_rng(seed)
    return rng, np.cumsum(rng.exponential(1.0 / rate, n))


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.7), (4, 3.0), (8, 6.0)])
def test_waits_are_erlangs(servers: int, rate: float) -> None:
    """M/M/c: mean wait, probability of waiting and its tail lie in the simulation's 99.9 % interval."""
    n = 400_000
    rng, arrival = poisson(servers, rate, n)
    delay = fcfs_delays(arrival, rng.exponential(1.0, n), np.ones(n), servers)
    assert_agrees(delay, mmc_wait_mean_s(rate, 1.0, servers), precision=0.2)
    for wait in (0.0, 0.5 / (servers - rate), 1.0 / (servers - rate)):
        assert_agrees(delay > wait, mmc_wait_tail(rate, 1.0, servers, wait), precision=0.2)


@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_single_server_waits_are_pollaczek_khinchines(sigma: float) -> None:
    """M/G/1 with deterministic and lognormal services; whole-machine customers make c servers one."""
    n, rate = 200_000, 0.6
    rng, arrival = poisson(7, rate, n)
    service = np.exp(sigma * rng.standard_normal(n) - sigma**2 / 2)
    delay = fcfs_delays(arrival, service, np.full(n, 8), 8)
    assert_agrees(delay, mg1_wait_mean_s(rate, (1.0, float(np.exp(sigma**2)))), precision=0.2)
    assert np.array_equal(delay, fcfs_delays(arrival, service, np.ones(n), 1))


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        (([1, 0], [1, 1], [1, 1]), "sort"),
        (([0, np.nan], [1, 1], [1, 1]), "finite"),
        (([0, 1], [1, -1], [1, 1]), "service"),
        (([0, 1], [1, 1], [1, 3]), "customer 1 asks for 3"),
        (([0, 1], [1, 1], [0, 1]), "customer 0 asks for 0"),
        (([0, 1], [1], [1, 1]), "one length"),
    ],
)
def test_bad_columns_are_refused(columns: tuple[Any, Any, Any], word: str) -> None:
    """Unsorted, infinite, negative or too wide customers give one line that says which."""
    with pytest.raises(InputError, match=word):
        fcfs_delays(*columns, servers=2)


def test_no_customers_no_delays() -> None:
    """An empty trace is answered with an empty column."""
    assert fcfs_delays([], [], [], 4).size == 0
    assert arrivals_from_gaps([]).size == 0
