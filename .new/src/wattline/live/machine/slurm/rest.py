"""Slurm by its REST interface, where one is served: what it can do goes by it, the rest by commands under its token.

Slurm 22.05's interface (``openapi/v0.0.38``) shows jobs and nodes, releases jobs and sends signals. It cannot name the
nodes of a job (``required_nodes`` is refused), has no ``admin_comment`` to write, no requeue and no configuration:
those are Slurm's commands, which need no munge with the token in ``SLURM_JWT``.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wattline.errors import InputError
from wattline.files import open_regular
from wattline.live.machine.base import ManagerError
from wattline.live.machine.slurm.commands import BUSY, BUSY_S, BUSY_TRIES, LEAST_S, MOST_TOLD, UNREACHABLE, Commands
from wattline.live.machine.slurm.text import ENDLESS_S, NOTHING, JobRow, NodeRow, hosts
from wattline.live.secret import what_is_wrong

API = "/slurm/v0.0.38"
LARGEST = 1 << 28
"""Bytes of an answer that are read."""
LONGEST_TOKEN = 4096
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass
class Token:
    """The token in a file, which somebody renews: it is read again when the file has changed."""

    path: Path
    text: str = field(default="", init=False, repr=False)
    user: str = field(default="", init=False)
    until_s: float = field(default=math.inf, init=False)
    """When it expires, in seconds since 1970."""
    _read: tuple[int, int, int] = field(default=(0, 0, 0), init=False, repr=False)

    def fresh(self) -> bool:
        """Read the file if it has changed; tell whether it had."""
        try:
            with open_regular(self.path) as file:
                found = os.fstat(file.fileno())
                stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
                if stamp == self._read:
                    return False
                text = file.read(LONGEST_TOKEN).decode("ascii", errors="replace").strip()
        except (OSError, ValueError) as problem:
            told = getattr(problem, "strerror", None) or problem
            raise ManagerError(f"{self.path}: the token cannot be read ({told})") from None
        wrong = what_is_wrong(self.path, found)
        if wrong is not None and not (os.geteuid() == 0 and wrong[0].startswith("belongs")):
            raise ManagerError(f"{self.path}: {wrong[0]}; {wrong[1]}")
        text = text.removeprefix("SLURM_JWT=")  # as scontrol token prints it
        try:
            body = text.split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
            self.user, self.until_s = str(claims["sun"]), float(claims.get("exp", math.inf))
        except (IndexError, ValueError, KeyError, TypeError):
            raise ManagerError(
                f"{self.path} holds no token of Slurm; write one with: scontrol token username=NAME > {self.path}"
            ) from None
        self.text, self._read = text, stamp
        return True

    def why_not(self, now_s: float) -> str:
        """Return in a line that it has expired; empty if it has not."""
        if now_s < self.until_s:
            return ""
        when = datetime.fromtimestamp(self.until_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"the token in {self.path} has expired, on {when}; renew it: scontrol token username={self.user}"


@dataclass
class RestCommands(Commands):
    """How Slurm is asked where it has a REST interface.

    Parameters
    ----------
    rest
        Its address, like ``http://127.0.0.1:6820``: plain HTTP on loopback only.
    token
        File of the token (mode 600).
    """

    rest: str = ""
    token: Token = field(default_factory=lambda: Token(Path("slurm.token")))
    _before: dict[str, JobRow] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._host = check_address(self.rest)

    # ------------------------------------------------------------------ looking

    def jobs(self) -> list[JobRow]:
        """Return all jobs that Slurm still knows, tasks of arrays one by one; one that has not changed is the same."""
        found: dict[str, JobRow] = {}
        for told in self._list("/jobs", "jobs"):
            for row in rows_of(told):
                before = self._before.get(row.id)
                found[row.id] = before if before == row else row
        self._before = found
        return list(found.values())

    def nodes(self) -> list[NodeRow]:
        """Return all nodes, once for each of their partitions."""
        rows = []
        for told in self._list("/nodes", "nodes"):
            states = tuple(str(word).lower() for word in (told["state"], *told.get("state_flags", ())))
            name, cpus, reason = told["name"], int(told["cpus"]), _text(told.get("reason"))
            rows += [NodeRow(name, states, partition, cpus, reason) for partition in told.get("partitions") or [""]]
        return rows

    def admin_comments(self) -> dict[str, str]:
        """Return what administrators noted of each job."""
        jobs = self._list("/jobs", "jobs")
        return {row.id: str(told.get("admin_comment") or "") for told in jobs for row in rows_of(told)}

    # ------------------------------------------------------------------ doing

    def release(self, job: str) -> str | None:
        """End the hold of a job; tasks of arrays have no number of their own before they run."""
        if "_" in job:
            return super().release(job)
        return self._told("POST", f"/job/{job}", {"hold": False})

    def signal(self, job: str, name: str) -> str | None:
        """Send a signal to all processes of a job, its script's included."""
        if "_" in job:
            return super().signal(job, name)
        return self._told("DELETE", f"/job/{job}?signal={name}")

    # ------------------------------------------------------------------ how

    def _run(self, words: Any) -> Any:
        """Give a command under the token."""
        self._have_token()
        return super()._run(words)

    def _have_token(self) -> None:
        if self.token.fresh():
            self.environment["SLURM_JWT"] = self.token.text
        why = self.token.why_not(time.time())
        if why:
            raise ManagerError(why)

    def _list(self, path: str, key: str) -> list[dict[str, Any]]:
        status, told = self._call("GET", path)
        if status != http.client.OK or told.get("errors"):
            raise ManagerError(f"slurmrestd: {_errors(told) or f'HTTP {status}'}")
        found = told.get(key)
        if not isinstance(found, list):
            raise ManagerError(f"slurmrestd: an answer without {key!r} is not understood")
        return found

    def _told(self, method: str, path: str, body: object = None) -> str | None:
        """Ask for something to be done; return the refusal. A job that is just changing is tried again soon."""
        why = self._refusal(*self._call(method, path, body))
        for _ in range(BUSY_TRIES - 1):
            if why is None or BUSY not in why.lower():
                break
            time.sleep(BUSY_S)
            why = self._refusal(*self._call(method, path, body))
        return why

    def _refusal(self, status: int, told: dict[str, Any]) -> str | None:
        """Return the refusal in a line; whatever says nothing of the job is no answer."""
        why = _errors(told)
        if status == http.client.OK and not why:
            return None
        if not why or "unspecified error" in why.lower() or any(word in why.lower() for word in UNREACHABLE):
            raise ManagerError(f"slurmrestd: {why or f'HTTP {status}'}")
        return why

    def _call(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Ask slurmrestd; return the status and the object that it answers with."""
        self._have_token()
        self.calls += 1
        left_s = self._until - time.monotonic()
        most_s = self.timeout_s if math.isinf(left_s) else max(LEAST_S, left_s)
        secure, host, port = self._host
        made = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        headers = {"X-SLURM-USER-NAME": self.token.user, "X-SLURM-USER-TOKEN": self.token.text}
        data = None if body is None else json.dumps(body)
        if data is not None:
            headers["Content-Type"] = "application/json"
        for last in (False, True):
            caller = made(host, port, timeout=most_s)
            try:
                caller.request(method, API + path, data, headers)
                answer = caller.getresponse()
                text = answer.read(LARGEST)
                break
            except (OSError, http.client.HTTPException) as problem:
                if isinstance(problem, ConnectionResetError) and not last:
                    continue  # dropped while it was busy; nothing that is asked here does harm when it is asked twice
                told = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
                raise ManagerError(f"{self.rest}: slurmrestd does not answer ({told})") from None
            finally:
                caller.close()
        if answer.status == http.client.NOT_FOUND:
            raise ManagerError(f"{self.rest}: has no {API} (Slurm 22.05's; slurmrestd -s openapi/v0.0.38)")
        try:
            found = json.loads(text)
        except ValueError:
            told = text[:MOST_TOLD].decode("utf-8", errors="replace").strip()
            raise ManagerError(f"slurmrestd: HTTP {answer.status}: {told or 'nothing'}") from None
        if not isinstance(found, dict):
            raise ManagerError("slurmrestd: answered with what is no object")
        return answer.status, found


def check_address(text: str) -> tuple[bool, str, int]:
    """Return of an address whether it is HTTPS, the host and the port; plain HTTP is for loopback."""
    try:
        found = urlsplit(text)
        host, port = found.hostname or "", found.port or (443 if found.scheme == "https" else 6820)
    except ValueError:
        host, port = "", 0
        found = urlsplit("")
    if found.scheme not in ("http", "https") or not host or found.path not in ("", "/"):
        raise InputError(f"rest: expected an address like http://127.0.0.1:6820, got {text!r}")
    if found.scheme == "http" and host not in LOOPBACK:
        raise InputError(f"rest: {text}: plain http is for loopback, the token could be read on its way; use https")
    return found.scheme == "https", host, port


def rows_of(told: Mapping[str, Any]) -> list[JobRow]:
    """Return the job of a record, or the tasks of an array that wait together."""
    try:
        number, array, task = int(told["job_id"]), int(told.get("array_job_id") or 0), told.get("array_task_id")
        waiting = _text(told.get("array_task_string"))
        if array and task is not None:
            names = [f"{array}_{int(task)}"]
        elif array and waiting:
            names = [f"{array}_{one}" for one in hosts(f"[{waiting.partition('%')[0]}]")]
        else:
            names = [str(number)]
        return [_row(name, str(number), told) for name in names]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise ManagerError(f"slurmrestd: a job is not understood ({type(problem).__name__}: {problem})") from None


def _row(name: str, number: str, told: Mapping[str, Any]) -> JobRow:
    limit = told["time_limit"]
    limit_s = math.inf if limit is None else 60.0 * float(limit)
    status = int(told.get("exit_code") or 0)
    return JobRow(
        id=name,
        number=number,
        state=str(told["job_state"]),
        reason=_text(told.get("state_reason")),
        priority=float(told.get("priority") or 0.0),
        nodes=int(told.get("node_count") or 0),
        cpus=int(told.get("cpus") or 0),
        tasks=int(told.get("tasks") or 0),
        submit_s=_time_s(told.get("submit_time")),
        eligible_s=_time_s(told.get("eligible_time")),
        start_s=_time_s(told.get("start_time")),
        end_s=_time_s(told.get("end_time")),
        limit_s=limit_s if limit_s < ENDLESS_S else math.inf,
        user=str(told.get("user_name") or ""),
        account=_text(told.get("account")),
        partitions=tuple(str(told["partition"]).split(",")),
        dependency=_text(told.get("dependency")),
        batch=bool(told.get("batch_flag")),
        exit=128 + (status & 127) if status & 127 else (status >> 8) & 255,
        wanted=hosts(_text(told.get("required_nodes"))),
        on=hosts(_text(told.get("nodes"))),
        het=bool(told.get("het_job_id")),
        features=_text(told.get("features")),
        reservation=_text(told.get("resv_name")),
        comment=_text(told.get("comment")),
    )


def _text(value: object) -> str:
    return "" if value is None or str(value) in NOTHING else str(value)


def _time_s(value: object) -> float:
    found = float(str(value or 0))
    return found if found > 0.0 else math.nan


def _errors(told: Mapping[str, Any]) -> str:
    """Return what went wrong, in a line."""
    found = [one for one in told.get("errors") or () if isinstance(one, dict)]
    lines = dict.fromkeys(str(one.get("error") or one.get("description") or one) for one in found)
    return " ".join("; ".join(lines).split())[:MOST_TOLD]
