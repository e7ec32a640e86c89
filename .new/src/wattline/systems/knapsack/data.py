"""The machines of the power-capping study: a generated Mira year, and recorded logs of Mira and Theta with modelled
power.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wattline.generate.jobs import MiraLike, generate
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.reading.series_column import mean_over_run
from wattline.systems.at_hand import data_file

RACK_KW = 100.0
"""Greatest power of a rack: 4.8 MW on 48 racks."""

LOAD = 0.86
"""Offered load of the study. The rule was stated before the run: as many jobs as published, 24,565 in the year (to
within 3 %), with the generator's own law of run times."""

FULL_MACHINE = 0.0029
"""Share of jobs on all 48 racks: that of Mira's public log, by the same kind of rule."""

PUBLISHED_JOBS = 24_565


@dataclass(frozen=True)
class Machine:
    """A machine and where its jobs come from (``file``: a log under WATTLINE_DATA)."""

    nodes: int
    max_w: float
    days: float
    file: str = ""

    def path(self) -> Path | None:
        """Return where the log is, if it is there."""
        return data_file(self.file) if self.file else None

    def at_hand(self) -> bool:
        """Tell whether a recorded log is there."""
        return self.path() is not None


MACHINES = {
    "mira-like": Machine(49_152, RACK_KW * 1e3 / 1024, 365.0),
    "Mira 2018": Machine(49_152, RACK_KW * 1e3 / 1024, 184.0, "swf/ALCF-Mira-2018H2_norm.swf.gz"),
    "Theta 2023": Machine(4_392, 380.0, 181.0, "swf/ALCF-Theta-2023H1_norm.swf.gz"),
}


@functools.lru_cache(maxsize=2)
def load_jobs(name: str, days: float, load: float, noise: float = 0.0, full: float = FULL_MACHINE) -> JobTable:
    """Return the jobs of a machine with power over time.

    ``noise`` sets runs apart by a relative deviation of their level.
    """
    jobs = _jobs(name, days, load, full)
    if noise == 0.0 or jobs.series is None:
        return jobs
    factor = 1.0 + noise * np.random.default_rng(1).standard_normal(len(jobs))
    counts = np.diff(jobs.series.first)
    watts = np.clip(jobs.series.watts * np.repeat(factor, counts), 0.0, MACHINES[name].max_w).astype(np.float32)
    series = PowerSeries(jobs.series.step_s, jobs.series.first, watts)
    return jobs.with_columns(draw_w=mean_over_run(series, jobs.work_s), series=series)


def _jobs(name: str, days: float, load: float, full: float) -> JobTable:
    machine = MACHINES[name]
    path = machine.path()
    if path is None:
        return generate(MiraLike(days=days, load=load, full_machine=full)).jobs
    from wattline.formats.jobs import read_trace
    from wattline.generate.attach_power import attach_power

    jobs = attach_power(read_trace(path), model="mira", seed=1, max_w=machine.max_w).jobs
    return jobs.take(np.flatnonzero(jobs.nodes <= machine.nodes))
