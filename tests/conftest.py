"""What all tests share: where the real data lies, in which order they run, and code compiled once for all workers."""

from __future__ import annotations

import fcntl
import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line has it; read when numpy is imported

settings.register_profile("suite", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("suite")

MANY = 1000
"""Tests from which on it pays to compile everything first."""

LONG = (
    "docs/test_docs_commands.py",
    "differential/test_differential.py",
    "systems/test_reproduce_aqa.py",
    "formats/test_reader_memory.py",
    "systems/test_reproduce_qosg.py",
    "doors/test_doors.py",
    "systems/test_reproduce_qoscap.py",
    "cli/test_cli_resume.py",
    "docs/test_docs_python.py",
    "cli/test_endless_policies.py",
    "systems/test_reproduce_level_spread.py",
    "report/test_html.py",
    "systems/test_reproduce_nedd.py",
    "bidding/test_choices.py",
)
"""Files that take longest, or that must not be divided between workers, the longest first."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let every worker begin with long files, so that only short tests are left when one of them has no more to do.

    Each gets a part of the list, and takes from the end of another's when its own is done.
    """
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    if workers == 1 or len(items) < MANY:
        return
    tests = Path(__file__).parent
    order = {tests / name: i for i, name in enumerate(LONG)}
    long: list[list[pytest.Item]] = [[] for _ in LONG]
    rest = []
    for item in items:
        (long[order[item.path]] if item.path in order else rest).append(item)
    share = -(-len(items) // workers)
    found: list[pytest.Item] = []
    for worker in range(workers):
        mine = [item for file in long[worker::workers] for item in file]
        room = max(0, share - len(mine))
        found += mine + rest[:room]
        del rest[:room]
    items[:] = found + rest


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[Any]:
    """Compile the engine and all policies before the first test, on all cores: one worker does it, the others wait."""
    given = getattr(session.config, "workerinput", None)
    if given is not None and len(session.items) >= MANY:
        from wattline.control.catalog import catalog
        from wattline.sim.warm import warm_up

        place = Path(tempfile.gettempdir(), f"wattline-tests-{given['testrunuid']}")
        with place.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            policies = [policy for slot in catalog().values() for policy in slot.values()]
            warm_up(policies, lambda _text: None, nodes_change=None)
        place.unlink(missing_ok=True)
    return (yield)


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
