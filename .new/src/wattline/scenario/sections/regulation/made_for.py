"""[regulation.made_for]: what signal and machine were like for which a bid was made, and a loud word where these are
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from wattline.errors import shorten
from wattline.formats.series.sketch import is_sketch, is_sketched, sketch_of
from wattline.market.signal_law import Law, differs
from wattline.model.lateness import Lateness
from wattline.model.regulation import Record
from wattline.scenario.read.base import Section
from wattline.scenario.read.quantities import Count, Duration, Finite
from wattline.scenario.sections.late import LateSpec, build_late


def _sketch(text: str) -> str:
    if not is_sketch(text):
        told = f"is no sketch of a day, which has letters, digits, + and / alone, got {shorten(text)}"
        raise PydanticCustomError("quantity", "{text}", {"text": told})
    return text


class MadeForSpec(Section):
    """The signal and the machine for which the bid was made, in figures; `wattline bid --write` writes it.

    A run whose signal differs from it, or whose machine is later, is warned of. `wattline signal` shows the figures of
    a signal for files.
    """

    mean: Finite = Field(ge=-1, le=1, description="mean of the signal")
    std: Finite = Field(ge=0, le=1, description="standard deviation within a record")
    time_constant: Duration | None = Field(
        None, gt=0, description="time in which its autocorrelation falls to 1/e (default: it never moves)"
    )
    ends: Finite = Field(ge=0, le=1, description="share of time at ±1")
    hours: Finite = Field(24.0, gt=0, description="hours of signal behind these figures; few allow larger differences")
    records: Count = Field(1, description="records behind these figures")
    days: list[str] = Field(default_factory=list, description="what tells the days apart on which the bid was searched")
    sketches: list[Annotated[str, AfterValidator(_sketch)]] = Field(
        default_factory=list,
        description="these days in short, a letter for five minutes, by which near copies of them are known",
    )
    late: LateSpec | None = Field(
        None, description="how late the machine was for which the bid was made, as in `[late]` (default: not known)"
    )


def made_for(law: Law, days: Sequence[Record] = (), late: LateSpec | None = None) -> dict[str, Any]:
    """Return the table of a scenario that says for what its bid was made.

    Parameters
    ----------
    law : Law
        The figures of the signal.
    days : sequence of Record
        The days on which it was searched.
    late : LateSpec, optional
        How late the machine is; None: it obeys at once.
    """
    told: dict[str, Any] = {"mean": law.mean, "std": law.std, "ends": law.ends, "hours": law.hours}
    told |= {"records": law.records}
    if days:
        known = {day.digest: sketch_of(day.signal) for day in days}
        told |= {"days": sorted(known), "sketches": [known[digest] for digest in sorted(known)]}
    told |= {} if math.isnan(law.time_constant_s) else {"time_constant": law.time_constant_s}
    return told | {"late": _delays(late or LateSpec())}


def _delays(late: LateSpec) -> dict[str, Any]:
    """Return a table like `[late]`, as short as it can be."""
    told = {"start": list(late.start), "cap": list(late.cap), "lag": late.lag, "noise": late.noise}
    told = {key: value for key, value in told.items() if value not in (0.0, [0.0, 0.0])}
    return told | ({"noise_every": late.noise_every} if late.noise else {})


def law_made_for(spec: MadeForSpec) -> Law:
    """Return the figures that such a table holds."""
    time_constant_s = math.nan if spec.time_constant is None else spec.time_constant
    name = f"{spec.records} records" if spec.records > 1 else "1 record"
    return Law(
        name, spec.mean, spec.std, time_constant_s, spec.ends, math.nan, math.nan, spec.hours, records=spec.records
    )


def searched_days(spec: MadeForSpec | None, days: Sequence[Record]) -> list[Record]:
    """Return those of some days on which the bid was searched, as they were or nearly so."""
    if spec is None:
        return []
    return [day for day in days if day.digest in spec.days or is_sketched(day.signal, spec.sketches)]


def warn_of_other_law(spec: MadeForSpec | None, law: Law) -> str:
    """Return the loud line of a signal that is not what the bid was made for ("": it is, or nobody knows)."""
    told = [] if spec is None else differs(law, law_made_for(spec))
    if not told:
        return ""
    how = "; ".join(told)
    return f"the bid was made for another signal than this one: {how}; nothing is known of what it keeps here"


def warn_of_later_machine(spec: MadeForSpec | None, late: Lateness) -> str:
    """Return the loud line of a machine that is later than the one the bid was made for ("": it is not, or nobody
    knows).
    """
    if spec is None or spec.late is None:
        return ""
    then = build_late(spec.late)
    later = late.start_s[1] > then.start_s[1] or late.cap_s[1] > then.cap_s[1] or late.noise > then.noise
    longer = late.noise > 0 and late.noise_every_s > then.noise_every_s
    if not later and not longer:
        return ""
    before = then.words() or "obeys at once"
    return f"the bid was made for a machine that is not as late ({before}) as this one ({late.words()}): bid again"
