"""The jobs of a scenario: those of its trace, drawn from its kinds or held against them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wattline.scenario.built.jobs_of_kinds import draw_kinds, hold_against_kinds
from wattline.scenario.documents import Document
from wattline.scenario.parts import build_kinds, cluster_nodes
from wattline.scenario.sections import trace as section

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class TraceCache:
    """Traces that were read or drawn already: policies compared on the same seed share one.

    ``most``: how many are kept, those that were used last.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._found: dict[tuple[str, Any], tuple[Trace, str]] = {}

    def get(self, document: Document) -> tuple[Trace, str]:
        """Return the trace of a scenario and the hash of its file ("" if it was drawn)."""
        spec = document.spec
        seed = document.context.seed_of(spec.trace.seed)
        machine = (cluster_nodes(document), spec.kinds, spec.kind)
        key = (repr((spec.trace, seed, machine, str(document.base))), document.given.trace)
        found = self._found.pop(key, None) or build_trace(document)
        self._found[key] = found  # at the end: who was used longest ago comes first
        while self._most is not None and len(self._found) > self._most:
            self._found.pop(next(iter(self._found)), None)
        return found


def build_trace(document: Document) -> tuple[Trace, str]:
    """Return the jobs of a scenario, and the hash of the file they came from."""
    spec, context, handed = document.spec, document.context, document.given.trace
    nodes = cluster_nodes(document)
    if spec.trace.generator == "kinds":
        return (_draw(document, nodes), "") if handed is None else handed(nodes)
    trace, sha256 = section.build_trace(spec.trace, context, nodes, handed)
    if spec.has_kinds:
        kinds = build_kinds(document, trace.suggested_nodes)
        trace = hold_against_kinds(trace, kinds, context, "kind" if spec.kind else "kinds")
    return trace, sha256


def _draw(document: Document, nodes: int | None) -> Trace:
    """Draw jobs of the declared kinds."""
    spec, context = document.spec, document.context
    if nodes is None:
        raise context.error(("cluster",), "key 'nodes' is missing: generator = \"kinds\" needs the machine's size")
    kinds = build_kinds(document, nodes)
    duration_s = spec.trace.duration or section.DURATION_S
    seed = context.seed_of(spec.trace.seed)
    return draw_kinds(kinds, context, nodes, duration_s, seed)
