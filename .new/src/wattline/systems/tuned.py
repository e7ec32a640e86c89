"""Policies as the demand-response papers test them: tuned on one hour; and what became of them on other hours."""

from __future__ import annotations

from dataclasses import dataclass

from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.searches.choice import Choice

HOUR_SEED = 30_000
"""The one hour on which everything is tuned, and in the papers tested too."""


@dataclass(frozen=True)
class Tuned:
    """A policy: what it chose on one hour and came to there (``choice``), and on other hours (``others``)."""

    policy: str
    choice: Choice
    others: Outcome

    @property
    def meets(self) -> bool:
        """Whether all constraints hold on the hour it was tuned on."""
        return self.choice.outcome.excess() == 0.0
