"""From the kinds, the market and the bid of a scenario to what a run and a search of bids take."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import did_you_mean
from wattline.memory import require_bytes
from wattline.scenario.kinds import build_kinds
from wattline.scenario.spec_regulation import FITTED, GAUSSIAN, RegulationSpec

if TYPE_CHECKING:
    from wattline.bidding.setting import Protocol, Setting, SignalLaw
    from wattline.formats.series.bids import Steps
    from wattline.market.reach import Reach
    from wattline.market.tariff import Tariff
    from wattline.model.cluster import Cluster
    from wattline.model.jobs import Floats
    from wattline.model.kinds import Kind
    from wattline.model.regulation import Bid, Bidding, Signal
    from wattline.reading.notes import Note
    from wattline.scenario.read import Document

HOUR_S = 3600.0
DURATION_S = 3 * HOUR_S
"""How long jobs of kinds arrive unless told otherwise: an hour to warm up, one that is sold, one to run on."""

HOURS_READY, HOUR_BYTES = 128, 300
"""Hours that a search keeps ready, and bytes that each takes for a control period, in its logs."""

MOST_HOURS = 1_000_000
"""Hours of accounts, more than a century; whoever asks for more has mistaken a unit."""

SIGNAL_STEP_S = 2.0
REACH_HOURS = 8
"""Drawn hours over which the reach of a bid is looked at."""


@dataclass(frozen=True)
class Market:
    """What a run needs to follow a bid: the signal, the bids by time, the hours that are billed, and what they cost."""

    signal: Signal
    bids: tuple[tuple[float, Bid | None], ...]
    bidding: Bidding | None
    from_s: float
    until_s: float
    hours: tuple[tuple[float, float], ...]
    tariff: Tariff
    reach: Reach | None
    about: dict[str, Any]
    notes: tuple[Note, ...] = ()

    def manifest(self) -> dict[str, Any]:
        """Return it as plain values for the journal."""
        from wattline.sim.result import regulation_entry

        span = (self.from_s, self.until_s)
        bid = self.bids[0][1] if len(self.bids) == 1 else None
        told = regulation_entry(bid, self.tariff, self.reach, self.hours, span, self.about)
        return told | {"notes": [asdict(note) for note in self.notes]}


def build_tariff(market: RegulationSpec) -> Tariff:
    """Return the prices."""
    from wattline.market.tariff import Tariff

    return Tariff(market.prices.energy, market.prices.reserve, market.prices.error)


def read_file(document: Document) -> tuple[Signal, tuple[Note, ...]]:
    """Read the signal that the scenario names, or that a drawn one is fitted to; it begins at time 0."""
    from wattline.formats.series.signals import read_signal

    market = document.spec.regulation
    assert market is not None  # noqa: S101 - the caller knows
    key = "file" if market.signal == FITTED else "signal"
    name = str(market.file if market.signal == FITTED else market.signal)
    path = document.base / name
    if not path.exists():
        close = did_you_mean(name, (GAUSSIAN, FITTED)) if key == "signal" else ""
        raise document.source.error(("regulation", key), f"no such file: {path}{close if 'did you' in close else ''}")
    found = read_signal(path, column=market.column, step_s=market.step, start_s=0.0)
    return found.signal, found.notes


def signal_law(document: Document) -> SignalLaw:
    """Return what draws the signal of an hour: the generators, or a recorded signal from a place that the seed picks."""
    from wattline.bidding.setting import GaussianLaw, recorded
    from wattline.generate.signal import FittedSignal, generate_signal
    from wattline.generate.signal_fit import fit_signal

    market = document.spec.regulation or RegulationSpec()
    if market.signal == GAUSSIAN:
        return GaussianLaw(
            market.std, market.time_constant, market.step or SIGNAL_STEP_S, energy_neutral=market.neutral is not False
        )
    signal, _ = read_file(document)
    if market.signal != FITTED:
        if signal.end_s - signal.start_s < HOUR_S:
            length_s = signal.end_s - signal.start_s
            raise document.source.error(("regulation", "signal"), f"lasts {length_s:g} s, shorter than an hour")
        return recorded(signal)
    fit = document.located(("regulation", "file"), fit_signal, signal)
    neutral = bool(market.neutral)
    return lambda duration_s, seed: generate_signal(FittedSignal(fit, duration_s, neutral, seed=seed))


def takes_part(document: Document) -> bool:
    """Tell whether there is a bid in a scenario: made by a policy, read from a file, or given."""
    spec = document.spec.regulation
    made = document.spec.policy.bid[0].name != "given"
    return spec is not None and (made or spec.bids is not None or None not in (spec.mean, spec.reserve))


def build_market(document: Document, cluster: Cluster, start_s: float, span_s: float) -> Market | None:
    """Return what the run has to follow: from ``start_s`` on for ``span_s`` seconds; None without a bid."""
    spec = document.spec.regulation
    if spec is None or not takes_part(document):
        return None
    made = document.spec.policy.bid[0].name != "given"
    from wattline.model.regulation import Bid, Bidding

    until_s = span_s if spec.until is None else spec.until
    hours = _hours(document, spec, until_s)
    signal, values, about, notes = _signal(document, spec, until_s, span_s)
    if not signal.covers(spec.from_, until_s - 1e-9 * until_s):
        raise document.source.error(
            ("regulation", "signal"),
            f"lasts {signal.end_s:g} s, shorter than the run, in which a bid holds until {until_s:g} s; "
            "give a longer signal or an earlier until",
        )
    bids: list[tuple[float, Bid | None]] = []
    bidding = reach = None
    if made:
        first_s, end_s = start_s + spec.from_, start_s + until_s
        bidding = document.located(("regulation", "lead"), Bidding, first_s, spec.every, spec.lead, end_s)
    elif spec.bids is not None:
        bids = [(start_s + time_s, bid) for time_s, bid in read_bids(document, cluster, spec.from_, until_s)]
    elif spec.mean is not None and spec.reserve is not None:
        bid = Bid(spec.mean, spec.reserve)
        bids, reach = [(start_s + spec.from_, bid)], check_reach(document, bid, values, cluster)
    return Market(
        replace(signal, start_s=start_s),
        tuple(bids),
        bidding,
        start_s + spec.from_,
        start_s + until_s,
        tuple((start_s + a, start_s + b) for a, b in hours),
        build_tariff(spec),
        reach,
        about,
        notes,
    )


def read_bids(document: Document, cluster: Cluster, from_s: float, until_s: float) -> Steps:
    """Read the file of bids that the scenario names.

    Those of other times do not count, and none may be one that the guard refuses.
    """
    from wattline.formats.series.bids import held_within
    from wattline.formats.series.bids import read_bids as read
    from wattline.market.reach import misfit

    market = document.spec.regulation
    path = document.base / str(market.bids if market is not None else "")
    if not path.exists():
        raise document.source.error(("regulation", "bids"), f"no such file: {path}")
    found = held_within(read(path), from_s, until_s)
    if all(bid is None for _, bid in found):
        told = f"no bid of {path} holds between {from_s:g} s and {until_s:g} s of the run"
        raise document.source.error(("regulation", "bids"), told)
    idle_w = sum(c.count * c.idle_w for c in cluster.classes)
    max_w = sum(c.count * c.max_w for c in cluster.classes)
    for time_s, bid in found:
        wrong = "" if bid is None else misfit(bid.mean_w, bid.reserve_w, idle_w, max_w)
        if bid is not None and wrong:
            what = f"mean power of {bid.mean_w:g} W" if wrong == "mean" else f"reserve of {bid.reserve_w:g} W"
            machine = f"that the machine can have (idle {idle_w:g} W, at most {max_w:g} W)"
            told = f"{path}: bid at {time_s:g} s: a {what} is none {machine}"
            raise document.source.error(("regulation", "bids"), told)
    return found


def check_reach(document: Document, bid: Bid, values: Floats, cluster: Cluster) -> Reach:
    """Refuse a bid that the cluster cannot keep; return its reach otherwise."""
    from wattline.market.reach import check_bid, misfit

    market = document.spec.regulation or RegulationSpec()
    idle_w = sum(c.count * c.idle_w for c in cluster.classes)
    max_w = sum(c.count * c.max_w for c in cluster.classes)
    key = misfit(bid.mean_w, bid.reserve_w, idle_w, max_w) or "reserve"
    found: Reach = document.located(("regulation", key), check_bid, bid, values, idle_w, max_w, market.reach)
    return found


def reach_values(law: SignalLaw) -> Floats:
    """Return values of the signal over which the reach of a bid is looked at."""
    return np.concatenate([law(HOUR_S, seed).values for seed in range(REACH_HOURS)])


def _hours(document: Document, spec: RegulationSpec, until_s: float) -> list[tuple[float, float]]:
    """Return the hours that are billed, counted from the end of the warm-up."""
    first_s = spec.from_ + spec.warmup
    fit = math.floor((until_s - first_s) / HOUR_S * (1 + 1e-12))
    if fit < max(1, spec.hours or 1):
        key = "hours" if spec.hours is not None else "warmup" if spec.warmup else "from"
        raise document.source.error(
            ("regulation", key),
            f"{max(fit, 0)} whole hours fit between {first_s:g} s, when billing begins, and {until_s:g} s, when the bid ends",
        )
    if (spec.hours or fit) > MOST_HOURS:
        told = f"{spec.hours or fit:,} hours would be billed, more than {MOST_HOURS:,}; give an earlier end (until)"
        raise document.source.error(("regulation",), told)
    return [(first_s + k * HOUR_S, first_s + (k + 1) * HOUR_S) for k in range(spec.hours or fit)]


def _signal(
    document: Document, spec: RegulationSpec, until_s: float, span_s: float
) -> tuple[Signal, Floats, dict[str, Any], tuple[Note, ...]]:
    """Return the signal of a run from time 0 on, values for its reach, what to say about it, and notes."""
    if spec.signal not in (GAUSSIAN, FITTED):
        signal, notes = read_file(document)
        return signal, signal.values, {"law": "file", "file": spec.signal, "step_s": signal.step_s}, notes
    law = signal_law(document)
    seed = document.spec.seed if spec.seed is None else spec.seed
    signal = document.located(("regulation", "signal"), law, max(until_s, span_s), seed)
    about: dict[str, Any] = {"law": spec.signal, "seed": seed, "step_s": signal.step_s}
    if spec.signal == GAUSSIAN:
        about |= {"std": spec.std, "time_constant_s": spec.time_constant}
    return signal, reach_values(law), about, ()


def build_setting(document: Document) -> Setting:
    """Return what a bid is made for; a machine or policy that the search cannot take is refused."""
    from wattline.bidding.setting import Protocol, Recipe, Setting
    from wattline.scenario.machine import cluster_nodes
    from wattline.scenario.studies import build_policies

    spec = document.spec
    market = spec.regulation or RegulationSpec()
    _check_machine(document)
    policies = build_policies(document)
    select, cap = (getattr(spec.policy, slot)[0] for slot in ("select", "cap"))
    for mechanism in (policies.select, policies.cap):
        if mechanism.builtin and not mechanism.target:
            raise document.source.error(
                ("policy", mechanism.slot),
                f"{mechanism.name!r} does not follow a power target, so no bid can be kept with it",
            )
    kinds = build_kinds(document, cluster_nodes(document))
    if not kinds:
        raise document.source.error(("kind",), 'a bid needs kinds of job: give kinds = "W4" or [[kind]] tables')
    node = spec.cluster.class_[0] if spec.cluster.class_ else spec.cluster
    recipe = Recipe(
        select.name,
        _policy_path(document, select.name),
        _policy_path(document, cap.name),
        params={"select": select.params, "cap": cap.params},
    )
    setting: Setting = document.located(
        ("kind",),
        Setting,
        kinds,
        cluster_nodes(document),
        node.idle,
        node.max,
        recipe,
        signal_law(document),
        Protocol(paper=spec.bid.protocol == "paper", control_s=market.control),
        build_tariff(market),
        market.stop_cost,
    )
    document.located(("regulation", "control"), _check_hours, setting.protocol, kinds)
    return setting


def _check_hours(protocol: Protocol, kinds: tuple[Kind, ...]) -> None:
    """Refuse control periods so short that the hours which a search keeps ready would fill the memory."""
    periods = (protocol.warm(kinds) + HOUR_S + protocol.tail(kinds)) / protocol.control_s
    require_bytes(
        periods * HOUR_BYTES * HOURS_READY, f"{HOURS_READY} trial hours of {periods:,.0f} control periods each"
    )


def _policy_path(document: Document, name: str) -> str:
    """Return a policy's name, or the path of a user's file as it is found from anywhere."""
    return str(document.base / name) if ".py" in name else name


def _check_machine(document: Document) -> None:
    spec = document.spec
    cluster = spec.cluster
    node = cluster.class_[0] if cluster.class_ else cluster
    bids = spec.policy.bid[0].name
    wrong = {
        ("cluster", "nodes"): "is missing: the machine's size decides the bid"
        if not cluster.class_ and cluster.nodes is None
        else "",
        ("cluster", "class"): "a bid is made for nodes of one class" if len(cluster.class_) > 1 else "",
        ("cluster", "sleep"): "a bid is made for nodes that do not sleep" if node.sleep else "",
        ("cluster", "levels"): "a bid is made for nodes that are capped, not switched between levels"
        if node.levels
        else "",
        ("cluster", "outage"): "a bid is made for a machine in service" if cluster.outage else "",
        ("cluster", "failures"): "a bid is made for a machine in service" if cluster.failures else "",
        ("limit",): "a bid is made without a power limit" if spec.limit.steps or spec.limit.power < math.inf else "",
        (
            "policy",
            "bid",
        ): f"wattline bid chooses one bid for all hours, {bids!r} makes others hour by hour: wattline run tells what they come to, --set policy.bid=given leaves them out"
        if bids != "given"
        else "",
        ("policy", "order"): "a bid is made with order = fcfs" if spec.policy.order[0].name != "fcfs" else "",
        ("policy", "place"): "a bid is made with place = lowest" if spec.policy.place[0].name != "lowest" else "",
    }
    for path, problem in wrong.items():
        if problem:
            raise document.source.error(path, problem)
