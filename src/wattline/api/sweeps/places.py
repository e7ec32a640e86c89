"""Where the runs of a sweep are made: in threads, in processes, or on workers of Dask, here or on a cluster."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from wattline.api.many import leave_signals
from wattline.api.sweeps.work import Places, Unit, Varies, Worked, work
from wattline.errors import InputError, did_you_mean

DASK, SLURM, THREADS, PROCESSES = "dask://", "slurm", "threads", "processes"
RETRIES = 3
"""How often Dask repeats what a lost worker had begun."""

WAIT_S = 60.0
"""How long a scheduler of Dask is waited for."""


class LostError(Exception):
    """The worker of a setting is gone; the setting is to be run again."""


class Promise(Protocol):
    """Runs of a setting that are on their way."""

    def done(self) -> bool:
        """Tell whether they have ended."""

    def result(self) -> Worked:
        """Wait for them; what they raised is raised. ``LostError``: their worker is gone."""

    def found(self) -> Worked | None:
        """Return what they left if they have ended well."""


Submit = Callable[[Varies, Unit, int, Places], Promise]


@dataclass(frozen=True)
class Where:
    """A place for runs: how many at a time, and how it is opened."""

    workers: int
    opened: Callable[[threading.Event], AbstractContextManager[Submit]]


def find_where(on: str | None, workers: int | None, *, plain: bool, objects: bool = False) -> Where:
    """Return the place that was asked for.

    ``plain``: some policy is plain Python; ``objects``: some policy is an object of this program, which other processes
    do not know.
    """
    count = workers or os.cpu_count() or 1
    if on is None:
        on = PROCESSES if plain and count > 1 and not objects else THREADS
    if on == THREADS:
        return Where(count, functools.partial(_threads, count))
    if objects:
        raise InputError(
            f"on: policies that are objects are known in this process alone, not on {on}; name their files"
        )
    if on == PROCESSES:
        return Where(count, functools.partial(_processes, count))
    if isinstance(on, str) and on.startswith((DASK, "tcp://", "tls://")):
        address = f"tcp://{on.removeprefix(DASK)}" if on.startswith(DASK) else on
        return Where(max(count, 16), functools.partial(_dask, address))
    if on == SLURM:
        return Where(max(count, 16), functools.partial(_slurm, count))
    known = (THREADS, PROCESSES, f"{DASK}HOST:PORT", SLURM)
    raise InputError(f"on: expected {', '.join(known)}, got {on!r}{did_you_mean(str(on), known)}")


class _Local:
    """A promise of an executor of this computer."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def done(self) -> bool:
        return bool(self._future.done())

    def result(self) -> Worked:
        from concurrent.futures import BrokenExecutor

        try:
            found: Worked = self._future.result()
        except BrokenExecutor as problem:
            raise LostError(str(problem)) from None
        return found

    def found(self) -> Worked | None:
        ended = self.done() and not self._future.cancelled() and self._future.exception() is None
        return self._future.result() if ended else None


@contextmanager
def _threads(count: int, stop: threading.Event) -> Iterator[Submit]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:

        def submit(study: Varies, unit: Unit, seeds: int, places: Places) -> Promise:
            return _Local(pool.submit(work, study, unit, seeds, places, stop))

        try:
            yield submit
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _processes(count: int, stop: threading.Event) -> Iterator[Submit]:
    """Yield how to run in other processes; where one of them dies all are replaced."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    def begin() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=leave_signals)

    pools = [begin()]

    def submit(study: Varies, unit: Unit, seeds: int, places: Places) -> Promise:
        try:
            return _Local(pools[-1].submit(work, study, unit, seeds, places))
        except BrokenExecutor:
            pools.append(begin())
            return _Local(pools[-1].submit(work, study, unit, seeds, places))

    try:
        yield submit
    finally:
        for pool in pools:
            pool.shutdown(wait=not stop.is_set(), cancel_futures=True)


class _Remote:
    """A promise of Dask."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def done(self) -> bool:
        return bool(self._future.done())

    def result(self) -> Worked:
        from distributed import KilledWorker

        try:
            found: Worked = self._future.result()
        except KilledWorker as problem:
            raise LostError(str(problem)) from None
        return found

    def found(self) -> Worked | None:
        return self._future.result() if self._future.status == "finished" else None


def _need_dask() -> None:
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise InputError("on: Dask is not installed; it comes with: pip install 'wattline[dask]'")


@contextmanager
def _dask(address: str, stop: threading.Event) -> Iterator[Submit]:  # noqa: ARG001  (others need it)
    _need_dask()
    from distributed import Client

    try:
        client = Client(address, timeout=WAIT_S, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise InputError(f"on: no scheduler of Dask answers at {address} ({problem})") from None
    with client:
        yield _to(client)


@contextmanager
def _slurm(count: int, stop: threading.Event) -> Iterator[Submit]:  # noqa: ARG001  (others need it)
    """Yield how to run on workers that are jobs of Slurm, as ~/.config/dask/jobqueue.yaml describes them."""
    from importlib.util import find_spec

    _need_dask()
    if find_spec("dask_jobqueue") is None:
        raise InputError("on: dask-jobqueue is not installed; it comes with: pip install 'wattline[dask]'")
    import dask
    from dask_jobqueue import SLURMCluster
    from distributed import Client

    told = dask.config.get("jobqueue.slurm", {})
    own: dict[str, Any] = {} if told.get("cores") else {"cores": 1, "memory": "2 GB"}
    own["scheduler_options"] = {"dashboard_address": "127.0.0.1:0"}  # for this machine alone
    with SLURMCluster(**own) as cluster, Client(cluster, set_as_default=False) as client:
        cluster.scale(jobs=count)
        yield _to(client)


def _to(client: Any) -> Submit:
    def submit(study: Varies, unit: Unit, seeds: int, places: Places) -> Promise:
        return _Remote(client.submit(work, study, unit, seeds, places, pure=False, retries=RETRIES))

    return submit
