"""Recorded data that reproductions use where somebody has them: files under the folder that WATTLINE_DATA names."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def data_identity() -> str:
    """Return a hash of the names, sizes and dates of all files under WATTLINE_DATA: results rest on what is there."""
    folder = os.environ.get("WATTLINE_DATA")
    digest = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*")) if folder else ():
        if path.is_file():
            status = path.stat()
            digest.update(f"{path.relative_to(folder or '')} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def data_file(name: str) -> Path | None:
    """Return a file under WATTLINE_DATA, if it is there."""
    folder = os.environ.get("WATTLINE_DATA")
    path = Path(folder, name) if folder else None
    return path if path is not None and path.exists() else None
