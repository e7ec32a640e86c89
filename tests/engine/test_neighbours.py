"""Speeds that depend on neighbours: exact where nobody is in the way, the same as from scratch, and nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.crowded import SENDS, crowded_run
from engine.worlds import (
    accounted_energy_j,
    assert_no_double_booking,
    check_structure,
    digest,
    examples,
    policies,
    status_names,
    timeline_energy_j,
)
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage
from wattline.model.communication import Communication
from wattline.model.jobs import JobTable
from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.fat_tree_3 import FatTree3
from wattline.model.networks.flat import Flat
from wattline.model.state.record import State
from wattline.physics.contention import neighbour_slowdowns
from wattline.sim.simulate import Simulation, simulate
from wattline.wiring.options import Options
from wattline.wiring.result import Result
from wattline.wiring.tables import frames

FLY = Dragonfly(2, 2, 5)
TESTS = Path(__file__).parents[1]


def jobs_of(*rows: tuple[float, float, int, int]) -> JobTable:
    """Return jobs from rows of submit time, work, nodes and kind."""
    submit, work, nodes, kind = (np.array(column) for column in zip(*rows, strict=True))
    return JobTable.build(
        submit_s=submit.astype(float),
        work_s=work.astype(float),
        nodes=nodes,
        request_s=3.0 * work,
        kind=kind,
        kinds=("a", "b", "c", "d"),
    )


def run(jobs: JobTable, network: Network = FLY, place: str = "lowest", **more: Any) -> Result:
    """Run jobs on a machine of one class that fills its network."""
    cluster = Cluster((NodeClass("n", network.nodes, 100.0, 300.0),), network=network, outages=more.pop("outages", ()))
    return simulate(jobs, cluster, policies(place=place, select="easy"), Options(**({"communication": SENDS} | more)))


def spans_of(s: State, j: int) -> np.ndarray:
    """Return the nodes that a job holds."""
    x, pieces = int(s.held[j]), []
    while x >= 0:
        pieces.append(np.arange(x, s.hx_to[x]))
        x = int(s.hx_next[x])
    return np.sort(np.concatenate(pieces))


def test_a_job_alone_runs_at_full_speed() -> None:
    """Without neighbours, and within its links' bandwidth, a job takes its work, to the bit, wherever it runs."""
    for place in ("lowest", "rrn", "level-spread"):
        result = run(jobs_of((0, 1000.1, 6, 0)), place=place, communication=(Communication("a", 1e8, share=0.4),))
        assert result.state.end_s[0] == 1000.1
        assert frames(result)["slowdowns"]["slowdown"].tolist() == [1.0]


def test_jobs_that_do_not_meet_run_at_full_speed() -> None:
    """Jobs in groups of their own share no link."""
    sends = (Communication("a", 1e8, share=0.4), Communication("b", 1.5e8, share=0.25))
    result = run(jobs_of((0, 1000.1, 4, 0), (0, 777.7, 4, 1), (0, 500.3, 4, 0)), communication=sends)
    assert result.state.end_s.tolist() == [1000.1, 777.7, 500.3]


def test_neighbours_slow_a_job_while_they_are_there() -> None:
    """Two jobs on the same two routers share the link between them: each is slowed, and the longer goes on at full
    speed alone.
    """
    sends = (Communication("a", 2e8, share=0.5),)
    network = Dragonfly(4, 2, 3, local_bps=4e9, global_bps=4e9)
    result = run(jobs_of((0, 100, 4, 0), (0, 200, 4, 0)), network, "rrn", communication=sends)
    s = result.state
    first, second = s.end_s
    assert 100 < first < 200 < second
    slower = first / 100
    assert second == pytest.approx(first + 200 - first / slower)
    told = frames(result)["slowdowns"]
    assert told["slowdown"][0] == pytest.approx(slower)
    assert told["lost_s"].tolist() == pytest.approx([first - 100, second - 200])


def test_a_job_that_only_sends_is_not_slowed() -> None:
    """A kind without a share loads links and runs at its own speed; others feel it."""
    network = Dragonfly(4, 2, 3, local_bps=4e9, global_bps=4e9)
    result = run(jobs_of((0, 100, 4, 2), (0, 200, 4, 0)), network, "rrn")
    assert result.state.end_s[0] == 100.0
    assert result.state.end_s[1] > 200.0


def test_a_job_inside_a_leaf_does_not_use_its_ways_up() -> None:
    """However much others overload the ways up of a leaf, a job that stays inside the leaf runs at its own speed."""
    sends = (Communication("a", 1e9, share=1.0), Communication("b", 1e8, share=0.5))
    result = run(jobs_of((0, 100, 2, 1), (0, 100, 4, 0)), FatTree(4, 3, 1), "lowest", communication=sends)
    inside, across = result.state.end_s
    assert (inside, across > 100.0) == (100.0, True)


def test_a_job_can_be_in_its_own_way() -> None:
    """On two groups, with a single link between them, a job that sends much is slower than its work even alone."""
    sends = (Communication("a", 5e8, share=0.5),)
    packed = run(jobs_of((0, 100, 64, 0)), Dragonfly(4, 8, 9), "lowest", communication=sends)
    spread = run(jobs_of((0, 100, 64, 0)), Dragonfly(4, 8, 9), "rrn", communication=sends)
    assert packed.state.end_s[0] > 3 * spread.state.end_s[0] > 300


@examples(40)
@given(
    data=st.data(),
    place=st.sampled_from(["lowest", "rdn", "rrn", "level-spread", "rdr"]),
    network=st.sampled_from(
        [
            FLY,
            Dragonfly(2, 4, 3, global_bps=2e9, links_per_pair=2),
            FatTree(4, 5, 2),
            FatTree3(6, local_bps=2e9, spine_bps=1e9),
        ]
    ),
)
def test_speeds_are_those_computed_from_scratch(data: st.DataObject, place: str, network: Network) -> None:
    """After every instant each running job goes at the rate that all placements of the moment give it, computed
    anew.
    """
    rows = data.draw(
        st.lists(
            st.tuples(st.integers(0, 30), st.integers(1, 60), st.integers(1, 9), st.integers(0, 3)),
            min_size=2,
            max_size=14,
        )
    )
    cluster = Cluster((NodeClass("n", 20, 100.0, 300.0),), network=network)
    with Simulation(
        jobs_of(*sorted(rows)), cluster, policies(place=place, select="easy"), Options(communication=SENDS)
    ) as sim:
        s = sim.state
        while sim.advance(1) == codes.BUDGET:
            sending = [int(j) for j in s.running[: s.n_running[0]] if s.status[j] == codes.RUNNING and s.traffic[j] > 0]
            placed = [spans_of(s, j) for j in sending]
            share = np.array([s.comm[j] or 1.0 for j in sending])
            slower = neighbour_slowdowns(network, placed, s.traffic[sending].astype(float), share)
            for j, expected in zip(sending, slower, strict=True):
                if s.comm[j] > 0:
                    assert s.c_rate[s.rate_class[j]] == pytest.approx(1 / expected, rel=1e-6)
                else:
                    assert s.c_rate[s.rate_class[j]] == 1.0
        check_structure(s)
        assert not s.n_load.any()
        assert s.n_solo[0] == s.c_n.size - 1


@examples(30)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 50), st.integers(1, 20), st.integers(0, 3)),
        min_size=1,
        max_size=25,
    ),
    place=st.sampled_from(["lowest", "rdn", "level-spread"]),
    lost=st.booleans(),
    kill=st.booleans(),
    ties=st.sampled_from(["instant", "event"]),
)
def test_nothing_is_lost(rows: list[tuple[int, int, int, int]], place: str, lost: bool, kill: bool, ties: str) -> None:
    """Whatever happens, work and energy add up: a finished job ran for its work and what it lost, and every joule has
    an account.
    """
    outages = (Outage(20.0, 60.0, 3, 6), Outage(30.0, 90.0, 15, 2, drain=True)) if lost else ()
    jobs = jobs_of(*sorted(rows))
    result = run(jobs, place=place, outages=outages, kill=kill, ties=ties)
    s = result.state
    check_structure(s)
    assert_no_double_booking(result)
    assert set(status_names(result)) <= {"finished", "killed"}
    assert accounted_energy_j(result) == pytest.approx(timeline_energy_j(result), rel=1e-9)
    done = (s.status == codes.FINISHED) & (s.restarts == 0)
    assert s.ran_s[done] == pytest.approx(jobs.work_s[done] + s.lost_net_s[done], rel=1e-9, abs=1e-9)
    assert np.all(s.lost_net_s >= 0)
    assert not s.n_load.any()
    assert np.all(s.n_owner == -1)


@pytest.mark.parametrize("plain", [False, True])
def test_the_same_run_gives_the_same_bytes(plain: bool) -> None:
    """Two processes agree bit for bit, also where nothing is compiled in one of them."""
    here = crowded_run()
    assert here.state.lost_net_s.sum() > 100
    environment = os.environ | ({"NUMBA_DISABLE_JIT": "1"} if plain else {})
    done = subprocess.run(
        [sys.executable, "-m", "engine.crowded"],
        env=environment,
        capture_output=True,
        text=True,
        cwd=TESTS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest(here)


def test_without_a_share_nothing_is_kept() -> None:
    """Kinds without a share, and flat networks, cost neither arrays nor rate classes."""
    silent = run(jobs_of((0, 10, 2, 0)), communication=(Communication("a", 1e8),)).state
    flat = run(jobs_of((0, 10, 2, 0)), Flat(20)).state
    for s in (silent, flat):
        assert s.n_load.size == s.n_owner.size == s.n_gate.size == s.comm.size == 0
        assert s.c_n.size == 1


@pytest.mark.parametrize(
    ("sends", "told"),
    [
        (Communication("a", 1e9, share=0.5), "more than its link's 1000 MB/s"),
        (Communication("a", 1e6, share=0.5, pattern="hallo3d"), r"unknown pattern 'hallo3d'.*halo3d"),
    ],
)
def test_senders_that_make_no_sense_are_refused(sends: Communication, told: str) -> None:
    """What no link of a node carries, and what nobody knows how to send, is refused in one line."""
    with pytest.raises(InputError, match=told):
        run(jobs_of((0, 10, 2, 0)), communication=(sends,))


def test_shares_that_make_no_sense_are_refused() -> None:
    """A share is a part of time, and who communicates sends something."""
    with pytest.raises(InputError, match=r"is 0 to 1, got 1\.5"):
        Communication("a", 1e6, share=1.5)
    with pytest.raises(InputError, match="but send nothing"):
        Communication("a", share=0.5)


def test_caps_and_neighbours_do_not_mix() -> None:
    """A policy that caps jobs is refused where the network decides how fast they are."""
    cluster = Cluster((NodeClass("n", 20, 100.0, 300.0, min_cap_w=150.0),), network=FLY)
    with pytest.raises(InputError, match="use one of the two"):
        simulate(
            jobs_of((0, 10, 2, 0)),
            cluster,
            policies(cap="under-limit"),
            Options(communication=SENDS, limit_w=[(0.0, 5e3)]),
        )
