"""What the thesis says of RMAP's policies, each statement with its tolerance, and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from wattline.systems.reproduction import Claim
from wattline.systems.rmap.ours import ours
from wattline.systems.rmap.study import JOBS, PREDICTED_TRACE, THRESHOLDS, Study
from wattline.systems.rmap.tables import machines
from wattline.systems.rmap.view import Check, View, base_view, claim

ADAPTIVE = "Adaptive, 0 %"
TOLERANT = [f"Adaptive, {name}" for name in THRESHOLDS if name != "unbounded"]
LOW, TOP = 0, 4
"""Places of 6,500 and 14,000 W among the bounds."""

PUBLISHED = {
    ("large", "Traditional"): (-0.143, -0.246),
    ("large", "Naive"): (-0.217, -0.473),
    ("random", "Traditional"): (-0.185, -0.312),
    ("random", "Naive"): (-0.361, -0.538),
    ("small", "Traditional"): (0.166, 0.211),
}
"""Adaptive (0 %) against a policy on a trace: mean and extreme change of the turnaround time over the bounds."""

TABLE = {"Naive": 990, ADAPTIVE: 636, "Adaptive, 10 %": 613, "Adaptive, 20 %": 536, "Adaptive, 30 %": 536}
"""Table 5.4: turnaround times in seconds; Traditional 684."""

SAME = 1e-9
"""Turnaround times that differ by less, relatively, are the same."""


def claims(study: Study) -> Iterator[Claim]:
    """Yield all statements with verdicts."""
    for machine in machines():
        view = base_view(study, machine)
        every = (*_against(view), *_thresholds(view), *_altruism(view), *_power(view), *_model(view))
        yield from (one for one in every if one is not None)
        yield _under(study, machine)
        yield from ours(study, machine)


def about(value: float, published: float) -> bool:
    """Tell whether a change has the published sign and half to twice the published size."""
    return bool(value * published > 0 and 0.5 * abs(published) <= abs(value) <= 2.0 * abs(published))


def _range(values: np.ndarray) -> str:
    return f"{values.mean():+.1%} on average ({values.min():+.1%} to {values.max():+.1%} over the bounds)"


def _against(view: View) -> Iterator[Claim | None]:
    """Yield §5.6.2: Adaptive (0 %) on the traces."""
    for (kind, against), (mean, extreme) in PUBLISHED.items():

        def on_average(v: View, kind: str = kind, against: str = against, mean: float = mean) -> tuple[bool, str]:
            change = v.change(v.traces(kind), ADAPTIVE, against)
            return about(float(change.mean()), mean), _range(change)

        def at_most(v: View, kind: str = kind, against: str = against, most: float = extreme) -> tuple[bool, str]:
            change = v.change(v.traces(kind), ADAPTIVE, against)
            found = float(change.max() if most > 0 else change.min())
            return about(found, most), f"{found:+.1%}"

        words = f"{kind} traces: Adaptive (0 %) changes the turnaround time against {against}'s"
        yield claim(
            view,
            f"{kind}: {mean:+.1%} against {against}",
            f"{words} by {mean:+.1%} on average (half to twice that)",
            on_average,
        )
        yield claim(
            view,
            f"{kind}: at the extreme {extreme:+.1%} against {against}",
            f"{words} by {extreme:+.1%} under the most extreme bound (half to twice that)",
            at_most,
        )

    def small_top(v: View) -> tuple[bool, str]:
        change = float(v.change(v.traces("small"), ADAPTIVE, "Traditional", (TOP,))[0])
        return about(change, -0.171), f"{change:+.1%}"

    yield claim(
        view,
        "small: −17.1 % at the highest bound",
        "small trace: at the highest bound (14,000 W) Adaptive (0 %) changes the turnaround time against Traditional's "
        "by -17.1% (half to twice that)",
        small_top,
    )


def _thresholds(view: View) -> Iterator[Claim | None]:
    """Yield §5.6.2: what a tolerated slowdown is worth."""

    def worth(v: View) -> tuple[bool, str]:
        change = np.array([v.change(["large"], name, ADAPTIVE) for name in TOLERANT[1:]])
        return about(float(change.mean()), -0.021), f"{change.mean():+.1%} on average"

    def at_most(v: View) -> tuple[bool, str]:
        change = np.array([v.change(["large"], name, ADAPTIVE) for name in TOLERANT[1:]])
        return bool(change.min() >= -0.05), f"{change.min():+.1%} at the most"

    def no_harm(v: View) -> tuple[bool, str]:
        change = np.array([v.change(v.study.scale.traces, name, ADAPTIVE) for name in TOLERANT[1:]])
        return bool(change.max() <= 0.01), f"{change.max():+.1%} at the worst, {change.mean():+.1%} on average"

    def unbounded(v: View) -> tuple[bool, str]:
        change = v.change(["large"], "Adaptive, unbounded", ADAPTIVE)
        return about(float(change.mean()), 0.338), _range(change)

    yield claim(
        view,
        "thresholds are worth 2.1 %",
        "large trace: thresholds of 10 to 30 % change the turnaround time by -2.1% on average against 0 % (half to "
        "twice that)",
        worth,
    )
    yield claim(
        view,
        "… and at most 4 %",
        "large trace: no threshold of 10 to 30 % shortens the turnaround time by more than 4 % under any bound (5 % "
        "tolerated)",
        at_most,
    )
    yield claim(
        view,
        "thresholds do no harm",
        "all traces: with thresholds up to 30 % the turnaround time is as with 0 % or shorter under every bound (1 % "
        "tolerated)",
        no_harm,
    )
    yield claim(
        view,
        "unbounded Adaptive is 33.8 % worse",
        "large trace: Adaptive without a bound on the slowdown takes 33.8 % longer on average than with 0 % (half to "
        "twice that)",
        unbounded,
    )


def _altruism(view: View) -> Iterator[Claim | None]:
    """Yield Table 5.4 and §5.6.3: the large trace under the lowest bound, with growing tolerance."""
    for name, seconds in TABLE.items():
        yield claim(
            view,
            f"Table 5.4: {name} {seconds / 684 - 1:+.1%}",
            f"large trace under the lowest bound (Table 5.4): {name} changes the turnaround time against "
            f"Traditional's by {seconds / 684 - 1:+.1%} (half to twice that)",
            _table_row(name, seconds / 684 - 1),
        )

    def falls(v: View) -> tuple[bool, str]:
        change = [float(v.change(["large"], name, "Traditional", (LOW,))[0]) for name in TOLERANT]
        return all(b <= a + 0.01 for a, b in pairwise(change)), ", ".join(f"{value:+.1%}" for value in change)

    yield claim(
        view,
        "Table 5.4: tolerance helps",
        "large trace under the lowest bound (Table 5.4): with 0, 10, 20 and 30 % each is as fast as the one before or "
        "faster (1 % tolerated)",
        falls,
    )
    for name, count in zip(TOLERANT[:3], (17, 18, 22), strict=True):
        yield claim(
            view,
            f"{name}: {count} of 30 sooner",
            f"large trace under the lowest bound: with {name} {count} of 30 jobs are done sooner than with "
            "Traditional (4 jobs more or fewer)",
            _sooner(name, count),
        )

    def split(v: View) -> tuple[bool, str]:
        ratio = v.rows("large", LOW, "Adaptive, 20 %") / v.rows("large", LOW, ADAPTIVE)
        better, worse = (float(JOBS * np.mean(x)) for x in (ratio < 1 - SAME, ratio > 1 + SAME))
        same = JOBS - better - worse
        near = all(abs(a - b) <= 4 for a, b in zip((better, same, worse), (13, 14, 3), strict=True))
        return near, f"{better:.1f} better, {same:.1f} the same, {worse:.1f} worse"

    yield claim(
        view,
        "13 better, 14 same, 3 worse at 20 %",
        "large trace under the lowest bound: with 20 % instead of 0 %, 13 jobs are done sooner, 14 at the same time "
        "and 3 later (4 jobs more or fewer of each)",
        split,
    )


def _table_row(name: str, published: float) -> Check:
    def check(v: View) -> tuple[bool, str]:
        change = float(v.change(["large"], name, "Traditional", (LOW,))[0])
        return about(change, published), f"{change:+.1%}"

    return check


def _sooner(name: str, count: int) -> Check:
    def check(v: View) -> tuple[bool, str]:
        ratio = v.rows("large", LOW, name) / v.rows("large", LOW, "Traditional")
        found = float(JOBS * np.mean(ratio < 1 - SAME))
        return abs(found - count) <= 4, f"{found:.1f}, mean over seeds"

    return check


def _power(view: View) -> Iterator[Claim | None]:
    """Yield §5.6.4 and Fig. 1.2: a random trace at 95 % of the greatest power."""
    trace, name = "random 2", "Traditional"

    def at_once(v: View) -> tuple[bool, str]:
        found = float(JOBS * np.mean(v.rows(trace, TOP, name, "wait_s") <= SAME))
        return abs(found - 14) <= 1, f"{found:.1f}, mean over seeds"

    def improved(v: View) -> tuple[bool, str]:
        ratio = v.rows(trace, TOP, ADAPTIVE) / v.rows(trace, TOP, name)
        found = float(JOBS * np.mean(ratio < 1 - SAME))
        return abs(found - 28) <= 4, f"{found:.1f}, mean over seeds"

    def doubled(v: View) -> tuple[bool, str]:
        ratio = v.rows(trace, TOP, ADAPTIVE) / v.rows(trace, TOP, name)
        found = float(JOBS * np.mean(ratio < 0.5))
        return abs(found - 8) <= 4, f"{found:.1f}, mean over seeds"

    def watts(v: View) -> tuple[bool, str]:
        change = float((v.rows(trace, TOP, ADAPTIVE, "job_w") / v.rows(trace, TOP, name, "job_w") - 1).mean())
        return about(change, 0.17), f"{change:+.1%}"

    def faster(v: View) -> tuple[bool, str]:
        change = float(v.change([trace], ADAPTIVE, name, (TOP,))[0])
        return about(change, -0.13), f"{change:+.1%}"

    words = "random trace at 95 % of the greatest power: "
    yield claim(
        view,
        "14 of 30 do not wait",
        words + "14 of 30 jobs do not wait with Traditional (1 more or fewer; the load was fitted to this)",
        at_once,
    )
    yield claim(
        view,
        "28 of 30 are done sooner",
        words + "28 of 30 jobs are done sooner with Adaptive (0 %) than with Traditional (4 more or fewer)",
        improved,
    )
    yield claim(
        view,
        "8 by more than 2 ×",
        words + "8 of 30 jobs are done more than twice as soon with Adaptive (0 %) (4 more or fewer)",
        doubled,
    )
    yield claim(
        view,
        "17 % more power for each job",
        words + "Adaptive (0 %) changes the power of a job by +17% on average (half to twice that)",
        watts,
    )
    yield claim(
        view,
        "turnaround −13 %",
        words + "Adaptive (0 %) changes the turnaround time by -13% (half to twice that)",
        faster,
    )


def _model(view: View) -> Iterator[Claim | None]:
    """Yield §5.6.1: the study with predicted configurations against that with measured ones."""

    def errors(v: View) -> np.ndarray:
        return np.array(
            [
                abs(
                    v.found(PREDICTED_TRACE, bound, "predicted").job_s[name].mean()
                    / v.found(PREDICTED_TRACE, bound, "exact").job_s[name].mean()
                    - 1
                )
                for name in ("Traditional", ADAPTIVE)
                for bound in v.bounds()
            ]
        )

    words = (
        f"{PREDICTED_TRACE} trace, Traditional and Adaptive (0 %): turnaround times with the model's times and powers"
    )
    yield claim(
        view,
        "model: always under 10 %",
        f"{words} are less than 10 % off those with measured ones under every bound",
        lambda v: (bool(errors(v).max() < 0.10), f"{errors(v).max():.1%} at the most"),
        single=False,
    )
    yield claim(
        view,
        "model: 4 % on average",
        f"{words} are 4 % off those with measured ones on average (8 % tolerated)",
        lambda v: (bool(errors(v).mean() <= 0.08), f"{errors(v).mean():.1%} on average"),
        single=False,
    )


def _under(study: Study, machine: str) -> Claim:
    told = {
        "exact": "with exact tables",
        "model": "with the means of the thesis's model",
        "upper": "with the upper bounds of ours",
        "generous": "with exact tables and generous requests",
        "predicted": "where the model is the truth",
    }
    highest: dict[str, float] = {}
    for piece, found in study.found.items():
        if piece.machine == machine:
            most = max(float(values.max()) for values in found.highest.values())
            highest[piece.source] = max(highest.get(piece.source, 0.0), most)
    return Claim(
        machine.split(",")[0],
        "never above the bound",
        "with exact tables no schedule exceeds the power bound",
        "highest power over the bound: "
        + ", ".join(f"{value:.1%} {told[source]}" for source, value in highest.items()),
        holds=bool(highest["exact"] <= 1.0 + 1e-9),
    )
