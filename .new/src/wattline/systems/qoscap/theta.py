"""Days of Theta (4,392 nodes, Argonne) from its public job log: real arrivals, kinds by user and size, power by a
stated model.

The log has neither job names nor power: nodes are taken to idle at 90 W and to draw 240 W ± 15 % by kind, and what caps
do follows the ``linear-cap`` model. Arrival rates are those of the log up to the measured day.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from wattline.bidding.hours.days import Days
from wattline.errors import InputError
from wattline.formats.jobs.swf.read import read_swf
from wattline.generate.cap_model import CapModel
from wattline.generate.kinds_from_log import KindRules, find_kinds
from wattline.reading.notes import Trace
from wattline.systems.at_hand import data_file
from wattline.systems.qoscap.cases import AFTER_DAYS, THETA, WARM_DAYS, machine, stretch
from wattline.units import DAY_S

LOG = "swf/ALCF-Theta-2023H1_norm.swf.gz"
NODES, IDLE_W, BUSY_W, MAX_W = 4392, 90.0, 240.0, 340.0
FIRST_DAY, APART_DAYS = 60, 14
"""Where the first stretch begins in the log, and how far apart others are."""


@lru_cache(maxsize=1)
def _log() -> Trace:
    path = data_file(LOG)
    if path is None:
        raise InputError(f"no log of Theta at hand: set WATTLINE_DATA to a folder with {LOG}")
    return read_swf(path)


def theta_days(seed: int) -> Days:
    """Return a stretch of the log, the seed's: four days, the measured one, three after it."""
    begin_s = (FIRST_DAY + APART_DAYS * (seed - 1)) * DAY_S
    measured_s, end_s = begin_s + WARM_DAYS * DAY_S, begin_s + (WARM_DAYS + 1 + AFTER_DAYS) * DAY_S
    rules = KindRules(average=True, power="model", model=CapModel(IDLE_W, BUSY_W), until_s=measured_s)
    found = find_kinds(_log(), rules)
    kinds = tuple(row.kind for row in found.rows)
    jobs = found.trace.jobs
    inside = jobs.take(np.flatnonzero((jobs.submit_s >= begin_s) & (jobs.submit_s < end_s)))
    inside = inside.with_columns(submit_s=inside.submit_s - begin_s, after=np.full(len(inside), -1))
    return stretch(THETA, kinds, inside, machine(kinds, NODES, IDLE_W, MAX_W), seed)
