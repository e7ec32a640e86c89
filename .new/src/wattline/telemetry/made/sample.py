"""Samples made from a journal, for demonstrations and tests: what sensors of its nodes, racks or jobs would have
said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.memory import require_bytes
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.telemetry.join import Rows, inside, pieces_of, rows_of
from wattline.telemetry.nodes.placed import Placed
from wattline.telemetry.nodes.sensors import Coverage
from wattline.telemetry.sources.columns import By

if TYPE_CHECKING:
    import polars as pl

    from wattline.telemetry.made.drawn import Drawn
    from wattline.telemetry.nodes.work import Work

COLUMNS: dict[By, str] = {"node": "node", "rack": "rack", "job": "job_id"}
SUFFIXES = (".parquet", ".csv", ".csv.gz", ".db")


@dataclass(frozen=True)
class Samples:
    """Samples in the order they come; ``code`` counts sensors (jobs by their row), numbers beyond them are
    strangers.
    """

    by: By
    code: Ints
    time_s: Floats
    power_w: Floats
    sensors: int

    def frame(self, jobs: JobTable, epoch_unix_s: float = 0.0) -> pl.DataFrame:
        """Return a table with columns node, rack or job_id, time_s and power_w."""
        import polars as pl

        names = self.code
        if self.by == "job":
            names = np.where(
                self.code < self.sensors,
                jobs.job_id[np.minimum(self.code, self.sensors - 1)],
                jobs.job_id.max() + self.code,
            )
        columns = {COLUMNS[self.by]: names, "time_s": self.time_s + epoch_unix_s, "power_w": self.power_w}
        return pl.DataFrame(columns).with_columns(pl.col("time_s", "power_w").fill_nan(None))


@dataclass(frozen=True)
class Plan:
    """How sensors send: every ``every_s``, up to ``jitter_s`` off, with relative noise.

    ``edges``: also when nodes change hands.
    """

    by: By = "node"
    every_s: float = 300.0
    jitter_s: float = 0.0
    noise: float = 0.0
    edges: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.every_s < np.inf:
            raise InputError(f"--every {self.every_s:g} s: must be a positive time")
        if not 0 <= self.jitter_s < self.every_s / 2:
            raise InputError(
                f"--jitter {self.jitter_s:g} s: must be less than half of the time between samples ({self.every_s:g} s)"
            )
        if not 0 <= self.noise < 0.2:
            raise InputError(f"--noise {self.noise:g}: must be at least 0 and below 0.2")


def draw_samples(
    work: Work,
    energy_j: Floats,
    plan: Plan,
    from_s: float,
    to_s: float,
    series: PowerSeries | None = None,
    drawn: Drawn | None = None,
) -> Samples:
    """Return what sensors say from one time to another; a job's power is its series, or without one its mean.

    ``drawn``: stays, idle powers and nodes out of service (else those of the work, all nodes alike and in service).
    """
    by = plan.by
    if drawn is not None:
        work = replace(work, placed=drawn.placed)
    placed, coverage = work.placed_for(by), work.coverage(by)
    rows = rows_of(placed, np.arange(placed.job.size), coverage)
    sensors = len(work.trace.jobs) if coverage is None else coverage.sizes.size
    code, time_s = _times(plan, placed, rows, coverage, from_s, to_s)
    row, piece = pieces_of(code, time_s, rows)
    nodes = work.trace.jobs.nodes
    mean_w = np.divide(energy_j, nodes * placed.run_s, out=np.zeros(nodes.size), where=placed.run_s > 0)
    at_s = time_s[piece] - rows.begin_s[row] + rows.offset_s[row]
    each_w = mean_w[rows.job]
    if drawn is not None and drawn.stay_w:
        for i in np.flatnonzero(np.isin(rows.job, [job for job, _ in drawn.stay_w])).tolist():
            each_w[i] = drawn.stay_w.get((int(rows.job[i]), float(rows.begin_s[i])), each_w[i])
    watts = _power(rows.job[row], at_s, each_w[row], series) * rows.nodes[row]
    power_w: Floats = np.bincount(piece, weights=watts, minlength=code.size).astype(np.float64)
    if coverage is not None:
        idle_w = np.full(work.nodes, work.idle_w) if drawn is None else drawn.idle_w
        power_w += _idle(code, time_s, rows, coverage, idle_w, None if drawn is None else drawn.out)
    if plan.noise:
        # whatever is drawn, a power stays a power: the noise is cut at five of its deviations
        noise = np.random.default_rng([plan.seed, 2]).standard_normal(code.size)
        power_w = power_w * (1.0 + plan.noise * np.clip(noise, -5.0, 5.0))
    order = np.lexsort((code, time_s))
    return Samples(by, code[order], time_s[order], power_w[order], sensors)


def _idle(code: Ints, time_s: Floats, rows: Rows, coverage: Coverage, idle_w: Floats, out: Placed | None) -> Floats:
    """Return what the nodes of each sensor draw that no job works on and that are in service."""
    below = np.concatenate([[0.0], np.cumsum(idle_w)])
    ends = np.minimum(np.stack([coverage.first, coverage.first + coverage.count]), idle_w.size)
    whole = np.bincount(coverage.code, weights=below[ends[1]] - below[ends[0]], minlength=coverage.sizes.size)
    found: Floats = whole[code].astype(np.float64)
    for taken in (rows,) if out is None else (rows, rows_of(out, np.arange(out.job.size), coverage)):
        row, piece = pieces_of(code, time_s, taken)
        theirs = below[taken.first + taken.nodes] - below[taken.first]
        found -= np.bincount(piece, weights=theirs[row], minlength=code.size)
    found[found < 1e-9 * whole[code]] = 0.0  # sums of floats
    return found


def _times(
    plan: Plan, placed: Placed, rows: Rows, coverage: Coverage | None, from_s: float, to_s: float
) -> tuple[Ints, Floats]:
    """Return when every sensor sends, sorted by sensor and time."""
    if coverage is None:
        each = np.maximum(np.ceil((placed.end_s - placed.begin_s) / plan.every_s - 1e-9), 1)
        _fits(float(each.sum()))
        many = each.astype(np.int64)
        code = np.repeat(placed.job, many)
        time_s = np.repeat(placed.begin_s, many) + inside(many) * plan.every_s
        order = np.lexsort((time_s, code))
        return code[order], time_s[order]
    sensors = coverage.sizes.size
    _fits(np.ceil((to_s - from_s) / plan.every_s) * sensors)
    ticks = np.arange(from_s, to_s, plan.every_s)
    code, time_s = np.repeat(np.arange(sensors), ticks.size), np.tile(ticks, sensors)
    if plan.jitter_s:
        shift = np.random.default_rng([plan.seed, 1]).uniform(-plan.jitter_s, plan.jitter_s, code.size)
        time_s = np.maximum(time_s + shift, from_s)
    if plan.edges:
        code = np.concatenate([code, rows.code, rows.code])
        time_s = np.concatenate([time_s, rows.begin_s, rows.end_s])
        pairs = np.unique(np.stack([code.astype(np.float64), time_s]), axis=1)
        return pairs[0].astype(np.int64), pairs[1]
    return code, time_s


def _fits(samples: float) -> None:
    require_bytes(120.0 * samples, f"{samples:,.0f} samples")


def _power(job: Ints, at_s: Floats, mean_w: Floats, series: PowerSeries | None) -> Floats:
    """Return the power per node of jobs at times since they began; ``mean_w`` where no series tells it."""
    if series is None:
        return mean_w
    many = np.diff(series.first)[job]
    step = np.minimum(np.floor(at_s / series.step_s * (1 + 1e-12)).astype(np.int64), many - 1)
    known = many > 0
    watts = series.watts[np.where(known, series.first[job] + step, 0)] if series.watts.size else np.zeros(job.size)
    return np.where(known, watts, mean_w)


def write_samples(frame: pl.DataFrame, target: Path) -> None:
    """Write samples as the name's ending says: Parquet, CSV (.gz) or SQLite (.db)."""
    from wattline.telemetry.sources.sql import write_sqlite

    if target.name.endswith(".db"):
        write_sqlite(target, "power", frame)
    elif target.name.endswith((".csv", ".csv.gz")):
        write_whole(target, frame.write_csv().encode())
    elif target.name.endswith(".parquet"):
        import io

        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        write_whole(target, buffer.getvalue())
    else:
        raise TraceError.at(
            target, "cannot tell the format to write", hint=f"end the name in one of {', '.join(SUFFIXES)}"
        )
