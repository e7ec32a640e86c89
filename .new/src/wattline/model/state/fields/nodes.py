"""Nodes and node classes: who holds them, and what they draw."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class NodeFields:
    """Nodes and node classes: who holds them, and what they draw."""

    # -- nodes: extents, free and held, each under its own nodes (wattline.model.structures.nodes)
    pool_first: Annotated[Ints, Field("P", "", "first node number of the class", fixed=True)]
    pool_count: Annotated[Ints, Field("P", "", "nodes of the class", fixed=True)]
    free: Annotated[Ints, Field("P", "", "nodes that a job may take now")]
    busy: Annotated[Ints, Field("P", "", "nodes held by jobs")]
    asleep: Annotated[Ints, Field("P", "", "free nodes that sleep")]
    waking: Annotated[Ints, Field("P", "", "held nodes of jobs whose nodes leave their sleep")]
    waking_w: Annotated[Floats, Field("P", "W", "their power: the class's greatest, or their job's where that is more")]
    paused: Annotated[Ints, Field("P", "", "held nodes that idle: of paused jobs, and of those that are starting")]
    down: Annotated[Ints, Field("P", "", "nodes out of service")]
    fx_to: Annotated[
        Ints,
        Field("N", "", "one past the last node of the free extent that begins here (0: none does)", block="extents"),
    ]
    fx_from: Annotated[
        Ints, Field("N", "", "1 + the first node of the free extent that ends here (0: none does)", block="extents")
    ]
    hx_to: Annotated[
        Ints, Field("N", "", "one past the last node of the held extent that begins here", block="extents")
    ]
    hx_next: Annotated[
        Ints, Field("N", "", "first node of the next extent of the same job (-1: none)", block="extents")
    ]
    fx_words: Annotated[Ints, Field("NW", "bits", "bit n % 64 of word n // 64: a free extent begins at node n")]
    fx_some: Annotated[Ints, Field("NX", "bits", "likewise for words: that word is not 0")]
    fx_since_s: Annotated[
        Floats, Field("N", "s", "when the free extent that begins here became free (sleep states only)")
    ]
    fx_asleep: Annotated[Ints, Field("N", "", "1 if it sleeps")]
    node_state: Annotated[Ints, Field("N", "", "0 in service, 1 draining, 2 down")]
    node_outages: Annotated[Ints, Field("N", "", "outages that cover the node now")]
    n_off: Annotated[Ints, Field("1", "", "nodes draining or down")]

    # -- node classes: power
    idle_w: Annotated[Floats, Field("P", "W", "idle power per node at the current level")]
    max_w: Annotated[Floats, Field("P", "W", "greatest power per node", fixed=True)]
    min_cap_w: Annotated[Floats, Field("P", "W", "lowest cap the hardware takes", fixed=True)]
    sleep_w: Annotated[Floats, Field("P", "W", "power per node asleep", fixed=True)]
    sleep_after_s: Annotated[
        Floats, Field("P", "s", "idle time before a node goes to sleep (inf: never)", fixed=True, nothing=np.inf)
    ]
    sleep_entry_s: Annotated[Floats, Field("P", "s", "time to fall asleep, at idle power", fixed=True)]
    sleep_exit_s: Annotated[Floats, Field("P", "s", "time to wake, at the greatest power of class and job", fixed=True)]
    next_sleep_s: Annotated[Floats, Field("1", "s", "no node falls asleep before this time", nothing=np.inf)]
    level: Annotated[Ints, Field("P", "", "current speed level of the class")]
    n_levels: Annotated[Ints, Field("P", "", "speed levels of the class", fixed=True)]
    level_rate: Annotated[Floats, Field("P,L", "", "progress rate at a level", fixed=True, nothing=1.0)]
    level_busy: Annotated[
        Floats, Field("P,L", "", "busy power at a level over busy power at full speed", fixed=True, nothing=1.0)
    ]
    level_idle_w: Annotated[Floats, Field("P,L", "W", "idle power per node at a level", fixed=True)]
    node_s: Annotated[Floats, Field("P,4", "s", "node-seconds busy, idle, asleep, down")]
    node_j: Annotated[Floats, Field("P,4", "J", "energy of ended job segments, idle, asleep, waking nodes")]
