"""What clients can ask of the launcher; each request asks for a state and does nothing where it is so already."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wattline.errors import cut
from wattline.live.machine.launcher.book import Book
from wattline.live.machine.launcher.lives import Lives
from wattline.live.machine.launcher.record import HOLDING, Job
from wattline.live.machine.launcher.wire import VERSION, answer, refusal

CANCELLED, REQUEUED = "Cancelled", "Requeued"


@dataclass
class Commands:
    """Requests to a launcher, by name."""

    book: Book
    lives: Lives
    most_jobs: int = 100_000
    leaving: str = ""
    """What is to become of jobs once the launcher is told to end; empty: it is not."""
    _does: dict[str, Callable[..., bytes]] = field(init=False)

    def __post_init__(self) -> None:
        self._does = {
            "submit": self.submit,
            "snapshot": self.snapshot,
            "drain": self.drain,
            "resume_node": self.resume_node,
            "counts": self.counts,
            "shutdown": self.shutdown,
        }
        for name in ("release", "hold", "stop", "cont", "requeue", "cancel"):
            self._does[name] = self._on_job(getattr(self, name))

    def do(self, name: str, fields: dict[str, Any]) -> bytes:
        """Do what a checked request asks for and return the answer."""
        return self._does[name](**fields)

    def _on_job(self, command: Callable[..., str | None]) -> Callable[..., bytes]:
        def on_job(job: str, **fields: Any) -> bytes:
            found = self.book.jobs.get(job)
            if found is None:
                return refusal(f"job {job} does not exist{' any more' if self.book.store.was_used(job) else ''}")
            why = command(found, **fields)
            return answer(ok=True) if why is None else refusal(f"job {job} {why}")

        return on_job

    def submit(self, *, argv: list[str], count: int, cwd: str, token: str = "", **fields: Any) -> bytes:
        """Take a job in: it waits for somebody who releases it."""
        book = self.book
        if token and token in book.tokens:
            return answer(ok=True, id=book.tokens[token])
        if count > len(book.nodes.ways):
            return refusal(f"asks for {count} nodes, there are {len(book.nodes.ways)}")
        if len(book.jobs) >= self.most_jobs:
            return refusal(f"there are {len(book.jobs)} jobs already, the most that are allowed (most_jobs)")
        if self.leaving:
            return refusal("the launcher is about to end; submit again later")
        for other in fields.get("after", ()):
            if not book.store.was_used(other):
                return refusal(f"after {other}: no job has this number")
        try:
            job = Job(book.store.new_id(), count, argv, cwd, book.clock.now_s(), token=token, **fields)
            book.queue(job)
            book.store.save(job, new=True)
        except OSError as problem:
            book.counts["write_failed"] += 1
            return refusal(f"cannot be taken: its file cannot be written ({problem.strerror})")
        book.add(job)
        book.counts["submitted"] += 1
        return answer(ok=True, id=job.id)

    def snapshot(
        self,
        *,
        since: int = -1,
        epoch: str = "",
        all: bool = False,  # noqa: A002  (the name of the field)
        seen: list[str] | tuple[str, ...] = (),
    ) -> bytes:
        """Tell of all jobs and nodes, or of those that changed; ended jobs that were seen need not be told again."""
        book = self.book
        for name in seen:
            self._acknowledge(name)
        self.lives.compare_some()
        changes = book.changes
        told: dict[str, Any] = {"ok": True, "v": VERSION, "time_s": book.clock.now_s()}
        told |= {"epoch": changes.epoch, "n": changes.number}
        found = None if all else changes.since(epoch, since)
        if found is None:
            rows = changes.all()
            if all:
                hidden = [j.row(stoppable=True) for j in book.jobs.values() if j.acknowledged]
                rows = b",".join([row for row in (rows, json.dumps(hidden)[1:-1].encode()) if row])
        else:
            rows, told["gone"] = found
        if found is None or book.nodes_changed > since:
            told["nodes"] = book.nodes.rows()
        return json.dumps(told).encode()[:-1] + b', "jobs": [' + rows + b"]}\n"

    def _acknowledge(self, name: str) -> None:
        job = self.book.jobs.get(name)
        if job is not None and job.phase == "ended" and not job.acknowledged:
            job.acknowledged = True
            self.book.became(job)
            self.book.keep(job)

    def release(self, job: Job, nodes: list[str], form: dict[str, float] | None = None) -> str | None:
        """Start a waiting job on these nodes; with a configuration it takes as many as they are."""
        if job.phase in ("starting", "running", "paused"):
            return None if set(job.nodes) == set(nodes) else f"has other nodes ({cut(','.join(job.nodes))})"
        if job.phase != "waiting":
            return _cannot(job)
        if self.leaving:
            return "is not started: the launcher is about to end"
        count = job.count if form is None else len(nodes)
        return self.book.nodes.refusal(job.id, count, nodes) or self.lives.start(job, nodes, form)

    def hold(self, job: Job) -> str | None:
        """Let a job wait again that has no process yet."""
        if job.phase == "starting":
            self.lives.unstart(job)
        return None if job.phase in ("waiting", "ineligible") else _cannot(job)

    def stop(self, job: Job) -> str | None:
        """Stop a running job."""
        if job.phase in ("running", "paused"):
            self.lives.compare(job)
        if job.phase == "running":
            if not job.stoppable:
                return "is not to be stopped: its user said so"
            if not self.book.nodes.stops(job.nodes):
                return "cannot be stopped: signals do not reach its nodes"
            return self.lives.stop(job)
        return None if job.phase == "paused" else _cannot(job)

    def cont(self, job: Job) -> str | None:
        """Let a stopped job go on."""
        if job.phase in ("running", "paused"):
            self.lives.compare(job)
        if job.phase == "paused":
            self.lives.cont(job)
        return None if job.phase == "running" else _cannot(job)

    def requeue(self, job: Job) -> str | None:
        """Take a job from its nodes and let it wait again."""
        if job.phase in ("running", "paused"):
            self.lives.terminate(job, REQUEUED, again=True)
        elif job.phase == "starting":
            self.lives.unstart(job)
        waits = job.phase in ("waiting", "ineligible") or (job.phase == "completing" and job.again)
        return None if waits else _cannot(job)

    def cancel(self, job: Job) -> str | None:
        """End a job, whatever it does."""
        if job.phase == "starting":
            self.lives.unstart(job)
        if job.phase in ("waiting", "ineligible"):
            self.book.end(job, self.book.clock.now_s(), None, CANCELLED)
        elif job.phase in ("running", "paused"):
            self.lives.terminate(job, CANCELLED, again=False)
        elif job.phase == "completing" and job.again:
            job.again, job.reason = False, CANCELLED
            self.book.became(job)
        return None

    def drain(self, *, node: str, reason: str = "drained") -> bytes:
        """Start nothing more on a node; who runs there goes on."""
        return self._nodes(node, {node: reason}, ())

    def resume_node(self, *, node: str) -> bytes:
        """Let jobs be started on a node again."""
        return self._nodes(node, {}, (node,))

    def _nodes(self, node: str, added: dict[str, str], removed: tuple[str, ...]) -> bytes:
        book = self.book
        if node not in book.nodes.ways:
            return refusal(f"node {node!r} does not exist")
        wanted = {name: why for name, why in {**book.nodes.drained, **added}.items() if name not in removed}
        if wanted != book.nodes.drained:
            try:
                book.store.write("drained", wanted)
            except OSError as problem:
                book.counts["write_failed"] += 1
                return refusal(f"node {node}: cannot be written down ({problem.strerror})")
            book.nodes.drained = wanted
            book.changes.number += 1
            book.nodes_changed = book.changes.number
        return answer(ok=True)

    def counts(self) -> bytes:
        """Tell what was counted."""
        phases = dict.fromkeys(("ineligible", "waiting", "starting", "running", "paused", "completing", "ended"), 0)
        for job in self.book.jobs.values():
            phases[job.phase] += 1
        return answer(ok=True, counts=dict(self.book.counts), phases=phases, unsaved=len(self.book.unsaved))

    def shutdown(self, *, jobs: str = "requeue") -> bytes:
        """End the launcher: jobs that run wait again at its next start, are cancelled, or are left running."""
        self.leaving = jobs
        with self.book.store.many():
            for job in list(self.book.jobs.values()):
                if job.phase != "ended" and (jobs == "cancel" or (jobs == "requeue" and job.phase in HOLDING)):
                    (self.cancel if jobs == "cancel" else self.requeue)(job)
        return answer(ok=True)

    def has_left(self) -> bool:
        """Tell whether the launcher may end now."""
        if not self.leaving:
            return False
        return self.leaving == "leave" or not any(job.phase in HOLDING for job in self.book.jobs.values())

    def look_again(self) -> None:
        """Do what is due."""
        book = self.book
        for name, what in book.due(book.clock.now_s()):
            job = book.jobs.get(name)
            if what == "save":
                for unsaved in sorted(book.unsaved):
                    book.save(book.jobs[unsaved])
            elif job is None:
                continue
            elif what == "begin":
                book.look_again(job)
            elif what == "limit":
                self.lives.check_limit(job)
            elif what == "kill":
                self.lives.kill(job)
            elif what == "prune" and job.phase == "ended":
                kept_s = book.keep_ended_s if job.acknowledged else book.keep_unseen_s
                if book.clock.now_s() >= job.end_s + kept_s - 1e-6:
                    book.forget(job)
                else:
                    book.keep(job)

    def next_s(self) -> float:
        """Return when something is due next."""
        return math.inf if self.leaving == "leave" else self.book.next_s()


def _cannot(job: Job) -> str:
    """Return why a request is not for a job of this phase."""
    told = {"completing": "is about to end", "ended": "has ended", "ineligible": "may not start yet"}
    return told.get(job.phase, f"is {job.phase}") + (f" ({job.reason})" if job.reason else "")
