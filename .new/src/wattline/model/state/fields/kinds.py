"""Kinds of job: what they are, and what was promised to them."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class KindFields:
    """Kinds of job: what they are, and what was promised to them."""

    # -- kinds of job: what they are and what was promised to them
    k_nodes: Annotated[Ints, Field("Y", "", "nodes of a job of the kind", fixed=True)]
    k_work_s: Annotated[Floats, Field("Y", "s", "its run time, uncapped", fixed=True)]
    k_draw_w: Annotated[Floats, Field("Y", "W", "its power per node, uncapped", fixed=True)]
    k_floor_w: Annotated[Floats, Field("Y", "W", "its power per node at the lowest cap", fixed=True)]
    k_response: Annotated[
        Ints, Field("Y", "", "how its jobs respond to caps (-1: by the linear rule)", fixed=True, nothing=-1)
    ]
    k_limit: Annotated[
        Floats, Field("Y", "", "limit of its QoS degradation (inf: none was promised)", fixed=True, nothing=np.inf)
    ]
    k_share: Annotated[Floats, Field("Y", "", "share of its jobs that may reach the limit", fixed=True)]
    k_weight: Annotated[Floats, Field("Y", "", "weight of its queue where nodes are shared by weights", fixed=True)]
    k_standby: Annotated[Ints, Field("Y", "", "1: runs only to fill a power target", fixed=True)]
    k_average: Annotated[
        Ints, Field("Y", "", "1: the limit holds for the mean over its jobs, not for a share of them", fixed=True)
    ]
    k_shortest_s: Annotated[
        Floats, Field("Y", "s", "shortest run time of its jobs, uncapped", fixed=True, entered=True)
    ]
    k_rate: Annotated[Floats, Field("Y", "1/s", "rate at which its jobs arrive, if known (0: not)", fixed=True)]
