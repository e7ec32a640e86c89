"""Customers of the service-rate system: the recorded log, a generated stand-in that says what it is, and resamples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.formats.jobs.krc.read import read_krc
from wattline.model.jobs import JobTable
from wattline.reading.notes import Note
from wattline.systems.at_hand import data_file

GHZ = 2.66
"""Speed at which the log was recorded: a recorded second is this much job amount."""

FILE = "HPC_KRC2.csv"
GET = (
    f'it is in the R package hpcwld on CRAN: Rscript -e \'data(HPC_KRC2, package = "hpcwld"); '
    f'write.csv(HPC_KRC2, "{FILE}", row.names = FALSE)\', then put it at $WATTLINE_DATA/krc/{FILE}'
)

BLOCK = 150
"""Records that stay together in a resample: bursts of one user are shorter than this."""

LONGEST_S = 259_200.0
"""The cluster ended jobs after three days."""


@dataclass(frozen=True)
class Customers:
    """Job amounts, widths and arrivals; ``figure_2`` is the row of customer #7000."""

    jobs: JobTable
    source: str
    recorded: bool
    figure_2: int
    recorded_days: float
    records: int
    notes: tuple[Note, ...] = ()

    @property
    def days(self) -> float:
        """From the first arrival to the last one."""
        return self.jobs.span_s / 86400


def find_log(path: Path | None = None) -> Path | None:
    """Return where the log is: the path given, or ``krc/HPC_KRC2.csv`` under WATTLINE_DATA; None when there is none."""
    if path is not None:
        if not path.is_file():
            raise InputError(f"{path}: no such file; {GET}")
        return path
    return data_file(f"krc/{FILE}")


def load_customers(path: Path | None = None, *, seed: int = 1, keep_gaps: bool = False) -> Customers:
    """Return the recorded customers, or generated ones where the log is not at hand.

    A record that is cleared away goes as a whole, with its interarrival time; ``keep_gaps`` keeps that, so that all
    others arrive when they did.
    """
    log = find_log(path)
    if log is None:
        jobs = generate_customers(seed)
        source = f"GENERATED workload (seed {seed}) with statistics like the log's, not the paper's data"
        return Customers(
            jobs, source, recorded=False, figure_2=5419, recorded_days=jobs.span_s / 86400, records=len(jobs)
        )
    trace = read_krc(log, amount_factor=GHZ, seed=seed, keep_gaps=keep_gaps)
    raw = np.genfromtxt(log, delimiter=",", names=True)["interarrival"]
    row = int(np.searchsorted(trace.jobs.job_id, 7000))
    return Customers(
        trace.jobs,
        f"{log.name} of hpcwld",
        recorded=True,
        figure_2=row,
        recorded_days=float(raw.sum()) / 86400,
        records=raw.size,
        notes=trace.notes,
    )


WIDTHS: dict[int, float] = {
    1: 0.80, 2: 0.011, 3: 0.003, 4: 0.011, 5: 0.011, 7: 0.004, 8: 0.07, 9: 0.005, 10: 0.007, 16: 0.028, 24: 0.019,
    32: 0.006, 48: 0.002, 64: 0.023,
}  # fmt: skip
"""Shares of the widths in the log, rounded."""


def generate_customers(seed: int, n: int = 7569) -> JobTable:
    """Generate customers in sessions, as users submit: within one, a width, similar services and short gaps.

    Shares of widths, the share of neighbours with one width (0.9), the correlation of neighbouring services, mean gap,
    mean service and the three-day limit are the log's; nothing else is.
    """
    random = np.random.Generator(np.random.Philox(seed))
    begins = random.random(n) < 0.1
    begins[0] = True
    session = np.cumsum(begins) - 1
    count = int(session[-1]) + 1
    widths = random.choice(list(WIDTHS), count, p=np.array(list(WIDTHS.values())) / sum(WIDTHS.values()))[session]
    level = random.normal(7.4, 3.5, count)[session]
    service = np.clip(np.exp(level + random.normal(0.0, 1.8, n)), 1.0, LONGEST_S)
    gap = np.where(begins, random.exponential(50_000.0, n), random.lognormal(3.6, 1.6, n))
    gap[0] = 0.0
    return JobTable.build(submit_s=np.cumsum(gap), work_s=service * GHZ, nodes=widths)


def resample(jobs: JobTable, seed: int, *, block: int = BLOCK) -> JobTable:
    """Return as many customers, drawn in blocks of consecutive records (a circular block bootstrap).

    Gap, amount and width of a record stay together, and so do neighbours within a block: bursts survive, their order
    does not.
    """
    n = len(jobs)
    gap = np.diff(jobs.submit_s, append=jobs.submit_s[-1] + np.median(np.diff(jobs.submit_s)))
    random = np.random.Generator(np.random.Philox(seed))
    first = random.integers(0, n, -(-n // block))
    rows: Ints = ((first[:, None] + np.arange(block)) % n).ravel()[:n]
    arrival: Floats = np.concatenate([[0.0], np.cumsum(gap[rows])[:-1]])
    return JobTable.build(submit_s=arrival, work_s=jobs.work_s[rows], nodes=jobs.nodes[rows])
