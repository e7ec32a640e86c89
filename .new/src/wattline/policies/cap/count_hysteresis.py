"""Hysteretic switching by the number of jobs in the system."""

from __future__ import annotations

from typing import Any

from wattline.model.codes import ARRIVAL, END, NODE
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.policies.cap.levels import want_speed


@mechanism(
    "cap",
    "count-hysteresis",
    levels=True,
    wake=ARRIVAL | END | NODE,
    memory=Memory(fixed=1),
    ordered=(("k_low", "k_high"),),
    params={
        "k_low": Param(None, "lowest speed when this many jobs, or fewer, are in the system", low=0),
        "k_high": Param(None, "highest speed when more jobs than this are in the system (inf: never)", low=0),
    },
    source="recursion model, §III-A",
)
def count_hysteresis(s: State, mask: int, param: Any, memory: Any) -> int:  # the one policy signature
    """Lowest speed at k_low jobs or fewer, highest above k_high jobs, unchanged in between."""
    present = s.q_len[0] + s.n_running[0]
    high = memory[0] != 0.0
    if present <= param[0]:
        high = False
    elif present > param[1]:
        high = True
    memory[0] = 1.0 if high else 0.0
    return want_speed(s, high)
