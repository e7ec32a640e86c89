"""The launcher as a program: takes its run directory, finds its jobs again, and serves until it is told to end."""

from __future__ import annotations

import contextlib
import json
import math
import resource
import selectors
import signal
import socket
import sys
from dataclasses import dataclass, field

from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.machine.launcher.book import Book, Log
from wattline.live.machine.launcher.commands import Commands
from wattline.live.machine.launcher.config import LauncherConfig
from wattline.live.machine.launcher.lives import Lives
from wattline.live.machine.launcher.machine import Nodes
from wattline.live.machine.launcher.record import HOLDING
from wattline.live.machine.launcher.server import Server, handle
from wattline.live.machine.launcher.starter import Starter
from wattline.live.machine.launcher.store import SOCKET, Store

STARTER, SIGNALS = "starter", "signals"
"""Whose handle it is, among numbers of jobs."""


def write_line(event: str, what: dict[str, object]) -> None:
    """Write an event to standard error as one JSON object."""
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        sys.stderr.write(json.dumps({"event": event, **what}) + "\n")
        sys.stderr.flush()


def _nothing(event: str, what: dict[str, object]) -> None:
    """Write nothing."""


@dataclass
class Launcher:
    """A launcher with its run directory; ``clock`` may be given by tests."""

    config: LauncherConfig
    clock: Clock | None = None
    log: Log = write_line
    store: Store = field(init=False)
    commands: Commands = field(init=False)
    _server: Server = field(init=False)
    _starter: Starter = field(init=False)

    def open(self) -> None:
        """Take the run directory, find all jobs again, and listen."""
        config = self.config
        self.store = Store(config.run_dir, config.durable)
        self._server = Server(config.run_dir / SOCKET, config.most_clients)
        self._starter = Starter()
        self.store.open()
        try:
            nodes = Nodes(config.ways(), drained={k: str(v) for k, v in self.store.read("drained").items()})
            nodes.drained = {name: why for name, why in nodes.drained.items() if name in nodes.ways}
            clock = self.clock or self._clock()
            book = Book(self.store, nodes, clock, self.log, config.keep_ended, config.keep_unseen)
            self._starter.open()  # before our limit is raised: jobs keep theirs
            _raise_limit()
            lives = Lives(book, self._starter, self._server.follow, self._server.unfollow, config.grace)
            self.commands = Commands(book, lives, config.most_jobs)
            self._find(book, lives)
            self._server.open()
            self._server.selector.register(self._starter.socket, selectors.EVENT_READ, STARTER)
        except BaseException:
            self._starter.close()
            self.store.close()
            raise

    def _clock(self) -> Clock:
        """Return the machine's clock: it goes on where the last launcher of this directory left it."""
        kept = self.store.read("clock")
        speed, origin_s = self.config.clock.speed, self.config.clock.origin
        if origin_s is None:
            origin_s = kept["origin_s"] if kept.get("speed") == speed else math.nan
        clock = Clock(speed, origin_s)
        if math.isnan(origin_s):
            origin_s = clock.now_s()
            clock = Clock(speed, origin_s)
        if kept != (wanted := {"speed": speed, "origin_s": origin_s}):
            self.store.write("clock", wanted)
        return clock

    def _find(self, book: Book, lives: Lives) -> None:
        self.store.tidy()
        found = []
        for path, job in self.store.jobs():
            if job is None:
                raise InputError(
                    f"{path}: is not the record of a job; repair it, or move it away to do without this job"
                )
            if job.phase in HOLDING and (missing := [name for name in job.nodes if name not in book.nodes.ways]):
                raise InputError(
                    f"job {job.id} holds node {missing[0]}, which the launcher's file does not name; add it"
                )
            book.add(job)
            found.append(job)
        for job in found:
            if job.phase in HOLDING:
                lives.adopt(job)
            elif job.phase == "ineligible":
                book.queue(job)
                book.show(job)
        if found:
            self.log("found", {"jobs": len(found), "held": sum(job.phase in HOLDING for job in found)})

    def step(self) -> bool:
        """Wait for something and deal with it; tell whether to go on."""
        commands, server = self.commands, self._server
        for what in handle(server.wait(commands), server, commands):
            if what == SIGNALS:
                commands.shutdown(jobs="leave")
            elif what == STARTER:
                self._hear()
            elif what in commands.book.jobs:
                commands.lives.over(commands.book.jobs[what])
        commands.look_again()
        return not commands.has_left()

    def _hear(self) -> None:
        said = self._starter.hear()
        if said is not None:
            self.commands.lives.hear(said)
            return
        self.log("starter-lost", {})
        self.commands.book.counts["starter_lost"] += 1
        self._server.selector.unregister(self._starter.socket)
        self._starter.open()
        self._server.selector.register(self._starter.socket, selectors.EVENT_READ, STARTER)
        self.commands.lives.restart()

    def run(self) -> None:
        """Serve until told to end: by a request, or by SIGTERM or SIGINT, which leave the jobs running."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)  # noqa: FBT003  (its only parameter)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        handlers = {n: signal.signal(n, lambda *_: None) for n in (signal.SIGTERM, signal.SIGINT)}
        self._server.selector.register(ours, selectors.EVENT_READ, SIGNALS)
        self.log("serving", {"run_dir": str(self.config.run_dir), "nodes": len(self.commands.book.nodes.ways)})
        try:
            while self.step():
                pass
        finally:
            signal.set_wakeup_fd(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self._server.selector.unregister(ours)
            ours.close()
            theirs.close()

    def close(self) -> None:
        """Let go of everything; jobs that run go on."""
        self.commands.lives.close()
        self._server.close()
        self._starter.close()
        self.store.close()


def _raise_limit() -> None:
    """Allow as many open files as the system lets us: a running job takes one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def serve(config: LauncherConfig, *, quiet: bool = False) -> None:
    """Run a launcher in this process until it is told to end; quiet: without a line for what happens."""
    launcher = Launcher(config, log=_nothing if quiet else write_line)
    launcher.open()
    try:
        launcher.run()
    finally:
        launcher.close()
