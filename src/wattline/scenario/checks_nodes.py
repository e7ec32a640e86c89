"""What single keys cannot show about the nodes of a class: powers that contradict each other, speeds out of order."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from wattline.scenario.lines import Path
from wattline.scenario.spec import NodesSpec
from wattline.units import show_power

Problem = tuple[Path, str]


def check_nodes(here: Path, nodes: NodesSpec, overrides: Collection[Path]) -> Iterator[Problem]:
    """Yield every problem of the nodes of a class; of two keys the one that was overridden is blamed."""
    yield from _powers(here, nodes, overrides)
    yield from _levels(here, nodes)
    yield from _sleep(here, nodes)
    if nodes.min_cap is not None and nodes.min_cap > nodes.max:
        yield (*here, "min_cap"), f"the lowest cap ({show_power(nodes.min_cap)}) is above {_told(nodes, 'max')}"


def _powers(here: Path, nodes: NodesSpec, overrides: Collection[Path]) -> Iterator[Problem]:
    if nodes.idle <= nodes.max:
        return
    key = min(("max", "idle"), key=lambda k: ((*here, k) not in overrides, k not in nodes.model_fields_set))
    told = f"a busy node ({_told(nodes, 'max')}) cannot draw less than an idle one ({_told(nodes, 'idle')})"
    yield (*here, key), told


def _told(nodes: NodesSpec, key: str) -> str:
    default = "" if key in nodes.model_fields_set else ", the default"
    return f"{key} = {show_power(getattr(nodes, key))}{default}"


def _levels(here: Path, nodes: NodesSpec) -> Iterator[Problem]:
    rate = 0.0
    for i, level in enumerate(nodes.levels):
        if not level.rate > rate:
            told = f"levels come slowest first: rate = {level.rate:g} follows {rate:g}"
            yield (*here, "levels", i, "rate"), told
        if level.idle > level.busy:
            told = (
                f"a busy node ({show_power(level.busy)}) cannot draw less than an idle one ({show_power(level.idle)})"
            )
            yield (*here, "levels", i, "busy"), told
        rate = level.rate


def _sleep(here: Path, nodes: NodesSpec) -> Iterator[Problem]:
    if nodes.sleep is None:
        return
    idle_w = max((level.idle for level in nodes.levels), default=nodes.idle)
    if nodes.sleep.power > idle_w:
        told = (
            f"a node asleep ({show_power(nodes.sleep.power)}) cannot draw more than an idle one ({show_power(idle_w)})"
        )
        yield (*here, "sleep", "power"), told
