"""Power telemetry: look at samples, join them to jobs, and say every fault that was found.

Sources are Parquet, CSV, folders of them, SQLite and PostgreSQL; sensors are nodes, racks (or any sets of nodes) or
jobs. Samples stream through in bounded memory: ``clean`` finds faults, ``join`` cuts what is good by who held which
nodes, ``result`` makes power series of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.files import open_regular
from wattline.reading.notes import Trace
from wattline.telemetry.cleaning.clean import Cleaner, Stretches
from wattline.telemetry.cleaning.faults import WHAT, Fault, Tally
from wattline.telemetry.cleaning.rules import Rules
from wattline.telemetry.join import Join, Split
from wattline.telemetry.nodes.sensors import Sensors
from wattline.telemetry.nodes.work import Work
from wattline.telemetry.result import Profiles
from wattline.telemetry.sources.columns import Layout, Times, Wanted, find_layout, powers_of
from wattline.telemetry.sources.connection import SCHEMES, is_database, may_be_secret
from wattline.telemetry.sources.part import Source
from wattline.telemetry.sources.sort import SortedSource
from wattline.telemetry.sources.source import SQLITE_MAGIC, open_files
from wattline.telemetry.sources.sql import SqlSource

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[int, int], None]
BEYOND = 0.1
"""Share of samples beyond the patience from which the order of the table is in doubt."""


def open_source(
    spec: str,
    *,
    table: str | None = None,
    query: str | None = None,
    order: str | None = None,
    sort: bool = False,
    time_unit: str | None = None,
) -> Source:
    """Open samples: a file, a folder, or a connection string; ``sort`` brings them into the order of time first."""
    if is_database(spec) or _is_sqlite(Path(spec)):
        return SqlSource(spec, table, query, order)
    if may_be_secret(spec) and not Path(spec).exists():
        raise InputError(
            "the source (not shown: it may hold a password) is no file, and no connection string: those begin with "
            f"{SCHEMES[0]}"
        )
    for flag, value in (("--table", table), ("--query", query), ("--arrival", order)):
        if value is not None:
            raise InputError(f"{flag} is for databases; {spec} is none")
    found = open_files(Path(spec))
    return SortedSource(found, time_unit) if sort else found


def _is_sqlite(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False


@dataclass
class Reading:
    """Samples on their way in: their columns, what was counted, and the rules as they were settled."""

    source: Source
    layout: Layout
    times: Times
    tally: Tally
    sensors: Sensors
    cleaner: Cleaner
    work: Work | None
    components: dict[str, dict[str, int]]

    def stretches(self, progress: Progress | None = None) -> Iterator[Stretches]:
        """Give all that is good, window by window."""
        done, about = 0, self.source.rows or 0
        for frame in self.source.batches(self.layout.columns, self.layout.time):
            yield from self.cleaner.feed(*self._read(frame))
            done += frame.height
            if progress is not None:
                progress(done, max(about, done + 1))
        yield from self.cleaner.close()
        if not self.tally.samples:
            raise TraceError.at(self.source.name, "no samples in it")

    def _read(self, frame: pl.DataFrame) -> tuple[Ints, Floats, Floats]:
        code = self.sensors.codes(frame[self.layout.sensor])
        time_s = self.times.seconds(frame[self.layout.time])
        power_w = powers_of(frame, self.layout, self.source.name)
        if self.work is not None:
            time_s = time_s - self.work.shift_s(self.source.name, self.times)
            power_w = power_w / self.work.scale(self.layout.by, code)
        if len(self.layout.power) > 1:
            self._count_components(frame)
        return code, time_s, power_w

    def _count_components(self, frame: pl.DataFrame) -> None:
        for name in self.layout.power:
            watts = powers_of(frame, replace(self.layout, power=(name,)), self.source.name)
            counts = self.components.setdefault(name, {"nan": 0, "negative": 0})
            counts["nan"] += int(np.isnan(watts).sum())
            counts["negative"] += int((watts < 0).sum())

    def remarks(self) -> list[str]:
        """Return what a reader should know beside the counts."""
        found = list(self.cleaner.remarks)
        beyond = self.tally.total(Fault.TOO_LATE) + self.tally.total(Fault.CLOCK)
        if beyond > BEYOND * self.tally.samples:
            share = 100 * beyond / self.tally.samples
            found.append(
                f"{share:.0f} % of samples came beyond the patience: if they lie sensor by sensor, give --sort"
            )
        return found

    def facts(self) -> dict[str, Any]:
        """Return what was found, ready for JSON."""
        rules, tally, cleaner = self.cleaner.rules, self.tally, self.cleaner
        classes, names = self._classes()
        known = np.isfinite([cleaner.first_s, cleaner.last_s]).all()
        return {
            "source": self.source.name,
            "by": self.layout.by,
            "sensor": self.layout.sensor,
            "time": self.layout.time,
            "power": list(self.layout.power),
            "unit": self.layout.unit,
            "samples": tally.samples,
            "good": tally.used,
            "sensors": len(self.sensors.names),
            "first_s": cleaner.first_s if known else None,
            "last_s": cleaner.last_s if known else None,
            "unix": bool(self.times.unix),
            "period_s": rules.period_s,
            "rules": {
                "hold": rules.hold,
                "patience_s": rules.patience_s,
                "stuck_s": None if rules.stuck_s is None or np.isinf(rules.stuck_s) else rules.stuck_s,
                "max_w": None if np.isinf(rules.most_w) else rules.most_w,
            },
            "faults": {f.word: tally.total(f) for f in Fault},
            "by_class": tally.by_class(classes, names),
            "components": self.components,
            "missing_s": tally.missing_s,
            "worst": tally.worst(),
            "remarks": self.remarks(),
            "examples": {
                f.word: {**e._asdict(), "power_w": _plain(e.power_w), "time_s": _plain(e.time_s), "what": WHAT[f][1]}
                for f, e in tally.examples.items()
            },
        }

    def _classes(self) -> tuple[Ints, tuple[str, ...]]:
        count = len(self.sensors.names)
        if self.work is not None and self.layout.by == "node" and len(self.work.classes) > 1:
            sizes = [size for _, size in self.work.classes]
            inside = np.repeat(np.arange(len(sizes)), sizes)[:count]
            if inside.size == count:
                return inside, tuple(f"node: {name}" for name, _ in self.work.classes)
        return np.zeros(count, dtype=np.int64), (self.layout.by,)


def read(
    source: Source,
    wanted: Wanted,
    rules: Rules,
    work: Work | None = None,
    *,
    strict: bool = False,
    window: int | None = None,
) -> Reading:
    """Get ready to read samples; with ``work`` their sensors are its nodes, racks or jobs, and others are strangers."""
    layout = find_layout(source.name, source.columns, wanted)
    tally = Tally(source.name, strict=strict)
    sensors = Sensors(tally) if work is None else work.sensors(tally, layout.by)
    more = {} if window is None else {"window": window}
    cleaner = Cleaner(rules, tally, lasting=layout.by != "job", **more)
    return Reading(source, layout, Times(source.name, layout.time, wanted.time_unit), tally, sensors, cleaner, work, {})


def check(
    source: Source,
    wanted: Wanted | None = None,
    rules: Rules | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> Reading:
    """Read samples and find their faults, without jobs."""
    reading = read(source, wanted or Wanted(), rules or Rules(), strict=strict)
    for _ in reading.stretches(progress):
        pass
    return reading


@dataclass(frozen=True)
class Joined:
    """Jobs with their power, and how it was found."""

    trace: Trace
    reading: Reading
    profiles: Profiles
    join: Join

    def facts(self) -> dict[str, Any]:
        """Return what was found, ready for JSON."""
        share = self.profiles.coverage
        with_power = int(np.isfinite(self.profiles.draw_w).sum())
        quantiles = np.quantile(share, [0.05, 0.5, 0.95]).tolist() if share.size else [0.0] * 3
        return {
            "telemetry": self.reading.facts(),
            "jobs": len(self.trace.jobs),
            "with_series": with_power,
            "step_s": self.profiles.step_s,
            "energy_j": self.profiles.energy_j,
            "coverage": {"least": self.profiles.least, "p5": quantiles[0], "median": quantiles[1], "p95": quantiles[2]},
            "filled_steps": self.profiles.filled,
            "steps": self.profiles.steps,
            "shared_jobs": len(self.join.shared),
            "shared_sensor_s": self.join.shared_s,
            "notes": [note.__dict__ for note in self.trace.notes],
        }


def join(
    source: Source,
    work: Work,
    split: Split,
    wanted: Wanted | None = None,
    rules: Rules | None = None,
    *,
    least: float = 0.5,
    strict: bool = False,
    window: int | None = None,
    progress: Progress | None = None,
) -> Joined:
    """Join samples to jobs: every job gets its power per node in steps, where at least a share of its run was
    measured.
    """
    reading = read(source, wanted or Wanted(), rules or Rules(), work, strict=strict, window=window)
    placed = work.placed_for(reading.layout.by)
    joining = Join(placed, work.coverage(reading.layout.by), split, reading.tally, work.out(reading.layout.by))
    reading.cleaner.moves = joining.held
    jobs = work.trace.jobs
    profiles = Profiles(jobs, placed, split.step_s, least)
    for found in reading.stretches(progress):
        whole = replace(found, power_w=found.power_w * jobs.nodes[found.code]) if reading.layout.by == "job" else found
        profiles.take(joining.take(whole))
    profiles.take(joining.finish())
    notes = (*work.trace.notes, *work.notes, *profiles.notes())
    trace = replace(work.trace, jobs=profiles.table(), notes=notes)
    return Joined(trace, reading, profiles, joining)


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
