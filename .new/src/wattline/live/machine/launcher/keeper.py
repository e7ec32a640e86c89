"""The starter of jobs and the keeper of each: small processes of the standard library alone, run by path, not imported.

The launcher talks to one *starter* over a socket. For each job the starter forks a *keeper*, which forks the job and
holds it until the launcher has written down who it is. Then the keeper waits for the job's end, ends what is left of
its process group, and leaves an exit file. Keepers outlive the launcher and the starter; a job that was not told to go
when they died never runs, and its exit file says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
from typing import Any

LONGEST = 1 << 20
"""Bytes of a message to the starter."""
ROOM = 128
"""Bytes of an exit file, taken before the job runs: a disk that is full at its end does not lose its exit code."""
USUAL = (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_ticks(pid: int) -> int:
    """Return when a process began, in clock ticks since the machine did: with its pid it names a process for ever."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  (pathlib takes as long as all the rest to load)
        return int(file.read().rpartition(b")")[2].split()[19])


def serve(control: socket.socket) -> None:
    """Start jobs until the launcher closes the socket or dies."""
    control.set_inheritable(False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    held: dict[str, int] = {}
    while True:
        message = control.recv(LONGEST)
        if not message:
            return
        told = json.loads(message)
        if told["do"] == "spawn":
            _spawn(control, told, held)
            continue
        go = held.pop(told["run"], None)
        if go is not None:
            if told["do"] == "go":
                with contextlib.suppress(BrokenPipeError):
                    os.write(go, b"g")
            os.close(go)


def _spawn(control: socket.socket, told: dict[str, Any], held: dict[str, int]) -> None:
    waits, go = os.pipe()
    try:
        pid = os.fork()
    except OSError as problem:
        os.close(waits)
        os.close(go)
        _say(control, {"run": told["run"], "later": f"no process could be made ({problem.strerror})"})
        return
    if pid == 0:
        code = 1
        try:
            os.close(go)
            for other in held.values():
                os.close(other)
            _keep(control, told, waits)
            code = 0
        finally:
            os._exit(code)
    os.close(waits)
    held[told["run"]] = go


def _say(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the launcher is gone: the job will not be told to go
        control.send(json.dumps(message).encode())


def _keep(control: socket.socket, told: dict[str, Any], waits: int) -> None:
    """Be the keeper of a job, from before its start until after its end."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    temporary = f"{told['exit']}.{os.getpid()}.tmp"
    try:
        leaves = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(leaves, b" " * ROOM)
        out = os.open(told["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        err = out if told["err"] == told["out"] else os.open(told["err"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        starts, start = os.pipe()
        job = os.fork()
    except OSError as problem:
        what = f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
        _say(control, {"run": told["run"], "later": f"cannot be started now ({what})"})
        return
    if job == 0:
        try:
            os.setpgid(0, 0)
            os.close(start)
            control.close()
            _become(told, starts, nothing, out, err)
        finally:
            os._exit(127)
    with contextlib.suppress(OSError):  # it did so itself
        os.setpgid(job, job)
    for handle in {starts, nothing, out, err}:
        os.close(handle)
    me = os.getpid()
    ids = {"keeper": me, "keeper_ticks": start_ticks(me), "pgid": job, "start_ticks": start_ticks(job)}
    _say(control, {"run": told["run"], **ids})
    control.close()
    if os.read(waits, 1) != b"g":
        os.kill(job, signal.SIGKILL)
        os.waitpid(job, 0)
        _leave(leaves, temporary, told["exit"], {"never": True})
        return
    os.write(start, b"g")
    os.close(start)
    ended = os.waitid(os.P_PID, job, os.WEXITED | os.WNOWAIT)  # not reaped: its group's number stays its own
    with contextlib.suppress(OSError):
        os.killpg(job, signal.SIGKILL)
    os.waitpid(job, 0)
    code = (
        ended.si_status
        if ended is not None and ended.si_code == os.CLD_EXITED
        else 128 + getattr(ended, "si_status", 0)
    )
    _leave(leaves, temporary, told["exit"], {"exit": code})


def _become(told: dict[str, Any], starts: int, nothing: int, out: int, err: int) -> None:
    """Become the job, once it may start."""
    if os.read(starts, 1) != b"g":
        return
    for number in USUAL:
        signal.signal(number, signal.SIG_DFL)
    os.dup2(nothing, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    what, began = told["cwd"], {"WATTLINE_BEGAN": repr(time.monotonic())}
    try:
        os.chdir(what)
        what = told["argv"][0]
        os.execvpe(what, told["argv"], {**os.environ, **told["env"], **began})  # noqa: S606  (a job is what its user says)
    except (OSError, ValueError) as problem:
        os.write(2, f"wattline: {what}: {getattr(problem, 'strerror', None) or problem}\n".encode())


def _leave(handle: int, temporary: str, path: str, what: dict[str, Any]) -> None:
    """Write the exit file whole; a moment's trouble with the disk is waited for."""
    content = json.dumps(what).encode().ljust(ROOM - 1) + b"\n"
    for _ in range(20):
        try:
            os.pwrite(handle, content, 0)
            os.rename(temporary, path)  # noqa: PTH104
        except OSError:
            time.sleep(0.5)
        else:
            return


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
