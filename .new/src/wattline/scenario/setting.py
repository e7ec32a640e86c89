"""What ``wattline bid`` makes a bid for: the machine, the kinds, the policies and the market of a scenario."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from wattline.bidding.budget import POLICY
from wattline.bidding.hours.outcome import is_promised
from wattline.bidding.hours.setting import Prices, Protocol, Setting
from wattline.errors import cut
from wattline.generate.kinds import check_kinds
from wattline.market.bill import flat_book
from wattline.memory import require_bytes
from wattline.model.kinds import Kind
from wattline.scenario.built.jobs_of_kinds import draw_kinds
from wattline.scenario.documents import Document
from wattline.scenario.machine import build_cluster
from wattline.scenario.parts import build_kinds, build_policies, cluster_nodes
from wattline.scenario.read.base import KeyPath
from wattline.scenario.sections.late import build_late
from wattline.scenario.sections.policy import MechanismSpec
from wattline.scenario.sections.prices import build_billing
from wattline.scenario.sections.regulation.made_for import searched_days
from wattline.scenario.sections.regulation.regulation import (
    RegulationSpec,
    build_tariff,
    other_law,
    records_of,
    signal_law,
    sold_hours,
    taken_from_data,
)
from wattline.scenario.sections.trace import clock_of
from wattline.scenario.traces import build_trace
from wattline.units import DAY_S, HOUR_S

if TYPE_CHECKING:
    from wattline.formats.series.records import Records
    from wattline.model.regulation import Record

HOURS_READY, HOUR_BYTES = 128, 300
"""Hours that a search keeps ready, and bytes that each takes for a control period, in its logs."""

_SAMPLE_S = DAY_S
"""Length of a stretch of jobs from which the machine is built."""


def build_setting(document: Document, *, given: bool = False) -> Setting:
    """Return what a bid is made for; a machine or policy that the search cannot take is refused.

    ``given``: the bid of the scenario is tested, none is made anew.
    """
    spec, context = document.spec, document.context
    market = spec.regulation or RegulationSpec()
    _check_machine(document)
    policies = build_policies(document if given else _with_budget(document))
    for mechanism in (policies.select, policies.cap):
        if mechanism.builtin and not mechanism.target:
            raise context.error(
                ("policy", mechanism.slot),
                f"{mechanism.called!r} does not follow a power target, so no bid can be kept with it",
            )
    nodes = cluster_nodes(document)
    kinds = build_kinds(document, nodes)
    if not kinds:
        raise context.error(("kind",), 'a bid needs kinds of job: give kinds = "W4" or [[kind]] tables')
    context.located(("kind",), check_kinds, kinds, nodes)
    _refuse_means(document, kinds)
    hour = draw_kinds(kinds, context, cast("int", nodes), _SAMPLE_S, spec.seed)
    records = records_of(market, context)
    searched = searched_days(market.made_for, records.records) if given and records is not None else []
    _check_budget(document, market, records)
    setting = Setting(
        kinds,
        build_cluster(document, hour),
        policies,
        signal_law(market, context),
        Protocol(paper=spec.bid.protocol == "paper", control_s=market.control),
        _prices(document, market),
        market.stop_cost,
        late=build_late(spec.late),
        name=spec.policy.select[0].name,
        records=() if records is None else records.records,
        doubts=_doubts(document, market, records, searched, given=given),
        searched=frozenset(record.digest for record in searched),
        notes=() if records is None else records.notes,
        taken=taken_from_data(market, context),
    )
    context.located(("regulation", "control"), _check_hours, setting.protocol, kinds)
    return setting


def _refuse_means(document: Document, kinds: Sequence[Kind]) -> None:
    """Refuse promises about the mean of a kind's jobs: what is searched and certified are shares of late ones."""
    mean = [kind.name for kind in kinds if kind.average and is_promised(kind)]
    if mean:
        raise document.source.error(
            ("kind",),
            f"wattline bid certifies the share of late jobs, and {cut(mean[0])!r} is promised a mean (average): give "
            "average = false and a share, or let wattline run tell what the mean comes to",
        )


def _with_budget(document: Document) -> Document:
    """Return a scenario in which the parameters stand that the search for a day's budget finds."""
    pick = document.spec.policy.bid[0]
    if pick.name != POLICY:
        return document
    found = MechanismSpec(name=pick.name, params={"mean_w": 1.0, "reserve_w": 1.0, **pick.params})
    policy = document.spec.policy.model_copy(update={"bid": [found]})
    return replace(document, spec=document.spec.model_copy(update={"policy": policy}))


def _check_budget(document: Document, market: RegulationSpec, records: Records | None) -> None:
    """Refuse a day's budget without recorded days, or for bids of other lengths than those that are tried."""
    if document.spec.policy.bid[0].name != POLICY:
        return
    if records is None:
        told = 'a day\'s budget is chosen on recorded days: name some, signal = ["a.csv.gz", "b.csv.gz"]'
        raise document.source.error(("regulation", "signal"), told)
    for key, value, tried in (("every", market.every, HOUR_S), ("lead", market.lead, 0.0)):
        if value != tried:
            told = f"wattline bid tries bids that hold an hour and are made when it begins: leave {key} out"
            raise document.source.error(("regulation", key), told)


def _prices(document: Document, market: RegulationSpec) -> Prices:
    """Return what hours are charged: as the run of this scenario is, hour by hour of those that it bills."""
    spec, context = document.spec, document.context
    if spec.prices is None:
        return Prices(flat_book(build_tariff(market)))
    trace = build_trace(document)[0]
    start_s, span_s = clock_of(spec.trace, trace.jobs)
    hours = tuple((start_s + a, start_s + b) for a, b in sold_hours(market, context, market.until or span_s))
    found = build_billing(spec.prices, market, context, trace, start_s, hours[-1][1], hours)
    assert found is not None  # noqa: S101 - there are hours to bill
    return Prices(found.book, tuple(begin_s for begin_s, _ in hours))


def _doubts(
    document: Document, market: RegulationSpec, records: Records | None, searched: Sequence[Record], *, given: bool
) -> tuple[str, ...]:
    """Return why nothing can be certified on the signal: a record of another law, or a bid made for another signal."""
    found = [] if records is None else list(records.strangers.values())
    if given and (other := other_law(market, document.context)):
        found.append(other)
    if searched:
        told = f"{len(searched)} of these days were searched when the bid was made ({searched[0].name}, for one)"
        found.append(f"{told}: they tell nothing of other days")
    return tuple(found)


def _check_hours(protocol: Protocol, kinds: tuple[Kind, ...]) -> None:
    """Refuse control periods so short that the hours which a search keeps ready would fill the memory."""
    periods = (protocol.warm(kinds) + HOUR_S + protocol.tail(kinds)) / protocol.control_s
    require_bytes(
        periods * HOUR_BYTES * HOURS_READY, f"{HOURS_READY} trial hours of {periods:,.0f} control periods each"
    )


def _check_machine(document: Document) -> None:
    spec = document.spec
    cluster = spec.cluster
    node = cluster.class_[0] if cluster.class_ else cluster
    bids = spec.policy.bid[0].name
    other_bids = (
        f"wattline bid chooses one bid for all hours, {bids!r} makes others hour by hour: "
        "wattline run tells what they come to, --set policy.bid=given leaves them out, "
        f"--set policy.bid={POLICY} looks for a day's budget"
    )
    limited = bool(spec.limit.steps) or spec.limit.power < math.inf
    slowed = spec.network is not None and any(job.share > 0 for job in spec.network.job)
    unknown = not cluster.class_ and cluster.nodes is None
    refused: list[tuple[KeyPath, bool, str]] = [
        (("cluster", "nodes"), unknown, "is missing: the machine's size decides the bid"),
        (("cluster", "sleep"), node.sleep is not None, "a bid is made for nodes that do not sleep"),
        (
            ("cluster", "levels"),
            bool(node.levels),
            "a bid is made for nodes that are capped, not switched between levels",
        ),
        (("cluster", "outage"), bool(cluster.outage), "a bid is made for a machine in service"),
        (("cluster", "failures"), cluster.failures is not None, "a bid is made for a machine in service"),
        (("resource",), bool(spec.resource), "a bid is made for jobs that share nothing but nodes and watts"),
        (("limit",), limited, "a bid is made without a power limit"),
        (("budget",), bool(spec.budget), "a bid is made without a power limit, and so without budgets"),
        (("configurations",), bool(spec.configurations), "a bid is made for jobs of one shape each"),
        (("network", "job"), slowed, "a bid is made for jobs that do not slow each other"),
        (("run", "kill"), spec.run.kill, "a bid is made for jobs that are not ended when they are late"),
        (("run", "ties"), spec.run.ties != "instant", "a bid is made with one pass an instant"),
        (("run", "passes"), spec.run.passes != "events", "a bid is made with passes whenever something happens"),
        (
            ("regulation", "bids"),
            spec.regulation is not None and spec.regulation.bids is not None,
            "wattline bid chooses one bid for all hours, or tests one: give mean and reserve, or none of both",
        ),
        (("policy", "bid"), bids not in ("given", POLICY), other_bids),
    ]
    for path, wrong, problem in refused:
        if wrong:
            raise document.source.error(path, problem)
