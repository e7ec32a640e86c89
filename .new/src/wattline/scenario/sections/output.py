"""[output]: what is written, and where."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from wattline.scenario.read.base import Section
from wattline.wiring.options import Options


class OutputSpec(Section):
    """What is written, and where."""

    folder: str | None = Field(
        None,
        description="folder of the journal (default: `out/` and the scenario's name); `compare` adds `-comparison`",
    )
    report: bool = Field(True, description="write the HTML report")  # noqa: FBT003
    placements: bool = Field(True, description="log which nodes every job held (the Gantt chart needs it)")  # noqa: FBT003
    decisions: bool = Field(True, description="log what policies proposed and what became of it")  # noqa: FBT003


def add_output(options: Options, spec: OutputSpec) -> Options:
    """Return options with what is logged."""
    return replace(options, placements=spec.placements, decisions=spec.decisions)
