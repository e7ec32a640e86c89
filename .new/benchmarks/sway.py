"""A cap policy that moves every cap at every tick, as following a regulation signal would."""

from __future__ import annotations

from typing import Any

from wattline import policy
from wattline.model.state.record import State


@policy("cap", wake="tick", compiled=True, caps=True)
def sway(s: State, mask: int, param: Any, memory: Any) -> int:  # the one policy signature
    """Move the cap of every class along a triangle between its floor and its full power, with a period of a minute."""
    phase = (s.now[0] - s.start_s[0]) % 60.0 / 30.0
    share = phase if phase <= 1.0 else 2.0 - phase
    for i in range(s.n_active[0]):
        c = s.active[i]
        s.want_cap_w[c] = s.c_floor_w[c] + share * (s.c_draw_w[c] - s.c_floor_w[c])
    return 1
