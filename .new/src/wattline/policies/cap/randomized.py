"""Randomized switching: coins decide at arrivals whether to speed up and at departures whether to slow down."""

from __future__ import annotations

from typing import Any

from wattline.model.codes import ARRIVAL, END
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.physics.random import CAP_COINS, uniform
from wattline.policies.cap.levels import want_speed


@mechanism(
    "cap",
    "randomized",
    levels=True,
    wake=ARRIVAL | END,
    memory=Memory(fixed=2),
    params={
        "p_low": Param(None, "probability of the lowest speed after a departure", 0, 1),
        "p_high": Param(None, "probability of the highest speed after an arrival", 0, 1),
    },
    source="recursion model, eq. 5",
)
def randomized(s: State, mask: int, param: Any, memory: Any) -> int:
    """Lowest and highest speed by coins: p_high at arrivals, p_low at departures.

    One uniform an event, in the order of events; under ``ties = instant`` one for all departures of an instant and one
    for all its arrivals.
    """
    seed = int(param[param.shape[0] - 1])
    high = memory[0] != 0.0
    if mask & END:
        if uniform(seed, CAP_COINS, int(memory[1])) < param[0]:
            high = False
        memory[1] += 1.0
    if mask & ARRIVAL:
        if uniform(seed, CAP_COINS, int(memory[1])) < param[1]:
            high = True
        memory[1] += 1.0
    memory[0] = 1.0 if high else 0.0
    return want_speed(s, high)
