"""What the policies that switch between the lowest and the highest speed share."""

from __future__ import annotations

from wattline.kernel.compiled import kernel
from wattline.model.state.record import State


@kernel
def want_speed(s: State, high: bool) -> int:  # kernels take no keywords
    """Ask for the highest or the lowest level of every node class; return 1 if that changes anything.

    Policies remember whether they are high in ``memory[0]``, which is zero at the start: an empty system rests low. A
    run begins at the highest level, and the first call comes before any time has passed.
    """
    changed = 0
    for p in range(s.level.shape[0]):
        level = s.n_levels[p] - 1 if high else 0
        if s.level[p] != level:
            changed = 1
        s.want_level[p] = level
    return changed
