"""A list of events with one that is not as OpenADR says: the others are followed, and the bad one is named.

openleadr refuses a message as a whole where one value of one event is wrong. Such an event is taken out of the list
before openleadr sees it; what is known of it is handed on, so that the site opts out of it alone.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

LIST = b"oadrDistributeEvent"
MOST_EVENTS = 512
"""Events of a list that are looked at one by one; a longer list is refused as a whole."""


@dataclass(frozen=True)
class Salvaged:
    """What is left of a list."""

    content: bytes
    """The message without the bad events."""
    bad: tuple[dict[str, Any], ...]
    """What is known of each, as openleadr would tell an event, with ``wrong``: a word."""


def salvage(content: bytes, fingerprint: str | None = None) -> Salvaged | None:
    """Return a list without its bad events; None where all are good, or something else is wrong with the message.

    A message that is to be signed (``fingerprint``) is looked at as it came, before anything is taken out: this raises
    where its signature is wrong.
    """
    if LIST not in content:
        return None
    etree: Any = importlib.import_module("lxml.etree")
    messaging: Any = importlib.import_module("openleadr.messaging")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        tree = etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        return None

    def is_good() -> bool:
        try:
            messaging.parse_message(etree.tostring(tree))
        except Exception:  # openleadr raises what it meets
            return False
        return bool(messaging.XML_SCHEMA.validate(tree))

    events = [(one, one.getparent()) for one in tree.findall(".//{*}oadrEvent")]
    if not 0 < len(events) <= MOST_EVENTS or is_good():
        return None
    for one, parent in events:
        parent.remove(one)
    if not is_good():
        return None
    good: list[tuple[Any, Any]] = []
    bad: list[tuple[Any, Any]] = []
    for one, parent in events:
        parent.append(one)
        (good if is_good() else bad).append((one, parent))
        parent.remove(one)
    if not bad:
        return None
    if fingerprint is not None:
        messaging.validate_xml_signature(etree.fromstring(content, parser), cert_fingerprint=fingerprint)
    for one, parent in good:
        parent.append(one)
    return Salvaged(etree.tostring(tree), tuple(_known(one) for one, _ in bad))


def _known(event: Any) -> dict[str, Any]:
    """Return what can be told of a bad event: its name, if it has one, and what is wrong."""

    def text(name: str) -> str:
        found = event.find(f".//{{*}}{name}")
        return "" if found is None else (found.text or "").strip()

    number = text("modificationNumber")
    told: dict[str, Any] = {"modification_number": int(number) if number.isdecimal() and len(number) < 10 else 0}
    told["event_status"] = text("eventStatus")
    if text("eventID"):
        told["event_id"] = text("eventID")
    values = [one.text for one in event.findall(".//{*}signalPayload//{*}value")]
    wrong = "malformed" if all(_is_number(one) for one in values) else "bad-value"
    return {"event_descriptor": told, "response_required": text("oadrResponseRequired") or "always", "wrong": wrong}


def _is_number(text: str | None) -> bool:
    try:
        return math.isfinite(float(text or ""))
    except ValueError:
        return False
