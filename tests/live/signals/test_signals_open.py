"""All signals of a site together: the lowest limit counts, and nothing is lost over a restart."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Literal

import pytest

from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.signals.open import Signals, SignalSettings
from wattline.live.signals.stale import Change, Rules


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.clock = Clock(wall=lambda: 1000.0, monotonic=lambda: self.now_s - 1000.0)


def test_the_lowest_limit_counts() -> None:
    """Of the site, of what was pushed, of the load targets; a pushed one that is not repeated goes back."""
    said: list[tuple[str, Change]] = []
    settings = SignalSettings(1000.0, least_w=100.0, limit_stale_s=60.0, limit_hold_s=40.0, limit_ramp_s=100.0)
    signals = Signals(settings, Time().clock, lambda what, change: said.append((what, change)))
    assert (signals.now(1000.0).limit_w, signals.now(1000.0).y) == (1000.0, None)
    assert signals.take_message({"limit_w": 600.0}, 1000.5, 1001.0) is None
    assert signals.now(1001.0).limit_w == 600.0
    target = {"id": "a", "start": 1010.0, "end": 1500.0, "percent": 40.0}
    assert signals.take_message({"targets": [target]}, 1001.0, 1001.0) is None
    assert [signals.now(t).limit_w for t in (1009.0, 1010.0, 1499.0)] == [600.0, 400.0, 400.0]
    assert signals.now(1150.5).pushed_limit.value == pytest.approx(800.0)
    assert signals.now(1500.0).limit_w == 1000.0
    assert [(what, change.after) for what, change in said] == [
        ("limit", "fresh"),
        ("limit", "baseline"),
        ("limit", "ramping"),
        ("limit", "baseline"),
    ]
    assert signals.take_message({"limit_w": 50.0}, 1501.0, 1501.0) is None
    assert signals.now(1501.0).limit_w == 1000.0  # below what the machine needs: refused
    assert signals.problems() == {"out-of-range": 1}


@pytest.mark.parametrize("y", ["none", "file"])
def test_a_pushed_signal_that_nobody_follows_is_counted_as_ignored(y: Literal["none", "file"], tmp_path: Path) -> None:
    """Whatever its value; a limit that is pushed counts all the same, and what makes no sense is refused as ever."""
    (tmp_path / "y.csv").write_text("time_s,y\n0,0.5\n2,0.5\n")
    signals = Signals(SignalSettings(1000.0, y=y, file=tmp_path / "y.csv", rules=Rules(back="at once")), Time().clock)
    for value in (0.3, -7.0):
        assert signals.take_message({"y": value}, 1000.0, 1000.0) is None
    assert signals.take_message({"y": "much"}, 1000.0, 1000.0) is not None
    assert signals.take_message({"limit_w": 600.0}, 1000.0, 1000.0) is None
    found = signals.now(1000.0)
    assert (found.limit_w, None if found.y is None else found.y.value) == (600.0, None if y == "none" else 0.5)
    assert signals.problems() == {"ignored": 2, "bad-value": 1}


def test_load_targets_survive_a_restart() -> None:
    """As plain values, through JSON."""
    signals = Signals(SignalSettings(1000.0), Time().clock)
    signals.take_message({"targets": [{"id": "a", "start": 1010.0, "end": 1500.0, "limit_w": 400.0}]}, 1.0, 1001.0)
    again = Signals(SignalSettings(1000.0), Time().clock)
    again.restore(json.loads(json.dumps(signals.to_data())), 1002.0)
    assert again.now(1200.0).limit_w == 400.0
    assert [one.id for one in again.targets()] == ["a"]


def test_a_restart_is_no_gap_in_the_signal() -> None:
    """The value goes on where it was, on its way back too, and falls silent when it would have."""
    settings = SignalSettings(1000.0, y="pushed", rules=Rules(stale_s=10.0, hold_s=10.0, ramp_s=40.0))
    signals = Signals(settings, Time().clock)
    for time_s in range(1000, 1021):
        signals.take_message({"y": 0.8}, float(time_s), float(time_s))
        signals.now(float(time_s))
    again = Signals(settings, Time().clock)
    again.restore(json.loads(json.dumps(signals.to_data())), 1025.0)
    for time_s in (1025.0, 1030.0, 1035.0, 1050.0, 1090.0):
        assert again.now(time_s).y == signals.now(time_s).y
    assert Signals(settings, Time().clock).now(1025.0).y.state == "baseline"  # type: ignore[union-attr]


def test_a_file_is_played_from_now_on_and_ends_as_a_source_that_went_silent(tmp_path: Path) -> None:
    """Until it ends it is fresh, then it is held and led to the baseline."""
    path = tmp_path / "y.csv"
    path.write_text("time_s,y\n" + "".join(f"{2 * k},0.5\n" for k in range(50)))
    rules = Rules(stale_s=10.0, hold_s=10.0, ramp_s=10.0, back="at once")
    signals = Signals(SignalSettings(1000.0, y="file", file=path, rules=rules), Time().clock)
    assert signals.notes == ()
    found = [signals.now(1000.0 + t).y for t in (0.0, 99.0, 112.0, 123.0, 130.0)]
    assert [(one.value, one.state) for one in found if one] == [
        (0.5, "fresh"),
        (0.5, "fresh"),
        (0.5, "held"),
        (0.25, "ramping"),
        (0.0, "baseline"),
    ]
    with pytest.raises(InputError, match="signal: file: is missing"):
        Signals(SignalSettings(1000.0, y="file"), Time().clock)


def test_a_site_with_a_token_has_a_door(tmp_path: Path) -> None:
    """A push by HTTP is followed at the next pass, and what was refused is counted."""
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    token.chmod(0o600)
    rules = Rules(back="at once")
    signals = Signals(SignalSettings(1000.0, y="pushed", rules=rules, token=token, port=0), Time().clock)
    try:
        for body, status in ((b'{"y": 0.5}', 204), (b"{}", 400)):
            caller = http.client.HTTPConnection("127.0.0.1", signals.port, timeout=10)
            caller.request("POST", "/signal", body, {"Authorization": "Bearer 0123456789abcdef"})
            assert caller.getresponse().status == status
            caller.close()
        y = signals.now(1000.0).y
        assert y is not None
        assert (y.value, y.state) == (0.5, "fresh")
        assert signals.problems() == {"malformed": 1}
    finally:
        signals.close()
