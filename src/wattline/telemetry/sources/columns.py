"""Columns of a table of samples: which name the sensor, the time and the power, and in which units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from wattline.arrays import Floats, in_units
from wattline.errors import InputError, TraceError, did_you_mean
from wattline.formats.series.columns import TIME_NAMES
from wattline.reading.as_they_come import first_of_two
from wattline.reading.notes import listed
from wattline.reading.unix_times import FACTORS, UNIX_S, may_be_dates, unit_of

if TYPE_CHECKING:
    import polars as pl

By = Literal["node", "rack", "job"]
SENSOR_NAMES: dict[By, tuple[str, ...]] = {
    "node": ("node", "node_id", "node_name", "nodename", "nid", "host", "hostname", "compute_node"),
    "rack": ("rack", "rack_id", "rack_name", "set", "pdu", "chassis", "midplane", "location", "sensor"),
    "job": ("job_id", "job", "jobid", "job_number", "jobidraw"),
}
"""Names of the column that says what was measured, the best first."""
POWER_NAMES = (
    "power_w",
    "power",
    "power_kw",
    "watts",
    "watt",
    "kw",
    "total_power",
    "node_power",
    "rack_power",
    "value",
)
_TIMES = (*TIME_NAMES, "time_us", "time_ns", "unix_ms", "ts", "measured_at", "received")
_POWER_FACTORS = {"W": 1.0, "kW": 1e3, "mW": 1e-3, "MW": 1e6}
_ZONED = "%Y-%m-%dT%H:%M:%S%.f%#z"
_FORMS = (_ZONED, "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M")


@dataclass(frozen=True)
class Wanted:
    """What a user said about the columns; ``None`` is found by rule."""

    by: By | None = None
    sensor: str | None = None
    time: str | None = None
    power: tuple[str, ...] = ()
    unit: str | None = None
    time_unit: str | None = None


@dataclass(frozen=True)
class Layout:
    """Columns of a table of samples; the power is the sum of ``power``, each times ``factor``."""

    by: By
    sensor: str
    time: str
    power: tuple[str, ...]
    factor: float
    unit: str

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [self.sensor, self.time, *self.power]


def find_layout(where: str, columns: Sequence[str], wanted: Wanted) -> Layout:
    """Tell the columns apart by what the user said and by their names."""
    names = {name.strip().lower(): name for name in columns}
    for asked in (wanted.sensor, wanted.time, *wanted.power):
        if asked is not None and asked.strip().lower() not in names:
            problem = f"no such column: found {listed(columns)}{did_you_mean(asked[:60], columns)}"
            raise TraceError.at(where, problem, field=asked[:60])
    by, sensor = _sensor(where, names, wanted)
    time = _asked(names, wanted.time) or next((names[n] for n in _TIMES if n in names), None)
    if time is None:
        raise TraceError.at(where, f"no column of times: found {listed(columns)}", hint="name it with --time")
    power = tuple(names[p.strip().lower()] for p in wanted.power) or _powers(names, {sensor, time})
    if not power:
        raise TraceError.at(where, f"no column of powers: found {listed(columns)}", hint="name it with --power")
    unit = wanted.unit or _unit_of(where, power)
    if unit not in _POWER_FACTORS:
        raise InputError(f"--unit {unit}: expected one of {', '.join(_POWER_FACTORS)}")
    return Layout(by, sensor, time, power, _POWER_FACTORS[unit], unit)


def _asked(names: dict[str, str], name: str | None) -> str | None:
    return None if name is None else names[name.strip().lower()]


def _sensor(where: str, names: dict[str, str], wanted: Wanted) -> tuple[By, str]:
    choices: tuple[By, ...] = ("node", "rack", "job") if wanted.by is None else (wanted.by,)
    if wanted.sensor is not None:
        word = wanted.sensor.strip().lower()
        kind = next((by for by in choices if word in SENSOR_NAMES[by]), wanted.by)
        if kind is None:
            raise TraceError.at(
                where, "does it name nodes, racks or jobs?", field=wanted.sensor, hint="say --by node, rack or job"
            )
        return kind, names[word]
    for by in choices:
        for name in SENSOR_NAMES[by]:
            if name in names:
                return by, names[name]
    told = f"no column that names a {' or '.join(choices)}: found {listed(names.values())}"
    raise TraceError.at(where, told, hint="name it with --sensor, and say what it is with --by")


def _powers(names: dict[str, str], taken: set[str]) -> tuple[str, ...]:
    """Return the column of the whole power, else all columns of components."""
    for name in POWER_NAMES:
        if name in names and names[name] not in taken:
            return (names[name],)
    free = {low: name for low, name in names.items() if name not in taken}
    return tuple(name for low, name in free.items() if low.endswith(("_w", "_kw", "_power", "_watts")))


def _unit_of(where: str, power: tuple[str, ...]) -> str:
    units = {"kW" if name.strip().lower().endswith("kw") else "W" for name in power}
    if len(units) > 1:
        raise TraceError.at(
            where, f"components in different units: {listed(power)}", hint="choose some with --power, or give --unit"
        )
    return units.pop()


def powers_of(frame: pl.DataFrame, layout: Layout, where: str) -> Floats:
    """Return watts, NaN where one is no number; a negative component makes the sum negative, so that it is found."""
    import polars as pl

    for name in layout.power:
        kind = frame[name].dtype
        if not (kind.is_numeric() or kind in (pl.String, pl.Null)):
            raise TraceError.at(where, f"column must hold powers, not {kind}"[:200], field=name)
    parts = [frame[name].cast(pl.Float64, strict=False).to_numpy().astype(np.float64) for name in layout.power]
    if len(parts) == 1:
        return in_units(parts[0], layout.factor)
    each = np.stack(parts)
    total = each.sum(axis=0)
    least = each.min(axis=0)
    return in_units(np.where(least < 0, least, total), layout.factor)


class Times:
    """Times of a column in seconds; the notation is settled by the first rows that have one.

    Dates without an offset are of ``zone`` (None: UTC).
    """

    def __init__(self, where: str, column: str, unit: str | None, zone: str | None = None) -> None:
        if unit is not None and unit not in (*FACTORS, "iso"):
            raise InputError(f"--time-unit {unit}: expected one of {', '.join(FACTORS)}, iso")
        self.where, self.column, self.zone = where, column, zone
        self.factor: float | None = FACTORS.get(unit or "")
        self.form: str | None = None
        self.unit = unit
        self.unix: bool | None = None

    def seconds(self, column: pl.Series) -> Floats:
        """Return seconds, NaN where there is no time."""
        import polars as pl

        if column.dtype in (pl.Datetime, pl.Date):
            found = column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64).to_numpy().astype(np.float64) / 1e6
            found = found if getattr(column.dtype, "time_zone", None) else self._of_zone(found)
        elif column.dtype == pl.String and self._is_text(column):
            found = self._parsed(column)
        else:
            plain = column.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
            found = in_units(plain, self._factor(plain))
        known = found[np.isfinite(found)]
        if self.unix is None and known.size:
            self.unix = bool(np.median(known) >= UNIX_S)
        return found

    def _is_text(self, column: pl.Series) -> bool:
        import polars as pl

        if self.factor is not None:
            return False
        if self.unit is None and self.form is None:
            numbers = column.cast(pl.Float64, strict=False).is_finite().sum()
            self.unit = None if 2 * int(numbers or 0) > column.drop_nulls().len() else "iso"
        return self.unit == "iso"

    def _parsed(self, texts: pl.Series) -> Floats:
        """Return Unix seconds of ISO dates."""
        import polars as pl

        joined = texts.str.strip_chars().str.replace(r"\s+", "T").str.replace(r"(?i)Z$", "+00:00")
        best = np.full(texts.len(), np.nan)
        for form in _FORMS if self.form is None else (self.form,):
            found = joined.str.to_datetime(form, time_unit="us", strict=False).dt.epoch("us").cast(pl.Float64)
            seconds = found.to_numpy().astype(np.float64) / 1e6
            if np.isfinite(seconds).sum() > np.isfinite(best).sum():
                best, chosen = seconds, form
        if self.form is None and np.isfinite(best).any():
            self.form = chosen
        return best if self.form == _ZONED else self._of_zone(best)

    def _of_zone(self, local_s: Floats) -> Floats:
        return local_s if self.zone is None else first_of_two(local_s, self.zone)

    def _factor(self, plain: Floats) -> float:
        if self.factor is None:
            known = plain[np.isfinite(plain)]
            if not known.size:
                return 1.0
            if may_be_dates(known):
                told = f"numbers like {known[0]:.0f} may be dates, or times in some unit"
                hint = (
                    f"write dates like 2024-01-31T12:00:00, or say their unit with --time-unit ({', '.join(FACTORS)})"
                )
                raise TraceError.at(self.where, told, field=self.column[:60], hint=hint)
            self.factor = _factor_by_name(self.column) or FACTORS[unit_of(float(np.median(np.abs(known))))]
        return self.factor


def _factor_by_name(name: str) -> float | None:
    return next((f for unit, f in FACTORS.items() if name.lower().endswith(f"_{unit}")), None)
