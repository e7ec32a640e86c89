"""Load targets: the exact limit at any time, against a plain twin."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.live.signals.schedule import MOST, LoadTarget, Schedule

BASE_W = 1000.0


def target(
    name: str = "a", start_s: float = 100.0, end_s: float = 200.0, limit_w: float = 600.0, **more: float
) -> LoadTarget:
    """Return a target."""
    return LoadTarget(name, start_s, end_s, limit_w=limit_w, **more)


def test_a_target_without_a_ramp_is_a_step() -> None:
    """From its start to its end, the end excluded."""
    schedule = Schedule(BASE_W)
    schedule.put(target(), 0.0)
    assert [schedule.limit_at(t) for t in (99.9, 100.0, 199.9, 200.0)] == [1000.0, 600.0, 600.0, 1000.0]
    assert [schedule.next_change_s(t) for t in (0.0, 100.0, 200.0)] == [100.0, 200.0, math.inf]


@pytest.mark.parametrize("ramp", [{"ramp_w_per_s": 20.0}, {"ramp_s": 20.0}])
def test_a_ramp_leads_there_and_back(ramp: dict[str, float]) -> None:
    """400 W in 20 s from the start on, and the same from the end on."""
    schedule = Schedule(BASE_W)
    schedule.put(target(**ramp), 0.0)
    expected = {100.0: 1000.0, 105.0: 900.0, 120.0: 600.0, 200.0: 600.0, 210.0: 800.0, 220.0: 1000.0}
    assert {t: schedule.limit_at(t) for t in expected} == expected
    assert schedule.next_change_s(100.0) == 120.0


def test_a_target_in_per_cent_is_of_the_base() -> None:
    """60 per cent of 1,000 W."""
    schedule = Schedule(BASE_W)
    schedule.put(LoadTarget("a", 100.0, 200.0, percent=60.0), 0.0)
    assert schedule.limit_at(150.0) == 600.0


def test_where_targets_overlap_the_lowest_counts() -> None:
    """Whichever came first."""
    schedule = Schedule(BASE_W)
    schedule.put(target("low", 120.0, 140.0, 300.0), 0.0)
    schedule.put(target("long", 100.0, 200.0, 600.0), 0.0)
    assert [schedule.limit_at(t) for t in (110.0, 130.0, 150.0)] == [600.0, 300.0, 600.0]


def test_a_target_turns_back_where_it_is_when_it_ends_early() -> None:
    """A ramp longer than the target never reaches its limit."""
    schedule = Schedule(BASE_W)
    schedule.put(target(end_s=110.0, ramp_w_per_s=20.0), 0.0)
    assert [schedule.limit_at(t) for t in (110.0, 115.0, 120.0)] == [800.0, 900.0, 1000.0]


def test_cancelling_ends_a_target_now_or_forgets_it() -> None:
    """One that holds goes back along its ramp, one that has not begun is gone, one that is not there is said."""
    schedule = Schedule(BASE_W)
    schedule.put(target(ramp_w_per_s=20.0), 0.0)
    assert schedule.cancel("a", 150.0)
    assert [schedule.limit_at(t) for t in (150.0, 160.0, 170.0)] == [600.0, 800.0, 1000.0]
    assert not schedule.targets()
    assert not schedule.cancel("a", 151.0)
    schedule.put(target("b", 300.0, 400.0), 200.0)
    assert schedule.cancel("b", 250.0)
    assert schedule.limit_at(350.0) == 1000.0


def test_a_changed_target_goes_on_from_where_it_is() -> None:
    """From 600 W to 500 W along the new ramp, without a jump; a late one begins now from the base."""
    schedule = Schedule(BASE_W)
    schedule.put(target(ramp_w_per_s=20.0), 0.0)
    schedule.put(target(limit_w=500.0, ramp_w_per_s=10.0), 150.0)
    assert [schedule.limit_at(t) for t in (150.0, 155.0, 160.0, 210.0)] == [600.0, 550.0, 500.0, 600.0]
    assert [one.limit_w for one in schedule.targets()] == [500.0]
    late = Schedule(BASE_W)
    late.put(target(ramp_w_per_s=20.0), 150.0)
    assert [late.limit_at(t) for t in (149.0, 150.0, 160.0, 170.0)] == [1000.0, 1000.0, 800.0, 600.0]


def test_a_schedule_survives_a_restart() -> None:
    """As JSON and back: the same limit at all times, also of what was cancelled."""
    schedule = Schedule(BASE_W)
    schedule.put(target(ramp_s=20.0), 0.0)
    schedule.put(target("b", 120.0, 300.0, 400.0, ramp_w_per_s=3.0), 0.0)
    schedule.cancel("a", 150.0)
    again = Schedule(BASE_W)
    again.restore(json.loads(json.dumps(schedule.to_data())))
    assert [again.limit_at(t) for t in range(0, 600, 7)] == [schedule.limit_at(t) for t in range(0, 600, 7)]
    with pytest.raises(InputError, match="cannot be read"):
        again.restore({"held": [1]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x\n"},
        {"name": "x" * 65},
        {"start_s": math.nan},
        {"end_s": 100.0},
        {"end_s": math.inf},
        {"limit_w": -1.0},
        {"limit_w": math.nan},
        {"limit_w": 1001.0},
        {"limit_w": 99.0},
        {"percent": 50.0},
        {"ramp_w_per_s": 0.0},
        {"ramp_s": -1.0},
        {"ramp_s": 1.0, "ramp_w_per_s": 1.0},
        {"start_s": 0.0, "end_s": 10.0},
    ],
)
def test_targets_that_make_no_sense_are_refused_in_a_line(wrong: dict[str, object]) -> None:
    """The line names the target; nothing is changed."""
    schedule = Schedule(BASE_W, least_w=100.0)
    with pytest.raises(InputError, match=r"^load target[^\n]*$"):
        schedule.put(target(**wrong), 20.0)  # type: ignore[arg-type]
    assert not schedule.targets()


def test_there_are_only_so_many_targets() -> None:
    """A flood of targets is refused, and changed ones that still go back count too."""
    schedule = Schedule(BASE_W)
    for k in range(MOST):
        schedule.put(target(str(k)), 0.0)
    with pytest.raises(InputError, match="cancel one first"):
        schedule.put(target("more"), 0.0)
    changing = Schedule(BASE_W)

    def change(k: int) -> None:
        """Put a target in the place of one that holds already."""
        changing.put(target(start_s=k + 1.0, end_s=1e5, ramp_s=1e6), k + 0.5)

    for k in range(2 * MOST):
        change(k)
    with pytest.raises(InputError, match="on their way back"):
        change(2 * MOST)


def twin(targets: list[tuple[LoadTarget, float]], time_s: float) -> float:
    """Return the limit by the page's words: each target's way, and the lowest counts. ``targets`` have the time at
    which each came.
    """
    lowest = BASE_W
    for one, came_s in targets:
        begin_s = one.start_s if one.start_s > came_s else came_s
        limit_w = one.limit_w if one.limit_w is not None else BASE_W * one.percent / 100  # type: ignore[operator]

        def fallen(after_s: float, one: LoadTarget = one, limit_w: float = limit_w) -> float:
            if one.ramp_w_per_s is not None:
                return max(limit_w, BASE_W - one.ramp_w_per_s * after_s)
            if one.ramp_s:
                return BASE_W - (BASE_W - limit_w) * min(1.0, after_s / one.ramp_s)
            return limit_w

        if begin_s <= time_s < one.end_s:
            lowest = min(lowest, fallen(time_s - begin_s))
        elif time_s >= one.end_s:
            at_end_w, after_s = fallen(one.end_s - begin_s), time_s - one.end_s
            if one.ramp_w_per_s is not None:
                lowest = min(lowest, at_end_w + one.ramp_w_per_s * after_s)
            elif one.ramp_s:
                lowest = min(lowest, at_end_w + (BASE_W - at_end_w) * min(1.0, after_s / one.ramp_s))
    return lowest


RAMPS = st.sampled_from([{}, {"ramp_w_per_s": 7.0}, {"ramp_w_per_s": 900.0}, {"ramp_s": 13.0}, {"ramp_s": 0.0}])
LIMITS = st.builds(lambda w: {"limit_w": w}, st.floats(0.0, BASE_W)) | st.builds(
    lambda p: {"percent": p}, st.floats(0.0, 100.0)
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.5, 100.0), LIMITS, RAMPS, st.floats(0.0, 50.0)), max_size=6),
    st.lists(st.floats(0.0, 400.0), min_size=1, max_size=10),
)
def test_the_limit_is_the_twins(
    drawn: list[tuple[float, float, dict[str, float], dict[str, float], float]], times: list[float]
) -> None:
    """At all times, for targets that come before or after their start."""
    schedule, held = Schedule(BASE_W), []
    for k, (start_s, long_s, limit, ramp, came_s) in enumerate(sorted(drawn, key=lambda row: row[4])):
        one = LoadTarget(str(k), start_s, start_s + long_s, **limit, **ramp)
        if one.end_s > came_s:
            schedule.put(one, came_s)
            held.append((one, came_s))
    after_s = max((came for _, came in held), default=0.0)
    for time_s in times:
        assert schedule.limit_at(after_s + time_s) == pytest.approx(twin(held, after_s + time_s), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 20.0), st.sampled_from("abc"), st.floats(-20, 20), st.floats(1, 60), st.floats(0, BASE_W)
        ),
        max_size=12,
    )
)
def test_with_ramps_nothing_that_is_said_makes_the_limit_jump(
    steps: list[tuple[float, str, float, float, float]],
) -> None:
    """Added, changed, cancelled: the limit now is the limit just before, and moves no faster than the ramp."""
    schedule, now_s, rate = Schedule(BASE_W), 0.0, 25.0
    for wait_s, name, ahead_s, long_s, limit_w in steps:
        now_s += wait_s
        before_w = schedule.limit_at(now_s)
        if long_s < 10.0:
            schedule.cancel(name, now_s)
        elif now_s + ahead_s + long_s > now_s:
            one = LoadTarget(name, now_s + ahead_s, now_s + ahead_s + long_s, limit_w=limit_w, ramp_w_per_s=rate)
            schedule.put(one, now_s)
        assert schedule.limit_at(now_s) == pytest.approx(before_w, abs=1e-6)
        for k in range(40):
            one_w, other_w = schedule.limit_at(now_s + k), schedule.limit_at(now_s + k + 1)
            assert abs(other_w - one_w) <= rate + 1e-6
            assert 0.0 <= one_w <= BASE_W
