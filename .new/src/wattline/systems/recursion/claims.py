"""What the service-rate paper states, held against our numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.report.show import compact, number, show
from wattline.systems.recursion.data import Customers
from wattline.systems.recursion.model import HIGH, K_HIGH, K_LOW, LOW, Epochs
from wattline.systems.recursion.study import Curve, Drift, Ensemble, Switches, Waiting, irregularity
from wattline.systems.reproduction import Claim
from wattline.theory.stability import Stability
from wattline.wiring.result import Result

STATED_DAYS = 380.0
"""From 02.04.2011 to 16.04.2012."""


@dataclass(frozen=True)
class Findings:
    """All numbers of a reproduction."""

    customers: Customers
    base: Result
    base_epochs: Epochs
    low: Result
    switches: Switches
    waits: Waiting
    waits_with_gaps: Waiting
    """The same with the interarrival times of dropped records kept."""
    days_with_gaps: float
    waits_low: Waiting
    singles: float
    curve: Curve
    printed_curve: Curve
    ensemble: Ensemble
    grid: dict[tuple[str, str], dict[str, Any]]
    later: int
    stable_low: Stability
    stable_high: Stability
    drifts: list[Drift]


def claims(found: Findings) -> list[Claim]:
    """Return all statements with their verdicts."""
    stated = [
        _rates(found),
        _switching(found),
        _slopes(found),
        _waits(found),
        _singles(found),
        _trade_off(found),
        _energies(found),
        _smooth(found),
        _limits(found),
        _backfill(found),
        _stability(found),
    ]
    return [_data(found), *stated] if found.customers.recorded else stated


def _data(found: Findings) -> Claim:
    c, records = found.customers, found.customers.records
    return Claim(
        "§IV",
        "9389 tasks from 02.04.2011 to 16.04.2012 (380 days)",
        "The dataset holds the tasks completed from 02.04.2011 to 16.04.2012 (380 days; 5 more or fewer are granted), "
        "a total of 9389 tasks.",
        f"{records:,} records whose interarrival times add up to {c.recorded_days:.0f} days; {len(c.jobs):,} "
        f"customers over {c.days:.0f} days are left when bad records are dropped, over {found.days_with_gaps:.0f} days "
        "when their interarrival times are kept",
        holds=records == 9389 and abs(c.days - STATED_DAYS) < 5,
        because="the number is right; no way to clean the interarrival times gives the span of the two dates",
    )


def _rates(found: Findings) -> Claim:
    e = found.base_epochs
    # a switching event leaves W at k_L up to rounding
    right = (e.rate == HIGH.rate) | (e.workload <= K_HIGH)
    right &= (e.rate == LOW.rate) | (e.workload > K_LOW * (1 - 1e-9))
    share = e.mean((e.rate == HIGH.rate).astype(np.float64))
    return Claim(
        "Fig. 1",
        "W above k_H turns the rate to r_H, W down at k_L to r_L",
        "When the workload hits k_H = 3e5 the rate turns to 2.66, when it becomes less than k_L = 1e5 to 2.0.",
        f"{int(right.sum()):,} of {right.size:,} epochs; {found.switches.up} switches up, {found.switches.down} down, "
        f"{show(share, 'share')} of the time at r_H",
        holds=bool(right.all()),
    )


def _switching(found: Findings) -> Claim:
    s = found.switches
    return Claim(
        "§III-C",
        "up only at arrivals; down at events of its own",
        "Switching to r_H necessarily coincides with an arrival; switching to r_L may occur at intermediate times.",
        f"{s.up_at_arrivals} of {s.up} switches up at arrivals; {s.down_between} of {s.down} down between arrivals and "
        "departures",
        holds=s.up_at_arrivals == s.up and s.down_between > 0,
    )


def _slopes(found: Findings) -> Claim:
    served = found.switches.served
    several = float(np.mean(served > 1)) if served.size else float("nan")
    return Claim(
        "Fig. 1, §III-C",
        "the slope of W changes with the customers in service",
        "Changes in the slope of the workload may also correspond to changes in the number of customers served.",
        f"W falls at R·|M|: {number(float(served.mean()))} customers on average (at most {int(served.max())}) were in "
        "service at a switch down",
        holds=True,
        because="and so the printed epoch of the switch, T + (W − k_L)/R, is wrong: the divisor is R·|M|, which "
        "differs "
        f"in {show(several, 'share')} of the switches",
    )


def _waits(found: Findings) -> Claim:
    at, gaps, low = found.waits, found.waits_with_gaps, found.waits_low
    held = at.customers > 50 and at.behind_wide > 0.5
    also = (
        f"; with the interarrival times of dropped records kept {gaps.customers} wait, {compact(gaps.seconds, 's')} in "
        "all"
    )
    return Claim(
        "Fig. 2",
        "heavy waiting of 500 customers from #7000, due to huge tasks",
        "Irregular load results in heavy waiting times corresponding to huge tasks occupying multiple servers (FCFS, "
        "500 customers from #7000: more than a tenth of them wait, and more than half of the waiting is behind a task "
        "of 16 servers or more).",
        f"{at.customers} of 500 wait, {compact(at.seconds / max(at.customers, 1), 's')} each and "
        f"{compact(at.longest_s, 's')} at most, {show(at.behind_wide, 'share')} of it behind a task of 16 servers or "
        f"more{also if found.customers.recorded else ''}; at constant r_L {low.customers} wait",
        holds=held,
        because="" if held else "hardly anybody waits in this window of these customers",
    )


def _singles(found: Findings) -> Claim:
    return Claim(
        "Fig. 2",
        "often many single-server tasks run at once",
        "In many cases the servers are occupied by many single-server tasks run simultaneously.",
        f"ten or more of them during {show(found.singles, 'share')} of the window",
        holds=found.singles > 0.1,
    )


def _trade_off(found: Findings) -> Claim:
    c = found.curve
    falls, rises = bool(np.all(np.diff(c.energy) < 0)), bool(np.all(np.diff(c.workload) > 0))
    least = c.k[int(np.argmin(c.workload_eq12))]
    odd = (
        "" if least == 0 else f"; by eq. 12 W is least at k = {least:g}, because eq. 12 ignores its fall between epochs"
    )
    return Claim(
        "Fig. 3",
        "a trade-off between energy and workload over k",
        "The tradeoff between the average workload and the average energy consumption can be clearly seen.",
        f"from k = 0 to 3e6 energy {_change(c.energy)}, workload {_change(c.workload)} (exact)",
        holds=falls and rises,
        because=("monotone at every step" if falls and rises else "not at every step") + odd,
    )


def _energies(found: Findings) -> Claim:
    c = found.curve
    return Claim(
        "§IV",
        "e(r_L) = 0.041, e(r_H) = 0.034",
        "Energy consumption at the working mode on low and high speeds accordingly e(r_L) = 0.041, e(r_H) = 0.034.",
        f"as printed, energy from k = 0 to 3e6 would change by {_change(c.energy_printed)}; exchanged, "
        f"{_change(c.energy)}",
        holds=False,
        because="with the printed order a slower machine costs more energy and less speed, and there is no "
        "trade-off: the "
        "two numbers are exchanged",
    )


def _smooth(found: Findings) -> Claim:
    right, printed, many = found.curve, found.printed_curve, found.ensemble
    step = round(float(many.k[1] / right.k[1]))
    trace, averaged = irregularity(right.energy[::step]), irregularity(many.energy[0])
    wrong = irregularity(printed.energy[::step])
    return Claim(
        "Fig. 3",
        "irregular from a single trace; smoother over randomized runs",
        "The irregularity of the shape is related to the single trace; it could be more smooth for independent runs.",
        f"irregularity of E: {trace:.3f} on the trace, {averaged:.3f} over {many.seeds} resamples, but "
        f"{wrong:.3f} on the "
        f"trace with the switch as printed; k = 3e6 changes E by {100 * many.energy_change[0][-1]:+.1f} ± "
        f"{100 * many.energy_change[1][-1]:.1f} %",
        holds=bool(trace > 0.01 and averaged < 0.8 * trace),
        because="with the switch at its right epoch the single trace gives a regular curve already; with the "
        "epoch that "
        "the text prints, T + (W − k)/R, it is irregular",
    )


def _limits(found: Findings) -> Claim:
    zero, fast = found.curve.energy[0], found.grid["FCFS", "r_H"]["energy"]
    same = abs(found.curve.workload[0] / found.grid["FCFS", "r_H"]["workload"] - 1) < 1e-9
    return Claim(
        "§III-A",
        "k = 0 and k = ∞ are the system without control",
        "The system without service rate control is related to k_L = k_H = 0 or k_L = k_H = ∞.",
        f"k = 0 gives every customer the times of constant r_H, with {100 * (1 - zero / fast):.1f} % less energy",
        holds=same,
        because="for customers; the empty system rests at r_L, which saves the difference in idle energy",
    )


def _backfill(found: Findings) -> Claim:
    first, passed = (found.grid[line, "r_H"]["delay_s"] for line in ("FCFS", "BF"))
    return Claim(
        "§III-B",
        "backfilled customers do not violate the head's reservation",
        "Backfilling lets small customers overtake the first in the queue provided they do not violate its "
        "reservation.",
        f"at r_H {found.later} customers start later than under FCFS; mean delay {compact(first, 's')} → "
        f"{compact(passed, 's')}",
        holds=found.later == 0,
        because="with the set read as the FCFS set plus those that fit and end in time (as printed it drops those in "
        "service)",
    )


def _stability(found: Findings) -> Claim:
    grew = ", ".join(f"{round(d.measured, 3) + 0.0:.3f} ({d.expected:.1f})" for d in found.drifts)
    loads = ", ".join(f"{d.load:g}" for d in found.drifts)
    right = all(abs(d.measured - d.expected) < 0.05 for d in found.drifts)
    return Claim(
        "[11]",
        "the stability criterion that hpcwld validates",
        "The package implements stability criterion validation (the criterion itself is in reference [11]).",
        f"load {found.stable_low.load:.2f} at r_L, {found.stable_high.load:.2f} at r_H: stable; delays of drawn "
        "customers "
        f"at loads {loads} grow by {grew} a second",
        holds=right and found.stable_high.stable,
        because="exact for exponential services; for this log, whose services are longer-tailed, an estimate",
    )


def _change(values: Any) -> str:
    return f"{round(100 * (values[-1] / values[0] - 1), 1) + 0.0:+.1f} %"  # + 0.0: no "-0.0"
