"""Which configurations to measure: the ones after which all the others would be known best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.learn.configs.errors import TURBO, draw
from wattline.learn.configs.fitted import Curve, Fit, Fitted, Points, points_of
from wattline.model.configurations import Configurations


def next_rows(
    fitted: Fitted,
    table: Configurations,
    count: int,
    *,
    measured: Ints | None = None,
    cost: npt.ArrayLike | None = None,
) -> Ints:
    """Return the rows of a table to measure next, best first; times and powers in the table are not looked at.

    ``measured`` are the rows that are known already (those that the model was fitted to, if the table is the same one).

    What is known of them is what the model says: each choice takes the row that lowers the mean variance over *all*
    rows most (of time and of power, each relative to what it is now), per unit of ``cost`` if given, and counts as
    measured for the next.
    """
    unknown = np.ones(len(table), dtype=bool)
    known = fitted.rows if measured is None else measured
    unknown[known] = False
    if not 0 < count <= unknown.sum():
        raise InputError(
            f"{table.application}: {int(unknown.sum())} configurations are not measured, got {count} to choose"
        )
    price = np.ones(len(table)) if cost is None else np.asarray(cost, dtype=np.float64)
    if price.shape != unknown.shape or not (np.isfinite(price) & (price > 0)).all():
        raise InputError(f"{table.application}: costs must be above 0, one for each of {len(table)} configurations")
    chosen = _turbo_first(table, known, unknown, price, count)
    if len(chosen) < count:
        chosen += _by_variance(fitted, table, unknown, price, count - len(chosen), chosen)
    return np.asarray(chosen, dtype=np.int64)


FIRST, STEP = 14, 4
"""Rows that are drawn before any can be chosen, and rows that are chosen before the model is fitted again."""


def chosen_rows(fit: Fit, table: Configurations, count: int, rng: np.random.Generator) -> Ints:
    """Return rows to fit to: a few drawn at random, the others chosen by what the model does not know after them.

    It costs as many measurements as a random draw of ``count``, and leaves smaller errors, the largest above all. Times
    and powers of rows that are not chosen are not looked at.
    """
    if not 0 < count <= len(table):
        raise InputError(f"{table.application}: cannot choose {count} of {len(table)} configurations")
    rows = draw(table, min(FIRST, count), rng)
    while rows.size < count:
        more = next_rows(fit(table, rows), table, min(STEP, count - rows.size))
        rows = np.sort(np.concatenate([rows, more]))
    return rows


def _turbo_first(
    table: Configurations, known: Ints, unknown: npt.NDArray[np.bool_], price: Floats, count: int
) -> list[int]:
    """Return rows with turbo that are missing before anything can be said of that level: the middle of the table,
    cheapest first.
    """
    turbo = table.cap_w == table.turbo_w
    missing = min(TURBO - int(turbo[known].sum()), int((turbo & unknown).sum()), count)
    if missing <= 0:
        return []
    rows = np.flatnonzero(turbo & unknown)
    away = sum(np.abs(np.log(v[rows]) - np.log(v).mean()) for v in (table.nodes, table.cores))
    chosen = rows[np.lexsort((away, price[rows]))][:missing]
    unknown[chosen] = False
    return [int(row) for row in chosen]


def _by_variance(
    fitted: Fitted, table: Configurations, unknown: npt.NDArray[np.bool_], price: Floats, count: int, taken: list[int]
) -> list[int]:
    covered = np.flatnonzero(fitted.covers(table.cap_w))  # what nothing is known of cannot be compared
    place = {int(row): k for k, row in enumerate(covered)}
    points = points_of(table).take(covered)
    known = [_Known(curve, points) for curve in (fitted.time, fitted.power)]
    for row in taken:
        if row in place:
            for one in known:
                one.measure(place[row])
    chosen: list[int] = []
    for _ in range(count):
        open_rows = unknown[covered]
        if not open_rows.any():
            raise InputError(f"{table.application}: measure the {len(taken) + len(chosen)} rows chosen so far first")
        gain = np.add(known[0].gains(), known[1].gains()) / price[covered]
        best = int(np.argmax(np.where(open_rows, gain, -np.inf)))
        chosen.append(int(covered[best]))
        unknown[covered[best]] = False
        for one in known:
            one.measure(best)
    return chosen


class _Known:
    """What is not known of one quantity: the covariance of its errors, updated as if rows were measured."""

    def __init__(self, curve: Curve, points: Points) -> None:
        self.covariance, self.noise = curve.covariance(points)
        self.noise = max(self.noise, 1e-12)
        self.whole = float(np.trace(self.covariance)) or 1.0

    def gains(self) -> Floats:
        """Return the share of all variance that measuring each row would take away."""
        taken = np.einsum("ij,ij->j", self.covariance, self.covariance)
        return taken / (np.diag(self.covariance).clip(min=0.0) + self.noise) / self.whole

    def measure(self, row: int) -> None:
        """Count a row as measured."""
        column = self.covariance[:, row].copy()
        self.covariance -= np.outer(column, column) / (max(column[row], 0.0) + self.noise)
