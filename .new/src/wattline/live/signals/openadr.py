"""A virtual end node (VEN) of OpenADR 2.0b: it asks its VTN for events, answers them, and keeps them as load targets.

openleadr speaks the protocol; what is asked when, and what comes of it, is decided here. It has a thread of its own, so
that a VTN that is slow or gone never holds up control: targets that are known stay, and the silence is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.signals.adr_events import PREFIX, AdrRules, Judged, created_s, judge, prefix_of
from wattline.live.signals.adr_wire import AdrWire, Why, need_openleadr, open_client
from wattline.live.signals.pushed import Pushed
from wattline.live.signals.stale import Change, State

USUAL_POLL_S, LEAST_POLL_S, MOST_POLL_S = 10.0, 0.1, 3600.0
MOST_MESSAGES = 8
"""Messages that are fetched in one turn."""
JUMP_S = 2.0
"""The wall's clock was set by more than this since the start: times of events are moved by it."""
TURN_S, CLOSE_S = 60.0, 5.0
"""Seconds that a turn may take in all, and that its end is waited for."""
TLS_END_S = 2.0
"""Seconds in which both sides of a TLS connection may say that it ends: aiohttp does not wait for that."""

Note = Callable[[Judged], None]


@dataclass(frozen=True)
class AdrSettings(AdrWire):
    """Where the VTN is, who we are, and how we keep to it."""

    poll_s: float | None = None
    """How often the VTN is asked; None: as it wishes."""
    silent_s: float = 60.0
    """A VTN that was not heard for so long is said to be silent."""
    missing: Literal["cancel", "keep"] = "cancel"
    """What becomes of an event that a list of the VTN does not have any more."""


class Ven:
    """Asks the VTN until it is closed."""

    def __init__(
        self,
        settings: AdrSettings,
        rules: AdrRules,
        pushed: Pushed,
        clock: Clock,
        *,
        say: Callable[[Change], None] | None = None,
        note: Note | None = None,
    ) -> None:
        need_openleadr()
        self._settings, self._rules, self._pushed, self._clock = settings, rules, pushed, clock
        self._say, self._note = say, note
        self._heard_s, self._began_s, self._state = -math.inf, clock.now_s(), "baseline"
        self._counts: dict[str, int] = {}
        self._told: dict[str, tuple[int, str, str]] = {}
        """What was said of each event: it comes again with every list."""
        self._synced = False
        self.why = Why()
        """What openleadr complained of last."""
        self._stop = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="openadr", daemon=True)
        self._thread.start()

    def age_s(self, now_s: float) -> float:
        """Return how long ago the VTN was heard; infinite if it never was."""
        return max(0.0, now_s - self._heard_s)

    def watch(self, now_s: float, limit_w: float) -> None:
        """Say where the VTN fell silent, and where it is heard again; to be called at each pass."""
        age_s = self.age_s(now_s)
        since_s = min(age_s, now_s - self._began_s)
        after: State = "fresh" if age_s <= self._settings.silent_s else "held"
        before: Any = self._state
        if after == before or (since_s <= self._settings.silent_s and after == "held"):
            return
        self._state = after
        if self._say is not None:
            self._say(Change(now_s, before, after, limit_w, age_s))

    def counts(self) -> dict[str, int]:
        """Return how often the VTN did not answer, and how many events were opted out of, by reason."""
        return dict(self._counts)

    def close(self) -> None:
        """Stop asking, whatever is being waited for; the VTN keeps us registered."""
        self._stop.set()
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(CLOSE_S)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            with contextlib.suppress(asyncio.CancelledError):
                asyncio.run(self._turns())
        except Exception as problem:  # the thread must not end in silence
            self._count("adr-ended")
            self.why.text = f"the VEN has ended: {problem!r}"

    async def _turns(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        logger = logging.getLogger("openleadr")
        logger.addHandler(self.why)
        logger.propagate = False
        client = open_client(self._settings)
        try:
            while not self._stop.is_set():
                try:
                    await asyncio.wait_for(self._turn(client), TURN_S)
                except Exception as problem:  # openleadr raises what it meets in an answer that it did not expect
                    self._unanswered(f"{type(problem).__name__}: {problem}")
                await asyncio.sleep(self._poll_s(client.poll_frequency))
        finally:
            await client.client_session.close()
            if self._settings.secure:
                await _connections_end(self._loop)
            logger.removeHandler(self.why)

    def _poll_s(self, wish: timedelta | None) -> float:
        wished_s = USUAL_POLL_S if wish is None else wish.total_seconds()
        poll_s = wished_s if self._settings.poll_s is None else self._settings.poll_s
        return min(max(poll_s, LEAST_POLL_S), MOST_POLL_S)

    async def _turn(self, client: Any) -> None:
        if client.registration_id is None:
            self._synced = False
            await client.create_party_registration(ven_id=client.ven_id)
            if client.registration_id is None:
                self._unanswered("the VTN did not register us")
                return
        for _ in range(MOST_MESSAGES):
            kind, payload = await (client.poll() if self._synced else client.request_event())
            if kind is None:
                self._unanswered("no answer")
                return
            if not await self._take(client, kind, payload):
                return

    async def _take(self, client: Any, kind: str, payload: Mapping[str, Any]) -> bool:
        """Do what a message asks; tell whether there may be more."""
        code = int((payload.get("response") or {}).get("response_code", 200))
        if code != 200:
            self._unanswered(f"the VTN answers {code}")
            client.registration_id = None
            return False
        self._heard_s, self.why.text = self._clock.now_s(), ""
        asked_all, self._synced = not self._synced, True
        if kind in ("oadrRequestReregistration", "oadrCancelPartyRegistration"):
            if kind == "oadrRequestReregistration":
                await client.send_response(service="EiRegisterParty")
            self._count("adr-unregistered")
            client.registration_id = None
            return False
        if kind == "oadrDistributeEvent":
            await self._events(client, payload)
            return True
        if kind not in ("oadrResponse", "oadrUpdatedReport"):
            self._count("adr-not-served")  # reports: the site offers none
        return asked_all

    async def _events(self, client: Any, payload: Mapping[str, Any]) -> None:
        events = [*(payload.get("events") or []), *client.bad_events]
        now_s, ahead_s = self._clock.now_s(), self._ahead_s()
        judged = [self._follow(judge(one, self._rules, now_s, ahead_s), now_s) for one in events]
        if self._settings.missing == "cancel" and all(one.event for one in judged):  # nobody knows whose that is
            listed = tuple(prefix_of(one.event) for one in judged)
            for target in self._pushed.targets():
                if target.id.startswith(PREFIX) and not target.id.startswith(listed):
                    self._pushed.replace_targets(target.id.rpartition(":")[0] + ":", (), now_s)
                    self._count("adr-implied-cancel")
        for event, found in zip(events, judged, strict=True):
            if created_s(event) - ahead_s > now_s + JUMP_S:
                self._count("adr-clock-ahead")
            if event.get("response_required", "always") == "always" and found.event:
                await client.created_event(payload.get("request_id"), found.event, found.opt, found.modification)

    def _follow(self, found: Judged, now_s: float) -> Judged:
        """Put an event into the schedule, whole or not at all; without targets it ends there."""
        try:
            self._pushed.replace_targets(prefix_of(found.event), found.targets, now_s)
        except InputError:
            self._pushed.replace_targets(prefix_of(found.event), (), now_s)
            found = Judged(found.event, found.modification, "optOut", why="schedule-full")
        told = (found.modification, found.opt, found.why)
        if self._told.get(found.event) != told:
            if len(self._told) >= 1024:
                self._told.clear()
            self._told[found.event] = told
            if found.opt == "optOut":
                self._count(f"adr-{found.why}")
            if self._note is not None:
                self._note(found)
        return found

    def _ahead_s(self) -> float:
        """Return how far the wall's clock, which events are told by, is ahead of the machine's."""
        jump_s = self._clock.wall_jump_s() if self._clock.speed == 1.0 else 0.0
        return float(round(jump_s)) if abs(jump_s) > JUMP_S else 0.0

    def _unanswered(self, why: str) -> None:
        self._synced = False
        self._count("adr-unanswered")
        self.why.text = self.why.text or why

    def _count(self, word: str) -> None:
        self._counts[word] = self._counts.get(word, 0) + 1


async def _connections_end(loop: Any) -> None:
    """Wait until a loop listens to nothing but itself: TLS connections end by an answer of the other side."""
    end_s = loop.time() + TLS_END_S
    while loop.time() < end_s and len(loop._selector.get_map()) > 1:
        await asyncio.sleep(0.01)
