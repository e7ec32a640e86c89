"""What is forged, replayed, too old or from strangers is counted and dropped."""

from __future__ import annotations

import random

from bus_parts import CAP, STATUS, TOPICS, Time
from hypothesis import given
from hypothesis import strategies as st

from wattline.live.bus.base import Arrived
from wattline.live.bus.inbox import REASONS, Inbox
from wattline.live.bus.messages import Outbox


def arrived(box: Outbox, kind: str = "status", node: str = "", wire: str | None = None) -> Arrived:
    """Return a good message on its topic."""
    body = {"status": STATUS, "cap": CAP}.get(kind, {})
    topic = TOPICS.off if kind == "off" else f"{TOPICS.root}/{kind}/{node or box.name}"
    return Arrived(topic, box.encode(kind, body), box.name if wire is None else wire)


def test_a_thousand_forged_and_a_thousand_malformed() -> None:
    """Nothing raises, nothing passes, and everything is counted."""
    time, draw = Time(), random.Random(5)
    inbox = Inbox(TOPICS, time.clock, nodes=["n001", "n002"], controllers=["controller"])
    boxes = [Outbox(name, time.clock) for name in ("n001", "n002", "controller")]
    for _ in range(1_000):
        good = arrived(boxes[0]).payload
        k = draw.randrange(len(good))
        bad = draw.choice([good[:k], good[k:], good[:k] + draw.randbytes(3) + b'"' + good[k:], draw.randbytes(k)])
        assert inbox.take(Arrived(TOPICS.status("n001"), bad, "n001")) is None
    told = inbox.counts()
    assert sum(told[reason] for reason in REASONS) == 1_000
    for k in range(1_000):
        box = boxes[k % 3]
        if k % 2:
            forged = arrived(box, "status", node="n003")  # another node's topic
        elif k % 4:
            forged = arrived(box, "status", wire="mallory")  # another's key
        else:
            forged = arrived(box, "cap", node="n001", wire="n002" if box.name != "n002" else "n001")
        assert inbox.take(forged) is None
    told = inbox.counts()
    assert (told["forged"], told["accepted"]) == (1_000, 0)
    assert sum(told.values()) == 2_000
    assert len(inbox) == 0


def test_caps_come_from_leaders_alone() -> None:
    """A node that sends caps under its own name is a stranger to those who are led."""
    time = Time()
    inbox = Inbox(TOPICS, time.clock, controllers=["controller"], operators=["me"])
    assert inbox.take(arrived(Outbox("n002", time.clock), "cap", node="n001")) is None
    assert inbox.take(arrived(Outbox("n002", time.clock), "off")) is None
    assert inbox.take(arrived(Outbox("me", time.clock), "cap", node="n001")) is None
    assert inbox.counts()["stranger"] == 3
    assert inbox.take(arrived(Outbox("me", time.clock), "off")) is not None
    assert inbox.take(arrived(Outbox("controller", time.clock), "cap", node="n001")) is not None


def test_replays_are_dropped() -> None:
    """A message counts once; an older one does not count after it, nor does one of an earlier start."""
    time = Time()
    inbox, first, second = Inbox(TOPICS, time.clock), Outbox("n001", time.clock), Outbox("n001", time.clock)
    one, two = arrived(first), arrived(first)
    assert inbox.take(two) is not None
    assert inbox.take(two) is None
    assert inbox.take(one) is None
    assert inbox.take(arrived(second)) is None  # another start, but no newer
    time.s += 1.0
    assert inbox.take(arrived(second)) is not None
    assert inbox.take(arrived(Outbox("n001", time.clock))) is None
    assert inbox.counts()["replayed"] == 4
    assert inbox.take(two) is None


@given(st.permutations(range(12)))
def test_any_order(order: list[int]) -> None:
    """However messages are shuffled, those that pass rise."""
    time = Time()
    inbox, box = Inbox(TOPICS, time.clock), Outbox("n001", time.clock)
    sent = [arrived(box) for _ in range(12)]
    passed = [m.n for m in inbox.take_all(sent[k] for k in [*order, *order])]
    assert passed == sorted(set(passed))
    assert passed[-1] == 12


def test_old_and_early_messages_are_dropped() -> None:
    """Bounds on age are configurable; a cap may be as old as its lease is long."""
    time = Time()
    inbox, box = Inbox(TOPICS, time.clock, oldest_s=3.0, ahead_s=1.0), Outbox("n001", time.clock)
    early, old, cap, late_cap = (arrived(box, kind) for kind in ("status", "status", "cap", "cap"))
    time.s += 9.0
    assert inbox.take(old) is None
    assert inbox.take(cap) is not None
    time.s += 2.0
    assert inbox.take(late_cap) is None
    assert inbox.counts()["stale"] == 2
    time.s -= 13.0
    assert inbox.take(early) is None
    assert inbox.counts()["future"] == 1


def test_invented_senders_do_not_fill_memory() -> None:
    """However many senders are invented, no more are remembered than there is room for, and known ones go on."""
    time = Time()
    inbox, box = Inbox(TOPICS, time.clock, senders=100), Outbox("n001", time.clock)
    assert inbox.take(arrived(box)) is not None
    for k in range(1_000):
        inbox.take(arrived(Outbox(f"x{k}", time.clock)))
    assert len(inbox) == 100
    assert inbox.counts()["crowded"] == 901
    assert inbox.take(arrived(box)) is not None
    time.s += 16.0  # older messages of those could not pass any more
    assert inbox.take(arrived(Outbox("n002", time.clock))) is not None
    assert len(inbox) == 1


def test_strangers_take_no_room() -> None:
    """Where the nodes are known, others are not even remembered."""
    time = Time()
    inbox = Inbox(TOPICS, time.clock, nodes=["n001"])
    assert inbox.take(arrived(Outbox("n002", time.clock))) is None
    assert (len(inbox), inbox.counts()["stranger"]) == (0, 1)


def test_gone_is_told_once_and_only_of_this_start() -> None:
    """The last will was written at the start of a connection; it counts as long as that start is the last one."""
    time = Time()
    inbox, box = Inbox(TOPICS, time.clock), Outbox("n001", time.clock)
    will = Arrived(*box.will(TOPICS), "")
    assert inbox.take(will) is None  # nobody has heard of it
    time.s += 1000.0
    assert inbox.take(arrived(box)) is not None
    assert inbox.take(will) is not None
    assert inbox.take(will) is None
    assert inbox.take(arrived(box)) is not None  # it was the connection alone that had gone
    time.s += 1.0
    assert inbox.take(arrived(Outbox("n001", time.clock))) is not None
    assert inbox.take(will) is None


def test_topics_of_others() -> None:
    """Another site's topics, and topics that there are not, are unknown."""
    time = Time()
    inbox, box = Inbox(TOPICS, time.clock), Outbox("n001", time.clock)
    payload = box.encode("status", STATUS)
    for topic in ("wattline/other/status/n001", "wattline/demo/statuses/n001", "wattline/demo", ""):
        assert inbox.take(Arrived(topic, payload, "n001")) is None
    assert inbox.take(Arrived(TOPICS.cap(), box.encode("cap", CAP), "n001")) is None
    assert inbox.counts()["unknown"] == 5
