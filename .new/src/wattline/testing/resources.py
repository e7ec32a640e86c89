"""The conformance check of ways to take a resource: whole numbers, each job for itself, never more than there is."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from wattline.arrays import Ints
from wattline.control.catalog import find
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.resources.base import Resource, Supply
from wattline.testing.report import CheckError, Report, Row

JOBS = 60
NODES = 8


def _world(seed: int) -> tuple[JobTable, Ints]:
    """Return jobs of all columns that a way may look at, and what is said of each."""
    rng = np.random.default_rng(seed)
    jobs = JobTable.build(
        submit_s=np.sort(rng.integers(0, 400, JOBS)).astype(float),
        work_s=rng.integers(0, 90, JOBS).astype(float),
        nodes=rng.integers(1, NODES + 1, JOBS),
        request_s=rng.integers(1, 120, JOBS).astype(float),
        user=rng.integers(0, 3, JOBS),
        users=("ada", "bob", "eve"),
        kind=rng.integers(0, 2, JOBS),
        kinds=("cfd", "md"),
    )
    return jobs, rng.integers(0, 5, JOBS)


def declares_itself(resource: type[Resource]) -> None:
    """It has a name and a line about itself."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", resource.name):
        raise CheckError(f"its name {resource.name!r} is not made of lower-case letters, digits and hyphens")
    if not resource.about or "\n" in resource.about:
        raise CheckError("needs a line that says how much a job takes (about)")


def gives_whole_numbers(resource: type[Resource]) -> None:
    """Every job takes a whole number from 0 on; where nothing is said of it, nothing."""
    jobs, amounts = _world(1)
    wants = resource.wants(jobs, amounts)
    if not (isinstance(wants, np.ndarray) and wants.dtype == np.int64 and wants.shape == (JOBS,)):
        raise CheckError(f"gives no whole number for each of {JOBS} jobs")
    if wants.min() < 0:
        raise CheckError(f"a job takes {wants.min()}")
    if not wants.any():
        raise CheckError("no job takes anything, whatever is said of it")
    if resource.wants(jobs, np.zeros_like(amounts)).any():
        raise CheckError("a job takes something although 0 is said of it")
    if np.any(resource.wants(jobs, 2 * amounts) < wants):
        raise CheckError("a job takes less where more is said of it")


def changes_nothing(resource: type[Resource]) -> None:
    """Two calls give the same, and neither jobs nor amounts are changed."""
    jobs, amounts = _world(2)
    before, said = jobs.nodes.copy(), amounts.copy()
    first = resource.wants(jobs, amounts)
    first_copy = first.copy()
    first[:] = -1
    if not np.array_equal(resource.wants(jobs, amounts), first_copy):
        raise CheckError("two calls gave different amounts")
    if not (np.array_equal(jobs.nodes, before) and np.array_equal(amounts, said)):
        raise CheckError("changed what it was given")


def takes_each_job_for_itself(resource: type[Resource]) -> None:
    """What a job takes does not depend on the other jobs of the table."""
    jobs, amounts = _world(3)
    wants, rows = resource.wants(jobs, amounts), np.arange(0, JOBS, 3)
    if not np.array_equal(resource.wants(jobs.take(rows), amounts[rows]), wants[rows]):
        raise CheckError("a job takes another amount where other jobs are left out")
    for j in range(JOBS):
        if not np.array_equal(resource.wants(jobs.take([j]), amounts[[j]]), wants[[j]]):
            raise CheckError(f"a job takes another amount where it is alone (row {j})")
    if resource.wants(jobs.take(rows[:0]), amounts[:0]).size:
        raise CheckError("gives amounts where there are no jobs")


def is_never_overdrawn(resource: type[Resource]) -> None:
    """In a run jobs that are on at once never hold more than there is; too greedy ones are rejected, all others run."""
    from wattline.sim.simulate import simulate
    from wattline.wiring.options import Options
    from wattline.wiring.policies import Policies

    for seed in range(3):
        jobs, amounts = _world(10 + seed)
        wants = resource.wants(jobs, amounts)
        total = int(np.quantile(wants, 0.9))
        for select in ("in-order", "first-fit", "easy"):
            policies = Policies(
                order=find("order", "fcfs"),
                select=find("select", select),
                place=find("place", "lowest"),
                cap=find("cap", "none"),
                learn=find("learn", "request"),
            )
            machine = Cluster((NodeClass("node", NODES, 0.0, 1.0),))
            s = simulate(jobs, machine, policies, Options(resources=[Supply("it", total, wants)])).state
            ran = ~np.isnan(s.started_s)
            if not np.array_equal(ran, wants <= total):
                raise CheckError(f"{select}: jobs that take no more than there is are to run, and no others")
            for time_s in np.unique(s.started_s[ran]).tolist():
                held = int(wants[ran & (s.started_s <= time_s) & (s.end_s > time_s)].sum())
                if held > total:
                    raise CheckError(f"{select}: at {time_s:g} s jobs hold {held} of {total}")


CHECKS: tuple[Callable[[type[Resource]], None], ...] = (
    declares_itself,
    gives_whole_numbers,
    changes_nothing,
    takes_each_job_for_itself,
    is_never_overdrawn,
)


def check_resource(resource: type[Resource]) -> Report:
    """Run every check on a way to take a resource; a failed one is a row of the report.

    Parameters
    ----------
    resource
        The class that is to be checked.
    """
    report = Report(f"way to take a resource {resource.name!r}")
    for check in CHECKS:
        title = check.__name__.replace("_", " ")
        try:
            check(resource)
        except Exception as problem:  # whatever somebody's code raises is a failed check
            report.rows.append(Row(title, passed=False, detail=f"{type(problem).__name__}: {problem}"))
        else:
            report.rows.append(Row(title, passed=True))
    return report
