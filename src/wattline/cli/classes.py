"""Dataclasses from code that is kept on disk: a command loads hundreds of them, and Python would compile up to six
functions for each, a twelfth of the time of a short run.

``dataclasses`` writes these functions as text and calls ``exec``. In a process of the command line that name leads
here: a text that was compiled before is not compiled again. The code lies beside that of the engine, where there is
some, under a checksum; it is read only if nobody else can have written it. Whoever imports Wattline as a library gets
Python's own way.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import marshal
import os
import stat
import sys
import tempfile
from pathlib import Path
from types import CodeType
from typing import Any

from wattline.kernel.sources import cache_root, fingerprint

MOST = 5_000
"""Texts that are kept; where there are more, only those of the last command are."""

_kept: dict[bytes, CodeType] = {}
_used: dict[bytes, CodeType] = {}


def begin() -> None:
    """Let classes that are made from now on take the code that is kept."""
    _kept.clear()
    _used.clear()
    with contextlib.suppress(OSError):  # no folder, no file: nothing is kept yet
        _kept.update(_read(_place()))
    vars(dataclasses)["exec"] = _run


def keep() -> None:
    """Keep the code of this process for the next ones, if some is new and there is a folder of compiled code."""
    if sys.dont_write_bytecode or all(key in _kept for key in _used):
        return
    everything = {**_kept, **_used}
    body = marshal.dumps(everything if len(everything) <= MOST else _used)
    with contextlib.suppress(OSError):  # a full disk, or a folder that is not ours: the next process compiles too
        place = _place()
        if not place.parent.is_dir() or not _is_private(place.parent):
            return
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(hashlib.sha256(body).digest() + body)
        Path(file.name).replace(place)


def _place() -> Path:
    """Return the file for this very Python: bytecode differs by version, and by whether it keeps assertions."""
    python = f"{sys.implementation.cache_tag}-{importlib.util.MAGIC_NUMBER.hex()}-{sys.flags.optimize}"
    return cache_root() / fingerprint() / f"classes-{python}.code"


def _read(place: Path) -> dict[bytes, CodeType]:
    """Return the code in a file; nothing if it is damaged, or if others could have written it."""
    if not (_is_private(place.parent) and _is_private(place)):
        return {}
    content = place.read_bytes()
    seal, body = content[:32], content[32:]
    if hashlib.sha256(body).digest() != seal:
        return {}
    found: dict[bytes, CodeType] = marshal.loads(body)  # noqa: S302  (sealed, and nobody else may write there)
    return found


def _is_private(path: Path) -> bool:
    """Tell whether nobody but the user and the system can have written a file or folder."""
    if not hasattr(os, "geteuid"):
        return True
    found = path.stat()
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _run(source: Any, globals_: dict[str, Any], locals_: dict[str, Any]) -> None:
    """Do what ``exec`` does with a text, which is compiled once."""
    key = hashlib.blake2b(source.encode(), digest_size=16).digest()
    code = _kept.get(key) or _used.get(key)
    if code is None:
        code = compile(source, "<string>", "exec", dont_inherit=True)
    _used[key] = code
    exec(code, globals_, locals_)  # noqa: S102  (the text comes from dataclasses)
