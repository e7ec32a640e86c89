"""Messages are read strictly: what is not exactly a message of version 1 is none."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from bus_parts import CAP, STATUS, TOPICS, Time
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.live.bus.base import Arrived
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.messages import KINDS, LARGEST, BadMessageError, Outbox, decode

WATTS = st.none() | st.floats(0.0, 1e12) | st.integers(0, 10**12)
STATUSES = st.fixed_dictionaries(
    {
        **dict.fromkeys(("w", "cpu_w", "mem_w", "cap_w", "limit_w", "safe_w", "min_w", "max_w"), WATTS),
        "age": st.none() | st.floats(0.0, 1e9),
        "lease": st.floats(0.0, 3600.0),
        "term": st.integers(0, 2**53),
        "mode": st.sampled_from(["led", "safe", "free"]),
        "faults": st.lists(st.text("abz09", min_size=1, max_size=32), max_size=16),
    }
)


def message(**changed: Any) -> bytes:
    """Return a good status with some fields changed; ``...`` takes a field away."""
    head = {"v": 1, "kind": "status", "from": "n001", "boot": "0123456789abcdef", "n": 1, "at": 1.5}
    data = {k: v for k, v in {**head, **STATUS, **changed}.items() if v is not ...}
    return json.dumps(data).encode()


@settings(max_examples=50)
@given(body=STATUSES)
def test_statuses_come_back_as_they_were(body: dict[str, Any]) -> None:
    """A status that is written is read with the same values, and fits a message."""
    found = decode(Outbox("n001", Time().clock).encode("status", body))
    assert (found.kind, found.sender, found.n, found.at_s) == ("status", "n001", 1, 1_731_750_000.0)
    assert found.body == body


@given(
    body=st.fixed_dictionaries({"y": st.floats(-1.0, 1.0)})
    | st.fixed_dictionaries({"limit_w": st.floats(0.0, 1e12)})
    | st.fixed_dictionaries(
        {"targets": st.lists(st.dictionaries(st.text("abc_", max_size=9), st.floats(0, 1e9)), min_size=1, max_size=9)}
    )
)
def test_signals_come_back_as_they_were(body: dict[str, Any]) -> None:
    """A signal is one of y, limit_w and targets."""
    assert decode(Outbox("gateway", Time().clock).encode("signal", body)).body == body


@given(payload=st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_no_bytes_raise_anything_else(payload: bytes) -> None:
    """Whatever the bytes are, they are a message or they are refused with a reason."""
    with pytest.raises(BadMessageError):
        decode(payload)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b" " * (LARGEST + 1), "oversized"),
        (b"[" * LARGEST, "malformed"),
        (b"\xff{}", "malformed"),
        (b"[]", "malformed"),
        (message(w=...), "malformed"),
        (message(v=2), "version"),
        (message(v=True), "malformed"),
        (message(kind="cup"), "unknown"),
        (message(kind=["cap"]), "unknown"),
        (message(**{"from": "../n001"}), "malformed"),
        (message(**{"from": "n001\n"}), "malformed"),
        (message(**{"from": "n/1"}), "malformed"),
        (message(boot="0123456789ABCDEF"), "malformed"),
        (message(n=-1), "malformed"),
        (message(n=1.0), "malformed"),
        (message(n=10**300), "malformed"),
        (message(at=math.nan), "malformed"),
        (message(at="1.5"), "malformed"),
        (message(w=math.inf), "malformed"),
        (message(w=-1.0), "malformed"),
        (message(w=True), "malformed"),
        (message(w=10**400), "malformed"),
        (message().replace(b"312.5", b"1e999"), "malformed"),
        (message(lease=None), "malformed"),
        (message(lease=3601), "malformed"),
        (message(term=1.5), "malformed"),
        (message(mode="leading"), "malformed"),
        (message(mode=["led"]), "malformed"),
        (message(faults=["Bad word"]), "malformed"),
        (message(faults=["x"] * 17), "malformed"),
        (message(kind="signal", y=0.5), "malformed"),
        (message(kind="signal", limit_w=..., y=1.5), "malformed"),
        (message(kind="signal", limit_w=..., targets=[{"a": [1]}]), "malformed"),
        (message(kind="signal", limit_w=..., targets=[]), "malformed"),
    ],
)
def test_reasons(payload: bytes, reason: str) -> None:
    """Each way not to be a message has its reason."""
    with pytest.raises(BadMessageError) as told:
        decode(payload)
    assert told.value.reason == reason
    assert "\n" not in str(told.value)


def test_newer_senders_may_say_more() -> None:
    """Fields that version 1 does not know are ignored, and handed to nobody."""
    assert decode(message(colour="red")).body == STATUS


def test_a_sender_numbers_its_messages() -> None:
    """Numbers rise within a start, and each start has a word of its own."""
    box, clock = Outbox("n001", Time().clock), Time().clock
    first, second = decode(box.encode("off", {})), decode(box.encode("cap", CAP))
    assert (first.n, second.n, first.boot) == (1, 2, second.boot)
    assert Outbox("n001", clock).boot != Outbox("n001", clock).boot


def test_a_sender_writes_nothing_that_would_be_refused() -> None:
    """What is unknown becomes null where that is allowed; other mistakes are told in one line."""
    box = Outbox("n001", Time().clock)
    assert decode(box.encode("status", STATUS | {"w": math.nan})).body["w"] is None
    for kind, body in (("status", {}), ("cap", CAP | {"lease": math.nan}), ("cup", {}), ("signal", {"y": 2.0})):
        with pytest.raises(InputError) as told:
            box.encode(kind, body)
        assert str(told.value).count("\n") == 0
    assert set(KINDS) == {"status", "cap", "off", "gone", "signal"}


def test_a_status_costs_little_more_than_its_json() -> None:
    """Writing, checking and reading statuses takes at most four times as long as their bare way to text and back (some
    10 µs on a fast processor, so 10,000 of them less than half a second).
    """
    clock = Time().clock
    boxes = [Outbox(f"n{k:05d}", clock) for k in range(2_000)]

    def once() -> float:
        inbox = Inbox(TOPICS, clock)
        began_s = time.process_time()
        for box in boxes:
            assert inbox.take(Arrived(TOPICS.status(box.name), box.encode("status", STATUS), box.name)) is not None
        return time.process_time() - began_s

    def bare() -> float:
        began_s = time.process_time()
        for _ in boxes:
            assert json.loads(json.dumps(STATUS)) == STATUS
        return time.process_time() - began_s

    assert min(once() for _ in range(6)) <= 4 * min(bare() for _ in range(6))
