"""What was tried where a statement on QoSG does not hold: other hours of jobs and signal, and other QoS limits."""

from __future__ import annotations

from collections.abc import Callable

from wattline.bidding.searches.choice import Choice
from wattline.systems.qosg.study import OTHER_LEVELS, Other, Study
from wattline.systems.reproduction import NOT_TESTED

By = Callable[..., Choice]
"""Returns what a policy (QoSG unless another is named) chose in a case."""


def own(study: Study) -> By:
    """Return what was chosen on the hour of the study: the check of a statement is the one that is tried elsewhere."""
    return lambda case, policy="QoSG": study.found[case][policy].choice


def tried(study: Study, holds: Callable[[By], bool], *, levels: bool = True) -> str:
    """Return in words where a statement holds: on other hours, and (``levels``) at tight and loose limits."""
    if not study.others:
        return NOT_TESTED

    def chosen(hour: int, level: str) -> By:
        def by(case: str, policy: str = "QoSG") -> Choice:
            if level and case == "default":
                return study.found[level][policy].choice
            return study.others[Other(case, hour, level)][policy]

        return by

    hours = range(1, study.scale.other_hours + 1)
    kept = sum(holds(chosen(hour, "")) for hour in hours)
    told = f"tried: on {len(hours)} other hours of jobs and signal it holds on {kept or 'none'}"
    if not levels:
        return told
    at = {level: holds(chosen(0, level)) for level in OTHER_LEVELS}
    if len(set(at.values())) == 1:
        both = "it holds" if at[OTHER_LEVELS[0]] else "it does not hold"
        return f"{told}; with tight and with loose limits {both}"
    held, other = sorted(OTHER_LEVELS, key=lambda level: not at[level])
    return f"{told}; with {held} limits it holds, with {other} ones it does not"
