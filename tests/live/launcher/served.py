"""A launcher for tests: in a thread of this process, or as a process of its own that can be killed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wattline.live.clock import Clock
from wattline.live.machine.base import JobSeen, ManagerError
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.machine.launcher.config import LauncherConfig
from wattline.live.machine.launcher.daemon import Launcher

PATIENCE_S = 20.0


def config(folder: Path, nodes: int | list[dict[str, str]] = 4, **more: Any) -> LauncherConfig:
    """Return what a test's launcher is told."""
    more.setdefault("grace", 5.0)
    groups = [{"names": f"n[1-{nodes}]"}] if isinstance(nodes, int) else nodes
    return LauncherConfig.model_validate({"run_dir": folder, "nodes": groups, "durable": False, **more})


@contextmanager
def served(
    folder: Path, nodes: int | list[dict[str, str]] = 4, clock: Clock | None = None, **more: Any
) -> Iterator[LauncherClient]:
    """Serve in a thread; at the end everything is cancelled, and no process may be left."""
    told: list[tuple[str, dict[str, object]]] = []
    launcher = Launcher(config(folder, nodes, **more), clock, lambda event, what: told.append((event, what)))
    launcher.open()
    failed: list[BaseException] = []

    def loop() -> None:
        try:
            while launcher.step():
                pass
        except BaseException as problem:
            failed.append(problem)
        launcher.close()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    client = LauncherClient(folder, PATIENCE_S)
    client.launcher = launcher  # type: ignore[attr-defined]
    try:
        yield client
    finally:
        if thread.is_alive():
            with contextlib.suppress(ManagerError):  # it was ending already
                client.shutdown("cancel")
        thread.join(PATIENCE_S)
        client.close()
    assert not failed, failed
    assert not thread.is_alive()
    for job in launcher.commands.book.jobs.values():
        assert not alive(job.pgid, job.start_ticks), f"a process of job {job.id} was left"


class Process:
    """A launcher in a process of its own."""

    def __init__(self, folder: Path, nodes: int = 4, extra: str = "") -> None:
        self.folder = folder
        self.program = (
            "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path; from served import config\n"
            f"from wattline.live.machine.launcher.daemon import serve; {extra}\n"
            f"serve(config(Path(sys.argv[1]), {nodes}))"
        )
        self.client = LauncherClient(folder, PATIENCE_S)
        self.start()

    def start(self) -> None:
        """Start it (again) and wait until it answers."""
        words = [sys.executable, "-c", self.program, str(self.folder), str(Path(__file__).parent)]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        until(lambda: self.process.poll() is not None or _answers(self.client))
        assert self.process.poll() is None

    def kill(self) -> None:
        """Kill it as hard as can be."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End it and all its jobs."""
        if self.process.poll() is None:
            self.client.shutdown("cancel")
            self.process.wait(PATIENCE_S)
        self.client.close()


def _answers(client: LauncherClient) -> bool:

    try:
        client.counts()
    except ManagerError:
        return False
    return True


def until(true: Callable[[], object], what: str = "") -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, what or "waited in vain"
        time.sleep(0.01)


def seen(client: LauncherClient, job: str) -> JobSeen:
    """Return a job as it is now."""
    (found,) = [one for one in client.snapshot().jobs if one.id == job]
    return found


def becomes(client: LauncherClient, job: str, phase: str) -> JobSeen:
    """Return a job once it is in a phase."""
    until(lambda: seen(client, job).phase == phase, f"job {job} is not {phase}: {seen(client, job)}")
    return seen(client, job)


def alive(pid: int, ticks: int) -> bool:
    """Tell whether a process is there."""
    from wattline.live.machine.launcher.processes import look

    return pid > 0 and bool(look(pid, ticks))


def state(pid: int) -> str:
    """Return the kernel's letter for a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def written(path: Path, lines: int = 1) -> list[str]:
    """Return the lines of a file once there are so many."""
    until(lambda: path.exists() and len(path.read_text().splitlines()) >= lines, f"{path} has no {lines} lines")
    return path.read_text().splitlines()


def submit_work(client: LauncherClient) -> Callable[[int, float], str]:
    """Return what submits a job that works for some seconds."""
    from wattline.live.machine.launcher.work import command_line

    return lambda nodes, seconds: client.submit(command_line(seconds), nodes)


FOREVER = ["sleep", "1000"]
