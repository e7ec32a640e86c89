"""Our model: the physical shapes, and on top of them what repeats by core count, node count and cap (mixed effects)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.learn.configs.fitted import Fitted, Points
from wattline.learn.configs.physical import Shaped, fit_shapes
from wattline.learn.configs.shapes import PowerShape, TimeShape
from wattline.model.configurations import Configurations

NODES, CORES, EXCESS = 1.0, 0.7, 0.15
"""Distances over which a smooth departure from the shape changes: logarithms of nodes, of cores, of power cut by
the cap.
"""
NODES_NEAR, EXCESS_NEAR = 0.7, 0.10
"""The same for departures of one core count."""
ACROSS_TURBO = 0.7
"""Correlation of a departure with turbo and without."""

PULL = 1.0
"""Measurements that the expected variance of a component is worth against what the data say."""
ROUNDS = 12


@dataclass(frozen=True)
class Effects:
    """Departures from a shape as sums of Gaussian processes, each with a variance of its own.

    In order: smooth in nodes, cores and cap; of a core count; of a core count, changing with nodes; of a core
    count, changing with the cap; of a node count. Codes split their work unevenly over 12 threads, or over 24
    nodes: neighbours say nothing of it.
    """

    power: PowerShape
    power_theta: Floats

    def kernels(self, a: Points, b: Points) -> Floats:
        """Return the correlations of the components between two sets of points."""
        nodes = np.log(a.nodes)[:, None] - np.log(b.nodes)
        cores = np.log(a.cores)[:, None] - np.log(b.cores)
        excess = self.power.excess(self.power_theta, a)[:, None] - self.power.excess(self.power_theta, b)
        level = np.where(a.turbo[:, None] == b.turbo, 1.0, ACROSS_TURBO)
        same_cores = cores == 0.0
        nodes *= nodes
        excess *= excess
        found = np.empty((5, *nodes.shape))
        found[0] = np.exp(-0.5 * (nodes / NODES**2 + (cores / CORES) ** 2 + excess / EXCESS**2)) * level
        found[1] = same_cores
        found[2] = np.exp(nodes * (-0.5 / NODES_NEAR**2)) * level * same_cores
        found[3] = np.exp(excess * (-0.5 / EXCESS_NEAR**2)) * (same_cores & (level == 1.0))
        found[4] = nodes == 0.0
        return found


@dataclass(frozen=True)
class MixedCurve:
    """One quantity: the posterior mean of shape (linear around its fit) and effects."""

    fit: Shaped
    effects: Effects
    jacobian: Floats
    """Derivatives of the shape at the measurements, by its parameters."""
    variances: Floats
    noise: float
    precision: Floats
    pulled: Floats
    left: Floats
    per_node: bool

    def at(self, points: Points) -> Floats:
        """Return the predicted logarithms."""
        told, jacobian = self.fit.shape.at(self.fit.theta, points)
        prior = told + jacobian @ (self.fit.prior.centre - self.fit.theta)
        return prior + self._cross(points, jacobian) @ self.pulled + (np.log(points.nodes) if self.per_node else 0.0)

    def weights(self, points: Points) -> Floats:
        """Return the derivative of each prediction by each measurement."""
        return self._cross(points, self.fit.shape.at(self.fit.theta, points)[1]) @ self.precision

    def covariance(self, points: Points) -> tuple[Floats, float]:
        """Return how the errors of the predictions go together, and the variance of a measurement on top of them."""
        jacobian = self.fit.shape.at(self.fit.theta, points)[1]
        cross = self._cross(points, jacobian)
        own = _of_parameters(self.fit, jacobian, jacobian)
        own += np.tensordot(self.variances, self.effects.kernels(points, points), 1)
        return own - cross @ self.precision @ cross.T, self.noise

    def _cross(self, points: Points, jacobian: Floats) -> Floats:
        kernels = self.effects.kernels(points, self.fit.points)
        return _of_parameters(self.fit, jacobian, self.jacobian) + np.tensordot(self.variances, kernels, 1)


def fit_mixed(table: Configurations, rows: Ints) -> Fitted:
    """Fit shapes and effects to some rows of a table."""
    time, power = fit_shapes(table, rows)
    assert isinstance(time.shape, TimeShape)  # noqa: S101  (for the type checker)
    effects = Effects(time.shape.power, time.shape.power_theta)
    kernels = effects.kernels(time.points, time.points)
    curves = (
        _curve(time, effects, kernels, 0.03, 0.01, per_node=False),
        _curve(power, effects, kernels, 0.01, 0.005, per_node=True),
    )
    return Fitted("mixed", table.application, table.turbo_w, rows, time.points, *curves)


def _curve(
    fit: Shaped, effects: Effects, kernels: Floats, expected: float, noise: float, *, per_node: bool
) -> MixedCurve:
    told, jacobian = fit.shape.at(fit.theta, fit.points)
    rest = fit.logs - told - jacobian @ (fit.prior.centre - fit.theta)
    shape = _of_parameters(fit, jacobian, jacobian)
    disturbed = np.diag(1.0 / fit.counts)  # noise of its own, the greater the less a measurement counts
    parts = np.concatenate([kernels, disturbed[None]])
    start = np.array([expected**2] * len(kernels) + [noise**2])
    variances = _variances(shape, parts, rest, start)
    precision = _inverse(shape + np.tensordot(variances, parts, 1))
    pulled = precision @ rest
    return MixedCurve(
        fit,
        effects,
        jacobian,
        variances[:-1],
        float(variances[-1]),
        precision,
        pulled,
        pulled / np.diag(precision),
        per_node,
    )


def _of_parameters(fit: Shaped, a: Floats, b: Floats) -> Floats:
    """Return the covariance that not knowing the shape's parameters makes."""
    return (a * fit.prior.deviation**2) @ b.T


def _variances(shape: Floats, parts: Floats, rest: Floats, start: Floats) -> Floats:
    """Return the variances of the parts that make what is left most likely, pulled a little to where they start.

    Each round multiplies a variance by the root of (what the data show of its part) over (what they would show if
    it were right), the minorize-maximize step for variance components: no step size, never below 0.
    """
    flat = parts.reshape(len(parts), -1)
    found = start.copy()
    for _ in range(ROUNDS):
        precision = _inverse(shape + (found @ flat).reshape(shape.shape))
        pulled = precision @ rest
        shown = found**2 * (flat @ np.outer(pulled, pulled).ravel()) + PULL * start
        due = found * (flat @ precision.ravel()) + PULL
        found = np.sqrt(found * shown / due)
    return found


def _inverse(matrix: Floats) -> Floats:
    inverse = np.linalg.inv(matrix).astype(np.float64)
    return 0.5 * (inverse + inverse.T)
