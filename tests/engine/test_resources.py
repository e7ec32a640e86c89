"""Resources of the whole machine in the engine: against a plain scheduler of vectors, against the recursion of §V, and
never more than there is, whatever happens to jobs and nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.pooled import PlainJob, schedule
from wattline.control.catalog import find
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage
from wattline.model.jobs import JobTable
from wattline.model.resources.base import Supply
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

COUNTING = ("in-order", "first-fit", "easy")
IDLE_W, DRAW_W = 100.0, 300.0


def policies_with(select: str, **more: Any) -> Policies:
    """Return policies around a select policy."""
    chosen = {"order": "fcfs", "place": "lowest", "cap": "none", "learn": "request"} | more.pop("others", {})
    return Policies(select=find("select", select), **{slot: find(slot, name) for slot, name in chosen.items()}, **more)


def world(seed: int) -> tuple[JobTable, Cluster, list[Supply], float, int]:
    """Return jobs, a machine of one or two classes, resources, a limit and a depth, drawn to be nasty: ties, jobs of no
    length, estimates that run out, resources of which there is hardly enough, or nothing.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    classes = tuple(
        NodeClass(name, int(count), IDLE_W, DRAW_W)
        for name, count in zip("ab", rng.integers(3, 12, rng.integers(1, 3)), strict=False)
    )
    partition = rng.integers(0, len(classes), n)
    counts = np.array([c.count for c in classes])
    jobs = JobTable.build(
        submit_s=np.sort(rng.integers(0, rng.choice([20, 200, 1000]), n)).astype(float),
        work_s=rng.integers(0, 40, n).astype(float),
        nodes=rng.integers(1, counts[partition] + 1),
        request_s=rng.integers(1, 60, n).astype(float),
        partition=partition,
        partitions=tuple(c.name for c in classes),
    )
    supplies = []
    for r in range(int(rng.integers(1, 4))):
        total = int(rng.integers(0, 12))
        supplies.append(Supply(f"r{r}", total, rng.integers(0, total + 1, n) * rng.integers(0, 2, n)))
    limit_w = np.inf
    if rng.random() < 0.4:
        widest = int((jobs.nodes * (DRAW_W - IDLE_W)).max())
        limit_w = IDLE_W * counts.sum() + widest + 200.0 * int(rng.integers(0, 8))
    return jobs, Cluster(classes), supplies, limit_w, int(rng.choice([0, 0, 1, 5]))


@pytest.mark.parametrize("select", COUNTING)
def test_starts_are_those_of_a_plain_scheduler_of_vectors(select: str) -> None:
    """The engine starts every job when a scheduler made of dictionaries does, in 150 worlds."""
    waited = 0
    for seed in range(150):
        jobs, cluster, supplies, limit_w, depth = world(seed)
        totals = {c.name: float(c.count) for c in cluster.classes} | {x.name: float(x.total) for x in supplies}
        totals["watts"] = limit_w - IDLE_W * cluster.nodes
        plain = []
        for j in range(len(jobs)):
            name = jobs.partitions[jobs.partition[j]]
            need = {name: float(jobs.nodes[j]), "watts": float(jobs.nodes[j]) * (DRAW_W - IDLE_W)}
            need |= {x.name: float(x.wants[j]) for x in supplies}
            plain.append(PlainJob(jobs.submit_s[j], jobs.work_s[j], jobs.request_s[j], name, need))
        depth = depth if select == "easy" else 0
        params = {"select": {"depth": float(depth)}} if depth else {}
        options = Options(resources=supplies, limit_w=[(0.0, limit_w)] if np.isfinite(limit_w) else ())
        s = simulate(jobs, cluster, policies_with(select, params=params), options).state
        wanted = schedule(plain, totals, select, depth)
        assert s.started_s.tolist() == wanted, f"world {seed}"
        assert s.res_free.tolist() == [x.total for x in supplies]
        waited += int((s.started_s > jobs.submit_s).sum())
    assert waited > 1000


def test_in_order_is_the_recursion_of_vectors() -> None:
    """Strictly in order, on one node class, starts are those of the delay recursion with vectors (§V)."""
    from wattline.theory.recursion import fcfs_starts, vector_starts

    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        n = 400
        jobs = JobTable.build(
            submit_s=np.sort(rng.integers(0, 9000, n)).astype(float),
            work_s=rng.integers(0, 60, n).astype(float),
            nodes=rng.integers(1, 9, n),
        )
        supplies = [Supply("licences", 5, rng.integers(0, 4, n)), Supply("memory", 90, rng.integers(0, 60, n))]
        s = simulate(
            jobs, Cluster((NodeClass("n", 16, 1.0, 2.0),)), policies_with("in-order"), Options(resources=supplies)
        ).state
        wants = np.column_stack([jobs.nodes, *(x.wants for x in supplies)])
        starts = vector_starts(jobs.submit_s, jobs.work_s, wants, [16, 5, 90])
        assert s.started_s.tolist() == starts.tolist()
        alone = vector_starts(jobs.submit_s, jobs.work_s, wants[:, :1], [16])
        assert alone.tolist() == fcfs_starts(jobs.submit_s, jobs.work_s, jobs.nodes, 16).tolist()
        assert (starts > alone).any()


OPTIONS: dict[str, dict[str, Any]] = {
    "killed": {"kill": True},
    "outages": {},
    "outages, begun anew": {"requeue": False},
    "late": {"late_start_s": (1.0, 5.0)},
    "shed": {"shed": True, "limit_w": [(0.0, 3000.0), (100.0, 1700.0), (300.0, 3000.0)]},
    "events": {"ties": "event"},
}


@pytest.mark.parametrize("what", OPTIONS)
@pytest.mark.parametrize("select", COUNTING)
def test_never_more_than_there_is_is_held(select: str, what: str) -> None:
    """Whatever happens to jobs and nodes, those who hold nodes hold no more of a resource than there is, and all of it
    comes back.
    """
    rng = np.random.default_rng(5)
    n = 150
    jobs = JobTable.build(
        submit_s=np.sort(rng.integers(0, 600, n)).astype(float),
        work_s=rng.integers(0, 80, n).astype(float),
        nodes=rng.integers(1, 6, n),
        request_s=rng.integers(20, 90, n).astype(float),
    )
    wants = rng.integers(0, 5, n)
    outages = [Outage(50.0 * k + 20, 50.0 * k + 60, first, 2) for k, first in enumerate((0, 4, 7, 1, 3))]
    cluster = Cluster((NodeClass("n", 10, IDLE_W, DRAW_W),), outages=tuple(outages) if "outages" in what else ())
    options = Options(resources=[Supply("licences", 6, wants)], **OPTIONS[what])
    result = simulate(jobs, cluster, policies_with(select), options)
    logs = result.logs
    job, start_s, end_s = logs["px_job"], logs["px_from_s"], logs["px_until_s"]
    spans = {(int(j), float(a), float(b)) for j, a, b in zip(job, start_s, end_s, strict=True)}
    assert len(spans) >= n
    for time_s in {a for _, a, _ in spans}:
        assert sum(int(wants[j]) for j, a, b in spans if a <= time_s < b) <= 6
    assert result.state.res_free.tolist() == [6]


def test_a_job_that_wants_more_than_there_is_is_rejected() -> None:
    """It is told so, and all others run."""
    jobs = JobTable.build(submit_s=[0, 0], work_s=[5, 5], nodes=[1, 1])
    supply = Supply("licences", 3, np.array([4, 3]))
    result = simulate(jobs, Cluster((NodeClass("n", 2, 1.0, 2.0),)), policies_with("easy"), Options(resources=[supply]))
    assert result.state.status.tolist()[0] == codes.REJECTED
    assert result.state.started_s[1] == 0.0
    assert any("wants more of a resource than there is" in note[1] for note in result.notes)


@pytest.mark.parametrize("select", ["conservative", "backfill-by-end", "window"])
def test_policies_that_do_not_count_resources_are_refused(select: str) -> None:
    """One line says which policy it is, and which ones do."""
    jobs = JobTable.build(submit_s=[0], work_s=[5], nodes=[1])
    supply = Supply("licences", 3, np.array([1]))
    with pytest.raises(InputError, match=rf"{select}.* does not count resources.*'licences'.*easy do"):
        simulate(jobs, Cluster((NodeClass("n", 2, 1.0, 2.0),)), policies_with(select), Options(resources=[supply]))


def test_the_guard_refuses_what_a_users_policy_overdraws(tmp_path: Any) -> None:
    """A policy that knows nothing of resources proposes too much; the guard lets no more in than there is."""
    source = tmp_path / "greedy.py"
    source.write_text(
        "import wattline as wl\n\n\n@wl.policy('select')\ndef greedy(s, mask, param, memory):\n"
        "    n = 0\n    free = s.free[0]\n    for j in wl.waiting(s):\n        if s.nodes[j] <= free:\n"
        "            free -= s.nodes[j]\n            n = wl.propose(s, n, j)\n    return n\n"
    )
    jobs = JobTable.build(submit_s=[0.0] * 4, work_s=[10.0] * 4, nodes=[1] * 4)
    supply = Supply("licences", 2, np.ones(4, dtype=np.int64))
    chosen = policies_with("easy")
    chosen = Policies(**{**vars(chosen), "select": find("select", str(source))})
    result = simulate(jobs, Cluster((NodeClass("n", 4, 1.0, 2.0),)), chosen, Options(resources=[supply]))
    assert result.state.started_s.tolist() == [0.0, 0.0, 10.0, 10.0]
    assert (result.logs["a_verdict"] == codes.NO_RESOURCE).sum() == 2
    assert codes.VERDICT_NAMES[codes.NO_RESOURCE] == "not enough of a resource"


@pytest.mark.parametrize(
    ("total", "wants", "told"),
    [
        (-1, [1], "between 0 and"),
        (3, [-1], "between 0 and"),
        (3, [0.5], "whole numbers"),
        (1 << 54, [1], "between 0 and"),
    ],
)
def test_amounts_that_cannot_be_counted_are_refused(total: int, wants: list[float], told: str) -> None:
    """In one line that names the resource."""
    with pytest.raises(InputError, match=f"resource 'it': .*{told}"):
        Supply("it", total, np.array(wants))
