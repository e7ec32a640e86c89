"""The network: wiring, and speeds that depend on neighbours."""

from __future__ import annotations

from typing import Annotated

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class NetworkFields:
    """The network: wiring, and speeds that depend on neighbours."""

    # -- the network: node n hangs on router n // net[0], which belongs to group router // net[1]
    net: Annotated[
        Ints,
        Field(
            "3", "", "nodes of a router, routers of a group, groups (without a network: all nodes, 1, 1)", fixed=True
        ),
    ]
    traffic: Annotated[
        Ints, Field("J", "B/s", "bytes that each of its nodes sends a second while it works", fixed=True, entered=True)
    ]
    sensitive: Annotated[Ints, Field("J", "", "1: the job suffers from others' traffic", fixed=True, entered=True)]
    traffic_s: Annotated[Floats, Field("1", "s", "window that traffic is counted over (0: it is not)", fixed=True)]
    r_rate: Annotated[Ints, Field("NET", "B/s", "what the nodes of a router send now")]
    r_window: Annotated[Ints, Field("NET", "", "number of the window that r_time_s lies in")]
    r_bytes: Annotated[Floats, Field("NET", "B", "what they have sent in that window")]
    r_past: Annotated[Floats, Field("NET", "B", "what they sent in the window before it")]
    r_time_s: Annotated[Floats, Field("NET", "s", "up to when that is counted")]
    r_stalls: Annotated[Floats, Field("NET", "", "stalls of a router's ports, where somebody counts them")]

    # -- the network: speeds that depend on neighbours
    comm: Annotated[
        Floats,
        Field(
            "NJ",
            "",
            "part of its time that it communicates, nobody in the way (0: its speed is its own)",
            fixed=True,
            entered=True,
        ),
    ]
    lost_net_s: Annotated[Floats, Field("NJ", "s", "time at full speed lost to the network up to since_net_s")]
    since_net_s: Annotated[Floats, Field("NJ", "s", "when its present slowdown began")]
    n_room: Annotated[
        Floats, Field("2", "B/s", "bandwidth of links inside and between groups (or up and down)", fixed=True)
    ]
    n_gate: Annotated[
        Ints,
        Field(
            "NP,NQ",
            "",
            "router of a group (0 to a - 1) that leads to another group; a column for each link of each group",
            fixed=True,
        ),
    ]
    n_far: Annotated[Ints, Field("NP,NQ", "", "its link there, as a column of n_load", fixed=True)]
    n_load: Annotated[Ints, Field("NB,NL", "B/s", "load of a router's links, in the order of link_loads")]
    n_dirty: Annotated[Ints, Field("1", "", "1: loads have changed since speeds were settled")]
    n_changed: Annotated[Ints, Field("NG", "", "1: in this group")]
    n_owner: Annotated[Ints, Field("NN", "", "job that sends from a node (-1: none)", nothing=-1)]
    n_head: Annotated[
        Ints, Field("NJ", "", "first of its groups, as one of its nodes there (-1: it sends nothing)", nothing=-1)
    ]
    n_next: Annotated[Ints, Field("NN", "", "under such a node: the next of the job's groups")]
    n_group: Annotated[Ints, Field("NN", "", "under such a node: the group")]
    n_in: Annotated[Ints, Field("NN", "", "under such a node: nodes of the job in the group")]
    n_full: Annotated[
        Floats, Field("NN", "", "under such a node: load of the fullest of its links there, itself at full rate")
    ]
    n_met: Annotated[
        Floats, Field("NN", "B/s", "under such a node: its bytes times the loads by others that they meet")
    ]
    n_count: Annotated[Ints, Field("NL", "", "scratch: nodes of a job on a group's routers")]
    n_beyond: Annotated[Ints, Field("NL", "", "scratch: its nodes in the groups that a router's links lead to")]
    n_inside: Annotated[Ints, Field("NG", "", "scratch: its nodes in a group")]
