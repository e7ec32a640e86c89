"""The plant behaves as the simulator's nodes do, with lag and noise of its own."""

from __future__ import annotations

import math
import statistics
import time
from pathlib import Path

import pytest

from wattline.live.power.fakes.powercap import FakeNode, Plant, capped_speed, make_tree
from wattline.live.power.powercap import Powercap
from wattline.physics.cap_rates import capped_rate
from wattline.physics.power import capped_power
from wattline.testing.plain import plain

rate, power = plain(capped_rate), plain(capped_power)


def test_power_and_speed_under_a_cap_are_the_simulators(tmp_path: Path) -> None:
    """A node that has settled under a limit draws what the simulator says for that cap, and its job is as fast."""
    root = make_tree(tmp_path / "tree")
    with Plant([FakeNode("n", root)], lag_s=0.3) as plant:
        hardware = Powercap(root)
        plant.busy("n", 300.0, 180.0, 1.6)
        for i, cap_w in enumerate((400.0, 300.0, 260.0, 200.0, 180.0, 120.0)):
            hardware.set_limit(plant.model.cpu_w(cap_w, 12.0))
            plant.step(100.0 * i)
            plant.step(100.0 * i + 50.0)
            assert plant.server_w("n") == pytest.approx(300.0 * power(300.0, 180.0, cap_w), abs=1e-3)
            assert plant.speed("n") == pytest.approx(rate(300.0, 180.0, 1.6, cap_w), abs=1e-5)
            assert capped_speed(300.0, 180.0, 1.6, cap_w) == rate(300.0, 180.0, 1.6, cap_w)


def test_a_limit_is_followed_with_a_lag(tmp_path: Path) -> None:
    """One time constant after a limit fell, 63 % of the way is gone, however finely time was divided."""
    for parts in (1, 10):
        root = make_tree(tmp_path / f"tree{parts}")
        with Plant([FakeNode("n", root)], lag_s=0.5) as plant:
            plant.busy("n", 300.0, 100.0, 2.0)
            plant.step(0.0)
            plant.step(100.0)
            Powercap(root).set_limit(plant.model.cpu_w(200.0, 12.0))
            for i in range(parts):
                plant.step(100.0 + 0.5 * (i + 1) / parts)
            assert plant.server_w("n") == pytest.approx(200.0 + 100.0 * math.exp(-1.0), abs=1e-3)


def test_noise_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    """Noise is seeded, has the standard deviation given, and is in the energy that is counted."""
    seen = []
    for name in ("a", "b"):
        root = make_tree(tmp_path / name, packages=1, memory=False)
        with Plant([FakeNode("n", root)], noise_w=4.0, noise_s=1.0, seed=3) as plant:
            plant.step(0.0)
            hardware = Powercap(root)
            hardware.read(0.0)
            watts = []
            for i in range(1, 4001):
                plant.step(float(i) * 3.0)
                watts.append(plant.server_w("n"))
            seen.append(watts)
    assert seen[0] == seen[1]
    assert statistics.mean(watts) == pytest.approx(90.0, abs=0.3)
    assert statistics.pstdev(watts) == pytest.approx(4.0, abs=0.2)


def test_faults_of_limits_are_seen_on_disk(tmp_path: Path) -> None:
    """A plant that refuses, clamps or switches off puts its own will into the files at its next step."""
    root = make_tree(tmp_path / "tree")
    with Plant([FakeNode("n", root)]) as plant:
        hardware = Powercap(root)
        for fault, in_force_w in (("refuse", 410.0), ("clamp", 240.0), ("disable", math.inf), ("", 150.0)):
            plant.fault("n", *([fault] if fault else []), clamp_w=240.0)
            hardware.set_limit(150.0)
            plant.step(1.0)
            if fault:
                assert hardware.limits_w() == in_force_w
            else:
                assert hardware.set_limit(150.0) == in_force_w


def test_thirty_two_nodes_at_twenty_times_the_speed_are_cheap(tmp_path: Path) -> None:
    """A step of 32 two-socket nodes takes less than 5 ms, so that 10 steps a machine second at 20 times the speed leave
    a core free.
    """
    nodes = [FakeNode(f"n{i}", make_tree(tmp_path / f"n{i}")) for i in range(32)]
    with Plant(nodes, noise_w=3.0) as plant:
        plant.step(0.0)
        best_s = math.inf
        for k in range(5):
            began_s = time.process_time()
            for i in range(10):
                plant.step(1.0 + k + i / 10.0)
            best_s = min(best_s, (time.process_time() - began_s) / 10.0)
    assert best_s < 0.005
