"""The launcher's loop: waits for clients, for ends of processes and for the next time that something is due."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import selectors
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.machine.launcher.commands import Commands
from wattline.live.machine.launcher.wire import LONGEST_REQUEST, RequestError, check, parse, refusal

MOST_UNREAD = 256 << 20
"""Bytes of answers that a client may leave unread; then it is let go."""
LONGEST_WAIT_S = 3600.0
READ = 1 << 16


@dataclass
class Client:
    """A connection: what came and is no whole line yet, and what it has not read yet."""

    socket: socket.socket
    came: bytearray = field(default_factory=bytearray)
    goes: bytearray = field(default_factory=bytearray)
    skipping: bool = False
    """Whether a line that is too long is being read to its end."""


@dataclass
class Server:
    """The socket of a launcher, for its owner alone, and the loop."""

    path: Path
    most_clients: int = 64
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _listener: socket.socket = field(init=False)
    _clients: int = 0

    def open(self) -> None:
        """Listen; a socket that a launcher left behind is replaced."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            self._listener.bind(str(self.path))
        except OSError as problem:
            self._listener.close()
            longest = (
                "; a socket's path has at most 107 bytes: use a shorter run_dir" if "too long" in str(problem) else ""
            )
            raise InputError(f"{self.path}: cannot listen ({problem.strerror or problem}){longest}") from None
        finally:
            os.umask(before)
        self._listener.listen(self.most_clients)
        self.selector.register(self._listener, selectors.EVENT_READ, "listen")

    def close(self) -> None:
        """Let all clients go and remove the socket."""
        for key in list(self.selector.get_map().values()):
            if isinstance(key.data, Client):
                self._drop(key.data)
        self.path.unlink(missing_ok=True)
        self._listener.close()
        self.selector.close()

    def follow(self, handle: int, job: str) -> None:
        """Watch a handle that becomes readable when a job's process ends."""
        self.selector.register(handle, selectors.EVENT_READ, job)

    def unfollow(self, handle: int) -> None:
        """Watch a handle no more."""
        with contextlib.suppress(KeyError):
            self.selector.unregister(handle)

    def wait(self, commands: Commands) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait until somebody has something to say or something is due."""
        clock = commands.book.clock
        left_s = (commands.next_s() - clock.now_s()) / clock.speed
        return self.selector.select(max(0.0, min(left_s, LONGEST_WAIT_S)) if math.isfinite(left_s) else LONGEST_WAIT_S)

    def accept(self, commands: Commands) -> None:
        """Let a client in."""
        try:
            connection, _ = self._listener.accept()
        except OSError as problem:
            if problem.errno in (errno.EMFILE, errno.ENFILE):
                commands.book.counts["clients_refused"] += 1
            return
        connection.setblocking(False)  # noqa: FBT003  (its only parameter)
        if self._clients >= self.most_clients:
            commands.book.counts["clients_refused"] += 1
            with contextlib.suppress(OSError):
                connection.send(refusal(f"there are {self._clients} clients already (most_clients)"))
            connection.close()
            return
        self._clients += 1
        self.selector.register(connection, selectors.EVENT_READ, Client(connection))

    def talk(self, client: Client, mask: int, commands: Commands) -> None:
        """Read what a client asks, do it, and send what it can take."""
        try:
            if mask & selectors.EVENT_READ and not self._read(client, commands):
                self._drop(client)
                return
            if client.goes:
                sent = client.socket.send(client.goes)
                del client.goes[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return
        if len(client.goes) > MOST_UNREAD:
            commands.book.counts["clients_dropped"] += 1
            self._drop(client)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.goes else 0)
        self.selector.modify(client.socket, wanted, client)

    def _read(self, client: Client, commands: Commands) -> bool:
        """Read and answer; tell whether the client is still there."""
        got = client.socket.recv(READ)
        if not got:
            return False
        client.came += got
        while True:
            line, newline, rest = client.came.partition(b"\n")
            if not newline:
                break
            client.came = rest
            if client.skipping:
                client.skipping = False
            else:
                client.goes += self.reply(bytes(line), commands)
        if client.skipping:
            client.came.clear()
        elif len(client.came) > LONGEST_REQUEST:
            client.came.clear()
            client.skipping = True
            client.goes += self.reply(b" " * (LONGEST_REQUEST + 1), commands)
        return True

    def reply(self, line: bytes, commands: Commands) -> bytes:
        """Return the answer to a request."""
        commands.book.counts["requests"] += 1
        try:
            do, fields = check(parse(line))
        except RequestError as problem:
            commands.book.counts["requests_bad"] += 1
            return refusal(f"request {problem}")
        return commands.do(do, fields)

    def _drop(self, client: Client) -> None:
        self._clients -= 1
        self.selector.unregister(client.socket)
        client.socket.close()


def handle(events: list[tuple[selectors.SelectorKey, int]], server: Server, commands: Commands) -> list[Any]:
    """Deal with what happened; return what is not the server's."""
    others = []
    for key, mask in events:
        if isinstance(key.data, Client):
            if key.data.socket.fileno() >= 0:
                server.talk(key.data, mask, commands)
        elif key.data == "listen":
            server.accept(commands)
        else:
            others.append(key.data)
    return others
