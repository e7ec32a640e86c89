"""Jobs: what is known of them from the start, and what changes."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class JobFields:
    """Jobs: what is known of them from the start, and what changes."""

    # -- jobs: what is known from the start
    submit_s: Annotated[Floats, Field("J", "s", "submission time", fixed=True, entered=True, block="known")]
    work: Annotated[Floats, Field("J", "s", "run time at rate 1, in the configuration it started with", block="known")]
    nodes: Annotated[
        Ints, Field("J", "", "nodes the job asks for, or started on in another configuration", block="known")
    ]
    request_s: Annotated[
        Floats,
        Field("J", "s", "time the user asked for (inf: none), or was told instead", block="known", nothing=np.inf),
    ]
    user: Annotated[Ints, Field("J", "", "user code (-1: unknown)", fixed=True, entered=True, nothing=-1)]
    group: Annotated[Ints, Field("J", "", "group code (-1: unknown)", fixed=True, entered=True, nothing=-1)]
    kind: Annotated[Ints, Field("J", "", "type code (-1: unknown)", fixed=True, entered=True, nothing=-1)]
    pool: Annotated[Ints, Field("J", "", "node class the job runs on", fixed=True, entered=True, block="known")]
    priority: Annotated[
        Floats, Field("J", "", "larger goes first where the order looks at it", fixed=True, entered=True)
    ]
    after: Annotated[Ints, Field("J", "", "job that must end first (-1: none)", fixed=True, entered=True, nothing=-1)]
    think_s: Annotated[
        Floats, Field("J", "s", "pause between that end and entering the queue", fixed=True, entered=True)
    ]
    draw_w: Annotated[Floats, Field("J", "W", "power per node, uncapped; its mean where it changes", block="known")]
    floor_w: Annotated[Floats, Field("J", "W", "power per node at the lowest cap", fixed=True, entered=True)]
    stretch: Annotated[Floats, Field("J", "", "run time at floor_w over run time at draw_w", fixed=True, entered=True)]
    base_class: Annotated[
        Ints, Field("J", "", "rate class the job joins unless capped alone", fixed=True, entered=True, block="known")
    ]
    child: Annotated[
        Ints,
        Field(
            "J",
            "",
            "first job that depends on this one (-1: none)",
            fixed=True,
            entered=True,
            block="known",
            nothing=-1,
        ),
    ]
    sibling: Annotated[
        Ints, Field("J", "", "next job that depends on the same one (-1: none)", fixed=True, entered=True, nothing=-1)
    ]

    # -- jobs: what changes
    status: Annotated[Ints, Field("J", "", "code of wattline.model.codes", block="moving")]
    key: Annotated[
        Floats,
        Field(
            "J",
            "",
            "place in the queue: smaller goes first; the order policy writes it",
            block="moving",
            writers="order",
        ),
    ]
    seq: Annotated[
        Ints, Field("J", "", "number by which the job first entered the queue; breaks ties of key", block="moving")
    ]
    slot: Annotated[
        Ints, Field("J", "", "slot of the queue that holds the job (-1: not queued)", block="moving", nothing=-1)
    ]
    estimate_s: Annotated[
        Floats, Field("J", "s", "estimated run time at rate 1; the learner writes it", block="moving", writers="learn")
    ]
    eligible_s: Annotated[Floats, Field("J", "s", "when it first entered the queue", block="moving", nothing=np.nan)]
    started_s: Annotated[Floats, Field("J", "s", "first start (NaN: not yet)", block="moving", nothing=np.nan)]
    resumed_s: Annotated[Floats, Field("J", "s", "start of the current segment", block="moving", nothing=np.nan)]
    end_s: Annotated[Floats, Field("J", "s", "end (NaN: not yet)", block="moving", nothing=np.nan)]
    ran_s: Annotated[Floats, Field("J", "s", "time run in earlier segments", block="moving")]
    remaining: Annotated[Floats, Field("J", "s", "work left when not running", block="moving")]
    v_end: Annotated[Floats, Field("J", "s", "virtual time of its class at which it ends", block="moving")]
    v_estimate: Annotated[
        Floats, Field("J", "s", "virtual time of its class at which it is estimated to end", block="moving")
    ]
    e_start: Annotated[Floats, Field("J", "s", "energy clock of its class when the segment began", block="moving")]
    energy_j: Annotated[Floats, Field("J", "J", "energy of its ended segments", block="moving")]
    estimated_end_s: Annotated[Floats, Field("J", "s", "estimated end while running", block="moving")]
    reserved_s: Annotated[
        Floats,
        Field(
            "J",
            "s",
            "earliest promise a select policy made (inf: none)",
            block="moving",
            nothing=np.inf,
            writers="select",
        ),
    ]
    rate_class: Annotated[Ints, Field("J", "", "rate class while running", block="moving")]
    cap_w: Annotated[Floats, Field("J", "W", "cap per node if capped alone (inf: not)", block="moving", nothing=np.inf)]
    due_at: Annotated[Ints, Field("J", "", "position in the heap of due times (-1: none)", block="moving", nothing=-1)]
    held: Annotated[
        Ints, Field("J", "", "first node of the first extent it holds (-1: none)", block="moving", nothing=-1)
    ]
    run_at: Annotated[
        Ints, Field("J", "", "position in running when that is not sorted; its block when many are", block="moving")
    ]
    preemptions: Annotated[Ints, Field("J", "", "times it was stopped by a policy")]
    restarts: Annotated[Ints, Field("J", "", "times it was queued again after a node failed")]
    lost_s: Annotated[Floats, Field("J", "s", "time run of which nothing was kept after a node failed")]
    wake_w: Annotated[Floats, Field("J", "W", "power per node counted while its nodes wake")]
    woke_s: Annotated[
        Floats, Field("J", "s", "part of the time run in which its nodes woke: it counts against no request")
    ]
