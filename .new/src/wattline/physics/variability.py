"""What caps do to a job whose nodes are not alike: the slowest decides, so equal speed beats equal caps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.variability import NodeFactors
from wattline.physics.cap_response import SpeedCurve
from wattline.units import in_full

ROUNDING = 1e-12


@dataclass(frozen=True)
class Capped:
    """Caps of a job's nodes and what follows: the speed of each, that of the job (its slowest node's), what each
    draws.
    """

    caps_w: Floats
    speeds: Floats
    drawn_w: Floats

    @property
    def speed(self) -> float:
        """The speed of a job whose work is spread evenly: that of its slowest node."""
        return float(self.speeds.min())

    @property
    def power_w(self) -> float:
        """What all nodes draw; those that wait for the slowest spin at their own power, as MPI does."""
        return float(self.drawn_w.sum())


@dataclass(frozen=True)
class Hardware:
    """What caps a node takes, and the part of its power that is the same in all nodes (memory, board)."""

    least_w: float = 0.0
    most_w: float = math.inf
    fixed_w: float = 0.0


ANY = Hardware()


def under_caps(response: SpeedCurve, nodes: NodeFactors, caps_w: Floats, hardware: Hardware = ANY) -> Capped:
    """Return what caps do: a node draws its factor times what a typical one would at the same speed, up to its cap."""
    own_w = hardware.fixed_w + (caps_w - hardware.fixed_w) / nodes.factors
    low = own_w < response.floor_w * (1.0 - ROUNDING)
    if low.any():
        i = int(np.argmax(low))
        need_w = _at(response.floor_w, nodes.factors[i], hardware)
        raise InputError(
            f"node {i}: a cap of {in_full(caps_w[i])} W is below the {in_full(float(need_w), 4)} W it needs at its "
            "lowest speed"
        )
    drawn_w = np.minimum(caps_w, _at(response.draw_w, nodes.factors, hardware))
    return Capped(caps_w, response.speed(own_w), drawn_w)


def equal_caps(response: SpeedCurve, nodes: NodeFactors, bound_w: float, hardware: Hardware = ANY) -> Capped:
    """Return what happens if a job's bound is shared equally, as if its nodes were alike."""
    cap_w = min(bound_w / len(nodes), hardware.most_w)
    if cap_w < hardware.least_w:
        raise InputError(
            f"{in_full(bound_w)} W leave {in_full(cap_w, 4)} W a node, below the least cap of "
            f"{in_full(hardware.least_w)} W"
        )
    return under_caps(response, nodes, np.full(len(nodes), cap_w), hardware)


def equal_speed_caps(response: SpeedCurve, nodes: NodeFactors, bound_w: float, hardware: Hardware = ANY) -> Capped:
    """Return the caps under a job's bound that make its slowest node fastest: all at one speed, thirsty nodes get more.

    A typical node's power x gives every node one speed and costs Σ max(least, fixed + v (x - fixed)), which grows
    with x: the greatest x within the bound is found exactly, from the most thirsty node on (water-filling). Nobody
    gets more than that speed needs, beyond the least cap that the hardware takes.
    """
    factors, spare_w = np.sort(nodes.factors)[::-1], hardware.fixed_w
    most = min(response.draw_w, spare_w + (hardware.most_w - spare_w) / factors[0])
    count, least_w = len(nodes), hardware.least_w
    if most < response.floor_w:
        raise InputError(
            f"a cap of {in_full(hardware.most_w)} W is below what the thirstiest node needs at its lowest speed"
        )
    level = -math.inf
    for k in range(1, count + 1):  # the k thirstiest need more than the least cap, the others get that
        x = spare_w + (bound_w - (count - k) * least_w - k * spare_w) / factors[:k].sum()
        above = _at(x, factors[k - 1], hardware) >= least_w
        if above and (k == count or _at(x, factors[k], hardware) <= least_w):
            level = x
    if level < response.floor_w * (1.0 - ROUNDING):
        need_w = float(np.maximum(_at(response.floor_w, factors, hardware), least_w).sum())
        raise InputError(
            f"a bound of {in_full(bound_w)} W is too low: {count} nodes need {in_full(need_w, 5)} W at their "
            "lowest speed"
        )
    level = min(max(level, response.floor_w), most)
    return under_caps(response, nodes, np.maximum(_at(level, nodes.factors, hardware), least_w), hardware)


def gain(response: SpeedCurve, nodes: NodeFactors, bound_w: float, hardware: Hardware = ANY) -> float:
    """Return how much less time caps of equal speed take than equal caps, as a share of the latter (0: nothing)."""
    equal = equal_caps(response, nodes, bound_w, hardware).speed
    return 1.0 - equal / equal_speed_caps(response, nodes, bound_w, hardware).speed


def frugal(nodes: NodeFactors, count: int) -> Ints:
    """Return the nodes to take for a job under a bound: those that draw least (no other choice of as many is
    faster).
    """
    if not 0 < count <= len(nodes):
        raise InputError(f"cannot take {count} of {len(nodes)} nodes")
    return np.sort(np.argsort(nodes.factors, kind="stable")[:count])


def _at(typical_w: float, factors: Floats, hardware: Hardware) -> Floats:
    """Return what nodes draw at the speed for which a typical one draws ``typical_w``."""
    return hardware.fixed_w + factors * (typical_w - hardware.fixed_w)
