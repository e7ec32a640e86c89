"""What the thesis says of RMAP's policies, what ours do, and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from wattline.systems.reproduction import Claim
from wattline.systems.rmap.study import GENEROUS, JOBS, POLICIES, Found, Study
from wattline.systems.rmap.tables import machines

PUBLISHED = {
    ("large", "Traditional"): (-0.143, -0.246),
    ("large", "Naive"): (-0.217, -0.473),
    ("random", "Traditional"): (-0.185, -0.312),
    ("random", "Naive"): (-0.361, -0.538),
    ("small", "Traditional"): (0.166, 0.211),
}
"""Adaptive (0 %) against a policy on a trace: mean and extreme change of the turnaround time over the bounds."""

OURS = "Surplus, caps raised"
PUBLISHED_POLICIES = ("Traditional", "Naive", "Adaptive, 0 %")
OTHER = "the traces are not published and neither are the tables: other applications, other jobs"


def claims(study: Study) -> Iterator[Claim]:
    """Yield all statements with verdicts."""
    for machine in machines():
        for (trace, against), (mean, best) in PUBLISHED.items():
            names = [t for t in study.scale.traces if t.split()[0] == trace]
            if names:
                yield _against(study, machine, names, against, mean, best)
        if "large" in study.scale.traces:
            yield _unbounded(study, machine)
            yield from _altruism(study, machine)
        yield from _power(study, machine)
        yield _under(study, machine)
        yield from _ours(study, machine)


def _against(study: Study, machine: str, names: list[str], against: str, mean: float, best: float) -> Claim:
    """Adaptive by the model, the others by the truth, as in the thesis.

    Beside it the truth for all, and requests of twice the time.
    """
    told_of = {
        "exact": ("exact", "exact tables"),
        "model": ("exact", "Adaptive by the model"),
        "generous": ("generous", f"requests of {GENEROUS:g} × the time"),
    }
    found = {
        source: np.concatenate(
            [study.ratio(machine, t, "Adaptive, 0 %", against, source, told_of[source][0]) for t in names]
        )
        - 1
        for source in told_of
        if source in study.scale.sources
    }
    told = "; ".join(
        f"{values.mean():+.1%} on average ({values.min():+.1%} to {values.max():+.1%}) with {told_of[source][1]}"
        for source, values in found.items()
    )

    def like(source: str) -> bool:
        ours = found[source].mean()
        return bool(np.sign(ours) == np.sign(mean) and abs(ours) >= 0.5 * abs(mean))

    holds = like("model" if "model" in found else "exact")
    then = "generous" in found and like("generous")
    return Claim(
        machine.split(",")[0],
        f"{names[0].split()[0]}: {mean:+.1%} against {against}",
        f"{names[0].split()[0]} traces: Adaptive (0 %) changes the turnaround time by {mean:+.1%} on average, "
        f"{best:+.1%} at the extreme, against {against}",
        told,
        holds=holds,
        because=""
        if holds
        else "it does where users ask for twice the time: who asks for little leaves Adaptive no slower configuration "
        "to start in"
        if then
        else OTHER,
    )


def _unbounded(study: Study, machine: str) -> Claim:
    ratio = study.ratio(machine, "large", "Adaptive, unbounded", "Adaptive, 0 %") - 1
    holds = bool(ratio.mean() > 0.1)
    more = study.ratio(machine, "large", "Adaptive, unbounded", "Adaptive, 0 %", "generous", "generous") - 1
    return Claim(
        machine.split(",")[0],
        "unbounded Adaptive is 33.8 % worse",
        "large trace: Adaptive without a bound on the slowdown takes 33.8 % longer than with 0 %",
        f"{ratio.mean():+.1%} on average ({ratio.min():+.1%} to {ratio.max():+.1%})"
        + (f"; {more.mean():+.1%} with requests of {GENEROUS:g} × the time" if more.size else ""),
        holds=holds,
        because=""
        if holds
        else "jobs that start slow and at once leave the queue short; how slow the slowest configuration is decides, "
        "and the thesis's tables are not published",
    )


def _found(study: Study, machine: str, trace: str, bound: int) -> Found | None:
    """Return what was found with exact tables (None: not run)."""
    return next(
        (
            f
            for p, f in study.found.items()
            if (p.machine, p.trace, p.bound, p.source) == (machine, trace, bound, "exact")
        ),
        None,
    )


def _altruism(study: Study, machine: str) -> Iterator[Claim]:
    """Yield Table 5.4 and §5.6.4: the large trace under the lowest bound, with growing tolerance."""
    found = _found(study, machine, "large", 0)
    if found is None:
        return
    mean = {name: values.mean() for name, values in found.turnaround_s.items()}
    published = {
        "Naive": 990,
        "Adaptive, 0 %": 636,
        "Adaptive, 10 %": 613,
        "Adaptive, 20 %": 536,
        "Adaptive, 30 %": 536,
    }
    change = {name: mean[name] / mean["Traditional"] - 1 for name in published}
    steps = [change[name] for name in list(published)[1:]]
    falls = bool(steps[0] < 0 and all(b <= a + 1e-9 for a, b in pairwise(steps)))
    yield Claim(
        machine.split(",")[0],
        "Table 5.4: 684, 990, 636, 613, 536, 536 s",
        "large trace under the lowest bound (Table 5.4), against Traditional: "
        + ", ".join(f"{name} {seconds / 684 - 1:+.1%}" for name, seconds in published.items()),
        ", ".join(f"{name} {value:+.1%}" for name, value in change.items()),
        holds=falls and change["Naive"] > 0,
        because=""
        if falls and change["Naive"] > 0
        else ("tolerance helps as published; Naive is not slower than Traditional here" if falls else OTHER),
    )
    sooner = {
        name: JOBS * np.mean(found.job_s[name] < found.job_s["Traditional"] * (1 - 1e-9))
        for name in list(published)[1:4]
    }
    grows = list(sooner.values()) == sorted(sooner.values())
    most = sooner["Adaptive, 0 %"] >= JOBS / 2
    yield Claim(
        machine.split(",")[0],
        "17, 18 and 22 of 30 jobs are done sooner",
        "large trace under the lowest bound: 17, 18 and 22 of 30 jobs are done sooner than under Traditional with a "
        "tolerance of 0, 10 and 20 %",
        ", ".join(f"{name}: {value:.1f}" for name, value in sooner.items()) + " (means over seeds)",
        holds=bool(grows and most),
        because="" if grows and most else "fewer than half are done sooner without tolerance" if grows else OTHER,
    )


def _power(study: Study, machine: str) -> Iterator[Claim]:
    """Yield §5.6.5 and Fig. 1.2: a random trace at 95 % of the greatest power."""
    found = _found(study, machine, "random 2", 4)
    if found is None:
        return
    watts = found.job_w["Adaptive, 0 %"] / found.job_w["Traditional"] - 1
    faster = found.turnaround_s["Adaptive, 0 %"].mean() / found.turnaround_s["Traditional"].mean() - 1
    holds = bool(watts.mean() > 0.08)
    yield Claim(
        machine.split(",")[0],
        "17 % more power for each job at 95 %",
        "random trace at 95 % of the greatest power: Adaptive uses 17 % more power for each job than Traditional, "
        "turnaround falls by 13 %",
        f"{watts.mean():+.1%} power for each job, turnaround {faster:+.1%}",
        holds=holds and faster < -0.06,
        because=""
        if holds and faster < -0.06
        else "more power for each job, as published; jobs on more nodes than they asked for make others wait"
        if holds
        else OTHER,
    )


def _under(study: Study, machine: str) -> Claim:
    highest = {
        source: max(
            float(f.highest[name].max())
            for p, f in study.found.items()
            if p.machine == machine and p.source == source
            for name in POLICIES
        )
        for source in study.scale.sources
    }
    told = {
        "generous": "with exact tables and generous requests",
        "exact": "with exact tables",
        "model": "with the means of the thesis's model",
        "upper": "with the upper bounds of ours",
    }
    return Claim(
        machine.split(",")[0],
        "never above the bound",
        "no schedule exceeds the power bound",
        "highest power over the bound: "
        + ", ".join(f"{value:.1%} {told[source]}" for source, value in highest.items()),
        holds=bool(highest["exact"] <= 1.0 + 1e-9),
    )


def _ours(study: Study, machine: str) -> Iterator[Claim]:
    least = max(
        float(f.turnaround_s[OURS].mean() / min(f.turnaround_s[name].mean() for name in PUBLISHED_POLICIES))
        for p, f in study.found.items()
        if p.machine == machine and p.source == "exact"
    )
    yield Claim(
        "ours",
        f"{machine.split(',')[0]}: better than each everywhere",
        f"{machine}: {OURS} is at least as good as the better of Traditional, Naive and Adaptive (0 %) for every "
        "trace and bound: there is nothing that a policy which switches between them could pick",
        f"turnaround over that of the better one: at most {least:.3f}",
        holds=bool(least <= 1.0),
    )
    for trace in study.scale.traces:
        against = study.ratio(machine, trace, OURS, "Adaptive, 0 %") - 1
        plain = study.ratio(machine, trace, OURS, "Traditional") - 1
        others = {
            "against Adaptive where users ask for twice the time": study.ratio(
                machine, trace, OURS, "Adaptive, 0 %", "generous", "generous"
            ),
            "against Adaptive by the model, told upper bounds of power by ours": study.ratio(
                machine, trace, OURS, "Adaptive, 0 %", "upper", "model"
            ),
        }
        more = "".join(f"; {values.mean() - 1:+.1%} {what}" for what, values in others.items() if values.size)
        yield Claim(
            "ours",
            f"{machine.split(',')[0]}, {trace}: ≥ 5 % below Adaptive",
            f"{machine}, {trace}: {OURS} has a mean turnaround time at least 5 % below Adaptive's (0 %)",
            f"{against.mean():+.1%} against Adaptive ({against.min():+.1%} to {against.max():+.1%}), "
            f"{plain.mean():+.1%} against Traditional{more}",
            holds=bool(against.mean() <= -0.05),
        )
