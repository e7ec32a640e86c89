"""Proposals: what policies ask for."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class ProposalFields:
    """Proposals: what policies ask for."""

    # -- proposals: what policies ask for
    p_job: Annotated[Ints, Field("R", "", "jobs that select wants to start, in this order", writers="select")]
    p_nodes: Annotated[Ints, Field("R", "", "on how many nodes", writers="select")]
    p_cap_w: Annotated[
        Floats,
        Field(
            "R", "W", "cap per node (inf: the class's, and so again after each pass)", nothing=np.inf, writers="select"
        ),
    ]
    p_why: Annotated[Ints, Field("R", "", "why; see codes.WHY_NAMES", writers="select")]
    p_shape: Annotated[
        Ints,
        Field(
            "R",
            "",
            "in which configuration (-1: as it asks for, and so again after each pass)",
            nothing=-1,
            writers="select",
        ),
    ]
    stop_job: Annotated[Ints, Field("R", "", "running jobs to preempt before the starts", writers="select")]
    stop_holds: Annotated[
        Ints, Field("R", "", "1: pause it on its nodes; 0: give them back and queue it again", writers="select")
    ]
    n_stop: Annotated[Ints, Field("1", "", "how many", writers="select")]
    resume_job: Annotated[Ints, Field("R", "", "paused jobs to resume before the starts", writers="select")]
    n_resume: Annotated[Ints, Field("1", "", "how many", writers="select")]
    stop_cost_s: Annotated[Floats, Field("1", "s", "work that a stop adds to a job", fixed=True)]
    place_a: Annotated[Ints, Field("N", "", "extents a place policy picked: first nodes", writers="place")]
    place_b: Annotated[Ints, Field("N", "", "one past their last nodes", writers="place")]
    want_cap_w: Annotated[
        Floats, Field("C", "W", "wanted cap per node of a rate class (inf: none)", nothing=np.inf, writers="cap")
    ]
    uncap: Annotated[
        Ints, Field("1", "", "1: select asks that the cap policy set no cap in this pass", writers="select cap")
    ]
    k_uncap: Annotated[
        Ints, Field("Y", "", "1: select asks that the cap policy set no cap on jobs of the kind", writers="select")
    ]
    want_mean_w: Annotated[
        Floats, Field("1", "W", "mean power that the bid policy wants to promise", nothing=np.nan, writers="bid")
    ]
    want_reserve_w: Annotated[Floats, Field("1", "W", "reserve that it wants to promise", writers="bid")]
    want_level: Annotated[Ints, Field("P", "", "wanted speed level of a node class", writers="cap")]
    recap_job: Annotated[Ints, Field("R", "", "running jobs to be capped alone", writers="cap")]
    recap_w: Annotated[Floats, Field("R", "W", "their wanted caps per node", writers="cap")]
    recap_shape: Annotated[
        Ints,
        Field(
            "R",
            "",
            "or the configuration wanted, with the same nodes and cores (-1: none, and so again after each pass)",
            nothing=-1,
            writers="cap",
        ),
    ]
    n_recap: Annotated[Ints, Field("1", "", "how many", writers="cap")]
