"""Structured logs: each line whole, repeats counted, secrets left out."""

from __future__ import annotations

import io
import json
import logging
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wattline.errors import InputError
from wattline.live.watch.logs import BURST, Log, Logs, told


class Desk:
    """Logs into memory, with a clock that is set by hand."""

    def __init__(self, **more: Any) -> None:
        self.now_s, self.stream = 1000.0, io.StringIO()
        self.logs = Logs("controller", lambda: self.now_s, stream=self.stream, **more)
        self.log = Log("controller")

    def rows(self) -> list[dict[str, Any]]:
        """Return all lines so far."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A desk whose logs are closed at the end."""
    made = Desk()
    yield made
    made.logs.close()


def test_a_line_has_time_level_component_event_and_fields(desk: Desk) -> None:
    """Machine time; numbers stay numbers, what is none is null, a field that has the name of ours gets a dash."""
    desk.log.say("signal-state", "warning", before="fresh", age_s=10.25, limit_w=math.nan, on=["a", 1], time=3)
    assert desk.rows() == [
        {
            "time": 1000.0,
            "level": "warning",
            "component": "controller",
            "event": "signal-state",
            "before": "fresh",
            "age_s": 10.25,
            "limit_w": None,
            "on": ["a", 1],
            "time_": 3,
        }
    ]


def test_lines_below_the_level_are_left_out() -> None:
    """And the level before comes back afterwards."""
    before = logging.getLogger().level
    desk = Desk(level="warning")
    desk.log.say("one")
    desk.log.say("two", "error")
    desk.logs.close()
    desk.log.say("three", "error")
    assert [row["event"] for row in desk.rows()] == ["two"]
    assert logging.getLogger().level == before


def test_what_libraries_say_is_caught(desk: Desk) -> None:
    """Loggers, warnings and tracebacks; a text whose arguments do not fit does no harm."""
    logging.getLogger("paho").warning("lost %s\nagain", "it")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", stacklevel=1)
    try:
        raise ValueError("bad")  # noqa: TRY301
    except ValueError:
        logging.getLogger("lib").exception("failed")
    rows = desk.rows()
    assert [row["event"] for row in rows] == ["library"] * 3
    assert (rows[0]["logger"], rows[0]["text"]) == ("paho", "lost it\nagain")
    assert "old" in rows[1]["text"]
    assert "ValueError: bad" in rows[2]["trace"]
    odd = logging.LogRecord("odd", 30, "", 0, "%d", ("x",), None)
    assert told(odd) == ("library", {"logger": "odd", "text": "%d"})


def test_repeats_are_counted_and_said(desk: Desk) -> None:
    """A few lines a minute, then the count: at the next such line, at a tick, or at the end."""
    for _ in range(37):
        desk.log.say("write-refused", node="n1")
        desk.log.say("other")
        desk.now_s += 1.0
    assert len(desk.rows()) == 2 * BURST
    desk.logs.tick()
    assert len(desk.rows()) == 2 * BURST
    desk.now_s = 1060.0
    desk.log.say("write-refused", node="n1")
    counted, after = desk.rows()[-2:]
    assert (counted["event"], counted["text"], counted["said"]) == ("write-refused", "said 37 times in 60 s", 37)
    assert after["node"] == "n1"
    desk.logs.tick()
    assert desk.rows()[-1]["event"] == "other"
    assert desk.rows()[-1]["said"] == 37


def test_what_was_done_is_written_each_time(desk: Desk) -> None:
    """Commands, and those of a dry run, are an account: none of them is only counted."""
    for number in range(40):
        desk.log.say("does", what="release", job=str(number))
        desk.log.say("would", what="hold", job=str(number))
    assert [row["job"] for row in desk.rows()] == [str(number // 2) for number in range(80)]


def test_counts_are_said_at_the_end() -> None:
    """Nothing that was counted is lost."""
    desk = Desk()
    for _ in range(BURST + 2):
        desk.log.say("x")
    desk.logs.close()
    assert desk.rows()[-1]["said"] == BURST + 2
    assert len(desk.rows()) == BURST + 1


def test_secrets_are_left_out(desk: Desk) -> None:
    """By the name of the field, by what stands before them, and those that were told to be hidden."""
    desk.logs.hide("hunter22")
    desk.log.say(
        "key",
        token="abcdef",  # noqa: S106
        inner={"password": "abcdef", "n": 1},
        text="it was hunter22 again",
    )
    desk.log.say("key", header="Authorization: Bearer abcdef", url="mqtt://me:abcdef@host", args="token=abcdef x")
    logging.getLogger("lib").warning("sent hunter22 and Bearer abcdef")
    text = desk.stream.getvalue()
    assert "abcdef" not in text
    assert "hunter22" not in text
    assert desk.rows()[0]["inner"] == {"password": "…", "n": 1}
    assert "me:…@host" in text


def test_lines_for_people_are_one_line_each() -> None:
    """With a clock, and nothing that a terminal would obey."""
    desk = Desk(form="text")
    desk.log.say("job-refused", why="no\nnode \x1b[31m", job=7)
    desk.logs.close()
    (line,) = desk.stream.getvalue().splitlines()
    assert line == '1970-01-01 00:16:40.000 info    controller job-refused why="no\\nnode \\x1b[31m" job=7'


def test_a_file_is_appended_to_and_taken_up_again_when_it_is_moved(tmp_path: Path) -> None:
    """As logrotate does it; a folder that is not there is one line."""
    path = tmp_path / "log"
    logs = Logs("agent", lambda: 1.0, file=path)
    Log("agent").say("one")
    path.rename(tmp_path / "old")
    Log("agent").say("two")
    logs.close()
    logs.close()
    assert json.loads((tmp_path / "old").read_text())["event"] == "one"
    assert json.loads(path.read_text())["event"] == "two"
    with pytest.raises(InputError, match="logs cannot be written there"):
        Logs("agent", lambda: 1.0, file=tmp_path / "no" / "log")
    with pytest.raises(InputError, match="form is json or text"):
        Logs("agent", lambda: 1.0, level="loud")


def test_a_full_disk_loses_lines_and_stops_nothing() -> None:
    """Lines that cannot be written are counted."""
    logs = Logs("agent", lambda: 1.0, file="/dev/full")
    Log("agent").say("one")
    Log("agent").say("two")
    assert logs.lost() == 2
    logs.close()
    logs.close()


def test_many_events_do_not_fill_the_memory(desk: Desk) -> None:
    """Beyond a thousand events in a minute their repeats are no longer counted."""
    for k in range(3000):
        desk.log.say(f"event-{k}")
    assert len(desk.rows()) == 3000
    assert len(desk.logs._repeats._seen) <= 1024
