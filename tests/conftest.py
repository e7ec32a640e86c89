"""Shared fixtures: where the real data lies, if it does."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line has it; read when numpy is imported


def pytest_collection_finish() -> None:
    """Leave out of the search for garbage what collecting the tests made: modules and tests, which stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Look through what is there for garbage, and for what it forgot to close, once: pytest and Python would nine times
    more.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real traces named by WATTLINE_DATA; the test is skipped without it."""
    folder = os.environ.get("WATTLINE_DATA")
    if not folder:
        pytest.skip("needs real traces: set WATTLINE_DATA to the folder that holds them")
    return Path(folder)
