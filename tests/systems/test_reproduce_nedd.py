"""The quick reproduction of the congestion study and of NeDD, its stand-ins and layouts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wattline.physics.packets.simulator import Simulator
from wattline.systems.nedd.apps import APPLICATIONS, SENSITIVE, stand_in
from wattline.systems.nedd.cases import Task, gpcnet, layout_of, program, simulator
from wattline.systems.nedd.experiments import available
from wattline.systems.nedd.page import reproduce
from wattline.systems.reproduction import Reproduction

MACHINE = "272 nodes"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce(tmp_path_factory.mktemp("nedd"), True, lambda _: None)


def test_the_quick_one_says_what_it_found(found: Reproduction) -> None:
    """Sensitive codes suffer beside a congestor, the more so on its routers; HPCG does not; quiet routers are better
    than busy ones.
    """
    by = {claim.short.removeprefix(f"{MACHINE}: "): claim for claim in found.claims}
    for short in ("Graph500, HPCG < 10 %", "sharing routers is worse than sharing links", "HPCG indifferent (< 3 %)"):
        assert by[short].holds, by[short].ours
    placed = found.numbers["placed"][MACHINE]["crossbar 4"]["miniMD"]["scattered"]
    assert placed["Low-Traffic"]["mean"] < 0.9 * placed["High-Traffic"]["mean"]
    assert (
        placed["Low-Traffic: shared"]["mean"]
        < placed["Random: shared"]["mean"]
        < placed["High-Traffic: shared"]["mean"]
    )
    times = found.numbers["settings"][MACHINE]["crossbar 4"]["LAMMPS"]["scattered"]
    assert times["IV spaced + congestor: time"]["mean"] > 5 * times["II spaced: time"]["mean"]
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


def test_collectives_wait_for_the_slowest() -> None:
    """Of LAMMPS's collectives all is network, of QMCPACK's rare ones a small part."""
    lammps, qmcpack = APPLICATIONS["LAMMPS"], APPLICATIONS["QMCPACK"]
    assert lammps.network_collective == pytest.approx(lammps.profile.allreduce, rel=0.01)
    assert qmcpack.network_collective < 0.3 * qmcpack.profile.allreduce


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
        own, others = layout_of(setting, rotation, 10)
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
