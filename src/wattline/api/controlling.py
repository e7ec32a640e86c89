"""A controller at work: it leads a machine until it is told to end, and lets it go."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable

from wattline.api.site_opening import DRY_RUN, make_bound, make_inbox, open_any, open_site
from wattline.api.site_plan import Planned, make_clock, manager_notes, missing, most_w

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
