"""A signal that somebody sends: over the bus (``wattline/SITE/signal``) or by HTTP, one way in for both.

A body holds one of ``y``, ``limit_w`` and ``targets``, and where ``y`` or ``limit_w`` stands it may say ``at``, when it
was true (now, if it does not). A target is an object with ``id``, ``start``, ``end``, ``limit_w`` or ``percent``, and
``ramp_w_per_s`` or ``ramp_s`` where it has a ramp; or an ``id`` with ``"cancel": true``. Times are seconds since 1970,
or text like ``2026-11-16T12:00:00Z``. A list of targets is taken whole or not at all.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from wattline.errors import InputError, shorten
from wattline.live.signals.base import Sample
from wattline.live.signals.schedule import LoadTarget, Schedule
from wattline.units import in_full

LARGEST = 4096
"""Bytes of a body."""
ENVELOPE = ("v", "kind", "from", "boot", "n")
"""Keys of a message of the bus that are not about the signal."""
_TARGET = {"id", "start", "end", "limit_w", "percent", "ramp_w_per_s", "ramp_s"}


class Channel:
    """The newest sample of one quantity; written by whoever receives, read by the controller."""

    def __init__(self) -> None:
        self._sample: Sample | None = None

    def last(self, now_s: float) -> Sample | None:  # noqa: ARG002  (whether it is of the future is judged by rules)
        """Return the newest sample."""
        return self._sample

    def put(self, sample: Sample) -> bool:
        """Keep a sample unless a newer one is here; return whether it was kept."""
        before = self._sample
        if before is not None and sample.time_s < before.time_s:
            return False
        self._sample = sample
        return True

    def problems(self) -> dict[str, int]:
        """Return nothing: what was refused where it came in is told by ``Pushed.counts``, for all quantities."""
        return {}

    def close(self) -> None:
        """Nothing is open."""


class Pushed:
    """All that is sent to a site: ``y`` and ``limit`` are sources; load targets go to a schedule, to be asked here.

    Bodies may come from several threads. Without a schedule load targets are refused. A sample more than ``future_s``
    ahead of the machine's clock is refused, so that none can shut out those after it. Where nobody follows ``y``, one
    that is sent is counted (``ignored``) and goes no further: to who sends to many sites it is no error.
    """

    def __init__(self, schedule: Schedule | None = None, *, future_s: float = 2.0, follows_y: bool = True) -> None:
        self._counts: dict[str, int] = {}
        self.y, self.limit, self._schedule = Channel(), Channel(), schedule
        self._future_s, self._follows_y = future_s, follows_y
        self._lock = threading.Lock()

    def take_text(self, text: bytes, now_s: float) -> str | None:
        """Take a body as it came over the wire; return None, or a line that says why it is refused."""
        if len(text) > LARGEST:
            return self._refuse("too-large", f"a body has at most {LARGEST} bytes (got {len(text)})")
        try:
            body = json.loads(text.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return self._refuse("malformed", 'expected a JSON object like {"y": 0.3}')
        return self.take(body, now_s)

    def take(self, body: Any, now_s: float) -> str | None:
        """Take a body, or a whole message of the bus; return None, or a line that says why it is refused."""
        if not isinstance(body, Mapping):
            return self._refuse("malformed", 'expected a JSON object like {"y": 0.3}')
        said = {key: value for key, value in body.items() if key not in ENVELOPE}
        wanted = [key for key in ("y", "limit_w", "targets") if key in said]
        more = set(said) - {"y", "limit_w", "targets", "at"}
        if len(wanted) != 1 or more:
            told = f"; unknown: {shorten(sorted(map(str, more)))}" if more else ""
            return self._refuse("malformed", f"expected one of y, limit_w and targets, and at{told}")
        try:
            with self._lock:
                if wanted[0] == "targets":
                    self._targets(said["targets"], now_s)
                    return None
                at_s = _time(said, "at") if said.get("at") is not None else now_s
                sample = Sample(_number(said, wanted[0]), at_s)
        except InputError as problem:
            return self._refuse("bad-value", str(problem))
        if wanted[0] == "y" and not self._follows_y:
            self.count("ignored")
            return None
        if at_s > now_s + self._future_s:
            return self._refuse("of-the-future", f"at lies {in_full(at_s - now_s, 3)} s ahead of the machine's clock")
        if not (self.y if wanted[0] == "y" else self.limit).put(sample):
            return self._refuse("out-of-order", "a newer sample has come already")
        return None

    def counts(self) -> dict[str, int]:
        """Return how many bodies were refused or ignored, by reason."""
        return dict(self._counts)

    def count(self, reason: str) -> None:
        """Count what was refused before it was read."""
        with self._lock:
            self._counts[reason] = self._counts.get(reason, 0) + 1

    def limit_at(self, time_s: float) -> float:
        """Return the limit of the load targets; infinite without a schedule."""
        with self._lock:
            return self._schedule.limit_at(time_s) if self._schedule is not None else math.inf

    def next_change_s(self, time_s: float) -> float:
        """Return when the limit of the load targets bends next; infinite if it does not."""
        with self._lock:
            return self._schedule.next_change_s(time_s) if self._schedule is not None else math.inf

    def targets(self) -> list[LoadTarget]:
        """Return the load targets that are known, in order of their starts."""
        with self._lock:
            return self._schedule.targets() if self._schedule is not None else []

    def replace_targets(self, prefix: str, targets: Sequence[LoadTarget], now_s: float) -> None:
        """Let these be all load targets whose ids begin so: others of them end now; all or none are taken."""
        with self._lock:
            if self._schedule is None:
                raise InputError("targets: this site takes no load targets")
            trial = self._schedule.copy()
            before = {one.id: one for one in trial.targets() if one.id.startswith(prefix)}
            for gone in before.keys() - {one.id for one in targets}:
                trial.cancel(gone, now_s)
            for one in targets:
                if before.get(one.id) != one:  # a target that is told again goes on as it is
                    trial.put(one, now_s)
            self._schedule.become(trial)

    def to_data(self) -> dict[str, Any]:
        """Return the load targets as plain values, to be kept over a restart."""
        with self._lock:
            return self._schedule.to_data() if self._schedule is not None else {}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take up the load targets that ``to_data`` returned."""
        with self._lock:
            if self._schedule is not None and data:
                self._schedule.restore(data)

    def _refuse(self, reason: str, told: str) -> str:
        self.count(reason)
        return told

    def _targets(self, rows: Any, now_s: float) -> None:
        if self._schedule is None:
            raise InputError("targets: this site takes no load targets")
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows) or not rows:
            raise InputError("targets: expected a list of objects")
        trial = self._schedule.copy()
        for row in rows:
            if row.get("cancel") is True:
                if set(row) != {"id", "cancel"} or not trial.cancel(str(row["id"]), now_s):
                    raise InputError(f"targets: no target {shorten(row.get('id'))} to cancel")
            else:
                trial.put(_target(row), now_s)
        self._schedule.become(trial)


def _target(row: Mapping[str, Any]) -> LoadTarget:
    more = set(row) - _TARGET
    if more or not {"id", "start", "end"} <= set(row) or not isinstance(row["id"], str):
        told = f"unknown: {shorten(sorted(map(str, more)))}" if more else "expected id (text), start and end"
        raise InputError(f"targets: {told}")
    given = {key: _number(row, key) for key in sorted(_TARGET - {"id", "start", "end"}) if row.get(key) is not None}
    return LoadTarget(row["id"], _time(row, "start"), _time(row, "end"), **given)


def _number(body: Mapping[str, Any], key: str) -> float:
    value = body[key]
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InputError(f"{key}: expected a number (got {shorten(value)})")
    return found


def _time(body: Mapping[str, Any], key: str) -> float:
    value = body[key]
    if not isinstance(value, str):
        return _number(body, key)
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InputError(
            f"{key}: expected seconds since 1970 or a time like 2026-11-16T12:00:00Z (got {shorten(value)})"
        )
    return found.timestamp()


def _no_constant(name: str) -> float:
    raise ValueError(name)
