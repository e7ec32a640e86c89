"""Slurm dumps of jobs whose lives are known: submitted, lost, requeued, ended, cancelled, numbers used again."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wattline.errors import TraceError
from wattline.formats.jobs.sacct.read import read_sacct

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
ENDS = ("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED by 1000", "DEADLINE")
LOST = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL")
ENDLESS = ("PENDING", "RUNNING", "CANCELLED")
Truth = tuple[int, str, int, int, int, int]
"""Number, user, first submission, wait (−1: not known), run time and nodes."""


@dataclass
class Record:
    """One line of a dump."""

    number: int
    user: str
    submit: int
    start: int | None
    elapsed: int
    nodes: int
    state: str

    def cells(self) -> dict[str, str]:
        """Return what sacct prints of it."""
        end = None if self.start is None or self.state in ("PENDING", "RUNNING") else self.start + self.elapsed
        minutes, seconds = divmod(self.elapsed, 60)
        hours, minutes = divmod(minutes, 60)
        return {
            "JobID": str(self.number),
            "JobIDRaw": str(self.number),
            "User": self.user,
            "Submit": _time(self.submit),
            "Start": _time(self.start),
            "End": _time(end),
            "ElapsedRaw": str(self.elapsed),
            "Elapsed": f"{hours:02d}:{minutes:02d}:{seconds:02d}",
            "AllocNodes": str(self.nodes),
            "State": self.state,
            "Partition": "batch",
        }


def _time(second: int | None) -> str:
    return "Unknown" if second is None else (BEGIN + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass
class Lives:
    """What happens on a cluster, and what its accounting shows of it."""

    seed: int
    starts: bool
    """The dump has starts; without them Slurm's new submit times alone tell runs apart."""
    records: list[Record] = field(default_factory=list)
    truth: Counter[Truth] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        for number in range(1, self.rng.randint(2, 9)):
            at, owner = 0, ""
            for _ in range(self.rng.choice((1, 1, 1, 2, 3))):  # the number is used again
                owner = self.rng.choice(("ann", "bob"))
                end = self._life(number, owner, at + self.rng.randint(1, 4000))
                if end is None:
                    break
                at = end

    def _life(self, number: int, user: str, submit: int) -> int | None:
        """Let a job live; return the second in which its number is free, None where it has not ended."""
        rng, first, nodes = self.rng, submit, self.rng.randint(1, 9)
        while True:
            fate = rng.random()
            if fate < 0.08:
                self.records.append(Record(number, user, submit, None, 0, nodes, "PENDING"))
                return None
            start = submit + rng.choice((0, 1, 30, 900))
            elapsed = rng.choice((0, 1, 30, 60, 7200))
            if fate < 0.16:
                self.records.append(Record(number, user, submit, start, elapsed, nodes, "RUNNING"))
                return None
            if fate < 0.24 and submit == first:  # in the queue, before it ever ran
                self.records.append(Record(number, user, submit, None, 0, nodes, "CANCELLED"))
                return start
            end = start + elapsed
            if fate < 0.6:
                self.records.append(Record(number, user, submit, start, elapsed, nodes, rng.choice(ENDS)))
                if self.records[-1].state.startswith("CANCELLED") and elapsed == 0:
                    return end  # nobody can tell it from one that was cancelled in the queue
                wait = start - first if self.starts else -1
                self.truth[number, user, first, wait, elapsed, nodes] += 1
                return end
            kept = self.starts and rng.random() < 0.3  # Slurm keeps the submit time of some requeues
            later = rng.choice((0, 1, 120)) if elapsed else rng.choice((1, 120))  # else two runs look like one
            state = rng.choice(LOST)
            self.records.append(Record(number, user, submit, start, elapsed, nodes, state))
            if kept:
                return self._again(number, user, first, submit, end + later, nodes)
            submit = end + later

    def _again(self, number: int, user: str, first: int, submit: int, begin: int, nodes: int) -> int | None:
        """Let the last run of a job begin under an old submit time."""
        rng = self.rng
        start, elapsed = begin + rng.choice((0, 30)), rng.choice((1, 30, 7200))
        if rng.random() < 0.3:
            self.records.append(Record(number, user, submit, start, elapsed, nodes, "RUNNING"))
            return None
        self.records.append(Record(number, user, submit, start, elapsed, nodes, rng.choice(ENDS)))
        self.truth[number, user, first, start - first, elapsed, nodes] += 1
        return start + elapsed

    def _older(self, at: int) -> list[dict[str, str]]:
        """Return what a dump of an earlier second showed of jobs that had not ended."""
        rows = []
        for one in self.records:
            if one.submit <= at and (one.start is None or at < one.start + one.elapsed) and one.state not in ENDLESS:
                waits = one.start is None or at < one.start
                shown = (None, 0, "PENDING") if waits else (one.start, at - (one.start or 0), "RUNNING")
                start, elapsed, state = shown
                rows.append(Record(one.number, one.user, one.submit, start, elapsed, one.nodes, state).cells())
        return rows

    def dump(self) -> str:
        """Print the records, their columns and rows in any order."""
        rng = self.rng
        sized = rng.choice((("ElapsedRaw",), ("Elapsed",), ("Start", "End") if self.starts else ("Elapsed",)))
        names = {"JobID", "User", "Submit", "AllocNodes", "State", *sized}
        names |= {"Start"} if self.starts else set()
        names |= set(rng.sample(("JobIDRaw", "Partition", "Elapsed"), rng.randint(0, 3)))
        columns = sorted(names)
        rng.shuffle(columns)
        rows = [record.cells() for record in self.records]
        rng.shuffle(rows)
        if self.starts and rng.random() < 0.5:
            rows = self._older(rng.randint(1, 20000)) + rows
        lines = ["|".join(columns), *("|".join(row[name] for name in columns) for row in rows)]
        return "\n".join(lines) + "\n"


def test_what_is_read_is_what_happened(tmp_path: Path) -> None:
    """The jobs of 200 clusters: each once, from its first submission, with its last run."""
    compared = requeued = 0
    for seed in range(200):
        lives = Lives(seed, starts=seed % 4 > 0)
        (tmp_path / "d.txt").write_text(lives.dump())
        if not lives.truth:
            with pytest.raises(TraceError, match="no job in it"):
                read_sacct(tmp_path / "d.txt")
            continue
        jobs = read_sacct(tmp_path / "d.txt").jobs
        wait = [-1] * len(jobs) if jobs.recorded_wait_s is None or not lives.starts else jobs.recorded_wait_s.tolist()
        first = jobs.epoch_unix_s - BEGIN.timestamp()
        found: Counter[Truth] = Counter(
            (int(number), jobs.users[user], round(first + submit), round(waited), round(work), int(nodes))
            for number, user, submit, waited, work, nodes in zip(
                jobs.job_id, jobs.user, jobs.submit_s, wait, jobs.work_s, jobs.nodes, strict=True
            )
        )
        assert found == lives.truth, (seed, found - lives.truth, lives.truth - found, lives.dump())
        compared += 1
        requeued += any(record.state in LOST for record in lives.records)
    assert compared > 170
    assert requeued > 120
