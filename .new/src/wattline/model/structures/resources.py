"""Resources of the whole machine: what a job takes of each, as vectors of whole numbers.

``left`` is a vector of the state: ``res_free``, or what a select policy has left of it.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import outlined
from wattline.model.state.record import State


@outlined
def suffice(s: State, j: int, left: Any) -> bool:
    """Tell whether there is enough left of every resource for a job."""
    enough = True
    for r in range(s.res_free.shape[0]):
        enough = enough and s.res_want[j, r] <= left[r]
    return enough


@outlined
def take(s: State, j: int, left: Any) -> None:
    """Let a job take what it wants of every resource."""
    for r in range(s.res_free.shape[0]):
        left[r] -= s.res_want[j, r]


@outlined
def give(s: State, j: int, left: Any) -> None:
    """Let a job give back what it took."""
    for r in range(s.res_free.shape[0]):
        left[r] += s.res_want[j, r]


@outlined
def hold(s: State, j: int) -> None:
    """Let a job that takes its nodes take what it wants of every resource."""
    take(s, j, s.res_free)
    for r in range(s.res_free.shape[0]):
        s.res_used[r] -= s.res_want[j, r] * s.now[0]
        s.res_peak[r] = max(s.res_peak[r], s.res_total[r] - s.res_free[r])


@outlined
def release(s: State, j: int) -> None:
    """Let a job that gives its nodes back give all of it back."""
    give(s, j, s.res_free)
    for r in range(s.res_free.shape[0]):
        s.res_used[r] += s.res_want[j, r] * s.now[0]


@outlined
def begin(s: State) -> None:
    """Let a select policy begin with what is free."""
    for r in range(s.res_free.shape[0]):
        s.res_now[r] = s.res_free[r]
