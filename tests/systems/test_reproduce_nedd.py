"""The quick reproduction of the congestion study and of NeDD, its stand-ins and layouts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from systems_statements import check_statements

from wattline.physics.packets.simulator import Simulator
from wattline.systems.nedd.apps import APPLICATIONS, READINGS, SENSITIVE, reduce_steps, stand_in
from wattline.systems.nedd.cases import (
    CORI,
    GROUP,
    MACHINES,
    SINGLE,
    Scale,
    Study,
    Task,
    given,
    gpcnet,
    layout_of,
    others_of,
    program,
    simulator,
)
from wattline.systems.nedd.claims import _undecided, judged
from wattline.systems.nedd.experiments import available
from wattline.systems.nedd.page import reproduce
from wattline.systems.nedd.study import tasks_of
from wattline.systems.reproduction import Claim, Reproduction
from wattline.systems.work import Work

MACHINE = CORI


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce(tmp_path_factory.mktemp("nedd"), True, Work())


def test_the_quick_one_says_what_it_found(found: Reproduction) -> None:
    """Sensitive codes suffer beside a congestor, the more so on its routers; HPCG does not; quiet routers are better
    than busy ones.
    """
    check_statements(found)
    by = {claim.short: claim for claim in found.claims}
    for short in ("Graph500, HPCG < 10 %", "sharing routers is worse than sharing links"):
        assert by[short].holds, by[short].ours
    assert by["ptile stalls against it"].verdict == "untestable"
    placed = found.numbers["placed"][MACHINE]["crossbar 4"]["miniMD"]["scattered"]
    assert placed["Low-Traffic"]["mean"] < 0.95 * placed["High-Traffic"]["mean"]
    assert (
        placed["Low-Traffic: shared"]["mean"]
        < placed["Random: shared"]["mean"]
        < placed["High-Traffic: shared"]["mean"]
    )
    times = found.numbers["settings"][MACHINE]["crossbar 4"]["LAMMPS"]["scattered"]
    assert times["IV spaced + congestor: time"]["mean"] > 3 * times["II spaced: time"]["mean"]
    strength = found.numbers["strength"][MACHINE]["crossbar 4"]
    impact = {name: strength[name]["scattered"]["latency"]["mean"] for name in strength}
    assert (
        impact["read from 1 task"] < 1.5 < impact["read from 32 tasks"]
    )  # one root's link limits all who read from it
    assert json.dumps(found.to_dict())
    page = found.path.read_text(encoding="utf-8")
    assert all(f"Fig. {figure}" in page for figure in ("3.15", "3.17", "3.18", "3.19", "3.20", "3.24"))


def test_profiles_tell_who_is_sensitive() -> None:
    """The rule finds exactly the applications that the text found sensitive."""
    assert {name for name, app in APPLICATIONS.items() if app.profile.sensitive} == SENSITIVE


@pytest.mark.parametrize("name", ["LAMMPS", "MILC", "HPCG", "Graph500"])
def test_stand_ins_spend_their_time_as_published(name: str) -> None:
    """On the empty machine, exchanges and collectives take their parts of the time; what is not simulated is added."""
    made = program(MACHINE, 4.0, name, 64)
    assert made.wanted[0] == pytest.approx(APPLICATIONS[name].profile.coupled)
    assert sum(made.made) == pytest.approx(sum(made.wanted))
    assert made.made[0] == pytest.approx(made.wanted[0], rel=0.25)
    run = simulator(MACHINE, 4.0).run([made.job(np.arange(64), 0, at_least_s=3e-4)])
    assert made.time_s(run.jobs[0]) == pytest.approx(made.iteration_s, rel=0.12)


def test_time_of_collectives_that_is_the_networks() -> None:
    """Of LAMMPS's collectives all is network, of Graph500's rare small ones a little, of QMCPACK's long ones all."""
    lammps, graph, qmcpack = (APPLICATIONS[name] for name in ("LAMMPS", "Graph500", "QMCPACK"))
    assert lammps.collective == pytest.approx(lammps.profile.allreduce, rel=0.01)
    assert graph.collective == pytest.approx(7251 * 0.254 * 15 / 125_170 / 122)
    assert qmcpack.collective == qmcpack.profile.allreduce + qmcpack.profile.broadcast
    assert READINGS["Graph500, all in the network"].collective == pytest.approx(0.025)
    assert READINGS["QMCPACK, by calls"].collective < 0.1 * qmcpack.collective


@pytest.mark.parametrize("tasks", [2, 8, 11, 80])
def test_long_allreduces_halve_and_gather(tasks: int) -> None:
    """Every task but those that are folded gets all other parts once and sends less than twice the vector; with 8
    tasks these are halves, quarters, eighths and back.
    """
    rounds = [np.asarray(x) for x in reduce_steps(8192, tasks).rounds]
    power = 1 << (tasks.bit_length() - 1)
    assert len(rounds) == 2 * (power.bit_length() - 1) + (2 if tasks > power else 0)
    inner = rounds[1:-1] if tasks > power else rounds
    sizes = [int(x[0, 2]) for x in inner]
    assert sizes == sizes[::-1]
    assert sum(sizes) == 2 * (8192 - 8192 // power)
    for x in rounds:
        assert len(set(x[:, 0])) == len(set(x[:, 1])) == len(x)
        assert x[:, :2].max() < tasks
    if tasks == 8:
        assert sizes == [4096, 2048, 1024, 1024, 2048, 4096]
        assert rounds[0][:, 1].tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


def test_others_have_the_nodes_that_were_not_given() -> None:
    """On the machine that is shared, three jobs of 40 nodes, each in several groups, run on all nodes but those of the
    experiment, which are 40 neighbours in each group; nobody else is on the other machines.
    """
    network = MACHINES[CORI].network
    nodes, others = given(CORI, 3), others_of(CORI, 4.0, 3)
    assert [job.placed.size for job in others] == [40, 40, 40]
    assert set(nodes) | {int(n) for job in others for n in job.placed} == set(range(network.nodes))
    assert np.bincount(network.group_of(nodes)).tolist() == [40] * 5
    assert all(len(set(network.group_of(job.placed))) > 1 and job.background for job in others)
    assert len({job.name for job in others}) == 3
    assert others_of(SINGLE, 4.0, 3) == []
    assert given(SINGLE, 3).tolist() == list(range(272))


@pytest.mark.parametrize(("by_calls", "verdict"), [(1.005, "untestable"), (1.06, "held")])
def test_a_verdict_that_hangs_on_a_reading_is_left_open(by_calls: float, verdict: str) -> None:
    """Where one reading of QMCPACK's collectives says held and the other does not, nothing published tells which."""
    slow = {"by calls": by_calls, "all in the network": 1.07}
    found = {
        ("reading", CORI, 4.0, f"QMCPACK, {how}", "scattered"): {"slowdown": np.array([x])} for how, x in slow.items()
    }
    claim = _undecided(Study(Scale(), found), Claim("Fig. 3.17", "a", "b", "+7%", holds=True))
    assert claim.verdict == verdict
    assert ("by calls +0%, all in the network +7%" in claim.because) == (verdict == "untestable")


def test_statements_are_judged_once() -> None:
    """One machine and speed decide; what the others say stands beside it, and what was not tried there is left out."""
    scale = Scale(machines=(CORI, SINGLE, GROUP), crossbars=(4.0, 1.0))
    asked = {(CORI, 4.0): True, (CORI, 1.0): False, (SINGLE, 4.0): True}
    claim = judged(Study(scale), "Fig. 1", "a", "b", lambda case: (f"at {case[1]:g}", asked[case]))
    assert claim.ours == "at 4 (also 272 nodes, crossbar 4 | not 320 nodes, crossbar 1)"
    assert claim.holds
    by = {(task.machine, task.crossbar, task.kind) for task in tasks_of(scale)}
    assert (CORI, 4.0, "order") in by
    assert (SINGLE, 4.0, "order") not in by
    assert (SINGLE, 1.0, "settings") not in by


def test_stand_ins_fit_the_machine_they_are_made_for() -> None:
    """A slower machine gets longer iterations, with the same parts."""
    fast = stand_in("MILC", simulator(MACHINE, 4.0), np.arange(32))
    slow = stand_in("MILC", Simulator(simulator(MACHINE, 4.0).network, crossbar=1.0), np.arange(32))
    assert slow.iteration_s / slow.exchanges > fast.iteration_s / fast.exchanges
    assert sum(slow.made) == pytest.approx(sum(fast.made))


@pytest.mark.parametrize("rotation", [0, 3, 9])
def test_the_four_settings(rotation: int) -> None:
    """Application and congestor have 64 of 192 nodes each and none in common; spaced ones share routers, continuous
    ones do not.
    """
    for setting in range(4):
        own, others = layout_of(setting, rotation, 10)  # of a machine whose nodes are all given
        assert len(set(own)) == len(set(others)) == 64
        assert not set(own) & set(others)
        assert max(*own, *others) < 192
        shared = np.isin(own // 4, others // 4).mean()
        assert shared > 0.9 if setting % 2 else shared < 0.1


@pytest.mark.parametrize("layout", ["scattered", "pieces"])
def test_the_nodes_of_the_nedd_study(layout: str) -> None:
    """Of 200 nodes the congestor has 64, four fifths of which congest; the same seed gives the same nodes."""
    task = Task("placed", MACHINE, 4.0, "miniMD", 5, layout)
    nodes, busy = available(task)
    assert len(set(nodes)) == 200
    assert len(set(busy)) == 64
    assert set(busy) <= set(nodes)
    np.testing.assert_array_equal(available(task)[1], busy)
    congestor, canary = gpcnet(busy, 5)
    assert congestor.placed.size == 51
    assert set(congestor.placed) | set(canary.placed) == set(busy)
