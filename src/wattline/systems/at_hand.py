"""Recorded data that reproductions use where somebody has them: files under the folder that WATTLINE_DATA names."""

from __future__ import annotations

import os
from pathlib import Path


def data_file(name: str) -> Path | None:
    """Return a file under WATTLINE_DATA, if it is there."""
    folder = os.environ.get("WATTLINE_DATA")
    path = Path(folder, name) if folder else None
    return path if path is not None and path.exists() else None
