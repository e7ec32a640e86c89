"""How fast jobs progress under a cap, as the engine computes it: by the linear rule, or along the points of a response.

This is the only code that turns a cap into a speed; ``physics.responses`` says the same for a node outside a run.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel
from wattline.model.state.record import State


@kernel
def capped_rate(draw_w: float, floor_w: float, stretch: float, cap_w: float) -> float:
    """Return the progress rate under a cap.

    Run time grows linearly as power falls: 1 at ``draw_w``, ``stretch`` at ``floor_w`` (the power–time relation of the
    demand-response systems; measured in their tables at both ends).
    """
    if cap_w >= draw_w or floor_w >= draw_w:
        return 1.0
    depth = (draw_w - max(cap_w, floor_w)) / (draw_w - floor_w)
    return 1.0 / (1.0 + (stretch - 1.0) * depth)


@kernel
def stretch_at(s: State, j: int, draw_w: float) -> float:
    """Return run time at a job's lowest power over that at ``draw_w``, which a node of it would draw now.

    A watt less costs the same time whatever the job draws at the moment; where not even its usual power can be lowered
    nothing was measured, and speed is in proportion to power.
    """
    usual_w = s.draw_w[j] if s.shape[j] < 0 else s.asked_draw_w[j]
    if draw_w == usual_w:
        return s.stretch[j]
    floor_w = s.floor_w[j]
    range_w = usual_w - floor_w
    if range_w > 0.0:
        longer_per_w = (s.stretch[j] - 1.0) / range_w
    elif floor_w > 0.0:
        longer_per_w = 1.0 / floor_w
    else:
        longer_per_w = 0.0
    return 1.0 + longer_per_w * max(0.0, draw_w - floor_w)


@kernel
def response_time(s: State, r: int, cap_w: float) -> float:
    """Return run time over the uncapped one at a cap, by the points of a response: straight lines between them."""
    low = s.resp_first[r]
    high = low + s.resp_count[r] - 1
    if cap_w >= s.resp_w[high]:
        return 1.0
    watts = max(cap_w, s.resp_w[low])
    while high - low > 1:
        middle = (low + high) // 2
        if s.resp_w[middle] > watts:
            high = middle
        else:
            low = middle
    depth = (s.resp_w[high] - watts) / (s.resp_w[high] - s.resp_w[low])
    return s.resp_time[high] + (s.resp_time[low] - s.resp_time[high]) * depth


@kernel
def class_rate(s: State, c: int, cap_w: float) -> float:
    """Return the progress rate of the jobs of a rate class under a cap."""
    if s.c_response[c] >= 0:
        return 1.0 / response_time(s, s.c_response[c], cap_w)
    return capped_rate(s.c_draw_w[c], s.c_floor_w[c], s.c_stretch[c], cap_w)


@kernel
def job_response(s: State, j: int) -> int:
    """Return the response of a job, which is its kind's (-1: the linear rule)."""
    if s.resp_first.shape[0] == 0:
        return -1
    return s.k_response[s.kind[j]]


@kernel
def longer_by(s: State, j: int, watts: float) -> float:
    """Return by what part of its uncapped run time a job runs longer at a power of its nodes."""
    r = job_response(s, j)
    if r >= 0:
        return response_time(s, r, watts) - 1.0
    range_w = s.draw_w[j] - s.floor_w[j]
    depth = (s.draw_w[j] - watts) / range_w if range_w > 0.0 else 0.0
    return (s.stretch[j] - 1.0) * depth
