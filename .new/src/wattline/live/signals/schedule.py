"""Limits that are known ahead: load targets with a start, an end and a ramp, and the exact limit at any time.

Each target has a limit of its own over time: from its start it goes from the base (the limit without targets) to the
target's watts along its ramp, stays there, and from its end it goes back to the base along a ramp of the same kind.
**Where several targets hold, the lowest limit counts.** A target that comes after its start begins now, one that is
changed goes on from where it is, and one that is cancelled ends now: the limit never jumps unless a target has no ramp.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wattline.errors import InputError, shorten
from wattline.units import in_full

MOST = 256
"""Targets at a time."""
LONGEST_ID = 64


@dataclass(frozen=True)
class LoadTarget:
    """A limit from ``start_s`` to ``end_s``: in watts, or in per cent of the base; its ramp in W/s or in seconds."""

    id: str
    start_s: float
    end_s: float
    limit_w: float | None = None
    percent: float | None = None
    ramp_w_per_s: float | None = None
    ramp_s: float | None = None
    """How long each way takes, to the limit and back."""
    back_s: float | None = None
    """How long the way back takes, where it is another."""

    def __post_init__(self) -> None:
        if not (self.id and self.id.isprintable() and len(self.id) <= LONGEST_ID):
            raise InputError(f"load target: id must be 1 to {LONGEST_ID} printable characters (got {shorten(self.id)})")
        if not (math.isfinite(self.start_s) and self.start_s < self.end_s < math.inf):
            raise self._wrong(f"end must be after start (got {self.start_s} to {self.end_s})")
        if (self.limit_w is None) == (self.percent is None):
            raise self._wrong("give either limit_w or percent")
        for name in ("limit_w", "percent"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < math.inf:
                raise self._wrong(f"{name} must be at least 0 (got {value})")
        if self.ramp_w_per_s is not None and self.ramp_s is not None:
            raise self._wrong("give either ramp_w_per_s or ramp_s")
        if self.ramp_w_per_s is not None and not 0.0 < self.ramp_w_per_s < math.inf:
            raise self._wrong(f"ramp_w_per_s must be above 0 (got {self.ramp_w_per_s})")
        for name in ("ramp_s", "back_s"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < math.inf:
                raise self._wrong(f"{name} must be at least 0 (got {value})")

    def _wrong(self, problem: str) -> InputError:
        return InputError(f"load target {self.id!r}: {problem}")

    def watts(self, base_w: float) -> float:
        """Return its limit."""
        return self.limit_w if self.limit_w is not None else base_w * (self.percent or 0.0) / 100.0

    def way_s(self, way_w: float) -> float:
        """Return how long its ramp takes for so many watts; 0 without a ramp."""
        if self.ramp_w_per_s is not None:
            return abs(way_w) / self.ramp_w_per_s
        return self.ramp_s or 0.0


@dataclass(frozen=True)
class _Held:
    """A target and how it goes: points in time and watts, straight between them; before and after, the base."""

    target: LoadTarget
    points: tuple[tuple[float, float], ...]

    def limit_at(self, time_s: float, base_w: float) -> float:
        points = self.points
        if time_s < points[0][0] or time_s >= points[-1][0]:
            return base_w
        last = max(k for k in range(len(points)) if points[k][0] <= time_s)  # of several at one time the last counts
        (begin_s, begin_w), (end_s, end_w) = points[last], points[last + 1]
        found = begin_w + (end_w - begin_w) * ((time_s - begin_s) / (end_s - begin_s))
        return min(max(found, min(begin_w, end_w)), max(begin_w, end_w))


class Schedule:
    """Load targets by id, under a base limit.

    Parameters
    ----------
    base_w
        The limit without targets; per cents are of it.
    least_w
        The lowest limit that a target may ask for: what the machine needs at least.
    """

    def __init__(self, base_w: float, *, least_w: float = 0.0) -> None:
        if not 0.0 <= least_w <= base_w < math.inf or base_w == 0.0:
            raise InputError(f"load targets: base must be a power above 0 and the least (got {base_w}, {least_w})")
        self.base_w, self.least_w = base_w, least_w
        self._held: dict[str, _Held] = {}
        self._leaving: list[_Held] = []
        """Targets that were cancelled and go back to the base."""

    def limit_at(self, time_s: float) -> float:
        """Return the limit in watts at a time; exact, straight between the times that ``next_change_s`` tells."""
        return min((held.limit_at(time_s, self.base_w) for held in self._all()), default=self.base_w)

    def next_change_s(self, time_s: float) -> float:
        """Return when some target begins, ends, or begins or ends its ramp next; infinite if none does."""
        return min((at for held in self._all() for at, _ in held.points if at > time_s), default=math.inf)

    def put(self, target: LoadTarget, now_s: float) -> None:
        """Add a target, or change the one of the same id from now on."""
        self._refuse(target, now_s)
        self.forget(now_s)
        before = self._held.get(target.id)
        if before is None and len(self._held) >= MOST:
            raise InputError(f"load target {target.id!r}: there are {MOST} targets already, cancel one first")
        if len(self._held) + len(self._leaving) >= 2 * MOST:
            raise InputError(f"load target {target.id!r}: too many targets are on their way back to the base")
        running = before is not None and before.points[0][0] <= now_s
        from_w = self.base_w
        if before is not None and running and target.start_s <= now_s:
            from_w = before.limit_at(now_s, self.base_w)
        elif before is not None and running:
            self._leave(before, now_s)  # it goes back until the new one starts, or longer
        self._held[target.id] = _Held(target, self._points(target, max(target.start_s, now_s), from_w))

    def cancel(self, target_id: str, now_s: float) -> bool:
        """End a target now, or forget one that has not begun; return False where there is none of this id."""
        self.forget(now_s)
        held = self._held.pop(target_id, None)
        if held is not None and held.points[0][0] <= now_s:
            self._leave(held, now_s)
        return held is not None

    def forget(self, now_s: float) -> None:
        """Drop targets that have gone back to the base."""
        self._held = {name: held for name, held in self._held.items() if held.points[-1][0] > now_s}
        self._leaving = [held for held in self._leaving if held.points[-1][0] > now_s]

    def targets(self) -> list[LoadTarget]:
        """Return the targets that are known, in order of their starts."""
        return sorted((held.target for held in self._held.values()), key=lambda target: (target.start_s, target.id))

    def copy(self) -> Schedule:
        """Return a schedule that changes apart from this one."""
        other = Schedule(self.base_w, least_w=self.least_w)
        other.become(self)
        return other

    def become(self, other: Schedule) -> None:
        """Hold the targets of another schedule of the same base, and no others."""
        self._held, self._leaving = dict(other._held), list(other._leaving)

    def to_data(self) -> dict[str, Any]:
        """Return all of it as plain values, to be kept over a restart."""
        kept = [[asdict(held.target), held.points] for held in self._held.values()]
        return {"held": kept, "leaving": [[asdict(held.target), held.points] for held in self._leaving]}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take up what ``to_data`` returned."""

        def read(rows: Any) -> list[_Held]:
            return [
                _Held(LoadTarget(**target), tuple((float(at), float(watts)) for at, watts in points))
                for target, points in rows
            ]

        try:
            held, leaving = read(data["held"]), read(data["leaving"])
        except (KeyError, TypeError, ValueError) as problem:
            raise InputError(f"load targets that were kept cannot be read ({problem})") from None
        self._held, self._leaving = {one.target.id: one for one in held}, leaving

    def _all(self) -> list[_Held]:
        return [*self._held.values(), *self._leaving]

    def _refuse(self, target: LoadTarget, now_s: float) -> None:
        limit_w = target.watts(self.base_w)
        if target.end_s <= now_s:
            raise InputError(f"load target {target.id!r}: it is over already (end {target.end_s:.10g})")
        if limit_w > self.base_w:
            raise InputError(
                f"load target {target.id!r}: {in_full(limit_w)} W is above the base of {in_full(self.base_w)} W"
            )
        if limit_w < self.least_w:
            raise InputError(
                f"load target {target.id!r}: {in_full(limit_w)} W is below the least of {in_full(self.least_w)} W"
            )

    def _points(self, target: LoadTarget, start_s: float, from_w: float) -> tuple[tuple[float, float], ...]:
        """Return how a target goes that starts at a time and at a power."""
        limit_w = target.watts(self.base_w)
        arrives_s = start_s + target.way_s(from_w - limit_w)
        points = [(start_s, from_w)]
        at_end_w = limit_w
        if arrives_s <= target.end_s:
            points.append((arrives_s, limit_w))
        else:  # it turns back before it has arrived
            at_end_w = from_w + (limit_w - from_w) * ((target.end_s - start_s) / (arrives_s - start_s))
        return (*points, (target.end_s, at_end_w), self._back(target, target.end_s, at_end_w))

    def _back(self, target: LoadTarget, from_s: float, from_w: float) -> tuple[float, float]:
        way_s = target.way_s(self.base_w - from_w) if target.back_s is None else target.back_s
        return from_s + way_s, self.base_w

    def _leave(self, held: _Held, now_s: float) -> None:
        """Let a target that holds go back to the base from now on."""
        at_w = held.limit_at(now_s, self.base_w)
        over = now_s >= held.target.end_s  # it goes back already
        points = held.points if over else ((now_s, at_w), self._back(held.target, now_s, at_w))
        self._leaving.append(_Held(held.target, points))
