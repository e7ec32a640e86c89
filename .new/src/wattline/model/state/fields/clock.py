"""The clock of a run, its totals and its switches."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class ClockFields:
    """The clock of a run, its totals and its switches."""

    # -- clock and totals
    now: Annotated[Floats, Field("1", "s", "current time")]
    start_s: Annotated[Floats, Field("1", "s", "time at which the run began")]
    happened: Annotated[Ints, Field("1", "bits", "what happened since the last pass")]
    limit_w: Annotated[Floats, Field("1", "W", "power limit that admission respects (inf: none)", nothing=np.inf)]
    target_w: Annotated[
        Floats, Field("1", "W", "power that the regulation signal asks for (NaN: no bid in force)", nothing=np.nan)
    ]
    mean_w: Annotated[Floats, Field("1", "W", "mean power of the bid in force (NaN: none)", nothing=np.nan)]
    reserve_w: Annotated[Floats, Field("1", "W", "reserve of the bid in force")]
    offered_s: Annotated[Floats, Field("1", "s", "time so far in which a reserve was in force")]
    exceed_s: Annotated[Floats, Field("1", "s", "part of it in which |power - target| was above 0.3 of the reserve")]
    busy_w: Annotated[Floats, Field("2", "W", "power of running jobs, and the rounding error of that sum")]
    n_ended: Annotated[Ints, Field("1", "", "jobs that have left the system")]
    n_arrived: Annotated[Ints, Field("1", "", "rows of the job table that were submitted")]
    option: Annotated[Ints, Field("18", "", "switches of the run; see wattline.model.state.switches", fixed=True)]
    counter: Annotated[Ints, Field("8", "", "events, passes, rejected proposals, next sequence number, …")]
    fault: Annotated[Ints, Field("1", "", "1 + the job to which the order policy gave the key NaN (0: none)")]
    refused: Annotated[Ints, Field("17", "", "refused proposals by the guard's verdict")]
