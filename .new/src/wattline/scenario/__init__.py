"""File → validated → wired objects: the only room that knows all others below it."""

from __future__ import annotations

from wattline.scenario.choices import Variant, in_no_market, variants, varied_slots
from wattline.scenario.documents import Document, document, read_scenario
from wattline.scenario.parts import baseline_select, build_policies
from wattline.scenario.read.source import Source
from wattline.scenario.study import Study, wire
from wattline.scenario.traces import TraceCache

__all__ = [
    "Document",
    "Source",
    "Study",
    "TraceCache",
    "Variant",
    "baseline_select",
    "build_policies",
    "document",
    "in_no_market",
    "read_scenario",
    "variants",
    "varied_slots",
    "wire",
]
