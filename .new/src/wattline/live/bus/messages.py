"""Messages on the bus: small JSON objects of version 1, checked field by field before anybody sees them.

``{"v":1,"kind":"status","from":"n001","boot":"<16 hex digits>","n":17,"at":1731750000.25, …}``: ``boot`` is drawn anew
at each start of a sender, ``n`` rises within it, ``at`` is the machine's time. Fields that version 1 does not know are
ignored, so that newer senders may say more; everything else must be as told here, or the message is dropped.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wattline.errors import InputError, shorten
from wattline.live.bus.names import NAME, Topics, checked_name
from wattline.live.clock import Clock

VERSION = 1
LARGEST = 4096
"""Bytes of a message."""
MODES = ("led", "safe", "free")
MOST_FAULTS, MOST_TARGETS = 16, 64
LONGEST_LEASE_S = 3600.0
_MOST_W = 1e12
_MOST_N = 2**53
_MOST_AT = 1e11
_BOOT = re.compile(r"[0-9a-f]{16}")
_FAULT = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")

_Number = tuple[str, float, float, bool]  # name, least, greatest, may be null
_NUMBERS: dict[str, tuple[_Number, ...]] = {
    "status": (
        ("w", 0.0, _MOST_W, True),
        ("age", 0.0, 1e9, True),
        ("cpu_w", 0.0, _MOST_W, True),
        ("mem_w", 0.0, _MOST_W, True),
        ("cap_w", 0.0, _MOST_W, True),
        ("limit_w", 0.0, _MOST_W, True),
        ("lease", 0.0, LONGEST_LEASE_S, False),
        ("term", 0.0, _MOST_N, False),
        ("safe_w", 0.0, _MOST_W, True),
        ("min_w", 0.0, _MOST_W, True),
        ("max_w", 0.0, _MOST_W, True),
    ),
    "cap": (("cap_w", 0.0, _MOST_W, True), ("lease", 0.0, LONGEST_LEASE_S, False), ("term", 0.0, _MOST_N, False)),
    "off": (),
    "gone": (),
    "signal": (),
}
KINDS = tuple(_NUMBERS)


class BadMessageError(ValueError):
    """Bytes that are no message; ``reason`` is the word they are counted under."""

    def __init__(self, reason: str, told: str) -> None:
        super().__init__(told)
        self.reason = reason


@dataclass(slots=True)
class Message:
    """A message whose fields are as they must be."""

    kind: str
    sender: str
    """Who says to have sent it (``from``)."""
    boot: str
    n: int
    at_s: float
    body: dict[str, Any]
    """The fields of its kind, all there; numbers are finite, or None where the kind allows it."""


def decode(payload: bytes) -> Message:
    """Return the message of some bytes; ``BadMessageError`` for all others."""
    if len(payload) > LARGEST:
        raise BadMessageError("oversized", f"{len(payload)} bytes, at most {LARGEST}")
    try:
        data = _DECODER.decode(payload.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadMessageError("malformed", "no JSON object in UTF-8") from None
    if type(data) is not dict:
        raise BadMessageError("malformed", "no JSON object")
    version = data.get("v")
    if type(version) is not int:
        raise BadMessageError("malformed", "no version")
    if version != VERSION:
        raise BadMessageError("version", f"version {shorten(version)}, expected {VERSION}")
    kind = data.get("kind")
    if type(kind) is not str or kind not in _NUMBERS:
        raise BadMessageError("unknown", f"kind {shorten(kind)}")
    sender, boot, n, at_s = data.get("from"), data.get("boot"), data.get("n"), data.get("at")
    if type(sender) is not str or NAME.fullmatch(sender) is None:
        raise BadMessageError("malformed", f"from {shorten(sender)}")
    if type(boot) is not str or _BOOT.fullmatch(boot) is None:
        raise BadMessageError("malformed", f"boot {shorten(boot)}")
    if type(n) is not int or not 0 <= n <= _MOST_N:
        raise BadMessageError("malformed", f"n {shorten(n)}")
    if (type(at_s) is not float and type(at_s) is not int) or not 0 <= at_s <= _MOST_AT:
        raise BadMessageError("malformed", f"at {shorten(at_s)}")
    return Message(kind, sender, boot, n, float(at_s), _body(kind, data))


class Outbox:
    """Writes the messages of one sender: its name, a new boot, numbers that rise, the machine's time."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name, self.boot, self.n = checked_name(name), secrets.token_hex(8), 0
        self._clock = clock

    def encode(self, kind: str, body: Mapping[str, Any]) -> bytes:
        """Return a message; NaN and infinity become null where the kind allows it, other mistakes are refused."""
        if kind not in _NUMBERS:
            raise InputError(f"message: unknown kind {shorten(kind)}; known: {', '.join(KINDS)}")
        data = {k: None if type(v) is float and not math.isfinite(v) else v for k, v in body.items()}
        try:
            checked = _body(kind, data)
        except BadMessageError as problem:
            raise InputError(f"message {kind}: {problem}") from None
        self.n += 1
        head = {"v": VERSION, "kind": kind, "from": self.name, "boot": self.boot, "n": self.n}
        head["at"] = round(self._clock.now_s(), 6)
        payload = _ENCODE({**head, **checked}).encode()
        if len(payload) > LARGEST:
            raise InputError(f"message {kind}: {len(payload)} bytes, at most {LARGEST}; say less at once")
        return payload

    def will(self, topics: Topics) -> tuple[str, bytes]:
        """Return topic and message by which a broker tells that this sender is gone."""
        return topics.gone(self.name), self.encode("gone", {})


def _body(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name, least, most, null in _NUMBERS[kind]:
        try:
            value = data[name]
        except KeyError:
            raise BadMessageError("malformed", f"{name} is missing") from None
        if value is None and null:
            body[name] = None
        elif (type(value) is float or type(value) is int) and least <= value <= most:
            body[name] = value
        else:
            raise BadMessageError("malformed", f"{name} {shorten(value)}")
    if kind == "status":
        mode, faults = data.get("mode"), data.get("faults")
        if mode not in MODES:
            raise BadMessageError("malformed", f"mode {shorten(mode)}")
        if type(faults) is not list or len(faults) > MOST_FAULTS or not all(map(_is_fault, faults)):
            raise BadMessageError("malformed", f"faults {shorten(faults)}")
        body["mode"], body["faults"] = mode, faults
    if kind in {"status", "cap"} and type(body["term"]) is not int:
        raise BadMessageError("malformed", f"term {shorten(body['term'])}")
    if kind == "signal":
        body.update(_signal(data))
    return body


def _is_fault(word: object) -> bool:
    return type(word) is str and _FAULT.fullmatch(word) is not None


def _signal(data: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly one of ``y``, ``limit_w`` and ``targets``; what a target means is up to whoever reads it."""
    said = [name for name in ("y", "limit_w", "targets") if data.get(name) is not None]
    if len(said) != 1:
        raise BadMessageError("malformed", "expected one of y, limit_w and targets")
    value = data[said[0]]
    if said[0] == "targets":
        if type(value) is not list or not 0 < len(value) <= MOST_TARGETS or not all(map(_is_target, value)):
            raise BadMessageError("malformed", f"targets {shorten(value)}")
        return {"targets": value}
    least, most = (-1.0, 1.0) if said[0] == "y" else (0.0, _MOST_W)
    if (type(value) is not float and type(value) is not int) or not least <= value <= most:
        raise BadMessageError("malformed", f"{said[0]} {shorten(value)}")
    return {said[0]: value}


def _is_target(row: object) -> bool:
    if type(row) is not dict:
        return False
    for key, value in row.items():
        number = type(value) in {int, float} and -_MOST_W <= value <= _MOST_W
        word = type(value) is str and len(value) <= 64
        if type(key) is not str or not (number or word or value is None or type(value) is bool):
            return False
    return True


def _no_constant(name: str) -> float:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
