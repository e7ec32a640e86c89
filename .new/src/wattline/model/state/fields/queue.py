"""The queue, and the backfill index over it."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class QueueFields:
    """The queue, and the backfill index over it."""

    # -- queue: slots in order, -1 where a job has left
    queue: Annotated[Ints, Field("Q", "", "jobs in order; -1 is an empty slot", nothing=-1)]
    q_nodes: Annotated[Ints, Field("Q", "", "their nodes (an empty slot: more than any machine has)")]
    q_left_s: Annotated[Floats, Field("Q", "s", "their estimated run times left, at rate 1")]
    q_head: Annotated[Ints, Field("1", "", "first slot that may hold a job")]
    q_tail: Annotated[Ints, Field("1", "", "one past the last used slot")]
    q_len: Annotated[Ints, Field("1", "", "waiting jobs")]
    q_new: Annotated[Ints, Field("1", "", "slots from here on are new since the last pass of select")]

    # -- backfill index: per width bucket a tree of least estimates over its queue entries
    ix_on: Annotated[Ints, Field("1", "", "1 while the index is kept")]
    ix_base: Annotated[Ints, Field("B", "", "first leaf of a bucket", fixed=True)]
    ix_room: Annotated[Ints, Field("B", "", "leaves of a bucket, a power of two", fixed=True)]
    ix_tree: Annotated[Ints, Field("B", "", "first tree cell of a bucket", fixed=True)]
    ix_size: Annotated[Ints, Field("B", "", "leaves its tree spans now, a power of two")]
    ix_used: Annotated[Ints, Field("B", "", "leaves in use")]
    ix_slot: Annotated[Ints, Field("I", "", "queue slot of a leaf")]
    ix_job: Annotated[Ints, Field("I", "", "job of a leaf (-1: left)")]
    ix_least_s: Annotated[Floats, Field("X", "s", "least estimate below a tree cell", nothing=np.inf)]
    ix_width: Annotated[Ints, Field("X", "", "least width below a tree cell")]
    ix_leaf: Annotated[Ints, Field("J", "", "leaf of a job within its bucket", block="moving", nothing=-1)]
    ix_bucket: Annotated[Ints, Field("J", "", "bucket of a job's width", fixed=True, entered=True)]
