"""Who may come in over ZeroMQ: a thread that knows all public keys and gives each connection its owner's name."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.bus.keys import Known, load_known, need_zmq

DOMAIN = "wattline"
_TICK_MS, _LOOK_S = 50, 0.5


class Door:
    """Answers ZeroMQ's question whether a key is known (ZAP, RFC 27), inside this process.

    When the file of public keys changes it is read again: new nodes come in without a restart, and names whose key is
    gone or another are heard no more. A file that cannot be used is counted, and what was known stays.
    """

    def __init__(self, context: Any, path: Path) -> None:
        self._zmq = need_zmq()
        self.known = load_known(path)
        self.changes = 0
        """How often other keys were read."""
        self.refused, self.unreadable = 0, 0
        self._path, self._seen = path, _stamp(path)
        self._looked_s = time.monotonic()
        self._names = _names(self.known)
        self._socket = context.socket(self._zmq.REP)
        self._socket.linger = 0
        self._socket.bind("inproc://zeromq.zap.01")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="wattline-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; connections that are asked about later are refused by ZeroMQ."""
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            asked = self._socket.poll(_TICK_MS)
            self._look()
            if asked:
                self._answer(self._socket.recv_multipart())

    def _answer(self, frames: list[bytes]) -> None:
        from zmq.utils import z85

        version, sequence = (*frames, b"", b"")[:2]
        key = frames[6] if len(frames) == 7 and frames[5] == b"CURVE" else b""
        found = z85.encode(key) if len(key) == 32 else b""
        name = self._names.get(found)
        if name is None:
            self.refused += 1
            self._socket.send_multipart([version, sequence, b"400", b"unknown key", b"", b""])
        else:
            self._socket.send_multipart([version, sequence, b"200", b"", f"{name} {found.decode()}".encode(), b""])

    def _look(self) -> None:
        now_s = time.monotonic()
        if now_s < self._looked_s + _LOOK_S:
            return
        self._looked_s = now_s
        stamp = _stamp(self._path)
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            known = load_known(self._path)
        except InputError:
            known = None
        if known is None or known.site != self.known.site:
            self.unreadable += 1
            return
        self.known, self._names = known, _names(known)
        self.changes += 1


def _names(known: Known) -> dict[bytes, str]:
    return {key: name for name, key in known.keys.items()}


def _stamp(path: Path) -> tuple[int, int, int]:
    with contextlib.suppress(OSError):
        found = os.stat(path)  # noqa: PTH116
        return found.st_mtime_ns, found.st_size, found.st_ino
    return (0, 0, 0)
