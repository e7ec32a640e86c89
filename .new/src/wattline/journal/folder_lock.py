"""One writer a folder of results: a lock beside it that names its process, is taken in one step, and outlives nobody.

The lock is a hidden sibling, ``.NAME.lock``, since the folder itself is swapped when a journal is written. It appears
under its name with all that it says (a hard link, which network disks make in one step too). One whose process has
died, or whose machine has been started anew since, is taken over; of another machine that cannot be known.
"""

from __future__ import annotations

import json
import os
import platform
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wattline.errors import TraceError
from wattline.files import read_regular


def lock_of(folder: Path) -> Path:
    """Return the lock of a folder of results."""
    target = Path(folder).resolve()
    if target.is_dir() and os.access(target, os.W_OK) and not os.access(target.parent, os.W_OK):
        return target / ".lock"  # nobody can swap such a folder
    return target.with_name(f".{target.name}.lock")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder while results are made for it; another process that holds it is an error that names it."""
    lock = lock_of(folder)
    made = [path for path in lock.parents if not path.exists()]
    mine = _about(os.getpid())
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        _take(lock, mine, folder)
    except OSError as problem:
        raise TraceError.at(folder, f"cannot be locked ({problem.strerror})", hint="give another folder") from None
    try:
        yield
    finally:
        if _read(lock) == mine:
            with suppress(OSError):
                lock.unlink()
        for path in made:
            with suppress(OSError):
                path.rmdir()  # which only empty ones allow


def refuse_held(folder: Path) -> None:
    """Raise an error if a process holds a folder, without taking it: this can be asked where nothing can be written."""
    lock = lock_of(folder)
    there = _read(lock)
    if there is not None and not _is_gone(there):
        raise _refused(lock, there, folder)


def _take(lock: Path, mine: dict[str, Any], shown: Path) -> None:
    part = lock.with_name(f"{lock.name}.{uuid.uuid4().hex[:12]}")
    text = json.dumps(mine) + "\n"
    try:
        part.write_text(text, encoding="utf-8")
        for _ in range(10):  # each time one that has died, or has ended just now
            if _link(part, lock, text):
                return
            there = _read(lock)
            if there is None:
                continue
            if not _is_gone(there):
                raise _refused(lock, there, shown)
            _remove(lock, there)
        raise _refused(lock, _read(lock) or {}, shown)
    finally:
        part.unlink(missing_ok=True)


def _link(part: Path, lock: Path, text: str) -> bool:
    """Give the lock its name unless there is one; tell whether that was possible."""
    try:
        os.link(part, lock)
    except FileExistsError:
        return False
    except OSError:  # no hard links on this disk
        try:
            with lock.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return False
    return True


def _remove(lock: Path, dead: dict[str, Any]) -> None:
    """Take the lock of a dead process away, but none that another process has put there since."""
    aside = lock.with_name(f"{lock.name}.{uuid.uuid4().hex[:12]}")
    try:
        lock.rename(aside)
    except FileNotFoundError:
        return
    if _read(aside) != dead:
        with suppress(OSError):
            os.link(aside, lock)
    aside.unlink(missing_ok=True)


def _read(lock: Path) -> dict[str, Any] | None:
    """Return what a lock says: nothing of one that is not there, an empty table of one that cannot be read."""
    try:
        found = json.loads(read_regular(lock))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_gone(there: dict[str, Any]) -> bool:
    """Tell whether the process of a lock has surely ended."""
    process = there.get("process")
    if there.get("machine") != platform.node() or not isinstance(process, int) or process < 1:
        return False
    if there.get("boot") != _boot():
        return True
    if there.get("space") != _space():
        return False  # of another container: its processes are not seen from here
    return _about(process).get("began") != there.get("began") or not _is_alive(process)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _about(process: int) -> dict[str, Any]:
    """Return what tells a process from all others, of this machine and of others."""
    now = datetime.now(UTC).isoformat(timespec="seconds") if process == os.getpid() else None
    return {
        "machine": platform.node(),
        "boot": _boot(),
        "space": _space(),
        "process": process,
        "began": _began(process),
        "since": now,
    }


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _began(process: int) -> str:
    """Return when a process began, in the clock ticks of its machine: numbers of processes are used again."""
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return told.rpartition(")")[2].split()[19]


def _refused(lock: Path, there: dict[str, Any], shown: Path) -> TraceError:
    who = f"process {there.get('process')} on {there.get('machine')}, since {there.get('since')}"
    hint = "wait for it, or stop it"
    if there.get("machine") != platform.node() or there.get("space") != _space():
        hint += f"; if it has died, delete {lock}"
    told = "another run is writing there" + (f" ({who})" if there else "")
    return TraceError.at(shown, told, hint=hint)
