"""Cases about the built-in launcher: how soon a job starts, many short jobs, and a long queue."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.rows import Rows, row
from wattline.live.machine.base import ManagerError
from wattline.live.machine.launcher.client import LauncherClient

NODES = 64
PATIENCE_S = 60.0


@contextmanager
def _served(durable: str = "true") -> Iterator[tuple[LauncherClient, int]]:
    """Serve as a user would; yield a client and the launcher's pid."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "launcher.toml"
        file.write_text(f'run_dir = "run"\ndurable = {durable}\n[[nodes]]\nnames = "n[1-{NODES}]"\n')
        serving = subprocess.Popen([sys.executable, "-m", "wattline", "launcher", str(file)], stderr=subprocess.DEVNULL)
        client = LauncherClient(Path(folder) / "run", PATIENCE_S)
        try:
            end = time.monotonic() + PATIENCE_S
            while True:
                try:
                    client.counts()
                except ManagerError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.05)
                else:
                    break
            yield client, serving.pid
            client.shutdown("cancel")
            serving.wait(PATIENCE_S)
        finally:
            serving.kill()
            serving.wait()
            client.close()


def launcher_start(quick: bool) -> Rows:
    """From a release to the first line of the job."""
    took_s = []
    with _served() as (client, _):
        for _ in range(20 if quick else 100):
            job = client.submit(["date", "+%s.%N"])
            began = time.time()
            client.release(job, ["n1"])
            while next(seen for seen in client.snapshot().jobs if seen.id == job).phase != "ended":
                time.sleep(0.005)
            took_s.append(float((Path(client.path) / "out" / f"{job}.out").read_text()) - began)
    took_s.sort()
    median_s, late_s = statistics.median(took_s), took_s[int(0.9 * len(took_s))]
    shown = f"{median_s * 1e3:.0f} ms median, {late_s * 1e3:.0f} ms at 90 %"
    return [row("launcher: release to first line", shown, "<= 30 ms median", met=median_s <= 0.03, median_s=median_s)]


def launcher_jobs(quick: bool) -> Rows:
    """Short jobs, one after the other on all nodes: none lost, none doubled."""
    count = 200 if quick else 1000
    with _served() as (client, _), tempfile.TemporaryDirectory() as marks:
        words = ["sh", "-c", f"echo x >> {marks}/$WATTLINE_JOB"]
        waiting = [client.submit(words) for _ in range(count)]
        jobs, began = set(waiting), time.monotonic()
        while True:
            seen = [job for job in client.snapshot().jobs if job.id in jobs]
            if all(job.phase == "ended" for job in seen):
                break
            held = {name for job in seen for name in job.on}
            for name in [f"n{i}" for i in range(1, NODES + 1)]:
                if waiting and name not in held:
                    client.release(waiting.pop(), [name])
            time.sleep(0.005)
        took_s = time.monotonic() - began
        once = sum(Path(marks, job).read_text() == "x\n" for job in jobs)
        well = once == count == len(seen) and all(job.exit == 0 for job in seen)
    shown = f"{once} of {count} ran once, {count / took_s:.0f} a second"
    return [row("launcher: short jobs", shown, "each runs once", met=well, jobs_per_s=count / took_s)]


def launcher_snapshot(quick: bool) -> Rows:
    """A queue of 10,000 jobs, all of it and what changed."""
    whole_s, used_s, changed_s = [], [], []
    with _served("false") as (client, pid):
        for _ in range(10_000):
            client.submit(["true"], 2, user="someone", kind="solver", request_s=3600.0, draw_w=300.0)
        for _ in range(5 if quick else 20):
            fresh = LauncherClient(client.path, PATIENCE_S)
            fresh.counts()
            before_s, began = time.process_time() + _used_s(pid), time.perf_counter()
            fresh.snapshot()
            whole_s.append(time.perf_counter() - began)
            used_s.append(time.process_time() + _used_s(pid) - before_s)
            began = time.perf_counter()
            fresh.snapshot()
            changed_s.append(time.perf_counter() - began)
            fresh.close()
        resident = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in line)
    best_s, cpu_s, again_s = min(whole_s), min(used_s), min(changed_s)
    shown = (
        f"{cpu_s * 1e3:.0f} ms of CPU of both sides, {best_s * 1e3:.0f} ms by the clock; "
        f"{again_s * 1e3:.1f} ms for what changed; {int(resident.split()[1]) / 1024:.0f} MB"
    )
    return [row("launcher: snapshot of 10,000 jobs", shown, "<= 50 ms of CPU", met=cpu_s <= 0.05, best_s=best_s)]


def _used_s(pid: int) -> float:
    """Return the processor time that a process has used."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) * 1e-9


CASES = (launcher_start, launcher_jobs, launcher_snapshot)
