"""The engine set up as the service-rate model: disciplines and switching rules by the names of the literal
recursion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reference import recursion as ref
from wattline.model.cluster import Cluster, Level, NodeClass
from wattline.model.jobs import JobTable
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

TRUE = {"truth": 1.0}
DISCIPLINES: dict[str, tuple[str, str, dict[str, Mapping[str, float]]]] = {
    ref.FCFS: ("fcfs", "in-order", {}),
    ref.LCFS: ("lcfs", "reselect", {}),
    ref.LPF: ("longest", "reselect", {"order": TRUE, "select": {"at_arrivals": 0, "drift": 1}}),
    ref.SPF: ("shortest", "reselect", {"order": TRUE, "select": {"at_arrivals": 0, "drift": -1}}),
    ref.LPF_WAITING: ("longest", "reselect", {"order": TRUE, "select": {"at_arrivals": 0, "preempt": 0}}),
    ref.SPF_WAITING: ("shortest", "reselect", {"order": TRUE, "select": {"at_arrivals": 0, "preempt": 0}}),
    ref.BF: ("fcfs", "backfill-by-end", {}),
}
"""Discipline of the recursion → order, select and their parameters."""


def policies(
    order: str = "fcfs",
    select: str = "in-order",
    cap: str = "none",
    learn: str = "exact",
    params: Mapping[str, Mapping[str, float]] | None = None,
) -> Policies:
    """Built-in mechanisms by name."""
    from wattline.control.catalog import find

    names = {"order": order, "select": select, "place": "lowest", "cap": cap, "learn": learn}
    return Policies(**{slot: find(slot, name) for slot, name in names.items()}, params=params or {})


def two_speeds(servers: int, rates: ref.Rates) -> Cluster:
    """Servers with the rates and energies of the recursion."""
    low = Level(float(rates.low), float(rates.busy_low), float(rates.idle_low))
    high = Level(float(rates.high), float(rates.busy_high), float(rates.idle_high))
    return Cluster((NodeClass("server", servers, high.idle_w, high.busy_w, levels=(low, high)),))


def table(arrival: Sequence[Any], amount: Sequence[Any], width: Sequence[int]) -> JobTable:
    """Customers as jobs."""
    return JobTable.build(submit_s=np.array(arrival, float), work_s=np.array(amount, float), nodes=np.array(width))


def run(
    arrival: Sequence[Any],
    amount: Sequence[Any],
    width: Sequence[int],
    servers: int,
    *,
    rates: ref.Rates,
    discipline: str = ref.FCFS,
    cap: str = "count-hysteresis",
    cap_params: Mapping[str, float],
    seed: int = 0,
    ties: str = "event",
) -> Result:
    """Run the engine on customers of the recursion."""
    order, select, params = DISCIPLINES[discipline]
    chosen = policies(order, select, cap, params={**params, "cap": cap_params})
    jobs = table(arrival, amount, width)
    return simulate(jobs, two_speeds(servers, rates), chosen, Options(ties=ties, backlog=True), seed=seed)


def in_the_middle(expected: ref.Run, shortest: float) -> dict[str, npt.NDArray[np.float64]]:
    """The recursion in the middle of every epoch longer than ``shortest`` (rounding splits or joins shorter ones)."""
    names = ("epoch", "tau", "rate", "busy", "in_service", "queue", "workload", "power")
    column = {name: np.array([float(x) for x in getattr(expected, name)]) for name in names}
    half = column.pop("tau") / 2
    column["workload"] -= half * column["rate"] * column["in_service"]
    column["epoch"] += half
    return {name: values[2 * half > shortest] for name, values in column.items()}


def assert_same(result: Result, expected: ref.Run, *, rtol: float = 1e-9, atol: float = 1e-7) -> None:
    """Every start, departure, energy budget and epoch (rate, busy servers, workload, power) agrees with the
    recursion.
    """
    from wattline.model import codes

    s = result.state
    pairs = {
        "start": (s.started_s, expected.start),
        "departure": (s.end_s, expected.departure),
        "energy budget": (s.energy_j, expected.energy_budget),
        "served": (s.ran_s, expected.served),
    }
    for name, (got, wanted) in pairs.items():
        np.testing.assert_allclose(got, [float(x) for x in wanted], rtol=rtol, atol=atol, err_msg=name)
    middle, timeline = in_the_middle(expected, 10 * atol), result.logs["timeline"]
    rows = timeline[np.searchsorted(timeline[:, codes.TL_TIME], middle["epoch"], side="right") - 1]
    columns = {
        "rate": codes.TL_RATE,
        "busy": codes.TL_BUSY,
        "in_service": codes.TL_RUNNING,
        "queue": codes.TL_QUEUED,
        "power": codes.TL_POWER,
        "workload": codes.TL_BACKLOG,
    }
    rows[:, codes.TL_BACKLOG] -= (
        rows[:, codes.TL_RATE] * rows[:, codes.TL_RUNNING] * (middle["epoch"] - rows[:, codes.TL_TIME])
    )
    for name, column in columns.items():
        np.testing.assert_allclose(rows[:, column], middle[name], rtol=rtol, atol=100 * atol, err_msg=name)
    total = float(sum(watts * tau for watts, tau in zip(expected.power, expected.tau, strict=True)))
    np.testing.assert_allclose(s.node_j.sum(), total, rtol=rtol, atol=atol, err_msg="energy")
