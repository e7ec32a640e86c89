"""File → validated → wired objects: the only place that knows everybody."""

from __future__ import annotations

from wattline.scenario.read import Document, Source, document, read_scenario
from wattline.scenario.studies import Study, TraceCache, Variant, build_policies, variants, wire

__all__ = [
    "Document", "Source", "Study", "TraceCache", "Variant", "build_policies", "document", "read_scenario", "variants", "wire",
]  # fmt: skip
