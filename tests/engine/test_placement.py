"""Place policies inside runs: the nodes that jobs get on a network, what routers are seen to send, and what is
refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.worlds import assert_no_double_booking, check_structure, policies, status_names
from wattline.control.catalog import catalog, find
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage, Sleep
from wattline.model.communication import Communication
from wattline.model.jobs import JobTable
from wattline.model.mechanism import policy
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.policies.helpers import free_extents, router_traffic
from wattline.policies.place.allocate import allocate
from wattline.sim.simulate import Simulation, simulate
from wattline.wiring.options import Options
from wattline.wiring.result import Result

NETWORK = Dragonfly(nodes_per_router=4, routers_per_group=4, groups=9)
SENDS = (Communication("loud", 4e6), Communication("shy", 1e6, sensitive=True))
PLACES = sorted(catalog()["place"])
KNOWN = {"communication": SENDS, "traffic_s": 50.0, "router_stalls": list(np.arange(36.0)[::-1])}


def workload(count: int = 300, machine: int = 144, seed: int = 3) -> JobTable:
    """Return jobs of all widths, of kinds that send and kinds that do not, enough to keep the machine full."""
    rng = np.random.default_rng(seed)
    nodes = np.exp(rng.uniform(0, np.log(machine), count)).astype(int)
    work_s = rng.integers(1, 200, count).astype(float)
    submit_s = np.sort(rng.uniform(0, (nodes * work_s).sum() / machine / 1.1, count))
    kinds = ("loud", "shy", "silent")
    return JobTable.build(
        submit_s=submit_s, work_s=work_s, nodes=nodes, request_s=2 * work_s, kind=rng.integers(0, 3, count), kinds=kinds
    )


def run(place: str, cluster: Cluster, jobs: JobTable | None = None, **options: object) -> Result:
    """Run a workload under a place policy."""
    if catalog()["place"][place].links:
        options = {"communication": [replace(sent, share=0.25) for sent in SENDS]} | options
    return simulate(workload() if jobs is None else jobs, cluster, policies(place=place), Options(**(KNOWN | options)))  # type: ignore[arg-type]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("trouble", ["none", "outages", "sleep"])
def test_every_place_policy_serves_every_job(place: str, trouble: str) -> None:
    """Whatever the place policy, no proposal is refused, no node is held twice, and all nodes are free in the end."""
    sleep = Sleep(power_w=10.0, after_s=30.0, entry_s=1.0, exit_s=5.0) if trouble == "sleep" else None
    outages = (Outage(100.0, 900.0, 5, 40), Outage(1500.0, 1700.0, 100, 3, drain=True)) if trouble == "outages" else ()
    cluster = Cluster((NodeClass("n", 140, 100.0, 300.0, sleep=sleep),), outages=outages, network=NETWORK)
    jobs = workload(machine=130 if trouble != "outages" else 90)
    result = run(place, cluster, jobs)
    check_structure(result.state)
    assert_no_double_booking(result)
    assert set(status_names(result)) == {"finished"}
    assert result.state.counter[2] == 0
    assert result.state.free[0] == 140
    assert result.state.r_rate.sum() == 0


@pytest.mark.parametrize("place", PLACES)
def test_each_class_of_nodes_is_placed_by_itself(place: str) -> None:
    """On a cluster of several classes, a policy looks at the free nodes of the job's own class only."""
    classes = (NodeClass("a", 50, 100.0, 300.0), NodeClass("b", 94, 100.0, 300.0))
    jobs = workload(machine=45).with_columns(partition=np.arange(300) % 2, partitions=("a", "b"))
    result = run(place, Cluster(classes, network=NETWORK), jobs)
    assert_no_double_booking(result)
    assert set(status_names(result)) == {"finished"}
    first, job = result.logs["px_first"], result.logs["px_job"]
    assert np.array_equal(first >= 50, job % 2 == 1)


@pytest.mark.parametrize(
    "place", [name for name in PLACES if not (catalog()["place"][name].traffic or catalog()["place"][name].links)]
)
def test_the_scheduler_places_as_the_library_does(place: str) -> None:
    """Jobs that start one after another get the nodes that ``allocate`` gives them, seed and all."""
    nodes = [30, 7, 50, 3, 16]
    jobs = JobTable.build(submit_s=np.arange(5.0), work_s=np.full(5, 100.0), nodes=nodes)
    cluster = Cluster((NodeClass("n", 144, 100.0, 300.0),), network=NETWORK)
    result = simulate(jobs, cluster, policies(place=place), Options(router_stalls=KNOWN["router_stalls"]), seed=11)
    free = np.ones(144, dtype=bool)
    for j, n in enumerate(nodes):
        expected = allocate(place, NETWORK, free, n, 11, stalls=KNOWN["router_stalls"], job=j)
        mine = result.logs["px_job"] == j
        extents = zip(result.logs["px_first"][mine], result.logs["px_count"][mine], strict=True)
        got = sorted(node for first, count in extents for node in range(first, first + count))
        assert got == expected.tolist()
        free[expected] = False


def test_traffic_is_the_mean_of_the_last_whole_window() -> None:
    """A router shows what its nodes sent in the last whole window: nothing in the first one, and a share of it
    after.
    """
    seen: list[tuple[float, float, float]] = []

    @policy("place")
    def look(s, j, param, memory):  # type: ignore[no-untyped-def]
        seen.append((float(s.now[0]), router_traffic(s, 0), router_traffic(s, 1)))
        s.place_a[0] = next(free_extents(s, 0))[0]
        s.place_b[0] = s.place_a[0] + s.nodes[j]
        return 1

    # job 0 (3 nodes, 10 B/s each) works from 4 to 24 s; probes of one node and no length look at routers 0 and 1
    submit = [4.0, 5.0, 10.0, 15.0, 25.0, 31.0, 45.0]
    jobs = JobTable.build(
        submit_s=submit, work_s=[20.0] + [0.0] * 6, nodes=[3] + [1] * 6, kind=[0] + [1] * 6, kinds=("talks", "probes")
    )
    cluster = Cluster((NodeClass("n", 8, 100.0, 300.0),), network=FatTree(2, 4, 2))
    options = Options(communication=[Communication("talks", 10.0)], traffic_s=10.0, start_s=0.0)
    simulate(jobs, cluster, policies(place=look), options)
    # windows 0-10, 10-20, 20-30: two nodes on router 0, one on router 1, sending for 6, 10 and 4 s of them
    expected = [(4, 0, 0), (5, 0, 0), (10, 12, 6), (15, 12, 6), (25, 20, 10), (31, 8, 4), (45, 0, 0)]
    assert seen == [(float(t), float(a), float(b)) for t, a, b in expected]


def fill_up(s, j, param, memory):  # type: ignore[no-untyped-def]
    """Take the lowest free nodes of the job's class."""
    rows = 0
    left = s.nodes[j]
    for first, end in free_extents(s, s.pool[j]):
        if left > 0:
            s.place_a[rows] = first
            s.place_b[rows] = min(end, first + left)
            left -= s.place_b[rows] - first
            rows += 1
    return rows


@pytest.mark.parametrize("compiled", [False, True])
def test_policies_of_users_walk_the_free_extents(compiled: bool) -> None:
    """A user's policy that takes what ``free_extents`` yields in turn places as `lowest` does, compiled or not."""
    classes = (NodeClass("a", 50, 100.0, 300.0), NodeClass("b", 94, 100.0, 300.0))
    cluster = Cluster(classes, outages=(Outage(100.0, 900.0, 5, 40),), network=NETWORK)
    jobs = workload(machine=45).with_columns(partition=np.arange(300) % 2, partitions=("a", "b"))
    mine = policy("place", compiled=compiled)(fill_up)
    logs = [simulate(jobs, cluster, policies(place=place), Options()).logs for place in (mine, "lowest")]
    for name in ("px_job", "px_first", "px_count", "px_from_s", "px_until_s"):
        assert np.array_equal(logs[0][name], logs[1][name])


def test_nedd_keeps_sensitive_jobs_from_traffic() -> None:
    """After a window, a sensitive job goes to the quietest router and an insensitive one to the busiest."""
    jobs = JobTable.build(
        submit_s=[0.0, 1.0, 20.0, 21.0], work_s=[100.0] * 4, nodes=[2, 1, 2, 2],
        kind=[0, 0, 1, 0], kinds=("loud", "shy"),
    )  # fmt: skip
    cluster = Cluster((NodeClass("n", 12, 100.0, 300.0),), network=Dragonfly(4, 1, 3))
    result = simulate(jobs, cluster, policies(place="nedd"), Options(communication=SENDS, traffic_s=10.0))
    first = dict(zip(result.logs["px_job"].tolist(), result.logs["px_first"].tolist(), strict=False))
    assert first[0] == 0
    assert first[1] == 2
    assert first[2] == 4  # routers 1 and 2 are both silent
    assert {int(n) for n, j in zip(result.logs["px_first"], result.logs["px_job"], strict=True) if j == 3} == {3, 6}


def test_a_run_carried_on_places_as_before() -> None:
    """Random placement depends on the seed and the number of the start alone, not on how a run was cut."""
    cluster = Cluster((NodeClass("n", 144, 100.0, 300.0),), network=NETWORK)
    whole = run("rdn", cluster)
    cut = Simulation(workload(), cluster, policies(place="rdn"), Options(**KNOWN))  # type: ignore[arg-type]
    with cut:
        while cut.advance(7) in (codes.BUDGET, codes.LOG_FULL):
            pass
    pieces = cut.result()
    assert len(whole.logs["px_first"]) > 50
    assert np.array_equal(whole.logs["px_first"], pieces.logs["px_first"])


def test_what_a_network_policy_lacks_is_said() -> None:
    """Without a network, traffic or stalls to go by, a run is refused in one line that says what to give."""
    jobs, plain = workload(), Cluster((NodeClass("n", 144, 100.0, 300.0),))
    wired = Cluster(plain.classes, network=NETWORK)
    cases = [
        (plain, "level-spread", {}, "looks at the network"),
        (wired, "nedd", {"communication": ()}, "goes by the traffic of routers"),
        (wired, "low-stall", {"router_stalls": ()}, "nobody counts them"),
        (wired, "lowest", {"router_stalls": [1.0]}, "stalls of 1 routers are given, the dragonfly has 36"),
        (wired, "nedd", {"traffic_s": 0.0}, "a window above 0"),
        (wired, "nedd", {"communication": [*SENDS, SENDS[0]]}, "'loud' send is given twice"),
        (plain, "lowest", {"router_stalls": ()}, "over no network"),
    ]
    for cluster, place, options, said in cases:
        with pytest.raises(InputError, match=said):
            simulate(jobs, cluster, policies(place=find("place", place)), Options(**(KNOWN | options)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has room for 144 nodes, the cluster has 145"):
        Cluster((NodeClass("n", 145, 100.0, 300.0),), network=NETWORK)
    with pytest.raises(InputError, match="a node sends 0 to 1e\\+13 bytes a second, got -1"):
        Communication("x", -1.0)
