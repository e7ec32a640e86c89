"""Random commands and accidents, with what must be true after each."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from served import becomes, served, until

from wattline.live.machine.base import JobSeen
from wattline.live.machine.launcher.client import LauncherClient
from wattline.live.machine.launcher.work import command_line

NEXT = {
    "ineligible": {"waiting", "ended"},
    "waiting": {"starting", "running", "paused", "completing", "ended", "ineligible"},
    "starting": {"running", "waiting", "paused", "completing", "ended"},
    "running": {"paused", "completing", "ended", "waiting", "starting"},
    "paused": {"running", "completing", "ended", "waiting", "starting"},
    "completing": {"ended", "waiting", "starting", "running", "paused"},
    "ended": set(),
}
"""Phases that a job may be found in after each, when several steps may lie between two looks."""
NODES = [f"n{i}" for i in range(1, 5)]


def check(client: LauncherClient, before: dict[str, JobSeen]) -> dict[str, JobSeen]:
    """Look at everything, and complain about what cannot be."""
    now = {job.id: job for job in client.snapshot().jobs}
    assert set(before) <= set(now), "a job was lost"
    held = [name for job in now.values() for name in job.on]
    assert len(set(held)) == len(held), "a node is held twice"
    for job in now.values():
        assert bool(job.on) == (job.phase in ("starting", "running", "paused", "completing")), job
        assert len(job.on) in (0, job.nodes), job
        was = before.get(job.id)
        if was is not None and was.phase != job.phase:
            assert job.phase in NEXT[was.phase], (was, job)
    return now


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_whatever_is_asked(tmp_path: Path, seed: int) -> None:
    """No node is held twice, no phase follows that cannot, no job is lost; at the end each has ended once."""
    rng = random.Random(seed)
    with served(tmp_path / "run") as client:
        jobs: list[str] = []
        known: dict[str, JobSeen] = {}
        for _ in range(150):
            do = rng.choice(
                ["submit", "release", "release", "stop", "cont", "hold", "requeue", "cancel", "drain", "starter"]
            )
            job = rng.choice(jobs) if jobs else ""
            if do == "submit" or not jobs:
                after = [rng.choice(jobs)] if jobs and rng.random() < 0.3 else []
                words = ["sh", "-c", f"echo $$; exec {' '.join(command_line(rng.choice([0.0, 0.1, 5.0])))}"]
                jobs.append(client.submit(words, rng.randint(1, 3), after=after))
            elif do == "release":
                client.release(job, rng.sample(NODES, rng.randint(1, 3)))
            elif do == "drain":
                (client.drain if rng.random() < 0.4 else client.resume_node)(rng.choice(NODES))
            elif do == "starter":
                starter = client.launcher._starter._process  # type: ignore[attr-defined]
                if rng.random() < 0.3 and starter is not None:  # it may be on its way again already
                    os.kill(starter.pid, signal.SIGKILL)
            else:
                getattr(client, do)(job)
            known = check(client, known)
        for job in jobs:
            client.cancel(job)
        until(lambda: all(job.phase == "ended" for job in check(client, known).values()))
        assert sorted(known) == sorted(jobs)
        assert client.counts()["counts"]["ended"] == len(jobs)
    assert not list((tmp_path / "run" / "jobs").glob("*.tmp"))


def test_many_short_jobs_run_once_each(tmp_path: Path) -> None:
    """Hundreds of short jobs, some stopped and continued, each run exactly once and end well."""
    with served(tmp_path / "run", nodes=16) as client:
        nodes = [f"n{i}" for i in range(1, 17)]
        waiting = [client.submit(["sh", "-c", f"echo x >> {tmp_path}/ran-$WATTLINE_JOB"]) for _ in range(200)]
        jobs, known, turn = list(waiting), {}, 0
        while waiting:
            known = check(client, known)
            held = {name for job in known.values() for name in job.on}
            for name in [name for name in nodes if name not in held]:
                if waiting:
                    assert client.release(waiting.pop(), [name]) is None
            for job in [job for job in known.values() if job.phase in ("running", "paused")]:
                turn += 1
                (client.stop if turn % 3 == 0 else client.cont)(job.id)
        for job in jobs:
            client.cont(job)
        for job in jobs:
            assert becomes(client, job, "ended").exit == 0
            assert (tmp_path / f"ran-{job}").read_text() == "x\n"
