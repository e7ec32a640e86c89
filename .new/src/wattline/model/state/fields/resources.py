"""Resources of the whole machine beside nodes and watts: licences, shared memory, a burst buffer."""

from __future__ import annotations

from typing import Annotated

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class ResourceFields:
    """Resources of the whole machine beside nodes and watts: licences, shared memory, a burst buffer."""

    res_total: Annotated[Ints, Field("RS", "", "how much there is of a resource", fixed=True)]
    res_want: Annotated[Ints, Field("J,RS", "", "how much of it a job takes while it holds nodes", fixed=True)]
    res_free: Annotated[Ints, Field("RS", "", "how much of it no job holds")]
    res_peak: Annotated[Ints, Field("RS", "", "the most of it that jobs held at once")]
    res_used: Annotated[
        Floats,
        Field(
            "RS", "s", "amount times time of all holds; of those that last, what is known: minus amount times beginning"
        ),
    ]
    res_now: Annotated[Ints, Field("RS", "", "room for select: what proposals leave of it now")]
    res_then: Annotated[Ints, Field("RS", "", "room for select: what is left of it beside a reservation")]
