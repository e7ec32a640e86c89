"""[regulation.made_for]: what the signal was like for which a bid was made, and a loud word where this one differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from wattline.market.signal_law import Law, differs
from wattline.scenario.read.base import Section
from wattline.scenario.read.quantities import Count, Duration, Finite


class MadeForSpec(Section):
    """The signal for which the bid was made, in figures; `wattline bid --write` writes it.

    A run whose signal differs from it is warned of. `wattline signal` shows these figures for files.
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


def made_for(law: Law, days: Sequence[str] = ()) -> dict[str, Any]:
    """Return the table of a scenario that says for what signal its bid was made, and on which days it was searched."""
    told: dict[str, Any] = {"mean": law.mean, "std": law.std, "ends": law.ends, "hours": law.hours}
    told |= {"records": law.records} | ({"days": list(days)} if days else {})
    return told if math.isnan(law.time_constant_s) else told | {"time_constant": law.time_constant_s}


def law_made_for(spec: MadeForSpec) -> Law:
    """Return the figures that such a table holds."""
    time_constant_s = math.nan if spec.time_constant is None else spec.time_constant
    name = f"{spec.records} records" if spec.records > 1 else "1 record"
    return Law(
        name, spec.mean, spec.std, time_constant_s, spec.ends, math.nan, math.nan, spec.hours, records=spec.records
    )


def warn_of_other_law(spec: MadeForSpec | None, law: Law) -> str:
    """Return the loud line of a signal that is not what the bid was made for ("": it is, or nobody knows)."""
    told = [] if spec is None else differs(law, law_made_for(spec))
    if not told:
        return ""
    how = "; ".join(told)
    return f"the bid was made for another signal than this one: {how}; nothing is known of what it keeps here"
