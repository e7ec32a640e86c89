"""[cluster.variability]: nodes that differ in power."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from wattline.formats.tables.node_factors import read_machine
from wattline.model.variability import NodeFactors, Variability
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Finite, Power, Seed
from wattline.scenario.read.source import Context

HERE: KeyPath = ("cluster", "variability")


class VariabilitySpec(Section):
    """Nodes that draw more or less than others for the same work; all jobs need configurations then."""

    spread: Finite | None = Field(
        None,
        ge=0,
        le=10,
        description="how much more the thirstiest node draws than the most frugal one, drawn by chance",
    )
    file: str | None = Field(
        None,
        description="measured nodes instead: CSV with `node` (its number, from 0; each once), and `factor` or "
        "`power_w`",
    )
    caps: Literal["equal", "equal-speed"] = Field(
        "equal",
        description="all nodes of a job get the cap of its configuration, or shares of the same sum that make them "
        "equally fast",
    )
    fixed: Power = Field(0.0, description="part of a node's power that is alike in all (memory, board)")
    seed: Seed | None = Field(None, description="seed of the draw (default: the scenario's)")


def check_variability(spec: VariabilitySpec | None, *, moldable: bool) -> Iterator[Problem]:
    """Yield every problem of nodes that differ; ``moldable``: there are tables of configurations."""
    if spec is None:
        return
    if (spec.spread is None) == (spec.file is None):
        yield HERE, "needs exactly one of 'spread' and 'file'"
    if spec.file is not None and "seed" in spec.model_fields_set:
        yield (*HERE, "seed"), "goes with spread: a file leaves nothing to chance"
    if not moldable:
        yield HERE, "nodes that differ need [[configurations]] of all jobs: they say what caps do"


def build_variability(spec: VariabilitySpec | None, context: Context, nodes: int) -> Variability | None:
    """Return how the nodes of a machine differ, if they do."""
    if spec is None:
        return None
    if spec.file is not None:
        found = context.located((*HERE, "file"), read_machine, context.base / spec.file, nodes)
    else:
        found = NodeFactors.drawn(nodes, float(spec.spread or 0.0), context.seed_of(spec.seed))
    return Variability(found, spec.caps, spec.fixed)
