"""Progress: the time left for the whole study, one line on a terminal, a start and an end in a file."""

from __future__ import annotations

import sys

import pytest

from wattline.api import listener
from wattline.api.listener import Meter, Pace


def test_time_left_is_that_of_the_whole() -> None:
    """At a steady pace the rest takes as long as its part; nobody knows before something is done."""
    pace = Pace()
    assert pace.left_s() is None
    pace.note(100.0, 0, 50)
    assert pace.left_s() is None
    for done in range(1, 11):
        pace.note(100.0 + 3.0 * done, done, 50)
    assert pace.left_s() == pytest.approx(40 * 3.0)


def test_what_was_kept_tells_nothing_of_the_pace() -> None:
    """A study that goes on has half of it at once: the rest takes as long as what is made now."""
    pace = Pace()
    pace.note(0.0, 500, 1000)
    for done in range(1, 101):
        pace.note(2.0 * done, 500 + done, 1000)
    assert pace.left_s() == pytest.approx(400 * 2.0)
    quick = Pace()
    quick.note(0.0, 0, 1000)
    for done in range(1, 501):
        quick.note(0.001 * done, done, 1000)  # taken from what is kept
    for done in range(1, 101):
        quick.note(0.5 + 2.0 * done, 500 + done, 1000)
    assert quick.left_s() == pytest.approx(400 * 2.0, rel=0.05)


def test_a_long_study_is_remembered_in_little() -> None:
    """A million reports leave a few hundred."""
    pace = Pace()
    for done in range(100_000):
        pace.note(float(done), done, 200_000)
    assert len(pace._seen) <= listener.MOST_SEEN
    assert pace.left_s() == pytest.approx(100_001.0)


def test_a_file_gets_a_start_and_an_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """However often it is told, a file gets two lines; nothing where it takes less than two seconds."""
    now = [1000.0]
    monkeypatch.setattr(listener.time, "monotonic", lambda: now[0])
    assert not sys.stderr.isatty()
    short, long = Meter("hours", shown=True), Meter("settings", shown=True)
    short.update(0, 10)
    short.update(10, 10)
    short.close()
    for done in range(1201):
        long.update(done, 1200)
        now[0] += 1.0
    now[0] -= 1.0
    long.close()
    assert capsys.readouterr().err.splitlines() == [
        "settings: 2 of 1,200 are done ...",
        "settings: 1,200 of 1,200 are done, after 20 min",
    ]


def test_a_terminal_has_one_line_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar carries the time left for the whole."""
    now = [1000.0]
    monkeypatch.setattr(listener.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    meter = Meter("runs", shown=True)
    for done in range(5):
        meter.update(done, 64)
        now[0] += 60.0
    now[0] -= 60.0
    assert meter.bar.tasks[0].fields["left"] == "1 h left"
    assert (meter.bar.tasks[0].completed, meter.bar.tasks[0].total) == (4, 64)
    meter.close()
