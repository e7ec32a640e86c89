"""Rate classes: jobs whose speed moves together."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class RateFields:
    """Rate classes: jobs whose speed moves together."""

    # -- rate classes: jobs whose speed moves together
    c_pool: Annotated[Ints, Field("C", "", "node class of a rate class")]
    c_rate: Annotated[Floats, Field("C", "", "progress per second", nothing=1.0)]
    c_net: Annotated[Floats, Field("C", "", "part of its rate that the network leaves (1: all)", nothing=1.0)]
    c_power: Annotated[Floats, Field("C", "", "power over uncapped power at full speed", nothing=1.0)]
    c_cap_w: Annotated[Floats, Field("C", "W", "cap per node in force (inf: none)", nothing=np.inf)]
    c_t0: Annotated[Floats, Field("C", "s", "time of the last change of rate")]
    c_v0: Annotated[Floats, Field("C", "s", "virtual time then")]
    c_e0: Annotated[Floats, Field("C", "s", "energy clock then")]
    c_watts: Annotated[Floats, Field("C", "W", "uncapped full-speed power of its running jobs")]
    c_n: Annotated[Ints, Field("C", "", "its running jobs")]
    c_heap: Annotated[Ints, Field("C", "", "first heap cell of the class", fixed=True)]
    c_draw_w: Annotated[Floats, Field("C", "W", "uncapped power per node of its jobs (NaN: they differ)")]
    c_floor_w: Annotated[Floats, Field("C", "W", "lowest power per node of its jobs (NaN: they differ)")]
    c_stretch: Annotated[Floats, Field("C", "", "run time at floor over run time uncapped (NaN: they differ)")]
    c_response: Annotated[
        Ints, Field("C", "", "how its jobs respond to caps (-1: by the linear rule, from the three above)", nothing=-1)
    ]
    c_kind: Annotated[Ints, Field("C", "", "kind of its jobs (-1: they differ)", nothing=-1)]
    c_next_s: Annotated[Floats, Field("C", "s", "next end in the class (inf: none)", nothing=np.inf)]
    win: Annotated[Ints, Field("W", "", "winner tree over c_next_s")]
    heap_v: Annotated[Floats, Field("H", "s", "virtual ends, one heap a class")]
    heap_job: Annotated[Ints, Field("H", "", "their jobs")]
    solo: Annotated[Ints, Field("C", "", "stack of unused rate classes for jobs capped alone")]
    n_solo: Annotated[Ints, Field("1", "", "how many are unused")]
    active: Annotated[Ints, Field("C", "", "rate classes with running jobs")]
    active_at: Annotated[Ints, Field("C", "", "position in active (-1: none runs)", nothing=-1)]
    n_active: Annotated[Ints, Field("1", "", "how many")]

    # -- responses to caps that are not the linear rule, one behind another
    resp_first: Annotated[Ints, Field("RP", "", "first point of a response", fixed=True)]
    resp_count: Annotated[Ints, Field("RP", "", "its points", fixed=True)]
    resp_w: Annotated[Floats, Field("RQ", "W", "power per node at a point, growing", fixed=True)]
    resp_time: Annotated[
        Floats, Field("RQ", "", "run time there over the uncapped one; straight lines between points", fixed=True)
    ]
