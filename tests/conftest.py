"""What all tests share: where the real data lies, in which order they run, and code compiled once for all workers."""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import compiled

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line has it; read when numpy is imported

settings.register_profile("suite", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("suite")

MANY = 1000
"""Tests from which on it pays to compile everything first."""

LONG = (
    "docs/test_docs_commands.py",
    "differential/test_differential.py",
    "gym/test_gym_learned.py",
    "bidding/test_bids_on_days.py",
    "systems/test_reproduce_aqa.py",
    "bidding/test_choices.py",
    "systems/test_reproduce_qosg.py",
    "api/test_sweeps.py",
    "docs/test_docs_learning.py",
    "cli/test_cli_kept.py",
    "formats/test_reader_memory.py",
    "doors/test_doors.py",
    "docs/test_docs_python.py",
    "systems/test_reproduce_level_spread.py",
    "cli/test_cli_resume.py",
    "systems/test_reproduce_nedd.py",
    "report/test_html.py",
    "bidding/test_budgets.py",
    "systems/test_reproduce_qoscap.py",
    "cli/test_endless_policies.py",
    "systems/test_reproduce_contest.py",
)
"""Files that take longest, or that must not be divided between workers, the longest first."""

WAITING = (
    "live/slurm/",
    "live/faults/test_faults_",
    "demo/",
    "docs/test_docs_live_install.py",
    "docs/test_docs_live_first_steps.py",
    "live/launcher/",
    "live/agent/",
    "live/power/test_redfish.py",
    "live/operation/",
    "live/bus/",
    "live/journal/",
    "live/signals/",
    "api/test_api_misuse.py::test_ctrl_c_is_heard_within_a_second",
)
"""Tests that mostly wait, for seconds to pass or for other processes, the longest first."""

AGAIN = {"reruns": 2, "reruns_delay": 3}
"""How often a test that bounds real time is tried again, and after how many seconds: it says something of Wattline only
where the machine gave its processes their time, and beside busy workers, or on a machine that is shared, it may not.
What was tried again is counted in the last line.
"""

BESIDE = 2
"""Workers beside one for each core: they begin with tests that wait."""

NICER = 10
"""How far tests that compute stand back behind those that wait, and must be there when what they wait for happens."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Take a worker for each core and some that wait, for all tests; two for a part of them."""
    return len(os.sched_getaffinity(0)) + BESIDE if config.args_source is config.ArgsSource.TESTPATHS else 2


def _name(item: pytest.Item) -> str:
    return item.nodeid.removeprefix("tests/")


def _taken(items: list[pytest.Item], names: Sequence[str]) -> tuple[list[list[pytest.Item]], list[pytest.Item]]:
    """Return the tests whose names begin with each of the given ones, and the rest."""
    taken: dict[str, list[pytest.Item]] = {name: [] for name in ("", *names)}
    for item in items:
        taken[next((name for name in names if _name(item).startswith(name)), "")].append(item)
    rest = taken.pop("")
    return list(taken.values()), rest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let some workers begin with tests that wait and the others with long ones, so that all cores have something to
    compute meanwhile, and only short tests are left when a worker has no more to do.

    Each gets a part of the list, and takes from the end of another's when its own is done.
    """
    for item in items:
        if _name(item).startswith(WAITING) or getattr(getattr(item, "module", None), "time", None) is time:
            item.add_marker(pytest.mark.flaky(**AGAIN))
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    if workers == 1 or len(items) < MANY:
        return
    waiting, rest = _taken(items, WAITING)
    long, rest = _taken(rest, LONG)
    beside = min(BESIDE, workers // 2)
    begins = [waiting[k::beside] for k in range(beside)]
    begins += [long[k :: workers - beside] for k in range(workers - beside)]
    found: list[pytest.Item] = []
    for worker, parts in enumerate(begins):
        mine = [item for part in parts for item in part]
        room = max(0, (len(items) - len(found)) // (workers - worker) - len(mine))
        found += mine + rest[:room]
        del rest[:room]
    items[:] = found + rest
    config.pluginmanager.register(StandBack())


class StandBack:
    """Lets a worker stand back behind the others from its first test that computes; what it starts stands back, too."""

    _stands_back = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Look at the test that is to be run."""
        if not self._stands_back and not _name(item).startswith(WAITING):
            self._stands_back = True
            os.nice(NICER)


READING_S = 120.0
"""Seconds after which workers no longer wait for the first one to read the tests."""


def _place(given: dict[str, Any], what: str) -> Path:
    """Return a file that all workers of a run know."""
    return Path(tempfile.gettempdir(), f"wattline-tests-{given['testrunuid']}-{what}")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Begin to compile before the workers of all tests begin to read them; say whether tests were ever read here."""
    config, given, tests = node.config, node.workerinput, Path(__file__).parent
    if config.args_source is not config.ArgsSource.TESTPATHS:
        return
    if given["workerid"] == "gw0":
        config.tests_were_read = any(tests.glob("*/__pycache__/test_*-pytest-*.pyc"))
        for what in ("compile", "read"):
            config.add_cleanup(partial(_place(given, what).unlink, missing_ok=True))
        with _place(given, "compile").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the process that compiles keeps it to its end
            command = [sys.executable, "-c", "import compiled; compiled.everything()"]
            config.add_cleanup(subprocess.Popen(command, cwd=tests, pass_fds=[lock.fileno()]).wait)
    given["tests_were_read"] = config.tests_were_read


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[Any]:
    """Where tests are read for the first time, let one worker read them before the others: pytest keeps what it made
    of them, which takes twice as long as all the rest.
    """
    given = getattr(session.config, "workerinput", {})
    if given.get("tests_were_read", True):
        return (yield)
    place, due = _place(given, "read"), time.monotonic() + READING_S
    while given["workerid"] != "gw0" and not place.exists() and time.monotonic() < due:
        time.sleep(0.1)
    try:
        return (yield)
    finally:
        place.touch()


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[Any]:
    """Have the engine and all policies compiled before the first test: one process does it, the others wait."""
    given = getattr(session.config, "workerinput", None)
    if given is not None and len(session.items) >= MANY:
        with _place(given, "compile").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            compiled.everything()
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
