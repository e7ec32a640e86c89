"""From jobs, cluster and policies to a state that is ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.configurations import Moldable
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.profiles import ProfileTable, profile_table
from wattline.model.regulation import Bid
from wattline.model.rooms import add_rows, lay_out_heaps, lay_out_index, lay_out_winners
from wattline.model.state.layout import allocate
from wattline.model.state.record import State
from wattline.model.state.sizes import Sizes
from wattline.model.state.switches import OPT_BELIEF, OPT_CAPPED, OPT_RECLAIM, OPT_SLEEP, OPT_SORTED
from wattline.model.structures.nodes import lay_out_free
from wattline.wiring.fronts import Fronts, fronts_of
from wattline.wiring.options import Options
from wattline.wiring.rejected import first_estimates, reject
from wattline.wiring.subjects.late import check_late, fill_late, late_classes
from wattline.wiring.subjects.needs import check_needs
from wattline.wiring.subjects.network import fill_network, neighbour_sizes
from wattline.wiring.subjects.power import fill_power, learner_of, sampling_notes
from wattline.wiring.subjects.regulation import fill_kinds, fill_regulation, kind_codes
from wattline.wiring.subjects.resources import fill_resources
from wattline.wiring.subjects.responses import as_kinds_respond, fill_responses, response_sizes
from wattline.wiring.subjects.shapes import fill_shapes
from wattline.wiring.subjects.varied import as_counted, fill_varied


@dataclass(frozen=True)
class Prepared:
    """A state ready to run and what had to be said about the jobs on the way."""

    state: State
    notes: tuple[tuple[str, str, int, str], ...] = field(default=())
    """(action, reason, count, example) rows, as in a trace's notes."""
    profiles: ProfileTable | None = None
    """Numbers of the power profiles, where they are learned."""


@dataclass(frozen=True)
class _Facts:
    """What jobs, machine and policies come to before there is a state."""

    pool: Ints
    kind: Ints
    draw_w: Floats
    floor_w: Floats
    stretch: Floats
    classes: Floats
    """Rate classes as rows of pool, kind, draw, floor and stretch."""
    base_class: Ints
    moldable: tuple[Moldable, ...]
    fronts: Fronts
    links: dict[str, int]
    least_w: Floats
    """Lowest cap of every node class."""
    solo: bool
    """Whether jobs may have a rate class of their own."""
    by_profile: bool
    """Whether rate classes are fine enough for continuous caps."""
    learner: Mechanism | None
    table: ProfileTable | None


def prepare(jobs: JobTable, cluster: Cluster, policies: Sequence[Mechanism], options: Options) -> Prepared:
    """Lay out the state for a run; jobs that can never run are rejected here and said so."""
    check_needs(jobs, cluster, policies, options)
    check_late(policies, options)
    facts = _facts(jobs, cluster, policies, options)
    s = allocate(_sizes(jobs, cluster, policies, options, facts))
    _fill(s, jobs, cluster, options, facts)
    _fill_log_room(s, raises=any(m.recaps for m in policies), wild=not all(m.builtin for m in policies))
    notes: list[tuple[str, str, int, str]] = []
    capped = any(m.slot == "cap" and (m.caps or m.solo_caps) for m in policies)
    slows = options.outside or any(m.slot == "cap" and (m.levels or not m.builtin) for m in policies)
    chooses = any(m.shapes for m in policies)
    unknown = facts.learner is not None or options.exceed
    reject(s, jobs, cluster, notes, options.resources, unknown=unknown, capped=capped, slows=slows, chooses=chooses)
    first_estimates(s, policies, notes, len(jobs))
    s.n_users[0] = int(s.user.max(initial=-1)) + 1 + options.spare_rows
    for m in policies:
        s.mem_jobs[codes.SLOT_NAMES.index(m.slot)] = m.memory.per_job
    notes += sampling_notes(jobs, options)
    _switch_on(s, cluster, policies, options, believes=facts.learner is not None, capped=capped)
    return Prepared(s, tuple(notes), facts.table)


def _facts(jobs: JobTable, cluster: Cluster, policies: Sequence[Mechanism], options: Options) -> _Facts:
    """Return what the state is laid out by: node and rate class of every job, its power, what is learned and chosen."""
    learner = learner_of(policies)
    moldable = as_counted(tuple(options.configurations), options.variability)
    links = neighbour_sizes(jobs, cluster, options)
    pool = _pools(jobs, cluster)
    kind = kind_codes(jobs, options.kinds)
    told = as_kinds_respond(jobs, kind, options.kinds)
    draw_w, floor_w, stretch = _profiles(told, cluster, pool)
    caps = any(m.caps for m in policies)
    if any(m.slot == "cap" and (m.caps or m.solo_caps) for m in policies):
        _check_floors(told, draw_w, floor_w)
    classes, base_class = _rate_classes(pool, kind, draw_w, floor_w, stretch, len(cluster.classes), by_profile=caps)
    return _Facts(
        pool=pool,
        kind=kind,
        draw_w=draw_w,
        floor_w=floor_w,
        stretch=stretch,
        classes=classes,
        base_class=base_class,
        by_profile=caps,
        moldable=moldable,
        fronts=fronts_of(moldable),
        links=links,
        least_w=_least_caps_w(told, cluster, pool),
        solo=any(m.solo_caps for m in policies) or bool(links),
        learner=learner,
        table=profile_table(jobs, options.profiles) if learner is not None else None,
    )


def _sizes(jobs: JobTable, cluster: Cluster, policies: Sequence[Mechanism], options: Options, facts: _Facts) -> Sizes:
    """Return the extents of the state's arrays."""
    spare = options.spare_rows
    most_running = _most_running(jobs, cluster, options)
    base_classes = _base_classes(jobs, options, facts)
    shapes = sum(len(m.truth) for m in options.configurations)
    varied = options.variability is not None
    return Sizes(
        J=len(jobs) + spare,
        spare=spare,
        N=cluster.nodes,
        P=len(cluster.classes),
        C=base_classes + (most_running if facts.solo else 0),
        L=max(1, *(len(c.levels) for c in cluster.classes)),
        E=len(options.limit_w),
        K=2 * len(cluster.outages),
        Y=max(1, len(options.kinds)),
        S=0 if jobs.series is None else jobs.series.watts.size,
        V=1 if facts.table is None else len(facts.table.levels),
        NET=1 if cluster.network is None else cluster.network.routers,
        **facts.links,
        **response_sizes(options.kinds),
        Z=max(1, len(options.configurations)),
        A=shapes,
        SZ=facts.fronts.numbers,
        FR=facts.fronts.entries,
        F=cluster.nodes if varied else 0,
        U=shapes if varied else 0,
        RS=len(options.resources),
        G=0 if options.signal is None else options.signal.values.size,
        M=len(_with_end(options)),
        LC=late_classes(options, base_classes + (most_running if facts.solo else 0)),
        D=options.log_rows
        + (8 if all(m.builtin for m in policies) else 12) * most_running * (1 + facts.solo)
        + 4 * cluster.nodes
        + (base_classes if spare else len(facts.classes))
        + 4 * len(cluster.outages)
        + len(options.limit_w)
        + 2 * len(options.bids),
    )


def _most_running(jobs: JobTable, cluster: Cluster, options: Options) -> int:
    """Return how many jobs may run at once, and one more."""
    return (cluster.nodes if options.spare_rows else min(len(jobs), cluster.nodes)) + 1


def _base_classes(jobs: JobTable, options: Options, facts: _Facts) -> int:
    """Return how many rate classes there are room for, without those of jobs that are capped alone."""
    return len(jobs) + options.spare_rows if options.spare_rows and facts.by_profile else max(1, len(facts.classes))


def _fill(s: State, jobs: JobTable, cluster: Cluster, options: Options, facts: _Facts) -> None:
    """Write every subject into the state."""
    _fill_jobs(s, jobs, facts.pool, facts.draw_w, facts.floor_w, facts.stretch, facts.base_class)
    _fill_nodes(s, cluster, facts.least_w)
    fill_power(s, jobs, facts.table, options)
    fill_shapes(s, jobs, facts.moldable, options.chooses)
    fill_varied(s, jobs, cluster, options)
    unused = s.c_n.size - _base_classes(jobs, options, facts) if facts.solo else 0
    _fill_classes(s, facts.classes, facts.base_class, unused=unused)
    s.by_profile[0] = int(facts.by_profile)
    _fill_events(s, jobs, cluster, options)
    fill_network(s, jobs, cluster, options)
    s.kind[: len(jobs)] = facts.kind
    fill_kinds(s, options.kinds)
    fill_responses(s, options.kinds)
    fill_regulation(s, options.signal, _with_end(options), options.bidding)
    s.stop_cost_s[0] = options.stop_cost_s
    fill_late(s, options)
    fill_resources(s, options.resources)
    s.outside[0] = int(options.outside)
    _fill_index(s, len(jobs))


def _switch_on(
    s: State, cluster: Cluster, policies: Sequence[Mechanism], options: Options, *, believes: bool, capped: bool
) -> None:
    """Set the switches of a run: those of its options, and those that machine and policies decide on."""
    switches = options.switched() | {
        OPT_SORTED: any(m.sorted_running for m in policies),
        OPT_SLEEP: any(c.sleep is not None for c in cluster.classes),
        OPT_BELIEF: believes or any(m.told is not None for m in options.configurations),
        OPT_RECLAIM: any(m.recaps for m in policies),
        OPT_CAPPED: capped,
    }
    for bit, on in switches.items():
        s.option[bit] = int(on)


def _with_end(options: Options) -> Sequence[tuple[float, Bid | None]]:
    """Return the bids, with the end of those that a policy makes."""
    if options.bidding is None or not np.isfinite(options.bidding.until_s):
        return options.bids
    return [*options.bids, (options.bidding.until_s, None)]


def _pools(jobs: JobTable, cluster: Cluster) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the node class of every job: the one its partition names, otherwise the first wide enough (or the
    widest).
    """
    counts = np.array([c.count for c in cluster.classes], dtype=np.int64)
    pool = np.full(len(jobs), int(np.argmax(counts)), dtype=np.int64)
    for p in range(len(counts) - 1, -1, -1):
        pool[jobs.nodes <= counts[p]] = p
    by_name = {c.name: p for p, c in enumerate(cluster.classes)}
    if len(counts) > 1:
        for code, name in enumerate(jobs.partitions):
            if name in by_name:
                pool[jobs.partition == code] = by_name[name]
    return pool


def _profiles(jobs: JobTable, cluster: Cluster, pool: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return uncapped power, lowest power and stretch of every job, with the node class's values where it has none."""
    max_w = np.array([c.max_w for c in cluster.classes])
    least_w = np.array([c.max_w if np.isnan(c.min_cap_w) else c.min_cap_w for c in cluster.classes])
    draw_w = np.where(np.isnan(jobs.draw_w), max_w[pool], jobs.draw_w)
    floor_w = np.where(np.isnan(jobs.floor_w), least_w[pool], jobs.floor_w)
    # a job that draws less than the lowest cap is never slowed by one; with power over time that is so moment by moment
    steady = True if jobs.series is None else np.diff(jobs.series.first) == 0
    floor_w = np.where(steady, np.minimum(floor_w, draw_w), floor_w)
    # without a measurement, run time grows as power falls: speed in proportion to power
    with np.errstate(divide="ignore", invalid="ignore"):
        proportional = np.where(floor_w > 0, np.maximum(draw_w / floor_w, 1.0), 1.0)
    stretch = np.where(np.isnan(jobs.stretch), proportional, jobs.stretch)
    return draw_w, floor_w, stretch


def _least_caps_w(jobs: JobTable, cluster: Cluster, pool: np.ndarray) -> np.ndarray:
    """Return the lowest cap of every node class: its own, or the lowest floor of its jobs (no other can be capped)."""
    least_w = np.array([c.min_cap_w for c in cluster.classes])
    for p in np.flatnonzero(np.isnan(least_w)):
        own_w = jobs.floor_w[(pool == p) & ~np.isnan(jobs.floor_w)]
        least_w[p] = min(float(own_w.min(initial=np.inf)), cluster.classes[p].max_w)
    return least_w


def _check_floors(jobs: JobTable, draw_w: np.ndarray, floor_w: np.ndarray) -> None:
    """Refuse caps down to 0 W a node for jobs of which nobody says how fast they are there."""
    unknown = np.flatnonzero(np.isnan(jobs.stretch) & (floor_w == 0) & (draw_w > 0))
    if unknown.size:
        raise InputError(
            f"job {jobs.job_id[unknown[0]]} could be capped down to 0 W a node, and nothing says how fast it is there "
            "(speed in proportion to power would be none): give a lowest cap above 0 W (min_cap), or the job's "
            "floor_w and stretch"
        )


def _rate_classes(
    pool: np.ndarray,
    kind: np.ndarray,
    draw_w: np.ndarray,
    floor_w: np.ndarray,
    stretch: np.ndarray,
    pools: int,
    *,
    by_profile: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rate classes as rows (pool, kind, draw, floor, stretch) and every job's class.

    Without caps all jobs of a node class move together, whatever they draw.
    """
    if not by_profile:
        rows = np.column_stack([np.arange(pools, dtype=float), np.full(pools, -1.0), np.full((pools, 3), np.nan)])
        return rows, pool.astype(np.int64)
    columns = (pool, kind, draw_w, floor_w, stretch)
    base_class = np.zeros(pool.size, dtype=np.int64)
    # one column after the other, each of few values as a rule: to sort the rows as rows would take half of a short run
    for column in columns:
        if not np.all(column == column[:1]):
            values, code = np.unique(column, return_inverse=True)
            _, base_class = np.unique(base_class * values.size + code, return_inverse=True)
    _, first = np.unique(base_class, return_index=True)
    return np.column_stack([column[first].astype(float) for column in columns]), base_class.astype(np.int64)


def _fill_jobs(
    s: State,
    jobs: JobTable,
    pool: np.ndarray,
    draw_w: np.ndarray,
    floor_w: np.ndarray,
    stretch: np.ndarray,
    base_class: np.ndarray,
) -> None:
    n = s.n_jobs[0] = len(jobs)
    s.submit_s[:n] = jobs.submit_s
    s.work[:n] = s.remaining[:n] = jobs.work_s
    s.nodes[:n] = jobs.nodes
    s.request_s[:n] = np.where(np.isnan(jobs.request_s), np.inf, jobs.request_s)
    for name in ("user", "group", "kind", "priority", "after", "think_s"):
        getattr(s, name)[:n] = getattr(jobs, name)
    known = {"pool": pool, "draw_w": draw_w, "floor_w": floor_w, "stretch": stretch, "base_class": base_class}
    for name, column in known.items():
        getattr(s, name)[:n] = column
    if s.sizes.spare:
        add_rows(s, n)
    held = np.flatnonzero(jobs.after >= 0)
    held = held[np.argsort(jobs.after[held], kind="stable")]  # those that depend on the same job are siblings, in order
    parent = jobs.after[held]
    again = parent[1:] == parent[:-1]
    s.sibling[held[:-1][again]] = held[1:][again]
    first = np.concatenate([[True], ~again])[: held.size]
    s.child[parent[first]] = held[first]


def _fill_nodes(s: State, cluster: Cluster, least_w: np.ndarray) -> None:
    first = 0
    for p, c in enumerate(cluster.classes):
        s.pool_first[p], s.pool_count[p] = first, c.count
        lay_out_free(s, p, [(first, first + c.count)])
        s.idle_w[p], s.max_w[p] = c.idle_w, c.max_w
        s.min_cap_w[p] = least_w[p]
        s.level_idle_w[p, :] = c.idle_w
        s.n_levels[p] = max(1, len(c.levels))
        for i, level in enumerate(c.levels):
            s.level_rate[p, i], s.level_idle_w[p, i] = level.rate, level.idle_w
            s.level_busy[p, i] = level.busy_w / c.max_w
        if c.levels:
            s.level[p] = s.want_level[p] = len(c.levels) - 1
            s.idle_w[p] = c.levels[-1].idle_w
        if c.sleep is not None:
            s.sleep_w[p], s.sleep_after_s[p] = c.sleep.power_w, c.sleep.after_s
            s.sleep_entry_s[p], s.sleep_exit_s[p] = c.sleep.entry_s, c.sleep.exit_s
        first += c.count


def _fill_classes(s: State, rows: np.ndarray, base_class: np.ndarray, *, unused: int) -> None:
    """Fill in the rate classes; the last ``unused`` are for jobs capped alone, those between for jobs to come."""
    n = len(rows)
    s.c_pool[:n], s.c_kind[:n] = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    s.c_draw_w[:n], s.c_floor_w[:n], s.c_stretch[:n] = rows[:, 2], rows[:, 3], rows[:, 4]
    s.c_rows[:] = np.bincount(base_class, minlength=s.c_n.size)
    lay_out_heaps(s)
    s.solo[:unused] = np.arange(s.c_n.size - unused, s.c_n.size)
    s.n_solo[0] = unused
    if s.sizes.spare:
        between = np.arange(max(1, n), s.c_n.size - unused)[::-1]
        s.unused[: between.size], s.n_unused[0] = between, between.size
    for c in range(n):
        p = s.c_pool[c]
        s.c_rate[c], s.c_power[c] = s.level_rate[p, s.level[p]], s.level_busy[p, s.level[p]]
    lay_out_winners(s)


def _fill_events(s: State, jobs: JobTable, cluster: Cluster, options: Options) -> None:
    start = float(jobs.submit_s[0]) if len(jobs) else 0.0
    if options.start_s is not None:
        start = min(start, options.start_s) if len(jobs) else options.start_s
    steps = sorted(options.limit_w)
    s.now[0] = s.start_s[0] = start
    for i, (t, watts) in enumerate(steps):
        s.env_s[i], s.env_w[i] = t, watts
    while s.env_at[0] < len(steps) and s.env_s[s.env_at[0]] <= start:
        s.limit_w[0] = s.env_w[s.env_at[0]]
        s.env_at[0] += 1
    changes = []
    for o in cluster.outages:
        if o.first < 0 or o.count < 1 or o.first + o.count > cluster.nodes:
            raise InputError(
                f"outage of nodes {o.first} … {o.first + o.count - 1}: the cluster has nodes 0 … {cluster.nodes - 1}"
            )
        changes.append((o.start_s, codes.NODES_DRAIN if o.drain else codes.NODES_DOWN, o.first, o.first + o.count))
        changes.append((o.end_s, codes.NODES_UP, o.first, o.first + o.count))
    for i, (t, kind, a, b) in enumerate(sorted(changes)):
        s.change_s[i], s.change_kind[i], s.change_a[i], s.change_b[i] = t, kind, a, b
    s.tick_s[0], s.go_on_s[0], s.until_s[0] = options.tick_s, options.go_on_s, options.until_s
    s.schedule_s[0] = start  # the first instant looks up what is really next
    if any(c.sleep is not None for c in cluster.classes):
        s.fx_since_s[:] = start
        s.next_sleep_s[0] = start + float(np.min(s.sleep_after_s + s.sleep_entry_s))


def _fill_index(s: State, n: int) -> None:
    buckets = s.ix_used.size
    s.ix_bucket[:] = np.minimum(np.ceil(np.log2(np.maximum(s.nodes, 1))).astype(np.int64), buckets - 1)
    s.ix_rows[:] = np.bincount(s.ix_bucket[:n], minlength=buckets)
    lay_out_index(s)
    s.untidy[0] = 0


def _fill_log_room(s: State, *, raises: bool, wild: bool) -> None:
    """Note how full each log may be before an instant that fills it the most could overflow it.

    A policy of a user may fill all its lists with whatever it likes (``wild``): every row is judged, and every
    verdict is logged.
    """
    rows, running = s.a_time_s.size, s.running.size
    actions = 6 if wild else 3  # stops, starts, caps, levels; also resumptions, jobs that are shed, caps taken back
    s.log_room[0] = rows - (actions * running + s.c_n.size + s.free.size + 8)
    events = (
        8 if wild else 4
    ) + 2 * raises  # for each running job; caps that are raised may be taken back in the same instant
    s.log_room[1] = rows - (events * running + s.change_s.size + s.env_s.size + 2 * s.bid_s.size + 16)
    s.log_room[2] = rows - 2
    s.log_room[3] = rows - (2 * s.node_state.size + 2)  # every node may change hands twice
