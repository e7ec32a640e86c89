"""What the grid and operators ask a controller by, opened: files, the signal's door, and the VTN of OpenADR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from wattline.api.site.plan import Planned, site_limit_w

if TYPE_CHECKING:
    from wattline.live.clock import Clock
    from wattline.live.signals.adr_events import AdrRules, Judged
    from wattline.live.signals.open import Signals
    from wattline.live.signals.openadr import AdrSettings
    from wattline.live.signals.stale import Change
    from wattline.live.watch.logs import Log


def open_signals(
    planned: Planned, clock: Clock, log: Log, patient: Callable[[str], None] | None, *, listens: bool
) -> Signals:
    """Open what the grid and operators ask by; changes of state are logged. Who only looks on does not answer a VTN."""
    from wattline.live.controller.config import signal_door
    from wattline.live.secret import handed_over
    from wattline.live.signals.open import Signals, SignalSettings
    from wattline.live.signals.stale import Rules

    spec, base = planned.spec, planned.base
    rules = Rules(stale_s=spec.signal.stale, hold_s=spec.signal.hold, ramp_s=spec.signal.ramp, back=spec.signal.back)
    host, port = signal_door(spec)

    def say(what: str, change: Change) -> None:
        why = {"why": signals.vtn()} if what == "openadr" and change.after != "fresh" else {}
        log.say("signal", "warning", what=what, before=change.before, after=change.after, **why)

    def note(found: Judged) -> None:
        level = "info" if found.opt == "optIn" else "warning"
        log.say("openadr", level, id=found.event, change=found.modification, opt=found.opt, why=found.why or "followed")

    signals = Signals(
        SignalSettings(
            limit_w=site_limit_w(planned),
            least_w=spec.signal.least,
            y=spec.signal.y,
            rules=rules,
            file=None if spec.signal.file is None else base / spec.signal.file,
            column=spec.signal.column,
            step_s=spec.signal.step,
            skip_s=spec.signal.skip,
            start_s=math.nan if spec.signal.start is None else spec.signal.start,
            loop=spec.signal.loop,
            token=None if spec.signal.token is None or not listens else handed_over(base / spec.signal.token),
            host=host,
            port=port,
            openadr=_adr(planned) if listens else None,
        ),
        clock,
        say,
        note,
        patient,
    )
    return signals


def _adr(planned: Planned) -> tuple[AdrSettings, AdrRules] | None:
    """Return the VTN of the site and how its events are understood."""
    from wattline.live.controller.config import adr_levels, adr_settings
    from wattline.live.signals.adr_events import AdrRules

    spec, settings = planned.spec.openadr, adr_settings(planned.path, planned.spec)
    if spec is None or settings is None:
        return None
    base_w = site_limit_w(planned)
    rules = AdrRules(
        base_w,
        planned.spec.signal.least,
        adr_levels(planned.path, planned.spec, base_w),
        spec.baseline,
        spec.longest,
        take=spec.opt == "auto",
    )
    return settings, rules
