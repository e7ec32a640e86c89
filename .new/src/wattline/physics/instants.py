"""When two times are one instant: sums of times round, and a rounding error must not decide what happens."""

from __future__ import annotations

from wattline.kernel.compiled import kernel

SAME_S = 1e-6
SAME_SHARE = 1e-14
"""Times a microsecond apart, or a few dozen of the least steps of a clock that shows a large time, are one instant."""


@kernel
def slack_s(t_s: float) -> float:
    """Return how far apart two computed times about ``t_s`` may be that mean the same instant."""
    return SAME_S + SAME_SHARE * abs(t_s)
