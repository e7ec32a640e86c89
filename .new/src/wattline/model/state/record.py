"""The state: every array that physics, policies and control share, behind one pointer.

Each field is declared once, in the file of its subject, with its shape, unit, meaning, value at the beginning and
writers. The numba type, the allocation, the documentation (``wattline policies --state``) and the read-only marks
all come from that declaration. One-element arrays are scalars: ``s.now[0]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from wattline.arrays import Floats
from wattline.kernel.fields import FieldArray
from wattline.kernel.record import Record, register
from wattline.model.state.fields.clock import ClockFields
from wattline.model.state.fields.envelope import EnvelopeFields
from wattline.model.state.fields.field import EVERY_SLOT, Field
from wattline.model.state.fields.jobs import JobFields
from wattline.model.state.fields.kinds import KindFields
from wattline.model.state.fields.late import LateFields
from wattline.model.state.fields.logs import LogFields
from wattline.model.state.fields.network import NetworkFields
from wattline.model.state.fields.nodes import NodeFields
from wattline.model.state.fields.power import PowerFields
from wattline.model.state.fields.proposals import ProposalFields
from wattline.model.state.fields.queue import QueueFields
from wattline.model.state.fields.rates import RateFields
from wattline.model.state.fields.resources import ResourceFields
from wattline.model.state.fields.rows import RowFields
from wattline.model.state.fields.running import RunningFields
from wattline.model.state.fields.shapes import ShapeFields
from wattline.model.state.sizes import Sizes

SUBJECTS = (
    ClockFields,
    JobFields,
    PowerFields,
    ShapeFields,
    KindFields,
    QueueFields,
    RunningFields,
    LateFields,
    NodeFields,
    NetworkFields,
    RateFields,
    EnvelopeFields,
    ResourceFields,
    ProposalFields,
    RowFields,
    LogFields,
)
"""The declarations, by subject; the order is that in memory."""


class State(
    Record,
    ClockFields,
    JobFields,
    PowerFields,
    ShapeFields,
    KindFields,
    QueueFields,
    RunningFields,
    LateFields,
    NodeFields,
    NetworkFields,
    RateFields,
    EnvelopeFields,
    ResourceFields,
    ProposalFields,
    RowFields,
    LogFields,
):
    """All that a pass may look at. Policies read everything and write proposals, keys, timers and their memory only."""

    changing: Floats
    """All that a run changes but its logs, as one array of raw numbers: copied, it is a run's beginning."""

    whole: Floats
    """The same with all that stays: everything but the logs."""

    sizes: Sizes
    """The extents it was allocated with."""


def _declared() -> dict[str, tuple[Any, Field]]:
    """Return dtype and declaration of every field.

    All are read as one text: typing would read them one by one, in six times the time.
    """
    told = {name: text for subject in SUBJECTS for name, text in subject.__annotations__.items()}
    text = ",".join(f"({text[len('Annotated[') : -1]})" for text in told.values())
    names = {"Floats": np.float64, "Ints": np.int64, "Field": Field, "np": np}
    found = eval(f"[{text}]", names)  # noqa: S307  (our own words, in the files of the subjects)
    return dict(zip(told, found, strict=True))


FIELDS = _declared()
"""Declared fields: name → (dtype, Field)."""

BLOCKS: dict[str, list[str]] = {}
"""Interleaved fields: block → names in the order of their columns."""
for _name, (_dtype, _field) in FIELDS.items():
    if _field.block:
        BLOCKS.setdefault(_field.block, []).append(_name)

_SMALL = [name for name, (_, field) in FIELDS.items() if field.shape.isdigit()]
_SMALL.sort(key=lambda name: not FIELDS[name][1].fixed)  # the fixed ones first: what a run changes is one piece
NEAR: dict[str, tuple[int, int]] = {}
"""Fields of a known size, which come first in memory: name → (bytes from the beginning, elements)."""
_at = 0
for _name in _SMALL:
    NEAR[_name] = (8 * _at, int(FIELDS[_name][1].shape))
    _at += NEAR[_name][1]
SMALL_END = _at
SMALL_CHANGING = min(at for name, (at, _) in NEAR.items() if not FIELDS[name][1].fixed) // 8

GROUPS = sorted(
    [
        *(tuple(names) for names in BLOCKS.values()),
        *((name,) for name, (_, f) in FIELDS.items() if not f.block and name not in NEAR),
    ],
    key=lambda names: 2 if FIELDS[names[0]][1].shape[0] == "D" else int(all(FIELDS[n][1].fixed for n in names)),
)
"""Fields as they lie in memory: first what a run changes, then what stays, then the logs."""

BESIDE = {name: (names[0], 8 * i) for names in BLOCKS.values() for i, name in enumerate(names)}
"""Interleaved fields: name → (the first of its block, bytes after that one)."""

register(
    State,
    "State",
    {
        name: FieldArray(
            types.float64 if dtype is np.float64 else types.int64,
            field.shape.count(",") + 1,
            step=8 * len(BLOCKS[field.block]) if field.block else 8,
            readonly=field.fixed and not field.entered,
        )
        for name, (dtype, field) in FIELDS.items()
    },
    NEAR,
    BESIDE,
)

POLICY = types.int64(State.record_type, types.int64, types.float64[::1], types.float64[::1])
"""The one signature of every policy: ``policy(state, arg, param, memory) -> int64``."""

WRITES: dict[str, frozenset[str]] = {
    slot: frozenset(name for name, (_, field) in FIELDS.items() if slot in field.writers.split())
    for slot in EVERY_SLOT.split()
}
"""Fields that a policy of a slot may write."""

PROPOSALS = frozenset().union(*WRITES.values())
"""Fields that some policy may write."""
