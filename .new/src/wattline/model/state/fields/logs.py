"""Logs: the actions of a pass, and rows on their way to the journal."""

from __future__ import annotations

from typing import Annotated

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class LogFields:
    """Logs: the actions of a pass, and rows on their way to the journal."""

    # -- actions of the pass, which are the rows of the decision log from a_from on
    a_from: Annotated[Ints, Field("1", "", "first action of the current pass")]
    a_n: Annotated[Ints, Field("1", "", "one past the last")]
    a_time_s: Annotated[Floats, Field("D", "s", "time", block="actions")]
    a_kind: Annotated[Ints, Field("D", "", "start, stop, cap or level", block="actions")]
    a_job: Annotated[Ints, Field("D", "", "job, or rate class, or node class", block="actions")]
    a_nodes: Annotated[Ints, Field("D", "", "nodes, or level", block="actions")]
    a_cap_w: Annotated[Floats, Field("D", "W", "cap per node", block="actions")]
    a_why: Annotated[Ints, Field("D", "", "the policy's reason", block="actions")]
    a_verdict: Annotated[Ints, Field("D", "", "the guard's verdict", block="actions")]

    # -- other logs
    ev_n: Annotated[Ints, Field("1", "", "rows of the event log")]
    ev_time_s: Annotated[Floats, Field("D", "s", "time")]
    ev_kind: Annotated[Ints, Field("D", "", "code of wattline.model.codes.EVENT_NAMES")]
    ev_job: Annotated[Ints, Field("D", "", "job (-1: none)")]
    ev_value: Annotated[Floats, Field("D", "", "limit, level, first node, …")]
    ev_nodes: Annotated[Ints, Field("D", "", "nodes")]
    log_room: Annotated[
        Ints, Field("4", "", "rows of the decision, event, timeline and placement logs that leave room", fixed=True)
    ]
    tl_n: Annotated[Ints, Field("1", "", "rows of the timeline")]
    timeline: Annotated[Floats, Field("D,T", "", "one row an instant; columns TL_*")]
    px_n: Annotated[Ints, Field("1", "", "rows of the placement log")]
    px_job: Annotated[Ints, Field("D", "", "job", block="places")]
    px_first: Annotated[Ints, Field("D", "", "first node", block="places")]
    px_count: Annotated[Ints, Field("D", "", "nodes", block="places")]
    px_from_s: Annotated[Floats, Field("D", "s", "from", block="places")]
    px_until_s: Annotated[Floats, Field("D", "s", "until", block="places")]
