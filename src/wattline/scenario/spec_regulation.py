"""What a scenario file may say about demand response: kinds of job, the regulation market, and how a bid is chosen."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from wattline.scenario.quantities import Count, Finite, Name, Period, Power, Rate, Seed, Span, Words
from wattline.scenario.section import Section

MOST_TRIALS = 100_000
"""Fresh hours of a certificate: ten thousand settle any question, and each stays in memory."""

GAUSSIAN, FITTED = "gaussian", "fitted"
METHODS = ("search", "aqa", "qosg", "grid", "heuristic", "given")


class KindSpec(Section):
    """A kind of job, and the service that was promised to it.

    The kinds of a scenario are these and those of `kinds`.
    """

    name: Name = Field(description="name; jobs of a trace file are matched by it")
    nodes: Count = Field(description="nodes of every job")
    time: Span = Field(gt=0, description="run time without a cap")
    power: Power = Field(description="power per node without a cap")
    floor: Power | None = Field(
        None, description="power per node at its lowest cap (default: `power`, it cannot be capped)"
    )
    longest: Span | None = Field(
        None, description="run time at `floor`; it grows linearly in between (default: in proportion to power)"
    )
    limit: float = Field(
        math.inf, gt=0, description="QoS limit: of (end − submission − `time`) / `time` (default: nothing is promised)"
    )
    share: float = Field(0.1, gt=0, le=1, description="share of the jobs that may reach the limit")
    average: bool = Field(False, description="the limit holds for the mean over the jobs, not for a share of them")  # noqa: FBT003
    weight: Finite | None = Field(
        None, ge=0, description="share of the nodes where a policy shares by weights (default: equal ones)"
    )
    standby: bool = Field(False, description="endless jobs that only fill the target: nothing is promised to them")  # noqa: FBT003
    rate: Rate | None = Field(None, description='arrivals; bids and `generator = "kinds"` need them')


class WorkloadSpec(Section):
    """Kinds of job as published or from a file, instead of `[[kind]]`.

    `kinds = "W4"` is short for `kinds = {workload = "W4"}`, and `kinds = "log.kinds.csv"` for `kinds = {file =
    "log.kinds.csv"}`.
    """

    workload: str | None = Field(
        None, description="W1 to W14 of the AQA study; meggie-like or emmy-like, with the generator of that name"
    )
    file: str | None = Field(
        None, description="CSV file of kinds, relative to the scenario file; `wattline trace kinds` finds them in a log"
    )
    limit: float | None = Field(
        None, gt=0, description="QoS limit of all kinds (default: what is published or in the file)"
    )
    share: float | None = Field(
        None, gt=0, le=1, description="share of the jobs of every kind that may reach it (default: likewise)"
    )
    average: bool | None = Field(
        None, description="the limits hold for means over the jobs of a kind (default: likewise)"
    )
    utilization: Finite | None = Field(
        None, gt=0, description="share of busy nodes they ask for (default: as published)"
    )
    scale: Count = Field(1, description="nodes of every job × this")
    weights: Annotated[dict[str, float], Words("table of numbers")] | None = Field(
        None, description="weight of every kind by name (default: equal ones)"
    )


def named_kinds(value: Any) -> Any:
    """Return what `kinds` says as a table."""
    if not isinstance(value, str):
        return value
    return {"file" if value.endswith((".csv", ".csv.gz")) else "workload": value}


Workload = Annotated[
    WorkloadSpec | None, BeforeValidator(named_kinds), Words('name, like `"W4"`, CSV file, or a table (see below)')
]


class FlatPricesSpec(Section):
    """Prices in $/kWh."""

    energy: Finite = Field(0.10, ge=0, description="of the mean power")
    reserve: Finite = Field(0.10, ge=0, description="paid to us for the reserve")
    error: Finite = Field(0.10, ge=0, description="of |power − target|")


class RegulationSpec(Section):
    """A regulation market: the target is `mean` + signal × `reserve`, sold by the hour."""

    signal: Annotated[str, Words('`"gaussian"`, `"fitted"` (to `file`) or the path of a signal file')] = Field(
        GAUSSIAN, description="regulation signal in [−1, 1], drawn or read"
    )
    file: str | None = Field(None, description="signal file that a fitted signal takes after")
    column: str | None = Field(None, description="column of the file, if it holds several signals")
    step: Period | None = Field(
        None, description="time between two values (default: 2 s if drawn, what the file says if read)"
    )
    std: float = Field(0.40, gt=0, lt=1, description="standard deviation of a drawn Gaussian signal")
    time_constant: Span = Field(200.0, gt=0, description="time in which its autocorrelation falls to 1/e")
    neutral: bool | None = Field(
        None, description="every hour of the signal averages to zero (default: true if Gaussian, false if fitted)"
    )
    seed: Seed | None = Field(None, description="seed of a drawn signal (default: the scenario's)")
    mean: Power | None = Field(
        None, gt=0, allow_inf_nan=False, description="the bid: mean power P̄ (with `reserve`, or neither)"
    )
    reserve: Power | None = Field(None, allow_inf_nan=False, description="the bid: reserve R")
    bids: str | None = Field(
        None,
        description="file of bids instead: a row each, `time_s` (since the start of the run), `mean_w`, `reserve_w`; `wattline report --bids` writes one",
    )
    every: Span = Field(3600.0, ge=1, description="how long each bid of a bid policy holds")
    lead: Span = Field(0.0, description="how long before its time a bid of a bid policy is made")
    from_: Span = Field(0.0, alias="from", description="when the bid begins, since the start of the run")
    until: Span | None = Field(
        None, gt=0, description="when it ends (default: with the last submission, or after `duration`)"
    )
    warmup: Span = Field(0.0, description="time at its beginning that is neither billed nor counted")
    hours: Count | None = Field(None, description="hours that are billed and counted (default: all whole ones)")
    reach: Literal["paper", "strict"] = Field(
        "paper", description="`strict`: the cluster must reach the whole target; `paper`: all but what breaks tracking"
    )
    prices: FlatPricesSpec = Field(default_factory=FlatPricesSpec, description="prices (series: `[prices]`)")
    control: Period = Field(1.0, description="control period: caps and starts are decided this often")
    stop_cost: Span = Field(0.0, description="work that a stop by a policy adds to a job")
    baseline: str | None = Field(
        None,
        description="select policy with which the same jobs are run once more, without target and caps, to compare",
    )


class BidSpec(Section):
    """How `wattline bid` chooses mean power and reserve, and tests the choice."""

    method: Literal["search", "aqa", "qosg", "grid", "heuristic", "given"] = Field(
        "search",
        description="largest reserve by bisection; the published AQA, QoSG and grid; a rule of thumb; or `mean` and `reserve` as given",
    )
    hours: Annotated[int, Field(ge=2, le=MOST_TRIALS)] = Field(
        200,
        description="hours on which the choice is tested (of a recorded signal: hours of the same record, which certify nothing)",
    )
    protocol: Literal["stationary", "paper"] = Field(
        "stationary", description="warmed up and run on until all have finished, or one hour from an empty machine"
    )
