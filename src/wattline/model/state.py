"""The state: every array that physics, policies and control share, behind one pointer.

Each field is declared once, with its shape, unit and meaning; the numba type, the allocation, the documentation
(``wattline policies --state``) and the read-only marks all come from that declaration. One-element arrays are scalars:
``s.now[0]``. (The file is long because the declaration is one list.)
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from numba import types

from wattline.memory import map_bytes
from wattline.model.codes import TL_COLUMNS
from wattline.model.compiled import FieldArray, Record, RecordType, register

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


BLOCK = 32
"""Running jobs that a block has room for."""

MANY_RUNNING = 96
"""Running jobs from which on a sorted list of them is kept in blocks."""


@dataclass(frozen=True)
class Field:
    """Shape (letters of ``Sizes``), unit, meaning; ``fixed`` fields never change during a run.

    Fields of one ``block`` are interleaved in memory: what is touched together lies together.
    """

    shape: str
    unit: str
    meaning: str
    fixed: bool = False
    block: str = ""


@dataclass(frozen=True)
class Sizes:
    """Extents of the state's arrays, by the letter that the declarations use."""

    J: int  # jobs
    N: int  # nodes
    P: int  # node classes (partitions)
    C: int  # rate classes
    L: int  # speed levels, most of any node class
    E: int  # envelope steps
    K: int  # node changes
    Y: int = 1  # kinds of job
    G: int = 0  # steps of the regulation signal
    M: int = 0  # bids
    B: int = 20  # width buckets of the backfill index
    S: int = 0  # values of the power series of all jobs
    Z: int = 1  # applications with configurations
    A: int = 0  # their configurations
    F: int = 0  # nodes with a power factor: all of them, or none where they are alike
    U: int = 0  # configurations whose response to caps matters: all of them where nodes differ, else none
    SZ: int = 0  # numbers of nodes that configurations have, application by application
    FR: int = 0  # entries of the fronts that ``fr_*`` list
    V: int = 1  # levels of power profiles: a job's own, its group's, …
    NET: int = 1  # routers of the network
    NB: int = 0  # routers whose links' loads decide how fast jobs are: all of them, or none where no job's speed depends on them
    NG: int = 0  # groups of them
    NN: int = 0  # nodes of them
    NJ: int = 0  # jobs on them: all
    NP: int = 0  # groups that are linked one to one: those of a dragonfly
    NL: int = 0  # links of a router
    D: int = 65536  # rows a log holds before it is emptied

    def extents(self) -> dict[str, int]:
        """Return the extent that every letter stands for."""
        running = min(self.J, self.N) + 1
        # half full they take half of this; an unused one is gone after half a block of starts, and then all are filled anew
        blocks = 4 * -(-running // BLOCK) + 4 if running > MANY_RUNNING else 0
        words = self.N // 64 + 1
        return {
            **vars(self),
            "R": running,  # jobs that can run at once
            "RK": blocks,  # blocks of running jobs
            "RB": blocks * BLOCK,  # room in them
            "NW": words,  # words with a bit for each node, and for the one after the last
            "NX": words // 64 + 1,  # words with a bit for each of those
            "Q": 2 * self.J + 64,  # slots of the queue
            "H": self.J + self.C,  # room for the heaps of all rate classes
            "W": 2 * _power_of_two(self.C),  # winner tree over rate classes
            "X": 4 * self.J + 4 * self.B,  # trees of the backfill index
            "I": 2 * self.J + 2 * self.B,  # leaves of the backfill index
            "T": TL_COLUMNS,
        }


def _power_of_two(n: int) -> int:
    size = 1
    while size < n:
        size *= 2
    return size


_F = Floats
_I = Ints


class State(Record):
    """All that a pass may look at. Policies read everything and write proposals, keys, timers and their memory only."""

    changing: Floats
    """All that a run changes but its logs, as one array of raw numbers: copied, it is a run's beginning."""

    def __reduce__(self) -> Any:
        return rebuild_state, (sizes_of(self), {name: array.copy() for name, array in self.arrays().items()})

    # -- clock and totals
    now: Annotated[_F, Field("1", "s", "current time")]
    start_s: Annotated[_F, Field("1", "s", "time at which the run began")]
    happened: Annotated[_I, Field("1", "bits", "what happened since the last pass")]
    limit_w: Annotated[_F, Field("1", "W", "power limit that admission respects (inf: none)")]
    target_w: Annotated[_F, Field("1", "W", "power that the regulation signal asks for (NaN: no bid in force)")]
    mean_w: Annotated[_F, Field("1", "W", "mean power of the bid in force (NaN: none)")]
    reserve_w: Annotated[_F, Field("1", "W", "reserve of the bid in force")]
    busy_w: Annotated[_F, Field("2", "W", "power of running jobs, and the rounding error of that sum")]
    n_ended: Annotated[_I, Field("1", "", "jobs that have left the system")]
    n_arrived: Annotated[_I, Field("1", "", "rows of the job table that were submitted")]
    option: Annotated[_I, Field("17", "", "switches of the run; see wattline.model.state.OPT_*", fixed=True)]
    counter: Annotated[_I, Field("8", "", "events, passes, rejected proposals, next sequence number, …")]
    fault: Annotated[_I, Field("1", "", "1 + the job to which the order policy gave the key NaN (0: none)")]
    refused: Annotated[_I, Field("16", "", "refused proposals by the guard's verdict")]

    # -- jobs: what is known from the start
    submit_s: Annotated[_F, Field("J", "s", "submission time", fixed=True, block="known")]
    work: Annotated[_F, Field("J", "s", "run time at rate 1, in the configuration it started with", block="known")]
    nodes: Annotated[
        _I, Field("J", "", "nodes the job asks for, or started on in another configuration", block="known")
    ]
    request_s: Annotated[_F, Field("J", "s", "time the user asked for (inf: none), or was told instead", block="known")]
    user: Annotated[_I, Field("J", "", "user code (-1: unknown)", fixed=True)]
    group: Annotated[_I, Field("J", "", "group code (-1: unknown)", fixed=True)]
    kind: Annotated[_I, Field("J", "", "type code (-1: unknown)", fixed=True)]
    pool: Annotated[_I, Field("J", "", "node class the job runs on", fixed=True, block="known")]
    priority: Annotated[_F, Field("J", "", "larger goes first where the order looks at it", fixed=True)]
    after: Annotated[_I, Field("J", "", "job that must end first (-1: none)", fixed=True)]
    think_s: Annotated[_F, Field("J", "s", "pause between that end and entering the queue", fixed=True)]
    draw_w: Annotated[_F, Field("J", "W", "power per node, uncapped; its mean where it changes", block="known")]
    floor_w: Annotated[_F, Field("J", "W", "power per node at the lowest cap", fixed=True)]
    stretch: Annotated[_F, Field("J", "", "run time at floor_w over run time at draw_w", fixed=True)]
    base_class: Annotated[_I, Field("J", "", "rate class the job joins unless capped alone", fixed=True, block="known")]
    child: Annotated[_I, Field("J", "", "first job that depends on this one (-1: none)", fixed=True, block="known")]
    sibling: Annotated[_I, Field("J", "", "next job that depends on the same one (-1: none)", fixed=True)]

    # -- jobs: what changes
    status: Annotated[_I, Field("J", "", "code of wattline.model.codes", block="moving")]
    key: Annotated[
        _F, Field("J", "", "place in the queue: smaller goes first; the order policy writes it", block="moving")
    ]
    seq: Annotated[
        _I, Field("J", "", "number by which the job first entered the queue; breaks ties of key", block="moving")
    ]
    slot: Annotated[_I, Field("J", "", "slot of the queue that holds the job (-1: not queued)", block="moving")]
    estimate_s: Annotated[_F, Field("J", "s", "estimated run time at rate 1; the learner writes it", block="moving")]
    eligible_s: Annotated[_F, Field("J", "s", "when it first entered the queue", block="moving")]
    started_s: Annotated[_F, Field("J", "s", "first start (NaN: not yet)", block="moving")]
    resumed_s: Annotated[_F, Field("J", "s", "start of the current segment", block="moving")]
    end_s: Annotated[_F, Field("J", "s", "end (NaN: not yet)", block="moving")]
    ran_s: Annotated[_F, Field("J", "s", "time run in earlier segments", block="moving")]
    remaining: Annotated[_F, Field("J", "s", "work left when not running", block="moving")]
    v_end: Annotated[_F, Field("J", "s", "virtual time of its class at which it ends", block="moving")]
    v_estimate: Annotated[
        _F, Field("J", "s", "virtual time of its class at which it is estimated to end", block="moving")
    ]
    e_start: Annotated[_F, Field("J", "s", "energy clock of its class when the segment began", block="moving")]
    energy_j: Annotated[_F, Field("J", "J", "energy of its ended segments", block="moving")]
    estimated_end_s: Annotated[_F, Field("J", "s", "estimated end while running", block="moving")]
    reserved_s: Annotated[_F, Field("J", "s", "earliest promise a select policy made (inf: none)", block="moving")]
    rate_class: Annotated[_I, Field("J", "", "rate class while running", block="moving")]
    cap_w: Annotated[_F, Field("J", "W", "cap per node if capped alone (inf: not)", block="moving")]
    due_at: Annotated[_I, Field("J", "", "position in the heap of due times (-1: none)", block="moving")]
    held: Annotated[_I, Field("J", "", "first node of the first extent it holds (-1: none)", block="moving")]
    run_at: Annotated[
        _I, Field("J", "", "position in running when that is not sorted; its block when many are", block="moving")
    ]
    preemptions: Annotated[_I, Field("J", "", "times it was stopped by a policy")]
    restarts: Annotated[_I, Field("J", "", "times it was queued again after a node failed")]
    lost_s: Annotated[_F, Field("J", "s", "time run of which nothing was kept after a node failed")]
    wake_w: Annotated[_F, Field("J", "W", "power per node counted while its nodes wake")]
    woke_s: Annotated[_F, Field("J", "s", "part of the time run in which its nodes woke: it counts against no request")]

    # -- power over time, and what is believed of it
    now_w: Annotated[_F, Field("J", "W", "power per node now, uncapped", block="moving")]
    seen_w: Annotated[_F, Field("J", "W", "greatest sample of its power per node (0: none yet)", block="beliefs")]
    profile_w: Annotated[
        _F, Field("J", "W", "power per node that admission counts with; the profile learner writes it", block="beliefs")
    ]
    spread_w: Annotated[
        _F, Field("J", "W", "its standard deviation, which admission pools over running jobs", block="beliefs")
    ]
    profile_from: Annotated[
        _I,
        Field(
            "J",
            "",
            "level of the profile that profile_w comes from (the number of levels: nothing known, the maximum; one more: known but doubted, the maximum)",
            block="beliefs",
        ),
    ]
    submit_profile_from: Annotated[_I, Field("J", "", "that level when it entered the queue", block="beliefs")]
    start_profile_w: Annotated[_F, Field("J", "W", "profile_w when it first started (NaN: not yet)", block="beliefs")]
    start_profile_from: Annotated[_I, Field("J", "", "profile_from when it first started", block="beliefs")]
    profile: Annotated[_I, Field("J,V", "", "its row among the profiles, at every level", fixed=True)]
    series_first: Annotated[_I, Field("J", "", "first value of its power series", fixed=True)]
    series_count: Annotated[_I, Field("J", "", "values of its power series (0: its power is constant)", fixed=True)]
    series_w: Annotated[_F, Field("S", "W", "power per node of all series, uncapped", fixed=True)]
    series_step_s: Annotated[_F, Field("1", "s", "work that each value of a series stands for", fixed=True)]
    sample_s: Annotated[_F, Field("1", "s", "period at which power is sampled and changes (inf: never)", fixed=True)]
    sample_k: Annotated[_I, Field("1", "", "number of the next sample")]
    believed_w: Annotated[_F, Field("1", "W", "power of running jobs by their profiles, without the margin")]
    believed_var: Annotated[_F, Field("1", "W²", "variance of that sum by their spreads")]
    margin: Annotated[
        _F, Field("1", "", "standard deviations of the sum that admission leaves free; the learner sets it")
    ]

    # -- configurations: moldable jobs choose among those of their application
    asked_nodes: Annotated[_I, Field("J", "", "nodes the user asked for", fixed=True)]
    asked_s: Annotated[_F, Field("J", "s", "time the user asked for, kept while a configuration has its own")]
    asked_work: Annotated[_F, Field("J", "s", "run time as asked for, kept likewise")]
    asked_estimate_s: Annotated[_F, Field("J", "s", "estimate of that, kept likewise")]
    asked_draw_w: Annotated[_F, Field("J", "W", "power per node as asked for, kept likewise")]
    asked_profile_w: Annotated[_F, Field("J", "W", "power per node that admission expected, kept likewise")]
    app: Annotated[_I, Field("J", "", "application (-1: the job runs as it asks for)", fixed=True)]
    shape: Annotated[_I, Field("J", "", "configuration it runs in (-1: as asked for)")]
    start_shape: Annotated[_I, Field("J", "", "configuration it started in; a higher cap may have come since")]
    shape_limit_w: Annotated[_F, Field("J", "W", "power limit when it took that configuration")]
    shape_room_w: Annotated[_F, Field("J", "W", "power that was left below the limit then")]
    shape_room: Annotated[_I, Field("J", "", "nodes that were free then")]
    app_first: Annotated[_I, Field("Z", "", "first configuration of an application", fixed=True)]
    app_count: Annotated[_I, Field("Z", "", "its configurations", fixed=True)]
    sh_nodes: Annotated[_I, Field("A", "", "nodes of a configuration", fixed=True)]
    sh_cores: Annotated[_I, Field("A", "", "cores on each of them", fixed=True)]
    sh_cap_w: Annotated[_F, Field("A", "W", "cap of each processor", fixed=True)]
    sh_time_s: Annotated[_F, Field("A", "s", "run time in it", fixed=True)]
    sh_power_w: Annotated[_F, Field("A", "W", "power of the whole job in it", fixed=True)]
    sh_told_s: Annotated[_F, Field("A", "s", "run time that policies are told", fixed=True)]
    sh_told_w: Annotated[_F, Field("A", "W", "power that policies and admission are told", fixed=True)]
    sh_up: Annotated[_I, Field("A", "", "next faster one with the same nodes and cores (-1: none)", fixed=True)]
    app_sizes: Annotated[_I, Field("Z", "", "first number of nodes of an application in fr_*", fixed=True)]
    app_n_sizes: Annotated[_I, Field("Z", "", "how many numbers of nodes it has", fixed=True)]
    app_least: Annotated[_I, Field("Z", "", "its configuration of least power, as told", fixed=True)]
    fr_nodes: Annotated[_I, Field("SZ", "", "a number of nodes, ascending", fixed=True)]
    fr_first: Annotated[_I, Field("SZ", "", "first entry of the front of all with at most that many nodes", fixed=True)]
    fr_count: Annotated[_I, Field("SZ", "", "its entries: more power each, and less time", fixed=True)]
    fr_row: Annotated[_I, Field("FR", "", "configuration", fixed=True)]
    fr_told_w: Annotated[_F, Field("FR", "W", "its power, as told", fixed=True)]

    # -- nodes that are not alike (empty where they are)
    node_factor: Annotated[
        _F, Field("F", "", "power of a node over that of a typical one at the same work and speed", fixed=True)
    ]
    varied: Annotated[
        _F,
        Field(
            "2",
            "",
            "part of a node's power that is alike in all [W]; 1: caps of equal speed, 0: equal caps",
            fixed=True,
        ),
    ]
    re_first: Annotated[_I, Field("U", "", "first point of a configuration's response to power", fixed=True)]
    re_count: Annotated[_I, Field("U", "", "its points (0: no cap holds it back)", fixed=True)]
    re_w: Annotated[_F, Field("U", "W", "power of a typical node at a point, growing", fixed=True)]
    re_speed: Annotated[_F, Field("U", "1/s", "speed there: work of one job per second", fixed=True)]

    # -- kinds of job: what they are and what was promised to them
    k_nodes: Annotated[_I, Field("Y", "", "nodes of a job of the kind", fixed=True)]
    k_work_s: Annotated[_F, Field("Y", "s", "its run time, uncapped", fixed=True)]
    k_draw_w: Annotated[_F, Field("Y", "W", "its power per node, uncapped", fixed=True)]
    k_floor_w: Annotated[_F, Field("Y", "W", "its power per node at the lowest cap", fixed=True)]
    k_limit: Annotated[_F, Field("Y", "", "limit of its QoS degradation (inf: none was promised)", fixed=True)]
    k_share: Annotated[_F, Field("Y", "", "share of its jobs that may reach the limit", fixed=True)]
    k_weight: Annotated[_F, Field("Y", "", "weight of its queue where nodes are shared by weights", fixed=True)]
    k_standby: Annotated[_I, Field("Y", "", "1: runs only to fill a power target", fixed=True)]
    k_average: Annotated[
        _I, Field("Y", "", "1: the limit holds for the mean over its jobs, not for a share of them", fixed=True)
    ]
    k_shortest_s: Annotated[_F, Field("Y", "s", "shortest run time of its jobs, uncapped", fixed=True)]
    k_rate: Annotated[_F, Field("Y", "1/s", "rate at which its jobs arrive, if known (0: not)", fixed=True)]

    # -- queue: slots in order, -1 where a job has left
    queue: Annotated[_I, Field("Q", "", "jobs in order; -1 is an empty slot")]
    q_nodes: Annotated[_I, Field("Q", "", "their nodes (an empty slot: more than any machine has)")]
    q_left_s: Annotated[_F, Field("Q", "s", "their estimated run times left, at rate 1")]
    q_head: Annotated[_I, Field("1", "", "first slot that may hold a job")]
    q_tail: Annotated[_I, Field("1", "", "one past the last used slot")]
    q_len: Annotated[_I, Field("1", "", "waiting jobs")]
    q_new: Annotated[_I, Field("1", "", "slots from here on are new since the last pass of select")]

    # -- backfill index: per width bucket a tree of least estimates over its queue entries
    ix_on: Annotated[_I, Field("1", "", "1 while the index is kept")]
    ix_base: Annotated[_I, Field("B", "", "first leaf of a bucket", fixed=True)]
    ix_room: Annotated[_I, Field("B", "", "leaves of a bucket, a power of two", fixed=True)]
    ix_tree: Annotated[_I, Field("B", "", "first tree cell of a bucket", fixed=True)]
    ix_size: Annotated[_I, Field("B", "", "leaves its tree spans now, a power of two")]
    ix_used: Annotated[_I, Field("B", "", "leaves in use")]
    ix_slot: Annotated[_I, Field("I", "", "queue slot of a leaf")]
    ix_job: Annotated[_I, Field("I", "", "job of a leaf (-1: left)")]
    ix_least_s: Annotated[_F, Field("X", "s", "least estimate below a tree cell")]
    ix_width: Annotated[_I, Field("X", "", "least width below a tree cell")]
    ix_leaf: Annotated[_I, Field("J", "", "leaf of a job within its bucket", block="moving")]
    ix_bucket: Annotated[_I, Field("J", "", "bucket of a job's width", fixed=True)]

    # -- running jobs
    running: Annotated[_I, Field("R", "", "running and waking jobs, by estimated end if kept sorted")]
    n_running: Annotated[_I, Field("1", "", "how many")]
    run_end_s: Annotated[_F, Field("R", "s", "their estimated ends, if kept sorted")]
    n_blocks: Annotated[_I, Field("1", "", "blocks of running jobs (0: running is the list itself; the engine's own)")]
    n_listed: Annotated[_I, Field("1", "", "leading blocks that stand in running too")]
    n_ready: Annotated[_I, Field("1", "", "jobs of these")]
    rb_job: Annotated[_I, Field("RB", "", "jobs of the blocks, each sorted by estimated end")]
    rb_end_s: Annotated[_F, Field("RB", "s", "their estimated ends")]
    rb_count: Annotated[_I, Field("RK", "", "jobs of a block")]
    rb_place: Annotated[_I, Field("RK", "", "its place among the blocks")]
    rb_order: Annotated[_I, Field("RK", "", "block at a place, the unused ones last")]
    rb_first_s: Annotated[_F, Field("RK", "s", "its first estimated end")]
    rb_from: Annotated[_I, Field("RK", "", "where its jobs begin in running, if listed")]
    untidy: Annotated[_I, Field("1", "", "1 when queue, index or estimated ends need attention before the next pass")]
    est_dirty: Annotated[_I, Field("1", "", "1 when rates changed since estimated ends were computed")]

    # -- heap of due times: release of held jobs, end of waking, walltime kill
    due_s: Annotated[_F, Field("J", "s", "due times, a heap")]
    due_job: Annotated[_I, Field("J", "", "their jobs")]
    n_due: Annotated[_I, Field("1", "", "how many")]

    # -- nodes: extents, free and held, each under its own nodes (wattline.model.nodes)
    pool_first: Annotated[_I, Field("P", "", "first node number of the class", fixed=True)]
    pool_count: Annotated[_I, Field("P", "", "nodes of the class", fixed=True)]
    free: Annotated[_I, Field("P", "", "nodes that a job may take now")]
    busy: Annotated[_I, Field("P", "", "nodes held by jobs")]
    asleep: Annotated[_I, Field("P", "", "free nodes that sleep")]
    waking: Annotated[_I, Field("P", "", "held nodes of jobs whose nodes leave their sleep")]
    waking_w: Annotated[_F, Field("P", "W", "their power: the class's greatest, or their job's where that is more")]
    paused: Annotated[_I, Field("P", "", "held nodes of paused jobs, which idle")]
    down: Annotated[_I, Field("P", "", "nodes out of service")]
    fx_to: Annotated[
        _I,
        Field("N", "", "one past the last node of the free extent that begins here (0: none does)", block="extents"),
    ]
    fx_from: Annotated[
        _I,
        Field("N", "", "1 + the first node of the free extent that ends here (0: none does)", block="extents"),
    ]
    hx_to: Annotated[_I, Field("N", "", "one past the last node of the held extent that begins here", block="extents")]
    hx_next: Annotated[_I, Field("N", "", "first node of the next extent of the same job (-1: none)", block="extents")]
    fx_words: Annotated[_I, Field("NW", "bits", "bit n % 64 of word n // 64: a free extent begins at node n")]
    fx_some: Annotated[_I, Field("NX", "bits", "likewise for words: that word is not 0")]
    fx_since_s: Annotated[_F, Field("N", "s", "when the free extent that begins here became free (sleep states only)")]
    fx_asleep: Annotated[_I, Field("N", "", "1 if it sleeps")]
    node_state: Annotated[_I, Field("N", "", "0 in service, 1 draining, 2 down")]
    node_outages: Annotated[_I, Field("N", "", "outages that cover the node now")]
    n_off: Annotated[_I, Field("1", "", "nodes draining or down")]

    # -- the network: node n hangs on router n // net[0], which belongs to group router // net[1]
    net: Annotated[
        _I,
        Field(
            "3", "", "nodes of a router, routers of a group, groups (without a network: all nodes, 1, 1)", fixed=True
        ),
    ]
    traffic: Annotated[_I, Field("J", "B/s", "bytes that each of its nodes sends a second while it works", fixed=True)]
    sensitive: Annotated[_I, Field("J", "", "1: the job suffers from others' traffic", fixed=True)]
    traffic_s: Annotated[_F, Field("1", "s", "window that traffic is counted over (0: it is not)", fixed=True)]
    r_rate: Annotated[_I, Field("NET", "B/s", "what the nodes of a router send now")]
    r_window: Annotated[_I, Field("NET", "", "number of the window that r_time_s lies in")]
    r_bytes: Annotated[_F, Field("NET", "B", "what they have sent in that window")]
    r_past: Annotated[_F, Field("NET", "B", "what they sent in the window before it")]
    r_time_s: Annotated[_F, Field("NET", "s", "up to when that is counted")]
    r_stalls: Annotated[_F, Field("NET", "", "stalls of a router's ports, where somebody counts them")]

    # -- the network: speeds that depend on neighbours
    comm: Annotated[
        _F,
        Field(
            "NJ", "", "part of its time that it communicates, nobody in the way (0: its speed is its own)", fixed=True
        ),
    ]
    lost_net_s: Annotated[_F, Field("NJ", "s", "time at full speed lost to the network up to since_net_s")]
    since_net_s: Annotated[_F, Field("NJ", "s", "when its present slowdown began")]
    n_room: Annotated[
        _F, Field("2", "B/s", "bandwidth of links inside and between groups (or up and down)", fixed=True)
    ]
    n_gate: Annotated[_I, Field("NP,NP", "", "router of a group (0 to a - 1) that leads to another group", fixed=True)]
    n_far: Annotated[_I, Field("NP,NP", "", "its link there, as a column of n_load", fixed=True)]
    n_load: Annotated[_I, Field("NB,NL", "B/s", "load of a router's links, in the order of link_loads")]
    n_dirty: Annotated[_I, Field("1", "", "1: loads have changed since speeds were settled")]
    n_changed: Annotated[_I, Field("NG", "", "1: in this group")]
    n_owner: Annotated[_I, Field("NN", "", "job that sends from a node (-1: none)")]
    n_head: Annotated[_I, Field("NJ", "", "first of its groups, as one of its nodes there (-1: it sends nothing)")]
    n_next: Annotated[_I, Field("NN", "", "under such a node: the next of the job's groups")]
    n_group: Annotated[_I, Field("NN", "", "under such a node: the group")]
    n_in: Annotated[_I, Field("NN", "", "under such a node: nodes of the job in the group")]
    n_full: Annotated[
        _F, Field("NN", "", "under such a node: load of the fullest of its links there, itself at full rate")
    ]
    n_met: Annotated[_F, Field("NN", "B/s", "under such a node: its bytes times the loads by others that they meet")]
    n_count: Annotated[_I, Field("NL", "", "scratch: nodes of a job on a group's routers")]
    n_beyond: Annotated[_I, Field("NL", "", "scratch: its nodes in the groups that a router's links lead to")]
    n_inside: Annotated[_I, Field("NG", "", "scratch: its nodes in a group")]

    # -- node classes: power
    idle_w: Annotated[_F, Field("P", "W", "idle power per node at the current level")]
    max_w: Annotated[_F, Field("P", "W", "greatest power per node", fixed=True)]
    min_cap_w: Annotated[_F, Field("P", "W", "lowest cap the hardware takes", fixed=True)]
    sleep_w: Annotated[_F, Field("P", "W", "power per node asleep", fixed=True)]
    sleep_after_s: Annotated[_F, Field("P", "s", "idle time before a node goes to sleep (inf: never)", fixed=True)]
    sleep_entry_s: Annotated[_F, Field("P", "s", "time to fall asleep, at idle power", fixed=True)]
    sleep_exit_s: Annotated[_F, Field("P", "s", "time to wake, at the greatest power of class and job", fixed=True)]
    next_sleep_s: Annotated[_F, Field("1", "s", "no node falls asleep before this time")]
    level: Annotated[_I, Field("P", "", "current speed level of the class")]
    n_levels: Annotated[_I, Field("P", "", "speed levels of the class", fixed=True)]
    level_rate: Annotated[_F, Field("P,L", "", "progress rate at a level", fixed=True)]
    level_busy: Annotated[_F, Field("P,L", "", "busy power at a level over busy power at full speed", fixed=True)]
    level_idle_w: Annotated[_F, Field("P,L", "W", "idle power per node at a level", fixed=True)]
    node_s: Annotated[_F, Field("P,4", "s", "node-seconds busy, idle, asleep, down")]
    node_j: Annotated[_F, Field("P,4", "J", "energy of ended job segments, idle, asleep, waking nodes")]

    # -- rate classes: jobs whose speed moves together
    c_pool: Annotated[_I, Field("C", "", "node class of a rate class")]
    c_rate: Annotated[_F, Field("C", "", "progress per second")]
    c_net: Annotated[_F, Field("C", "", "part of its rate that the network leaves (1: all)")]
    c_power: Annotated[_F, Field("C", "", "power over uncapped power at full speed")]
    c_cap_w: Annotated[_F, Field("C", "W", "cap per node in force (inf: none)")]
    c_t0: Annotated[_F, Field("C", "s", "time of the last change of rate")]
    c_v0: Annotated[_F, Field("C", "s", "virtual time then")]
    c_e0: Annotated[_F, Field("C", "s", "energy clock then")]
    c_watts: Annotated[_F, Field("C", "W", "uncapped full-speed power of its running jobs")]
    c_n: Annotated[_I, Field("C", "", "its running jobs")]
    c_heap: Annotated[_I, Field("C", "", "first heap cell of the class", fixed=True)]
    c_draw_w: Annotated[_F, Field("C", "W", "uncapped power per node of its jobs (NaN: they differ)")]
    c_floor_w: Annotated[_F, Field("C", "W", "lowest power per node of its jobs (NaN: they differ)")]
    c_stretch: Annotated[_F, Field("C", "", "run time at floor over run time uncapped (NaN: they differ)")]
    c_kind: Annotated[_I, Field("C", "", "kind of its jobs (-1: they differ)")]
    c_next_s: Annotated[_F, Field("C", "s", "next end in the class (inf: none)")]
    win: Annotated[_I, Field("W", "", "winner tree over c_next_s")]
    heap_v: Annotated[_F, Field("H", "s", "virtual ends, one heap a class")]
    heap_job: Annotated[_I, Field("H", "", "their jobs")]
    solo: Annotated[_I, Field("C", "", "stack of unused rate classes for jobs capped alone")]
    n_solo: Annotated[_I, Field("1", "", "how many are unused")]
    active: Annotated[_I, Field("C", "", "rate classes with running jobs")]
    active_at: Annotated[_I, Field("C", "", "position in active (-1: none runs)")]
    n_active: Annotated[_I, Field("1", "", "how many")]

    # -- envelope, node changes, timers
    env_s: Annotated[_F, Field("E", "s", "times at which the power limit changes", fixed=True)]
    env_w: Annotated[_F, Field("E", "W", "the limit from then on", fixed=True)]
    env_at: Annotated[_I, Field("1", "", "next envelope step")]
    signal: Annotated[_F, Field("G", "", "regulation signal, within [-1, 1]", fixed=True)]
    signal_from_s: Annotated[_F, Field("1", "s", "when its first value begins", fixed=True)]
    signal_step_s: Annotated[_F, Field("1", "s", "how long each value holds", fixed=True)]
    signal_at: Annotated[_I, Field("1", "", "next step of the signal")]
    bid_s: Annotated[_F, Field("M", "s", "times from which bids hold", fixed=True)]
    bid_mean_w: Annotated[_F, Field("M", "W", "their mean powers (NaN: no bid)", fixed=True)]
    bid_reserve_w: Annotated[_F, Field("M", "W", "their reserves", fixed=True)]
    bid_at: Annotated[_I, Field("1", "", "next bid")]
    bidding_s: Annotated[_F, Field("1", "s", "when the bid policy is asked next (inf: never)")]
    bidding_k: Annotated[_I, Field("1", "", "number of that bid")]
    bidding_until_s: Annotated[_F, Field("1", "s", "no bid holds from this time on", fixed=True)]
    bid_first_s: Annotated[_F, Field("1", "s", "when the first of them begins to hold", fixed=True)]
    bid_every_s: Annotated[_F, Field("1", "s", "how long a bid of the bid policy holds", fixed=True)]
    bid_lead_s: Annotated[_F, Field("1", "s", "how long before its hour a bid is made", fixed=True)]
    bid_open: Annotated[_I, Field("1", "", "1 while the loop waits for a bid; the pass of the instant follows it")]
    next_bid_s: Annotated[_F, Field("1", "s", "when the bid made last gets into force (inf: it has)")]
    next_mean_w: Annotated[_F, Field("1", "W", "its mean power (NaN: no bid)")]
    next_reserve_w: Annotated[_F, Field("1", "W", "its reserve")]
    change_s: Annotated[_F, Field("K", "s", "times of node changes", fixed=True)]
    change_kind: Annotated[_I, Field("K", "", "drain, down or up", fixed=True)]
    change_a: Annotated[_I, Field("K", "", "first node", fixed=True)]
    change_b: Annotated[_I, Field("K", "", "one past the last node", fixed=True)]
    change_at: Annotated[_I, Field("1", "", "next node change")]
    wake_at_s: Annotated[_F, Field("6", "s", "timers that policies set, one a slot (inf: none)")]
    timer_last_s: Annotated[_F, Field("1", "s", "when a timer last fired")]
    timer_slot: Annotated[_I, Field("1", "", "the slot whose timer that was")]
    tick_s: Annotated[_F, Field("1", "s", "control period (inf: none)", fixed=True)]
    schedule_s: Annotated[_F, Field("1", "s", "next envelope step, node change or tick")]
    tick_k: Annotated[_I, Field("1", "", "number of the next tick")]

    # -- proposals: what policies ask for
    p_job: Annotated[_I, Field("R", "", "jobs that select wants to start, in this order")]
    p_nodes: Annotated[_I, Field("R", "", "on how many nodes")]
    p_cap_w: Annotated[_F, Field("R", "W", "cap per node (inf: the class's, and so again after each pass)")]
    p_why: Annotated[_I, Field("R", "", "why; see codes.WHY_NAMES")]
    p_shape: Annotated[_I, Field("R", "", "in which configuration (-1: as it asks for, and so again after each pass)")]
    stop_job: Annotated[_I, Field("R", "", "running jobs to preempt before the starts")]
    stop_holds: Annotated[_I, Field("R", "", "1: pause it on its nodes; 0: give them back and queue it again")]
    n_stop: Annotated[_I, Field("1", "", "how many")]
    resume_job: Annotated[_I, Field("R", "", "paused jobs to resume before the starts")]
    n_resume: Annotated[_I, Field("1", "", "how many")]
    stop_cost_s: Annotated[_F, Field("1", "s", "work that a stop adds to a job", fixed=True)]
    place_a: Annotated[_I, Field("N", "", "extents a place policy picked: first nodes")]
    place_b: Annotated[_I, Field("N", "", "one past their last nodes")]
    want_cap_w: Annotated[_F, Field("C", "W", "wanted cap per node of a rate class (inf: none)")]
    uncap: Annotated[_I, Field("1", "", "1: select asks that the cap policy set no cap in this pass")]
    k_uncap: Annotated[_I, Field("Y", "", "1: select asks that the cap policy set no cap on jobs of the kind")]
    want_mean_w: Annotated[_F, Field("1", "W", "mean power that the bid policy wants to promise")]
    want_reserve_w: Annotated[_F, Field("1", "W", "reserve that it wants to promise")]
    want_level: Annotated[_I, Field("P", "", "wanted speed level of a node class")]
    recap_job: Annotated[_I, Field("R", "", "running jobs to be capped alone")]
    recap_w: Annotated[_F, Field("R", "W", "their wanted caps per node")]
    recap_shape: Annotated[
        _I,
        Field(
            "R",
            "",
            "or the configuration wanted, with the same nodes and cores (-1: none, and so again after each pass)",
        ),
    ]
    n_recap: Annotated[_I, Field("1", "", "how many")]

    # -- actions of the pass, which are the rows of the decision log from a_from on
    a_from: Annotated[_I, Field("1", "", "first action of the current pass")]
    a_n: Annotated[_I, Field("1", "", "one past the last")]
    a_time_s: Annotated[_F, Field("D", "s", "time", block="actions")]
    a_kind: Annotated[_I, Field("D", "", "start, stop, cap or level", block="actions")]
    a_job: Annotated[_I, Field("D", "", "job, or rate class, or node class", block="actions")]
    a_nodes: Annotated[_I, Field("D", "", "nodes, or level", block="actions")]
    a_cap_w: Annotated[_F, Field("D", "W", "cap per node", block="actions")]
    a_why: Annotated[_I, Field("D", "", "the policy's reason", block="actions")]
    a_verdict: Annotated[_I, Field("D", "", "the guard's verdict", block="actions")]

    # -- other logs
    ev_n: Annotated[_I, Field("1", "", "rows of the event log")]
    ev_time_s: Annotated[_F, Field("D", "s", "time")]
    ev_kind: Annotated[_I, Field("D", "", "code of wattline.model.codes.EVENT_NAMES")]
    ev_job: Annotated[_I, Field("D", "", "job (-1: none)")]
    ev_value: Annotated[_F, Field("D", "", "limit, level, first node, …")]
    ev_nodes: Annotated[_I, Field("D", "", "nodes")]
    log_room: Annotated[
        _I, Field("4", "", "rows of the decision, event, timeline and placement logs that leave room", fixed=True)
    ]
    tl_n: Annotated[_I, Field("1", "", "rows of the timeline")]
    timeline: Annotated[_F, Field("D,T", "", "one row an instant; columns TL_*")]
    px_n: Annotated[_I, Field("1", "", "rows of the placement log")]
    px_job: Annotated[_I, Field("D", "", "job", block="places")]
    px_first: Annotated[_I, Field("D", "", "first node", block="places")]
    px_count: Annotated[_I, Field("D", "", "nodes", block="places")]
    px_from_s: Annotated[_F, Field("D", "s", "from", block="places")]
    px_until_s: Annotated[_F, Field("D", "s", "until", block="places")]


# -- switches in s.option
OPT_SORTED = 0  # keep running sorted by estimated end (backfilling needs it)
OPT_TIES_EVENT = 1  # one pass per event instead of one per instant
OPT_KILL = 2  # end jobs at their requested time
OPT_TIMELINE = 3  # log the timeline
OPT_PLACEMENTS = 4  # log placements
OPT_DECISIONS = 5  # keep the decision log
OPT_REQUEUE = 6  # jobs that lose a node are queued again
OPT_SLEEP = 7  # some node class has a sleep state
OPT_BACKLOG = 8  # log the remaining work (costs a walk over the jobs in the system)
OPT_KEEP_PROGRESS = 9  # a requeued job keeps the work it has done (checkpoints)
OPT_BELIEF = 10  # admission counts with profiles, not with the truth
OPT_QUANTUM = 11  # passes at ticks only; what happened in between waits for the next
OPT_EXCEED = 12  # when nothing runs and nothing fits under the limit, the first job may exceed it
OPT_SHED = 13  # stop jobs when even the lowest caps leave the power above the limit
OPT_CAPPED = 14  # the cap policy keeps the power below the limit by caps
OPT_STOP_SHORT = (
    15  # leave the clock at the last instant before the time to stop at: a run carried on is none the wiser
)
OPT_RECLAIM = 16  # take back caps that were raised with power left over, before those who wait are looked at

# -- numbers in s.counter
N_EVENTS, N_PASSES, N_REFUSED, N_SEQ, N_STARTS, N_FRUITLESS, N_TIMER_REPEATS, N_REPLANS = range(8)


def _declared() -> dict[str, tuple[Any, Field]]:
    """Return dtype and declaration of every field; all are read as one text, which typing would do one by one in six times the time."""
    told = {name: text for name, text in State.__annotations__.items() if text.startswith("Annotated[")}
    text = ",".join(f"({text[len('Annotated[') : -1]})" for text in told.values())
    found = eval(f"[{text}]", {"_F": np.float64, "_I": np.int64, "Field": Field})  # noqa: S307  (our own words, above)
    return dict(zip(told, found, strict=True))


FIELDS = _declared()
"""Declared fields: name → (dtype, Field)."""

BLOCKS: dict[str, list[str]] = {}
"""Interleaved fields: block → names in the order of their columns."""
for _name, (_dtype, _field) in FIELDS.items():
    if _field.block:
        BLOCKS.setdefault(_field.block, []).append(_name)

_SMALL = [name for name, (_, field) in FIELDS.items() if field.shape.isdigit()]
_SMALL.sort(key=lambda name: not FIELDS[name][1].fixed)  # the fixed ones first: what a run changes is one piece
NEAR: dict[str, tuple[int, int]] = {}
"""Fields of a known size, which come first in memory: name → (bytes from the beginning, elements)."""
_at = 0
for _name in _SMALL:
    NEAR[_name] = (8 * _at, int(FIELDS[_name][1].shape))
    _at += NEAR[_name][1]
_SMALL_END = _at
_SMALL_CHANGING = min(at for name, (at, _) in NEAR.items() if not FIELDS[name][1].fixed) // 8

_GROUPS = sorted(
    [
        *(tuple(names) for names in BLOCKS.values()),
        *((name,) for name, (_, f) in FIELDS.items() if not f.block and name not in NEAR),
    ],
    key=lambda names: 2 if FIELDS[names[0]][1].shape[0] == "D" else int(all(FIELDS[n][1].fixed for n in names)),
)
"""Fields as they lie in memory: first what a run changes, then what stays, then the logs."""

BESIDE = {name: (names[0], 8 * i) for names in BLOCKS.values() for i, name in enumerate(names)}
"""Interleaved fields: name → (the first of its block, bytes after that one)."""

register(State, "State", {
    name: FieldArray(
        types.float64 if dtype is np.float64 else types.int64, field.shape.count(",") + 1,
        step=8 * len(BLOCKS[field.block]) if field.block else 8, readonly=field.fixed,
    )
    for name, (dtype, field) in FIELDS.items()
}, NEAR, BESIDE)  # fmt: skip

POLICY = types.int64(State.record_type, types.int64, types.float64[::1], types.float64[::1])
"""The one signature of every policy: ``policy(state, arg, param, memory) -> int64``."""

WRITES: dict[str, frozenset[str]] = {
    "order": frozenset({"key", "wake_at_s"}),
    "select": frozenset({
        "p_job", "p_nodes", "p_cap_w", "p_why", "p_shape", "stop_job", "stop_holds", "n_stop", "resume_job", "n_resume",
        "uncap", "k_uncap", "reserved_s", "wake_at_s",
    }),
    "place": frozenset({"place_a", "place_b", "wake_at_s"}),
    "cap": frozenset({"want_cap_w", "want_level", "recap_job", "recap_w", "recap_shape", "n_recap", "uncap", "wake_at_s"}),
    "learn": frozenset({"estimate_s", "wake_at_s"}),
    "profile": frozenset({"profile_w", "spread_w", "profile_from", "margin", "wake_at_s"}),
    "bid": frozenset({"want_mean_w", "want_reserve_w", "wake_at_s"}),
}  # fmt: skip
"""Fields that a policy of a slot may write."""

PROPOSALS = frozenset().union(*WRITES.values())
"""Fields that some policy may write."""


@functools.cache
def user_signature(slot: str, *, checked: bool) -> Any:
    """Return the signature that a user's policy of a slot is compiled for: laid out as ``POLICY``, but what it must not write is read-only.

    ``checked`` fields check every index.
    """
    fields = {
        name: FieldArray(
            array.dtype, array.ndim, step=array.step, readonly=name not in WRITES[slot], label=f"s.{name}" if checked else ""
        )
        for name, array in State.record_type.fields.items()
    }  # fmt: skip
    param: types.Array[Any] = types.Array(types.float64, 1, "C", readonly=True)
    memory: types.Array[Any] = types.Array(types.float64, 1, "C")
    if checked:
        param = FieldArray(types.float64, 1, readonly=True, label="param", wraps=True)
        memory = FieldArray(types.float64, 1, label="memory", wraps=True)
    return types.int64(RecordType("State", fields, NEAR, BESIDE), types.int64, param, memory)


def allocate(sizes: Sizes) -> State:
    """Return a state of the given sizes, all zero but for the fields whose *nothing* is another value."""
    nothing = {
        "wake_at_s": np.inf, "schedule_s": np.inf, "next_sleep_s": np.inf, "tick_s": np.inf, "limit_w": np.inf, "target_w": np.nan, "mean_w": np.nan, "want_cap_w": np.inf,
        "bidding_s": np.inf, "bidding_until_s": np.inf, "next_bid_s": np.inf, "next_mean_w": np.nan, "want_mean_w": np.nan,
        "c_cap_w": np.inf, "c_next_s": np.inf, "cap_w": np.inf, "p_cap_w": np.inf, "reserved_s": np.inf, "request_s": np.inf,
        "started_s": np.nan, "start_profile_w": np.nan, "sample_s": np.inf, "series_step_s": 1.0, "end_s": np.nan, "eligible_s": np.nan, "resumed_s": np.nan, "ix_least_s": np.inf,
        "after": -1, "app": -1, "shape": -1, "start_shape": -1, "p_shape": -1, "recap_shape": -1, "sh_up": -1, "child": -1, "sibling": -1, "slot": -1, "due_at": -1, "held": -1, "queue": -1, "active_at": -1, "n_owner": -1, "n_head": -1,
        "user": -1, "group": -1, "kind": -1, "sleep_after_s": np.inf, "ix_leaf": -1, "c_rate": 1.0, "c_net": 1.0, "c_power": 1.0,
        "level_rate": 1.0, "level_busy": 1.0, "k_limit": np.inf, "c_kind": -1, "signal_step_s": 1.0,
    }  # fmt: skip
    arrays: dict[str, npt.NDArray[Any]] = {}
    room, places, changing = _lay_out(sizes)
    for names, (shape, first, count) in places.items():
        piece = room[first : first + count].reshape(shape)
        for column, name in enumerate(names):
            array = piece[:, column] if len(names) > 1 else piece
            arrays[name] = array.view(FIELDS[name][0])
            if name in nothing:
                arrays[name][...] = nothing[name]
    state = State(**arrays)
    state.changing = room[_SMALL_CHANGING:changing]
    return state


_SHAPES = [
    (
        names,
        [int(letter) if letter.isdigit() else letter for letter in FIELDS[names[0]][1].shape.split(",")]
        + ([len(names)] if len(names) > 1 else []),
        FIELDS[names[0]][1].shape[0] != "D" and not all(FIELDS[name][1].fixed for name in names),
    )
    for names in _GROUPS
]
"""For each group its shape, in letters and numbers, and whether a run changes it."""

_LINE = 8
"""Numbers in a cache line; every array begins at one."""


def _lay_out(sizes: Sizes) -> tuple[Floats, dict[tuple[str, ...], tuple[tuple[int, ...], int, int]], int]:
    """Return zeroed room for all arrays, the place of each group in it (shape, first, count), and where changing ones end.

    The room is mapped in one piece: what nobody touches costs nothing, and it goes back to the system as soon as the state
    is gone (thousands of states are made and dropped by a search, and the allocator would keep their pieces).
    """
    places: dict[tuple[str, ...], tuple[tuple[int, ...], int, int]] = {
        (name,): ((count,), first // 8, count) for name, (first, count) in NEAR.items()
    }
    at = changing = -(-_SMALL_END // _LINE) * _LINE
    extents = sizes.extents()
    for names, letters, changes in _SHAPES:
        shape = tuple(extents[letter] if isinstance(letter, str) else letter for letter in letters)
        count = math.prod(shape)
        places[names] = (shape, at, count)
        at += -(-count // _LINE) * _LINE
        if changes:
            changing = at
    what = f"a run of {sizes.J:,} jobs on {sizes.N:,} nodes"
    return np.frombuffer(map_bytes(max(1, at) * 8, what), dtype=np.float64), places, changing


def sizes_of(s: State) -> Sizes:
    """Return the sizes a state was allocated with."""
    return Sizes(
        J=s.submit_s.size, N=s.node_state.size, P=s.free.size, C=s.c_n.size, L=s.level_rate.shape[1], E=s.env_s.size,
        K=s.change_s.size, Y=s.k_nodes.size, G=s.signal.size, M=s.bid_s.size, B=s.ix_used.size, S=s.series_w.size, V=s.profile.shape[1], Z=s.app_first.size, A=s.sh_nodes.size, F=s.node_factor.size, U=s.re_w.size, SZ=s.fr_nodes.size, FR=s.fr_row.size, NET=s.r_rate.size, NB=s.n_load.shape[0], NG=s.n_changed.size, NN=s.n_owner.size, NJ=s.comm.size, NP=s.n_gate.shape[0], NL=s.n_load.shape[1], D=s.a_time_s.size,
    )  # fmt: skip


def copy_state(s: State) -> State:
    """Return a deep copy: nothing shared."""
    return rebuild_state(sizes_of(s), s.arrays())


def rebuild_state(sizes: Sizes, arrays: dict[str, npt.NDArray[Any]]) -> State:
    """Return a state from plain copies of its arrays (for pickling)."""
    twin = allocate(sizes)
    for name, array in arrays.items():
        getattr(twin, name)[...] = array
    return twin


def read_only(s: State, slot: str) -> State:
    """Return the same state as plain-Python policies of a slot see it: arrays they must not write refuse to be written."""
    seen = State(**{name: lent(array, locked=name not in WRITES[slot]) for name, array in s.arrays().items()})
    seen.words = lent(seen.words, locked=True)  # the addresses of all these
    seen.__dict__["locked"] = True
    return seen


def lent(array: npt.NDArray[Any], *, locked: bool) -> npt.NDArray[Any]:
    """Return the same memory as an array that cannot give it back or lead to more of it; nor, if it is locked, be written."""
    return np.asarray(_Lent(array, locked))


class _Lent:
    """What numpy asks of one who lends it memory. Views would let themselves be made writable, and lead to what they view."""

    def __init__(self, array: npt.NDArray[Any], locked: bool) -> None:
        self._array = array
        told = array.__array_interface__
        self.__array_interface__ = {**told, "data": (told["data"][0], locked), "strides": array.strides}
