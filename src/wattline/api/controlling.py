"""From a controller's file to a controller at work: its scenario makes machine and policies, its file the rest."""

from __future__ import annotations

import math
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import InputError
from wattline.files import write_whole

if TYPE_CHECKING:
    from wattline.arrays import Floats
    from wattline.live.bus.base import Bus
    from wattline.live.bus.inbox import Inbox
    from wattline.live.bus.names import Topics
    from wattline.live.clock import Clock
    from wattline.live.controller.config import SiteSpec
    from wattline.live.controller.controller import BidStep
    from wattline.live.controller.guard import Guard
    from wattline.live.controller.journal import LiveJournal
    from wattline.live.controller.lease import Lease
    from wattline.live.controller.serve import Site
    from wattline.live.signals.adr_events import AdrRules, Judged
    from wattline.live.signals.open import Signals
    from wattline.live.signals.openadr import AdrSettings
    from wattline.live.signals.stale import Change
    from wattline.live.watch.logs import Log
    from wattline.scenario.study import Study
    from wattline.wiring.bound import Bound


DRY_RUN = "dry-run"
"""Folder of the journals of dry runs, and part of the names of their files."""
WAIT_S = 3.0
"""Seconds for which a controller waits for an address that is just being let go of."""
LEAST_LEASE_S = 5.0
"""A controller that was not heard for so long (by the wall) is replaced, where another stands by."""


@dataclass(frozen=True)
class Planned:
    """A controller's file with everything that it names, read and checked; nothing is open yet."""

    path: Path
    spec: SiteSpec
    names: tuple[str, ...]
    study: Study

    @property
    def base(self) -> Path:
        """Return the folder that relative paths count from."""
        return self.path.resolve().parent

    def lines(self) -> list[tuple[str, str]]:
        """Return what would be used, as (what, text)."""
        from wattline.live.controller.config import bus_settings
        from wattline.live.controller.managers import where
        from wattline.live.watch.socket import default_socket
        from wattline.units import show_power

        spec, study, guard = self.spec, self.study, self.spec.guard
        bus = bus_settings(self.path, spec)
        hard = "none" if guard.hard is None else show_power(guard.hard)
        classes = ", ".join(f"{c.count} × {c.name} ({c.idle_w:g} to {c.max_w:g} W)" for c in study.cluster.classes)
        policies = ", ".join(f"{m.slot} {m.name}" for m in study.policies.slots() if m.wake or m.slot == "place")
        return [
            ("site", f"{spec.site}, as {spec.name}"),
            ("nodes", f"{len(self.names)}: {self.names[0]} … {self.names[-1]}"),
            ("machine", classes),
            ("policies", policies),
            ("kinds", ", ".join(kind.name for kind in study.options.kinds) or "none"),
            ("moldable", ", ".join(m.truth.application for m in study.options.configurations) or "none"),
            ("resource manager", where(spec.manager, self.base)),
            ("signal", spec.signal.y + ("" if spec.signal.file is None else f" {self.base / spec.signal.file}")),
            ("pushes by HTTP", "no (no token)" if spec.signal.token is None else f"at {spec.signal.listen}"),
            *([] if spec.openadr is None else [("OpenADR", f"{spec.openadr.ven} at {spec.openadr.vtn}")]),
            ("bid", self._bid()),
            ("limit", show_power(site_limit_w(self))),
            ("guard", f"hard limit {hard}, margin {show_power(guard.margin)}"),
            ("period", f"{spec.control.period:g} s, caps {spec.control.caps:g} s, lease {spec.control.lease:g} s"),
            ("bus", f"{bus.kind} " + (bus.listen or "" if bus.kind == "zeromq" else f"{bus.host}:{bus.port}")),
            ("journal", str(self.base / spec.journal.dir)),
            (
                "status",
                str(default_socket(spec.site) if spec.status.socket is None else self.base / spec.status.socket),
            ),
            ("metrics", spec.metrics.listen or "none"),
            ("logs", "standard error" if spec.logs.file is None else str(self.base / spec.logs.file)),
            ("clock", "the machine's own" if spec.clock.speed == 1.0 else f"{spec.clock.speed:g} times as fast"),
        ]

    def _bid(self) -> str:
        from wattline.units import show_power

        bid = self.spec.bid
        if bid is not None:
            return f"mean {show_power(bid.mean)}, reserve {show_power(bid.reserve)}"
        steps = [b for _, b in self.study.options.bids if b is not None]
        return f"{len(steps)} of the scenario" if steps else "none"


def plan_site(path: Path | str, name: str | None = None) -> Planned:
    """Read and check a controller's file and its scenario; ``name`` is that of another controller of the file."""
    from wattline.live.controller.config import node_names, read_site
    from wattline.scenario.choices import variants
    from wattline.scenario.documents import read_scenario
    from wattline.scenario.study import wire

    path = Path(path)
    spec = read_site(path, name)
    names = node_names(path, spec)
    found = variants(read_scenario(path.resolve().parent / spec.scenario))
    if len(found) != 1:
        raise InputError(f"{path}: scenario: {spec.scenario} stands for {len(found)} runs, a controller needs one")
    study = wire(found[0])
    if study.cluster.nodes != len(names):
        raise InputError(
            f"{path}: nodes: {len(names)} names, but the machine of {spec.scenario} has {study.cluster.nodes} nodes"
        )
    if study.options.kinds and spec.default_kind not in ("", *(kind.name for kind in study.options.kinds)):
        raise InputError(f"{path}: default_kind: {spec.default_kind!r} is no kind of {spec.scenario}")
    return Planned(path, spec, names, study)


def missing(planned: Planned) -> list[str]:
    """Return what a controller needs and is not there yet, a line each; raise where something there is wrong."""
    from contextlib import closing

    from wattline.live.bus.keys import load_known, load_pair
    from wattline.live.controller.config import bus_settings
    from wattline.live.controller.managers import look_at, open_manager
    from wattline.live.machine.base import ManagerError
    from wattline.live.secret import handed_over, read_token
    from wattline.live.signals.adr_wire import need_openleadr
    from wattline.live.signals.file import read_replay

    spec, base, lines = planned.spec, planned.base, []
    bus = bus_settings(planned.path, spec)
    token = None if spec.signal.token is None else handed_over(base / spec.signal.token)
    for path, how in ((bus.key, "wattline keys"), (bus.known, "wattline keys"), (bus.password, "wattline keys --mqtt")):
        if path is not None and not path.exists():
            lines.append(f"{path}: no such file; {how} makes it")
    if bus.kind == "zeromq" and not bus.insecure and bus.key is not None and bus.known is not None and not lines:
        load_pair(bus.key)
        known = load_known(bus.known).roles
        if known.get(spec.name) != "controller":
            raise InputError(f"{bus.known}: has no controller of the name {spec.name!r} ({planned.path}: name)")
        strangers = [name for name in planned.names if known.get(name) != "agent"]
        if strangers:
            lines.append(f"{bus.known}: has no key of {len(strangers)} nodes, {strangers[0]} the first")
    if token is not None and not token.exists():
        lines.append(f"{token}: no such file, the token for pushes by HTTP")
    elif token is not None:
        read_token(token)
    if spec.openadr is not None:
        need_openleadr()
    if spec.signal.y == "file" and spec.signal.file is not None:
        read_replay(base / spec.signal.file, start_s=0.0, column=spec.signal.column, step_s=spec.signal.step)
    try:
        with closing(open_manager(spec.manager, base, make_clock(spec), act=False)) as manager:
            shown, _ = look_at(manager)
    except ManagerError as problem:
        return [*lines, str(problem)]
    unknown = [name for name in planned.names if name not in shown]
    if unknown:
        who = "the launcher" if spec.manager.kind == "launcher" else "Slurm"
        lines.append(f"{who} does not have {len(unknown)} of the nodes, {unknown[0]} the first: they count as down")
    return lines


def manager_notes(planned: Planned) -> list[str]:
    """Return what the resource manager cannot do or does late, a line each; nothing where it does not answer."""
    from contextlib import closing

    from wattline.live.controller.managers import look_at, open_manager
    from wattline.live.machine.base import ManagerError

    try:
        with closing(open_manager(planned.spec.manager, planned.base, make_clock(planned.spec), act=False)) as manager:
            return list(look_at(manager)[1])
    except ManagerError:
        return []


def make_bound(planned: Planned) -> Bound:
    """Return the state of the machine before anything is known of its jobs, with the policies bound to it."""
    import numpy as np

    from wattline.model.jobs import JobTable
    from wattline.wiring.bound import Bound

    spec, study = planned.spec, planned.study
    options = replace(
        study.options,
        signal=None,
        bids=(),
        bidding=None,
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


def get_ready(planned: Planned) -> None:
    """Load, or compile, everything that a turn of the loop calls, so that the first one takes no longer than others."""
    import numpy as np

    from wattline.control.wanted import wanted
    from wattline.live.controller.ledger import Ledger

    with make_bound(planned) as bound:
        book = Ledger(bound)
        book.tell(0, 0.0)
        book.control()
        wanted(
            bound.state, np.zeros(planned.study.cluster.nodes), np.zeros(planned.study.cluster.nodes, dtype=np.int64)
        )


def make_clock(spec: SiteSpec) -> Clock:
    """Return the clock of the machine."""
    from wattline.live.clock import Clock

    return Clock(spec.clock.speed, math.nan if spec.clock.origin is None else spec.clock.origin)


def run_site(planned: Planned, *, dry_run: bool = False, stop: Callable[[], bool] | None = None) -> list[str]:
    """Lead the machine until SIGTERM, Ctrl-C or ``stop``; return the jobs that could not be continued at the end."""
    from wattline.live.controller.lease import Lease
    from wattline.live.controller.serve import Off, stand_by, until_stopped
    from wattline.live.watch.logs import Log, Logs

    spec = planned.spec
    clock = make_clock(spec)
    file = None if spec.logs.file is None else planned.base / spec.logs.file
    if dry_run and file is not None:
        file = file.with_stem(f"{file.stem}-{DRY_RUN}")
    logs = Logs("controller", clock.now_s, form=spec.logs.form, level=spec.logs.level, file=file)
    log = Log("controller")
    folder = planned.base / spec.journal.dir
    folder.mkdir(parents=True, exist_ok=True)
    owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    lease = Lease(folder / "lease.json", owner, lease_s=max(LEAST_LEASE_S, spec.control.lease / spec.clock.speed))
    off = Off(folder)
    try:
        for line in missing(planned):
            log.say("missing", "warning", text=line)
        for line in manager_notes(planned):
            log.say("manager", text=line)
        get_ready(planned)
        with until_stopped() as stopped:

            def done() -> bool:
                return stopped.is_set() or off() or (stop is not None and stop())

            if dry_run:
                return open_site(planned, clock, log, lease, done, dry_run=True).serve(done)
            if not stand_by(lease, clock, done, log):
                return []
            try:
                with lease.kept():  # reading the log again takes its time
                    site = open_site(planned, clock, log, lease, done)
            except BaseException:
                lease.give_up()  # a standby need not wait for one that could not begin
                if done():  # told to end while it waited for an address
                    return []
                raise
            return site.serve(done)
    finally:
        logs.close()


def open_site(
    planned: Planned, clock: Clock, log: Log, lease: Lease, done: Callable[[], bool], *, dry_run: bool = False
) -> Site:
    """Open everything that a controller needs; its run goes on where its folder has one.

    A dry run stands beside whoever leads: it listens nowhere and has a folder of its own. Whoever takes over from a
    controller that did not give up waits for the addresses that it still has.
    """
    import numpy as np

    from wattline.live.bus.messages import Outbox
    from wattline.live.bus.names import Topics
    from wattline.live.bus.open import open_bus
    from wattline.live.controller.caps import CapSender
    from wattline.live.controller.config import bus_settings
    from wattline.live.controller.controller import Controller, Periods
    from wattline.live.controller.facts_log import take_from
    from wattline.live.controller.journal import Keeping, LiveJournal
    from wattline.live.controller.managers import open_manager
    from wattline.live.controller.meters import Meters
    from wattline.live.controller.mirror import Mirror
    from wattline.live.controller.nodes import NodeNames
    from wattline.live.controller.onlooker import Onlooker
    from wattline.live.controller.reconcile import Patience, Reconciler
    from wattline.live.controller.replay import FACTS
    from wattline.live.controller.serve import Site
    from wattline.live.controller.setup import describe, rebuild
    from wattline.live.watch.metrics import open_metrics
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
    applications = [m.truth.application for m in study.options.configurations]
    desk = Desk(study.cluster, study.options.kinds, spec.default_kind, applications=applications)
    mirror = Mirror(ledger, nodes, desk, epoch_s, code=journal.words.code)
    timeout_s = min(spec.manager.timeout, lease.lease_s / 5.0)  # who waits for longer does not lead any more
    manager = open_manager(spec.manager, base, clock, timeout_s=timeout_s, act=not dry_run)
    if applications and not manager.abilities.molds:
        raise InputError(
            f"{planned.path}: the scenario has jobs that choose their configuration, and this manager cannot give one"
        )
    patience = Patience(control.start_patience, control.repeat, control.most_actions)
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
    metrics = None if dry_run else spec.metrics.listen
    return Site(
        name=spec.site,
        policy=study.policies.select.name,
        clock=clock,
        controller=controller,
        journal=journal,
        signals=signals,
        topics=topics,
        metrics=open_metrics("controller", metrics, patient if lease.after else None),
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
    from wattline.live.controller.guard import Guard, GuardRules

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
    """Open the bus as a controller of the site whose address is free: one that hangs keeps its own. Return as whom."""
    from wattline.live.bus.open import open_bus
    from wattline.live.controller.config import bus_settings

    spec = planned.spec
    names = sorted({spec.name, *bus_settings(planned.path, spec).controllers}, key=lambda name: name != spec.name)
    for name in names:
        settings = bus_settings(planned.path, spec.model_copy(update={"name": name}))
        until_s = time.monotonic() + WAIT_S
        try:
            return name, _open_when_free(
                lambda: open_bus(settings, "controller", name, clock),  # noqa: B023  (called at once)
                lambda: time.monotonic() < until_s,  # noqa: B023
            )
        except InputError as problem:
            if "in use" not in str(problem) or name == names[-1]:
                raise
    raise AssertionError("a site has a controller")


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


def most_w(planned: Planned) -> Floats:
    """Return what each node can draw at most."""
    import numpy as np

    return np.concatenate([np.full(c.count, c.max_w) for c in planned.study.cluster.classes])


def make_inbox(planned: Planned, topics: Topics, clock: Clock) -> Inbox:
    """Return what looks at every message; on a fast clock messages are older by machine time."""
    from wattline.live.bus.inbox import Inbox

    oldest_s, ahead_s = max(10.0, 2.0 * clock.speed), 5.0 + clock.speed
    return Inbox(topics, clock, nodes=planned.names, oldest_s=oldest_s, ahead_s=ahead_s)


def site_limit_w(planned: Planned) -> float:
    """Return the site's own limit: of its file, of its scenario at the begin, or what all nodes draw together."""
    from wattline.live.controller.config import or_infinite

    steps = sorted(planned.study.options.limit_w)
    own_w = float(steps[0][1]) if steps else math.inf
    return min(or_infinite(planned.spec.signal.limit), own_w, float(most_w(planned).sum()))


def switch_off(planned: Planned, wait_s: float = 20.0) -> list[str]:
    """Let a machine go, whoever leads it or nobody; return what was done, a line each."""
    from wattline.live.bus.messages import Outbox
    from wattline.live.bus.names import Topics
    from wattline.live.controller.lease import Lease
    from wattline.live.controller.meters import Meters
    from wattline.live.controller.serve import OFF, let_go

    spec, folder, clock = planned.spec, planned.base / planned.spec.journal.dir, make_clock(planned.spec)
    lines: list[str] = []
    lease = Lease(folder / "lease.json", f"off-{os.getpid()}-{secrets.token_hex(3)}", lease_s=5.0)
    held = lease.holder() if folder.is_dir() else None
    if held is not None:
        (folder / OFF).touch()  # it stays there: those who stand by see it too, and a later start does not mind
    if held is not None and held.owner:
        until = time.monotonic() + wait_s
        while time.monotonic() < until:
            now = lease.holder()
            if now is None or not now.owner:
                return [f"the controller of term {held.term} has ended and let the machine go", *_give_back(planned)]
            if lease.try_to_lead():
                break
            time.sleep(0.2)
        lines.append(f"the controller of term {held.term} did not answer")
    name, bus = open_any(planned, clock)
    outbox, topics = Outbox(name, clock), Topics(spec.site)
    try:
        for topic in topics.reads("controller", name):
            bus.subscribe(topic)
        unheard = let_go(
            bus, make_inbox(planned, topics, clock), Meters(planned.names, most_w(planned)), outbox, topics, clock
        )
    finally:
        bus.close()
    nodes = len(planned.names)
    lines.append(f"{nodes - len(unheard)} of {nodes} nodes have put back what they found")
    if unheard:
        lines.append(f"not heard: {', '.join(unheard[:8])}{' …' if len(unheard) > 8 else ''}")
    lines += _give_back(planned)
    lease.give_up()
    return lines


def _give_back(planned: Planned) -> list[str]:
    """Let stopped jobs go on, and waiting ones be the resource manager's own again."""
    from contextlib import closing

    from wattline.live.controller.managers import give_back, open_manager

    with closing(open_manager(planned.spec.manager, planned.base, make_clock(planned.spec), act=False)) as manager:
        return give_back(manager)
