"""File → validated → wired objects: the only place that knows everybody."""

from __future__ import annotations

from wattline.scenario.read import Document, Source, document, read_scenario
from wattline.scenario.studies import (
    Study,
    TraceCache,
    Variant,
    baseline_select,
    build_policies,
    in_no_market,
    variants,
    varied_slots,
    wire,
)

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
