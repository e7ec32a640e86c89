"""Shapes that physics gives to time and power over configurations, with few parameters and what is likely of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wattline.arrays import Floats
from wattline.learn.configs.fitted import Points

PACKED = 0.4
"""Logarithm of what a second socket adds to the cap line where ranks are packed: about a half, for boards and
memory draw too.
"""

SHARPNESS = 40.0
"""How suddenly a cap takes hold: free power and cap line blend where they are within a fortieth of each other."""


class Prior(NamedTuple):
    """What is likely of parameters before anything was measured: centre and standard deviation of each."""

    centre: Floats
    deviation: Floats


@dataclass(frozen=True)
class Scale:
    """The middle of the measured configurations, from which logarithms are taken, and half of the most cores that
    were used.
    """

    nodes: float
    cores: float
    cap_w: float
    half: float

    @classmethod
    def of(cls, points: Points) -> Scale:
        """Return the geometric means; that of caps is over rows that have one."""
        capped = points.cap_w[~points.turbo]
        n, c, p = (
            float(np.exp(np.log(v).mean())) for v in (points.nodes, points.cores, capped if capped.size else np.ones(1))
        )
        return cls(n, c, p, 0.5 * float(points.cores.max()))

    def second(self, points: Points) -> Floats:
        """Return where more than half of the cores are used: codes that fill one socket first have then begun the
        second.
        """
        return (points.cores > self.half).astype(np.float64)


@dataclass(frozen=True)
class PowerShape:
    """Logarithm of a node's power: free it grows with its active cores and falls with communication, and a cap cuts it.

    Free: ln u = a + ln(1 + e^d c) - ln(1 + e^d) - ε ln n + g [n = 1], with turbo + τ + τ' ln c. Cap line: ln l = λ
    + ρ ln p + η h, where h is 1 if more than half of the cores are used (a second socket has a cap of its own,
    where ranks are packed). Power is the lesser of both, blended; with turbo there is no line. Nodes, cores and
    caps are relative to the middle.
    """

    scale: Scale

    def prior(self, points: Points, logs: Floats) -> Prior:
        """Return what is likely: free power near the median, the line above all that was seen under caps, sockets
        alike.
        """
        capped = ~points.turbo
        if not capped.any():
            middle, line = float(np.median(logs)) - 0.25, 50.0
        else:
            middle = float(np.median(logs[capped]))
            line = float((logs - np.log(points.cap_w / self.scale.cap_w))[capped].max())
        return Prior(
            np.array([middle, 0.0, 0.02, 0.25, -0.1, 0.0, line, 1.0, 0.0]),
            np.array([0.5, 1.0, 0.1, 0.15, 0.1, 0.2, 0.3, 0.05, 0.3]),
        )

    def starts(self, prior: Prior) -> tuple[Floats, ...]:
        """Return where a search begins: ranks scattered over both sockets, and packed. Between them is a ridge."""
        packed = prior.centre.copy()
        packed[6:] += (-PACKED, 0.0, PACKED)
        return prior.centre, packed

    def at(self, theta: Floats, points: Points) -> tuple[Floats, Floats]:
        """Return the logarithms and their derivatives by the parameters."""
        free, by_free, line, by_line = self._parts(theta, points)
        lesser, share = _softmin(free, line)
        return lesser, np.column_stack([by_free * share[:, None], by_line * (1.0 - share)[:, None]])

    def excess(self, theta: Floats, points: Points) -> Floats:
        """Return by how much (as a logarithm) free power is above what the cap leaves: 0 where the cap does not
        bind.
        """
        free, _, line, _ = self._parts(theta, points)
        return free - _softmin(free, line)[0]

    def _parts(self, theta: Floats, points: Points) -> tuple[Floats, Floats, Floats, Floats]:
        a, d, e, t0, t1, alone, height, slope, socket = theta
        cores, nodes = points.cores / self.scale.cores, np.log(points.nodes / self.scale.nodes)
        turbo, caps = points.turbo.astype(np.float64), np.log(points.cap_w / self.scale.cap_w)
        per_core = np.exp(d)
        active = 1.0 + per_core * cores
        one = (points.nodes == 1.0).astype(np.float64)
        second = self.scale.second(points)
        free = a + np.log(active / (1.0 + per_core)) - e * nodes + turbo * (t0 + t1 * np.log(cores)) + alone * one
        by_d = per_core * cores / active - per_core / (1.0 + per_core)
        by_free = np.column_stack([np.ones_like(free), by_d, -nodes, turbo, turbo * np.log(cores), one])
        line = np.where(points.turbo, np.inf, height + slope * caps + socket * second)
        return free, by_free, line, np.column_stack([np.ones_like(free), caps, second])


@dataclass(frozen=True)
class TimeShape:
    """Logarithm of the time: work shared by nodes and cores and slowed by the cap, over a part that nothing makes
    shorter.

    ln t = b + ln(w + s) - ln(1 + s), ln w = -α ln n - γ ln c + β z - turbo (τ + τ' ln c) + g [n = 1] - ζ h: z is
    the power shape's excess, so caps that do not bind change nothing; g is what the first step out of one node
    costs, ζ what a second socket's memory brings. Memory-bound codes have small β and γ.
    """

    scale: Scale
    power: PowerShape
    power_theta: Floats

    def excess(self, points: Points) -> Floats:
        """Return what the cap cuts off, by the power shape."""
        return self.power.excess(self.power_theta, points)

    def prior(self, points: Points, logs: Floats) -> Prior:
        """Return what is likely: near linear speed-up in nodes and cores, time nearly in inverse proportion to
        power.
        """
        del points
        return Prior(
            np.array([float(np.median(logs)), 0.9, 0.8, -2.5, 0.8, 0.18, -0.06, 0.0, 0.0]),
            np.array([2.0, 0.5, 0.4, 1.5, 0.4, 0.08, 0.06, 0.5, 0.3]),
        )

    def starts(self, prior: Prior) -> tuple[Floats, ...]:
        """Return where a search begins."""
        return (prior.centre,)

    def at(self, theta: Floats, points: Points, excess: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the logarithms and their derivatives by the parameters; the excess may be given, where it is known."""
        b, alpha, gamma, rest, beta, t0, t1, step, socket = theta
        nodes, cores = np.log(points.nodes / self.scale.nodes), np.log(points.cores / self.scale.cores)
        turbo, alone = points.turbo.astype(np.float64), (points.nodes == 1.0).astype(np.float64)
        excess = self.excess(points) if excess is None else excess
        second = self.scale.second(points)
        speed = (
            alpha * nodes + gamma * cores - beta * excess + turbo * (t0 + t1 * cores) - step * alone + socket * second
        )
        work = np.exp(-speed)
        fixed = np.exp(rest)
        share = work / (work + fixed)
        by_work = np.column_stack([-nodes, -cores, excess, -turbo, -turbo * cores, alone, -second]) * share[:, None]
        by_rest = (1.0 - share) - fixed / (1.0 + fixed)
        jacobian = np.column_stack([np.ones_like(nodes), by_work[:, :2], by_rest, by_work[:, 2:]])
        return b + np.log((work + fixed) / (1.0 + fixed)), jacobian


Shape = PowerShape | TimeShape


def _softmin(free: Floats, line: Floats) -> tuple[Floats, Floats]:
    """Return a smooth lesser of two, and its derivative by the first (that by the second is the rest of 1)."""
    with np.errstate(over="ignore"):
        odds = np.exp(-SHARPNESS * (line - free))  # weight of the line over that of the free power
        share = 1.0 / (1.0 + odds)
        lesser = np.where(line < free, line, free)
        return lesser - np.log1p(np.exp(-SHARPNESS * np.abs(line - free))) / SHARPNESS, share
