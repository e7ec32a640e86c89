"""What Wattline says of its own policy, Surplus, beside RMAP's: at equal permission to slow jobs down."""

from __future__ import annotations

from collections.abc import Iterator

from wattline.systems.reproduction import Claim
from wattline.systems.rmap.study import RAISED, THRESHOLDS, Found, Piece, Study

OURS = "ours"
"""Where these statements are from."""

PUBLISHED_POLICIES = ("Traditional", "Naive", "Adaptive, 0 %")


def ours(study: Study, machine: str) -> Iterator[Claim]:
    """Yield the statements on one machine."""
    for name in THRESHOLDS:
        yield _no_loss(study, machine, f"Surplus, {name}", f"Adaptive, {name}", name)
    yield _no_loss(study, machine, f"Surplus, {RAISED}", f"Adaptive, {RAISED}", f"0 %, {RAISED}")
    worst, where = _worst(study, machine, "Surplus, 0 %", PUBLISHED_POLICIES)
    yield Claim(
        OURS,
        f"{machine.split(',')[0]}: better than each everywhere",
        f"{machine}: for every trace and bound Surplus (0 %) has at most the mean turnaround time of the best of "
        "Traditional, Naive and Adaptive (0 %)",
        f"over that of the best one: at most {worst:.3f} ({where})",
        holds=bool(worst <= 1.0),
        because="" if worst <= 1.0 else _slack(study, machine),
    )
    for trace in study.scale.traces:
        yield _gain(study, machine, trace)


def _exact(study: Study, machine: str) -> list[tuple[Piece, Found]]:
    return [(p, f) for p, f in study.found.items() if p.machine == machine and p.source == "exact"]


def _worst(study: Study, machine: str, name: str, against: tuple[str, ...]) -> tuple[float, str]:
    """Return the greatest ratio of mean turnaround times to the least of others, and where it is."""
    ratios = {
        f"{p.trace}, bound {p.bound + 1}": float(
            f.turnaround_s[name].mean() / min(f.turnaround_s[other].mean() for other in against)
        )
        for p, f in _exact(study, machine)
    }
    where = max(ratios, key=lambda at: ratios[at])
    return ratios[where], where


def _no_loss(study: Study, machine: str, name: str, against: str, words: str) -> Claim:
    worst, where = _worst(study, machine, name, (against,))
    return Claim(
        OURS,
        f"{machine.split(',')[0]}, {words}: never longer than Adaptive",
        f"{machine}, {words}: for every trace and bound the mean turnaround time with Surplus is at most that with "
        "Adaptive, which may slow jobs down as much",
        f"over that of Adaptive: at most {worst:.4f} ({where})",
        holds=bool(worst <= 1.0),
        because="" if worst <= 1.0 else f"{study.scale.seeds} seeds; {_slack(study, machine)}",
    )


def _gain(study: Study, machine: str, trace: str) -> Claim:
    change = study.ratio(machine, trace, "Surplus, 0 %", "Adaptive, 0 %") - 1
    plain = study.ratio(machine, trace, "Surplus, 0 %", "Traditional") - 1
    others = {
        "without a bound on the slowdown": study.ratio(machine, trace, "Surplus, unbounded", "Adaptive, unbounded"),
        "where users ask for twice the time": study.ratio(
            machine, trace, "Surplus, 0 %", "Adaptive, 0 %", "generous", "generous"
        ),
        "told upper bounds of power by our model, Adaptive told the thesis's": study.ratio(
            machine, trace, "Surplus, 0 %", "Adaptive, 0 %", "upper", "model"
        ),
    }
    more = "".join(f"; {values.mean() - 1:+.1%} {what}" for what, values in others.items() if values.size)
    holds = bool(change.mean() <= -0.05)
    return Claim(
        OURS,
        f"{machine.split(',')[0]}, {trace}: ≥ 5 % below Adaptive",
        f"{machine}, {trace}: Surplus (0 %) has a mean turnaround time at least 5 % below Adaptive's (0 %) on average "
        "over the bounds",
        f"{change.mean():+.1%} against Adaptive ({change.min():+.1%} to {change.max():+.1%}), {plain.mean():+.1%} "
        f"against Traditional{more}",
        holds=holds,
        because="" if holds else _slack(study, machine, trace),
    )


def _slack(study: Study, machine: str, trace: str = "large") -> str:
    """Return what was tested of a gain that is small: how much of it is bound by what jobs tolerate."""
    if trace not in study.scale.traces:
        return ""
    found = [f for p, f in _exact(study, machine) if p.trace == trace]
    strict, free = (
        sum(float(f.turnaround_s[f"Surplus, {name}"].mean()) for f in found) for name in ("0 %", "unbounded")
    )
    return (
        f"jobs of the {trace} trace that must keep what was asked for need so many nodes that they run one after the "
        f"other, whoever schedules them; where they may be slower, Surplus's own turnaround changes by "
        f"{free / strict - 1:+.1%}"
    )
