"""What the power-capping paper states, each statement with its tolerance, beside what the study found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from wattline.arrays import Floats
from wattline.systems.knapsack.data import FULL_MACHINE, LOAD
from wattline.systems.knapsack.ours import ours
from wattline.systems.knapsack.profiles import profile_claims
from wattline.systems.knapsack.study import (
    CHANGING,
    FEWER_FULL,
    FIXED_KW,
    NAIVE,
    PAPER,
    STRICT,
    SWEEP,
    Scheme,
    Study,
    Year,
)
from wattline.systems.reproduction import Claim, reasoned

LEARNED_DAY, LEARNED = 26, 0.94
POINTS = {"fcfs": (42, 188), "wfp": (36, 177)}
USE = {"fcfs": (3, 21), "wfp": (8, 21)}
FIGURE = {"fcfs": ("Fig. 9", "Fig. 11"), "wfp": ("Fig. 8", "Fig. 10")}


class NotRunError(LookupError):
    """A piece that a statement needs was not run."""


@dataclass(frozen=True)
class View:
    """The study at one order, load and share of full-machine jobs."""

    study: Study
    order: str
    load: float = LOAD
    full: float = FULL_MACHINE

    def year(self, scheme: Scheme, limit: float | str | None) -> Year:
        """Return what became of a scheme under a limit."""
        found = self.study.get(self.order, scheme, limit, self.load, self.full)
        if found is None:
            raise NotRunError(scheme.name)
        return found

    def limits(self) -> list[float]:
        """Return the fixed limits that were run."""
        found = [kw for kw in FIXED_KW if self.study.get(self.order, PAPER, kw, self.load, self.full) is not None]
        if not found:
            raise NotRunError("no fixed cap")
        return found

    def waits(self, scheme: Scheme, limit: float) -> Floats:
        """Return the change of the mean wait by month, relative to strict order without a cap."""
        return self.year(scheme, limit).monthly_wait_s / self.year(STRICT, None).monthly_wait_s - 1.0

    def wait(self, scheme: Scheme, limit: float) -> float:
        """Return the change of the mean wait of the year."""
        return self.year(scheme, limit).wait_s / self.year(STRICT, None).wait_s - 1.0

    def use(self, scheme: Scheme, limit: float) -> Floats:
        """Return the change of the utilization by month, relative to strict order without a cap."""
        return self.year(scheme, limit).monthly_use / self.year(STRICT, None).monthly_use - 1.0


Check = Callable[[View], tuple[bool, str]]


def held(view: View, check: Check) -> bool | None:
    """Tell whether a statement holds in a view (None: it was not run)."""
    try:
        return check(view)[0]
    except NotRunError:
        return None


def cause(view: View, check: Check) -> str:
    """Return at which other loads and shares of full-machine jobs a statement that does not hold was tested."""
    others = {f"at a load of {load:.0%}": replace(view, load=load) for load in SWEEP}
    others[f"with {FEWER_FULL:.1%} of full-machine jobs"] = replace(view, full=FEWER_FULL)
    tried = {name: held(other, check) for name, other in others.items()}
    does = [name for name, value in tried.items() if value]
    does_not = [name for name, value in tried.items() if value is False]
    told = f"it holds {' and '.join(does)}" if does else ""
    if does_not:
        told += f"{'; ' if told else ''}it does not {' nor '.join(does_not)}"
    return told or "nothing else was run"


def claim(view: View, where: str, short: str, statement: str, check: Check) -> Iterator[Claim]:
    """Yield a statement with its verdict, nothing where its part was not run."""
    try:
        holds, told = check(view)
    except NotRunError:
        return
    yield Claim(where, short, statement, told, holds=holds, because="" if holds else cause(view, check))


def claims(study: Study) -> list[Claim]:
    """Return all statements with verdicts."""
    found = [*profile_claims(study)]
    for order in study.scale.orders:
        view = View(study, order)
        found += [*_learning(view), *_success(view), *_waits(view), *_use(view)]
    return reasoned([*found, *_orders(study), *ours(study)])


def _learning(view: View) -> Iterator[Claim]:
    def check(v: View) -> tuple[bool, str]:
        known = v.year(PAPER, 3000.0).known
        at = float(known[min(LEARNED_DAY, len(known)) - 1])
        below = np.flatnonzero(known < LEARNED)
        settled = int(below[-1]) + 2 if below.size else 1
        return round(
            at, 2
        ) >= LEARNED, f"{at:.1%}; {LEARNED:.0%} or more from day {settled} on, {known[-1]:.1%} at the end"

    yield from claim(
        view,
        "Fig. 5",
        f"{view.order}: 94 % of profiles known after 26 days",
        f"{view.order}: of the jobs submitted in the first 26 days 94 % or more, rounded to whole percents, "
        "had a profile that was known",
        check,
    )


def _success(view: View) -> Iterator[Claim]:
    for limit, least, where, words in (
        (3000.0, 0.99, "Fig. 6", "a cap of 3,000 kW"),
        (CHANGING, 0.992, "Fig. 7", "a cap that changes four times"),
    ):

        def check(v: View, limit: float | str = limit, least: float = least) -> tuple[bool, str]:
            c = v.year(PAPER, limit).capping
            assert c is not None  # noqa: S101  # there is a cap
            return bool(c.whole.success >= least), (
                f"{c.whole.success:.2%} of intervals, {c.whole.seconds.success:.2%} of time, "
                f"{c.whole.samples.success:.2%} of samples ({c.apart.success:.2%} of intervals apart from "
                f"{c.deadlock_starts:.0f} deadlock starts)"
            )

        def alone(v: View, limit: float | str = limit) -> tuple[bool, str]:
            c = v.year(PAPER, limit).capping
            assert c is not None  # noqa: S101
            return bool(c.apart.success >= 0.999), f"{1 - c.apart.success:.3%} of intervals besides"

        yield from claim(
            view,
            where,
            f"{view.order}, {words}: success {least:.1%}",
            f"{view.order}: under {words} power is within the cap in at least {least:.1%} of the intervals",
            check,
        )
        yield from claim(
            view,
            where,
            f"{view.order}, {words}: only deadlocks exceed it",
            f"{view.order}: under {words} it is exceeded only where deadlocks are broken (0.1 % of other intervals "
            "tolerated)",
            alone,
        )


def _waits(view: View) -> Iterator[Claim]:
    yield from _waits_against_naive(view)
    yield from _waits_against_no_cap(view)


def _waits_against_naive(view: View) -> Iterator[Claim]:
    """Statements on waits of window scheduling against those of naive capping."""
    order, where = view.order, FIGURE[view.order][0]
    low, high = POINTS[order]

    def every_month(v: View) -> tuple[bool, str]:
        said, good = [], True
        for kw in v.limits():
            paper, naive = v.year(PAPER, kw), v.year(NAIVE, kw)
            months = int(np.sum(paper.monthly_wait_s < naive.monthly_wait_s))
            good &= months == len(paper.monthly_wait_s)
            said.append(
                f"{kw:,.0f} kW: {months} of {len(paper.monthly_wait_s)} months, {paper.wait_s / 3600:,.1f} h against "
                f"{naive.wait_s / 3600:,.1f} h"
            )
        return good, "; ".join(said)

    def points(v: View) -> tuple[bool, str]:
        gain = [100 * (v.wait(NAIVE, kw) - v.wait(PAPER, kw)) for kw in v.limits()]
        return bool(min(gain) >= 0.5 * low and max(gain) <= 2 * high), ", ".join(
            f"{value:,.0f} at {kw:,.0f} kW" for kw, value in zip(v.limits(), gain, strict=True)
        )

    yield from claim(
        view,
        where,
        f"{order}: shorter waits than naive capping, every month",
        f"{order}: window scheduling with learned profiles has shorter mean waits than naive capping in every month "
        "under every cap",
        every_month,
    )
    yield from claim(
        view,
        where,
        f"{order}: by {low}–{high} points",
        f"{order}: the change of the year's mean wait relative to no cap is {low} to {high} points less than with "
        "naive capping under every cap (half to twice that)",
        points,
    )


def _waits_against_no_cap(view: View) -> Iterator[Claim]:
    """Statements on waits under a cap against those without one."""
    order, where = view.order, FIGURE[view.order][0]

    def most(v: View) -> tuple[bool, str]:
        change = v.waits(NAIVE, 2000.0)
        return bool(7.5 <= np.nanmax(change) <= 30), f"{np.nanmax(change):,.1f} in month {np.nanargmax(change) + 1}"

    def modest(v: View) -> tuple[bool, str]:
        change = v.wait(PAPER, 4000.0)
        return bool(change < 0.01), f"{change:+.1%}"

    if order == "fcfs":
        yield from claim(
            view,
            "Fig. 9a",
            "fcfs: as high as 15",
            "fcfs: naive capping to 2,000 kW makes waits of its worst month 15 times longer than without a cap (half "
            "to twice that)",
            most,
        )
    yield from claim(
        view,
        where,
        f"{order}: < 1 % worse at 4,000 kW",
        f"{order}: at 4,000 kW the year's mean wait is less than 1 % longer than without a cap",
        modest,
    )
    for kw, figure in ((2000.0, "a"), (3000.0, "b")):

        def better(v: View, kw: float = kw) -> tuple[bool, str]:
            change = v.waits(PAPER, kw)
            return bool(np.any(change < 0)), f"{int(np.sum(change < 0))} of {len(change)} months"

        yield from claim(
            view,
            where + figure,
            f"{order}: some months better than no cap at {kw:,.0f} kW",
            f"{order}: at {kw:,.0f} kW waits are shorter than without a cap in at least one month",
            better,
        )

    def four(v: View) -> tuple[bool, str]:
        better = {kw: v.waits(PAPER, kw) < 0 for kw in v.limits()}
        return any(float(np.mean(months)) >= 4 / 12 for months in better.values()), ", ".join(
            f"{int(months.sum())} of {len(months)} at {kw:,.0f} kW" for kw, months in better.items()
        )

    yield from claim(
        view,
        "§I, §IX",
        f"{order}: 4 of 12 months better than no cap",
        f"{order}: under one of the caps (the text does not say which) waits are shorter than without a cap in at "
        "least 4 of 12 months",
        four,
    )


def _use(view: View) -> Iterator[Claim]:
    order, where = view.order, FIGURE[view.order][1]
    low, high = USE[order]

    def every_month(v: View) -> tuple[bool, str]:
        gain = {kw: 100 * (v.use(PAPER, kw) - v.use(NAIVE, kw)) for kw in v.limits()}
        return all(bool(np.all(x > -0.05)) for x in gain.values()), "; ".join(
            f"{kw:,.0f} kW {x.mean():+.1f} points ({x.min():+.1f} to {x.max():+.1f})" for kw, x in gain.items()
        )

    def points(v: View) -> tuple[bool, str]:
        gain = [float(100 * (v.use(PAPER, kw) - v.use(NAIVE, kw)).mean()) for kw in v.limits()]
        return bool(min(gain) >= 0.5 * low and max(gain) <= 2 * high), ", ".join(f"{x:+.1f}" for x in gain)

    def rises(v: View) -> tuple[bool, str]:
        if len(v.limits()) < 2:
            raise NotRunError("one cap alone")
        use = [v.year(PAPER, kw).monthly_use.mean() for kw in v.limits()]
        return bool(np.all(np.diff(use) >= -0.001)), ", ".join(f"{x:.1%}" for x in use)

    yield from claim(
        view,
        where,
        f"{order}: better use than naive capping, every month",
        f"{order}: utilization relative to no cap is better than with naive capping in every month under every cap "
        "(0.05 points tolerated)",
        every_month,
    )
    yield from claim(
        view,
        where,
        f"{order}: by {low}–{high} points",
        f"{order}: utilization relative to no cap is on average {low} to {high} points better than with naive capping "
        "under every cap (half to twice that)",
        points,
    )
    yield from claim(
        view,
        where,
        f"{order}: use rises with the cap",
        f"{order}: utilization does not fall from 2,000 to 3,000 to 4,000 kW (0.1 points tolerated)",
        rises,
    )


def _orders(study: Study) -> Iterator[Claim]:
    if len(study.scale.orders) < 2:
        return

    def check(v: View) -> tuple[bool, str]:
        fcfs, wfp = (replace(v, order=order).year(PAPER, 3000.0).wait_s for order in ("fcfs", "wfp"))
        return bool(50 <= fcfs - wfp <= 200), f"{fcfs - wfp:+,.0f} s ({fcfs / 3600:.2f} h and {wfp / 3600:.2f} h)"

    yield from claim(
        View(study, "fcfs"),
        "§VIII-C",
        "WFP waits 100 s less than FCFS",
        "at 3,000 kW the year's mean wait is 100 s shorter with WFP than with FCFS (half to twice that)",
        check,
    )
