"""The conformance check of resource managers: jobs wait, start where they are told, stop, go on, and none is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from wattline.live.machine.base import Form, JobSeen, ManagerError, Phase, ResourceManager
from wattline.testing.report import CheckError, Report, Row

PERIOD_S = 0.02
"""Seconds between two looks."""
LONGER = 4
"""Times that a check is repeated with jobs twice as long, where its job was over before all of it was looked at."""


class TooShortError(CheckError):
    """A job of the check ended well before the check was through with it: the machine is slow, or busy."""


@dataclass
class Trial:
    """A manager and how to give it jobs."""

    manager: ResourceManager
    submit: Callable[[int, float], str]
    """Submits a job of so many nodes that runs for so many seconds, and returns its id."""
    patience_s: float
    moment_s: float

    def job(self, job: str) -> JobSeen:
        """Return a job as it is now."""
        found = [seen for seen in self.manager.snapshot().jobs if seen.id == job]
        if len(found) != 1:
            raise CheckError(f"job {job} is {len(found)} times in a snapshot")
        return found[0]

    def until(self, job: str, *phases: Phase) -> JobSeen:
        """Return a job once it is in a phase."""
        end = time.monotonic() + self.patience_s
        while (seen := self.job(job)).phase not in phases:
            if time.monotonic() > end:
                raise CheckError(f"job {job} is {seen.phase}, not {' or '.join(phases)}, after {self.patience_s:g} s")
            time.sleep(PERIOD_S)
        return seen

    def free(self, count: int = 1) -> list[str]:
        """Return names of nodes that are up and free."""
        seen = self.manager.snapshot()
        held = {name for job in seen.jobs for name in job.on}
        names = [node.name for node in seen.nodes if node.up and node.name not in held]
        if len(names) < count:
            raise CheckError(f"{len(names)} nodes are free; the check needs {count}")
        return names[:count]

    def does(self, said: str | None, what: str) -> None:
        """Complain about a refusal."""
        if said is not None:
            raise CheckError(f"{what} was refused: {said}")

    def refuses(self, said: str | None, what: str) -> None:
        """Complain about what should have been refused in one line."""
        if said is None:
            raise CheckError(f"{what} was not refused")
        if not said or "\n" in said:
            raise CheckError(f"{what}: the refusal {said!r} is not one line")

    def running(self, seconds: float, nodes: int = 1) -> tuple[str, list[str]]:
        """Return a job that runs, and its nodes."""
        job, on = self.submit(nodes, seconds), self.free(nodes)
        self.until(job, "waiting")
        self.does(self.manager.release(job, on), "a release")
        with self.while_it_runs(job):
            self.until(job, "running")
        return job, on

    @contextmanager
    def while_it_runs(self, job: str) -> Iterator[None]:
        """Take a complaint for that of a job which was too short, where it is over by now."""
        try:
            yield
        except CheckError as problem:
            seen = self.job(job)
            if seen.phase == "ended" and seen.exit == 0:
                raise TooShortError(str(problem)) from problem
            raise


def tells_of_its_nodes(trial: Trial) -> None:
    """Every node has a name of its own, and time does not go back."""
    first, second = trial.manager.snapshot(), trial.manager.snapshot()
    names = [node.name for node in first.nodes]
    if not names or len(set(names)) != len(names):
        raise CheckError("nodes are missing, or named twice")
    if second.time_s < first.time_s:
        raise CheckError("a later snapshot has an earlier time")


def lets_jobs_wait(trial: Trial) -> None:
    """A job that nobody released waits, without nodes."""
    job = trial.submit(1, trial.moment_s)
    trial.until(job, "waiting")
    time.sleep(trial.moment_s)
    seen = trial.job(job)
    if (seen.phase, seen.on, seen.nodes) != ("waiting", (), 1):
        raise CheckError(f"a job that was not released is {seen.phase} on {seen.on}, with {seen.nodes} nodes")
    trial.does(trial.manager.hold(job), "the hold of a waiting job")
    trial.does(trial.manager.requeue(job), "the requeue of a waiting job")
    trial.does(trial.manager.release(job, trial.free()), "a release")
    trial.until(job, "ended")


def starts_them_where_it_is_told(trial: Trial) -> None:
    """A released job runs on the nodes that were named; the same release again changes nothing."""
    job, on = trial.running(trial.moment_s, 2)
    for _ in range(2):
        with trial.while_it_runs(job):
            seen = trial.job(job)
            if trial.manager.abilities.pins and set(seen.on) != set(on):
                raise CheckError(f"a job was released to {on} and runs on {list(seen.on)}")
            trial.does(trial.manager.release(job, on), "a release that was done already")
        if not seen.start_s >= seen.submit_s:
            raise CheckError(f"a running job started at {seen.start_s}, submitted at {seen.submit_s}")
    trial.refuses(trial.manager.hold(job), "the hold of a running job")
    trial.until(job, "ended")


def tells_the_end(trial: Trial) -> None:
    """An ended job is seen with its exit code and times, and its nodes are free."""
    job, on = trial.submit(1, 0.0), trial.free()
    trial.until(job, "waiting")
    trial.does(trial.manager.release(job, on), "a release")
    seen = trial.until(job, "ended")  # it may be over before anybody saw it run
    if seen.exit != 0 or not seen.end_s >= seen.start_s or seen.on:
        raise CheckError(f"an ended job has exit code {seen.exit}, start {seen.start_s}, end {seen.end_s}, {seen.on}")
    held = {name for other in trial.manager.snapshot().jobs for name in other.on}
    if held & set(on):
        raise CheckError(f"nodes {sorted(held & set(on))} of an ended job are held")
    for what in ("stop", "cont", "hold", "requeue"):
        trial.refuses(getattr(trial.manager, what)(job), f"{what} of an ended job")


def gives_no_node_twice(trial: Trial) -> None:
    """A node that a job holds is not given to another one."""
    if not trial.manager.abilities.pins:
        return
    first, on = trial.running(2.0 * trial.moment_s)
    second = trial.submit(1, 0.0)
    trial.until(second, "waiting")
    said = trial.manager.release(second, on)
    if said is None:  # it may also wait for the node
        trial.until(second, "starting", "waiting", "ended")
        if trial.job(second).phase == "ended" and trial.job(first).phase == "running":
            raise CheckError("two jobs ran on one node at a time")
    else:
        trial.refuses(said, "the release to a node that is held")
        trial.until(first, "ended")
        trial.does(trial.manager.release(second, on), "the release to a node that is free again")
    trial.until(first, "ended")
    trial.until(second, "ended")


def stops_and_continues(trial: Trial) -> None:
    """A stopped job keeps its nodes and does nothing until it goes on; each command may be repeated."""
    if not trial.manager.abilities.pauses:
        return
    job, on = trial.running(3.0 * trial.moment_s)
    with trial.while_it_runs(job):
        for _ in range(2):
            trial.does(trial.manager.stop(job), "a stop")
        trial.until(job, "paused")
    time.sleep(3.0 * trial.moment_s)
    seen = trial.job(job)
    if seen.phase != "paused" or (trial.manager.abilities.pins and set(seen.on) != set(on)):
        raise CheckError(f"a stopped job became {seen.phase} on {list(seen.on)}")
    for _ in range(2):
        trial.does(trial.manager.cont(job), "a continue")
    if trial.until(job, "ended").exit != 0:
        raise CheckError("a job that was stopped and continued did not end well")


def requeues(trial: Trial) -> None:
    """A requeued job, running or stopped, gives its nodes back, waits, and can be started again."""
    if not trial.manager.abilities.requeues:
        return
    job, _ = trial.running(trial.moment_s)
    for stopped in (False, True):
        if stopped and trial.manager.abilities.pauses:
            trial.does(trial.manager.release(job, trial.free()), "the release of a requeued job")
            with trial.while_it_runs(job):
                trial.until(job, "running")
                trial.does(trial.manager.stop(job), "a stop")
        with trial.while_it_runs(job):
            trial.does(trial.manager.requeue(job), "a requeue")
        trial.does(trial.manager.requeue(job), "a requeue that was done already")
        if trial.until(job, "waiting").on:
            raise CheckError("a requeued job still holds nodes")
    trial.does(trial.manager.release(job, trial.free()), "the release of a requeued job")
    if trial.until(job, "ended").exit != 0:
        raise CheckError("a requeued job did not end well")


def refuses_in_a_line(trial: Trial) -> None:
    """Jobs and nodes that do not exist, and too few nodes, are refused in a line; nothing else happens."""
    nobody = "99999999"
    for what in ("hold", "stop", "cont", "requeue"):
        trial.refuses(getattr(trial.manager, what)(nobody), f"{what} of a job that does not exist")
    trial.refuses(trial.manager.release(nobody, trial.free()), "the release of a job that does not exist")
    job = trial.submit(2, 0.0)
    trial.until(job, "waiting")
    if trial.manager.abilities.pins:
        trial.refuses(trial.manager.release(job, trial.free()), "a release to too few nodes")
        trial.refuses(trial.manager.release(job, ["no-such-node", "nor-this"]), "a release to nodes that do not exist")
    trial.refuses(trial.manager.stop(job), "the stop of a waiting job")
    if trial.job(job).phase != "waiting":
        raise CheckError("a refused release had an effect")
    trial.does(trial.manager.release(job, trial.free(2)), "a release")
    trial.until(job, "ended")


def gives_jobs_back(trial: Trial) -> None:
    """A waiting job that is left is started by the manager and not ours, or the manager says that it starts none."""
    job = trial.submit(1, 0.0)
    trial.until(job, "waiting")
    said = trial.manager.leave(job, "it is left for a check")
    if said is not None:
        trial.refuses(said, "a job that is left")
        trial.does(trial.manager.release(job, trial.free()), "the release of a job that could not be left")
    elif (seen := trial.job(job)).phase == "waiting" or (seen.phase != "ended" and seen.ours):
        raise CheckError(f"a job that was left is {seen.phase}, and {'ours' if seen.ours else 'not ours'}")
    trial.until(job, "ended")
    trial.refuses(trial.manager.leave("99999999", "it is left for a check"), "a job that does not exist, left")


def molds(trial: Trial) -> None:
    """A job that is released in a configuration runs on as many nodes as it was given, and again as it asked for."""
    if not trial.manager.abilities.molds or not trial.manager.abilities.pins:
        return
    job = trial.submit(1, trial.moment_s)
    trial.until(job, "waiting")
    on = trial.free(2)
    form = Form(cores=2, cap_w=80.0, limit_s=60.0 + trial.patience_s)
    trial.does(trial.manager.release(job, on, form), "a release in a configuration")
    seen = trial.until(job, "running", "ended")
    if seen.phase == "running" and set(seen.on) != set(on):
        raise CheckError(f"a job was given {on} in a configuration and runs on {list(seen.on)}")
    trial.until(job, "ended")


CHECKS: tuple[Callable[[Trial], None], ...] = (
    tells_of_its_nodes,
    lets_jobs_wait,
    starts_them_where_it_is_told,
    tells_the_end,
    gives_no_node_twice,
    stops_and_continues,
    requeues,
    gives_jobs_back,
    molds,
    refuses_in_a_line,
)


def _with_patience(check: Callable[[Trial], None], trial: Trial) -> None:
    """Make a check, again with longer jobs where one of them was over too early."""
    for doubled in range(LONGER + 1):
        try:
            check(replace(trial, moment_s=trial.moment_s * 2**doubled))
        except TooShortError:
            if doubled == LONGER:
                raise
        else:
            return


def check_manager(
    manager: ResourceManager,
    submit: Callable[[int, float], str],
    *,
    patience_s: float = 10.0,
    moment_s: float = 0.3,
    checks: Sequence[Callable[[Trial], None]] = CHECKS,
) -> Report:
    """Run every check on a resource manager of a real (small, idle) machine; a failed one is a row of the report.

    Parameters
    ----------
    manager
        One with two free nodes at least. Jobs of the check are started, stopped and requeued on them.
    submit
        Submits a job of so many nodes that works for so many seconds and exits with 0; returns its id.
    patience_s
        Seconds within which a command must have its effect.
    moment_s
        How long jobs of the check work: longer than the manager takes to start, stop or continue one. Where one is
        over too early, the check is made again with jobs twice as long, four times at most.
    """
    trial = Trial(manager, submit, patience_s, moment_s)
    report = Report(f"resource manager {type(manager).__name__!r}")
    for check in checks:
        title = check.__name__.replace("_", " ")
        try:
            _with_patience(check, trial)
        except (CheckError, ManagerError, ValueError, TypeError, KeyError, AttributeError) as problem:
            report.rows.append(Row(title, passed=False, detail=f"{type(problem).__name__}: {problem}"))
        else:
            report.rows.append(Row(title, passed=True))
    return report
