"""Events of OpenADR 2.0b → load targets, and whether the site opts in: what each signal means here, or does not.

An event is a mapping as openleadr reads it. Each of its intervals becomes a load target ``adr:EVENT:K`` whose ramp ends
at the interval's start; where several hold the lowest counts, so that the limit goes straight from one to the next.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from wattline.live.signals.schedule import LoadTarget

PREFIX = "adr:"
MOST_INTERVALS = 96
"""Intervals of an event: a day of quarters of an hour."""
_SCALES = {"none": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3}
_LONGEST_ID = 48

Opt = Literal["optIn", "optOut"]


@dataclass(frozen=True)
class AdrRules:
    """How a site understands events."""

    base_w: float
    """The site's own limit: shares are of it."""
    least_w: float = 0.0
    """The site opts out of less: what the machine needs at least."""
    levels_w: Mapping[int, float] = field(default_factory=dict)
    """Limits that the levels 1 to 3 of SIMPLE stand for; level 0 is no limit."""
    baseline_w: float | None = None
    """What the site draws without events: LOAD_DISPATCH by delta or multiplier needs it."""
    longest_s: float = 86400.0
    """An event without an end ends so long after its start."""
    take: bool = True
    """False: the site opts out of everything."""


@dataclass(frozen=True)
class Judged:
    """What comes of an event."""

    event: str
    modification: int
    opt: Opt
    targets: tuple[LoadTarget, ...] = ()
    why: str = ""
    """A word: cancelled, completed, test, told-so, below-least, not-understood, bad-value, malformed, no-limit."""


class _RefusedError(Exception):
    """The event cannot be done; its text is the word."""


def prefix_of(event_id: str) -> str:
    """Return how the ids of an event's load targets begin."""
    plain = len(event_id) <= _LONGEST_ID and event_id.isprintable() and ":" not in event_id
    return f"{PREFIX}{event_id if plain else hashlib.sha256(event_id.encode()).hexdigest()[:24]}:"


def judge(event: Mapping[str, Any], rules: AdrRules, now_s: float, ahead_s: float = 0.0) -> Judged:
    """Return what comes of an event; ``ahead_s`` is how far its clock is ahead of the machine's."""
    event_id, modification = "", 0
    try:
        told = event["event_descriptor"]
        event_id, modification = str(told["event_id"]), int(told["modification_number"])
        status = told["event_status"]
        if status in ("cancelled", "completed"):
            return Judged(event_id, modification, "optIn", why=str(status))
        if "wrong" in event:
            return Judged(event_id, modification, "optOut", why=str(event["wrong"]))
        if told.get("test_event"):
            return Judged(event_id, modification, "optIn", why="test")
        targets = tuple(_targets(event, prefix_of(event_id), rules, now_s, ahead_s))
    except _RefusedError as word:
        return Judged(event_id, modification, "optOut", why=str(word))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return Judged(event_id, modification, "optOut", why="malformed")
    if not rules.take:
        return Judged(event_id, modification, "optOut", why="told-so")
    return Judged(event_id, modification, "optIn", targets, "" if targets else "no-limit")


def created_s(event: Mapping[str, Any]) -> float:
    """Return when the VTN says that it made an event, or changed it; nothing (NaN) where it does not say."""
    try:
        told = event["event_descriptor"]
        return max(_time_s(told[key]) for key in ("created_date_time", "modification_date_time") if told.get(key))
    except (KeyError, TypeError, ValueError, AttributeError):
        return math.nan


def _targets(
    event: Mapping[str, Any], prefix: str, rules: AdrRules, now_s: float, ahead_s: float
) -> Iterator[LoadTarget]:
    period = event["active_period"]
    ramp_s, back_s = (_seconds(period.get(k, period.get(f"{k}_period"))) for k in ("ramp_up", "recovery"))
    number = 0
    for signal in _understood(event, rules):
        for start_s, end_s, value in _intervals(signal, period, rules):
            number += 1
            if number > MOST_INTERVALS:
                raise _RefusedError("too-many-intervals")
            limit_w = _watts(signal, value, rules)
            if end_s - ahead_s <= now_s or limit_w >= rules.base_w:
                continue
            if limit_w < rules.least_w:
                raise _RefusedError("below-least")
            yield LoadTarget(
                f"{prefix}{number - 1}",
                start_s - ramp_s - ahead_s,
                end_s - ahead_s,
                limit_w=limit_w,
                ramp_s=ramp_s,
                back_s=back_s,
            )


def _understood(event: Mapping[str, Any], rules: AdrRules) -> list[Mapping[str, Any]]:
    """Return the signals that tell a load; SIMPLE, which others bring along for simple nodes, if there are none."""
    found = event["event_signals"]
    signals = found if isinstance(found, list) else found["event_signals"]
    loads = [one for one in signals if _meaning(one, rules) not in ("", "level")]
    chosen = loads or [one for one in signals if _meaning(one, rules) == "level"]
    if not chosen:
        raise _RefusedError("not-understood")
    return chosen


def _meaning(signal: Mapping[str, Any], rules: AdrRules) -> str:
    name, kind = str(signal["signal_name"]), str(signal["signal_type"])
    if name.upper() == "SIMPLE":
        return "level" if kind == "level" and rules.levels_w else ""
    if name == "LOAD_CONTROL":
        return {"x-loadControlCapacity": "share", "x-loadControlSetpoint": "watts"}.get(kind, "")
    if name == "LOAD_DISPATCH":
        known = {"setpoint": "watts"} | ({} if rules.baseline_w is None else {"delta": "delta", "multiplier": "times"})
        return known.get(kind, "")
    return ""


def _watts(signal: Mapping[str, Any], value: float, rules: AdrRules) -> float:
    meaning = _meaning(signal, rules)
    if meaning == "level":
        if value == 0.0:
            return math.inf
        if value not in rules.levels_w:
            raise _RefusedError("not-understood")
        return rules.levels_w[int(value)]
    if meaning == "share":
        limit_w = value * rules.base_w
    elif meaning == "times":
        limit_w = value * (rules.baseline_w or 0.0)
    else:
        scale, unit = _scale(signal)
        if unit not in ("W", ""):
            raise _RefusedError("not-understood")
        limit_w = value * scale + (rules.baseline_w or 0.0 if meaning == "delta" else 0.0)
    if not 0.0 <= limit_w < math.inf:
        raise _RefusedError("bad-value")
    return limit_w


def _scale(signal: Mapping[str, Any]) -> tuple[float, str]:
    measured = signal.get("measurement")
    if not measured:
        return 1.0, ""
    return _SCALES[measured.get("scale") or "none"], str(measured.get("unit") or "")


def _intervals(
    signal: Mapping[str, Any], period: Mapping[str, Any], rules: AdrRules
) -> Iterator[tuple[float, float, float]]:
    """Yield start, end and value of each interval; those without a start follow one another."""
    at_s = _time_s(period["dtstart"])
    open_end_s = at_s + (_seconds(period.get("duration")) or rules.longest_s)
    found = signal["intervals"]
    for one in found if isinstance(found, list) else [found]:
        begin_s = _time_s(one["dtstart"]) if one.get("dtstart") is not None else at_s
        lasts_s = _seconds(one.get("duration"))
        at_s = begin_s + lasts_s if lasts_s > 0.0 else max(open_end_s, begin_s + 1.0)
        value = float(one["signal_payload"])
        if not math.isfinite(value):
            raise _RefusedError("bad-value")
        yield begin_s, at_s, value


def _time_s(value: Any) -> float:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValueError("no time with a zone")
    return value.timestamp()


def _seconds(value: Any) -> float:
    """Return a length of time, however it is wrapped; 0 where there is none."""
    if isinstance(value, Mapping):
        value = value.get("duration")
    if value is None:
        return 0.0
    if not isinstance(value, timedelta):
        raise TypeError("no duration")
    return max(0.0, value.total_seconds())
