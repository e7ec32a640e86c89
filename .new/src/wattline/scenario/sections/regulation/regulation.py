"""[regulation]: the regulation market, its signal, and the bid that a run follows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from wattline.control.catalog import catalog
from wattline.control.installed import broken_words, one_of
from wattline.errors import PolicyError, did_you_mean
from wattline.files import exists
from wattline.formats.series.bids import held_within
from wattline.formats.series.bids import read_bids as read_file_of_bids
from wattline.market.hour import MOST_HOURS
from wattline.market.reach import Reach, check_bid, misfit
from wattline.market.tariff import Tariff
from wattline.model.lateness import Lateness
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Count, Files, Finite, Period, Power, Seed, Span, Words
from wattline.scenario.read.source import Context
from wattline.scenario.sections.policy import PolicySpec
from wattline.scenario.sections.regulation.made_for import MadeForSpec, warn_of_later_machine, warn_of_other_law
from wattline.scenario.sections.regulation.recorded import Recorded, names_of
from wattline.scenario.sections.regulation.signals import FITTED, GAUSSIAN, SignalSource, reach_values
from wattline.scenario.sections.run import RunSpec
from wattline.units import HOUR_S, in_full, show_duration
from wattline.wiring.options import Options

__all__ = ["FITTED", "GAUSSIAN", "reach_values"]

if TYPE_CHECKING:
    from wattline.arrays import Floats
    from wattline.bidding.hours.laws import SignalLaw
    from wattline.formats.series.bids import Steps
    from wattline.formats.series.records import Records
    from wattline.market.signal_law import Law
    from wattline.model.cluster import Cluster
    from wattline.reading.notes import Note

MOST_BIDS = 1_000_000
"""Bids of a bid policy in a run."""


class FlatPricesSpec(Section):
    """Prices in $/kWh."""

    energy: Finite = Field(0.10, ge=0, description="of the mean power")
    reserve: Finite = Field(0.10, ge=0, description="paid to us for the reserve")
    error: Finite = Field(0.10, ge=0, description="of |power − target|")


class RegulationSpec(Section):
    """A regulation market: the target is `mean` + signal × `reserve`, sold by the hour."""

    signal: Annotated[
        Files, Words('`"gaussian"`, `"fitted"` (to `file`), the path of a signal file, or a list of paths')
    ] = Field(
        GAUSSIAN, description="regulation signal in [−1, 1], drawn or read; several files are records of one signal"
    )
    file: Files | None = Field(
        None, description="recorded signal that a drawn one takes after; several files are days that differ"
    )
    column: str | None = Field(None, description="column of the file, if it holds several signals")
    step: Period | None = Field(
        None, description="time between two values (default: 2 s if drawn, what the file says if read)"
    )
    std: float = Field(
        0.40, gt=0, lt=1, description="standard deviation of a drawn Gaussian signal (default with `file`: that of it)"
    )
    time_constant: Span = Field(
        200.0, gt=0, description="time in which its autocorrelation falls to 1/e (default with `file`: likewise)"
    )
    neutral: bool | None = Field(
        None, description="every hour of the signal averages to zero (default: true if Gaussian, false if fitted)"
    )
    seed: Seed | None = Field(None, description="seed of a drawn signal (default: the scenario's)")
    mean: Power | None = Field(
        None, gt=0, allow_inf_nan=False, description="the bid: mean power P̄ (with `reserve`, or neither)"
    )
    reserve: Power | None = Field(None, allow_inf_nan=False, description="the bid: reserve R")
    made_for: MadeForSpec | None = Field(None, description="the signal and the machine for which the bid was made")
    bids: str | None = Field(
        None,
        description="file of bids instead: a row each, `time_s` (since the start of the run), `mean_w`, `reserve_w`; "
        "`wattline report --bids` writes one",
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
    prices: FlatPricesSpec = Field(
        default_factory=FlatPricesSpec,
        description="prices; bid policies choose by them, and `[prices]` settles in their place",
    )
    control: Period = Field(1.0, description="control period: caps and starts are decided this often")
    stop_cost: Span = Field(0.0, description="work that a stop by a policy adds to a job")
    baseline: str | None = Field(
        None,
        description="select policy with which the same jobs are run once more, without target and caps, to compare",
    )


def check_regulation(
    market: RegulationSpec | None, policy: PolicySpec, run: RunSpec, ends_s: float
) -> Iterator[Problem]:
    """Yield every problem of the market, of the bid and of the run that it is compared with.

    ``ends_s``: how long after it began the run ends because no more jobs are drawn.
    """
    if market is None:
        return
    here: KeyPath = ("regulation",)
    if (market.mean is None) != (market.reserve is None):
        given, missing = ("mean", "reserve") if market.reserve is None else ("reserve", "mean")
        yield (*here, given), f"a bid is mean and reserve: {missing} is missing"
    made = [pick.name for pick in policy.bid if pick.name != "given"]
    if market.bids is not None and market.mean is not None:
        yield (*here, "bids"), "bids come from a file or are mean and reserve, not both"
    if made and (market.bids is not None or market.mean is not None):
        key = "bids" if market.bids is not None else "mean"
        yield (*here, key), f'bids are made by policy {made[0]!r}; leave it out, or say [policy] bid = "given"'
    if market.lead > market.every:
        yield (*here, "lead"), f"a bid is made at most as long ahead as it holds, every = {in_full(market.every)} s"
    if not made and ("every" in market.model_fields_set or "lead" in market.model_fields_set):
        key = "every" if "every" in market.model_fields_set else "lead"
        yield (*here, key), 'goes with a bid policy: say [policy] bid = "adaptive", for one'
    if market.until is not None and market.until <= market.from_:
        yield (*here, "until"), "must be after from"
    elif market.until is not None and market.until > ends_s:
        told = f"the run ends before it, after {show_duration(ends_s)} (duration of [trace])"
        yield (*here, "until"), f"{told}: give a longer duration, or say with [run] until how long the run goes on"
    yield from _check_signal(market)
    if math.isfinite(run.tick) and run.tick != market.control:
        yield (
            ("run", "tick"),
            f"the control period is [regulation] control = {in_full(market.control)} s; leave tick out",
        )
    yield from _check_baseline(market)


def _check_signal(market: RegulationSpec) -> Iterator[Problem]:
    """Keys that the signal needs or does not go with."""
    here: KeyPath = ("regulation",)
    drawn, set_ = market.signal in (GAUSSIAN, FITTED), market.model_fields_set
    words = [name for name in names_of(market.signal) if name in (GAUSSIAN, FITTED)]
    if words and not drawn:
        yield (*here, "signal"), f'a list names files; a drawn signal stands alone: signal = "{words[0]}"'
    if market.signal == FITTED and market.file is None:
        yield (*here, "signal"), "a fitted signal needs the file it takes after: file = …"
    wrong = {GAUSSIAN: () if market.file is not None else ("column",), FITTED: ("std", "time_constant")}.get(
        str(market.signal), ("file", "std", "time_constant", "neutral", "seed")
    )
    for key in wrong:
        if key in set_:
            what = f'signal = "{market.signal}"' if drawn else "a signal that is read"
            yield (*here, key), f"does not go with {what}"


def _check_baseline(market: RegulationSpec) -> Iterator[Problem]:
    """The baseline follows nothing: it must be a policy that needs no target."""
    if market.baseline is None:
        return
    name, known = market.baseline, catalog()["select"]
    here: KeyPath = ("regulation", "baseline")
    try:
        found = known.get(name) or one_of("select", name)
    except PolicyError as problem:
        yield here, str(problem)
        return
    if found is None:
        yield here, f"unknown select policy {name!r}{did_you_mean(name, known)}{broken_words()}"
    elif found.target:
        yield here, f"{name!r} follows a power target; the baseline takes part in no market"


@dataclass(frozen=True)
class Market:
    """What a run needs to follow a bid: the signal, the bids by time, the hours that are billed, and what they cost."""

    signal: Signal
    bids: tuple[tuple[float, Bid | None], ...]
    bidding: Bidding | None
    from_s: float
    until_s: float
    hours: tuple[tuple[float, float], ...]
    reach: Reach | None
    about: dict[str, Any]
    notes: tuple[Note, ...] = ()
    warnings: tuple[str, ...] = ()
    """What nobody should overlook: records that are not alike, a signal or a machine for which the bid was not made."""
    words: str = ""
    """What was taken from data."""

    def manifest(self) -> dict[str, Any]:
        """Return it as plain values for the journal."""
        from wattline.wiring.manifest import regulation_entry

        span = (self.from_s, self.until_s)
        bid = self.bids[0][1] if len(self.bids) == 1 else None
        told = regulation_entry(bid, self.reach, self.hours, span, self.about)
        return told | {"notes": [asdict(note) for note in self.notes], "warnings": list(self.warnings)}


def build_tariff(market: RegulationSpec) -> Tariff:
    """Return the prices."""
    return Tariff(market.prices.energy, market.prices.reserve, market.prices.error)


def _source(market: RegulationSpec, context: Context) -> SignalSource:
    """Return what the scenario says of its signal."""
    drawn, given = market.signal in (GAUSSIAN, FITTED), market.model_fields_set
    files, key = (market.file, "file") if drawn else (market.signal, "signal")
    known = () if drawn else (GAUSSIAN, FITTED)
    return SignalSource(
        str(market.signal) if drawn else "file",
        Recorded(names_of(files), ("regulation", key), context, market.column, market.step, known),
        context,
        market.std if "std" in given else None,
        market.time_constant if "time_constant" in given else None,
        market.neutral,
    )


def records_of(market: RegulationSpec, context: Context) -> Records | None:
    """Return the records of a signal that is read; None where it is drawn."""
    return _source(market, context).records()


def signal_law(market: RegulationSpec, context: Context) -> SignalLaw:
    """Return what draws the signal of an hour: a generator, or a recorded signal from a place that the seed picks."""
    return _source(market, context).signal_law()


def taken_from_data(market: RegulationSpec, context: Context) -> str:
    """Return a line on what a Gaussian signal takes from recorded ones ("": nothing)."""
    return _source(market, context).normal()[3] if market.signal == GAUSSIAN else ""


def law_of_signal(market: RegulationSpec, context: Context) -> Law:
    """Return the figures of the signal: of the whole files, or of days that are drawn."""
    return _source(market, context).figures()


def other_law(market: RegulationSpec, context: Context) -> str:
    """Return the loud line where the signal is not like the one for which the bid was made ("": it is)."""
    return "" if market.made_for is None else warn_of_other_law(market.made_for, law_of_signal(market, context))


def doubting(market: Market, spec: RegulationSpec, late: Lateness) -> Market:
    """Return a market with a loud line more, where the machine is later than the one the bid was made for."""
    told = warn_of_later_machine(spec.made_for, late)
    return replace(market, warnings=(*market.warnings, told)) if told else market


def takes_part(market: RegulationSpec | None, policy: PolicySpec) -> bool:
    """Tell whether there is a bid in a scenario: made by a policy, read from a file, or given."""
    if market is None:
        return False
    return policy.makes_bids or market.bids is not None or None not in (market.mean, market.reserve)


def build_market(
    spec: RegulationSpec, context: Context, cluster: Cluster, start_s: float, span_s: float, *, made: bool
) -> Market:
    """Return what the run has to follow, from ``start_s`` on for ``span_s`` seconds.

    ``made``: a policy makes the bids.
    """
    until_s = span_s if spec.until is None else spec.until
    hours = sold_hours(spec, context, until_s)
    played = _source(spec, context).played(max(until_s, span_s), context.seed_of(spec.seed))
    signal, values = played.signal, played.values
    if not signal.covers(spec.from_, until_s - 1e-9 * until_s):
        raise context.error(
            ("regulation", "signal"),
            f"lasts {in_full(signal.end_s)} s, shorter than the run, in which a bid holds until {in_full(until_s)} s; "
            "give a longer signal or an earlier until",
        )
    bids: list[tuple[float, Bid | None]] = []
    bidding = reach = None
    if made:
        first_s, end_s = start_s + spec.from_, start_s + until_s
        bidding = context.located(("regulation", "lead"), Bidding, first_s, spec.every, spec.lead, end_s)
    elif spec.bids is not None:
        bids = [(start_s + time_s, bid) for time_s, bid in _read_bids(spec, context, cluster, until_s)]
    elif spec.mean is not None and spec.reserve is not None:
        bid = Bid(spec.mean, spec.reserve)
        bids, reach = [(start_s + spec.from_, bid)], check_reach(spec, context, bid, values, cluster)
    return Market(
        replace(signal, start_s=start_s),
        tuple(bids),
        bidding,
        start_s + spec.from_,
        start_s + until_s,
        tuple((start_s + a, start_s + b) for a, b in hours),
        reach,
        played.about,
        played.notes,
        tuple(line for line in (*played.strangers, other_law(spec, context)) if line),
        played.words,
    )


def add_market(
    options: Options, spec: RegulationSpec | None, context: Context, market: Market | None, length_s: float
) -> Options:
    """Return options with the signal and the bids of a run that takes ``length_s`` seconds at least."""
    if spec is None:
        return options
    if market is None:
        return replace(options, tick_s=spec.control, stop_cost_s=spec.stop_cost)
    if market.bidding is not None and length_s / spec.every > MOST_BIDS:
        told = f"{length_s / spec.every:,.0f} bids would be made, more than {MOST_BIDS:,}"
        raise context.error(("regulation", "every"), told)
    bids = list(market.bids)
    if market.until_s < options.until_s and (market.until_s, None) not in bids[-1:]:
        bids.append((market.until_s, None))
    return replace(
        options,
        tick_s=spec.control,
        stop_cost_s=spec.stop_cost,
        signal=market.signal,
        bids=bids,
        bidding=market.bidding,
        go_on_s=max((end_s for _, end_s in market.hours), default=-math.inf),
    )


def _read_bids(spec: RegulationSpec, context: Context, cluster: Cluster, until_s: float) -> Steps:
    """Read the file of bids that the scenario names.

    Those of other times do not count, and none may be one that the guard refuses.
    """
    path = context.base / str(spec.bids)
    if not exists(path):
        raise context.error(("regulation", "bids"), f"no such file: {path}")
    found = held_within(read_file_of_bids(path), spec.from_, until_s)
    if all(bid is None for _, bid in found):
        told = f"no bid of {path} holds between {in_full(spec.from_)} s and {in_full(until_s)} s of the run"
        raise context.error(("regulation", "bids"), told)
    idle_w, max_w = _range_w(cluster)
    for time_s, bid in found:
        wrong = "" if bid is None else misfit(bid.mean_w, bid.reserve_w, idle_w, max_w)
        if bid is not None and wrong:
            what = (
                f"mean power of {in_full(bid.mean_w)} W"
                if wrong == "mean"
                else f"reserve of {in_full(bid.reserve_w)} W"
            )
            machine = f"that the machine can have (idle {in_full(idle_w)} W, at most {in_full(max_w)} W)"
            told = f"{path}: bid at {in_full(time_s)} s: a {what} is none {machine}"
            raise context.error(("regulation", "bids"), told)
    return found


def check_reach(spec: RegulationSpec, context: Context, bid: Bid, values: Floats, cluster: Cluster) -> Reach:
    """Refuse a bid that the cluster cannot keep; return its reach otherwise.

    ``values`` are those of the signal over which the reach is looked at.
    """
    idle_w, max_w = _range_w(cluster)
    key = misfit(bid.mean_w, bid.reserve_w, idle_w, max_w) or "reserve"
    found: Reach = context.located(("regulation", key), check_bid, bid, values, idle_w, max_w, spec.reach)
    return found


def _range_w(cluster: Cluster) -> tuple[float, float]:
    """Return what all nodes draw, idle and at most."""
    return sum(c.count * c.idle_w for c in cluster.classes), sum(c.count * c.max_w for c in cluster.classes)


def sold_hours(spec: RegulationSpec, context: Context, until_s: float) -> list[tuple[float, float]]:
    """Return the hours that are billed, counted from the end of the warm-up."""
    first_s = spec.from_ + spec.warmup
    fit = math.floor((until_s - first_s) / HOUR_S * (1 + 1e-12))
    if fit < max(1, spec.hours or 1):
        key = "hours" if spec.hours is not None else "warmup" if spec.warmup else "from"
        raise context.error(
            ("regulation", key),
            f"{max(fit, 0)} whole hours fit between {in_full(first_s)} s, when billing begins, and "
            f"{in_full(until_s)} s, when the "
            "bid ends",
        )
    if (spec.hours or fit) > MOST_HOURS:
        told = f"{spec.hours or fit:,} hours would be billed, more than {MOST_HOURS:,}; give an earlier end (until)"
        raise context.error(("regulation",), told)
    return [(first_s + k * HOUR_S, first_s + (k + 1) * HOUR_S) for k in range(spec.hours or fit)]
