"""Structured logs: one line a thing, as JSON or for people, with repeats counted and secrets left out.

Built on ``logging``, so that what libraries say is caught too. A line has machine time, level, component and an event
word, then fields; ``say`` writes one. The same thing said more than a few times a minute is counted instead, and the
count is said at the end of the minute ("said 37 times in 60 s").
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import re
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, Literal, TextIO

from wattline.errors import InputError, printable

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
HIDDEN = "…"
WINDOW_S, BURST = 60.0, 5
"""In this time so many lines of one event are written; further ones are counted."""
EACH = frozenset({"does", "would"})
"""Events of which every line is written: the account of what was done, or would be."""
MOST_EVENTS = 1024
"""Events whose repeats are counted apart; beyond, all lines are written."""
LONGEST = 2000
"""Characters of a text in a line."""
SECRET_NAME = re.compile(r"token|secret|passw|authorization|credential|private|api_?key", re.IGNORECASE)
SECRET_TEXT = re.compile(
    r"(?i)(\bbearer\s+)\S+|(://[^\s/:@]*:)[^\s/@]+(?=@)|(\b(?:token|password|secret)\s*[=:]\s*)\S+"
)


class Log:
    """What a component says: ``Log("controller").say("signal-stale", age_s=12.3)``."""

    def __init__(self, component: str) -> None:
        self._logger = logging.getLogger(f"wattline.live.{component}")

    def say(self, event: str, level: str = "info", **fields: object) -> None:
        """Write a line about an event, a short word, with what belongs to it."""
        self._logger.log(LEVELS[level], "%s", event, extra={"wattline": (event, fields)})


class Logs:
    """Where lines go while it is open.

    Parameters
    ----------
    component
        Named in lines of libraries, too.
    now_s
        The machine's time.
    form, level
        ``json`` or ``text``; lines below the level are left out.
    file
        A file to append to (taken up again when it is moved away); standard error without one.
    """

    def __init__(
        self,
        component: str,
        now_s: Callable[[], float],
        *,
        form: Literal["json", "text"] = "json",
        level: str = "info",
        file: Path | str | None = None,
        stream: TextIO | None = None,
    ) -> None:
        if form not in ("json", "text") or level not in LEVELS:
            raise InputError(f"logs: form is json or text, level one of {', '.join(LEVELS)} (got {form!r}, {level!r})")
        self._handler = _handler(file, stream)
        self._lines = _Lines(component, now_s, form)
        self._repeats = _Repeats(now_s)
        self._handler.setFormatter(self._lines)
        self._handler.addFilter(self._repeats)
        self._root = logging.getLogger()
        self._level_before = self._root.level
        self._root.addHandler(self._handler)
        self._root.setLevel(LEVELS[level])
        logging.captureWarnings(capture=True)

    def hide(self, secret: str) -> None:
        """Leave a text out of all lines from now on."""
        if len(secret) >= 4:
            self._lines.secrets.add(secret)

    def tick(self) -> None:
        """Say counts of repeats whose time is over; to be called now and then."""
        for record in self._repeats.over():
            self._handler.handle(record)

    def lost(self) -> int:
        """Return how many lines could not be written: a full disk does not stop the machine."""
        return getattr(self._handler, "lost", 0)

    def close(self) -> None:
        """Say what was counted and let go; twice is as good as once."""
        for record in self._repeats.over(at_once=True):
            self._handler.handle(record)
        self._root.removeHandler(self._handler)
        self._root.setLevel(self._level_before)
        logging.captureWarnings(capture=False)
        self._handler.close()


class _ToStream(logging.StreamHandler[TextIO]):
    lost = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802  (logging's name)
        self.lost += 1


class _ToFile(WatchedFileHandler):
    lost = 0

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what a full disk does not take was counted
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802
        self.lost += 1


def _handler(file: Path | str | None, stream: TextIO | None) -> logging.Handler:
    if file is None:
        return _ToStream(stream or sys.stderr)
    try:
        return _ToFile(file, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{file}: logs cannot be written there ({problem.strerror or problem})") from None


class _Lines(logging.Formatter):
    """A record as a line."""

    def __init__(self, component: str, now_s: Callable[[], float], form: str) -> None:
        super().__init__()
        self._component, self._now_s, self._form = component, now_s, form
        self.secrets: set[str] = set()

    def format(self, record: logging.LogRecord) -> str:
        event, fields = told(record)
        if record.exc_info:
            fields = {**fields, "trace": self.formatException(record.exc_info)}
        time_s = self._now_s()
        row = {
            "time": round(time_s, 3),
            "level": record.levelname.lower(),
            "component": self._component,
            "event": event,
        }
        plain = {str(name): self._plain(value, str(name)) for name, value in fields.items()}
        row |= {name if name not in row else f"{name}_": value for name, value in plain.items()}
        if self._form == "json":
            return json.dumps(row, ensure_ascii=False, allow_nan=False)
        clock = datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        rest = " ".join(
            f"{name}={value if not isinstance(value, str) else _text(value)}" for name, value in plain.items()
        )
        return f"{clock} {record.levelname.lower():7} {self._component} {_text(event)}{' ' if rest else ''}{rest}"

    def _plain(self, value: object, name: str, depth: int = 0) -> Any:
        """Return a value that JSON has, without secrets."""
        if SECRET_NAME.search(name):
            return HIDDEN
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if depth < 4 and isinstance(value, dict):
            return {str(key): self._plain(inner, str(key), depth + 1) for key, inner in list(value.items())[:64]}
        if depth < 4 and isinstance(value, (list, tuple, set, frozenset)):
            return [self._plain(inner, "", depth + 1) for inner in list(value)[:64]]
        text = str(value)
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        text = SECRET_TEXT.sub(lambda found: "".join(part or "" for part in found.groups()) + HIDDEN, text)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class _Repeats(logging.Filter):
    """Lets a few lines of an event through in a window, and counts the rest."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        super().__init__()
        self._now_s = now_s
        self._lock = threading.RLock()
        self._seen: dict[tuple[str, int, str], list[float]] = {}
        """Logger, level, event → begin of the window, lines in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "wattline_count", False):
            return True
        with self._lock:
            return self._passes(record)

    def _passes(self, record: logging.LogRecord) -> bool:
        key, now_s = (record.name, record.levelno, self._event(record)), self._now_s()
        if key[2] in EACH:
            return True
        window = self._seen.get(key)
        if window is None or now_s - window[0] >= WINDOW_S:
            if window is not None and window[1] > BURST:
                self._write(self._counted(key, window))
            if window is None and len(self._seen) >= MOST_EVENTS:
                self._seen = {one: seen for one, seen in self._seen.items() if now_s - seen[0] < WINDOW_S}
                if len(self._seen) >= MOST_EVENTS:
                    return True
            window = self._seen[key] = [now_s, 0.0]
        window[1] += 1
        return window[1] <= BURST

    def over(self, *, at_once: bool = False) -> list[logging.LogRecord]:
        """Return records that tell how often something was said, of windows that are over."""
        now_s = self._now_s()
        with self._lock:
            ended = [key for key, seen in self._seen.items() if at_once or now_s - seen[0] >= WINDOW_S]
            found = [(key, self._seen.pop(key)) for key in ended]
        return [self._counted(key, seen) for key, seen in found if seen[1] > BURST]

    def _event(self, record: logging.LogRecord) -> str:
        event, fields = told(record)
        if event != "library":
            return event
        return str(record.msg) if record.args else str(fields["text"])

    def _counted(self, key: tuple[str, int, str], seen: list[float]) -> logging.LogRecord:
        name, level, event = key
        record = logging.LogRecord(name, level, "", 0, event, None, None)
        fields = {"said": int(seen[1]), "in_s": WINDOW_S, "text": f"said {int(seen[1])} times in {WINDOW_S:g} s"}
        record.wattline = (event[:100], fields)
        record.wattline_count = True
        return record

    def _write(self, record: logging.LogRecord) -> None:
        for handler in logging.getLogger().handlers:
            if self in handler.filters:
                handler.handle(record)


def told(record: logging.LogRecord) -> tuple[str, dict[str, object]]:
    """Return event and fields of a record; what a library said is the event ``library``."""
    found = getattr(record, "wattline", None)
    if found is not None:
        event, fields = found
        return str(event), dict(fields)
    try:
        text = record.getMessage()
    except (TypeError, ValueError):  # its arguments do not fit its text
        text = str(record.msg)
    return "library", {"logger": record.name, "text": text}


def _text(value: str) -> str:
    """Return a text for a line for people: quoted where it has blanks, and never more than a line."""
    shown = printable(value)
    return f'"{shown}"' if " " in shown or not shown else shown
