"""Arrivals in campaigns: bursts of jobs of one kind, more by day than by night and on weekdays than at weekends.

Campaigns begin as a Poisson process; each brings a geometric number of jobs, one after another with exponential gaps (a
Neyman–Scott process). All this happens in *operational time*, which runs faster when people work: the expected number
of arrivals in any stretch of real time is the rate times the operational time in it, exactly. Over stretches much
longer than a campaign, the variance of counts over their mean is E[G²]/E[G] = 2 g - 1 for campaigns of g jobs on
average (Poisson: 1).
"""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.units import DAY_S

WEEK_DAYS = 7
SWING, PEAK_S = 0.5, 14 * 3600.0
"""Arrivals swing by this part around their mean over the day, and are highest at two in the afternoon."""

WEEKDAY, WEEKEND = 1.12, 0.7
"""Arrivals on a weekday and on a day of the weekend over the mean of the week."""

BEFORE_S = 14 * DAY_S
"""Campaigns that began so long before the first second may still go on."""

GRID_S = 600.0


def operational_s(until_s: float, first_weekday: int) -> tuple[Floats, Floats]:
    """Return a grid of real times from 0 on and the operational time at each; ``first_weekday`` 0 is a Monday."""
    steps = int(np.ceil(until_s / GRID_S))
    middle = (np.arange(steps) + 0.5) * GRID_S
    weekday = (first_weekday + (middle // DAY_S).astype(np.int64)) % WEEK_DAYS
    pace = np.where(weekday < 5, WEEKDAY, WEEKEND) * (1.0 + SWING * np.cos(2 * np.pi * (middle - PEAK_S) / DAY_S))
    real = np.linspace(0.0, steps * GRID_S, steps + 1)
    return real, np.concatenate([np.zeros(1), np.cumsum(pace * GRID_S)])


def campaign_times(
    random: np.random.Generator, rate_per_s: float, mean_jobs: float, gap_s: float, until_s: float
) -> Floats:
    """Return arrivals in operational time from 0 to ``until_s``, in the order of their campaigns."""
    return campaigns(random, rate_per_s, mean_jobs, gap_s, until_s)[0]


def campaigns(
    random: np.random.Generator, rate_per_s: float, mean_jobs: float, gap_s: float, until_s: float
) -> tuple[Floats, Ints]:
    """Return arrivals in operational time from 0 to ``until_s``, and the campaign (counted from 0) of each."""
    count = int(random.poisson(rate_per_s / mean_jobs * (BEFORE_S + until_s)))
    begin = random.uniform(-BEFORE_S, until_s, count)
    jobs = random.geometric(1.0 / mean_jobs, count)
    gaps = random.exponential(gap_s, int(jobs.sum()))
    first = np.concatenate([[0], np.cumsum(jobs)[:-1]]).astype(np.int64) if count else np.zeros(0, dtype=np.int64)
    gaps[first] = 0.0
    along = np.cumsum(gaps)
    times: Floats = np.repeat(begin - along[first], jobs) + along
    inside = (times >= 0) & (times < until_s)
    return times[inside], np.repeat(np.arange(count), jobs)[inside]
