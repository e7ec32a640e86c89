"""The physically shaped model: few parameters, fitted robustly; what it cannot express is left as error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.learn.configs.fitted import Fitted, Points, points_of
from wattline.learn.configs.robust import Values, fit_robust
from wattline.learn.configs.shapes import PowerShape, Prior, Scale, Shape, TimeShape
from wattline.model.configurations import Configurations

POWER_NOISE, TIME_NOISE = 0.02, 0.03
"""Standard deviations that are expected of a measurement around the shapes, beyond twice of which it counts as
disturbed.
"""

LEAST = 8
"""Measurements below which nothing is fitted: priors alone would speak."""


class Shaped(NamedTuple):
    """A shape fitted to the logarithms of one quantity, per node."""

    shape: Shape
    theta: Floats
    prior: Prior
    points: Points
    logs: Floats
    counts: Floats
    """How much each measurement counts (1: fully)."""


@dataclass(frozen=True)
class ShapeCurve:
    """One quantity by its shape alone; errors follow from the linear form around the fit."""

    shape: Shape
    theta: Floats
    spread: Floats
    pseudo: Floats
    left: Floats
    variance: float
    per_node: bool

    def at(self, points: Points) -> Floats:
        """Return the predicted logarithms."""
        return self.shape.at(self.theta, points)[0] + (np.log(points.nodes) if self.per_node else 0.0)

    def weights(self, points: Points) -> Floats:
        """Return the derivative of each prediction by each measurement."""
        return self.shape.at(self.theta, points)[1] @ self.pseudo

    def covariance(self, points: Points) -> tuple[Floats, float]:
        """Return how the errors of the predictions go together, and the variance of a measurement on top of them."""
        jacobian = self.shape.at(self.theta, points)[1]
        return jacobian @ self.spread @ jacobian.T, self.variance


def fit_shapes(table: Configurations, rows: Ints) -> tuple[Shaped, Shaped]:
    """Fit the shapes of time and power to some rows of a table; power first, for time depends on where caps bind."""
    if rows.size < LEAST:
        raise InputError(f"{table.application}: {rows.size} measurements are too few; give at least {LEAST}")
    points = points_of(table).take(rows)
    scale = Scale.of(points)
    power = _fit(PowerShape(scale), points, np.log(table.power_w[rows] / points.nodes), POWER_NOISE)
    assert isinstance(power.shape, PowerShape)  # noqa: S101  (for the type checker)
    time = _fit(TimeShape(scale, power.shape, power.theta), points, np.log(table.time_s[rows]), TIME_NOISE)
    return time, power


def fit_physical(table: Configurations, rows: Ints) -> Fitted:
    """Fit the physically shaped model to some rows of a table."""
    time, power = fit_shapes(table, rows)
    return Fitted(
        "physical",
        table.application,
        table.turbo_w,
        rows,
        time.points,
        _curve(time, per_node=False),
        _curve(power, per_node=True),
    )


def _fit(shape: Shape, points: Points, logs: Floats, noise: float) -> Shaped:
    prior = shape.prior(points, logs)
    values: Values
    if isinstance(shape, TimeShape):
        values = partial(shape.at, points=points, excess=shape.excess(points))
    else:
        values = partial(shape.at, points=points)
    theta, counts = fit_robust(values, prior, logs, noise, shape.starts(prior))
    return Shaped(shape, theta, prior, points, logs, counts)


def _curve(fit: Shaped, *, per_node: bool) -> ShapeCurve:
    told, jacobian = fit.shape.at(fit.theta, fit.points)
    rest = fit.logs - told
    # as many degrees of freedom as the priors leave to the parameters
    noise = POWER_NOISE if per_node else TIME_NOISE
    bend = (jacobian.T * fit.counts) @ jacobian
    inverse = np.linalg.inv(bend / noise**2 + np.diag(fit.prior.deviation**-2)).astype(np.float64)
    pseudo = inverse @ (jacobian.T * fit.counts) / noise**2
    own = np.clip(1.0 - np.einsum("ij,ji->i", jacobian, pseudo), 1e-9, None)
    freedom = max(1.0, float(own.sum()))
    variance = float((fit.counts * rest) @ rest) / freedom
    spread = inverse * (variance / noise**2)
    return ShapeCurve(fit.shape, fit.theta, spread, pseudo, rest / own, variance, per_node)
