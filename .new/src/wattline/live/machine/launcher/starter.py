"""The launcher's side of the starter: asks it for processes that wait to be told to go."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.live.machine.launcher.keeper import LONGEST

KEEPER = Path(__file__).with_name("keeper.py")
PATIENCE_S = 5.0
"""How long a starter may take to end."""


@dataclass
class Starter:
    """The process that forks keepers; it is small, so that a fork is quick however much the launcher knows."""

    socket: socket.socket = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def open(self) -> None:
        """Start the process, or a new one after the last has died."""
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  (this very interpreter)
                [sys.executable, "-I", "-S", str(KEEPER), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self.socket = ours

    def close(self) -> None:
        """End the process; jobs that were not told to go are not started, the others go on."""
        if self._process is not None:
            self.socket.close()
            try:
                self._process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def ask(self, do: str, run: str, **what: Any) -> None:
        """Ask for a process of a job (``spawn``), let it ``go``, or let it end without (``void``)."""
        with contextlib.suppress(ConnectionError):  # it died: the loop sees that and starts all anew
            self.socket.send(json.dumps({"do": do, "run": run, **what}).encode())

    def hear(self) -> dict[str, Any] | None:
        """Return what the starter or a keeper said; None when the starter is gone."""
        try:
            message = self.socket.recv(LONGEST)
        except ConnectionError:
            return None
        if not message:
            return None
        said: dict[str, Any] = json.loads(message)
        return said
