"""Shared fixtures: where the real data lies, if it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real traces named by WATTLINE_DATA; the test is skipped without it."""
    folder = os.environ.get("WATTLINE_DATA")
    if not folder:
        pytest.skip("needs real traces: set WATTLINE_DATA to the folder that holds them")
    return Path(folder)
