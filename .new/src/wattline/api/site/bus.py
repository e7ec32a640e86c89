"""The bus of a controller, opened where it stands: leading, taking over, looking on, or only to let the machine go."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.api.site.plan import Planned
from wattline.errors import InputError, WattlineError

if TYPE_CHECKING:
    from wattline.live.bus.base import Bus
    from wattline.live.bus.inbox import Inbox
    from wattline.live.bus.names import Topics
    from wattline.live.clock import Clock
    from wattline.live.controller.leading.lease import Lease

WAIT_S = 3.0
"""Seconds for which a controller waits for an address that is just being let go of."""


def open_leading(planned: Planned, clock: Clock) -> Bus:
    """Open the bus as the one that leads; an address that is just being let go of is waited for."""
    until_s = time.monotonic() + WAIT_S
    return open_when_free(lambda: _open(planned, clock), lambda: time.monotonic() < until_s)


def open_taking_over(
    planned: Planned, clock: Clock, folder: Path, done: Callable[[], bool], patient: Callable[[str], None]
) -> Bus:
    """Take the log of facts from a controller that did not give up, and wait for the addresses that it still has."""
    from wattline.live.controller.journal.facts_log import take_from
    from wattline.live.controller.journal.replay import FACTS

    take_from(folder / FACTS)
    return open_when_free(lambda: _open(planned, clock), lambda: not done(), patient)


def open_looking_on(planned: Planned, clock: Clock, lease: Lease) -> Bus:
    """Open the bus of a dry run: beside whoever leads, or as the one that listens where nobody does."""
    from wattline.live.controller.leading.onlooker import Onlooker

    return Onlooker(lease.is_held, lambda: _open(planned, clock, beside=True), lambda: _open(planned, clock))


def _open(planned: Planned, clock: Clock, *, beside: bool = False) -> Bus:
    from wattline.live.bus.open import open_bus
    from wattline.live.controller.config import bus_settings

    spec = planned.spec
    return open_bus(bus_settings(planned.path, spec), "controller", spec.name, clock, beside=beside)


def open_when_free(
    opens: Callable[[], Bus], go_on: Callable[[], bool], patient: Callable[[str], None] = lambda _: None
) -> Bus:
    """Open the bus; an address that the controller before still has is waited for."""
    from wattline.live.notify import notify

    said = False
    while True:
        try:
            return opens()
        except InputError as problem:
            if "in use" not in str(problem) or not go_on():
                raise
            if not said:
                patient(str(problem))
                said = True
        notify().alive()  # whoever waits is well
        time.sleep(0.1)


def open_any(planned: Planned, clock: Clock) -> tuple[str, Bus]:
    """Open the bus as a controller of the site whose key is here and whose address is free: one that hangs keeps its
    own. Return as whom.
    """
    from wattline.live.bus.open import open_bus
    from wattline.live.controller.config import bus_settings

    spec = planned.spec
    names = sorted({spec.name, *bus_settings(planned.path, spec).controllers}, key=lambda name: name != spec.name)
    problems: list[WattlineError] = []
    for name in names:
        until_s = time.monotonic() + WAIT_S
        try:
            settings = bus_settings(planned.path, spec.model_copy(update={"name": name}))
            return name, open_when_free(
                lambda: open_bus(settings, "controller", name, clock),  # noqa: B023  (called at once)
                lambda: time.monotonic() < until_s,  # noqa: B023
            )
        except WattlineError as problem:  # a host has the key of its own controller alone
            problems.append(problem)
    raise problems[0]


def make_inbox(planned: Planned, topics: Topics, clock: Clock) -> Inbox:
    """Return what looks at every message; on a fast clock messages are older by machine time."""
    from wattline.live.bus.inbox import Inbox

    oldest_s, ahead_s = max(10.0, 2.0 * clock.speed), 5.0 + clock.speed
    return Inbox(topics, clock, nodes=planned.names, oldest_s=oldest_s, ahead_s=ahead_s)
