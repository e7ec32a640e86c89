"""[run]: how the run is carried out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field

from wattline.errors import InputError
from wattline.memory import require_bytes
from wattline.scenario.read.base import Problem, Section
from wattline.scenario.read.quantities import Duration, Period
from wattline.units import in_full
from wattline.wiring.options import Options

MOST_TICKS = 10_000_000
"""Control periods, or samples of power, of a run; more of them mean a mistaken unit."""

TICK_BYTES = 200
"""A control period leaves a row of the timeline, which is copied once when the journal is made."""


class RunSpec(Section):
    """How the run is carried out."""

    ties: Literal["instant", "event"] = Field(
        "instant", description="one scheduling pass per instant, or after every single event"
    )
    kill: bool = Field(
        False,  # noqa: FBT003
        description="end jobs at their requested time (in a configuration: not before the time that its table tells)",
    )
    requeue: bool = Field(True, description="queue jobs again that lost a node (otherwise they fail)")  # noqa: FBT003
    keep_progress: bool = Field(False, description="queued again, a job keeps the work it has done")  # noqa: FBT003
    tick: Period = Field(
        math.inf, description="period of the control tick (default: none, or `control` of the regulation)"
    )
    passes: Literal["events", "ticks"] = Field(
        "events",
        description="decide whenever something happens, or only at the next tick after it (a scheduling quantum)",
    )
    until: Duration = Field(
        math.inf, gt=0, description="stop this long after the run began (default: when all is done)"
    )
    backlog: bool = Field(False, description="log the remaining work over time (slower)")  # noqa: FBT003


def check_run(spec: RunSpec, *, regulated: bool) -> Iterator[Problem]:
    """Yield what never comes to pass; a regulation market has a control period of its own."""
    if spec.passes == "ticks" and math.isinf(spec.tick) and not regulated:
        yield ("run", "passes"), "decisions at ticks need a period: give tick"
    if spec.keep_progress and not spec.requeue:
        yield ("run", "keep_progress"), "goes with requeue = true: jobs that are not queued again keep nothing"


def add_run(options: Options, spec: RunSpec, until_s: float) -> Options:
    """Return options with how the run is carried out; it stops at ``until_s`` at the latest."""
    return replace(
        options,
        ties=spec.ties,
        kill=spec.kill,
        requeue=spec.requeue,
        keep_progress=spec.keep_progress,
        tick_s=spec.tick,
        until_s=until_s,
        backlog=spec.backlog,
        quantum=spec.passes == "ticks",
    )


def check_ticks(tick_s: float, length_s: float, what: str, origin: str = "") -> None:
    """Refuse periods of ``tick_s`` in a run of ``length_s`` that would fill the memory with rows of the timeline.

    ``origin`` says where the period stands if it is no key of the scenario.
    """
    ticks = length_s / tick_s
    told = f"{ticks:,.0f} {what} of {in_full(tick_s)} s{origin}"
    require_bytes(ticks * TICK_BYTES, told)
    if ticks > MOST_TICKS:
        raise InputError(
            f"{told} would be made, more than {MOST_TICKS:,}; take a longer period, or end the run earlier"
        )
