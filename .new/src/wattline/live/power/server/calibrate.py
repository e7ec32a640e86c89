"""φ of the server model from paired readings, by least squares, with the error that it leaves on readings held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wattline.errors import InputError
from wattline.live.power.server.model import ServerModel, checked
from wattline.live.power.server.table import read_numbers

LEAST_READINGS, FOLDS = 12, 5
LEAST_SPREAD = 0.02
"""Standard deviation over mean that processors must have shown: without load and idle times there is no slope."""
MOST_ALIKE = 0.999
"""Square of the correlation of processors and memory from which on nobody can tell which of the two it was."""


@dataclass(frozen=True)
class Error:
    """How far a model is from readings."""

    mean_percent: float
    max_percent: float
    r2: float


@dataclass(frozen=True)
class Calibration:
    """A fitted model and how good it is."""

    model: ServerModel
    readings: int
    fit: Error
    held_out: Error
    """Each fifth of the readings by a model of the other four."""
    has_memory: bool


def calibrate(path: Path | str) -> Calibration:
    """Fit a model to a CSV of ``cpu_w``, ``memory_w`` (may be missing) and ``server_w``."""
    columns = read_numbers(path, ("cpu_w", "server_w"), ("memory_w",))
    memory = columns.get("memory_w")
    try:
        return fit(columns["cpu_w"], memory, columns["server_w"], name=Path(path).stem)
    except InputError as problem:
        raise InputError(f"{path}: {problem}").about(path) from None


def fit(
    cpu_w: Sequence[float], memory_w: Sequence[float] | None, server_w: Sequence[float], name: str = "fitted"
) -> Calibration:
    """Fit a model to readings in the order in which they were taken."""
    count = len(server_w)
    if count < LEAST_READINGS:
        raise InputError(f"has {count} readings, a fit needs {LEAST_READINGS} or more, at several loads")
    for what, values in (("cpu_w", cpu_w), ("memory_w", memory_w or ()), ("server_w", server_w)):
        if any(value < 0.0 for value in values):
            raise InputError(f"{what}: a reading is negative; leave such rows out")
    if min(server_w) <= 0.0:
        raise InputError("server_w: a reading is 0, which no running server draws; leave such rows out")
    rows = list(zip(cpu_w, memory_w or [0.0] * count, server_w, strict=True))
    model = _least_squares(rows, name, with_memory=memory_w is not None)
    apart = [
        (row, part_model)
        for part in range(FOLDS)
        for rest, held in [_parts(rows, part)]
        for part_model in [_least_squares(rest, name, with_memory=memory_w is not None)]
        for row in held
    ]
    return Calibration(
        model, count, _error([(row, model) for row in rows]), _error(apart), has_memory=memory_w is not None
    )


Row = tuple[float, float, float]


def _parts(rows: list[Row], part: int) -> tuple[list[Row], list[Row]]:
    """Return all but one stretch of neighbouring readings, and that stretch: neighbours are alike."""
    begin, end = part * len(rows) // FOLDS, (part + 1) * len(rows) // FOLDS
    return rows[:begin] + rows[end:], rows[begin:end]


def _least_squares(rows: list[Row], name: str, *, with_memory: bool) -> ServerModel:
    count = len(rows)
    means = [math.fsum(row[i] for row in rows) / count for i in range(3)]

    def moment(i: int, j: int) -> float:
        return math.fsum((row[i] - means[i]) * (row[j] - means[j]) for row in rows)

    cc, cs = moment(0, 0), moment(0, 2)
    if means[0] <= 0.0 or math.sqrt(cc / count) < LEAST_SPREAD * means[0]:
        raise InputError("cpu_w: hardly changes; take readings of an idle server and at several loads")
    phi_1, phi_2 = cs / cc, 0.0
    if with_memory:
        mm, cm, ms = moment(1, 1), moment(0, 1), moment(1, 2)
        if mm <= 1e-12 * count * max(means[1], 1.0) ** 2 or cm * cm > MOST_ALIKE * cc * mm:
            raise InputError(
                "memory_w: does not change by itself; run programs that use memory differently, or leave the column out"
            )
        room = cc * mm - cm * cm
        phi_1, phi_2 = (cs * mm - ms * cm) / room, (ms * cc - cs * cm) / room
    phi_3_w = means[2] - phi_1 * means[0] - phi_2 * means[1]
    return checked(ServerModel(name, phi_1, phi_2, phi_3_w), "the fit makes no sense")


def _error(pairs: list[tuple[Row, ServerModel]]) -> Error:
    measured = [row[2] for row, _ in pairs]
    off = [model.server_w(row[0], row[1]) - row[2] for row, model in pairs]
    mean = math.fsum(measured) / len(measured)
    percents = [100.0 * abs(o) / m for o, m in zip(off, measured, strict=True)]
    total = math.fsum((m - mean) ** 2 for m in measured)
    return Error(
        math.fsum(percents) / len(percents),
        max(percents),
        1.0 - math.fsum(o * o for o in off) / total if total > 0.0 else math.nan,
    )
