"""A list of events of which some are not as OpenADR says: what is left of it, and what is known of the others."""

from __future__ import annotations

import math
import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("openleadr", reason="needs the extra openadr")

from openleadr.messaging import create_message, parse_message, validate_xml_schema

from wattline.live.signals.adr_events import AdrRules, judge
from wattline.live.signals.adr_salvage import MOST_EVENTS, salvage


def event(name: str, value: float, **descriptor: Any) -> dict[str, Any]:
    """Return an event as a VTN has it."""
    now, length = datetime.now(UTC), timedelta(minutes=10)
    told = {"event_id": name, "modification_number": 3, "event_status": "far", "modification_priority": 0}
    told |= {"created_date_time": now, "market_context": "http://context", "vtn_comment": "", "priority": 0}
    period = {"dtstart": now, "duration": length}
    row = {"uid": 0, "dtstart": now, "duration": length, "signal_payload": value}
    signal = {"signal_name": "LOAD_CONTROL", "signal_type": "x-loadControlCapacity", "signal_id": "s"}
    return {
        "event_descriptor": told | descriptor,
        "active_period": period,
        "event_signals": [{**signal, "intervals": [row]}],
        "targets": [{"ven_id": "VEN1"}],
        "targets_by_type": {"ven_id": ["VEN1"]},
        "response_required": "always",
    }


def listed(*events: dict[str, Any]) -> bytes:
    """Return a list of events as it comes over the wire."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = create_message(
            "oadrDistributeEvent",
            response={"response_code": 200, "response_description": "OK", "request_id": "r1"},
            request_id="r1",
            vtn_id="VTN1",
            events=list(events),
        )
    return str(made).encode()


def test_a_good_list_is_left_as_it_is() -> None:
    """Nothing is taken out; NaN as the schema writes it is good, and judged with the event."""
    assert salvage(listed(event("a", 0.5), event("b", 0.7))) is None
    assert salvage(listed(event("a", 0.5)).replace(b">0.5<", b">NaN<")) is None
    assert salvage(b"<oadrDistributeEvent>") is None
    assert salvage(b"<a/>") is None


@pytest.mark.parametrize(
    ("found", "as_told", "word"),
    [(b"nan", b"nan", "bad-value"), (b"0.25", b"much", "bad-value"), (b"PT10M", b"ten", "malformed")],
)
def test_what_is_wrong_is_taken_out_and_known(found: bytes, as_told: bytes, word: str) -> None:
    """The others are as they were; the site opts out of the bad one, by its name."""
    value = math.nan if found == b"nan" else 0.25
    head, middle, tail = (
        listed(event("a", 0.5), event("bad", value), event("c", 0.7)).partition(b"bad")[k] for k in range(3)
    )
    left = salvage(head + middle + tail.replace(found, as_told, 1))
    assert left is not None
    validate_xml_schema(left.content)
    names = [one["event_descriptor"]["event_id"] for one in parse_message(left.content)[1]["events"]]
    assert names == ["a", "c"]
    (bad,) = left.bad
    judged = judge(bad, AdrRules(10_000.0), 0.0)
    assert (judged.event, judged.modification, judged.opt, judged.why) == ("bad", 3, "optOut", word)


def test_one_that_was_cancelled_is_cancelled() -> None:
    """A bad value of an event that the VTN takes back changes nothing of that."""
    left = salvage(listed(event("a", 0.5), event("bad", math.nan, event_status="cancelled")))
    assert left is not None
    judged = judge(left.bad[0], AdrRules(10_000.0), 0.0)
    assert (judged.opt, judged.why, judged.targets) == ("optIn", "cancelled", ())


def test_one_without_a_name_and_lists_that_are_refused_whole() -> None:
    """Of an event without a name nobody knows whose it is; faults outside of events, and lists without end, are not
    mended.
    """
    nameless = listed(event("a", 0.5), event("bad", math.nan)).replace(b"<ei:eventID>bad</ei:eventID>", b"")
    left = salvage(nameless)
    assert left is not None
    judged = judge(left.bad[0], AdrRules(10_000.0), 0.0)
    assert (judged.event, judged.opt, judged.why) == ("", "optOut", "malformed")
    assert salvage(listed(event("bad", math.nan)).replace(b"vtnID", b"vtnId")) is None
    many = listed(*(event(f"e{k}", math.nan) for k in range(MOST_EVENTS + 1)))
    assert salvage(many) is None
