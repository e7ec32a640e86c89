"""The cost model of overprovisioning: few fast nodes that may all draw their most, or more, cheaper ones that share the
same watts.

Of a power budget P_sys it buys n_wc = ⌊P_sys/P_max⌋ high-end nodes. The same money buys n_c older ones, of which the
budget keeps n_lim = ⌊P_sys/P_min⌋ alive; n_ovp is the lesser. Times come from a law of each application in the number
of (older) nodes; the high-end node is faster by r_p. s_ovp = t_wc/t_ovp above 1 speaks for more nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.market.machine_cost import MOST_NODES, Bill, Life, Racks, affordable, bill
from wattline.model.configuration_points import NONE, best_by_nodes, whole_nodes
from wattline.model.configurations import Configurations
from wattline.units import in_full

Reading = Literal["time", "speed"]
"""What "27 % faster" means: 27 % less time (× 0.73, as published), or 27 % more speed (× 1/1.27)."""


MOST_BOUGHT = 1e15
"""More older nodes than this no money buys, whatever the power keeps on."""


MOST_RATIO = 1e12
"""No machine is so many times faster than another for the same money."""


class Law(Protocol):
    """Run time of an application on so many older nodes that share so much power."""

    def time_s(self, nodes: int, power_w: float) -> float:
        """Return the run time."""


@dataclass(frozen=True)
class Line:
    """Time falls in a straight line with nodes; beyond ``most_nodes`` (0: no end) no more."""

    slope_s: float
    intercept_s: float
    most_nodes: int = 0

    def time_s(self, nodes: int, power_w: float) -> float:  # noqa: ARG002  # that of a line does not depend on power
        """Return m·n + c."""
        used = min(nodes, self.most_nodes) if self.most_nodes else nodes
        time_s = self.slope_s * used + self.intercept_s
        if time_s <= 0:
            raise InputError(
                f"a line of {in_full(self.slope_s)} s a node and {in_full(self.intercept_s)} s has no time "
                f"left at {used} nodes; "
                "say up to how many nodes it holds (most_nodes)"
            )
        return time_s


@dataclass(frozen=True)
class Measured:
    """Times of a measured table: the best configuration on so many nodes or fewer under the power, ``base_w`` a node
    not measured.

    Between measured node counts the best times are joined by straight lines in log n and log t, as scaling laws are;
    beyond the last one nothing is gained.
    """

    table: Configurations
    base_w: float = 0.0
    _known: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)

    def time_s(self, nodes: int, power_w: float) -> float:
        """Return the shortest time that nodes and power allow; nodes that are not used are off."""
        counts, times = self._best(power_w)
        reached = counts <= nodes
        if not reached.any():
            least = int(self.table.nodes.min())
            limit = f" under {power_w:,.0f} W" if math.isfinite(power_w) else ""
            raise InputError(
                f"{self.table.application}: no measured configuration on {nodes} nodes{limit}; the smallest has {least}"
            )
        between = math.exp(np.interp(math.log(nodes), np.log(counts), np.log(times)))
        return min(between, float(times[reached].min()))

    def _best(self, power_w: float) -> tuple[Floats, Floats]:
        """Return node counts and the best time on each under a power, the base included."""
        if power_w not in self._known:
            whole = replace(self.table, power_w=self.table.power_w + self.base_w * self.table.nodes)
            rows = best_by_nodes(whole, power_w)
            self._known[power_w] = whole.nodes[rows].astype(np.float64), whole.time_s[rows]
        return self._known[power_w]


@dataclass(frozen=True)
class Application:
    """An application: its law, and its share of what the high-end machine would compute in its time."""

    name: str
    law: Law
    weight: float = 1.0


@dataclass(frozen=True)
class Prices:
    """What both nodes cost, in one currency, with racks and life.

    ``use`` is the mean power over the most that may be drawn, of each machine.
    """

    high_end: float
    older: float
    racks: Racks = field(default_factory=Racks)
    life: Life = field(default_factory=Life)
    high_end_use: float = 1.0
    older_use: float = 1.0


@dataclass(frozen=True)
class Question:
    """All that a plan needs to know: power in watts, the advantage ``faster`` (0.27), and a cost ratio or prices."""

    power_w: float
    node_max_w: float
    node_min_w: float
    faster: float
    cost_ratio: float | None = None
    prices: Prices | None = None
    reading: Reading = "time"

    def __post_init__(self) -> None:
        for name in ("power_w", "node_max_w", "node_min_w"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} must be a power above 0, got {in_full(getattr(self, name))}")
        least_w = min(self.node_max_w, self.node_min_w)
        if self.power_w / least_w > MOST_NODES:
            told = f"{in_full(self.power_w)} W would keep more than {MOST_NODES:,} nodes of {in_full(least_w)} W on"
            raise InputError(f"{told}; are powers what they should be?")
        if not 0 <= self.faster < (1.0 if self.reading == "time" else math.inf):
            raise InputError(f"faster must be a share from 0 to below 1, like 0.27, got {in_full(self.faster)}")
        if (self.cost_ratio is None) == (self.prices is None):
            raise InputError("give either a cost ratio or the prices of both nodes")
        if self.cost_ratio is not None and not 0 < self.cost_ratio < math.inf:
            raise InputError(f"the cost ratio must be above 0, got {in_full(self.cost_ratio)}")

    @property
    def time_factor(self) -> float:
        """Time on a high-end node over time on an older one."""
        return 1.0 - self.faster if self.reading == "time" else 1.0 / (1.0 + self.faster)

    @property
    def worst_case_nodes(self) -> int:
        """n_wc: high-end nodes that may all draw their most."""
        return whole_nodes(self.power_w, self.node_max_w)

    @property
    def node_limit(self) -> int:
        """n_lim: older nodes that the power keeps alive."""
        return whole_nodes(self.power_w, self.node_min_w)

    def bills(self, older_nodes: int) -> tuple[Bill, Bill] | None:
        """Return what the high-end machine and so many older nodes cost over their lives, if prices are known."""
        if self.prices is None:
            return None
        p, n = self.prices, self.worst_case_nodes
        return (
            bill(n, p.high_end, p.racks, p.life, n * self.node_max_w * p.high_end_use),
            bill(older_nodes, p.older, p.racks, p.life, self.power_w * p.older_use),
        )

    @property
    def affordable_nodes(self) -> int:
        """Older nodes for the money of the high-end machine: ⌊n_wc·r_c⌋, or what prices, racks and running costs
        leave.
        """
        n = self.worst_case_nodes
        if self.prices is None:
            bought = n * float(self.cost_ratio or 0.0) * (1 + 1e-12)
            if bought > MOST_BOUGHT:
                raise InputError(f"the money buys {in_full(bought)} older nodes; is the cost ratio what it should be?")
            return math.floor(bought)
        both = self.bills(0)
        assert both is not None  # noqa: S101  # prices are known here
        return affordable(
            both[0].total,
            self.prices.older,
            self.prices.racks,
            self.prices.life,
            self.power_w * self.prices.older_use,
        )

    def with_ratio(self, cost_ratio: float) -> Question:
        """Return the same question at a plain cost ratio."""
        return replace(self, cost_ratio=cost_ratio, prices=None)


@dataclass(frozen=True)
class Outcome:
    """One application on both machines."""

    name: str
    weight: float
    worst_case_s: float
    overprovisioned_s: float

    @property
    def speedup(self) -> float:
        """s_ovp."""
        return self.worst_case_s / self.overprovisioned_s


@dataclass(frozen=True)
class Plan:
    """The answer: nodes of both machines, what limits the larger one, times of each application, and all of them
    together.
    """

    question: Question
    worst_case_nodes: int
    node_limit: int
    cost_units: float
    affordable_nodes: int
    nodes: int
    outcomes: tuple[Outcome, ...]

    @property
    def speedup(self) -> float:
        """s_ovp of the mix: the time that today's work takes on the high-end machine over that on the larger one."""
        most = max(o.weight for o in self.outcomes)  # as shares of the largest, none is too small a number to divide
        shares = [o.weight / most for o in self.outcomes]
        return sum(shares) / sum(share / o.speedup for share, o in zip(shares, self.outcomes, strict=True))

    @property
    def limited_by(self) -> str:
        """What keeps the larger machine from being larger still."""
        return "money" if self.affordable_nodes <= self.node_limit else "power"

    @property
    def effective_ratio(self) -> float:
        """Older nodes that the money buys, for each high-end one."""
        return self.affordable_nodes / self.worst_case_nodes


def solve(question: Question, applications: Sequence[Application], nodes: int | None = None) -> Plan:
    """Design both machines and time every application.

    ``nodes`` puts another number in the place of the affordable one.
    """
    if not applications:
        raise InputError("a plan needs an application: how its time changes with the number of nodes")
    if not sum(a.weight for a in applications) > 0 or min(a.weight for a in applications) < 0:
        raise InputError("weights of applications must not be negative, and not all 0")
    worst = question.worst_case_nodes
    if worst < 1:
        raise InputError(f"{in_full(question.power_w)} W do not feed a single node of {in_full(question.node_max_w)} W")
    bought = question.affordable_nodes if nodes is None else nodes
    used = min(question.node_limit, bought)
    if used < 1:
        raise InputError("neither money nor power suffice for one older node")
    outcomes = tuple(
        Outcome(
            a.name, a.weight, a.law.time_s(worst, math.inf) * question.time_factor, a.law.time_s(used, question.power_w)
        )
        for a in applications
    )
    for o in outcomes:
        if not (
            o.worst_case_s < math.inf and o.overprovisioned_s < math.inf and 1 / MOST_RATIO < o.speedup < MOST_RATIO
        ):
            told = (
                f"{o.name}: {in_full(o.worst_case_s)} s on one machine and {in_full(o.overprovisioned_s)} s on "
                "the other"
            )
            raise InputError(f"{told} cannot be compared; are its law and the advantage what they should be?")
    units = worst * question.cost_ratio if question.cost_ratio is not None else float(bought)
    return Plan(question, worst, question.node_limit, units, bought, used, outcomes)


def fit_line(table: Configurations, bound_w: float, least_nodes: int = 1, most_nodes: int = 0) -> tuple[Line, float]:
    """Fit a line through the best times by node count under a bound; return it with its mean relative error."""
    rows = best_by_nodes(table, bound_w)
    n = table.nodes[rows] if rows.size else np.zeros(0)
    keep = (n >= least_nodes) & (n <= (most_nodes or math.inf))
    rows = rows[keep]
    if rows.size < 2 or NONE in rows:
        raise InputError(f"{table.application}: a line needs two node counts under {bound_w:,.0f} W, found {rows.size}")
    x, y = table.nodes[rows].astype(float), table.time_s[rows]
    slope, intercept = np.polyfit(x, y, 1)
    error = float(np.mean(np.abs((slope * x + intercept) / y - 1.0)))
    return Line(float(slope), float(intercept), most_nodes or int(x.max())), error
