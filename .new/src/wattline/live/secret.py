"""Secrets in files: read only from a file that nobody but its owner, us, may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from wattline.errors import InputError
from wattline.files import open_regular

SHORTEST, LONGEST = 16, 1024


def handed_over(path: Path) -> Path:
    """Return where a file of secrets is read: the credential of the same name, where systemd hands one to this service.

    So one configuration serves the service, whose user cannot read the file, and root at a terminal.
    """
    folder = os.environ.get("CREDENTIALS_DIRECTORY", "")
    given = Path(folder) / path.name
    return given if folder and given.is_file() else path


def is_credential(path: Path | str) -> bool:
    """Tell whether a file lies where systemd keeps the credentials of this service.

    Nobody else gets into that folder. The files there are root's, and an access list lets us read them: it shows in
    their modes as if a group could.
    """
    folder = os.environ.get("CREDENTIALS_DIRECTORY", "")
    return bool(folder) and Path(os.path.abspath(path)).parent == Path(os.path.abspath(folder))  # noqa: PTH100  (links stay)


def what_is_wrong(path: Path | str, found: os.stat_result, forbidden: int = 0o077) -> tuple[str, str] | None:
    """Return why a file is not private enough and what to do, or None."""
    if is_credential(path) and found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o027:
        return None
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to another user (uid {found.st_uid})", f"chown {os.geteuid()} {path}"
    if mode & forbidden:
        verb = "read" if forbidden & 0o044 else "write"
        return f"others can {verb} it (mode {mode:o})", f"chmod 600 {path}"
    return None


def check_private(path: Path | str) -> None:
    """Refuse a file that others can read."""
    try:
        with open_regular(path) as file:
            wrong = what_is_wrong(path, os.fstat(file.fileno()))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path}: cannot be read ({getattr(problem, 'strerror', None) or problem})") from None
    if wrong is not None:
        raise InputError(f"{path}: {wrong[0]}; {wrong[1]}")


def read_token(path: Path | str) -> str:
    """Return the one word in a file; the file must be ours and have mode 600 (or less)."""
    try:
        with open_regular(path) as file:
            found = os.fstat(file.fileno())
            text = file.read(LONGEST + 2)
    except (OSError, ValueError) as problem:
        told = getattr(problem, "strerror", None) or problem
        raise InputError(f"{path}: the token cannot be read ({told})") from None
    if not is_credential(path) and found.st_uid != os.geteuid():
        raise InputError(f"{path}: the token must be owned by the user who runs this (uid {os.geteuid()})")
    if what_is_wrong(path, found) is not None:
        mode = stat.S_IMODE(found.st_mode)
        raise InputError(f"{path}: others may read the token (mode {mode:o}); chmod 600 {path}")
    token = text.decode("ascii", errors="replace").strip()
    if not (SHORTEST <= len(token) <= LONGEST and token.isascii() and token.isprintable() and " " not in token):
        raise InputError(f"{path}: expected a token of {SHORTEST} to {LONGEST} printable characters in one line")
    return token
