"""What every model of configurations can be asked: time and power anywhere, with intervals that keep their promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.configurations import Configurations

Bools = npt.NDArray[np.bool_]


class Points(NamedTuple):
    """Configurations as arrays; where ``turbo`` holds the cap says nothing but that there is none."""

    nodes: Floats
    cores: Floats
    cap_w: Floats
    turbo: Bools

    def take(self, rows: Ints) -> Points:
        """Return some of them."""
        return Points(self.nodes[rows], self.cores[rows], self.cap_w[rows], self.turbo[rows])


class Curve(Protocol):
    """The logarithm of one quantity over configurations, as a weighted sum of the logarithms that were measured.

    Taking a measurement away is then the same as replacing it by what the others say of it, so all models that
    leave one out are known without fitting again: at x the i-th is ``at(x) - weights(x)[:, i] * left[i]``.
    """

    @property
    def left(self) -> Floats:
        """Each measurement less what the others say of it; infinite where the others can say nothing."""

    def at(self, points: Points) -> Floats:
        """Return the predicted logarithms."""

    def weights(self, points: Points) -> Floats:
        """Return the derivative of each prediction by each measurement, a row a point."""

    def covariance(self, points: Points) -> tuple[Floats, float]:
        """Return how the errors of the predictions go together, and the variance of a measurement on top of them."""


class Bounds(NamedTuple):
    """Least and most of time and power, each side missed with half the probability of the interval."""

    least_s: Floats
    most_s: Floats
    least_w: Floats
    most_w: Floats


@dataclass(frozen=True)
class Fitted:
    """A model fitted to some rows of one application's table; powers are those of the whole job."""

    model: str
    application: str
    turbo_w: float
    rows: Ints
    measured: Points
    time: Curve
    power: Curve

    def predict(self, nodes: npt.ArrayLike, cores: npt.ArrayLike, cap_w: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return times and powers of configurations, which broadcast against each other."""
        points, shape = self._points(nodes, cores, cap_w)
        return np.exp(self.time.at(points)).reshape(shape), np.exp(self.power.at(points)).reshape(shape)

    def interval(self, nodes: npt.ArrayLike, cores: npt.ArrayLike, cap_w: npt.ArrayLike, miss: float = 0.1) -> Bounds:
        """Return bounds that time, and power, leave with probability ``miss``, half of it on either side (jackknife+).

        Whatever the model's form, a new configuration drawn like the measured ones leaves them with at most 2
        ``miss``; in practice with about ``miss``. An upper bound alone is missed with half of that. Beyond what was
        measured (``reaches``) there is no such promise: more nodes than any that was tried are not drawn like the
        others.
        """
        points, shape = self._points(nodes, cores, cap_w)
        sides = [side.reshape(shape) for curve in (self.time, self.power) for side in jackknife(curve, points, miss)]
        return Bounds(*sides)

    def covers(self, cap_w: npt.ArrayLike) -> Bools:
        """Return for which caps anything can be said: turbo must have been measured to be predicted."""
        return ~self.is_turbo(cap_w) | bool(self.measured.turbo.any())

    def reaches(self, nodes: npt.ArrayLike, cores: npt.ArrayLike, cap_w: npt.ArrayLike) -> Bools:
        """Return which configurations lie between the least and the most that was measured: bounds promise nothing
        elsewhere.
        """
        points, shape = self._points(nodes, cores, cap_w)
        caps = self.measured.cap_w[~self.measured.turbo]
        inside = np.ones(points.nodes.shape, dtype=bool)
        for asked, seen in ((points.nodes, self.measured.nodes), (points.cores, self.measured.cores)):
            inside &= (asked >= seen.min()) & (asked <= seen.max())
        low, high = (caps.min(), caps.max()) if caps.size else (np.inf, -np.inf)
        inside &= points.turbo | ((points.cap_w >= low) & (points.cap_w <= high))
        return inside.reshape(shape)

    def is_turbo(self, cap_w: npt.ArrayLike) -> Bools:
        """Return which caps mean uncapped, with turbo."""
        return np.asarray(np.asarray(cap_w, dtype=np.float64) == self.turbo_w)

    def points(self, nodes: npt.ArrayLike, cores: npt.ArrayLike, cap_w: npt.ArrayLike) -> Points:
        """Return configurations as the curves take them, flat."""
        return self._points(nodes, cores, cap_w)[0]

    def _points(
        self, nodes: npt.ArrayLike, cores: npt.ArrayLike, cap_w: npt.ArrayLike
    ) -> tuple[Points, tuple[int, ...]]:
        n, c, p = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (nodes, cores, cap_w)))
        for name, values in (("nodes", n), ("cores", c), ("cap_w", p)):
            bad = ~(np.isfinite(values) & (values > 0))
            if bad.any():
                raise InputError(f"{self.application}: {name} must be above 0 and finite, got {values[bad][0]:g}")
        if not self.covers(p).all():
            raise InputError(
                f"{self.application}: none of the {self.rows.size} measurements is at {self.turbo_w:g} W (turbo); "
                "measure one"
            )
        flat = Points(n.ravel(), c.ravel(), p.ravel(), self.is_turbo(p).ravel())
        return flat, n.shape


Fit = Callable[[Configurations, Ints], Fitted]


def points_of(table: Configurations) -> Points:
    """Return a table's configurations as the curves take them."""
    return Points(
        table.nodes.astype(np.float64), table.cores.astype(np.float64), table.cap_w, table.cap_w == table.turbo_w
    )


def jackknife(curve: Curve, points: Points, miss: float) -> tuple[Floats, Floats]:
    """Return bounds of a quantity by jackknife+ with signed errors (Barber, Candès, Ramdas and Tibshirani 2021)."""
    left = curve.left
    if not 0.0 < miss < 1.0:
        raise InputError(f"miss: must lie between 0 and 1, got {miss:g}")
    rank = int(np.floor(0.5 * miss * (left.size + 1) + 1e-9))
    if rank < 1:
        raise InputError(
            f"miss: {left.size} measurements cannot promise less than {2.0 / (left.size + 1):.3g}, got {miss:g}"
        )
    known = np.isfinite(left)
    finite = np.where(known, left, 0.0)
    # An error that cannot be known may be anything: it counts as endless on both sides.
    others = curve.at(points)[:, None] - curve.weights(points) * finite
    low = np.sort(np.where(known, others + finite, -np.inf), axis=1)[:, rank - 1]
    high = np.sort(np.where(known, others + finite, np.inf), axis=1)[:, -rank]
    return np.exp(low), np.exp(high)
