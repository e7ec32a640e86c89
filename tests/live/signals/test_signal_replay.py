"""A recorded signal is played again exactly."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.live.signals.base import Sample
from wattline.live.signals.file import Replay, read_replay


def test_values_hold_for_a_step_each_and_there_is_none_before_the_start() -> None:
    """Each value holds from its time on; the last stays, and grows old."""
    replay = Replay([0.1, -0.2, 0.3], start_s=1000.0, step_s=2.0)
    assert replay.last(999.9) is None
    assert replay.last(1000.0) == Sample(0.1, 1000.0)
    assert replay.last(1003.99) == Sample(-0.2, 1002.0)
    assert replay.last(9999.0) == Sample(0.3, 1004.0)
    assert replay.ends_s() == 1006.0


def test_a_loop_begins_again_after_its_last_step() -> None:
    """Over and over, with the times of the present round."""
    replay = Replay([0.1, -0.2], start_s=10.0, step_s=2.0, loop=True)
    assert [replay.last(10.0 + t) for t in (0, 2, 4, 4001.0)] == [
        Sample(0.1, 10.0),
        Sample(-0.2, 12.0),
        Sample(0.1, 14.0),
        Sample(0.1, 4010.0),
    ]
    assert replay.ends_s() == math.inf


def test_values_with_times_of_their_own() -> None:
    """Times may be uneven."""
    replay = Replay([5.0, 6.0, 7.0], start_s=100.0, times_s=[0.0, 1.0, 10.0], length_s=20.0, loop=True)
    assert [replay.last(t) for t in (100.5, 101.0, 109.9, 110.0, 120.0)] == [
        Sample(5.0, 100.0),
        Sample(6.0, 101.0),
        Sample(6.0, 101.0),
        Sample(7.0, 110.0),
        Sample(5.0, 120.0),
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.floats(0.01, 10.0), st.floats(0.0, 1e4), st.floats(0, 2e9), st.booleans())
def test_the_sample_is_the_last_that_is_not_of_the_future(
    count: int, step_s: float, after_s: float, start_s: float, loop: bool
) -> None:
    """Whatever rounding does: the sample's time is not after now, and the next one's is."""
    replay = Replay(list(range(count)), start_s=start_s, step_s=step_s, loop=loop)
    now_s = start_s + after_s
    found = replay.last(now_s)
    assert found is not None
    assert found.time_s <= now_s
    if loop:
        assert now_s < found.time_s + step_s * (1 + 1e-9) + 1e-6
    else:
        assert int(found.value) == count - 1 or start_s + (int(found.value) + 1) * step_s > now_s


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": []},
        {"values": [math.nan]},
        {"step_s": 0.0},
        {"step_s": None},
        {"start_s": math.inf},
        {"length_s": 1.0},
        {"step_s": None, "times_s": [0.0, 0.0]},
        {"step_s": None, "times_s": [1.0, 2.0]},
    ],
)
def test_what_cannot_be_played_is_refused_in_a_line(wrong: dict[str, object]) -> None:
    """No values, no numbers, no step, times that do not rise."""
    given_: dict[str, object] = {"values": [0.0, 1.0], "start_s": 0.0, "step_s": 1.0} | wrong
    with pytest.raises(InputError, match=r"^signal replay: [^\n]*$"):
        Replay(**given_)  # type: ignore[arg-type]


def test_a_file_is_read_as_the_simulator_reads_it(tmp_path: Path) -> None:
    """The same reader, its repairs told, its beginning left out on demand."""
    path = tmp_path / "signal.csv"
    path.write_text("time_s,y\n0,0.5\n2,-0.5\n4,1.5\n6,0.25\n")
    replay, notes = read_replay(path, start_s=100.0, skip_s=2.0)
    assert [replay.last(t) for t in (100.0, 102.0, 104.0)] == [
        Sample(-0.5, 100.0),
        Sample(1.0, 102.0),
        Sample(0.25, 104.0),
    ]
    assert any("outside" in note for note in notes)
    with pytest.raises(InputError, match="shorter than the 60 s"):
        read_replay(path, start_s=0.0, skip_s=60.0)
