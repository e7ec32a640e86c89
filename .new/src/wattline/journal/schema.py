"""What a journal holds: every table and column with its type, unit and meaning; the documentation prints this."""

from __future__ import annotations

from typing import NamedTuple

from wattline.market.hour import COLUMNS as HOUR_COLUMNS
from wattline.model import codes

_TYPES = {"float": "f64", "int": "i64", "str": "str"}


class Column(NamedTuple):
    """One column of a journal: ``dtype`` is ``i64``, ``f64`` or ``str``; ``null`` says whether it may be unknown.

    ``logged`` is the column of the engine's timeline (``TL_*``) that it holds as it is.
    """

    name: str
    dtype: str
    unit: str
    meaning: str
    null: bool = False
    logged: int | None = None


STATUSES = ("finished", "killed", "failed", "cancelled", "rejected", "unfinished")
EVENTS = ("submit", "start", "end", *codes.EVENT_NAMES, "reject", "cancel")
"""Events of the job table, those that the engine logs, jobs that can never run, and those that users took back."""

SCHEMA: dict[str, tuple[Column, ...]] = {
    "jobs": (
        Column("job_id", "i64", "", "number of the job in its trace"),
        Column("submit_s", "f64", "s", "when the user handed it in"),
        Column(
            "eligible_s",
            "f64",
            "s",
            "when it entered the queue (later than submit_s when it follows another)",
            null=True,
        ),
        Column("start_s", "f64", "s", "when it first got its nodes, or came to them late; null if never", null=True),
        Column("end_s", "f64", "s", "when it left its nodes for good; null if it never did", null=True),
        Column("nodes", "i64", "", "nodes it asked for"),
        Column("request_s", "f64", "s", "run time limit given by its user", null=True),
        Column("estimate_s", "f64", "s", "run time the policies were told", null=True),
        Column("work_s", "f64", "s", "run time at full speed (rate 1); job amount in a service-rate system", null=True),
        Column("user", "str", "", 'who submitted it ("" unknown)'),
        Column("group", "str", "", 'group of the user ("" unknown)'),
        Column("kind", "str", "", 'application or job type ("" unknown)'),
        Column("partition", "str", "", 'queue or partition ("" unknown)'),
        Column(
            "status",
            "str",
            "",
            "finished, killed (ran past its request), failed (with its node), cancelled (by its user, on a real "
            "machine), rejected or unfinished",
        ),
        Column("wait_s", "f64", "s", "start_s - eligible_s", null=True),
        Column("runtime_s", "f64", "s", "seconds it held its nodes, but for pauses", null=True),
        Column(
            "energy_j",
            "f64",
            "J",
            "energy of its nodes while they woke for it and while it worked; while it is paused they idle, at "
            "nobody's expense; null, as all power and energy, where no watts were given",
            null=True,
        ),
        Column("preemptions", "i64", "", "times it was stopped to be resumed later"),
        Column("restarts", "i64", "", "times it lost its nodes and was queued again"),
        Column("priority", "f64", "", "priority that its trace gave it"),
        Column("after", "i64", "", "row of this table, from 0, of the job that must end first; null: none", null=True),
        Column("think_s", "f64", "s", "time from the end of that job to when it enters the queue"),
        Column(
            "draw_w", "f64", "W", "power per node when uncapped, if its trace says it (else the nodes' own)", null=True
        ),
        Column("floor_w", "f64", "W", "power per node at its lowest cap, likewise", null=True),
        Column("stretch", "f64", "", "its run time at floor_w over that at draw_w, likewise", null=True),
        Column(
            "peak_w",
            "f64",
            "W",
            "greatest power per node that its trace tells; nothing is simulated with it",
            null=True,
        ),
        Column("recorded_energy_j", "f64", "J", "energy that its log recorded of it, likewise", null=True),
    ),
    "placements": (
        Column("job_id", "i64", "", "the job"),
        Column("first_node", "i64", "", "lowest node number of a contiguous range it held"),
        Column("count", "i64", "", "nodes in the range"),
        Column("start_s", "f64", "s", "held from"),
        Column("end_s", "f64", "s", "held until; null if still held when the run stopped", null=True),
    ),
    "events": (
        Column("time_s", "f64", "s", "when (rows are sorted by it)"),
        Column("event", "str", "", ", ".join(EVENTS)),
        Column("job_id", "i64", "", "the job, if one is concerned", null=True),
        Column(
            "nodes",
            "i64",
            "",
            "nodes concerned; of node-down, node-up and drain: those of the outage that begins or ends (a node in two "
            "outages is back with the last: `down_nodes` of the timeline counts it once)",
            null=True,
        ),
        Column(
            "value",
            "f64",
            "",
            "of limit, cap, bid and reserve: the new one (W; null: no bid); of level: the speed; of node-down, "
            "node-up and "
            "drain: the first node; of preempt, resume, requeue and fail: work that is left (s); of kill: the "
            "request (s); "
            "of wake: how long it takes (s)",
            null=True,
        ),
    ),
    "timeline": (
        Column(
            "time_s",
            "f64",
            "s",
            "this row holds from here to the next row (the last one to end_s of the manifest)",
            logged=codes.TL_TIME,
        ),
        Column(
            "power_w",
            "f64",
            "W",
            "power of all nodes; null where no watts were given",
            null=True,
            logged=codes.TL_POWER,
        ),
        Column("busy_nodes", "i64", "", "nodes held by jobs", logged=codes.TL_BUSY),
        Column("idle_nodes", "i64", "", "nodes awake without a job"),
        Column("asleep_nodes", "i64", "", "nodes asleep", logged=codes.TL_ASLEEP),
        Column("down_nodes", "i64", "", "nodes out of service", logged=codes.TL_DOWN),
        Column("queued_jobs", "i64", "", "jobs waiting for nodes", logged=codes.TL_QUEUED),
        Column("running_jobs", "i64", "", "jobs that hold nodes", logged=codes.TL_RUNNING),
        Column("limit_w", "f64", "W", "power limit in force (inf: none)", logged=codes.TL_LIMIT),
        Column("rate", "f64", "", "speed of the first node class (1: full)", logged=codes.TL_RATE),
        Column(
            "backlog",
            "f64",
            "s",
            "remaining work of all jobs in the system; null when not tracked",
            null=True,
            logged=codes.TL_BACKLOG,
        ),
        Column(
            "target_w",
            "f64",
            "W",
            "power that the regulation signal asks for; null without a bid",
            null=True,
            logged=codes.TL_TARGET,
        ),
    ),
    "decisions": (
        Column("time_s", "f64", "s", "when"),
        Column(
            "slot",
            "str",
            "",
            "which policy proposed: select, cap or bid; stop: select or the guard stopped or resumed a job",
        ),
        Column(
            "action", "str", "", "start, stop, resume, cap, level or bid: it says which of the other columns are filled"
        ),
        Column("job_id", "i64", "", "the job of a start, stop, resume or cap of its own", null=True),
        Column("nodes", "i64", "", "its nodes", null=True),
        Column("cap_w", "f64", "W", "power cap per node of a start or cap, if one was set", null=True),
        Column("rate_class", "i64", "", "the jobs of a common cap: those of one rate class of the engine", null=True),
        Column("class_jobs", "i64", "", "how many of them ran", null=True),
        Column("node_class", "str", "", 'the node class of a level ("" otherwise)'),
        Column("level", "i64", "", "its speed level, counted from 0", null=True),
        Column("mean_w", "f64", "W", "mean power of a bid", null=True),
        Column("reserve_w", "f64", "W", "reserve of a bid", null=True),
        Column("why", "str", "", "the policy's reason: in-order, backfill, reservation, ..."),
        Column("verdict", "str", "", "accepted, or the guard's reason to refuse"),
    ),
    "classes": (
        Column("node_class", "str", "", "name of the node class"),
        Column("nodes", "i64", "", "nodes in the class"),
        Column("busy_energy_j", "f64", "J", "energy of its busy nodes; null where no watts were given", null=True),
        Column(
            "idle_energy_j",
            "f64",
            "J",
            "energy of its idle nodes, also of those that a paused job holds; null where no watts were given",
            null=True,
        ),
        Column("sleep_energy_j", "f64", "J", "energy of its sleeping nodes; null where no watts were given", null=True),
        Column(
            "boot_energy_j",
            "f64",
            "J",
            "energy of its nodes while a job waited for some of them to wake; null where no watts were given",
            null=True,
        ),
        Column("busy_node_s", "f64", "s", "node-seconds held by jobs that work, wait for nodes to wake or are paused"),
        Column("idle_node_s", "f64", "s", "node-seconds idle"),
        Column("asleep_node_s", "f64", "s", "node-seconds asleep"),
        Column("down_node_s", "f64", "s", "node-seconds out of service"),
    ),
    "profiles": (
        Column("job_id", "i64", "", "the job, once it had started"),
        Column(
            "submit_level",
            "i64",
            "",
            "level of the profile that told its power when it entered the queue (behind the last: nothing was known, "
            "the maximum; then: known but doubted, the maximum)",
        ),
        Column("start_level", "i64", "", "that level when it started"),
        Column("start_w", "f64", "W", "power per node that admission counted with when it started"),
        Column("mean_w", "f64", "W", "mean power per node while it ran", null=True),
        Column(
            "seen_w", "f64", "W", "greatest sample of its power per node; null where it was never sampled", null=True
        ),
    ),
    "shapes": (
        Column(
            "job_id",
            "i64",
            "",
            "a job that chose a configuration; one that lost a node and began again has a row of its last start",
        ),
        Column("application", "str", "", "the application whose table it chose from"),
        Column("start_s", "f64", "s", "when it started in this configuration"),
        Column("nodes", "i64", "", "nodes"),
        Column("cores", "i64", "", "cores on each of them"),
        Column("cap_w", "f64", "W", "cap of a socket"),
        Column("turbo", "i64", "", "1 if that cap means: none, with turbo"),
        Column("time_s", "f64", "s", "its run time, on the nodes it got"),
        Column("power_w", "f64", "W", "what it draws, all nodes (its mean where caps may be raised)"),
        Column("told_s", "f64", "s", "run time that the policy was told"),
        Column("told_w", "f64", "W", "power that the policy was told, and admission counted with"),
        Column("limit_w", "f64", "W", "power limit when it started; null without one", null=True),
        Column("share_w", "f64", "W", "its fair share of that, P_job; null without a limit", null=True),
        Column(
            "room_w", "f64", "W", "power that was left below the limit when it started; null without one", null=True
        ),
        Column("room_nodes", "i64", "", "nodes that were free when it started"),
        Column(
            "rule",
            "str",
            "",
            "what makes it the best: share (fastest under the fair share), room (fastest with what was left), asked "
            "(as asked for, uncapped), least (of least power), other",
        ),
        Column("share_shape", "str", "", "the fastest configuration under its share, in words"),
        Column("share_told_s", "f64", "s", "run time that was told of it"),
        Column(
            "asked_shape",
            "str",
            "",
            "the configuration with the nodes asked for, all cores and no cap (fewer nodes where the limit allows no "
            "more), in words",
        ),
        Column("asked_told_s", "f64", "s", "run time that was told of it"),
    ),
    "slowdowns": (
        Column("job_id", "i64", "", "a job that has started and whose speed depends on the network"),
        Column("share", "f64", "", "part of its time that it communicates, nobody in the way"),
        Column("traffic", "f64", "B/s", "bytes that each of its nodes sends a second, nobody in the way"),
        Column("pattern", "str", "", "how it communicates"),
        Column("lost_s", "f64", "s", "run time that it lost to full links"),
        Column("slowdown", "f64", "", "its run time over its run time without that"),
    ),
    "measured": (
        Column("time_s", "f64", "s", "when the meters were read: of a real machine alone, empty for a simulated one"),
        Column("power_w", "f64", "W", "power of all nodes as measured; null where too few were heard", null=True),
        Column("nodes", "i64", "", "nodes that were heard"),
        Column("target_w", "f64", "W", "power that was asked for; null without a target", null=True),
        Column("limit_w", "f64", "W", "limit that control worked with, the guard's margin taken off (inf: none)"),
    ),
    "hours": tuple(
        Column(
            item.name, _TYPES[str(item.type)], item.metadata["unit"], item.metadata["meaning"], item.metadata["null"]
        )
        for item in HOUR_COLUMNS
    ),
}
"""Every file of a journal: name of the Parquet file → its columns."""
