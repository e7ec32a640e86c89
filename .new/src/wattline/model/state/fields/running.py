"""Running jobs, and the heap of due times."""

from __future__ import annotations

from typing import Annotated

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class RunningFields:
    """Running jobs, and the heap of due times."""

    # -- running jobs
    running: Annotated[Ints, Field("R", "", "running and waking jobs, by estimated end if kept sorted")]
    n_running: Annotated[Ints, Field("1", "", "how many")]
    run_end_s: Annotated[Floats, Field("R", "s", "their estimated ends, if kept sorted")]
    n_blocks: Annotated[
        Ints, Field("1", "", "blocks of running jobs (0: running is the list itself; the engine's own)")
    ]
    n_listed: Annotated[Ints, Field("1", "", "leading blocks that stand in running too")]
    n_ready: Annotated[Ints, Field("1", "", "jobs of these")]
    rb_job: Annotated[Ints, Field("RB", "", "jobs of the blocks, each sorted by estimated end")]
    rb_end_s: Annotated[Floats, Field("RB", "s", "their estimated ends")]
    rb_count: Annotated[Ints, Field("RK", "", "jobs of a block")]
    rb_place: Annotated[Ints, Field("RK", "", "its place among the blocks")]
    rb_order: Annotated[Ints, Field("RK", "", "block at a place, the unused ones last")]
    rb_first_s: Annotated[Floats, Field("RK", "s", "its first estimated end")]
    rb_from: Annotated[Ints, Field("RK", "", "where its jobs begin in running, if listed")]
    untidy: Annotated[Ints, Field("1", "", "1 when queue, index or estimated ends need attention before the next pass")]
    est_dirty: Annotated[Ints, Field("1", "", "1 when rates changed since estimated ends were computed")]

    # -- heap of due times: release of held jobs, end of starting and waking, walltime kill
    due_s: Annotated[Floats, Field("J", "s", "due times, a heap")]
    due_job: Annotated[Ints, Field("J", "", "their jobs")]
    n_due: Annotated[Ints, Field("1", "", "how many")]
