"""The regulation signal of a scenario: recorded, or drawn by a law that may take after recorded ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import InputError
from wattline.model.regulation import Signal
from wattline.units import DAY_S, HOUR_S

if TYPE_CHECKING:
    from wattline.arrays import Floats
    from wattline.bidding.hours.laws import SignalLaw
    from wattline.formats.series.records import Records
    from wattline.generate.signal_days import DaysFit
    from wattline.market.signal_law import Law
    from wattline.reading.notes import Note
    from wattline.scenario.read.source import Context
    from wattline.scenario.sections.regulation.recorded import Recorded

GAUSSIAN, FITTED = "gaussian", "fitted"

SIGNAL_STEP_S = 2.0
REACH_HOURS = 8
"""Drawn hours over which the reach of a bid is looked at."""
FIGURE_DAYS = 5
"""Drawn days from which the figures of a law are taken."""


@dataclass(frozen=True)
class FittedLaw:
    """The law that draws days like recorded ones."""

    fit: DaysFit
    energy_neutral: bool = False

    def __call__(self, duration_s: float, seed: int) -> Signal:
        """Draw a signal."""
        from wattline.generate.signal_days import generate_days

        return generate_days(self.fit, duration_s, seed, energy_neutral=self.energy_neutral)


@dataclass(frozen=True)
class Played:
    """The signal of a run from time 0 on, values for its reach, what to say about it, notes and loud lines."""

    signal: Signal
    values: Floats
    about: dict[str, Any]
    notes: tuple[Note, ...] = ()
    strangers: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True)
class SignalSource:
    """What a scenario says of its signal; ``std`` and ``time_constant_s`` are those of a normal one, None if not
    given.
    """

    law: str
    recorded: Recorded
    context: Context
    std: float | None = None
    time_constant_s: float | None = None
    neutral: bool | None = None

    @property
    def drawn(self) -> bool:
        """Whether it is drawn, not read."""
        return self.law in (GAUSSIAN, FITTED)

    def records(self) -> Records | None:
        """Return the records of a signal that is read; None where it is drawn."""
        return None if self.drawn else self.recorded.records()

    def signal_law(self) -> SignalLaw:
        """Return what draws the signal of an hour: a generator, or a record from a place that the seed picks."""
        from wattline.bidding.hours.laws import GaussianLaw, recorded

        if self.law == GAUSSIAN:
            std, time_constant_s, step_s, _ = self.normal()
            return GaussianLaw(std, time_constant_s, step_s, energy_neutral=self.neutral is not False)
        if self.law == FITTED:
            from wattline.generate.signal_days import fit_days

            fit = self.context.located(("regulation", "file"), fit_days, self.recorded.days.records)
            return FittedLaw(fit, bool(self.neutral))
        signal, _, _ = self.recorded.played()
        if signal.end_s - signal.start_s < HOUR_S:
            length_s = signal.end_s - signal.start_s
            raise self.context.error(("regulation", "signal"), f"lasts {length_s:g} s, shorter than an hour")
        return recorded(signal)

    def figures(self) -> Law:
        """Return the figures of the signal: of the whole files, or of days that no run and no search draws."""
        if not self.drawn:
            return self.recorded.days.law
        from wattline.market.signal_law import pooled, signal_law_of

        law = self.signal_law()
        days = [signal_law_of(law(DAY_S, 2**53 - 1 - k), f"day {k}") for k in range(FIGURE_DAYS)]
        return pooled(days, "drawn days")

    def normal(self) -> tuple[float, float, float, str]:
        """Return std, time constant and step of a normal signal, from data where not given, and a word on that."""
        from wattline.generate.signal import LONGEST_S, MAX_STD, MIN_STD, GaussianSignal

        std, time_constant_s, step_s = self.std, self.time_constant_s, self.recorded.step_s
        if not self.recorded.names:
            std = GaussianSignal.std if std is None else std
            time_constant_s = GaussianSignal.time_constant_s if time_constant_s is None else time_constant_s
            return std, time_constant_s, step_s or SIGNAL_STEP_S, ""
        found = self.recorded.days
        law, taken = found.law, []
        if std is None:
            std = self._taken("standard deviation", law.std, MIN_STD, MAX_STD)
            taken.append(f"standard deviation {std:.2f}")
        if time_constant_s is None:
            time_constant_s = self._taken("time constant", law.time_constant_s, 0.0, LONGEST_S)
            taken.append(f"time constant {time_constant_s:.0f} s")
        of = f"{len(found.records)} records" if len(found.records) > 1 else self.recorded.names[0]
        words = f"signal: Gaussian, {' and '.join(taken)} taken from {of}" if taken else ""
        return std, time_constant_s, step_s or found.records[0].signal.step_s, words

    def _taken(self, what: str, value: float, low: float, high: float) -> float:
        return float(self.context.located(("regulation", "file"), _within, what, value, low, high))

    def played(self, duration_s: float, seed: int) -> Played:
        """Return the signal of a run that lasts so long."""
        if not self.drawn:
            signal, notes, strangers = self.recorded.played()
            names = list(self.recorded.names)
            about: dict[str, Any] = {"law": "file", "file": names if len(names) > 1 else names[0]}
            return Played(signal, signal.values, about | {"step_s": signal.step_s}, notes, strangers)
        law = self.signal_law()
        signal = self.context.located(("regulation", "signal"), law, duration_s, seed)
        about, words = {"law": self.law, "seed": seed, "step_s": signal.step_s}, ""
        if self.law == GAUSSIAN:
            std, time_constant_s, _, words = self.normal()
            about |= {"std": std, "time_constant_s": time_constant_s}
        if not self.recorded.names:
            return Played(signal, reach_values(law), about)
        about["file"] = list(self.recorded.names) if len(self.recorded.names) > 1 else self.recorded.names[0]
        days = self.recorded.days
        return Played(signal, reach_values(law), about, days.notes, tuple(days.strangers.values()), words)


def reach_values(law: SignalLaw) -> Floats:
    """Return values of the signal over which the reach of a bid is looked at."""
    return np.concatenate([law(HOUR_S, seed).values for seed in range(REACH_HOURS)])


def _within(what: str, value: float, low: float, high: float) -> float:
    if not low < value < high:
        raise InputError(f"its {what} of {value:g} is none that a Gaussian signal can have; give it yourself")
    return value
