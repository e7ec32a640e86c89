"""What a machine costs: nodes, racks with their switches, maintenance, electricity and cooling over its life.

It also says how many nodes an amount of money buys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wattline.errors import InputError
from wattline.units import in_full

HOURS_PER_YEAR = 8760.0
CENT = 1e-6
"""Amounts closer than this are the same: floats are no cents."""
MOST_NODES = 10_000_000
"""More nodes than this cost nothing worth a plan."""


@dataclass(frozen=True)
class Racks:
    """Racks of ``nodes`` nodes, each ``price`` empty (switch, power supplies); 0 nodes: racks cost nothing.

    From two racks on, a switch of ``top_price`` for every ``top_racks`` racks joins them.
    """

    nodes: int = 0
    price: float = 0.0
    top_racks: int = 0
    top_price: float = 0.0

    def count(self, nodes: int) -> int:
        """Return how many racks hold so many nodes."""
        return math.ceil(nodes / self.nodes) if self.nodes else 0

    def cost(self, nodes: int) -> float:
        """Return what racks and switches for so many nodes cost.

        >>> Racks(16, 12000.0).cost(17), Racks(16, 12000.0, 18, 20000.0).cost(17)
        (24000.0, 44000.0)
        """
        racks = self.count(nodes)
        tops = math.ceil(racks / self.top_racks) if self.top_racks and racks > 1 else 0
        return racks * self.price + tops * self.top_price


@dataclass(frozen=True)
class Life:
    """Years in use, price of a kWh, PUE (power of the site with its cooling over that of the nodes), yearly maintenance
    over purchase.
    """

    years: float = 0.0
    price_per_kwh: float = 0.0
    pue: float = 1.0
    maintenance: float = 0.0

    def energy_cost(self, mean_w: float) -> float:
        """Return electricity and cooling over the life of a machine that draws so much on average.

        >>> Life(1.0, 0.10, 1.0).energy_cost(3e6)
        2628000.0
        """
        return mean_w / 1e3 * HOURS_PER_YEAR * self.years * self.price_per_kwh * self.pue


@dataclass(frozen=True)
class Bill:
    """What a machine costs, part by part."""

    nodes: float
    racks: float
    maintenance: float
    energy: float

    @property
    def purchase(self) -> float:
        """Nodes and racks."""
        return self.nodes + self.racks

    @property
    def total(self) -> float:
        """All of it, over the machine's life."""
        return self.purchase + self.maintenance + self.energy


def bill(nodes: int, node_price: float, racks: Racks, life: Life, mean_w: float) -> Bill:
    """Return the cost of so many nodes at a price, over their life."""
    bought, housed = nodes * node_price, racks.cost(nodes)
    return Bill(bought, housed, (bought + housed) * life.maintenance * life.years, life.energy_cost(mean_w))


def affordable(money: float, node_price: float, racks: Racks, life: Life, mean_w: float) -> int:
    """Return the most nodes whose cost over their life is within the money: 0 if not even one is.

    >>> affordable(64_800.0, 1700.0, Racks(16, 12000.0), Life(), 0.0)
    24
    """
    if not node_price > 0:
        raise InputError(f"the price of a node must be above 0, got {in_full(node_price)}")
    low, high = 0, 1
    while bill(high, node_price, racks, life, mean_w).total <= money + CENT:
        low, high = high, 2 * high
        if high > MOST_NODES:
            raise InputError(
                f"the money buys more than {MOST_NODES:,} nodes; are prices and power what they should be?"
            )
    while high - low > 1:
        middle = (low + high) // 2
        fits = bill(middle, node_price, racks, life, mean_w).total <= money + CENT
        low, high = (middle, high) if fits else (low, middle)
    return low


def cost_by_rack(nodes: int, node_price: float, racks: Racks) -> list[float]:
    """Return the price of a node with its share of the rack, rack by rack; only the last one may be half empty.

    >>> cost_by_rack(24, 1700.0, Racks(16, 12000.0))
    [2450.0, 3200.0]
    """
    full, rest = divmod(nodes, racks.nodes)
    filled = [racks.nodes] * full + ([rest] if rest else [])
    return [node_price + racks.price / n for n in filled]
