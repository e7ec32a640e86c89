"""Whatever comes: every sample is good or counted under one fault, however it is cut into windows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.telemetry.cleaning.clean import Cleaner
from wattline.telemetry.cleaning.faults import Fault, Tally
from wattline.telemetry.cleaning.rules import Rules

DROPPED = (
    Fault.NO_TIME,
    Fault.UNKNOWN,
    Fault.AHEAD,
    Fault.CLOCK,
    Fault.TOO_LATE,
    Fault.DUPLICATE,
    Fault.NAN,
    Fault.NEGATIVE,
    Fault.STUCK,
)
TIMES = st.one_of(
    st.integers(0, 60).map(float), st.floats(0, 100), st.sampled_from([np.nan, np.inf, -np.inf, 1e9, -1e9, 1e300])
)
POWERS = st.one_of(st.integers(0, 3).map(float), st.floats(allow_nan=True), st.sampled_from([5.0, -1.0, 1e12]))
SAMPLES = st.lists(st.tuples(st.integers(-1, 3), TIMES, POWERS), min_size=1, max_size=80)


@settings(max_examples=300, deadline=None)
@given(
    SAMPLES, st.integers(1, 50), st.integers(1, 20), st.sampled_from([0.0, 2.0, 20.0]), st.sampled_from([3.0, np.inf])
)
def test_every_sample_is_good_or_counted_once(
    samples: list[tuple[int, float, float]], window: int, piece: int, patience_s: float, stuck_s: float
) -> None:
    """Good samples and dropped ones make up all; stretches are of positive power, in order, and never overlap."""
    tally = Tally("any")
    tally.grow([f"s{i}" for i in range(4)])
    rules = Rules(period_s=1.0, patience_s=patience_s, stuck_s=stuck_s, most_w=1000.0)
    cleaner = Cleaner(rules, tally, window=window)
    code, time_s, power_w = (np.array(column) for column in zip(*samples, strict=True))
    found = []
    for i in range(0, code.size, piece):
        part = slice(i, i + piece)
        found.extend(cleaner.feed(code[part], time_s[part].astype(np.float64), power_w[part].astype(np.float64)))
    found.extend(cleaner.close())
    assert tally.samples == len(samples) == tally.used + sum(tally.total(fault) for fault in DROPPED)
    last = np.full(4, -np.inf)
    for stretches in found:
        assert np.all((stretches.power_w >= 0) & (stretches.power_w <= 1000.0))
        assert np.all(np.diff(stretches.code) >= 0)
        for sensor, begin_s, end_s in zip(stretches.code, stretches.begin_s, stretches.end_s, strict=True):
            assert begin_s >= last[sensor]
            # at far times one and a half seconds are below the resolution
            assert begin_s < end_s <= begin_s + 1.5 * (1 + 1e-6) or abs(begin_s) >= 1e9
            last[sensor] = end_s
    assert sum(s.code.size for s in found) == tally.used
