"""Configurations that moldable jobs choose among."""

from __future__ import annotations

from typing import Annotated

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class ShapeFields:
    """Configurations that moldable jobs choose among."""

    # -- configurations: moldable jobs choose among those of their application
    asked_nodes: Annotated[Ints, Field("J", "", "nodes the user asked for", fixed=True, entered=True)]
    asked_s: Annotated[Floats, Field("J", "s", "time the user asked for, kept while a configuration has its own")]
    asked_work: Annotated[Floats, Field("J", "s", "run time as asked for, kept likewise")]
    asked_estimate_s: Annotated[Floats, Field("J", "s", "estimate of that, kept likewise")]
    asked_draw_w: Annotated[Floats, Field("J", "W", "power per node as asked for, kept likewise")]
    asked_profile_w: Annotated[Floats, Field("J", "W", "power per node that admission expected, kept likewise")]
    app: Annotated[
        Ints, Field("J", "", "application (-1: the job runs as it asks for)", fixed=True, entered=True, nothing=-1)
    ]
    shape: Annotated[Ints, Field("J", "", "configuration it runs in (-1: as asked for)", nothing=-1)]
    start_shape: Annotated[
        Ints, Field("J", "", "configuration it started in; a higher cap may have come since", nothing=-1)
    ]
    shape_limit_w: Annotated[Floats, Field("J", "W", "power limit when it took that configuration")]
    shape_room_w: Annotated[Floats, Field("J", "W", "power that was left below the limit then")]
    shape_room: Annotated[Ints, Field("J", "", "nodes that were free then")]
    app_first: Annotated[Ints, Field("Z", "", "first configuration of an application", fixed=True)]
    app_count: Annotated[Ints, Field("Z", "", "its configurations", fixed=True)]
    sh_nodes: Annotated[Ints, Field("A", "", "nodes of a configuration", fixed=True)]
    sh_cores: Annotated[Ints, Field("A", "", "cores on each of them", fixed=True)]
    sh_cap_w: Annotated[Floats, Field("A", "W", "cap of each processor", fixed=True)]
    sh_time_s: Annotated[Floats, Field("A", "s", "run time in it", fixed=True)]
    sh_power_w: Annotated[Floats, Field("A", "W", "power of the whole job in it", fixed=True)]
    sh_told_s: Annotated[Floats, Field("A", "s", "run time that policies are told", fixed=True)]
    sh_told_w: Annotated[Floats, Field("A", "W", "power that policies and admission are told", fixed=True)]
    sh_up: Annotated[
        Ints, Field("A", "", "next faster one with the same nodes and cores (-1: none)", fixed=True, nothing=-1)
    ]
    app_sizes: Annotated[Ints, Field("Z", "", "first number of nodes of an application in fr_*", fixed=True)]
    app_n_sizes: Annotated[Ints, Field("Z", "", "how many numbers of nodes it has", fixed=True)]
    app_least: Annotated[Ints, Field("Z", "", "its configuration of least power, as told", fixed=True)]
    fr_nodes: Annotated[Ints, Field("SZ", "", "a number of nodes, ascending", fixed=True)]
    fr_first: Annotated[
        Ints, Field("SZ", "", "first entry of the front of all with at most that many nodes", fixed=True)
    ]
    fr_count: Annotated[Ints, Field("SZ", "", "its entries: more power each, and less time", fixed=True)]
    fr_row: Annotated[Ints, Field("FR", "", "configuration", fixed=True)]
    fr_told_w: Annotated[Floats, Field("FR", "W", "its power, as told", fixed=True)]
