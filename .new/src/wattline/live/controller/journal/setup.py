"""What a live run is set up with, as plain data in the log's start record: a replay needs no file but the log."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wattline.control.catalog import find
from wattline.errors import InputError, TraceError
from wattline.journal.frozen import freeze, thaw
from wattline.model import codes
from wattline.wiring.bound import Bound
from wattline.wiring.policies import Policies


def describe(bound: Bound, named: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what ``rebuild`` makes a state and policies of again.

    ``named`` has, by slot, how a policy of one's own was named (``file.py:name``, absolute or beside the site's file).
    """
    told = {m.slot: (named or {}).get(m.slot, m.name) for m in bound.policies.slots()}
    for m in bound.policies.slots():
        if not m.builtin and m.slot not in (named or {}):
            raise InputError(f"the {m.slot} policy {m.name!r} is no built-in one: say which file it is in")
    text, arrays = freeze((bound.jobs, bound.cluster, bound.options))
    return {
        "frozen": text,
        "arrays": [
            [array.dtype.str, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]
            for array in arrays
        ],
        "policies": told,
        "parameters": {slot: dict(values) for slot, values in bound.policies.params.items()},
        "seed": bound.seed,
    }


def rebuild(start: Mapping[str, Any], base: Path | None = None) -> Bound:
    """Return state and policies as they were when a run began; ``start`` is its record, with ``describe``'s ``setup``.

    Files of policies are looked for beside ``base``.
    """
    told = start.get("setup")
    if not isinstance(told, Mapping):
        raise TraceError("the log does not say how the run was set up: it is one of another Wattline")
    arrays = [
        np.frombuffer(bytearray(base64.b64decode(data)), dtype).reshape(shape) for dtype, shape, data in told["arrays"]
    ]
    jobs, cluster, options = thaw(told["frozen"], arrays)
    chosen = {slot: find(slot, told["policies"][slot], base=base) for slot in codes.SLOT_NAMES}
    policies = Policies(**chosen, params=told["parameters"])
    return Bound(jobs, cluster, policies, options, seed=int(told["seed"]))
