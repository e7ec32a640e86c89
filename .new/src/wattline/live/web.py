"""A small HTTP server in a thread of its own, for a few local callers: bounded in connections, bytes and time.

It answers one request a connection. Whoever is slow is cut off at a deadline, however he is slow; when all places are
taken, the connection that has waited longest goes, so that callers who are quick always get through.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from wattline.errors import InputError, cut

HEAD = 8192
"""Bytes of a request before its body."""
BACKLOG = 128
"""Callers who may wait to be let in; a caller beyond is kept waiting for a second by the system."""
LONGEST_PATH = 100
"""Bytes in the name of a socket that every Unix takes."""
AGAIN_S = 1.0
"""Seconds after which an address that another program has is tried again."""


@dataclass(frozen=True)
class Request:
    """What a caller asks."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By their names in small letters."""
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What he gets."""

    status: HTTPStatus
    body: str | bytes = ""
    kind: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


class TakenError(InputError):
    """Another program has the address."""


class _BadRequestError(Exception):
    def __init__(self, status: HTTPStatus, told: str) -> None:
        super().__init__(told)
        self.status = status


class Web:
    """A server on an address (loopback unless told otherwise) or on a Unix socket that only its owner may use.

    Parameters
    ----------
    answer
        Called in the server's thread, one request at a time.
    host, port, path
        Where it listens: an IP address and a port (0: any), or the name of a socket.
    largest
        Bytes of a body.
    most, deadline_s
        Connections at a time, and the seconds (of the wall) that each of them has.
    count
        Told of each request that is refused here, by reason.
    patient
        Told in a line that another program has the address; it is then tried again until it is free. Without it that
        is an error.
    replace
        Take the name of a socket from whoever has it.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        path: Path | str | None = None,
        largest: int = 4096,
        most: int = 32,
        deadline_s: float = 5.0,
        count: Callable[[str], None] | None = None,
        patient: Callable[[str], None] | None = None,
        replace: bool = False,
    ) -> None:
        self._answer, self._largest, self._most, self._deadline_s = answer, largest, most, deadline_s
        self._count = count or (lambda _reason: None)
        self._open: dict[asyncio.StreamWriter, None] = {}
        self._path = None if path is None else Path(path)
        self._at, self._replace = (host, port), replace
        self._socket: socket.socket | None = None
        self._inode: int | None = None
        self.port = 0
        try:
            self._socket = self._listen()
        except TakenError as problem:
            if patient is None:
                raise
            patient(str(problem))
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="wattline-web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, drop all connections and remove the socket; twice is as good as once."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
        if self._path is not None and self._inode is not None:
            with contextlib.suppress(OSError):
                if self._path.stat().st_ino == self._inode:
                    self._path.unlink()
            self._path = None

    def _listen(self) -> socket.socket:
        made = _on_address(*self._at) if self._path is None else _on_path(self._path, replace=self._replace)
        made.listen(BACKLOG)  # whoever calls from now on is heard
        self._inode = None if self._path is None else self._path.stat().st_ino
        self.port = made.getsockname()[1] if self._path is None else 0
        return made

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        while self._socket is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), AGAIN_S)
                return
            with contextlib.suppress(InputError):
                self._socket = self._listen()
        serve = asyncio.start_server if self._path is None else asyncio.start_unix_server
        server = await serve(self._one, sock=self._socket, limit=HEAD, backlog=BACKLOG)
        await self._stop.wait()
        self._loop.remove_reader(self._socket)  # nobody else is let in
        await _turns()  # who was just let in gets his streams: where the server closes before, the socket stays open
        server.close()
        for writer in list(self._open):
            writer.transport.abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _turns()  # what was aborted is closed in the turn after

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= self._most:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
            self._count("crowded-out")
        self._open[writer] = None
        try:
            async with asyncio.timeout(self._deadline_s):
                writer.write(_wire(await self._ask(reader)))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except TimeoutError:
            self._count("slow")
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # whoever it was has gone
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    async def _ask(self, reader: asyncio.StreamReader) -> Answer:
        try:
            request = await self._read(reader)
        except _BadRequestError as problem:
            self._count("malformed-request")
            return Answer(problem.status, f"{problem}\n")
        try:
            return self._answer(request)
        except Exception as problem:  # a bug in an answer must not end the server
            self._count("internal-error")
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(problem).__name__}\n")

    async def _read(self, reader: asyncio.StreamReader) -> Request:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.LimitOverrunError:
            told = f"a request's head has at most {HEAD} bytes"
            raise _BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, told) from None
        first, *lines = head.split("\r\n")[:-2]
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise _BadRequestError(HTTPStatus.BAD_REQUEST, "expected a request of HTTP/1.1")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            name = name.lower()
            if not colon or not name or name != name.strip() or name in headers:
                raise _BadRequestError(HTTPStatus.BAD_REQUEST, f"header {cut(name, 40)!r} is malformed or repeated")
            headers[name] = value.strip()
        return Request(words[0], words[1], headers, await self._body(reader, headers))

    async def _body(self, reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
        if "transfer-encoding" in headers:
            raise _BadRequestError(HTTPStatus.NOT_IMPLEMENTED, "send Content-Length, not chunks")
        told = headers.get("content-length", "0")
        if not (told.isascii() and told.isdigit() and len(told) < 12):
            raise _BadRequestError(HTTPStatus.BAD_REQUEST, "Content-Length must be a whole number")
        if int(told) > self._largest:
            at_most = f"a body has at most {self._largest} bytes"
            raise _BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, at_most)
        return await reader.readexactly(int(told))


async def _turns() -> None:
    """Let the loop do what it was about to do, and what follows from that."""
    for _ in range(5):
        await asyncio.sleep(0)


def _wire(answer: Answer) -> bytes:
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    head = {
        "Content-Type": answer.kind,
        "Content-Length": str(len(body)),
        "Connection": "close",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        **answer.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n{lines}\r\n".encode("latin-1") + body


def _on_address(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        raise InputError(f"host {host!r}: expected an IP address like 127.0.0.1") from None
    if not 0 <= port <= 65535:
        raise InputError(f"port {port}: expected 0 to 65535")
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError as problem:
        made.close()
        kind = TakenError if problem.errno == errno.EADDRINUSE else InputError
        raise kind(f"cannot listen on {host} port {port} ({problem.strerror or problem})") from None
    return made


def _on_path(path: Path, *, replace: bool) -> socket.socket:
    """Return a socket with mode 600 from its first moment on; a name that nobody answers to is taken over."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise InputError(f"{path}: the name of a socket has at most {LONGEST_PATH} bytes; give a shorter one")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() or path.is_symlink():
            _take_over(path, replace=replace)
        os.fchmod(made.fileno(), 0o600)  # the file gets the mode of the socket
        made.bind(str(path))
        path.chmod(0o600)
    except OSError as problem:
        made.close()
        raise InputError(f"{path}: cannot listen there ({problem.strerror or problem})") from None
    except InputError:
        made.close()
        raise
    return made


def _take_over(path: Path, *, replace: bool) -> None:
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise InputError(f"{path}: something else has this name; give another one for the socket")
    if replace:
        path.unlink()
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(1.0)
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError:
            pass
    raise TakenError(f"{path}: another program answers there already")
