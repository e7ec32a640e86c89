"""The status of a controller as a document: what ``wattline status`` shows, as JSON, version 1."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wattline.errors import InputError
from wattline.live.signals.stale import State

VERSION = 1
MOST_POINTS, MOST_ACTIONS, MOST_WORDS, MOST_WAITS = 240, 20, 64, 20
"""Points of the history, last actions, words of a count, and jobs with a reason that a document has at most."""
Role = Literal["leader", "standby", "dry-run"]
NAN = float("nan")


@dataclass(frozen=True)
class Action:
    """Something that the controller did, or would do in a dry run."""

    time_s: float
    what: str
    """start, stop, cont, requeue, cap, …"""
    subject: str
    """A job's id, a node's name, or how many."""
    why: str = ""


@dataclass(frozen=True)
class Power:
    """Watts of the machine; NaN is not known."""

    measured_w: float = NAN
    modelled_w: float = NAN
    target_w: float = NAN
    limit_w: float = NAN
    reserve_w: float = NAN
    error: float = NAN
    """|measured - target| as a part of the reserve, now; its mean over the last hour follows."""
    mean_error: float = NAN
    would_error: float = NAN
    """In a dry run: the same by the model, had its caps been in force; its mean follows."""
    would_mean_error: float = NAN


@dataclass(frozen=True)
class SignalStatus:
    """The signal that is followed."""

    value: float = NAN
    state: State = "baseline"
    age_s: float = math.inf
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """The status of a controller at one moment."""

    site: str
    time_s: float
    """Machine time."""
    role: Role = "leader"
    term: int = 0
    policy: str = ""
    since_s: float = NAN
    """When this controller began."""
    speed: float = 1.0
    """Machine seconds in a second of the wall."""
    power: Power = field(default_factory=Power)
    signal: SignalStatus = field(default_factory=SignalStatus)
    nodes: Mapping[str, int] = field(default_factory=dict)
    """By mode: led, safe, free, silent."""
    jobs: Mapping[str, int] = field(default_factory=dict)
    """By phase."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """How often each was seen."""
    distrusted: int = 0
    """Nodes whose two meters disagree now: the larger reading of each counts."""
    waits: Mapping[str, str] = field(default_factory=dict)
    """Jobs that wait for what does not come by itself, and why: a limit without room for them, or no place."""
    actions: Sequence[Action] = ()
    """The last ones, the newest last."""
    history: Sequence[tuple[float, float, float]] = ()
    """Time, measured power and target, oldest first."""

    def to_json(self) -> str:
        """Return the document as text; what is not known is null."""
        data = {
            "v": VERSION,
            "site": self.site,
            "time": _null(self.time_s),
            "role": self.role,
            "term": self.term,
            "policy": self.policy,
            "since": _null(self.since_s),
            "speed": self.speed,
            "power": {name: _null(value) for name, value in vars(self.power).items()},
            "signal": {
                "value": _null(self.signal.value),
                "state": self.signal.state,
                "age_s": _null(self.signal.age_s),
                "refused": _words(self.signal.refused),
            },
            "nodes": _words(self.nodes),
            "jobs": _words(self.jobs),
            "faults": _words(self.faults),
            "distrusted": self.distrusted,
            "waits": dict(list(self.waits.items())[:MOST_WAITS]),
            "actions": [
                {"time": _null(one.time_s), "what": one.what, "subject": one.subject, "why": one.why}
                for one in self.actions[-MOST_ACTIONS:]
            ],
            "history": [[_null(value) for value in row] for row in self.history[-MOST_POINTS:]],
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Document:
        """Return the document of a text; keys that are not known are passed over, what is wrong is one line."""
        try:
            data = json.loads(text)
            version = data["v"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("this is not the status of a controller") from None
        if version != VERSION:
            raise InputError(f"the status is of version {version!r}, and this program knows {VERSION}")
        try:
            return cls._read(data)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
            raise InputError(f"the status cannot be read ({type(problem).__name__}: {problem})") from None

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Document:
        signal = data["signal"]
        age_s = _number(signal["age_s"])
        return cls(
            site=_text(data["site"]),
            time_s=_number(data["time"]),
            role=_one_of(data["role"], get_args(Role)),
            term=int(data["term"]),
            policy=_text(data["policy"]),
            since_s=_number(data["since"]),
            speed=_number(data["speed"]),
            power=Power(**{name: _number(data["power"].get(name)) for name in vars(Power())}),
            signal=SignalStatus(
                _number(signal["value"]),
                _one_of(signal["state"], get_args(State)),
                math.inf if math.isnan(age_s) else age_s,
                _counts(signal["refused"]),
            ),
            nodes=_counts(data["nodes"]),
            jobs=_counts(data["jobs"]),
            faults=_counts(data["faults"]),
            distrusted=int(_number(data.get("distrusted", 0))),
            waits={_text(job): _text(why) for job, why in dict(data.get("waits", {})).items()},
            actions=tuple(
                Action(_number(row["time"]), _text(row["what"]), _text(row["subject"]), _text(row["why"]))
                for row in data["actions"][-MOST_ACTIONS:]
            ),
            history=tuple(
                (_number(time_s), _number(measured_w), _number(target_w))
                for time_s, measured_w, target_w in data["history"][-MOST_POINTS:]
            ),
        )


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _words(counts: Mapping[str, int]) -> dict[str, int]:
    return {str(word): int(count) for word, count in list(counts.items())[:MOST_WORDS]}


def _number(value: object) -> float:
    if value is None:
        return NAN
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, got {value!r}")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value


def _one_of(value: object, words: Sequence[Any]) -> Any:
    if value not in words:
        raise ValueError(f"expected one of {', '.join(words)}, got {value!r}")
    return value


def _counts(value: Mapping[str, Any]) -> dict[str, int]:
    return {_text(word): int(_number(count)) for word, count in value.items()}
