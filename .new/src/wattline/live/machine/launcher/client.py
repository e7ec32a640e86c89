"""The launcher as a resource manager: one connection, each request answered in time or given up."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.live.machine.base import Abilities, Form, JobSeen, ManagerError, NodeSeen, Snapshot
from wattline.live.machine.launcher.store import SOCKET
from wattline.live.machine.launcher.wire import VERSION

READ = 1 << 20
MOST_SEEN = 5000
"""Ended jobs that one request acknowledges."""

ABILITIES = Abilities(
    pins=True,
    pauses=True,
    requeues=True,
    molds=True,
    quick=True,
    notes=("a stop reaches the process group of a job: processes that leave it are not stopped",),
)


class RefusedError(ManagerError):
    """The launcher answered that it will not do this; the text says why."""


@dataclass
class LauncherClient:
    """A resource manager behind the socket of a launcher.

    Parameters
    ----------
    path
        The launcher's run directory (or its socket).
    timeout_s
        Seconds (of the wall) within which it must answer.
    acknowledge
        Whether ended jobs that a snapshot returned are not to be told again in the next one: for the controller, which
        keeps account of them. People who only look leave them.
    """

    path: Path | str
    timeout_s: float = 5.0
    acknowledge: bool = False
    abilities: Abilities = ABILITIES
    _socket: socket.socket | None = field(default=None, init=False, repr=False)
    _jobs: dict[str, JobSeen] = field(default_factory=dict, init=False, repr=False)
    _nodes: tuple[NodeSeen, ...] = field(default=(), init=False, repr=False)
    _at: tuple[str, int] = field(default=("", -1), init=False, repr=False)
    _ended: list[str] = field(default_factory=list, init=False, repr=False)

    def snapshot(self) -> Snapshot:
        """Return all jobs and nodes as they are now; only what changed since the last time crosses the socket."""
        said = self.ask("snapshot", epoch=self._at[0], since=self._at[1], seen=self._ended if self.acknowledge else [])
        try:
            return self._learn(said)
        except (KeyError, TypeError, ValueError) as problem:
            self.close()
            raise ManagerError(f"{self._where()}: its snapshot is not understood ({problem})") from None

    def _learn(self, said: dict[str, Any]) -> Snapshot:
        if said["v"] != VERSION:
            raise ValueError(f"version {said['v']!r}, expected {VERSION}; use launcher and client of one Wattline")
        if "gone" in said:
            for name in said["gone"]:
                self._jobs.pop(name, None)
        else:
            self._jobs.clear()
        _add(said["jobs"], self._jobs)
        if "nodes" in said:
            self._nodes = tuple(NodeSeen(**row) for row in said["nodes"])
        self._at = str(said["epoch"]), int(said["n"])
        if self.acknowledge:
            self._ended = [job.id for job in self._jobs.values() if job.phase == "ended"][:MOST_SEEN]
        return Snapshot(float(said["time_s"]), tuple(self._jobs.values()), self._nodes)

    def release(self, job: str, on: Sequence[str], form: Form | None = None) -> str | None:
        """Let a waiting job start on these nodes; with a form, on as many as they are."""
        told = {} if form is None else {"form": {k: v for k, v in vars(form).items() if math.isfinite(v)}}
        return self._try("release", job=job, nodes=list(on), **told)

    def hold(self, job: str) -> str | None:
        """Let a job that was released and has not started wait again."""
        return self._try("hold", job=job)

    def stop(self, job: str) -> str | None:
        """Stop the processes of a running job; it keeps its nodes."""
        return self._try("stop", job=job)

    def cont(self, job: str) -> str | None:
        """Let a stopped job go on."""
        return self._try("cont", job=job)

    def requeue(self, job: str) -> str | None:
        """Take a running job from its nodes and let it wait again."""
        return self._try("requeue", job=job)

    def leave(self, job: str, why: str) -> str | None:  # noqa: ARG002  (as the protocol has it)
        """Refuse: a launcher starts no job by itself. It is its user's to change or to cancel."""
        return "it stays where it is: the launcher starts no job by itself; change or cancel it"

    def give_back(self) -> dict[str, str | None]:
        """Nothing: a launcher starts no job by itself, jobs wait for the next controller."""
        return {}

    def cancel(self, job: str) -> str | None:
        """End a job, whatever it does."""
        return self._try("cancel", job=job)

    def drain(self, node: str, reason: str = "drained") -> str | None:
        """Let nothing more be started on a node."""
        return self._try("drain", node=node, reason=reason)

    def resume_node(self, node: str) -> str | None:
        """Let jobs be started on a node again."""
        return self._try("resume_node", node=node)

    def submit(self, argv: Sequence[str], nodes: int = 1, **what: Any) -> str:
        """Submit a job and return its number; it is taken once, even if the request has to be sent again.

        ``what``: ``cwd``, ``env``, ``output``, ``request_s``, ``begin_s``, ``after``, ``user``, ``account``,
        ``partition``, ``kind``, ``priority``, ``draw_w``, ``stoppable``, ``token``. ``RefusedError`` says why not.
        """
        what = {"cwd": os.getcwd(), "token": os.urandom(8).hex(), **what}  # noqa: PTH109
        return str(self.ask("submit", argv=list(argv), count=nodes, **what)["id"])

    def everything(self) -> Snapshot:
        """Return all jobs that are remembered, also those that somebody has acknowledged."""
        other = LauncherClient(self.path, self.timeout_s)
        try:
            return other._learn(other.ask("snapshot", all=True))
        finally:
            other.close()

    def counts(self) -> dict[str, Any]:
        """Return what the launcher counted."""
        said = self.ask("counts")
        return {name: said[name] for name in ("counts", "phases", "unsaved")}

    def shutdown(self, jobs: str = "requeue") -> None:
        """End the launcher; its jobs wait again at its next start (requeue), are cancelled, or run on (leave)."""
        self.ask("shutdown", jobs=jobs)

    def close(self) -> None:
        """Close the connection; jobs stay as they are."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """Send a request and return the answer; ``RefusedError`` when it says no."""
        line = json.dumps({"do": do, **fields}).encode() + b"\n"
        reused = self._socket is not None
        try:
            answer = self._exchange(line)
        except (ConnectionError, EOFError):
            if not reused:
                raise ManagerError(f"{self._where()}: the launcher does not answer") from None
            answer = self._once_more(line)
        if answer.get("ok") is not True:
            raise RefusedError(str(answer.get("why", "no reason given")))
        return answer

    def _once_more(self, line: bytes) -> dict[str, Any]:
        """Ask again over a new connection: the launcher may have been restarted, and requests may be repeated."""
        try:
            return self._exchange(line)
        except (ConnectionError, EOFError):
            raise ManagerError(f"{self._where()}: the launcher does not answer") from None

    def _exchange(self, line: bytes) -> dict[str, Any]:
        try:
            if self._socket is None:
                self._socket = self._connect()
            with contextlib.suppress(BrokenPipeError):  # it may have said why before it hung up
                self._socket.sendall(line)
            answer = json.loads(_line(self._socket))
        except (ConnectionError, EOFError):
            self.close()
            raise
        except TimeoutError:
            self.close()
            raise ManagerError(f"{self._where()}: no answer within {self.timeout_s:g} s") from None
        except (OSError, ValueError) as problem:
            self.close()
            raise ManagerError(f"{self._where()}: {getattr(problem, 'strerror', None) or problem}") from None
        if not isinstance(answer, dict):
            self.close()
            raise ManagerError(f"{self._where()}: answered with what is no object")
        return answer

    def _connect(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(self.timeout_s)
        try:
            made.connect(self._where())
        except FileNotFoundError:
            made.close()
            raise ManagerError(
                f"{self._where()}: no launcher is there; start one with: wattline launcher FILE"
            ) from None
        except BaseException:
            made.close()
            raise
        return made

    def _where(self) -> str:
        path = Path(self.path)
        return str(path / SOCKET if path.is_dir() else path)

    def _try(self, do: str, **fields: Any) -> str | None:
        try:
            self.ask(do, **fields)
        except RefusedError as why:
            return str(why)
        return None


def _add(rows: list[dict[str, Any]], jobs: dict[str, JobSeen]) -> None:
    """Add jobs of the fields that were told, the others as usual.

    The constructor of a frozen class takes ten times as long, which is half a snapshot of ten thousand jobs.
    """
    new, put = JobSeen.__new__, object.__setattr__
    for row in rows:
        if "on" in row:
            row["on"] = tuple(row["on"])
        job = new(JobSeen)
        put(job, "__dict__", row)  # what is not in it is found in the class
        jobs[row["id"]] = job


def _line(connection: socket.socket) -> bytes:
    """Return the answer to the one request that was sent."""
    parts = []
    while True:
        part = connection.recv(READ)
        if not part:
            raise EOFError
        parts.append(part)
        if part.endswith(b"\n"):
            return b"".join(parts)
