"""What events of OpenADR mean: shares, watts, levels, ramps, and what the site opts out of."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.live.signals.adr_events import AdrRules, created_s, judge, prefix_of
from wattline.live.signals.pushed import Pushed
from wattline.live.signals.schedule import Schedule

NOW_S = 1_800_000_000.0
RULES = AdrRules(10_000.0, 3_000.0, {1: 8_500.0, 2: 7_000.0, 3: 5_000.0})


def at(seconds: float) -> datetime:
    """Return a time some seconds from now."""
    return datetime.fromtimestamp(NOW_S + seconds, UTC)


def signal(name: str, kind: str, *values: float, each_s: float = 600.0, **more: Any) -> dict[str, Any]:
    """Return a signal whose intervals follow one another."""
    rows = [{"uid": k, "duration": timedelta(seconds=each_s), "signal_payload": v} for k, v in enumerate(values)]
    return {"signal_name": name, "signal_type": kind, "signal_id": "s", "intervals": rows, **more}


def event(*signals: dict[str, Any], status: str = "far", start_s: float = 60.0, **more: Any) -> dict[str, Any]:
    """Return an event as openleadr reads it."""
    return {
        "event_descriptor": {"event_id": "e1", "modification_number": 2, "event_status": status, "test_event": False},
        "active_period": {"dtstart": at(start_s), "duration": timedelta(seconds=1200), **more},
        "event_signals": list(signals),
        "response_required": "always",
    }


def limits(found: dict[str, Any], rules: AdrRules = RULES) -> tuple[str, list[float | None], str]:
    """Return opt, watts and the reason."""
    judged = judge(found, rules, NOW_S)
    return judged.opt, [target.limit_w for target in judged.targets], judged.why


KILO = {"measurement": {"name": "powerReal", "unit": "W", "scale": "k"}}


@pytest.mark.parametrize(
    ("found", "watts"),
    [
        (signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7, 0.5), [7_000.0, 5_000.0]),
        (signal("LOAD_CONTROL", "x-loadControlSetpoint", 6_500.0), [6_500.0]),
        (signal("LOAD_CONTROL", "x-loadControlSetpoint", 6.5, **KILO), [6_500.0]),
        (signal("LOAD_DISPATCH", "setpoint", 4.0, **KILO), [4_000.0]),
        (signal("SIMPLE", "level", 1.0, 0.0, 3.0), [8_500.0, 5_000.0]),
        (signal("simple", "level", 2.0), [7_000.0]),
    ],
)
def test_signals_that_are_understood(found: dict[str, Any], watts: list[float]) -> None:
    """Shares are of the site's own limit, watts may have a scale, levels are those of the table; 0 is no limit."""
    assert limits(event(found))[:2] == ("optIn", watts)


def test_a_difference_needs_a_baseline() -> None:
    """A delta or a multiplier is of what the site would draw, which only the site can say."""
    for kind, value in (("delta", -2_000.0), ("multiplier", 0.75)):
        found = event(signal("LOAD_DISPATCH", kind, value))
        assert limits(found) == ("optOut", [], "not-understood")
        assert limits(found, AdrRules(10_000.0, baseline_w=8_000.0)) == ("optIn", [6_000.0], "")


def test_opting_out() -> None:
    """The site opts out of less than it needs, of what it does not understand, and of all where it is told so."""
    low = signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7, 0.29)
    assert limits(event(low)) == ("optOut", [], "below-least")
    price = signal("ELECTRICITY_PRICE", "price", 0.3)
    assert limits(event(price)) == ("optOut", [], "not-understood")
    assert limits(event(signal("SIMPLE", "level", 1.0)), AdrRules(10_000.0)) == ("optOut", [], "not-understood")
    assert limits(event(signal("LOAD_CONTROL", "x-loadControlCapacity", math.nan))) == ("optOut", [], "bad-value")
    energy = {"measurement": {"name": "energyReal", "unit": "Wh", "scale": "k"}}
    assert limits(event(signal("LOAD_DISPATCH", "setpoint", 4.0, **energy))) == ("optOut", [], "not-understood")
    fine = event(signal("SIMPLE", "level", 1.0))
    assert limits(fine, AdrRules(10_000.0, levels_w={1: 5e3}, take=False)) == ("optOut", [], "told-so")
    assert limits({"event_descriptor": {}}) == ("optOut", [], "malformed")


def test_events_that_ask_for_nothing() -> None:
    """Cancelled, completed and test events, and limits above the site's own, are opted in and limit nothing."""
    fine = signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7)
    for status in ("cancelled", "completed"):
        assert limits(event(fine, status=status)) == ("optIn", [], status)
    test = event(fine)
    test["event_descriptor"]["test_event"] = True
    assert limits(test) == ("optIn", [], "test")
    assert limits(event(signal("LOAD_CONTROL", "x-loadControlCapacity", 1.2))) == ("optIn", [], "no-limit")
    assert limits(event(fine, start_s=-1200.0)) == ("optIn", [], "no-limit")


def test_a_simple_level_beside_a_load_is_not_used() -> None:
    """VTNs add SIMPLE for simple nodes; who understands the load goes by that."""
    both = event(signal("SIMPLE", "level", 3.0), signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7))
    assert limits(both) == ("optIn", [7_000.0], "")


def test_the_ramp_ends_at_the_start_and_the_recovery_begins_at_the_end() -> None:
    """Between two intervals the limit goes straight from one to the next, without a bump."""
    steps = event(
        signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7, 0.5),
        start_s=60.0,
        ramp_up=timedelta(seconds=30),
        recovery=timedelta(seconds=100),
    )
    pushed = Pushed(Schedule(10_000.0, least_w=3_000.0))
    judged = judge(steps, RULES, NOW_S)
    pushed.replace_targets(prefix_of("e1"), judged.targets, NOW_S)
    told = [pushed.limit_at(NOW_S + t) for t in (30.0, 45.0, 60.0, 600.0, 660.0, 1259.9, 1310.0, 1360.0)]
    assert told == pytest.approx([10_000.0, 8_500.0, 7_000.0, 7_000.0, 5_000.0, 5_000.0, 7_500.0, 10_000.0])
    levels = [pushed.limit_at(NOW_S + t) for t in range(30, 661)]
    assert all(a >= b for a, b in itertools.pairwise(levels))


def test_an_event_without_an_end() -> None:
    """It ends after the longest time that the file allows."""
    endless = event(signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7, each_s=0.0))
    endless["active_period"]["duration"] = timedelta(0)
    (target,) = judge(endless, AdrRules(10_000.0, longest_s=3600.0), NOW_S).targets
    assert (target.start_s - NOW_S, target.end_s - NOW_S) == (60.0, 3660.0)


def test_an_event_that_is_told_again_goes_on() -> None:
    """The same event in the middle of its ramp changes nothing; a changed one goes on from where it is."""
    fine = event(signal("LOAD_CONTROL", "x-loadControlCapacity", 0.5), start_s=100.0, ramp_up=timedelta(seconds=100))
    pushed = Pushed(Schedule(10_000.0))
    for t in (0.0, 20.0, 40.0):
        pushed.replace_targets("adr:e1:", judge(fine, RULES, NOW_S + t).targets, NOW_S + t)
    assert pushed.limit_at(NOW_S + 50.0) == pytest.approx(7_500.0)
    pushed.replace_targets("adr:e1:", (), NOW_S + 50.0)
    assert pushed.targets() == []
    assert pushed.limit_at(NOW_S + 51.0) == 10_000.0


def test_times_follow_a_clock_that_was_set() -> None:
    """Events are told by the wall's clock; where that was set since the start, the machine's clock was not."""
    fine = event(signal("LOAD_CONTROL", "x-loadControlCapacity", 0.5), start_s=100.0)
    (target,) = judge(fine, RULES, NOW_S, ahead_s=30.0).targets
    assert target.start_s == NOW_S + 70.0
    fine["event_descriptor"]["created_date_time"] = at(5.0)
    assert created_s(fine) == NOW_S + 5.0
    assert math.isnan(created_s({}))


def test_ids_of_any_length() -> None:
    """Ids of events may be longer than those of load targets, or hold what ours may not."""
    assert prefix_of("e1") == "adr:e1:"
    long = prefix_of("x" * 300)
    assert len(long) < 40
    assert prefix_of("a:b") != prefix_of("a")


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.just(at(0.0)) | st.just(timedelta(seconds=9)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["event_id", "dtstart", "duration", "intervals", "signal_payload", "signal_name"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.sampled_from(["event_descriptor", "active_period", "event_signals"]), JUNK)
def test_whatever_comes_is_answered(part: str, junk: Any) -> None:
    """An event with a part that makes no sense is opted out of or limits nothing that it should not; none raises."""
    found = event(signal("LOAD_CONTROL", "x-loadControlCapacity", 0.7)) | {part: junk}
    judged = judge(found, RULES, NOW_S)
    assert judged.opt == "optOut" or all(3_000.0 <= (target.limit_w or 0.0) < 10_000.0 for target in judged.targets)
