"""Agents and wires that fail: safe caps within a lease, power under the limit, jobs that go on, and back again."""

from __future__ import annotations

import pytest

from live.faults.faulty import LEASE_S, LIMIT_W, NODES, PERIOD_S, names, pressed


def test_nothing_goes_wrong() -> None:
    """Without faults: the limit is kept and used, every agent is led, every job runs once."""
    world = pressed()
    world.run(10.0)
    assert world.led() == NODES
    assert world.most_w() > LIMIT_W - 300.0
    world.finish()
    assert world.over_s() == 0.0


@pytest.mark.parametrize("count", [NODES, 6])
def test_a_bus_that_is_cut(count: int) -> None:
    """Wires cut for 30 s: each agent is under its safe cap within a lease and a period, the limit is kept throughout,
    all are led again within a third of a lease and a period of the healing, and no job is lost.
    """
    world = pressed()
    cut_s = world.at()
    world.hub.cut(*names(world, count))
    world.run(30.0)
    for name in names(world, count):
        agent = world.staff[name]
        assert agent.lease.mode == "safe"
        assert float(agent.told[0].split()[0]) - cut_s <= LEASE_S + PERIOD_S
    world.hub.heal()
    world.run(LEASE_S / 3 + PERIOD_S + 0.25)
    assert world.led() == NODES
    world.finish()
    assert world.over_s() == 0.0


def test_agents_that_are_killed() -> None:
    """Six agents killed for 40 s: their caps stay, nothing is started on their nodes, the limit is kept; restarted they
    are safe at once, and led within two periods.
    """
    world = pressed()
    for name in names(world, 6):
        world.fire(name)
    world.run(40.0)
    for name in names(world, 6):
        assert world.hire(name).lease.mode == "safe"
    world.run(2 * PERIOD_S + 0.25)
    assert world.led() == NODES
    world.finish()
    assert world.over_s() == 0.0
