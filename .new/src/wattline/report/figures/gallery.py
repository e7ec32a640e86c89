"""The figures of a report by name, for those who want one of them alone."""

from __future__ import annotations

from collections.abc import Callable

from wattline.journal.journal import Journal
from wattline.report.count.metrics import Summary
from wattline.report.count.run import Run
from wattline.report.figures.accounts import draw_accounts
from wattline.report.figures.hour import draw_regulation
from wattline.report.figures.jobs import (
    draw_energies,
    draw_run_times,
    draw_sizes,
    draw_slowdowns,
    draw_waits,
    draw_waits_by_size,
)
from wattline.report.figures.measured import draw_measured
from wattline.report.figures.over_time import draw_gantt, draw_load, draw_power, draw_rates
from wattline.report.figures.power import draw_learning, draw_limit, draw_profile_errors
from wattline.report.figures.regulation import draw_errors, draw_qos
from wattline.report.figures.style import Drawn

Draw = Callable[[Run, Summary, Journal], Drawn | None]


def _power(run: Run, summary: Summary, _: Journal) -> Drawn | None:
    """Draw power over time, under its limit where there is one; nothing where no watts were given."""
    if not summary.has_power:
        return None
    return draw_power(run) if summary.capping is None else draw_limit(run)


GALLERY: dict[str, Draw] = {
    "power": _power,
    "measured": lambda run, _s, journal: draw_measured(run, journal),
    "load": lambda run, _s, _j: draw_load(run),
    "rates": lambda run, _s, _j: draw_rates(run),
    "gantt": lambda run, _s, journal: draw_gantt(run, journal),
    "waits": lambda run, _s, _j: draw_waits(run),
    "slowdowns": lambda run, _s, _j: draw_slowdowns(run),
    "waits by size": lambda _r, summary, _j: draw_waits_by_size(summary.sizes, summary.unit),
    "sizes": lambda _r, summary, _j: draw_sizes(summary.sizes, summary.unit),
    "run times": lambda run, _s, _j: draw_run_times(run),
    "energies": lambda run, summary, _j: draw_energies(run) if summary.has_power else None,
    "regulation": lambda run, summary, journal: draw_regulation(run, journal) if summary.regulation else None,
    "tracking errors": lambda run, summary, _j: draw_errors(run) if summary.regulation else None,
    "service": lambda run, summary, _j: draw_qos(run) if summary.qos else None,
    "accounts": lambda _r, summary, _j: draw_accounts(summary.accounts) if summary.accounts else None,
    "learning": lambda run, summary, _j: draw_learning(run, summary.learning) if summary.learning else None,
    "profile errors": lambda run, summary, _j: draw_profile_errors(run, summary.learning) if summary.learning else None,
}
"""Name → figure; None where a run has nothing of it."""
