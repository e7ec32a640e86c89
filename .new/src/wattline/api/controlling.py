"""A controller at work: it leads a machine until it is told to end, and lets it go."""

from __future__ import annotations

import math
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.api.site.bus import make_inbox, open_any
from wattline.api.site.opening import DRY_RUN, open_site
from wattline.api.site.plan import Planned, make_clock, manager_notes, missing, most_w
from wattline.api.site.state import make_bound
from wattline.errors import InputError, WattlineError

if TYPE_CHECKING:
    from wattline.live.controller.leading.lease import Lease
    from wattline.live.controller.leading.off import LetGo

LEAST_LEASE_S = 5.0
"""A controller that was not heard for so long (by the wall) is replaced, where another stands by."""


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


def run_site(
    planned: Planned, *, dry_run: bool = False, stop: Callable[[], bool] | None = None, began_s: float = math.inf
) -> list[str]:
    """Lead the machine until SIGTERM, Ctrl-C or ``stop``; return the jobs that could not be continued at the end.

    ``began_s``: an off that was said after this time (of the wall) counts, though it was said before this call.
    """
    from wattline.live.controller.leading.handover import Waiting
    from wattline.live.controller.leading.lease import Lease, LeaseLost
    from wattline.live.controller.leading.off import Off, stays_ended
    from wattline.live.controller.serve import stand_by, until_stopped
    from wattline.live.watch.logs import Log, Logs
    from wattline.live.watch.metrics import open_metrics

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
    stays = not dry_run and stays_ended(folder)
    off = Off(folder, -math.inf if stays else began_s)
    try:
        if stays:
            log.say(
                "stays-ended", "warning", text="wattline off has just ended a controller that hung; start again to lead"
            )
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
            metrics = open_metrics(
                "controller", spec.metrics.listen, lambda text: log.say("waits-for-address", "warning", text=text)
            )
            try:
                if not stand_by(lease, clock, done, log, Waiting(folder, spec.name), metrics):
                    return []
                try:
                    with lease.kept():  # reading the log again takes its time
                        site = open_site(planned, clock, log, lease, done, metrics=metrics)
                except BaseException:
                    lease.give_up()  # a standby need not wait for one that could not begin
                    if done():  # told to end while it waited for an address
                        return []
                    raise
                site.off = off
                return site.serve(done)
            except LeaseLost:
                if off():  # whoever said it has let the machine go in our place
                    return []
                raise
            finally:
                metrics.close()
    finally:
        logs.close()


def switch_off(planned: Planned, wait_s: float = 20.0) -> LetGo:
    """Let a machine go, whoever leads it or nobody; return what was released, and what was not.

    Controllers, nodes and jobs are tried each by themselves: what fails keeps nobody from trying the rest.
    """
    from wattline.live.controller.leading.lease import Lease
    from wattline.live.controller.leading.off import LetGo

    done = LetGo()
    folder = planned.base / planned.spec.journal.dir
    lease = Lease(folder / "lease.json", f"off-{os.getpid()}-{secrets.token_hex(3)}", lease_s=5.0)
    unheard = None
    try:
        if folder.is_dir():
            unheard = _end_controllers(lease, folder, done, wait_s)
    except (OSError, WattlineError) as problem:
        done.kept["controllers"] = f"were not told ({problem}); say off as root, or as the user who runs them"
    try:
        if unheard != []:
            _free_nodes(planned, done)
        else:
            done.released += [f"node {name}" for name in planned.names]
    except (OSError, WattlineError) as problem:
        done.kept["nodes"] = f"were not told ({problem}); those that nobody leads take their safe caps"
    try:
        _give_back(planned, done)
    except (OSError, WattlineError) as problem:
        done.kept["jobs"] = f"were not looked after ({problem})"
    lease.give_up()
    return done


def _end_controllers(lease: Lease, folder: Path, done: LetGo, wait_s: float) -> list[str] | None:
    """Tell controllers to end; return the nodes that the one that led did not hear to be free (None: nobody knows)."""
    from wattline.live.controller.leading.off import end_hung, read_freed, say_off

    say_off(folder)
    held = lease.holder()
    until = time.monotonic() + wait_s
    while held is None and lease.problem and time.monotonic() < until:  # it is locked for a moment only
        time.sleep(0.05)
        held = lease.holder()
    if held is None and lease.problem:
        raise InputError(f"{lease.path}: {lease.problem}")
    if held is None or not held.owner:
        return None
    while time.monotonic() < until:
        now = lease.holder()
        if now is not None and not now.owner:
            done.notes.append(f"the controller of term {held.term} has ended and let the machine go")
            return read_freed(folder, held.term)
        if lease.try_to_lead():
            break
        time.sleep(0.2)
    done.notes.append(f"the controller of term {held.term} did not answer: what it led is let go from here")
    if lease.leads():
        hung = end_hung(held.owner, folder)
        done.notes += [hung] if hung else []
    else:
        done.kept[f"the controller of term {held.term}"] = "it leads on, and renews its lease; end its process"
    return None


def _free_nodes(planned: Planned, done: LetGo) -> None:
    """Say off to all nodes, and hear which of them are free."""
    from wattline.live.bus.messages import Outbox
    from wattline.live.bus.names import Topics
    from wattline.live.controller.leading.off import let_go
    from wattline.live.controller.seen.meters import Meters

    clock, topics = make_clock(planned.spec), Topics(planned.spec.site)
    name, bus = open_any(planned, clock)
    try:
        for topic in topics.reads("controller", name):
            bus.subscribe(topic)
        meters = Meters(planned.names, most_w(planned))
        inbox = make_inbox(planned, topics, clock)
        unheard = set(let_go(bus, inbox, meters, Outbox(name, clock), topics, clock))
    finally:
        bus.close()
    modes = dict(zip(meters.names, meters.mode, strict=True))
    done.released += [f"node {name}" for name in planned.names if name not in unheard]
    for one in planned.names:
        if one in unheard:
            silent = modes[one] == "silent"
            done.kept[f"node {one}"] = "was not heard" if silent else f"says that it is {modes[one]}, not free"


def _give_back(planned: Planned, done: LetGo) -> None:
    """Let stopped jobs go on, and waiting ones be the resource manager's own again."""
    from wattline.live.controller.managers import give_back, open_manager

    with closing(open_manager(planned.spec.manager, planned.base, make_clock(planned.spec), act=False)) as manager:
        found = give_back(manager)
    done.released += [thing for thing, why in found.items() if why is None]
    done.kept |= {thing: why for thing, why in found.items() if why is not None}
