"""The bus of one process behaves as the wires do, and fails on demand."""

from __future__ import annotations

import threading

import pytest
from bus_parts import TOPICS, Time

from wattline.errors import InputError
from wattline.live.bus.inprocess import Hub, InProcessBus
from wattline.live.bus.names import nodes_of


def world() -> tuple[Time, Hub, InProcessBus, InProcessBus]:
    """Return a clock, a hub, a controller that hears all statuses, and an agent that hears its caps."""
    time = Time()
    hub = Hub("demo", time.clock, room=50)
    controller, agent = hub.attach("controller", "controller"), hub.attach("agent", "n001")
    controller.subscribe(TOPICS.status())
    agent.subscribe(TOPICS.cap("n001"))
    agent.subscribe(TOPICS.off)
    return time, hub, controller, agent


def test_messages_go_to_those_who_asked() -> None:
    """A node hears its own caps alone, a controller all statuses, each with its sender's name."""
    _, hub, controller, agent = world()
    other = hub.attach("agent", "n002")
    other.subscribe(TOPICS.cap("n002"))
    assert agent.publish(TOPICS.status("n001"), b"s")
    assert controller.publish(TOPICS.cap("n001"), b"c")
    assert controller.poll(0.0) == [(TOPICS.status("n001"), b"s", "n001")]
    assert agent.poll(0.0) == [(TOPICS.cap("n001"), b"c", "controller")]
    assert other.poll(0.0) == []


def test_rights() -> None:
    """An agent cannot write caps or another's status, nor ask for another's caps."""
    _, _, controller, agent = world()
    for topic in (TOPICS.cap("n001"), TOPICS.status("n002"), TOPICS.status("n0011"), TOPICS.off, TOPICS.signal):
        assert not agent.publish(topic, b"x")
    agent.subscribe(TOPICS.cap("n002"))
    agent.subscribe(TOPICS.cap())
    assert agent.counts()["forbidden"] == 7
    controller.publish(TOPICS.cap("n002"), b"c")
    assert agent.poll(0.0) == controller.poll(0.0) == []


def test_kept_messages_reach_those_who_come_late() -> None:
    """Only the last one that was kept is given."""
    _, hub, controller, _ = world()
    for payload in (b"1", b"2"):
        controller.publish(TOPICS.cap("n002"), payload, keep=True)
    late = hub.attach("agent", "n002")
    late.subscribe(TOPICS.cap("n002"))
    assert [m.payload for m in late.poll(0.0)] == [b"2"]


def test_wires_are_cut_and_healed() -> None:
    """Nothing passes a cut wire; what was kept comes when it is whole again."""
    _, hub, controller, agent = world()
    hub.cut("n001")
    assert not agent.publish(TOPICS.status("n001"), b"s")
    controller.publish(TOPICS.off, b"lost")
    controller.publish(TOPICS.cap("n001"), b"c", keep=True)
    assert agent.poll(0.0) == []
    hub.heal()
    assert [m.payload for m in agent.poll(0.0)] == [b"c"]
    assert agent.publish(TOPICS.status("n001"), b"s")


def test_messages_are_late_and_lost_on_demand() -> None:
    """A late message comes when the clock says so, in order; a share of them never comes."""
    time, hub, controller, agent = world()
    hub.faults(late_s=2.0)
    controller.publish(TOPICS.cap("n001"), b"late")
    hub.faults()
    controller.publish(TOPICS.cap("n001"), b"after")
    time.s += 1.9
    assert agent.poll(0.0) == []
    time.s += 0.2
    assert [m.payload for m in agent.poll(0.0)] == [b"late", b"after"]
    hub.faults(lost=0.5)
    went = sum(agent.publish(TOPICS.status("n001"), b"s") for _ in range(40))
    assert 0 < went < 40
    assert len(controller.poll(0.0)) == went


def test_queues_are_bounded() -> None:
    """A reader that does not read loses what there is no room for, and that is counted."""
    _, _, controller, agent = world()
    for _ in range(60):
        agent.publish(TOPICS.status("n001"), b"s")
    assert len(controller.poll(0.0)) == 50
    assert controller.counts()["full"] == 10


def test_threads_wake_each_other() -> None:
    """Whoever waits gets a message as soon as another thread sends it."""
    _, _, controller, agent = world()
    sender = threading.Timer(0.05, lambda: agent.publish(TOPICS.status("n001"), b"s"))
    sender.start()
    assert len(controller.poll(10.0)) == 1
    sender.join()
    controller.close()
    controller.close()
    assert controller.poll(10.0) == []


def test_names_of_many_nodes() -> None:
    """Nodes are written as Slurm writes them."""
    assert nodes_of("n[08-10,12]x") == ["n08x", "n09x", "n10x", "n12x"]
    for text in ("n[3-1]", "n[1-999999999]", "n[a]", "n/1", "", "n[1", "-n", "n" * 64):
        with pytest.raises(InputError):
            nodes_of(text)
