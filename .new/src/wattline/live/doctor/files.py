"""Files and folders: who can read keys, who can write configuration, and whether there is room for the journal."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from wattline.live.doctor.findings import Finding, Machine
from wattline.units import show_duration

KEYS = "make it with: wattline keys"
LEAST_BYTES, FEW_BYTES = 100_000_000, 2_000_000_000
"""Below these a journal has no room, or not for long."""
SOON_S = 30 * 86400.0
"""A certificate that ends within this is to be renewed."""


def configuration(path: Path) -> Iterator[Finding]:
    """Look at a file that decides what may be done: nobody else may write it, or its folder."""
    for one in (path.resolve(), path.resolve().parent):
        mode = stat.S_IMODE(one.stat().st_mode)
        sticky = one.is_dir() and mode & stat.S_ISVTX
        if mode & 0o022 and not sticky:
            yield Finding("fail", "file", f"{one}: others can write it (mode {mode:o})", f"chmod go-w {one}")
            return
    yield Finding("ok", "file", f"{path}: nobody else can write it")


def secrets(
    paths: Iterable[Path | None], machine: Machine, forbidden: int = 0o077, made_by: str = KEYS
) -> Iterator[Finding]:
    """Look at files that nobody else may read (or, with 0o022, write); ``made_by`` says how one comes to be."""
    for path in paths:
        if path is None:
            continue
        verb = "read" if forbidden & 0o044 else "write"
        try:
            found = path.stat()
        except PermissionError:
            yield Finding("warn", "key", f"{path}: may not be looked at", "run the doctor as root")
            continue
        except OSError:
            yield Finding("fail", "key", f"{path}: no such file", made_by)
            continue
        mode = stat.S_IMODE(found.st_mode)
        if mode & forbidden:
            yield Finding("fail", "key", f"{path}: others can {verb} it (mode {mode:o})", f"chmod 600 {path}")
        elif machine.user not in (0, found.st_uid) and found.st_uid != 0:
            yield Finding(
                "fail", "key", f"{path}: belongs to another user (uid {found.st_uid})", f"chown {machine.user} {path}"
            )
        else:
            yield Finding("ok", "key", f"{path}: mode {mode:o}")


def certificate(path: Path, machine: Machine) -> Iterator[Finding]:
    """Look at how long a certificate is still good; without the extra openadr nobody here can read it."""
    try:
        from cryptography import x509

        until = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()
    except ModuleNotFoundError:
        return
    except (OSError, ValueError) as problem:
        yield Finding("fail", "certificate", f"{path}: cannot be read ({problem})", "expected a certificate in PEM")
        return
    left_s = until - machine.wall()
    if left_s <= 0.0:
        yield Finding("fail", "certificate", f"{path}: has ended {show_duration(-left_s)} ago", "get a new one")
    elif left_s < SOON_S:
        yield Finding("warn", "certificate", f"{path}: ends in {show_duration(left_s)}", "get a new one")
    else:
        yield Finding("ok", "certificate", f"{path}: good for {show_duration(left_s)}")


def folder(path: Path, what: str) -> Iterator[Finding]:
    """Look at a folder that is written to; whose the file ``off`` is, which root may have touched, does not matter."""
    if not path.exists():
        parent = next(one for one in path.parents if one.exists())
        if os.access(parent, os.W_OK):
            yield Finding("ok", what, f"{path}: will be made")
        else:
            yield Finding(
                "warn", what, f"{path}: is not there, and {parent} may not be written", "make it (mkdir, chown)"
            )
    elif not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
        yield Finding("fail", what, f"{path}: may not be written", "chown it to the user of the service")
    elif path.stat().st_mode & 0o002 and not path.stat().st_mode & stat.S_ISVTX:
        yield Finding("fail", what, f"{path}: everybody can write it", f"chmod o-w {path}")
    elif strangers := [one for one in path.iterdir() if one.name != "off" and one.lstat().st_uid != path.stat().st_uid]:
        text = f"{strangers[0]}: belongs to another user than its folder"
        yield Finding("fail", what, text, f"chown -R --reference={path} {path}")
    else:
        yield Finding("ok", what, f"{path}: can be written")


def room(path: Path, machine: Machine, nodes: int, checkpoint_s: float) -> Iterator[Finding]:
    """Look at the room for a journal; checkpoints are most of it (2.5 kB a node, at 10,000 nodes)."""
    free = machine.free_bytes(path)
    a_day = 86400.0 / checkpoint_s * max(200_000.0, 2_500.0 * nodes) + 50_000_000.0
    lasts = show_duration(86400.0 * free / a_day)
    text = f"{path}: {free / 1e9:.1f} GB free, for {lasts} or so"
    if free < LEAST_BYTES:
        yield Finding("fail", "disk", text, "make room, or move [journal] dir")
    elif free < FEW_BYTES:
        yield Finding("warn", "disk", text, "make room, or set [journal] keep_files")
    else:
        yield Finding("ok", "disk", text)
