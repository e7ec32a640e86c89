"""Rows of jobs and the room around them: spare rows, heaps, the backfill index, memory of policies."""

from __future__ import annotations

from typing import Annotated

from wattline.arrays import Ints
from wattline.model.state.fields.field import Field


class RowFields:
    """Rows of jobs and the room around them: spare rows, heaps, the backfill index, memory of policies."""

    # -- rows: a state may have more of them than it knows jobs
    n_jobs: Annotated[Ints, Field("1", "", "jobs known so far, those whose rows were given to others included")]
    spare: Annotated[Ints, Field("SR", "", "stack of spare rows")]
    n_spare: Annotated[Ints, Field("1", "", "how many")]
    freed: Annotated[
        Ints, Field("SR", "", "rows that were freed since the last pass: nobody gets them before the next")
    ]
    n_freed: Annotated[Ints, Field("1", "", "how many")]

    # -- room that the rows of a state share; checked when a job gets a row
    c_rows: Annotated[Ints, Field("C", "", "rows whose jobs belong to a rate class, running or not")]
    c_room: Annotated[Ints, Field("C", "", "heap cells of a rate class", fixed=True)]
    unused: Annotated[Ints, Field("SC", "", "stack of unused rate classes for jobs whose power is new")]
    n_unused: Annotated[Ints, Field("1", "", "how many")]
    ix_rows: Annotated[Ints, Field("B", "", "rows whose jobs have a bucket's width, waiting or not")]
    overflow: Annotated[Ints, Field("1", "", "room that ran out (0: none; see codes.ROOM_NAMES)")]
    by_profile: Annotated[Ints, Field("1", "", "1: jobs of one power have a rate class of their own", fixed=True)]
    n_users: Annotated[Ints, Field("1", "", "users that the memory of policies has room for", fixed=True)]
    mem_jobs: Annotated[Ints, Field("7", "", "columns for each job in the memory of every slot's policy", fixed=True)]
