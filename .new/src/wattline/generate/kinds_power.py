"""Power and time of a kind of job at the highest and the lowest cap: observed among its jobs, or by the stated
model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.generate.cap_model import CapModel
from wattline.model.jobs import JobTable

LEAST_MEASURED = 5
"""Jobs with power that a kind needs before their range stands for what caps can do."""


@dataclass(frozen=True)
class Profile:
    """A kind's power uncapped and at the lowest cap, the run time there over that uncapped, and where they come from.

    ``observed``: the ends were seen in the log. ``bent``: the slowdown seen was no slowdown, or more than power could
    explain.
    """

    draw_w: float
    floor_w: float
    stretch: float
    source: str
    observed: bool = False
    bent: bool = False


def fit_profile(name: str, jobs: JobTable, rows: Ints, power: str, trim: float, model: CapModel) -> Profile:
    """Return the profile of a kind from the power and run time of each of its jobs, which are these rows.

    Jobs that say themselves what caps do to them (``floor_w`` and ``stretch`` of a table) are believed; a mean weighted
    by node-hours keeps the energy of the log.
    """
    draw_w, floor_w, stretch = jobs.draw_w[rows], jobs.floor_w[rows], jobs.stretch[rows]
    time_s = jobs.work_s[rows]
    node_s = jobs.nodes[rows] * time_s
    if np.isfinite(draw_w + floor_w + stretch).all():
        means = [float(np.average(v, weights=node_s)) for v in (draw_w, np.minimum(floor_w, draw_w), stretch)]
        return Profile(means[0], min(means[1], means[0]), max(means[2], 1.0), "given")
    known = np.isfinite(draw_w) & (draw_w > 0)
    if power == "observed" and known.sum() >= LEAST_MEASURED:
        return _observed(draw_w[known], time_s[known], trim)
    if known.any():
        mean_w = float(np.average(draw_w[known], weights=node_s[known]))
        return Profile(mean_w, model.floor(mean_w), model.stretch(mean_w), f"mean, {model.name}")
    drawn_w = model.draw(name)
    return Profile(drawn_w, model.floor(drawn_w), model.stretch(drawn_w), model.name)


def _observed(power_w: Floats, time_s: Floats, trim: float) -> Profile:
    """Return the range of power among the jobs, and the slowdown of the line through their run times.

    The line is T(p) = T_min (1 + (stretch - 1) (p_max - p) / (p_max - p_min)) by least squares. A cap makes no job
    faster, and none slower than in proportion to power: what the fit says beyond that comes from jobs that are not
    alike.
    """
    low_w, high_w = (float(v) for v in np.quantile(power_w, (trim, 1.0 - trim), method="nearest"))
    if not low_w < high_w:
        return Profile(high_w, high_w, 1.0, "observed", observed=True)
    depth = (high_w - np.clip(power_w, low_w, high_w)) / (high_w - low_w)
    centred = depth - depth.mean()
    slope_s = float(np.dot(centred, time_s) / np.dot(centred, centred))
    shortest_s = float(time_s.mean()) - slope_s * float(depth.mean())
    most = high_w / low_w
    raw = (shortest_s + slope_s) / shortest_s if shortest_s > 0 else np.inf
    stretch = min(max(raw, 1.0), most)
    return Profile(high_w, low_w, stretch, "observed", observed=True, bent=stretch != raw)
