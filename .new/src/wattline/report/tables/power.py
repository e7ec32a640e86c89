"""Tables of a power limit and of learned power, for the terminal and for the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wattline.report.count.capping import Capping, Kept
from wattline.report.count.learning import Errors, Learning
from wattline.report.count.recorded import JobPower
from wattline.report.page import card, table
from wattline.report.show import MISSING, compact, plural, show

if TYPE_CHECKING:
    from wattline.report.count.metrics import Summary


def power_facts(summary: Summary) -> list[tuple[str, str]]:
    """Return the single numbers of limit and learning as (title, text)."""
    rows: list[tuple[str, str]] = []
    if (found := summary.capping) is not None:
        if found.whole.seconds.above or found.deadlock_starts > 0:
            rows.append(("limit kept", success_words(found)))
            rows += [("", worst_words(found.whole))] if found.whole.seconds.above else []
        if actions := action_words(found):
            rows.append(("actions", actions))
    if (learned := summary.learning) is not None:
        if learned.learns:
            rows.append(("learned", learning_words(learned)))
        rows.append(("profiles", error_words(learned.errors)))
    return rows


def recorded_facts(summary: Summary) -> list[tuple[str, str]]:
    """Return the power that the log recorded beside the simulated, as (title, text)."""
    found = summary.recorded_power
    if found is None:
        return []
    whom = "" if found.jobs == summary.jobs.total else f"{found.jobs:,} of "
    how = "their energy" if found.basis == "energy" else "their power × nodes × run time"
    return [
        ("recorded", f"{whom}{plural(summary.jobs.total, 'job')}: {job_power_words(found.recorded)} ({how})"),
        ("simulated", f"the same jobs: {job_power_words(found.simulated)}"),
    ]


def job_power_words(found: JobPower) -> str:
    """Return what jobs took together, and what they drew where it is known when they ran."""
    text = show(found.energy_j, "J")
    if math.isnan(found.mean_w):
        return text
    return f"{text}, {show(found.mean_w, 'W')} on average, {show(found.peak_w, 'W')} at most"


def success_words(found: Capping) -> str:
    """Return the capping success rate, and what it is apart from deadlock starts."""
    text = f"{precise(found.whole.success)} of {compact(found.quantum_s, 's')} intervals"
    if not found.deadlock_starts > 0:
        return text
    starts = plural(int(found.deadlock_starts), "deadlock start")
    if not found.whole.seconds.above:
        return f"{text}, {starts} included"
    return f"{text}; {precise(found.apart.success)} but for {starts}"


def worst_words(found: Kept) -> str:
    """Return how far and how long power was above the limit at worst."""
    return (
        f"at worst {show(found.worst_w, 'W')} ({share(found.worst_share)}) above it, {show(found.longest_s, 's')} "
        "at a time"
    )


def action_words(found: Capping) -> str:
    """Return what was done to stay under the limit ("": nothing)."""
    done = ((found.caps_set, "cap", "set"), (found.jobs_stopped, "job", "stopped"))
    return ", ".join(f"{plural(int(count), noun)} {what}" for count, noun, what in done if count > 0)


def learning_words(found: Learning) -> str:
    """Return the learning rate, and when it settled."""
    goal = show(found.threshold, "share")
    after = "not reached" if math.isnan(found.settled_day) else f"after {plural(int(found.settled_day), 'day')}"
    return f"{show(found.known, 'share')} of profiles known on arrival; {goal} of all: {after}"


def error_words(errors: Errors) -> str:
    """Return how far profiles were off."""
    over = errors.overcount
    if math.isnan(over):
        return f"counted with for {plural(errors.jobs, 'job')}, none of which drew any power"
    side = "above" if over >= 0 else "below"
    return (
        f"{show(abs(over), 'share')} {side} what was drawn; {show(errors.under_peak, 'share')} of jobs peaked "
        "above theirs"
    )


def precise(rate: float) -> str:
    """Return a success rate with digits enough to tell nearly all from all.

    >>> precise(1.0), precise(0.9912345), precise(0.999987), precise(float("nan"))
    ('100 %', '99.12 %', '99.9987 %', '–')
    """
    if math.isnan(rate):
        return MISSING
    digits = 2
    while digits < 6 and rate < 1.0 and round(100 * (1 - rate), digits) < 10.0 ** (1 - digits):
        digits += 1
    return "100 %" if rate == 1.0 else f"{100 * rate:.{digits}f} %"


def share(value: float) -> str:
    """Return a share that may be endless."""
    return "of 0 W" if math.isinf(value) else show(value, "share")


def capping_cards(found: Capping) -> str:
    """Return the cards of the section on the limit."""
    starts, whole = found.deadlock_starts, found.whole
    apart = (
        f"{precise(found.apart.success)} but for {plural(int(starts), 'deadlock start')}"
        if starts > 0
        else ("no deadlock starts" if starts == 0 else "deadlock starts were not logged")
    )
    cards = (
        card("capping success", precise(whole.success), apart, bad=whole.success < 0.99),
        card("worst excess", show(whole.worst_w, "W"), f"{share(whole.worst_share)} above the limit"),
        card("longest excess", show(whole.longest_s, "s"), f"{show(whole.seconds.above, 's')} in all"),
        card("energy above the limit", show(whole.above_j, "J"), action_words(found) or "no caps, no stops"),
    )
    return f'<section class="cards">{"".join(cards)}</section>'


def capping_table(found: Capping) -> str:
    """Return success by interval, time and instant, with and without deadlock starts."""
    parts = [("all limited time", found.whole)]
    if found.deadlock_starts > 0:
        parts.append(("without deadlock starts", found.apart))
    header = (
        "success",
        "time",
        f"by {compact(found.quantum_s, 's')} intervals",
        "by time",
        f"by samples every {compact(found.sample_s, 's')}",
        "worst excess",
        "longest",
        "energy above",
    )
    rows = [
        (
            name,
            compact(part.seconds.total, "s"),
            *(precise(rate.success) for rate in (part.intervals, part.seconds, part.samples)),
            f"{show(part.worst_w, 'W')} ({share(part.worst_share)})",
            compact(part.longest_s, "s"),
            show(part.above_j, "J"),
        )
        for name, part in parts
    ]
    return table(header, rows)


def learning_cards(found: Learning) -> str:
    """Return the cards of the section on learned power."""
    errors = found.errors
    cards = [
        card("counted with", signed(errors.overcount), "against what was drawn, over all node-hours"),
        card(
            "peak above profile",
            show(errors.under_peak, "share"),
            f"of jobs; their mean: {show(errors.under_mean, 'share')}",
        ),
    ]
    if found.learns:
        day = MISSING if math.isnan(found.settled_day) else plural(int(found.settled_day), "day")
        goal = f"until {show(found.threshold, 'share')} of all jobs so far were known, for good"
        cards[:0] = [card("known on arrival", show(found.known, "share"), "of jobs"), card("learned in", day, goal)]
    return f'<section class="cards">{"".join(cards)}</section>'


def learning_table(found: Learning) -> str:
    """Return profiles by the level that they came from."""
    header = (
        "profile",
        "on arrival",
        "share",
        "at the start",
        "error of the mean",
        "median",
        "error of the peak",
        "median",
        "mean above",
        "peak above",
    )
    rows = [
        (row.name, f"{row.submitted:,}", show(row.share, "share"), f"{row.errors.jobs:,}", *_error_cells(row.errors))
        for row in found.levels
        if row.submitted or row.errors.jobs
    ]
    rows.append(("all", f"{found.jobs:,}", "", f"{found.errors.jobs:,}", *_error_cells(found.errors)))
    return table(header, rows)


def _error_cells(errors: Errors) -> tuple[str, ...]:
    offs = (errors.mean.mean, errors.mean.median, errors.peak.mean, errors.peak.median)
    return (*(signed(value) for value in offs), show(errors.under_mean, "share"), show(errors.under_peak, "share"))


def signed(value: float) -> str:
    """Return a share with its sign.

    >>> signed(0.081), signed(-0.02), signed(0.0), signed(float("nan"))
    ('+8.1 %', '-2 %', '0 %', '–')
    """
    return ("+" if value > 0 else "") + show(value, "share")
