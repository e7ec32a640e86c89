"""How wrong a model of configurations is: draws of measurements, errors on the rest, power that was promised too
low first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.learn.configs.fitted import Fit, Fitted
from wattline.model.configurations import Configurations

LEAST = 35
"""Measurements that a draw takes at least, however small the share."""

KEPT_BACK = 0.2
"""Share of a small table that is kept to judge by, even if fewer than ``LEAST`` are then left to fit."""

TURBO = 2
"""Measurements with turbo that a draw holds at least where the table has them: it is a level of its own."""

OVERDRAFT = 0.10
"""Power predicted lower than the truth by more than this share of it breaks a cap, by the published measure."""


Pick = Callable[[Configurations, int, np.random.Generator], Ints]
"""Takes so many rows of a table."""


class Errors(NamedTuple):
    """Errors of one model on configurations it has not seen, as shares of the truth."""

    power_too_low: float
    """Share of points whose power was predicted more than ``OVERDRAFT`` too low."""
    power_lowest: float
    """The largest such under-prediction (0: none)."""
    power_mean: float
    power_median: float
    power_max: float
    power_third_quartile: float
    time_mean: float
    time_median: float
    time_max: float
    time_third_quartile: float
    time_median_s: float
    points: int


class Quartiles(NamedTuple):
    """Least, first quartile, median, third quartile and most of some sizes of errors."""

    least: float
    first: float
    median: float
    third: float
    most: float


def sample_size(rows: int, share: float, least: int = LEAST) -> int:
    """Return how many rows of a table are drawn to fit.

    >>> sample_size(455, 0.1), sample_size(177, 0.1), sample_size(12, 0.1)
    (46, 35, 9)
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"share: must lie between 0 and 1, got {share:g}")
    wanted = max(least, int(np.ceil(share * rows - 1e-9)))
    return max(1, min(wanted, int(rows * (1.0 - KEPT_BACK))))


def draw(table: Configurations, count: int, rng: np.random.Generator) -> Ints:
    """Return random rows of a table, each as likely as any; draws that hardly know turbo are thrown back."""
    if not 0 < count <= len(table):
        raise InputError(f"{table.application}: cannot draw {count} of {len(table)} configurations")
    turbo = table.cap_w == table.turbo_w
    needed = min(TURBO, int(turbo.sum()), count)
    while True:
        rows = np.sort(rng.permutation(len(table))[:count])
        if turbo[rows].sum() >= needed:
            return rows


def signed_errors(fitted: Fitted, table: Configurations, rows: Ints) -> tuple[Floats, Floats]:
    """Return relative errors of time and of power on some rows of a table (below 0: predicted too low)."""
    time_s, power_w = fitted.predict(table.nodes[rows], table.cores[rows], table.cap_w[rows])
    return time_s / table.time_s[rows] - 1.0, power_w / table.power_w[rows] - 1.0


def errors_of(fitted: Fitted, table: Configurations, rows: Ints) -> Errors:
    """Return the errors of a fitted model on some rows of a table."""
    return summarise(*signed_errors(fitted, table, rows), table.time_s[rows])


def quartiles(errors: Floats) -> Quartiles:
    """Return the quartiles of the sizes of errors, relative or in seconds (the boxes of Fig. 5.4).

    >>> quartiles(np.array([-0.4, 0.1, 0.2, -0.3, 0.0]))
    Quartiles(least=0.0, first=0.1, median=0.2, third=0.3, most=0.4)
    """
    return Quartiles._make(np.quantile(np.abs(errors), [0.0, 0.25, 0.5, 0.75, 1.0]).tolist())


def histogram(errors: Floats, step: float = 0.05) -> list[tuple[float, int]]:
    """Return how many signed errors lie in each bin of a width, by its lower edge, from the lowest that has one
    (Fig. 5.5).

    >>> histogram(np.array([-0.07, -0.02, 0.01, 0.02, 0.11]))
    [(-0.1, 1), (-0.05, 1), (0.0, 2), (0.05, 0), (0.1, 1)]
    """
    bins = np.floor(errors / step + 1e-9).astype(np.int64)
    low = int(bins.min())
    return [(round((low + k) * step, 12), int(count)) for k, count in enumerate(np.bincount(bins - low))]


def summarise(time: Floats, power: Floats, truth_s: Floats) -> Errors:
    """Return the figures of signed relative errors (above 0: predicted too much)."""
    t, w = np.abs(time), np.abs(power)
    return Errors(
        float((power < -OVERDRAFT).mean()),
        float(max(0.0, -power.min())),
        float(w.mean()),
        float(np.median(w)),
        float(w.max()),
        float(np.quantile(w, 0.75)),
        float(t.mean()),
        float(np.median(t)),
        float(t.max()),
        float(np.quantile(t, 0.75)),
        float(np.median(t * truth_s)),
        int(t.size),
    )


def unseen(table: Configurations, rows: Ints) -> Ints:
    """Return the rows of a table that are not among these."""
    mask = np.ones(len(table), dtype=bool)
    mask[rows] = False
    return np.flatnonzero(mask)


def errors_over_draws(
    fit: Fit,
    table: Configurations,
    *,
    share: float = 0.1,
    draws: int = 200,
    seed: int = 1,
    least: int = LEAST,
    pick: Pick | None = None,
) -> list[Errors]:
    """Return the errors on unseen rows for many random draws of the measurements; the same draws for every model.

    ``pick`` chooses the rows in another way than at random.
    """
    count = sample_size(len(table), share, least)
    found = []
    for rng in generators(seed, draws):
        rows = (pick or draw)(table, count, rng)
        found.append(errors_of(fit(table, rows), table, unseen(table, rows)))
    return found


def generators(seed: int, draws: int) -> Iterator[np.random.Generator]:
    """Return a generator of random numbers for each draw: the k-th draw does not depend on how many there are."""
    return (np.random.default_rng([seed, k]) for k in range(draws))


def median_errors(found: list[Errors]) -> Errors:
    """Return the median of each figure over draws."""
    values = np.median(np.asarray(found, dtype=np.float64), axis=0)
    return Errors._make(values.tolist())._replace(points=int(values[-1]))


def cross_validate(fit: Fit, table: Configurations, *, folds: int = 10, seed: int = 1) -> Errors:
    """Return the errors of a model on each row, predicted from the folds that do not hold it.

    Where a fold leaves no turbo measurement to the others, its turbo rows cannot be judged and do not count.
    """
    if not 2 <= folds <= len(table):
        raise InputError(f"{table.application}: folds must lie between 2 and {len(table)} rows, got {folds}")
    order = np.random.default_rng(seed).permutation(len(table))
    predicted = np.full((2, len(table)), np.nan)
    for k in range(folds):
        rows = np.sort(order[k::folds])
        fitted = fit(table, unseen(table, rows))
        rows = rows[fitted.covers(table.cap_w[rows])]
        predicted[:, rows] = fitted.predict(table.nodes[rows], table.cores[rows], table.cap_w[rows])
    told = np.isfinite(predicted[0])
    truth_s, truth_w = table.time_s[told], table.power_w[told]
    return summarise(predicted[0, told] / truth_s - 1.0, predicted[1, told] / truth_w - 1.0, truth_s)
