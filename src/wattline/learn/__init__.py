"""Estimates: what a job will take and draw, sharpened by what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wattline.model.mechanism import Mechanism


def builtin() -> list[Mechanism]:
    """Return all built-in learners."""
    from wattline.learn import estimates, pooled, profiles, quantile, t_test

    return [
        estimates.request, estimates.exact, estimates.recent,
        profiles.known, profiles.maximum, profiles.oracle, t_test.t_test, quantile.quantile, pooled.pooled,
    ]  # fmt: skip
