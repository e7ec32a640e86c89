"""Choices of policies: one variant for each combination of those that a scenario lists."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path

from wattline.scenario.documents import Document
from wattline.scenario.read.toml_text import to_toml
from wattline.scenario.sections.policy import SLOTS, MechanismSpec, PolicySpec
from wattline.scenario.sections.regulation.regulation import takes_part
from wattline.units import in_full

MOST_VARIANTS = 1000
"""Combinations of the policies that a scenario lists."""


@dataclass(frozen=True)
class Variant:
    """One choice of policies out of a scenario: its label among the others and the scenario reduced to it."""

    label: str
    document: Document
    baseline: bool = False
    """The run in no market that this choice is held against, in its place."""


def variants(document: Document) -> list[Variant]:
    """Return one variant for each combination of the policies that the slots list, labelled by what differs."""
    chosen = {slot: getattr(document.spec.policy, slot) for slot in SLOTS}
    varied = varied_slots(document)
    if not varied:
        return [Variant(document.spec.name, document)]
    count = math.prod(len(chosen[slot]) for slot in varied)
    if count > MOST_VARIANTS:
        raise document.source.error(
            ("policy", varied[0]), f"{count:,} combinations of policies are listed, more than {MOST_VARIANTS:,}"
        )
    found = []
    combined = list(itertools.product(*(chosen[slot] for slot in varied)))
    short = [", ".join(_label(pick) for pick in picks) for picks in combined]
    for picks, name in zip(combined, short, strict=True):
        given = {slot: _plain_pick(pick) for slot, pick in zip(varied, picks, strict=True)}
        twins = short.count(name) > 1  # policies of one name in two files
        label = ", ".join(_label(pick, whole=True) for pick in picks) if twins else name
        data = {**document.data, "policy": {**document.data["policy"], **given}}
        picked = PolicySpec(**{s: [chosen[s][0]] for s in SLOTS} | {s: [p] for s, p in zip(varied, picks, strict=True)})
        spec = document.spec.model_copy(update={"policy": picked})
        found.append(Variant(label, replace(document, data=data, spec=spec, text=to_toml(data))))
    return found


def varied_slots(document: Document) -> list[str]:
    """Return the slots of which a scenario lists several policies."""
    return [slot for slot in SLOTS if len(getattr(document.spec.policy, slot)) > 1]


def in_no_market(document: Document) -> Variant | None:
    """Return the run in no market that those of a scenario are held against, if it asks for one.

    Policies that several are listed of, other than those of the market, are the first of their lists.
    """
    asked = document.spec.regulation
    if asked is None or asked.baseline is None or not takes_part(asked, document.spec.policy):
        return None
    return Variant(f"no market ({asked.baseline})", variants(document)[0].document, baseline=True)


def _plain_pick(pick: MechanismSpec) -> str | dict[str, str | float]:
    return {"name": pick.name, **pick.params} if pick.params else pick.name


def _label(pick: MechanismSpec, *, whole: bool = False) -> str:
    name = Path(pick.name).stem if ".py" in pick.name and ":" not in pick.name else pick.name.rpartition(":")[2]
    name = pick.name if whole else name
    params = ", ".join(f"{key} = {in_full(value)}" for key, value in pick.params.items())
    return f"{name} ({params})" if params else str(name)
