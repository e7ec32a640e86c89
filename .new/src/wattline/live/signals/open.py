"""All signals of a site together: what regulation asks for now, and the lowest limit that holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.secret import read_token
from wattline.live.signals.base import Source
from wattline.live.signals.file import read_replay
from wattline.live.signals.http import Door
from wattline.live.signals.pushed import Pushed
from wattline.live.signals.schedule import LoadTarget, Schedule
from wattline.live.signals.stale import Change, Now, Rules, Trusted

if TYPE_CHECKING:
    from wattline.live.signals.adr_events import AdrRules
    from wattline.live.signals.openadr import AdrSettings, Note, Ven

PORT = 8470


@dataclass(frozen=True)
class SignalSettings:
    """Where a site's signals come from."""

    limit_w: float
    """The site's own limit: the base of load targets, and the baseline of pushed limits."""
    least_w: float = 0.0
    """No limit is lower: what the machine needs at least."""
    y: Literal["none", "file", "pushed"] = "none"
    rules: Rules = field(default_factory=Rules)
    file: Path | None = None
    column: str | None = None
    step_s: float | None = None
    """Seconds between the values of a file without times."""
    start_s: float = math.nan
    """Machine time at which a file begins to play; now without one."""
    skip_s: float = 0.0
    loop: bool = False
    limit_stale_s: float = 60.0
    limit_hold_s: float = 300.0
    limit_ramp_s: float = 60.0
    token: Path | None = None
    """File of the token for pushes by HTTP; no door without it."""
    host: str = "127.0.0.1"
    port: int = PORT
    openadr: tuple[AdrSettings, AdrRules] | None = None
    """The VTN whose events are load targets, and how they are understood."""


@dataclass(frozen=True)
class SignalsNow:
    """What the site is asked for now."""

    y: Now | None
    """None where the site follows no regulation signal."""
    limit_w: float
    """The lowest: of the site, of what was pushed, of the load targets."""
    pushed_limit: Now
    targets_w: float
    """The limit of the load targets alone."""


class Signals:
    """The open sources of a site. ``notes`` tell what was repaired in a recorded file.

    ``say`` is told of each change of state, with ``y``, ``limit`` or ``openadr`` before it; ``note`` of each event of
    OpenADR, when it comes and when it changes. ``patient`` is told that another program has the door's address; it is
    then waited for.
    """

    def __init__(
        self,
        settings: SignalSettings,
        clock: Clock,
        say: Callable[[str, Change], None] | None = None,
        note: Note | None = None,
        patient: Callable[[str], None] | None = None,
    ) -> None:
        tell = say or (lambda _what, _change: None)
        self.settings = settings
        self.notes: tuple[str, ...] = ()
        self.pushed = Pushed(
            Schedule(settings.limit_w, least_w=settings.least_w),
            future_s=settings.rules.future_s,
            follows_y=settings.y == "pushed",
        )
        source: Source | None = self.pushed.y if settings.y == "pushed" else None
        if settings.y == "file":
            source, self.notes = self._replay(clock)
        self._y = None if source is None else Trusted(source, settings.rules, lambda change: tell("y", change))
        self._limit = Trusted(self.pushed.limit, self._limit_rules(), lambda change: tell("limit", change))
        self._door: Door | None = None
        if settings.token is not None:
            token = read_token(settings.token)
            self._door = Door(self.pushed, clock, token, host=settings.host, port=settings.port, patient=patient)
        self.port = 0 if self._door is None else self._door.port
        self._ven = None if settings.openadr is None else self._open_ven(clock, tell, note)

    def now(self, now_s: float) -> SignalsNow:
        """Return what is asked for; to be called at each pass."""
        y = None if self._y is None else self._y.now(now_s)
        limit = self._limit.now(now_s)
        targets_w = self.pushed.limit_at(now_s)
        if self._ven is not None:
            self._ven.watch(now_s, targets_w)
        return SignalsNow(y, min(self.settings.limit_w, limit.value, targets_w), limit, targets_w)

    def take_message(self, body: Mapping[str, Any], at_s: float, now_s: float) -> str | None:
        """Take the body of a message of the bus that was sent at a time; return why it is refused, or None."""
        return self.pushed.take({**body, "at": at_s}, now_s)

    def targets(self) -> list[LoadTarget]:
        """Return the load targets that are known."""
        return self.pushed.targets()

    def problems(self) -> dict[str, int]:
        """Return how much was refused or limited since the start, by reason."""
        found = self.pushed.counts() | ({} if self._ven is None else self._ven.counts())
        for trusted in (self._y, self._limit):
            for reason, count in ({} if trusted is None else trusted.problems()).items():
                found[reason] = found.get(reason, 0) + count
        return found

    def to_data(self) -> dict[str, Any]:
        """Return what must survive a restart as plain values: load targets, and where the signals are."""
        y = {} if self._y is None else self._y.to_data()
        return {"targets": self.pushed.to_data(), "y": y, "limit": self._limit.to_data()}

    def restore(self, data: Mapping[str, Any], now_s: float) -> None:
        """Take up what ``to_data`` returned: a restart is no gap in the signal."""
        self.pushed.restore(data.get("targets", {}))
        self._limit.restore(data.get("limit", {}), now_s)
        if self._y is not None:
            self._y.restore(data.get("y", {}), now_s)

    def vtn(self) -> str:
        """Return what the VTN was last blamed for; nothing where it answers."""
        return "" if self._ven is None else self._ven.why.text

    def vtn_age_s(self, now_s: float) -> float:
        """Return how long ago the VTN answered (NaN: there is none)."""
        return math.nan if self._ven is None else self._ven.age_s(now_s)

    def close(self) -> None:
        """Close the door, and let the VTN go."""
        if self._door is not None:
            self._door.close()
        if self._ven is not None:
            self._ven.close()

    def _open_ven(self, clock: Clock, tell: Callable[[str, Change], None], note: Note | None) -> Ven:
        from wattline.live.signals.openadr import Ven

        assert self.settings.openadr is not None  # noqa: S101  (asked by the caller)
        adr, rules = self.settings.openadr
        return Ven(adr, rules, self.pushed, clock, say=lambda change: tell("openadr", change), note=note)

    def _replay(self, clock: Clock) -> tuple[Source, tuple[str, ...]]:
        settings = self.settings
        if settings.file is None:
            raise InputError("signal: file: is missing, and the signal is to come from a file")
        start_s = clock.now_s() if math.isnan(settings.start_s) else settings.start_s
        return read_replay(
            settings.file,
            start_s=start_s,
            skip_s=settings.skip_s,
            column=settings.column,
            step_s=settings.step_s,
            loop=settings.loop,
        )

    def _limit_rules(self) -> Rules:
        settings = self.settings
        return replace(
            Rules(least=settings.least_w, most=settings.limit_w, baseline=settings.limit_w),
            stale_s=settings.limit_stale_s,
            hold_s=settings.limit_hold_s,
            ramp_s=settings.limit_ramp_s,
            back="at once",
            future_s=settings.rules.future_s,
        )
