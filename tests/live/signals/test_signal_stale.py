"""A signal is aged: held, led to the baseline, and taken up again; nonsense is refused and counted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.live.signals.base import Sample
from wattline.live.signals.stale import Change, Now, Rules, Trusted

RULES = Rules(stale_s=10.0, hold_s=20.0, ramp_s=40.0)


class Said:
    """A source that says what it is told."""

    def __init__(self) -> None:
        self.sample: Sample | None = None

    def last(self, now_s: float) -> Sample | None:
        """Return what it was told."""
        return self.sample

    def problems(self) -> dict[str, int]:
        """Return one problem of its own."""
        return {"malformed": 1}

    def close(self) -> None:
        """Nothing."""


def trusted(rules: Rules = RULES, at_s: float = 0.0, value: float = 0.8) -> Trusted:
    """Return a signal whose value has been taken up entirely, and was said last at a time."""
    made = Trusted(Said(), rules)
    assert made.take(Sample(value, at_s - rules.ramp_s), at_s - rules.ramp_s) is None
    for k in range(1, 9):  # often enough not to be stale
        time_s = at_s - rules.ramp_s * (1 - k / 8)
        assert made.take(Sample(value, time_s), time_s) is None
    return made


def test_a_silent_signal_is_held_then_led_to_the_baseline() -> None:
    """Fresh until stale_s, held for hold_s, then straight to the baseline in ramp_s; exact at each time."""
    made = trusted()
    expected = {
        0.0: (0.8, "fresh"),
        10.0: (0.8, "fresh"),
        10.5: (0.8, "held"),
        30.0: (0.8, "held"),
        40.0: (0.6, "ramping"),
        50.0: (0.4, "ramping"),
        70.0: (0.0, "baseline"),
        1e6: (0.0, "baseline"),
    }
    for time_s, (value, state) in expected.items():
        found = made.at(time_s)
        assert (found.value, found.state, found.age_s) == (pytest.approx(value), state, time_s)


def test_before_the_first_sample_there_is_the_baseline() -> None:
    """Nobody has said anything: the baseline, and an endless age; the first sample is ramped to."""
    made = Trusted(Said(), RULES)
    assert made.at(5.0) == Now(0.0, math.inf, "baseline")
    made.take(Sample(0.8, 5.0), 5.0)
    assert made.at(5.0) == Now(0.0, 0.0, "ramping")
    assert made.at(10.0).value == pytest.approx(0.1)


def test_each_change_of_state_is_said_once() -> None:
    """An event tells state before and after, value and age."""
    said: list[Change] = []
    source = Said()
    made = Trusted(source, Rules(stale_s=10.0, hold_s=20.0, ramp_s=40.0, back="at once"), said.append)
    for time_s in range(100, 300):
        source.sample = Sample(0.5, 100.0) if time_s < 250 else Sample(-0.5, float(time_s))
        made.now(float(time_s))
    assert [(c.time_s, c.before, c.after) for c in said] == [
        (100.0, "baseline", "fresh"),
        (111.0, "fresh", "held"),
        (131.0, "held", "ramping"),
        (170.0, "ramping", "baseline"),
        (250.0, "baseline", "fresh"),
    ]
    assert said[3].value == 0.0
    assert said[-1].value == -0.5
    assert made.problems() == {"malformed": 1}


def test_a_signal_that_comes_back_is_ramped_to_or_taken_at_once() -> None:
    """From the baseline to the new value in ramp_s, through values that change meanwhile; or at once."""
    made = trusted()
    made.take(Sample(-1.0, 100.0), 100.0)
    assert made.at(100.0) == Now(0.0, 0.0, "ramping")
    made.take(Sample(-1.0, 110.0), 110.0)
    made.take(Sample(-0.5, 120.0), 120.0)
    assert made.at(120.0).value == pytest.approx(-0.5)  # half the way to -1.0
    made.take(Sample(1.0, 130.0), 130.0)
    before = made.at(130.0).value
    assert before == pytest.approx(-0.5)
    assert made.at(135.0).value == pytest.approx(0.25)
    assert made.at(140.0) == Now(1.0, 10.0, "fresh")
    at_once = trusted(Rules(stale_s=10.0, hold_s=20.0, ramp_s=40.0, back="at once"))
    at_once.take(Sample(-1.0, 100.0), 100.0)
    assert at_once.at(100.0) == Now(-1.0, 0.0, "fresh")


def test_a_signal_that_comes_back_while_held_was_never_left() -> None:
    """A held value goes on with the next sample at once."""
    made = trusted()
    made.take(Sample(0.7, 25.0), 25.0)
    assert made.at(25.0) == Now(0.7, 0.0, "fresh")


def test_a_way_back_that_was_cut_off_is_set_out_on_again() -> None:
    """Silent again before it arrived: held where it was, and the next sample begins there."""
    made = trusted()
    made.take(Sample(0.8, 100.0), 100.0)
    held = made.at(115.0)
    assert (held.value, held.state) == (pytest.approx(0.2), "held")
    made.take(Sample(0.8, 120.0), 120.0)
    assert made.at(120.0) == Now(held.value, 0.0, "ramping")


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (Sample(math.nan, 5.0), "not-a-number"),
        (Sample(math.inf, 5.0), "not-a-number"),
        (Sample(0.5, math.nan), "not-a-number"),
        (Sample(1.01, 5.0), "out-of-range"),
        (Sample(0.5, 8.0), "of-the-future"),
        (Sample(0.5, -1.0), "out-of-order"),
        (Sample(0.5, 0.0), "out-of-order"),
    ],
)
def test_nonsense_is_refused_and_counted_once(sample: Sample, reason: str) -> None:
    """A refused sample changes nothing, however often it is seen."""
    made = trusted()
    for now_s in (5.0, 5.1, 5.2):
        made.take(sample, now_s)
    assert made.problems() == {"malformed": 1, reason: 1}
    assert made.at(5.2).value == 0.8
    assert made.take(Sample(0.75, 5.3), 5.3) is None
    assert made.at(5.3) == Now(0.75, 0.0, "fresh")


def test_a_sample_that_comes_too_late_is_refused() -> None:
    """One that is stale when it comes does not start anything."""
    made = trusted()
    assert made.take(Sample(0.5, 50.0), 61.0) == "too-old"
    assert made.at(70.0) == Now(0.0, 70.0, "baseline")


def test_a_sample_slightly_of_the_future_counts_as_of_now() -> None:
    """A clock that is ahead by less than future_s does not make samples younger than new."""
    made = trusted()
    assert made.take(Sample(0.5, 6.5), 5.0) is None
    assert made.at(15.0).state == "fresh"
    assert made.at(15.1).state == "held"


def test_jumps_are_limited_or_refused_until_confirmed() -> None:
    """Limited: each sample moves so far. Refused: until three samples in a row agree."""
    limited = trusted(Rules(ramp_s=40.0, jump=0.5, hold_s=20.0))
    for time_s, value in ((1.0, 0.3), (2.0, -0.2), (3.0, -0.7), (4.0, -0.8)):
        limited.take(Sample(-0.8, time_s), time_s)
        assert limited.at(time_s).value == pytest.approx(value)
    assert limited.problems()["jump"] == 3
    refused = trusted(Rules(ramp_s=40.0, jump=0.5, jumps="refuse", hold_s=20.0))
    said = [refused.take(Sample(-0.8, float(t)), float(t)) for t in (1, 2, 3)]
    assert said == ["jump", "jump", None]
    assert refused.at(3.0).value == -0.8
    assert refused.take(Sample(0.8, 4.0), 4.0) == "jump"
    assert refused.take(Sample(-0.7, 5.0), 5.0) is None
    assert refused.take(Sample(0.8, 6.0), 6.0) == "jump"


def test_what_was_kept_is_taken_up_only_if_it_makes_sense() -> None:
    """Values out of range, times of the future and what is no number are passed over."""
    made = trusted()
    kept = made.to_data()
    assert Trusted(Said(), RULES).to_data() == {}
    for wrong in (
        {"value": 3.0},
        {"time_s": 6.0},
        {"said_s": 9.0},
        {"from": -2.0},
        {"value": None},
        {"until_s": math.nan},
    ):
        fresh = Trusted(Said(), RULES)
        fresh.restore({**kept, **wrong}, 5.0)
        assert fresh.at(5.0) == Now(0.0, math.inf, "baseline")
    late = Trusted(Said(), RULES)
    late.restore({**kept, "until_s": 1e9}, 5.0)
    assert late.at(5.0) == Now(0.8, 5.0, "fresh")
    assert late.take(Sample(0.1, -1.0), 5.0) == "out-of-order"


@pytest.mark.parametrize(
    "wrong",
    [
        {"least": 1.0},
        {"baseline": 2.0},
        {"most": math.inf},
        {"stale_s": 0.0},
        {"hold_s": -1.0},
        {"ramp_s": math.nan},
        {"jump": 0.0},
        {"confirm": 0},
        {"back": "never"},
    ],
)
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    """In one line that names the rule."""
    with pytest.raises(InputError, match=r"^signal: [^\n]*$"):
        Rules(**wrong)  # type: ignore[arg-type]


SAMPLES = st.lists(
    st.tuples(
        st.floats(0.0, 30.0),
        st.floats(-3.0, 3.0) | st.sampled_from([math.nan, math.inf, -math.inf]),
        st.floats(-20.0, 5.0),
    ),
    max_size=12,
)
DRAWN = st.builds(
    Rules,
    baseline=st.floats(-1.0, 1.0),
    stale_s=st.floats(0.1, 10.0),
    hold_s=st.floats(0.0, 10.0),
    ramp_s=st.just(0.0) | st.floats(0.1, 20.0),
    back=st.sampled_from(["ramp", "at once"]),
    jump=st.just(math.inf) | st.floats(0.01, 2.0),
    jumps=st.sampled_from(["limit", "refuse"]),
)


@settings(max_examples=60, deadline=None)
@given(DRAWN, SAMPLES, st.lists(st.floats(0.0, 40.0), max_size=5))
def test_whatever_comes_the_value_stays_within_its_range(
    rules: Rules, samples: list[tuple[float, float, float]], looks: list[float]
) -> None:
    """Never outside [least, most], and what is seen does not depend on how often one looks."""
    often, seldom = Trusted(Said(), rules), Trusted(Said(), rules)
    now_s = 0.0
    for wait_s, value, late_s in samples:
        for look_s in sorted(min(look, wait_s) for look in looks):
            assert rules.least <= often.now(now_s + look_s).value <= rules.most
        now_s += wait_s
        for made in (often, seldom):
            made.take(Sample(value, now_s + late_s), now_s)
        assert often.at(now_s) == seldom.at(now_s)
    for look_s in looks:
        assert rules.least <= often.at(now_s + look_s).value <= rules.most


@settings(max_examples=60, deadline=None)
@given(DRAWN, SAMPLES, st.floats(0.0, 60.0))
def test_without_new_samples_the_value_is_continuous(
    rules: Rules, samples: list[tuple[float, float, float]], after_s: float
) -> None:
    """Between samples it moves no faster than a ramp over the whole range; coming back by ramp is continuous too."""
    made = Trusted(Said(), rules)
    now_s, tiny_s = 0.0, 1e-4
    for wait_s, value, late_s in samples:
        now_s += wait_s
        before = made.at(now_s)
        taken = made.take(Sample(value, now_s + late_s), now_s)
        after = made.at(now_s)
        if rules.back == "ramp" and rules.ramp_s > 0 and before.state in ("ramping", "baseline") and taken is None:
            assert after.value == pytest.approx(before.value, abs=1e-9)
    if rules.ramp_s > 0.0:
        one, other = made.at(now_s + after_s), made.at(now_s + after_s + tiny_s)
        if made._until_s <= now_s + after_s or made._until_s - made._from_s >= rules.ramp_s:  # a whole way
            assert abs(other.value - one.value) <= 2.0 * tiny_s / rules.ramp_s + 1e-9
