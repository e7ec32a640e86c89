"""Where the runs of a study are made: in threads, in processes, or on workers of Dask, here or on a cluster."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from wattline.errors import InputError, did_you_mean, shorten

DASK, SLURM, THREADS, PROCESSES = "dask://", "slurm", "threads", "processes"
RETRIES = 3
"""How often Dask repeats what a lost worker had begun."""

WAIT_S = 60.0
"""How long a scheduler of Dask is waited for."""


TRIES = 3
"""How often a piece of work is begun where its worker was lost."""

LOOK_EVERY_S = 0.02
"""How often the one who waits for runs looks whether Ctrl-C was pressed."""

GRACE_S = 0.3
"""How long runs that were told to end are waited for: most hear it within a tenth of a second."""


class LostError(Exception):
    """The worker of a piece of work is gone; it is to be done again."""


class Promise(Protocol):
    """A piece of work that is on its way."""

    def done(self) -> bool:
        """Tell whether it has ended."""

    def wait(self, seconds: float) -> bool:
        """Wait for its end, but no longer than some seconds; tell whether it has ended."""

    def result(self) -> Any:
        """Wait for it; what it raised is raised. ``LostError``: its worker is gone."""

    def found(self) -> Any | None:
        """Return what it left if it has ended well."""


Call = tuple[Any, ...]
"""A function and its arguments; in this process it is also told, as the last one, the event that asks it to end."""

Submit = Callable[..., Promise]


@dataclass(frozen=True)
class Where:
    """A place for runs: how many at a time, and how it is opened."""

    workers: int
    opened: Callable[[threading.Event], AbstractContextManager[Submit]]
    here: bool = False
    """Whether it is this process, which shares its memory with the runs."""


@dataclass
class _Begun:
    """A piece of work that was begun: its key, how it is called, who promised it, and how often it was begun."""

    key: Any
    call: Call
    promise: Promise
    tries: int = 1


def carry_out_at(
    where: Where,
    calls: Iterable[tuple[Any, Call]],
    take: Callable[[Any, Any], None],
    look: Callable[[], None],
    words: Callable[[Any], str],
    *,
    partly: bool,
) -> None:
    """Carry calls out side by side; ``take`` hears of each, by its key, as it is done.

    What a lost worker had begun is begun again. ``look`` is called now and then: compiled runs may be long, and Ctrl-C
    is heard there. It ends all; ``partly``: without an error, after what was done by then was taken.
    """
    stop = threading.Event()
    left = iter(calls)
    begun: list[_Begun] = []
    with where.opened(stop) as submit:
        try:
            while True:
                while len(begun) < 4 * where.workers and (call := next(left, None)) is not None:
                    begun.append(_Begun(call[0], call[1], submit(*call[1])))
                if not begun:
                    return
                if not begun[0].promise.wait(LOOK_EVERY_S) and not any(one.promise.done() for one in begun):
                    look()
                    continue
                begun = _taken(begun, submit, take, words)
                look()
        except BaseException as problem:
            stop.set()
            deadline = time.monotonic() + GRACE_S
            for one in begun:
                one.promise.wait(max(0.0, deadline - time.monotonic()))
                if (found := one.promise.found()) is not None:
                    take(one.key, found)
            if not partly or not isinstance(problem, KeyboardInterrupt):
                raise


def _taken(
    begun: list[_Begun], submit: Submit, take: Callable[[Any, Any], None], words: Callable[[Any], str]
) -> list[_Begun]:
    """Tell of what is done, begin again what was lost; return what is on its way."""
    for one in [one for one in begun if one.promise.done()]:
        try:
            found = one.promise.result()
        except LostError as lost:
            if one.tries == TRIES:
                raise InputError(f"{words(one.key)}: {TRIES} workers were lost one after the other ({lost})") from None
            one.promise, one.tries = submit(*one.call), one.tries + 1
            continue
        begun.remove(one)
        take(one.key, found)
    return begun


def begin_worker() -> None:
    """Begin a process that runs tasks for another one: Ctrl-C is left to that one, and it ends when that one does."""
    import signal

    from wattline.sim.ensemble import watch_parent

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch_parent()


def find_where(on: str | None, workers: int | None, *, plain: bool, objects: bool = False) -> Where:
    """Return the place that was asked for.

    ``plain``: some policy is plain Python; ``objects``: some policy is an object of this program, which other processes
    do not know.
    """
    count = workers or os.cpu_count() or 1
    if on is None:
        on = PROCESSES if plain and count > 1 and not objects else THREADS
    if on == THREADS:
        return Where(count, functools.partial(_threads, count), here=True)
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
    raise InputError(f"on: expected {', '.join(known)}, got {shorten(on)}{did_you_mean(on, known)}")


class _Local:
    """A promise of an executor of this computer."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def done(self) -> bool:
        return bool(self._future.done())

    def wait(self, seconds: float) -> bool:
        from concurrent.futures import wait

        return bool(wait([self._future], timeout=seconds).done)

    def result(self) -> Any:
        from concurrent.futures import BrokenExecutor

        try:
            return self._future.result()
        except BrokenExecutor as problem:
            raise LostError(str(problem)) from None

    def found(self) -> Any | None:
        ended = self.done() and not self._future.cancelled() and self._future.exception() is None
        return self._future.result() if ended else None


@contextmanager
def _threads(count: int, stop: threading.Event) -> Iterator[Submit]:
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(count)

    def submit(function: Callable[..., Any], *arguments: Any) -> Promise:
        return _Local(pool.submit(function, *arguments, stop))

    try:
        yield submit
    finally:
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)  # who was told to end does so at its next look


@contextmanager
def _processes(count: int, stop: threading.Event) -> Iterator[Submit]:
    """Yield how to run in other processes; where one of them dies all are replaced."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    from wattline.sim.ensemble import end_children

    before = set(active_children())

    def begin() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=begin_worker)

    pools = [begin()]

    def submit(function: Callable[..., Any], *arguments: Any) -> Promise:
        try:
            return _Local(pools[-1].submit(function, *arguments))
        except BrokenExecutor:
            pools.append(begin())
            return _Local(pools[-1].submit(function, *arguments))

    try:
        yield submit
    finally:
        if stop.is_set():
            end_children(before)
        for pool in pools:
            pool.shutdown(cancel_futures=True)


class _Remote:
    """A promise of Dask."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def done(self) -> bool:
        return bool(self._future.done())

    def wait(self, seconds: float) -> bool:
        if not self.done():
            time.sleep(seconds)
        return self.done()

    def result(self) -> Any:
        from distributed import KilledWorker

        try:
            return self._future.result()
        except KilledWorker as problem:
            raise LostError(str(problem)) from None

    def found(self) -> Any | None:
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
    def submit(function: Callable[..., Any], *arguments: Any) -> Promise:
        return _Remote(client.submit(function, *arguments, pure=False, retries=RETRIES))

    return submit
