"""Secrets in files: read only from a file that nobody but its owner, us, may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from wattline.errors import InputError
from wattline.files import open_regular

SHORTEST, LONGEST = 16, 1024


def read_token(path: Path | str) -> str:
    """Return the one word in a file; the file must be ours and have mode 600 (or less)."""
    try:
        with open_regular(path) as file:
            found = os.fstat(file.fileno())
            text = file.read(LONGEST + 2)
    except (OSError, ValueError) as problem:
        told = getattr(problem, "strerror", None) or problem
        raise InputError(f"{path}: the token cannot be read ({told})") from None
    if found.st_uid != os.geteuid():
        raise InputError(f"{path}: the token must be owned by the user who runs this (uid {os.geteuid()})")
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise InputError(f"{path}: others may read the token (mode {mode:o}); chmod 600 {path}")
    token = text.decode("ascii", errors="replace").strip()
    if not (SHORTEST <= len(token) <= LONGEST and token.isascii() and token.isprintable() and " " not in token):
        raise InputError(f"{path}: expected a token of {SHORTEST} to {LONGEST} printable characters in one line")
    return token
