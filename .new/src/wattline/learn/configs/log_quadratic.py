"""The published regression: logarithms of time and power, quadratic in the logarithms of nodes, cores and cap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.learn.configs.fitted import Fitted, Points, points_of
from wattline.model.configurations import Configurations

TINY = 1e-7
"""Share of a term's length that must be its own for it to be kept: below, the measurements do not tell it from the
others.
"""


@dataclass(frozen=True)
class Terms:
    """Which terms are used, and the logarithms they are taken from (centres keep the sums well conditioned)."""

    centre: tuple[float, float, float]
    kept: Ints

    def of(self, points: Points) -> Floats:
        """Return the design matrix, a row a point."""
        return _all_terms(points, self.centre)[:, self.kept]


@dataclass(frozen=True)
class Regression:
    """Ordinary least squares of one quantity's logarithm."""

    terms: Terms
    coefficients: Floats
    pseudo: Floats
    left: Floats
    variance: float

    def at(self, points: Points) -> Floats:
        """Return the predicted logarithms."""
        return self.terms.of(points) @ self.coefficients

    def weights(self, points: Points) -> Floats:
        """Return the derivative of each prediction by each measurement."""
        return self.terms.of(points) @ self.pseudo

    def covariance(self, points: Points) -> tuple[Floats, float]:
        """Return how the errors of the predictions go together, and the variance of a measurement on top of them."""
        weights = self.weights(points)
        return self.variance * (weights @ weights.T), self.variance


def fit_log_quadratic(table: Configurations, rows: Ints) -> Fitted:
    """Fit the published model to some rows of a table.

    Terms are 1, n, c, p, n², c², p², nc, np, cp of logarithms. Rows with turbo have a level of their own in place
    of all terms in p (in products: the mean of the capped rows'). What the rows cannot tell apart (one node count
    only, say) is left out, later terms first.
    """
    points = points_of(table).take(rows)
    terms = _choose(points)
    if rows.size <= terms.kept.size:
        raise InputError(
            f"{table.application}: {rows.size} measurements are too few for {terms.kept.size} terms; give at least "
            f"{terms.kept.size + 1}"
        )
    design = terms.of(points)
    pseudo: Floats = np.linalg.pinv(design).astype(np.float64)
    curves = [_regress(terms, design, pseudo, np.log(column[rows])) for column in (table.time_s, table.power_w)]
    return Fitted("log-quadratic", table.application, table.turbo_w, rows, points, curves[0], curves[1])


def _regress(terms: Terms, design: Floats, pseudo: Floats, logs: Floats) -> Regression:
    coefficients = pseudo @ logs
    rest = logs - design @ coefficients
    own = 1.0 - np.einsum("ij,ji->i", design, pseudo)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(own > TINY, rest / own, np.inf)
    variance = float(rest @ rest) / (logs.size - terms.kept.size)
    return Regression(terms, coefficients, pseudo, left, variance)


def _all_terms(points: Points, centre: tuple[float, float, float]) -> Floats:
    n, c, p = (np.log(v) - m for v, m in zip((points.nodes, points.cores, points.cap_w), centre, strict=True))
    p = np.where(points.turbo, 0.0, p)
    level = points.turbo.astype(np.float64)
    return np.column_stack([np.ones_like(n), n, c, p, level, n * n, c * c, p * p, n * c, n * p, c * p])


def _choose(points: Points) -> Terms:
    """Keep each term that is not a sum of those before it, on these points."""
    capped = points.cap_w[~points.turbo]
    logs = (points.nodes, points.cores, capped if capped.size else np.ones(1))
    n, c, p = (float(np.log(values).mean()) for values in logs)
    columns = _all_terms(points, (n, c, p))
    basis: list[Floats] = []
    kept = []
    for k in range(columns.shape[1]):
        rest = columns[:, k].copy()
        for _ in range(2):  # twice, or rounding leaves something of the others in it
            for direction in basis:
                rest -= (rest @ direction) * direction
        length = float(np.linalg.norm(rest))
        if length > TINY * max(1.0, float(np.linalg.norm(columns[:, k]))):
            kept.append(k)
            basis.append(rest / length)
    return Terms((n, c, p), np.asarray(kept, dtype=np.int64))
