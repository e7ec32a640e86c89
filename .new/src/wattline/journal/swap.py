"""Put a journal that was written beside its place into it, so that a kill at any moment leaves the old one or the new
one.

The new folder is a hidden sibling named by machine and process; the old one is moved aside under that name with
``.old`` until what a user put beside the tables has moved along. What a killed process left half-way is finished by
``tidy``.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wattline.files import read_regular
from wattline.journal.unfinished import NAME as UNFINISHED

MANIFEST = "manifest.json"
_MARK, _OLD = ".writing-", ".old"
_WRITING: set[Path] = set()
"""What threads of this process are writing now."""


def beside(target: Path) -> Path:
    """Return where this process writes a journal before it takes its place."""
    return target.parent / f".{target.name}{_MARK}{platform.node()}-{os.getpid()}"


@contextmanager
def writing(temporary: Path) -> Iterator[None]:
    """Keep other threads of this process from taking the new folder for one that a killed process left."""
    _WRITING.add(temporary)
    try:
        yield
    finally:
        _WRITING.discard(temporary)


def swap(temporary: Path, target: Path, own: Iterable[str]) -> None:
    """Put the new folder in place of the old one; what a user put beside the journal's ``own`` files moves along."""
    if (target / UNFINISHED).exists():  # which goes now: the disk must have what takes its place
        _sync(temporary)
    if not target.exists():
        temporary.rename(target)
        return
    old = temporary.with_name(f"{temporary.name}{_OLD}")
    target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        old.rename(target)
        raise
    _move_along(old, target, own)


def tidy(target: Path, own: Iterable[str]) -> None:
    """Finish what processes left half-way that were killed while they wrote this journal.

    Without permission, leave it.
    """
    with suppress(OSError, ValueError, RuntimeError):  # no name that a folder can have; links in a circle
        target = Path(target).resolve()
        for left in sorted(target.parent.glob(f".{glob.escape(target.name)}{_MARK}*")):
            if left.name.endswith(_OLD) or _is_running(left):
                continue
            old = left.with_name(f"{left.name}{_OLD}")
            if old.exists() and not target.exists() and (left / MANIFEST).exists():
                left.rename(target)  # the manifest is written last: it is whole
            shutil.rmtree(left, ignore_errors=True)
        for old in sorted(target.parent.glob(f".{glob.escape(target.name)}{_MARK}*{_OLD}")):
            if _is_running(old):
                continue
            if target.exists():
                _move_along(old, target, own)
            else:
                old.rename(target)


def _move_along(old: Path, target: Path, own: Iterable[str]) -> None:
    """Move what is not the journal's own to the new folder and drop the old one; an interrupted run stays resumable."""
    dropped = set(own) | ({UNFINISHED} if not _is_resumable(target) else set())
    for extra in old.iterdir():
        if extra.name not in dropped and not (target / extra.name).exists():
            extra.rename(target / extra.name)
    shutil.rmtree(old, ignore_errors=True)  # a network disk keeps files that are open: ``tidy`` takes them later


def _is_resumable(folder: Path) -> bool:
    try:
        return bool(json.loads(read_regular(folder / MANIFEST)).get("resume"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return True  # not written by us, or not whole: what it takes to make it again is kept


def _is_running(left: Path) -> bool:
    """Tell whether the process that made a folder may still be at it: of another machine that is not known."""
    machine, _, process = left.name.removesuffix(_OLD).rpartition(_MARK)[2].rpartition("-")
    if machine != platform.node() or not process.isdigit():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return int(process) != os.getpid() or left.with_name(left.name.removesuffix(_OLD)) in _WRITING


def _sync(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        entry = os.open(path, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)
