"""Arguments of calls that are of the wrong type, or a wrong number: one line, never an error of Python's."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import wattline as wl

COLUMNS = {"submit_s": [0, 5], "work_s": [60, 30], "nodes": [2, 1]}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: wl.read_run(None), "read_run: expected a path, got NoneType"),
        (lambda: wl.read_run(3), "read_run: expected a path, got int"),
        (lambda: wl.load(3), "load: expected a path, got int"),
        (lambda: wl.load(b"s.toml"), "load: expected a path, got bytes"),
        (lambda: wl.bid(None), "bid: expected a path, got NoneType"),
    ],
)
def test_what_is_no_path_is_refused(call: Callable[[], object], said: str) -> None:
    """Whoever gives something else than a path is told which call wanted one."""
    with pytest.raises(wl.InputError) as caught:
        call()
    assert str(caught.value) == said


def test_a_report_needs_a_path() -> None:
    """Nothing is drawn for a page that has no place."""
    run = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), progress=False)
    with pytest.raises(wl.InputError, match="report: expected a path, got NoneType"):
        run.report(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [-1, 0, math.nan, math.inf, "3", True])
def test_the_time_of_a_call_is_above_0(limit: object) -> None:
    """A policy is not checked against a time that no call keeps, or any."""
    with pytest.raises(wl.InputError, match="check: time_limit is a number of seconds above 0, got "):
        wl.check("mine.py", time_limit=limit)  # type: ignore[arg-type]


def test_plain_lists_may_mix_whole_numbers_and_others() -> None:
    """60, 1.5, NaN and nothing in one list are numbers, as they would be in a frame; a text among them is refused."""
    trace = wl.from_frame({**COLUMNS, "work_s": [60, 1.5], "request_s": [100, math.nan], "draw_w": (200, None)})
    assert trace.jobs["work_s"].to_list() == [60.0, 1.5]
    assert trace.jobs["request_s"].to_list() == [100.0, None]
    with pytest.raises(wl.InputError, match="column 'work_s' holds values of several types"):
        wl.from_frame({**COLUMNS, "work_s": [60, "x"]})


def test_a_frame_without_columns_is_told_what_it_needs() -> None:
    """Nothing at all is refused in a whole sentence."""
    with pytest.raises(wl.InputError, match="from_frame: the frame has no columns; a job table needs submit_s"):
        wl.from_frame({})
