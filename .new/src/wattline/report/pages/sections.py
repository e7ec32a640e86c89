"""Tables and notes of the report of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from wattline.report.count.groups import BOUND_S, GroupRow, SizeRow
from wattline.report.count.metrics import Summary
from wattline.report.count.run import Run
from wattline.report.count.statistics import Distribution, TimeDistribution
from wattline.report.page import table
from wattline.report.show import compact, number, show

LISTED = 200
"""Rows of a table by user (or group, …) before the rest is only counted."""

_SAMPLE = ("count", "mean", "median", "p90", "p95", "p99", "max")


def distribution_table(summary: Summary) -> str:
    """Return wait, response, run time and slowdowns with their percentiles."""
    named = (
        ("wait", summary.wait_s, "s"),
        *((("wait recorded in the log", summary.recorded_wait_s, "s"),) if summary.recorded_wait_s.count else ()),
        ("response", summary.response_s, "s"),
        ("run time", summary.runtime_s, "s"),
        *((("of it, nodes woke", summary.waking_s, "s"),) if summary.waking_s.count else ()),
        ("slowdown", summary.slowdown, ""),
        ("bounded slowdown", summary.bounded_slowdown, ""),
    )
    return table(("", "jobs", "mean", "median", "p90", "p95", "p99", "max"), [_sample_row(*row) for row in named])


def size_table(sizes: Sequence[SizeRow], unit: str = "node") -> str:
    """Return the waits of jobs by powers of two of nodes."""
    header = (f"{unit}s", "jobs", f"{unit}-hours", "mean wait", "median", "p95", "longest", "bounded slowdown")
    rows = [
        (
            row.label,
            f"{row.jobs:,}",
            number(row.node_s / 3600),
            *(compact(v, "s") for v in _waits(row)),
            number(row.bounded_slowdown_mean),
        )
        for row in sizes
    ]
    return table(header, rows)


def loud(run: Run, summary: Summary) -> str:
    """Return what must not be overlooked, one line each: what was assumed of power and clock, a signal that is not what
    it should be, and what is hard to believe.
    """
    power = (run.manifest.get("cluster") or {}).get("power") or {}
    assumed = [str(power["words"])] if power.get("basis") == "assumed" and power.get("words") else []
    for section in ("accounts", "regulation"):
        assumed += [str(line) for line in (run.manifest.get(section) or {}).get("warnings") or []]
    lines = "".join(f'<p class="sub warn">{escape(line)}</p>' for line in (*assumed, *summary.doubts))
    told = "" if summary.has_power else f'<p class="sub">{escape(str(power.get("words", "")))}</p>'
    return lines + told


def group_table(rows: Sequence[GroupRow], what: str, unit: str = "node") -> str:
    """Return the jobs by user, group, kind or partition; without energy where no watts were given."""
    known = not any(math.isnan(row.energy_j) for row in rows)
    header = (what, "jobs", f"{unit}-hours", *(("energy", "share") if known else ()), "mean wait", "bounded slowdown")
    body = [
        (
            row.name or "(unknown)",
            f"{row.jobs:,}",
            number(row.node_s / 3600),
            *((show(row.energy_j, "J"), show(row.energy_share, "share")) if known else ()),
            compact(row.wait_mean_s, "s"),
            number(row.bounded_slowdown_mean),
        )
        for row in rows[:LISTED]
    ]
    rest, of = len(rows) - LISTED, "energy" if known else f"{unit}-hours"
    note = f'<p class="counted">and {rest:,} more with less {of} (all are in the journal)</p>' if rest > 0 else ""
    return table(header, body) + note


def class_table(summary: Summary) -> str:
    """Return energy (where it is known) and use of every node class."""
    parts = ("energy", "busy", "idle", "asleep", "waking") if summary.has_power else ()
    header = ("node class", f"{summary.unit}s", *parts, "utilization", "out of service")
    rows = [
        (
            row.node_class,
            f"{row.nodes:,}",
            *(
                show(v, "J")
                for v in (row.energy_j, row.busy_energy_j, row.idle_energy_j, row.sleep_energy_j, row.boot_energy_j)[
                    : len(parts)
                ]
            ),
            show(row.utilization, "share"),
            f"{number(row.down_node_s / 3600)} node-h",
        )
        for row in summary.classes
    ]
    return table(header, rows)


def event_table(summary: Summary) -> str:
    """Return how often jobs and nodes were interrupted; nothing when they never were."""
    usual = {"submit", "start", "end"}
    rows = [(name, f"{count:,}") for name, count in summary.events.items() if name not in usual and count]
    if summary.jobs.preemptions:
        rows.append(("preemptions of jobs", f"{summary.jobs.preemptions:,}"))
    if summary.jobs.restarts:
        rows.append(("restarts of jobs", f"{summary.jobs.restarts:,}"))
    return "<h2>Interruptions and switches</h2>" + table(("", "times"), rows) if rows else ""


def service_table(summary: Summary) -> str:
    """Return the measures of the service-rate model: per customer, and per system over time."""
    found = summary.service
    customers = (
        ("delay", found.delay_s, "s"),
        ("sojourn time", found.sojourn_s, "s"),
        ("service time", found.service_s, "s"),
        ("slowdown", found.slowdown, ""),
        *((("energy budget", found.energy_budget_j, "J"),) if summary.has_power else ()),
    )
    system = (
        ("potential load", found.potential_load, ""),
        ("effective load", found.effective_load, ""),
        ("job wasting", found.job_wasting, ""),
        *((("energy consumption", found.energy_consumption_w, "W"),) if summary.has_power else ()),
        ("customers in the system", found.customers, ""),
        ("customers in the queue", found.queue, ""),
        ("busy servers", found.busy_servers, ""),
        ("rate", found.rate, ""),
        ("workload (at events)", found.workload, ""),
    )
    rates = ", ".join(f"{float(rate):g}: {show(share, 'share')}" for rate, share in found.rate_shares.items())
    wasted = f"Job wasted in all: {number(found.job_wasted)} s of work. Time at each rate: {rates or '–'}."
    mean = f" Mean workload, its fall between events included: {number(found.workload_mean)} s."
    return (
        table(("per customer", "customers", *_SAMPLE[1:]), [_sample_row(*row) for row in customers])
        + table(
            ("per system, over time", "mean", "lowest", "median", "p95", "highest"), [_step_row(*row) for row in system]
        )
        + f'<p class="counted">{escape(wasted)}{escape(mean) if found.workload_mean == found.workload_mean else ""}</p>'
    )


COUNTED = """
All numbers are counted from every row of the journal; only what is drawn is reduced, as the captions say.
Wait is from entering the queue to the first start, over jobs that started. Response is from entering the queue to the
end, over the {ended:,} jobs that started and ended (finished, killed or failed).
Run time is how long a job held its nodes; where they slept, that begins with their waking, which is shown apart.
Slowdown is response / time alone, over jobs whose time alone is more than 0 s. Time alone is the run time at full
speed on nodes that are awake: up to its request for a killed job, no longer than it ran for a failed one. Bounded
slowdown is max(1, response / max(time alone, {bound:g} s)). Percentiles interpolate linearly.
Utilization is busy / available node-seconds (nodes out of service are not available), over the whole run from {start}
to {end} of the trace's clock, and between the first and the last submission.
Averages over time (queue, power, loads) weigh every value by how long it held.
As a queue: potential load is rate × (all available servers if somebody waits, else busy servers), effective load is
rate × busy servers, job wasting their difference; slowdown there is sojourn / (end − start).
"""
"""What every number on the page means, one line a note."""

ENERGY = """
Energy is the integral of power over the run; the accounts of the node classes {gap}. Power above the limit by less
than a thousand-millionth is taken as rounding.
"""

CENSORED = (
    "{unfinished:,} jobs had not ended when the run stopped. Those still queued have no wait in the numbers "
    "above, which "
    "makes these look better than they are."
)


LIMITED = """
Capping success is the share of scheduling intervals (the run's tick, or 10 s) in which power never was above the
limit, of those in which a limit was in force; also by time and at the instants of samples. Without deadlock starts,
the time while a job ran that was let in above the limit does not count at all.
"""
LEARNED = """
A profile is known on arrival if its own or a group's samples told it; its errors are those of the power per node that
admission counted with when the job started, and of what the job drew then, capped or not.
"""

CHOSEN = """
The time alone of a job that chose its configuration is that of the nodes it asked for, uncapped, so its slowdown may
be below 1. Sizes of jobs are what they asked for.
"""


def counted(run: Run, summary: Summary) -> str:
    """Return what every number on the page means."""
    energy = summary.energy
    off = abs(energy.total_j - energy.accounts_j) / energy.total_j if energy.total_j else 0.0
    gap = "agree with it" if off < 1e-9 else f"differ from it by {show(off, 'share')}"
    text = COUNTED.format(
        ended=summary.jobs.ended, bound=BOUND_S, start=show(run.start_s, "s"), end=show(run.end_s, "s")
    )
    lines = text.strip().splitlines()
    if summary.has_power:
        lines.append(ENERGY.format(gap=gap).strip())
    if summary.capping is not None:
        lines.append(LIMITED.strip())
    if summary.learning is not None:
        lines.append(LEARNED.strip())
    if summary.shapes is not None:
        lines.append(CHOSEN.strip())
    if summary.jobs.unfinished:
        lines.append(CENSORED.format(unfinished=summary.jobs.unfinished))
    return f'<ul class="counted">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'


def _sample_row(name: str, found: Distribution, unit: str) -> tuple[str, ...]:
    return (name, f"{found.count:,}", *(compact(getattr(found, which), unit) for which in _SAMPLE[1:]))


def _step_row(name: str, found: TimeDistribution, unit: str) -> tuple[str, ...]:
    return (name, *(compact(v, unit) for v in (found.mean, found.min, found.median, found.p95, found.max)))


def _waits(row: SizeRow) -> tuple[float, ...]:
    return (row.wait_mean_s, row.wait_median_s, row.wait_p95_s, row.wait_max_s)
