"""Random worlds that follow a power target: the engine against plain twins of the select policies that do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from reference import gps, qoscap, slackline, target, track

NAME = "market"
CLOSE = 1e-9
SEEN: Counter[str] = Counter()
"""Worlds looked at, and those in which a decision hung on rounding: they prove nothing."""


@dataclass(frozen=True)
class World:
    """One world; None stands for *infinite* or *none*.

    ``kinds`` are (nodes, work, draw, floor, stretch, limit, weight, standby), ``jobs`` (submit, kind, work, nodes,
    request, draw, floor, stretch) by submit time, ``bids`` (from, mean, reserve), ``limits`` (from, watts), ``outages``
    (from, until, first node, count, drains).
    """

    select: str
    params: list[tuple[str, float]]
    cap: str
    order: str
    nodes: int
    idle: float
    lowest_cap: float
    kinds: list[tuple[int, float, float, float, float, float | None, float, bool]]
    jobs: list[tuple[float, int, float, int, float | None, float, float, float]]
    tick: float
    signal_from: float
    signal_step: float
    signal: list[float]
    bids: list[tuple[float, float | None, float]]
    limits: list[tuple[float, float]]
    outages: list[tuple[float, float, int, int, bool]]
    kill: bool
    requeue: bool
    keep_progress: bool
    ties: str
    stop_cost: float
    until: float
    curves: list[list[tuple[float, float]]] = field(default_factory=list)
    """Kind by kind, powers between floor and draw with the run time there, where caps do not go by the linear rule."""
    late_start: tuple[float, float] = (0.0, 0.0)
    """Least and greatest time that a job takes to be there."""
    late_cap: tuple[float, float] = (0.0, 0.0)
    """Least and greatest time that caps take to get into force."""


# ------------------------------------------------------------------ drawing


def draw(rng: np.random.Generator, size: str) -> World:
    """Draw a world: bursts and gaps, a target that jumps, kinds of every shape, policies with any parameters."""
    deep = size == "deep"
    pick, whole = partial(_pick, rng), partial(_whole, rng)
    dyadic = rng.random() < 0.6
    nodes = whole(1, 40) if deep or rng.random() < 0.1 else whole(1, 10)
    idle = float(pick(0, 32, 64, 96, 100)) if dyadic else round(100 * rng.random(), 1)
    tick = float(pick(1, 1, 1, 2, 0.5, 2.5)) if dyadic or rng.random() < 0.7 else round(0.3 + 3 * rng.random(), 2)
    select = pick("gps", "gps", "slackline", "slackline", "tracking-only", "energyqare", "qoscap", "qoscap")
    mixed = select == "energyqare" and rng.random() < 0.8  # kinds that suffer unlike each other, and some that wait
    kinds = [_kind(rng, k, nodes, dyadic=dyadic) for k in range(whole(1 + mixed, 6 if deep else 4))]
    if mixed:
        kinds = [(*kind[:5], kind[5] or 1.0, kind[6] or 0.5, False) for kind in kinds]
    if all(kind[7] for kind in kinds) and rng.random() < 0.9:
        kinds[0] = (*kinds[0][:6], 0.5, False)
    until = tick * whole(40, 200) if deep else tick * whole(8, 50)
    jobs = _jobs(rng, kinds, nodes, whole(20, 150) if deep else whole(1, 16), until, dyadic=dyadic)
    begin = jobs[0][0]
    until += begin
    step = float(pick(1, 2, 4, 5, 10)) if dyadic or rng.random() < 0.5 else round(0.4 + 7 * rng.random(), 2)
    signal_from = begin - step * whole(0, 4)
    levels = pick((-1.0, 1.0), (-1.0, 1.0, 1.0), (-1.0, 0.0, 1.0), (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0), None)
    size_y = whole(1, 40 if deep else 15)
    signal = [pick(*levels) if levels else round(2 * rng.random() - 1, 2) for _ in range(size_y)]
    low_w = nodes * idle
    high_w = max(low_w, nodes * max(k[2] for k in kinds))
    covered = signal_from + step * size_y
    times = (begin, until, signal_from, covered)
    bids = _bids(rng, 5 if deep else 3, times, low_w, high_w)
    limits = _limits(rng, begin, low_w, high_w)
    outages = _outages(rng, begin, nodes)
    if mixed:
        jobs = [_of_first(job, kinds[0]) if rng.random() < 0.5 else job for job in jobs]
        bids = [
            (
                t,
                max(1.0, float(round(low_w + 0.4 * rng.random() * (high_w - low_w)))),
                float(round((0.3 + rng.random()) * (high_w - low_w)) + 1),
            )
            for t, _, _ in bids
        ]
    params = _params(rng, select, dyadic=dyadic)
    curves: list[list[tuple[float, float]]] = []
    if rng.random() < 0.25:
        curves = [_curve(rng, kind, dyadic=dyadic) for kind in kinds]
        jobs = [(*job[:5], *kinds[job[1]][2:5]) if curves[job[1]] else job for job in jobs]
    return World(
        select=select,
        params=params,
        cap="none" if rng.random() < 0.12 else "match-target",
        order="lcfs" if rng.random() < 0.1 else "fcfs",
        nodes=nodes,
        idle=idle,
        lowest_cap=float(pick(1, 1, 64, 128, 200)),
        kinds=kinds,
        jobs=jobs,
        tick=tick,
        signal_from=signal_from,
        signal_step=step,
        signal=signal,
        bids=bids,
        limits=sorted(limits),
        outages=outages,
        kill=rng.random() < 0.15,
        requeue=rng.random() < 0.7,
        keep_progress=rng.random() < 0.5,
        ties="event" if rng.random() < 0.15 else "instant",
        stop_cost=float(pick(0, 0, 0.5, 2)),
        until=until,
        curves=curves,
    )


def _bids(
    rng: np.random.Generator, most: int, times: tuple[float, float, float, float], low_w: float, high_w: float
) -> list[tuple[float, float | None, float]]:
    """Draw bids, some of them none, some beyond what the machine can draw; the signal covers the first."""
    begin, until, signal_from, covered = times
    bids: list[tuple[float, float | None, float]] = []
    for i in range(_whole(rng, 1, most)):
        mean = max(1.0, float(round(low_w + (high_w - low_w) * (1.2 * rng.random() - 0.1))))
        at = signal_from if i == 0 and rng.random() < 0.8 else begin + float(_whole(rng, 0, max(0, int(until - begin))))
        if rng.random() < 0.12:
            bids.append((at, None, 0.0))
        else:
            bids.append(
                (
                    at,
                    mean,
                    float(
                        round(
                            _pick(rng, 0.0, 0.3, 0.5 + rng.random(), 0.5 + rng.random())
                            * rng.random()
                            * (high_w - low_w)
                        )
                    ),
                )
            )
    bids.sort(key=lambda b: b[0])
    if not signal_from <= bids[0][0] <= covered:
        bids[0] = (signal_from, *bids[0][1:])
    return bids


def _limits(rng: np.random.Generator, begin: float, low_w: float, high_w: float) -> list[tuple[float, float]]:
    """Draw power limits, mostly none."""
    if rng.random() >= 0.15:
        return []
    return [
        (
            begin + float(_whole(rng, -3, 20) if i else -1),
            float(round(low_w + (high_w - low_w) * (0.2 + rng.random())) + 1),
        )
        for i in range(_whole(rng, 1, 3))
    ]


def _outages(rng: np.random.Generator, begin: float, nodes: int) -> list[tuple[float, float, int, int, bool]]:
    """Draw outages of nodes, mostly none."""
    outages: list[tuple[float, float, int, int, bool]] = []
    for _ in range(_whole(rng, 1, 3) if rng.random() < 0.2 else 0):
        first = _whole(rng, 0, nodes - 1)
        off = begin + 0.5 * _whole(rng, 0, 40)
        outages.append((off, off + 0.5 * _whole(rng, 1, 40), first, _whole(rng, 1, nodes - first), rng.random() < 0.4))
    return outages


def _pick(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _whole(rng: np.random.Generator, least: int, most: int) -> int:
    return int(rng.integers(least, most + 1))


def draw_late(rng: np.random.Generator, size: str) -> World:
    """Draw a world in which jobs and caps are late, by times that are drawn or always the same."""
    world = draw(rng, size)

    def delay() -> tuple[float, float]:
        most = float(rng.integers(1, 25)) / 8
        least = most if rng.random() < 0.3 else 0.0 if rng.random() < 0.5 else most / 2
        return (least, most) if rng.random() < 0.8 else (0.0, 0.0)

    return replace(world, late_start=delay(), late_cap=delay())


def _delays(w: World) -> dict[str, Any]:
    """Return the delays of a world as the twin takes them: the numbers are drawn as the engine draws them."""
    from wattline.physics.random import LATE_CAPS, LATE_STARTS, uniforms

    def within(ends: tuple[float, float], stream: int, counter: int) -> float:
        return ends[0] + float(uniforms(0, stream, 1, first=counter)[0]) * (ends[1] - ends[0])

    found: dict[str, Any] = {}
    if w.late_start[1] > 0:
        found["start_delay"] = lambda number, again: within(w.late_start, LATE_STARTS, (again << 32) + number)
    if w.late_cap[1] > 0:
        found["cap_delay"] = lambda now: within(w.late_cap, LATE_CAPS, int(now * 1e6))
    return found


def _curve(rng: np.random.Generator, kind: Any, *, dyadic: bool) -> list[tuple[float, float]]:
    """Draw what was measured between the ends of a kind: nothing where no cap slows it."""
    _, _, high, low, slowest, *_ = kind
    if low >= high or slowest <= 1.0 or rng.random() < 0.2:
        return []
    count = int(rng.integers(1, 4))
    shares = [sorted(float(x) for x in rng.choice(np.arange(1, 16), count, replace=False) / 16) for _ in range(2)]
    points = [(low + a * (high - low), slowest + b * (1.0 - slowest)) for a, b in zip(*shares, strict=True)]
    return points if dyadic else [(round(w, 3), round(t, 5)) for w, t in points]


def _of_first(job: Any, kind: Any) -> Any:
    """Return a job as one of the first kind."""
    return (job[0], 0, kind[1], kind[0], job[4] and max(0.25, kind[1]), *kind[2:5])


def _kind(rng: np.random.Generator, k: int, nodes: int, *, dyadic: bool) -> Any:
    """Draw a kind: cappable or not, with a promise or without, standby now and then."""
    pick = partial(_pick, rng)
    width = 1 if rng.random() < 0.4 else int(rng.integers(1, max(1, nodes if rng.random() < 0.2 else nodes // 2) + 1))
    if dyadic:
        draw_w, stretch, work = (
            float(pick(128, 256, 256, 512)),
            float(pick(1, 1.5, 2, 3)),
            float(pick(1, 2, 5, 8, 20, 50)),
        )
        floor_w = draw_w * pick(0.25, 0.5, 0.75, 0.75, 1.0)
        work += pick(0.0, 0.125)  # ends need not meet ticks
        weight = float(pick(0.125, 0.25, 0.5, 1.0))
    else:
        draw_w, stretch, work = (
            float(rng.integers(90, 500)),
            round(1 + 2 * rng.random(), 2),
            round(60 * rng.random() + 0.1, 1),
        )
        floor_w = draw_w if rng.random() < 0.15 else round(draw_w * rng.random(), 1)
        weight = round(rng.random() + 0.01, 3)
    limit = None if rng.random() < 0.15 else float(pick(0.25, 0.5, 1, 2, 4))
    standby = bool(rng.random() < 0.2)
    return (width, work, draw_w, floor_w, stretch, limit, 0.0 if standby and rng.random() < 0.5 else weight, standby)


def _jobs(
    rng: np.random.Generator, kinds: list[Any], nodes: int, count: int, until: float, *, dyadic: bool
) -> list[Any]:
    """Draw jobs in bursts; most are as their kind says, some of no length, wider, or of a power of their own."""
    bursts = [float(rng.integers(0, max(1, int(until * 0.8)) + 1)) for _ in range(int(rng.integers(1, 6)))]
    jobs = []
    for _ in range(count):
        k = int(rng.integers(len(kinds)))
        width, work, draw_w, floor_w, stretch, *_ = kinds[k]
        submit = bursts[int(rng.integers(len(bursts)))]
        if rng.random() < 0.4:
            submit += float(rng.integers(0, 20)) / (4 if dyadic else 3)
        if rng.random() < 0.3:
            work = 0.0 if rng.random() < 0.3 else work * float(rng.integers(1, 9)) / 4
        if rng.random() < 0.1:
            width = int(rng.integers(1, nodes + 2))
        if rng.random() < 0.05:
            draw_w = 2 * draw_w
        request = None if rng.random() < 0.5 else max(0.25, work * float(rng.integers(2, 8)) / 4)
        jobs.append((submit, k, work, width, request, draw_w, floor_w, stretch))
    return sorted(jobs, key=lambda job: job[0])


def _params(rng: np.random.Generator, select: str, *, dyadic: bool) -> list[tuple[str, float]]:
    """Draw parameters of a policy."""
    of = lambda most: float(rng.integers(0, int(8 * most) + 1)) / 8 if dyadic else round(most * rng.random(), 2)  # noqa: E731
    if select == "gps":
        return [
            ("carry", float(rng.integers(2))),
            ("preempt", float(rng.integers(3))),
            ("standby", float(rng.integers(2))),
            ("rounding", float(rng.integers(3))),
            ("fixed", float(rng.integers(2))),
        ]
    if select == "slackline":
        return [
            ("force", of(1.5)),
            ("hold", of(1.5)),
            ("slow", of(1.5)),
            ("stop", of(1.5) if rng.random() < 0.6 else 0.0),
            ("fill", of(1.0)),
        ]
    if select == "qoscap":
        return [("near", of(1.25)), ("meets", of(1.5)), ("hold", float(rng.integers(2)))]
    if select == "energyqare":
        return [("largest", float(rng.integers(3))), ("bounded", float(rng.integers(2)))]
    return []


# ------------------------------------------------------------------ both sides


def twin_of(w: World) -> target.Machine:
    """Return the plain machine of a world, yet to run."""
    numbers = [w.idle, w.lowest_cap, w.tick, w.signal_from, w.signal_step, w.stop_cost, *w.signal]
    numbers += [x for job in w.jobs for x in (job[0], job[2], job[4] or 0.0, *job[5:])]
    numbers += [x for kind in w.kinds for x in (*kind[:5], kind[5] or 0.0, kind[6])]
    numbers += [x for bid in w.bids for x in (bid[0], bid[1] or 0.0, bid[2])]
    numbers += [x for curve in w.curves for point in curve for x in point]
    dyadic = all(float(x * 1024).is_integer() for x in numbers)
    dyadic = dyadic and all(math.frexp(job[5])[0] == 0.5 for job in w.jobs)  # floor over draw is exact then
    kinds = [target.Kind(k[0], k[1], k[2], math.inf if k[5] is None else k[5], k[6], k[7]) for k in w.kinds]
    jobs = [
        target.Job(i, j[0], j[1], j[2], j[3], j[5], min(j[5], j[6]), j[7], math.inf if j[4] is None else j[4])
        for i, j in enumerate(w.jobs)
    ]
    if w.curves:
        for job in jobs:
            job.curve = tuple(w.curves[job.kind])
    params = dict(w.params)
    preempt = int(params.pop("preempt", 0))
    rules: dict[str, Any] = {
        "gps": lambda: gps.sharing(
            carry=params["carry"] == 1,
            preempt=preempt > 0,
            standby=params["standby"] == 1,
            rounding=int(params.get("rounding", 0)),
            fixed=params.get("fixed", 0) == 1,
        ),
        "slackline": lambda: slackline.by_need(**params),
        "qoscap": lambda: qoscap.sparing(near=params["near"], meets=params["meets"], hold=params["hold"] == 1),
        "tracking-only": lambda: track.below_target,
        "energyqare": lambda: track.energyqare(largest=int(params["largest"]), bounded=params.get("bounded", 0) == 1),
    }
    setup = target.Setup(
        w.nodes,
        w.idle,
        w.lowest_cap,
        kinds,
        w.tick,
        w.signal_from,
        w.signal_step,
        w.signal,
        w.bids,
        w.limits,
        w.outages,
        caps=w.cap == "match-target",
        newest_first=w.order == "lcfs",
        kill=w.kill,
        requeue=w.requeue,
        keep_progress=w.keep_progress,
        event=w.ties == "event",
        stop_cost=w.stop_cost,
        until=w.until,
        dyadic=dyadic and w.late_start[1] == w.late_cap[1] == 0,
        **_delays(w),
    )
    return target.Machine(jobs, setup, rules[w.select](), holds=preempt == 1 or params.get("stop", 0.0) > 0)


def engine_of(w: World) -> Any:
    """Return the engine's result of a world."""
    from wattline.control.catalog import find
    from wattline.model.cluster import Cluster, NodeClass, Outage
    from wattline.model.jobs import JobTable
    from wattline.model.kinds import Kind
    from wattline.model.regulation import Bid, Signal
    from wattline.sim.simulate import simulate
    from wattline.wiring.options import Options
    from wattline.wiring.policies import Policies

    kinds = [
        Kind(f"k{i}", k[0], k[1], k[2], k[3], k[4], math.inf if k[5] is None else k[5], weight=k[6], standby=k[7])
        for i, k in enumerate(w.kinds)
    ]
    for i, curve in enumerate(w.curves):
        if curve:
            k = kinds[i]
            kinds[i] = replace(k, response=((k.floor_w, k.stretch), *curve, (k.draw_w, 1.0)))
    submit, kind, work, nodes, request, draws, floors, stretch = zip(*w.jobs, strict=True)
    jobs = JobTable.build(
        submit_s=submit,
        kind=kind,
        kinds=tuple(k.name for k in kinds),
        work_s=work,
        nodes=nodes,
        request_s=[math.nan if r is None else r for r in request],
        draw_w=draws,
        floor_w=floors,
        stretch=stretch,
    )
    options = Options(
        ties=w.ties,
        kill=w.kill,
        requeue=w.requeue,
        keep_progress=w.keep_progress,
        tick_s=w.tick,
        limit_w=w.limits,
        kinds=kinds,
        signal=Signal(w.signal_from, w.signal_step, np.array(w.signal)),
        bids=[(t, None if mean is None else Bid(mean, reserve)) for t, mean, reserve in w.bids],
        stop_cost_s=w.stop_cost,
        until_s=w.until,
        log_rows=4096,
        late_start_s=w.late_start,
        late_cap_s=w.late_cap,
    )
    most_w = max([w.idle, w.lowest_cap, *draws])
    machine = Cluster(
        (NodeClass("node", w.nodes, w.idle, most_w, w.lowest_cap),), outages=tuple(Outage(*o) for o in w.outages)
    )
    chosen = {
        "order": w.order,
        "select": w.select,
        "place": "lowest",
        "cap": w.cap,
        "learn": "request",
        "profile": "known",
        "bid": "given",
    }
    policies = Policies(**{slot: find(slot, name) for slot, name in chosen.items()}, params={"select": dict(w.params)})
    return simulate(jobs, machine, policies, options)


def check(world: World) -> str | None:
    """Run engine and twin; return the first difference in a line, or None (also where rounding decides: see
    ``SEEN``).
    """
    SEEN["worlds"] += 1
    twin = twin_of(world)
    try:
        twin.run()
    except target.UnclearError:
        SEEN["unclear"] += 1
        return None
    return difference(engine_of(world), twin)


def difference(result: Any, twin: target.Machine) -> str | None:
    """Tell the first difference between the engine's result and the twin's."""
    from wattline.model import codes

    logs, s = result.logs, result.state
    named = {codes.ACT_START: "start", codes.ACT_STOP: "stop", codes.ACT_RESUME: "resume"}
    rows = [i for i in range(len(logs["a_kind"])) if int(logs["a_kind"][i]) in named]
    for i in rows:
        if logs["a_verdict"][i] != codes.OK:
            return (
                f"{named[int(logs['a_kind'][i])]} of job {logs['a_job'][i]} at {logs['a_time_s'][i]} s refused: "
                f"{codes.VERDICT_NAMES[logs['a_verdict'][i]]}"
            )
    did = [(float(logs["a_time_s"][i]), named[int(logs["a_kind"][i])], int(logs["a_job"][i])) for i in rows]
    for i in range(max(len(did), len(twin.actions))):
        mine, theirs = (line[i] if i < len(line) else None for line in (did, twin.actions))
        if mine is None or theirs is None or mine[1:] != theirs[1:] or _apart(mine[0], theirs[0]):
            return f"action {i}: engine {mine}, twin {theirs}"
    for j in twin.jobs:
        status = codes.STATUS_NAMES[s.status[j.number]]
        fate = (status, int(s.preemptions[j.number]), int(s.restarts[j.number]))
        if fate != (j.status, j.stops, j.restarts):
            return f"job {j.number}: engine {fate}, twin {(j.status, j.stops, j.restarts)}"
        for name, mine, theirs in (("starts", s.started_s, j.started), ("ends", s.end_s, j.ended)):
            if _apart(float(mine[j.number]), theirs):
                return f"job {j.number} {name} at {float(mine[j.number])} s in the engine, at {theirs} s in the twin"
        if not math.isnan(j.ended) and _apart(float(s.energy_j[j.number]), j.energy):
            return f"job {j.number} used {float(s.energy_j[j.number])} J in the engine, {j.energy} J in the twin"
    columns = [codes.TL_TIME, codes.TL_POWER, codes.TL_TARGET, codes.TL_BUSY, codes.TL_QUEUED, codes.TL_RUNNING]
    seen = _merged([tuple(float(row[c]) for c in columns) for row in logs["timeline"]])
    told = _merged(twin.rows)
    if twin.setup.cap_delay is not None:  # a cap that is set again but for its last digits leaves a row
        seen, told = _that_change(seen), _that_change(told)
    for i in range(max(len(seen), len(told))):
        mine, theirs = (line[i] if i < len(line) else None for line in (seen, told))
        if mine is None or theirs is None or any(_apart(a, b) for a, b in zip(mine, theirs, strict=True)):
            return f"row {i} (time, power, target, busy, queued, on nodes): engine {mine}, twin {theirs}"
    return None


def _that_change(rows: list[Any]) -> list[Any]:
    """Return rows that say something else than the one before."""
    return [
        row
        for i, row in enumerate(rows)
        if i == 0 or any(_apart(a, b) for a, b in zip(row[1:], rows[i - 1][1:], strict=True))
    ]


def _merged(rows: list[Any]) -> list[Any]:
    """Return rows without those whose time is the next one's but for its last digits."""
    last = len(rows) - 1
    return [row for i, row in enumerate(rows) if i == last or _apart(row[0], rows[i + 1][0])]


def _apart(a: float, b: float) -> bool:
    """Tell whether two numbers differ by more than sums of floats do."""
    return not (math.isnan(a) and math.isnan(b)) and not abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b))


# ------------------------------------------------------------------ shrinking


def shrink(world: World) -> Iterator[World]:
    """Yield smaller worlds, the most drastic first."""
    for name in ("outages", "limits", "curves"):
        if getattr(world, name):
            yield replace(world, **{name: []})
    for name, plain in (
        ("kill", False),
        ("ties", "instant"),
        ("order", "fcfs"),
        ("stop_cost", 0.0),
        ("cap", "match-target"),
    ):
        if getattr(world, name) != plain:
            yield replace(world, **{name: plain})
    for name in ("jobs", "signal", "bids", "limits", "outages"):
        rows = getattr(world, name)
        part = len(rows) // 2
        while part:
            for at in range(0, len(rows), part):
                fewer = [*rows[:at], *rows[at + part :]]
                if fewer and (
                    name != "bids"
                    or world.signal_from <= fewer[0][0] <= world.signal_from + world.signal_step * len(world.signal)
                ):
                    yield replace(world, **{name: fewer})
            part //= 2
    used = sorted({job[1] for job in world.jobs})
    if len(used) < len(world.kinds):
        jobs = [(job[0], used.index(job[1]), *job[2:]) for job in world.jobs]
        curves = [world.curves[k] for k in used] if world.curves else []
        yield replace(world, kinds=[world.kinds[k] for k in used], jobs=jobs, curves=curves)
    for until in (world.jobs[0][0] + (world.until - world.jobs[0][0]) / 2, world.until - world.tick):
        if until > world.jobs[0][0]:
            yield replace(world, until=until)
    if world.nodes > 1 and not world.outages:
        yield replace(world, nodes=world.nodes - 1)
    for i, job in enumerate(world.jobs):
        for smaller in ((0.0, *job[1:]), (*job[:4], None, *job[5:]), (*job[:2], world.kinds[job[1]][1], *job[3:])):
            if smaller != job and not (smaller[0] != job[0] and i):
                yield replace(world, jobs=[*world.jobs[:i], smaller, *world.jobs[i + 1 :]])
