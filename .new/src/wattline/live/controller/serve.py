"""A controller at work: it leads while it holds the lease, keeps its journal, and shows what it does."""

from __future__ import annotations

import math
import signal as signals
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.controller.controller import Controller, Tick
from wattline.live.controller.journal.folder import LiveJournal
from wattline.live.controller.journal.signals import SignalKeeper
from wattline.live.controller.leading.handover import Waiting, somebody_waits, taken
from wattline.live.controller.leading.lease import Lease, LeaseLost
from wattline.live.controller.leading.off import OFF_WAIT_S, let_go, note_freed
from wattline.live.controller.seen.waits import stays
from wattline.live.notify import notify
from wattline.live.signals.open import Signals
from wattline.live.watch.document import Action, Document, Power, SignalStatus
from wattline.live.watch.logs import Log
from wattline.live.watch.metrics import Metrics
from wattline.live.watch.socket import StatusServer
from wattline.live.watch.table import TABLE
from wattline.model import codes

SET_S = 2.0
"""A wall clock that was set by more is told."""
STANDBY_WAIT_S = 0.5
SENT_S = 0.25
"""Seconds (of the wall) within which messages that were sent are on their way."""
ACTIONS, POINTS = 20, 240
ERROR_EACH_S = 60.0
"""Seconds of the machine after which a dry run says again how it would have followed the target."""


@dataclass
class Site:
    """A controller with all that surrounds it."""

    name: str
    policy: str
    clock: Clock
    controller: Controller
    journal: LiveJournal
    signals: Signals
    topics: Topics
    metrics: Metrics
    status: StatusServer | None
    log: Log
    lease: Lease | None = None
    dry_run: bool = False
    since_s: float = math.nan
    actions: deque[Action] = field(default_factory=lambda: deque(maxlen=ACTIONS))
    history: deque[tuple[float, float, float]] = field(default_factory=lambda: deque(maxlen=POINTS))
    kept: SignalKeeper | None = None
    asked_in: Path | None = None
    """Where a leader keeps what he is asked, which a dry run reads (none: where our journal is)."""
    off: Callable[[], bool] = lambda: False
    """Tells whether somebody has said off: then nobody shall lead, also none of those who stand by."""
    off_wait_s: float = OFF_WAIT_S
    """Seconds (of the wall) for which nodes may take to say that they are free, at the end."""
    _renewed: float = -math.inf
    _would: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What a dry run said last of each job: nothing comes of it, so it would be said at every pass."""
    _jump_s: float = 0.0
    _error_s: float = -math.inf

    def serve(self, stop: Callable[[], bool]) -> list[str]:
        """Lead until somebody says stop; return the jobs that could not be continued at the end."""
        self.since_s = self.clock.now_s()
        self.kept = SignalKeeper(self.journal.folder, self.signals)
        asked = self.kept if self.asked_in is None else SignalKeeper(self.asked_in, self.signals)
        self._complain(asked.restore(self.since_s))
        c = self.controller
        c.on_tick, c.on_say, c.on_signal = self._tick, self._say, self._signal
        c.reconciler.tell = self._told
        if self.lease is not None:
            c.term = self._term
        self.log.say("looks-on" if self.dry_run else "leads", policy=self.policy, nodes=len(c.meters.names))
        notify().ready(f"{'looks on at' if self.dry_run else 'leads'} {len(c.meters.names)} nodes with {self.policy}")
        try:
            c.run(stop)
        except LeaseLost as lost:
            self.log.say("lease-lost", "error", why=str(lost))
            raise
        finally:
            left = self._end()
        return left

    def _term(self) -> int:
        """Return our term, right before we act; the lease is renewed four times while it lasts."""
        assert self.lease is not None  # noqa: S101  (set where it is used)
        if self.clock.monotonic() - self._renewed >= self.lease.lease_s / 4.0 and self.lease.renew():
            self._renewed = self.clock.monotonic()
        return self.lease.check()

    def _end(self) -> list[str]:
        """Let everything go on as if nobody led: jobs continue, agents are told to restore.

        Where somebody else leads, machine and folder are his: nothing is touched. Where somebody stands by and nobody
        said off, they become his as they are.
        """
        notify().stopping()
        c = self.controller
        led = self.lease is None or self.lease.leads()
        left: list[str] = []
        doors = [self.signals.close, self.metrics.close, *([] if self.status is None else [self.status.close])]
        closes = [self.journal.close if led else self.journal.abandon, *doors]
        if led and not self.dry_run and self._is_awaited():
            assert self.lease is not None  # noqa: S101  (he waits for it)
            with self.lease.kept():
                self._close(closes)
            closes = []
            led = not self._hand_over()
        if led and not self.dry_run:
            left = c.reconciler.release_all()
            bound = self._term if self.lease is not None else None
            unheard = let_go(c.bus, c.inbox, c.meters, c.caps.outbox, self.topics, self.clock, bound, self.off_wait_s)
            if unheard:
                self.log.say("off-unanswered", "warning", nodes=len(unheard), first=unheard[0])
            if self.lease is not None:
                note_freed(self.journal.folder, self.lease.term, unheard)
        self._close([*closes, c.manager.close, c.bus.close])
        if self.lease is not None:
            self.lease.give_up()  # whoever takes it finds the bus and the journal free
        self.log.say("ends", jobs_left_stopped=left)
        return left

    def _is_awaited(self) -> bool:
        """Tell whether somebody is there to whom the machine can be handed over."""
        if self.lease is None or self.off():
            return False
        with self.lease.kept():
            return somebody_waits(self.journal.folder, self.clock.monotonic, self.clock.rest)

    def _hand_over(self) -> bool:
        """Leave caps and stopped jobs to who stands by, with all the time that a lease gives; tell whether he leads."""
        assert self.lease is not None  # noqa: S101  (he waits for it)
        c = self.controller
        try:
            self.lease.renew()
            c.caps.renew(self.clock.now_s(), self.lease.check, c.meters)
        except LeaseLost:
            return True  # he leads already
        self.clock.rest(SENT_S)  # so that none of them comes after one of his
        gone = taken(self.lease, self.clock.monotonic, self.clock.rest)
        self.log.say("hands-over" if gone else "nobody-took-over", "info" if gone else "warning")
        return gone

    def _close(self, closes: Sequence[Callable[[], None]]) -> None:
        for close in closes:
            try:
                close()
            except Exception as problem:  # the others are closed all the same
                self.log.say("not-closed", "error", what=close.__qualname__, why=str(problem))

    # ------------------------------------------------------------------ what is told

    def _say(self, text: str) -> None:
        self.log.say("notice", "warning", text=text)
        self.journal.note("notice", text=text)

    def _told(self, what: str, job: str, note: str) -> None:
        if self.dry_run and self._would.get(job) == (what, note):
            return
        if self.dry_run:
            self._would[job] = (what, note)
        now_s = self.clock.now_s()
        self.actions.append(Action(now_s, what, job, note))
        more = self._would_errors() if self.dry_run else {}
        self.log.say("would" if self.dry_run else "does", what=what, job=job, note=note, **more)
        self.journal.note("command", command=what, job=job, note=note, dry=self.dry_run)

    def _signal(self, message: Any, now_s: float) -> None:
        why = self.signals.take_message(message.body, message.at_s, now_s)
        if why is not None:
            self.log.say("signal-refused", "warning", why=why)

    def _tick(self, tick: Tick) -> None:
        notify().alive()
        self.metrics.observe("wattline_pass_seconds", tick.pass_s, "full" if tick.full else "cap")
        self.journal.measure(tick.measured_w, tick.heard, tick.target_w, tick.limit_w)
        if tick.full:
            self._watch_clock()
            self._rise()
            self.history.append((tick.now_s, tick.measured_w, tick.target_w))
            if self.dry_run:
                self._told("caps", "", self._caps())
                self._tell_error(tick.now_s)
            self._publish(tick)
        if self.kept is not None:  # caps follow a limit between two full passes, too
            self._complain(self.kept.keep(tick.now_s))
        self.journal.tick()

    def _complain(self, problem: str) -> None:
        if problem:
            self.log.say("signals-not-kept", "warning", text=problem)

    def _caps(self) -> str:
        """Return in words which caps the nodes would have."""
        wanted_w = [watts for watts in self.controller.caps.wanted_w.tolist() if math.isfinite(watts)]
        if not wanted_w:
            return "none"
        return f"{len(wanted_w)} nodes, {min(wanted_w):.0f} to {max(wanted_w):.0f} W"

    def _would_errors(self) -> dict[str, Any]:
        """Return the tracking error that a dry run would have had by the model, named so; nothing without a target."""
        c = self.controller
        if not c.modelled_errors:
            return {}
        last, mean = c.modelled_errors[-1], c.modelled_mean_error()
        return {"error_by_model": round(last, 4), "mean_error_by_model": round(mean, 4)}

    def _tell_error(self, now_s: float) -> None:
        """Say once a minute how a dry run would have followed the target, also where it would have changed nothing."""
        if now_s - self._error_s < ERROR_EACH_S:
            return
        told = self._would_errors()
        if told:
            self._error_s = now_s
            self.log.say("would-track", **told)

    def _watch_clock(self) -> None:
        """Say when the wall's clock was set: our time does not follow it, but whoever is started now has another."""
        jump_s = self.clock.wall_jump_s()
        if abs(jump_s - self._jump_s) > SET_S:
            self._say(f"the wall's clock was set by {jump_s - self._jump_s:+.1f} s; machine time goes on as it was")
            self._jump_s = jump_s

    def _rise(self) -> None:
        """Lead with a term above that of our agents: one that was lost with its folder begins at 1 again."""
        c = self.controller
        if self.lease is None or self.dry_run:
            return
        heard = c.meters.term[c.meters.heard_s > -math.inf]
        higher = sorted(heard[heard > self.lease.check()].tolist())
        if 2 * len(higher) > len(heard) and self.lease.rise(higher[len(higher) // 2]):
            self._say(f"agents know a term of {higher[len(higher) // 2]}: this controller leads as {self.lease.term}")

    def _publish(self, tick: Tick) -> None:
        c = self.controller
        asked = self.signals.now(tick.now_s)
        bid = c.bid_at(tick.now_s)
        power = Power(
            measured_w=tick.measured_w,
            modelled_w=tick.modelled_w,
            target_w=tick.target_w,
            limit_w=tick.limit_w,
            reserve_w=math.nan if bid is None else bid.reserve_w,
            error=c.errors[-1] if c.errors else math.nan,
            mean_error=c.mean_error(),
            would_error=c.modelled_errors[-1] if self.dry_run and c.modelled_errors else math.nan,
            would_mean_error=c.modelled_mean_error() if self.dry_run else math.nan,
        )
        refused = self.signals.problems()
        y = asked.y
        told = SignalStatus(refused=refused) if y is None else SignalStatus(y.value, y.state, y.age_s, refused)
        role: Literal["leader", "dry-run"] = "dry-run" if self.dry_run else "leader"
        document = Document(
            site=self.name,
            time_s=tick.now_s,
            role=role,
            term=0 if self.lease is None else self.lease.check(),
            policy=self.policy,
            since_s=self.since_s,
            speed=self.clock.speed,
            power=power,
            signal=told,
            nodes=c.meters.modes(tick.now_s),
            jobs=self._jobs(),
            faults=dict(c.meters.faults),
            distrusted=c.meters.distrusted(tick.now_s),
            waits=c.mirror.waits | stays(c.mirror),
            actions=tuple(self.actions),
            history=tuple(self.history),
        )
        if self.status is not None:
            self.status.publish(document)
        tell_metrics(self.metrics, document, self)

    def _jobs(self) -> dict[str, int]:
        ledger = self.controller.ledger
        rows = np.fromiter(ledger.row.values(), dtype=np.int64, count=len(ledger.row))
        found = np.bincount(ledger.state.status[rows], minlength=len(codes.STATUS_NAMES)).tolist()
        told = dict(zip(codes.STATUS_NAMES, found, strict=True))
        always = ("waiting", "starting", "running", "paused")
        return {word: count for word, count in told.items() if count or word in always}


def tell_metrics(metrics: Metrics, document: Document, site: Site) -> None:
    """Set the metrics of a controller; names and meanings are those of ``watch/table.py``."""
    c, power = site.controller, document.power
    for name, value in (
        ("target_watts", power.target_w),
        ("limit_watts", power.limit_w),
        ("measured_power_watts", power.measured_w),
        ("modelled_power_watts", power.modelled_w),
        ("committed_power_watts", c.caps.committed_w),
        ("tracking_error_ratio", power.error),
        ("signal_value", document.signal.value),
        ("signal_age_seconds", document.signal.age_s),
        ("vtn_age_seconds", site.signals.vtn_age_s(document.time_s)),
        ("lease_term", float(document.term)),
        ("leader", 1.0),
        ("nodes_distrusted", float(document.distrusted)),
    ):
        metrics.set(f"wattline_{name}", value)
    metrics.state("wattline_signal_state", document.signal.state)
    metrics.totals("wattline_signal_refused_total", dict(document.signal.refused))
    metrics.counts("wattline_jobs", dict(document.jobs))
    metrics.counts("wattline_nodes", dict(document.nodes))
    metrics.total("wattline_caps_sent_total", c.caps.sent)
    metrics.total("wattline_caps_refused_total", c.caps.refused)
    metrics.total("wattline_passes_late_total", c.late)
    metrics.total("wattline_journal_written_bytes_total", site.journal.log.written_bytes)
    for took_s in site.journal.log.new_syncs():
        metrics.observe("wattline_journal_fsync_seconds", took_s)
    metrics.total("wattline_reconcile_retries_total", c.reconciler.retries)
    metrics.totals("wattline_messages_dropped_total", {k: n for k, n in c.inbox.counts().items() if k != "accepted"})
    metrics.totals("wattline_faults_total", dict(document.faults))


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and Ctrl-C set."""
    stopped = threading.Event()
    before = {number: signals.signal(number, lambda *_: stopped.set()) for number in (signals.SIGTERM, signals.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signals.signal(number, handler)


def stand_by(
    lease: Lease,
    clock: Clock,
    stop: Callable[[], bool],
    log: Log,
    waiting: Waiting | None = None,
    metrics: Metrics | None = None,
) -> bool:
    """Wait until the lease is ours; return False where somebody said stop before, or switched the site off."""
    said = False
    try:
        while not stop():
            if lease.try_to_lead():
                return True
            if not said:
                log.say("stands-by")
                notify().ready("stands by")
                said = True
            if waiting is not None:
                waiting.say()
            if metrics is not None:
                tell_standby(metrics, lease)
            notify().alive()
            clock.rest(STANDBY_WAIT_S / max(1.0, clock.speed))
        return False
    finally:
        if waiting is not None:
            waiting.end()


def tell_standby(metrics: Metrics, lease: Lease) -> None:
    """Set the metrics of one who stands by: who leads, and nothing of a machine that it does not see."""
    for metric in TABLE:
        if "controller" in metric.who and metric.kind == "gauge" and not metric.label:
            metrics.set(metric.name, math.nan)
    held = lease.seen
    metrics.set("wattline_leader", 0.0)
    metrics.set("wattline_lease_term", 0.0 if held is None else float(held.term))
