"""A plain learner of power profiles: that of §V of the power-capping paper by its letter, over lists of samples.

Written from docs/learner.md (``t-test-per-job``), not from the learner: means, deviations and tests are those of numpy
and scipy, of all samples at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy import stats

ENOUGH = 20
MAXIMUM = -1


class PlainLearner:
    """Profiles by number: those of keys, and those of groups, which are told apart by their numbers."""

    def __init__(self, deviations: float, *, recover: bool) -> None:
        self.deviations, self.recover = deviations, recover
        self.samples: dict[int, list[float]] = defaultdict(list)
        self.new: dict[int, list[float]] = defaultdict(list)
        """Samples of a running job that are not compared yet."""
        self.high: dict[int, float] = {}
        self.stands_in: dict[int, int] = {}
        """What stands in for a key that was rejected: a group, or the maximum."""

    def high_of(self, samples: Sequence[float]) -> float:
        """Return the high power of samples."""
        return float(np.mean(samples) + self.deviations * np.std(samples, ddof=1))

    def sampled(self, job: int, key: int, groups: Sequence[int], watts: float) -> None:
        """Take a sample of a running job in."""
        for group in groups:
            self.samples[group].append(watts)
        self.new[job].append(watts)
        if len(self.new[job]) == ENOUGH:
            self._compare(key, groups, self.new[job])
            self.ended(job, key)

    def ended(self, job: int, key: int) -> None:
        """Let what a job has not compared yet join the older samples of its key."""
        self.samples[key] += self.new.pop(job, [])
        if key not in self.high and len(self.samples[key]) >= ENOUGH:
            self.high[key] = self.high_of(self.samples[key])

    def _compare(self, key: int, groups: Sequence[int], new: Sequence[float]) -> None:
        if len(self.samples[key]) < ENOUGH:
            return
        if not differ(new, self.samples[key]):
            if self.recover and key in self.stands_in:
                del self.stands_in[key], self.high[key]
            return
        alike = [g for g in groups if len(self.samples[g]) >= ENOUGH and not differ(new, self.samples[g])]
        self.stands_in[key] = alike[0] if alike else MAXIMUM
        if self.recover:
            self.samples[key] = []

    def told(self, key: int, groups: Sequence[int], most_w: float) -> float:
        """Return what admission counts with for a job of a key."""
        if key in self.high:
            if key not in self.stands_in:
                return min(self.high[key], most_w)
            group = self.stands_in[key]
            return most_w if group == MAXIMUM else min(self.high_of(self.samples[group]), most_w)
        known = [group for group in groups if len(self.samples[group]) >= ENOUGH]
        return min(self.high_of(self.samples[known[0]]), most_w) if known else most_w


def differ(one: Sequence[float], other: Sequence[float]) -> bool:
    """Tell whether two samples differ by the pooled two-sided t-test at 99 %."""
    if np.ptp(one) == 0.0 and np.ptp(other) == 0.0:
        return bool(one[0] != other[0])
    return bool(stats.ttest_ind(one, other, equal_var=True).pvalue < 0.01)
