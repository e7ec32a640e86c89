"""The time axis of figures: the calendar where the log says when it began, else time since the start of the run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from wattline.arrays import Floats
from wattline.reading.calendar import check_zone, offset_at
from wattline.report.count.run import Run
from wattline.report.figures.figure import Figure
from wattline.report.figures.style import titled
from wattline.report.show import scale_of

EARLIEST_S, LATEST_S = 157_766_400.0, 253_402_214_400.0
"""Unix times of 1975 and of the last day of 9999: what lies outside was never meant as a date."""

MARGIN = 88
"""Pixels left of every time axis, whatever the labels there: instants of figures below each other stand in one line."""

DATE = "date"
HOVER = "%Y-%m-%d %H:%M"


class Clock(NamedTuple):
    """Where times stand on an axis: dates in milliseconds since 1970, or a number of ``unit`` since ``origin_s``."""

    origin_s: float
    end_s: float
    seconds: float
    """Seconds of one step of the axis."""
    unit: str
    ahead_s: float = 0.0
    """By how much the clocks of its dates are ahead of UTC: those of the log's zone when the run began."""

    def at(self, time_s: Floats | float) -> Any:
        """Return where instants of the run's own clock stand."""
        return (time_s - self.origin_s) / self.seconds

    def lasting(self, duration_s: Floats | float) -> Any:
        """Return how long durations are on the axis."""
        return duration_s / self.seconds

    @property
    def dated(self) -> bool:
        """Whether the axis shows dates."""
        return self.unit == DATE

    @property
    def title(self) -> str:
        """What the axis is called. One offset holds for all of it: an hour that clocks show twice is drawn once."""
        if not self.dated:
            return titled("time since the start of the run", self.unit)
        hours, minutes = divmod(round(abs(self.ahead_s) / 60), 60)
        sign = "-" if self.ahead_s < 0 else "+"
        return f"time [UTC{sign}{hours:02d}:{minutes:02d}]" if self.ahead_s else "time [UTC]"

    @property
    def hover(self) -> str:
        """How a label names an instant on the x axis."""
        return f"%{{x|{HOVER}}}" if self.dated else f"%{{x:,.4~r}} {self.unit}"


def clock_of(runs: Iterable[Run]) -> Clock:
    """Return the clock of runs that are drawn on one axis; dates only where all began to count at the same moment."""
    every = list(runs)
    epochs = {_epoch_s(run) for run in every}
    start_s, end_s = min(run.start_s for run in every), max(run.end_s for run in every)
    epoch_s = epochs.pop() if len(epochs) == 1 else None
    if epoch_s is not None and EARLIEST_S <= epoch_s + start_s <= epoch_s + end_s <= LATEST_S:
        zones = {_zone(run) for run in every}
        ahead_s = offset_at(epoch_s + start_s, zones.pop()) if len(zones) == 1 and zones != {"UTC"} else 0.0
        return Clock(-epoch_s - ahead_s, end_s, 1e-3, DATE, ahead_s)
    scale = scale_of([(end_s - start_s) / 2], "s")  # the largest unit that the run fills twice
    return Clock(start_s, end_s, scale.factor, scale.unit)


def time_axis(run: Run) -> Clock:
    """Return the clock of a run."""
    return clock_of([run])


def finish_time_axes(figure: Figure, start_s: float, clock: Clock, name: str = "run") -> None:
    """Name the time axis, let it span the run, and link the figure to others of the same clock."""
    span = [float(clock.at(start_s)), float(clock.at(clock.end_s))]
    if span[1] <= span[0]:
        span[1] = span[0] + (1000.0 if clock.dated else 1.0)
    about = {"name": name, "unit": clock.unit, "seconds": clock.seconds, "span": span}
    if clock.dated:
        figure.update_xaxes(type="date", hoverformat=HOVER)
    figure.update_xaxes(showgrid=False, range=span, title_text=clock.title)
    figure.update_yaxes(automargin=False, title={"standoff": 6})
    figure.update_layout(meta={"clock": about}, hovermode="x unified", hoverdistance=-1, margin={"l": MARGIN})


def _zone(run: Run) -> str:
    """Return the zone of a run's log; UTC where nobody said one."""
    told = (run.manifest.get("trace") or {}).get("zone")
    if not isinstance(told, str):
        return "UTC"
    check_zone(told)
    return told


def _epoch_s(run: Run) -> float | None:
    """Return the Unix time of second 0 of a run, where its log says it."""
    told = (run.manifest.get("trace") or {}).get("epoch_unix_s")
    return float(told) if isinstance(told, (int, float)) and math.isfinite(told) else None
