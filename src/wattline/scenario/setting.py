"""What ``wattline bid`` makes a bid for: the machine, the kinds, the policies and the market of a scenario."""

from __future__ import annotations

import math

from wattline.bidding.setting import Protocol, Recipe, Setting
from wattline.memory import require_bytes
from wattline.model.kinds import Kind
from wattline.scenario.documents import Document
from wattline.scenario.parts import build_kinds, build_policies, cluster_nodes
from wattline.scenario.read.base import KeyPath
from wattline.scenario.sections.regulation import RegulationSpec, build_tariff, signal_law
from wattline.units import HOUR_S

HOURS_READY, HOUR_BYTES = 128, 300
"""Hours that a search keeps ready, and bytes that each takes for a control period, in its logs."""


def build_setting(document: Document) -> Setting:
    """Return what a bid is made for; a machine or policy that the search cannot take is refused."""
    spec, context = document.spec, document.context
    market = spec.regulation or RegulationSpec()
    _check_machine(document)
    policies = build_policies(document)
    select, cap = (getattr(spec.policy, slot)[0] for slot in ("select", "cap"))
    for mechanism in (policies.select, policies.cap):
        if mechanism.builtin and not mechanism.target:
            raise context.error(
                ("policy", mechanism.slot),
                f"{mechanism.name!r} does not follow a power target, so no bid can be kept with it",
            )
    kinds = build_kinds(document, cluster_nodes(document))
    if not kinds:
        raise context.error(("kind",), 'a bid needs kinds of job: give kinds = "W4" or [[kind]] tables')
    node = spec.cluster.class_[0] if spec.cluster.class_ else spec.cluster
    recipe = Recipe(
        select.name,
        _policy_path(document, select.name),
        _policy_path(document, cap.name),
        params={"select": select.params, "cap": cap.params},
    )
    setting: Setting = context.located(
        ("kind",),
        Setting,
        kinds,
        cluster_nodes(document),
        node.idle,
        node.max,
        recipe,
        signal_law(market, context),
        Protocol(paper=spec.bid.protocol == "paper", control_s=market.control),
        build_tariff(market),
        market.stop_cost,
    )
    context.located(("regulation", "control"), _check_hours, setting.protocol, kinds)
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
    other_bids = (
        f"wattline bid chooses one bid for all hours, {bids!r} makes others hour by hour: "
        "wattline run tells what they come to, --set policy.bid=given leaves them out"
    )
    limited = bool(spec.limit.steps) or spec.limit.power < math.inf
    unknown = not cluster.class_ and cluster.nodes is None
    refused: list[tuple[KeyPath, bool, str]] = [
        (("cluster", "nodes"), unknown, "is missing: the machine's size decides the bid"),
        (("cluster", "class"), len(cluster.class_) > 1, "a bid is made for nodes of one class"),
        (("cluster", "sleep"), node.sleep is not None, "a bid is made for nodes that do not sleep"),
        (
            ("cluster", "levels"),
            bool(node.levels),
            "a bid is made for nodes that are capped, not switched between levels",
        ),
        (("cluster", "outage"), bool(cluster.outage), "a bid is made for a machine in service"),
        (("cluster", "failures"), cluster.failures is not None, "a bid is made for a machine in service"),
        (("limit",), limited, "a bid is made without a power limit"),
        (("policy", "bid"), bids != "given", other_bids),
        (("policy", "order"), spec.policy.order[0].name != "fcfs", "a bid is made with order = fcfs"),
        (("policy", "place"), spec.policy.place[0].name != "lowest", "a bid is made with place = lowest"),
    ]
    for path, wrong, problem in refused:
        if wrong:
            raise document.source.error(path, problem)
