"""Over ZeroMQ nobody is heard without a key, and nobody hears or says what is not its own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq
from bus_parts import STATUS, TOPICS, Time, sent, until

from wattline.errors import InputError
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.keys import Known, load_known, load_pair, make_keys
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Role
from wattline.live.bus.zeromq import ZmqBus

ROLES: dict[str, Role] = {
    "controller": "controller", "standby": "controller", "gateway": "gateway", "operator": "operator",
}  # fmt: skip
Open = Callable[..., ZmqBus]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder of keys."""
    make_keys(tmp_path, "demo", [*((role, name) for name, role in ROLES.items()), ("agent", "n001"), ("agent", "n002")])
    return tmp_path


@pytest.fixture
def opened(keys: Path) -> Iterator[Open]:
    """A way to open buses that are closed at the end."""
    buses: list[ZmqBus] = []

    def open_(name: str, *controllers: ZmqBus, folder: Path = keys, **more: str) -> ZmqBus:
        at = {bus.name: bus.endpoint for bus in controllers}
        files = {"key": folder / "secret" / f"{name}.key", "known": folder / "public.keys"}
        buses.append(ZmqBus(ROLES.get(name, "agent"), name, TOPICS, controllers=at, **files, **more))
        return buses[-1]

    yield open_
    for bus in buses:
        bus.close()
        bus.close()


def listening(opened: Open, name: str = "controller") -> ZmqBus:
    """Return a controller that hears all statuses."""
    bus = opened(name, listen="tcp://127.0.0.1:*")
    bus.subscribe(TOPICS.status())
    return bus


def meet(controller: ZmqBus, *agents: ZmqBus) -> None:
    """Wait until the controller has heard of all."""
    for agent in agents:
        sent(agent, TOPICS.status(agent.name), b"hello")
        until(controller, bool)


def test_each_node_hears_its_own_caps(opened: Open) -> None:
    """A cap reaches its node alone, with the controller's name; statuses reach the controller with their node's."""
    controller = listening(opened)
    agents = [opened(name, controller) for name in ("n001", "n002")]
    for agent in agents:
        agent.subscribe(TOPICS.cap(agent.name))
        sent(agent, TOPICS.status(agent.name), b"s")
        assert until(controller, bool) == [(TOPICS.status(agent.name), b"s", agent.name)]
    controller.publish(TOPICS.cap("n001"), b"c")
    assert until(agents[0], bool) == [(TOPICS.cap("n001"), b"c", "controller")]
    assert agents[1].poll(0.05) == []


def test_an_agent_cannot_publish_a_cap(opened: Open) -> None:
    """Nor another's status, nor hear another's caps; each attempt is counted."""
    controller = listening(opened)
    controller.subscribe(TOPICS.root)
    victim, other = opened("n001", controller), opened("n002", controller)
    victim.subscribe(TOPICS.cap("n001"))
    meet(controller, victim, other)
    other.subscribe(TOPICS.cap("n001"))
    other.subscribe(TOPICS.cap())
    for topic in (TOPICS.cap("n001"), TOPICS.status("n001"), TOPICS.off, TOPICS.signal):
        sent(other, topic, b"forged")
    deadline_s = time.monotonic() + 8.0
    while controller.counts()["forbidden"] < 7 and time.monotonic() < deadline_s:
        assert controller.poll(0.02) == []
    assert controller.counts()["forbidden"] >= 7
    controller.publish(TOPICS.cap("n001"), b"c")
    assert until(victim, bool) == [(TOPICS.cap("n001"), b"c", "controller")]
    assert other.poll(0.05) == []


def test_who_comes_late_gets_its_last_cap(opened: Open) -> None:
    """A kept message waits for its node; the standby is reached beside the first controller."""
    first, second = listening(opened), listening(opened, "standby")
    for payload in (b"1", b"2"):
        first.publish(TOPICS.cap("n001"), payload, keep=True)
    agent = opened("n001", first, second)
    agent.subscribe(TOPICS.cap("n001"))
    deadline_s = time.monotonic() + 8.0
    got = []
    while not got and time.monotonic() < deadline_s:
        first.poll(0.01)
        got = agent.poll(0.01)
    assert [m.payload for m in got] == [b"2"]
    meet(second, agent)
    second.publish(TOPICS.cap("n001"), b"3")
    assert until(agent, bool) == [(TOPICS.cap("n001"), b"3", "standby")]


def test_a_controller_that_does_not_listen_hears_through_the_one_that_does(opened: Open) -> None:
    """A dry run beside the leader, with the leader's own key, hears every status under its node's name."""
    leader = listening(opened)
    beside, agent = opened("controller", leader), opened("n001", leader)
    beside.subscribe(TOPICS.status())
    meet(leader, agent)
    assert beside.endpoint == ""
    deadline_s, got = time.monotonic() + 8.0, []
    while not got and time.monotonic() < deadline_s:
        agent.publish(TOPICS.status("n001"), b"s")
        leader.poll(0.01)
        got = beside.poll(0.01)
    assert got[:1] == [(TOPICS.status("n001"), b"s", "n001")]


def test_off_goes_from_an_operator_to_all(opened: Open) -> None:
    """The controller passes on what an operator may say, under the operator's name."""
    controller = listening(opened)
    agent = opened("n001", controller)
    agent.subscribe(TOPICS.off)
    meet(controller, agent)
    sent(opened("operator", controller), TOPICS.off, b"off")
    deadline_s = time.monotonic() + 8.0
    got = []
    while not got and time.monotonic() < deadline_s:
        controller.poll(0.01)
        got = agent.poll(0.01)
    assert got == [(TOPICS.off, b"off", "operator")]


def test_wrong_keys_are_refused(opened: Open, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An agent whose key the controller does not know, and one that expects another controller: neither is heard."""
    controller = listening(opened)
    other = tmp_path_factory.mktemp("other")
    make_keys(other, "demo", [("controller", "controller"), ("agent", "n001"), ("agent", "n002")])
    misled = opened("n001", controller, folder=other)  # pins another controller's key
    mixed = tmp_path_factory.mktemp("mixed")
    shutil.copytree(other / "secret", mixed / "secret")
    lines = [line for line in (keys / "public.keys").read_text().splitlines() if " n002 " not in line]
    lines += [line for line in (other / "public.keys").read_text().splitlines() if " n002 " in line]
    (mixed / "public.keys").write_text("\n".join(lines))
    stranger = opened("n002", controller, folder=mixed)  # knows the controller, is not known to it
    deadline_s = time.monotonic() + 8.0
    while not (controller.counts()["refused"] and stranger.counts()["refused"]) and time.monotonic() < deadline_s:
        assert not stranger.publish(TOPICS.status("n002"), b"s")
        assert not misled.publish(TOPICS.status("n001"), b"s")
        assert controller.poll(0.02) == []
    assert controller.counts()["refused"] >= 1
    assert stranger.counts()["refused"] >= 1
    assert misled.counts()["connected"] == stranger.counts()["connected"] == 0


def test_without_a_key_nobody_is_heard(opened: Open) -> None:
    """A plain connection gets no answer."""
    controller = listening(opened)
    plain = ZmqBus("agent", "n001", TOPICS, controllers={"controller": controller.endpoint})
    try:
        for _ in range(10):
            assert not plain.publish(TOPICS.status("n001"), b"s")
            assert controller.poll(0.02) == []
    finally:
        plain.close()


def test_frames_that_are_nonsense_are_counted(opened: Open, keys: Path) -> None:
    """A known agent that sends what no bus sends harms nobody: several frames, empty and huge ones, an own address."""
    controller = listening(opened)
    pair, known = load_pair(keys / "secret" / "n001.key"), load_known(keys / "public.keys")
    with zmq.Context() as context:

        def dealer(name: bytes = b"") -> zmq.Socket[bytes]:
            socket = context.socket(zmq.DEALER)
            socket.linger = 0
            if name:
                socket.setsockopt(zmq.ROUTING_ID, name)
            socket.curve_publickey, socket.curve_secretkey = pair.public, pair.secret
            socket.curve_serverkey = known.keys["controller"]
            socket.connect(controller.endpoint)
            return socket

        with dealer() as rude, dealer(b"n002") as chosen:
            topic = f"p{TOPICS.status('n001')}\n".encode()
            for frames in ([b"p", b"q"], [b"", b""], [b"z"], [b""], [b"p"], [b"p\xff\n"], [topic + b"x" * 5000]):
                rude.send_multipart(frames)
            for _ in range(20):
                rude.send(b"h" + b"\n".join([b"agent n002", b"wattline/demo/cap/n002"]))
                rude.send(b"hagent n001" + b"\nx" * 100)
            chosen.send(topic + b"x")
            rude.send(topic + b"good")
            assert until(controller, bool) == [(TOPICS.status("n001"), b"good", "n001")]
            deadline_s = time.monotonic() + 8.0
            while not controller.counts()["unnamed"] and time.monotonic() < deadline_s:
                controller.poll(0.02)
            told = controller.counts()
            names = ("malformed", "forbidden", "oversized", "forged", "unnamed")
            assert {n: told[n] for n in names} == {
                "malformed": 4, "forbidden": 22, "oversized": 1, "forged": 20, "unnamed": 1,
            }  # fmt: skip


def test_a_restarted_controller_is_found_again(opened: Open, keys: Path) -> None:
    """Agents connect again by themselves and are heard and led as before; what they said meanwhile is dropped."""
    first = listening(opened)
    agent = opened("n001", first)
    agent.subscribe(TOPICS.cap("n001"))
    meet(first, agent)
    endpoint = first.endpoint
    first.close()
    deadline_s = time.monotonic() + 8.0
    while agent.publish(TOPICS.status("n001"), b"s") and time.monotonic() < deadline_s:
        agent.poll(0.02)
    assert agent.counts()["unsent"] > 0
    again = opened("controller", listen=endpoint)
    again.subscribe(TOPICS.status())
    meet(again, agent)
    deadline_s = time.monotonic() + 8.0
    got = []
    while not got and time.monotonic() < deadline_s:
        again.publish(TOPICS.cap("n001"), b"c")
        again.poll(0.01)
        got = agent.poll(0.01)
    assert got[0] == (TOPICS.cap("n001"), b"c", "controller")
    assert agent.counts()["lost"] >= 1


def test_new_nodes_come_in_and_old_keys_go(opened: Open, keys: Path) -> None:
    """A controller reads its file of keys again when it changes: new names are heard, replaced keys are not."""
    controller = listening(opened)
    agent = opened("n001", controller)
    meet(controller, agent)
    make_keys(keys, "demo", [("agent", "n001"), ("agent", "n003")], force=True)
    meet(controller, opened("n003", controller))
    sent(agent, TOPICS.status("n001"), b"old key")
    deadline_s = time.monotonic() + 8.0
    while not controller.counts()["unnamed"] and time.monotonic() < deadline_s:
        assert controller.poll(0.02) == []
        agent.publish(TOPICS.status("n001"), b"old key")
    assert controller.counts()["unnamed"] > 0


def test_whose_key_was_removed_is_neither_heard_nor_told(opened: Open, keys: Path) -> None:
    """A name that is taken out of the file is cut off while it is connected, and does not come back; others stay."""
    controller = listening(opened)
    agent, other = opened("n001", controller), opened("n002", controller)
    for one in (agent, other):
        one.subscribe(TOPICS.cap(one.name))
        meet(controller, one)
        sent(controller, TOPICS.cap(one.name), b"before")
        assert until(one, bool)
    file = keys / "public.keys"
    lines = file.read_text().splitlines()
    kept = [line for line in lines if "n001" not in line.split()]
    assert len(kept) == len(lines) - 1
    file.write_text("\n".join(kept) + "\n")
    deadline_s = time.monotonic() + 8.0
    while not controller.counts()["unnamed"] and time.monotonic() < deadline_s:
        agent.publish(TOPICS.status("n001"), b"while connected")
        controller.poll(0.02)
    assert controller.counts()["unnamed"] > 0
    agent.poll(0.1)  # what was sent before it was removed
    pair, public = load_pair(keys / "secret" / "n001.key", "n001"), load_known(file)
    old = Known(public.site, {**public.keys, "n001": pair.public}, {**public.roles, "n001": "agent"})
    again = ZmqBus("agent", "n001", TOPICS, controllers={"controller": controller.endpoint}, key=pair, known=old)
    try:
        again.subscribe(TOPICS.cap("n001"))
        for _ in range(40):
            agent.publish(TOPICS.status("n001"), b"removed")
            again.publish(TOPICS.status("n001"), b"connected anew")
            controller.publish(TOPICS.cap("n001"), b"after", keep=True)
            assert controller.poll(0.02) == []
            assert agent.poll(0.0) + again.poll(0.0) == []
        assert controller.counts()["refused"] > 0
    finally:
        again.close()
    meet(controller, other)
    controller.publish(TOPICS.cap("n002"), b"after")
    assert until(other, bool)[-1].payload == b"after"


def test_a_replay_is_dropped(opened: Open) -> None:
    """A message that comes twice over the wire counts once."""
    clock = Time().clock
    controller = listening(opened)
    agent, box, inbox = opened("n001", controller), Outbox("n001", clock), Inbox(TOPICS, clock, nodes=["n001"])
    payload = box.encode("status", STATUS)
    for _ in range(2):
        sent(agent, TOPICS.status("n001"), payload)
    found = inbox.take_all(until(controller, lambda found: len(found) == 2))
    assert [m.body for m in found] == [STATUS]
    assert inbox.counts()["replayed"] == 1


def test_sending_never_blocks(opened: Open) -> None:
    """Whoever sends faster than the controller reads loses messages, at once and counted."""
    controller = listening(opened)
    agent = opened("n001", controller)
    meet(controller, agent)
    before, began_s = agent.counts()["unsent"], time.monotonic()
    went = sum(agent.publish(TOPICS.status("n001"), b"x" * 4000) for _ in range(5_000))
    assert time.monotonic() - began_s < 5.0
    assert agent.counts()["unsent"] - before == 5_000 - went > 0
    assert not agent.publish(TOPICS.status("n001"), b"x" * 4097)


def test_an_agent_that_does_not_read_blocks_nobody(opened: Open) -> None:
    """What the controller sends to one who does not read is dropped, at once and counted; others hear and are heard."""
    controller = listening(opened)
    deaf, other = opened("n001", controller), opened("n002", controller)
    for agent in (deaf, other):
        agent.subscribe(TOPICS.cap(agent.name))
        meet(controller, agent)
    began_s = time.monotonic()
    went = sum(controller.publish(TOPICS.cap("n001"), b"x" * 4000) for _ in range(20_000))
    assert time.monotonic() - began_s < 5.0
    assert controller.counts()["full"] == 20_000 - went > 0
    controller.publish(TOPICS.cap("n002"), b"c")
    assert until(other, bool) == [(TOPICS.cap("n002"), b"c", "controller")]
    sent(other, TOPICS.status("n002"), b"s")
    assert until(controller, bool) == [(TOPICS.status("n002"), b"s", "n002")]


def test_mistakes_in_one_line(opened: Open, keys: Path) -> None:
    """Wrong names, sites and addresses are told before anything is opened."""
    with pytest.raises(InputError, match="not there as agent"):
        ZmqBus("agent", "gateway", TOPICS, key=keys / "secret" / "gateway.key", known=keys / "public.keys")
    files = {"key": keys / "secret" / "n001.key", "known": keys / "public.keys"}
    with pytest.raises(InputError, match="has no controller 'n002'"):
        ZmqBus("agent", "n001", TOPICS, controllers={"n002": "tcp://127.0.0.1:1"}, **files)
    busy = listening(opened)
    with pytest.raises(InputError, match="in use") as told:
        opened("standby", listen=busy.endpoint)
    assert "\n" not in str(told.value)
