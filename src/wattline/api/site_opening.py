"""A controller opened, part by part: bus, journal, state, resource manager, signals and guard."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.api.site_plan import Planned, most_w, site_limit_w
from wattline.errors import InputError, WattlineError
from wattline.files import write_whole

if TYPE_CHECKING:
    from wattline.live.bus.base import Bus
    from wattline.live.bus.inbox import Inbox
    from wattline.live.bus.names import Topics
    from wattline.live.clock import Clock
    from wattline.live.controller.config import SiteSpec
    from wattline.live.controller.controller import BidStep
    from wattline.live.controller.journal.folder import LiveJournal
    from wattline.live.controller.leading.lease import Lease
    from wattline.live.controller.serve import Site
    from wattline.live.controller.wanted.guard import Guard
    from wattline.live.signals.adr_events import AdrRules, Judged
    from wattline.live.signals.open import Signals
    from wattline.live.signals.openadr import AdrSettings
    from wattline.live.signals.stale import Change
    from wattline.live.watch.logs import Log
    from wattline.live.watch.metrics import Metrics
    from wattline.model.regulation import Bidding, Signal
    from wattline.wiring.bound import Bound

DRY_RUN = "dry-run"
"""Folder of the journals of dry runs, and part of the names of their files."""
KEPT_PERIODS = 4
"""Periods of bids of which a state has room for the signal: a policy looks at the one that ends."""
DAY_S = 86400.0
WAIT_S = 3.0
"""Seconds for which a controller waits for an address that is just being let go of."""


def make_bound(planned: Planned) -> Bound:
    """Return the state of the machine before anything is known of its jobs, with the policies bound to it."""
    import numpy as np

    from wattline.model.jobs import JobTable
    from wattline.wiring.bound import Bound

    spec, study = planned.spec, planned.study
    bidding = None if spec.bid is not None else study.options.bidding
    options = replace(
        study.options,
        signal=None if bidding is None else _blank_signal(bidding, spec.control.period),
        bids=(),
        bidding=None if bidding is None else replace(bidding, first_s=0.0, until_s=math.inf),
        limit_w=(),
        start_s=0.0,
        until_s=math.inf,
        tick_s=spec.control.period,
        spare_rows=spec.control.rows,
        outside=True,
        late_start_s=(0.0, spec.control.start_late),
        late_cap_s=(0.0, 0.0),  # the machine is late by itself
        noise=0.0,
        timeline=True,
        placements=True,
        decisions=True,
    )
    nobody = JobTable.build(submit_s=np.zeros(0), work_s=np.zeros(0), nodes=np.zeros(0, dtype=np.int64))
    return Bound(nobody, study.cluster, study.policies, options, seed=study.seed)


def _blank_signal(bidding: Bidding, step_s: float) -> Signal:
    """Return room for what is heard of the signal in the last periods of bids."""
    import numpy as np

    from wattline.model.regulation import Signal

    return Signal(0.0, step_s, np.zeros(KEPT_PERIODS * max(2, math.ceil(bidding.every_s / step_s))))


def open_site(
    planned: Planned,
    clock: Clock,
    log: Log,
    lease: Lease,
    done: Callable[[], bool],
    *,
    dry_run: bool = False,
    metrics: Metrics | None = None,
) -> Site:
    """Open everything that a controller needs; its run goes on where its folder has one.

    A dry run stands beside whoever leads: it listens nowhere, tells no metrics and has a folder of its own. Whoever
    takes over from a controller that did not give up waits for the addresses that it still has.
    """
    import numpy as np

    from wattline.control.facts import PERIODS
    from wattline.live.bus.messages import Outbox
    from wattline.live.bus.names import Topics
    from wattline.live.bus.open import open_bus
    from wattline.live.controller.config import bus_settings
    from wattline.live.controller.controller import Controller, Periods
    from wattline.live.controller.journal.facts_log import take_from
    from wattline.live.controller.journal.folder import Keeping, LiveJournal
    from wattline.live.controller.journal.replay import FACTS
    from wattline.live.controller.journal.setup import describe, rebuild
    from wattline.live.controller.leading.onlooker import Onlooker
    from wattline.live.controller.managers import open_manager
    from wattline.live.controller.seen.meters import Meters
    from wattline.live.controller.seen.mirror import Mirror
    from wattline.live.controller.seen.nodes import NodeNames
    from wattline.live.controller.serve import Site
    from wattline.live.controller.wanted.caps import CapSender
    from wattline.live.controller.wanted.reconcile import Patience, Reconciler
    from wattline.live.watch.metrics import NoMetrics
    from wattline.live.watch.socket import StatusServer, default_socket
    from wattline.wiring.newcomers import Desk

    spec, base, study, control = planned.spec, planned.base, planned.study, planned.spec.control
    folder = base / spec.journal.dir
    if dry_run:
        folder = folder / DRY_RUN / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"

    def patient(text: str) -> None:
        log.say("waits-for-address", "warning", text=text)

    def opens(*, beside: bool = False) -> Bus:
        return open_bus(bus_settings(planned.path, spec), "controller", spec.name, clock, beside=beside)

    bus: Bus
    if dry_run:
        bus = Onlooker(lease.is_held, lambda: opens(beside=True), opens)
    elif lease.after:
        take_from(folder / FACTS)
        bus = _open_when_free(opens, lambda: not done(), patient)
    else:
        until_s = time.monotonic() + WAIT_S
        bus = _open_when_free(opens, lambda: time.monotonic() < until_s)
    topics = Topics(spec.site)
    for topic in topics.reads("controller", spec.name):
        bus.subscribe(topic)
    start = {
        "name": study.name,
        "site": planned.path.read_text(encoding="utf-8"),
        "seed": study.seed,
        "nodes": list(planned.names),
        "setup": describe(make_bound(planned)),
    }
    keeping = Keeping(spec.journal.checkpoint, spec.journal.seal, spec.journal.keep_files)
    journal = LiveJournal(
        folder,
        start,
        rebuild,
        keeping=keeping,
        say=lambda text: log.say("journal", "warning", text=text),
    )
    ledger = journal.ledger
    nodes = NodeNames(planned.names)
    epoch_s = _epoch_s(folder / "epoch", clock, journal)
    if journal.recovered is None and ledger.bound.options.bidding is not None:
        ledger.tell(PERIODS, -(epoch_s % DAY_S))  # periods of bids are counted from midnight (UTC) on
    applications = [m.truth.application for m in study.options.configurations]
    desk = Desk(study.cluster, study.options.kinds, spec.default_kind, applications=applications)
    mirror = Mirror(ledger, nodes, desk, epoch_s, code=journal.words.code)
    timeout_s = min(spec.manager.timeout, lease.lease_s / 5.0)  # who waits for longer does not lead any more
    manager = open_manager(spec.manager, base, clock, timeout_s=timeout_s, act=not dry_run)
    if applications and not manager.abilities.molds:
        raise InputError(
            f"{planned.path}: the scenario has jobs that choose their configuration, and this manager cannot give one"
        )
    half_s = 0.5 * control.period / clock.speed  # of the wall: the other half is for looking, deciding and caps
    patience = Patience(control.start_patience, control.repeat, control.most_actions, half_s)
    idle_w = np.concatenate([np.full(c.count, c.idle_w) for c in study.cluster.classes])
    signals = _open_signals(planned, clock, log, patient if lease.after else None, listens=not dry_run)
    caps = CapSender(bus, Outbox(spec.name, clock), topics, planned.names, lease_s=control.lease, act=not dry_run)
    controller = Controller(
        clock=clock,
        ledger=ledger,
        mirror=mirror,
        reconciler=Reconciler(ledger, mirror, manager, patience, act=not dry_run),
        manager=manager,
        bus=bus,
        inbox=make_inbox(planned, topics, clock),
        meters=Meters(planned.names, most_w(planned), control.silent, idle_w),
        caps=caps,
        guard=_guard(spec),
        signals=signals,
        bids=_bids(planned, epoch_s),
        most_w=float(most_w(planned).sum()),
        periods=Periods(control.period, control.caps, control.manager_silent),
    )
    where = default_socket(spec.site) if spec.status.socket is None else base / spec.status.socket
    if dry_run:
        where = where.with_stem(f"{where.stem}-{DRY_RUN}")
    return Site(
        name=spec.site,
        policy=study.policies.select.name,
        clock=clock,
        controller=controller,
        journal=journal,
        signals=signals,
        topics=topics,
        metrics=NoMetrics() if metrics is None else metrics,
        status=StatusServer(where, replace=bool(lease.after)),
        log=log,
        lease=None if dry_run else lease,
        dry_run=dry_run,
        asked_in=base / spec.journal.dir if dry_run else None,
    )


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


def _open_signals(
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


def _guard(spec: SiteSpec) -> Guard:
    """Return the hard rules of the site."""
    from wattline.live.controller.config import or_infinite
    from wattline.live.controller.wanted.guard import Guard, GuardRules

    return Guard(
        GuardRules(
            or_infinite(spec.guard.hard),
            spec.guard.margin,
            or_infinite(spec.guard.ramp_up),
            or_infinite(spec.guard.ramp_down),
            spec.guard.trust,
        )
    )


def _bids(planned: Planned, epoch_s: float) -> list[BidStep]:
    """Return the bid of the file, else those of the scenario, in machine time."""
    from wattline.live.controller.controller import BidStep

    spec, study = planned.spec, planned.study
    if spec.bid is not None:
        return [BidStep(-math.inf, spec.bid.mean, spec.bid.reserve)]
    return [
        BidStep(epoch_s + t, *((math.nan, 0.0) if b is None else (b.mean_w, b.reserve_w)))
        for t, b in study.options.bids
    ]


def _open_when_free(
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
            return name, _open_when_free(
                lambda: open_bus(settings, "controller", name, clock),  # noqa: B023  (called at once)
                lambda: time.monotonic() < until_s,  # noqa: B023
            )
        except WattlineError as problem:  # a host has the key of its own controller alone
            problems.append(problem)
    raise problems[0]


def _epoch_s(path: Path, clock: Clock, journal: LiveJournal) -> float:
    """Return the machine time at which the state's clock was 0; a run that is carried on keeps its own.

    The time in which nobody led has passed for its jobs too.
    """
    epoch_s = clock.now_s() - float(journal.ledger.state.now[0])
    if journal.recovered is not None and path.is_file():
        try:
            told_s = float(path.read_text(encoding="utf-8"))
        except ValueError:
            told_s = math.nan
        if told_s <= epoch_s:
            return told_s
    write_whole(path, f"{epoch_s!r}\n".encode())
    return epoch_s


def make_inbox(planned: Planned, topics: Topics, clock: Clock) -> Inbox:
    """Return what looks at every message; on a fast clock messages are older by machine time."""
    from wattline.live.bus.inbox import Inbox

    oldest_s, ahead_s = max(10.0, 2.0 * clock.speed), 5.0 + clock.speed
    return Inbox(topics, clock, nodes=planned.names, oldest_s=oldest_s, ahead_s=ahead_s)
