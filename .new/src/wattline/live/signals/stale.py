"""A signal that may be trusted: each sample judged and aged; without new ones the value is held, then led to a
baseline.

::

    fresh ──(no sample for stale_s)──▶ held ──(hold_s more)──▶ ramping ──(ramp_s more)──▶ baseline
      ▲                                 │                          │                         │
      └───────── a good sample ─────────┴── ramping back (ramp_s), or at once (back) ────────┘
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wattline.errors import InputError
from wattline.live.signals.base import Sample, Source

State = Literal["fresh", "held", "ramping", "baseline"]
STATES: tuple[State, ...] = ("fresh", "held", "ramping", "baseline")
REASONS = ("not-a-number", "out-of-range", "of-the-future", "out-of-order", "too-old", "jump")
"""Why a sample is refused; a jump may be limited instead, and is counted all the same."""


@dataclass(frozen=True)
class Rules:
    """What is believed of a signal, and what follows when it stops."""

    least: float = -1.0
    most: float = 1.0
    baseline: float = 0.0
    """Where it goes when nobody says anything: y = 0, or the limit in watts that was agreed on."""
    stale_s: float = 10.0
    """Age from which a sample is stale."""
    hold_s: float = 30.0
    """How long a stale value is held."""
    ramp_s: float = 60.0
    """How long the way to the baseline takes, and the way back."""
    back: Literal["ramp", "at once"] = "ramp"
    """How a signal that comes back is taken up, once its value was left."""
    future_s: float = 2.0
    """How far a sample's time may lie ahead of the machine's clock; it counts as of now then."""
    jump: float = math.inf
    """Largest change from one sample to the next."""
    jumps: Literal["limit", "refuse"] = "limit"
    """Larger ones: moved only so far, or refused until ``confirm`` samples in a row agree."""
    confirm: int = 3

    def __post_init__(self) -> None:
        if not -math.inf < self.least < self.most < math.inf:
            raise InputError(f"signal: range must go from a number to a larger one (got {self.least} to {self.most})")
        if not self.least <= self.baseline <= self.most:
            raise InputError(f"signal: baseline {self.baseline:g} lies outside {self.least:g} to {self.most:g}")
        for name, lowest in (("stale_s", 1e-9), ("hold_s", 0.0), ("ramp_s", 0.0), ("future_s", 0.0)):
            if not lowest <= getattr(self, name) < math.inf:
                raise InputError(f"signal: {name} must be {'above' if lowest else 'at least'} 0 s")
        if not self.jump > 0.0:
            raise InputError(f"signal: jump must be above 0 (got {self.jump})")
        if self.confirm < 1:
            raise InputError(f"signal: confirm must be at least 1 sample (got {self.confirm})")
        if self.back not in ("ramp", "at once") or self.jumps not in ("limit", "refuse"):
            raise InputError(f"signal: back is 'ramp' or 'at once', jumps 'limit' or 'refuse' (got {self.back!r})")


@dataclass(frozen=True)
class Now:
    """What the controller follows now."""

    value: float
    age_s: float
    """Of the last good sample; infinite before the first."""
    state: State


@dataclass(frozen=True)
class Change:
    """The state has changed; said once."""

    time_s: float
    before: State
    after: State
    value: float
    age_s: float


class Trusted:
    """A source behind rules. ``at`` depends on the good samples and the time alone, not on how often it is asked."""

    def __init__(self, source: Source, rules: Rules, say: Callable[[Change], None] | None = None) -> None:
        self.rules, self._source, self._say = rules, source, say
        self._value, self._time_s = rules.baseline, -math.inf
        """The last good value after limiting, and when it was true (now at the latest)."""
        self._said_s = -math.inf
        """Latest time of a sample as its sender had it, good or not."""
        self._judged: tuple[float | None, float | None] | None = None
        self._verdict: str | None = None
        self._from, self._from_s, self._until_s = rules.baseline, 0.0, -math.inf
        """The way back: from this value at this time until that time."""
        self._state: State = "baseline"
        self._refused: dict[str, int] = {}
        self._odd: list[float] = []

    def now(self, now_s: float) -> Now:
        """Ask the source, judge what it says, and return what to follow; a change of state is said."""
        sample = self._source.last(now_s)
        if sample is not None:
            self.take(sample, now_s)
        found = self.at(now_s)
        if found.state != self._state:
            change = Change(now_s, self._state, found.state, found.value, found.age_s)
            self._state = found.state
            if self._say is not None:
                self._say(change)
        return found

    def take(self, sample: Sample, now_s: float) -> str | None:
        """Judge a sample; return why it was refused. The one that was judged last is passed over.

        One of the future is judged again each time, and counted once: it may be taken when its time has come.
        """
        judged = (_number(sample.time_s), _number(sample.value))
        again = judged == self._judged
        if again and self._verdict != "of-the-future":
            return None
        before = self.at(now_s)
        reason, value = self._wrong(sample, now_s), sample.value
        if reason is None and before.age_s <= self.rules.stale_s + self.rules.hold_s:
            reason, value = self._without_jump(sample.value)
        self._judged, self._verdict = judged, reason
        if reason != "of-the-future" and sample.time_s > self._said_s:
            self._said_s = sample.time_s
        if reason is not None:
            return reason if again else self._count(reason)
        self._odd = []
        self._on_the_way(before, now_s)
        self._value, self._time_s = value, min(sample.time_s, now_s)
        return None

    def at(self, now_s: float) -> Now:
        """Return value, age and state at a time that is not before the last good sample was taken."""
        rules = self.rules
        age_s = max(0.0, now_s - self._time_s)
        over_s = age_s - rules.stale_s - rules.hold_s
        if age_s <= rules.stale_s:
            way = self._way(now_s)
            return Now(way, age_s, "fresh" if now_s >= self._until_s else "ramping")
        held = self._way(self._time_s + rules.stale_s)
        if over_s <= 0.0:
            return Now(held, age_s, "held")
        if over_s < rules.ramp_s:
            return Now(self._between(held, rules.baseline, over_s / rules.ramp_s), age_s, "ramping")
        return Now(rules.baseline, age_s, "baseline")

    def problems(self) -> dict[str, int]:
        """Return how many samples were refused or limited, by reason: here, and where they came in."""
        found = dict(self._source.problems())
        for reason, count in self._refused.items():
            found[reason] = found.get(reason, 0) + count
        return found

    def to_data(self) -> dict[str, float]:
        """Return where the value is, to be kept over a restart; nothing before the first good sample."""
        if math.isinf(self._time_s):
            return {}
        kept = {"value": self._value, "time_s": self._time_s, "said_s": self._said_s}
        if not math.isinf(self._until_s):
            kept |= {"from": self._from, "from_s": self._from_s, "until_s": self._until_s}
        return kept

    def restore(self, data: Mapping[str, Any], now_s: float) -> None:
        """Go on where another stood when ``to_data`` was called, if that makes sense under these rules and now."""
        rules = self.rules
        try:
            kept = {name: float(value) for name, value in data.items()}
            levels = [kept["value"], kept.get("from", rules.baseline)]
            times = [kept["time_s"], kept["said_s"] - rules.future_s, kept.get("from_s", now_s)]
            good = all(map(math.isfinite, kept.values())) and ("from" in kept) == ("from_s" in kept) == (
                "until_s" in kept
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            return
        if not good or max(times) > now_s or not all(rules.least <= level <= rules.most for level in levels):
            return
        self._value, self._time_s, self._said_s = kept["value"], kept["time_s"], kept["said_s"]
        if "from" in kept and kept["from_s"] < kept["until_s"] <= now_s + rules.ramp_s:
            self._from, self._from_s, self._until_s = kept["from"], kept["from_s"], kept["until_s"]

    def close(self) -> None:
        """Let go of the source."""
        self._source.close()

    def _wrong(self, sample: Sample, now_s: float) -> str | None:
        rules = self.rules
        if not (math.isfinite(sample.value) and math.isfinite(sample.time_s)):
            return "not-a-number"
        if not rules.least <= sample.value <= rules.most:
            return "out-of-range"
        if sample.time_s > now_s + rules.future_s:
            return "of-the-future"
        if sample.time_s <= self._said_s:
            return "out-of-order"
        return "too-old" if now_s - sample.time_s > rules.stale_s else None

    def _without_jump(self, value: float) -> tuple[str | None, float]:
        """Return a value that is no jump from the one before: limited, or a reason to refuse it."""
        jump = self.rules.jump
        if abs(value - self._value) <= jump:
            return None, value
        if self.rules.jumps == "limit":
            self._count("jump")
            return None, self._value + math.copysign(jump, value - self._value)
        self._odd = [*(odd for odd in self._odd if abs(odd - value) <= jump), value]
        return (None, value) if len(self._odd) >= self.rules.confirm else ("jump", value)

    def _on_the_way(self, before: Now, now_s: float) -> None:
        """Set out from where the value is now, if it was left or is still on its way back."""
        rules = self.rules
        if rules.back == "at once":
            return
        silent = before.age_s > rules.stale_s
        if not silent and now_s < self._until_s:
            self._from, self._from_s = before.value, now_s  # and arrives when it would have
        elif before.state in ("ramping", "baseline") or (silent and self._until_s > self._time_s + rules.stale_s):
            self._from, self._from_s, self._until_s = before.value, now_s, now_s + rules.ramp_s

    def _way(self, time_s: float) -> float:
        """Return the value of the good samples at a time, on its way back or arrived."""
        if time_s >= self._until_s:
            return self._value
        part = (time_s - self._from_s) / (self._until_s - self._from_s)
        return self._between(self._from, self._value, part)

    def _between(self, one: float, other: float, part: float) -> float:
        """Return a point on the way between two values, never beyond either."""
        found = one + (other - one) * min(1.0, max(0.0, part))
        return min(max(found, min(one, other)), max(one, other))

    def _count(self, reason: str) -> str:
        self._refused[reason] = self._refused.get(reason, 0) + 1
        return reason


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
