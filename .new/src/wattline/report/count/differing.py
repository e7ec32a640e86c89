"""What differs between the scenarios of a comparison, key by key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

NOT_COMPARED = ("seed", "name", "description", "output")
"""Keys of a scenario that say nothing about what is simulated; seeds differ among the runs of a label too."""

NOT_THERE = "–"


Written = Callable[[str, Any], Any]
"""How a value of a key is written."""


def as_it_is(_key: str, value: Any) -> Any:
    """Return a value as it is written."""
    return value


class Key(NamedTuple):
    """A key of a scenario that is not the same in all, and its value in each."""

    name: str
    values: tuple[str, ...]


def differing_keys(manifests: Mapping[str, Mapping[str, Any]], written: Written = as_it_is) -> list[Key]:
    """Return the keys in which labelled runs differ: of their scenarios, their policies, machines and logs.

    ``written`` is how a value of a key is written, so that 28000.0 and "28 kW" are one.
    """
    told = [_told(manifest, written) for manifest in manifests.values()]
    names = dict.fromkeys(name for one in told for name in one)
    rows = [Key(name, tuple(one.get(name, NOT_THERE) for one in told)) for name in names]
    return [row for row in rows if len(set(row.values)) > 1]


def _told(manifest: Mapping[str, Any], written: Written) -> dict[str, str]:
    """Return what a run says of itself as flat keys: the scenario's, with the policies that ran in place of lists."""
    try:
        scenario = tomllib.loads(str(manifest.get("scenario") or ""))
    except tomllib.TOMLDecodeError:  # a run of a log has no scenario, or one that is a remark
        scenario = {}
    flat = _flat(scenario)
    told = {name: _text(written(name, v)) for name, v in flat if name.partition(".")[0] not in NOT_COMPARED}
    told |= {f"policy.{slot}": str(name) for slot, name in (manifest.get("policies") or {}).items()}
    if "cluster.nodes" not in told:
        told["cluster.nodes"] = _text((manifest.get("cluster") or {}).get("nodes"))
    trace = manifest.get("trace") or {}
    if not any(name.startswith("trace.") for name in told):
        told["trace"] = _text(trace.get("source"))
    return told


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}".strip("."))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value, 1):
            yield from _flat(item, f"{name}[{item.get('name', number)}]")
    else:
        yield name, value


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOT_THERE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return str(value)
