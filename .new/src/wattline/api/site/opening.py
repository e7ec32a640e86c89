"""A controller opened, part by part: bus, journal, state, resource manager, signals and guard."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.api.site.bus import make_inbox, open_leading, open_looking_on, open_taking_over
from wattline.api.site.plan import Planned, most_w, own_limit_w
from wattline.api.site.signals import open_signals
from wattline.api.site.state import make_bound
from wattline.errors import InputError
from wattline.files import write_whole

if TYPE_CHECKING:
    from wattline.live.bus.base import Bus
    from wattline.live.bus.names import Topics
    from wattline.live.clock import Clock
    from wattline.live.controller.config import SiteSpec
    from wattline.live.controller.controller import BidStep, Controller
    from wattline.live.controller.journal.folder import LiveJournal
    from wattline.live.controller.leading.lease import Lease
    from wattline.live.controller.seen.mirror import Mirror
    from wattline.live.controller.serve import Site
    from wattline.live.controller.wanted.guard import Guard
    from wattline.live.machine.base import ResourceManager
    from wattline.live.signals.open import Signals
    from wattline.live.watch.logs import Log
    from wattline.live.watch.metrics import Metrics

DRY_RUN = "dry-run"
"""Folder of the journals of dry runs, and part of the names of their files."""
DAY_S = 86400.0


@dataclass(frozen=True)
class Opening:
    """What all parts of a controller are opened with: its plan, its clock, its log, its lease, and who it is."""

    planned: Planned
    clock: Clock
    log: Log
    lease: Lease
    dry_run: bool

    @property
    def takes_over(self) -> bool:
        """Whether a controller that did not give up may still have files and addresses."""
        return bool(self.lease.after) and not self.dry_run

    def waits_for_address(self, text: str) -> None:
        """Say which address is waited for."""
        self.log.say("waits-for-address", "warning", text=text)

    def own_folder(self) -> Path:
        """Return the folder of the run's journal; every dry run has a new one."""
        folder = self.planned.base / self.planned.spec.journal.dir
        if self.dry_run:
            return folder / DRY_RUN / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        return folder


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
    from wattline.live.bus.names import Topics
    from wattline.live.controller.serve import Site
    from wattline.live.watch.metrics import NoMetrics
    from wattline.live.watch.socket import StatusServer

    opening = Opening(planned, clock, log, lease, dry_run)
    spec, folder = planned.spec, opening.own_folder()
    topics = Topics(spec.site)
    bus = _open_bus(opening, folder, topics, done)
    journal = _open_journal(opening, folder)
    epoch_s = _epoch_s(folder / "epoch", clock, journal)
    mirror = _mirror(planned, journal, epoch_s)
    manager = _open_manager(opening)
    signals = open_signals(planned, clock, log, opening.waits_for_address if lease.after else None, listens=not dry_run)
    return Site(
        name=spec.site,
        policy=planned.study.policies.select.name,
        clock=clock,
        controller=_controller(opening, bus, topics, mirror, manager, signals, epoch_s),
        journal=journal,
        signals=signals,
        topics=topics,
        metrics=NoMetrics() if metrics is None else metrics,
        status=StatusServer(_status_socket(opening), replace=bool(lease.after)),
        log=log,
        lease=None if dry_run else lease,
        dry_run=dry_run,
        asked_in=planned.base / spec.journal.dir if dry_run else None,
    )


def _open_bus(opening: Opening, folder: Path, topics: Topics, done: Callable[[], bool]) -> Bus:
    """Open the bus as who the controller is, and listen to all that a controller reads."""
    planned, clock = opening.planned, opening.clock
    if opening.dry_run:
        bus = open_looking_on(planned, clock, opening.lease)
    elif opening.takes_over:
        bus = open_taking_over(planned, clock, folder, done, opening.waits_for_address)
    else:
        bus = open_leading(planned, clock)
    for topic in topics.reads("controller", planned.spec.name):
        bus.subscribe(topic)
    return bus


def _open_journal(opening: Opening, folder: Path) -> LiveJournal:
    """Open the journal: a run that its folder has goes on, else one begins with the plan's machine and policies."""
    from wattline.live.controller.journal.folder import Keeping, LiveJournal
    from wattline.live.controller.journal.setup import describe, rebuild

    planned, kept = opening.planned, opening.planned.spec.journal
    start = {
        "name": planned.study.name,
        "site": planned.path.read_text(encoding="utf-8"),
        "seed": planned.study.seed,
        "nodes": list(planned.names),
        "setup": describe(make_bound(planned)),
    }
    return LiveJournal(
        folder,
        start,
        rebuild,
        keeping=Keeping(kept.checkpoint, kept.seal, kept.keep_files),
        say=lambda text: opening.log.say("journal", "warning", text=text),
    )


def _applications(planned: Planned) -> list[str]:
    """Return the applications whose jobs choose their configuration."""
    return [m.truth.application for m in planned.study.options.configurations]


def _mirror(planned: Planned, journal: LiveJournal, epoch_s: float) -> Mirror:
    """Return what makes facts of what the resource manager shows; the first of a new run says when periods begin."""
    from wattline.control.facts import PERIODS
    from wattline.live.controller.seen.mirror import Mirror
    from wattline.live.controller.seen.nodes import NodeNames
    from wattline.wiring.newcomers import Desk

    ledger, study = journal.ledger, planned.study
    if journal.recovered is None and ledger.bound.options.bidding is not None:
        ledger.tell(PERIODS, -(epoch_s % DAY_S))  # periods of bids are counted from midnight (UTC) on
    desk = Desk(study.cluster, study.options.kinds, planned.spec.default_kind, applications=_applications(planned))
    return Mirror(ledger, NodeNames(planned.names), desk, epoch_s, code=journal.words.code)


def _open_manager(opening: Opening) -> ResourceManager:
    """Open the resource manager; one that cannot give jobs their configuration is refused where they choose one."""
    from wattline.live.controller.managers import open_manager

    planned, spec = opening.planned, opening.planned.spec.manager
    timeout_s = min(spec.timeout, opening.lease.lease_s / 5.0)  # who waits for longer does not lead any more
    manager = open_manager(spec, planned.base, opening.clock, timeout_s=timeout_s, act=not opening.dry_run)
    if _applications(planned) and not manager.abilities.molds:
        raise InputError(
            f"{planned.path}: the scenario has jobs that choose their configuration, and this manager cannot give one"
        )
    return manager


def _controller(
    opening: Opening,
    bus: Bus,
    topics: Topics,
    mirror: Mirror,
    manager: ResourceManager,
    signals: Signals,
    epoch_s: float,
) -> Controller:
    """Return the loop, put together from parts that are open."""
    import numpy as np

    from wattline.live.bus.messages import Outbox
    from wattline.live.controller.controller import Controller, Periods
    from wattline.live.controller.seen.meters import Meters
    from wattline.live.controller.wanted.caps import CapSender
    from wattline.live.controller.wanted.reconcile import Patience, Reconciler

    planned, clock, acts = opening.planned, opening.clock, not opening.dry_run
    spec, control = planned.spec, planned.spec.control
    half_s = 0.5 * control.period / clock.speed  # of the wall: the other half is for looking, deciding and caps
    patience = Patience(control.start_patience, control.repeat, control.most_actions, half_s)
    idle_w = np.concatenate([np.full(c.count, c.idle_w) for c in planned.study.cluster.classes])
    return Controller(
        clock=clock,
        ledger=mirror.ledger,
        mirror=mirror,
        reconciler=Reconciler(mirror.ledger, mirror, manager, patience, act=acts),
        manager=manager,
        bus=bus,
        inbox=make_inbox(planned, topics, clock),
        meters=Meters(planned.names, most_w(planned), control.silent, idle_w),
        caps=CapSender(bus, Outbox(spec.name, clock), topics, planned.names, lease_s=control.lease, act=acts),
        guard=_guard(spec),
        signals=signals,
        bids=_bids(planned, epoch_s),
        most_w=float(most_w(planned).sum()),
        own_limit_w=own_limit_w(planned),
        periods=Periods(control.period, control.caps, control.manager_silent),
    )


def _status_socket(opening: Opening) -> Path:
    """Return where the controller tells its state; a dry run has a socket of its own beside it."""
    from wattline.live.watch.socket import default_socket

    spec = opening.planned.spec
    where = default_socket(spec.site) if spec.status.socket is None else opening.planned.base / spec.status.socket
    return where.with_stem(f"{where.stem}-{DRY_RUN}") if opening.dry_run else where


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
