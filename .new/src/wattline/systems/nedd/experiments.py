"""The experiments of the congestion study: four settings, canaries beside congestors, placements, two jobs in two
orders.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.physics.packets.jobs import Communicate, PacketJob, Step
from wattline.physics.packets.metrics import (
    host_rates,
    router_stalls,
    router_traffic,
    stall_flit_ratio,
    stall_thresholds,
    tile_samples,
    tile_stalls,
)
from wattline.policies.place.allocate import allocate
from wattline.systems.nedd.cases import (
    ALONE,
    BLOCK,
    BLOCKS,
    CHOSEN,
    CONGESTOR,
    LAST_S,
    ORDERS,
    POLICIES,
    SETTINGS,
    SIZE,
    SMALL,
    STEP_S,
    WARM_S,
    WINDOW_S,
    Row,
    Task,
    given,
    gpcnet,
    layout_of,
    others_of,
    program,
    simulator,
)

RING = Communicate("random-ring", 32_768)
BESIDE = 2
"""The insensitive job beside the sensitive one has so many times its nodes."""
CANARIES: dict[str, tuple[tuple[Step, ...], int]] = {
    "bandwidth": ((RING,), 6),
    "latency": ((Communicate("random-ring", 8),), 30),
    "allreduce": ((Communicate("allreduce", 8),), 20),
}
"""The canary's tests: what it does, and how often."""
ROTATIONS = 10


def settings(task: Task) -> Row:
    """Run an application in settings I to IV; return times over setting I by design, and the metrics of its routers."""
    network, app = simulator(task.machine, task.crossbar), program(task.machine, task.crossbar, task.what, SIZE)
    runs, places = [], []
    nodes, everybody = given(task.machine, task.seed), others_of(task.machine, task.crossbar, task.seed)
    for setting in range(4):
        own, others = layout_of(setting, task.seed, ROTATIONS, nodes)
        jobs = [app.job(own, task.seed, at_least_s=LAST_S, start_s=WARM_S), *everybody]
        jobs += gpcnet(others, task.seed) if setting >= 2 else ()
        runs.append(network.run(jobs, seed=task.seed, interval=STEP_S))
        places.append(own)
    samples = [tile_samples(run, WARM_S) for run in runs]
    limits = stall_thresholds(samples)
    row: Row = {}
    for name, run, own, seen in zip(SETTINGS, runs, places, samples, strict=True):
        routers = np.unique(network.network.router_of(own))
        host = host_rates(run, own, WARM_S)
        row[f"{name}: time"] = app.time_s(run.jobs[0]) / app.iteration_s
        row[f"{name}: ntile ratio"] = stall_flit_ratio(seen, limits, routers)
        row[f"{name}: ntile stalls"] = tile_stalls(seen, routers)
        row[f"{name}: ptile flits"], row[f"{name}: ptile stalls"] = host.flits, host.stalls
    return row


def _impact(task: Task, nodes: Ints, strength: str) -> Row:
    """Return the canary's impact factors beside a congestor, and the stall/flit ratio of the congestor's routers."""
    network = simulator(task.machine, task.crossbar)
    everybody = others_of(task.machine, task.crossbar, task.seed)
    congestor, canary = gpcnet(nodes, task.seed, strength)
    row: Row = {}
    for name, (steps, repeat) in CANARIES.items():
        job = PacketJob(canary.placed, steps, repeat=repeat, seed=task.seed, start_s=WARM_S)
        alone, beside = (
            network.run(jobs, seed=task.seed) for jobs in ([job, *everybody], [job, congestor, *everybody])
        )
        ratio = beside.jobs[0].elapsed_s / alone.jobs[0].elapsed_s
        row[name] = 1 / ratio if name == "bandwidth" else ratio
    jobs = [congestor, canary, *everybody]
    run = network.run(jobs, seed=task.seed, until=WARM_S + 2 * WINDOW_S, interval=STEP_S)
    seen = tile_samples(run, WARM_S)
    row["ntile ratio"] = stall_flit_ratio(seen, stall_thresholds([seen]), np.unique(network.network.router_of(nodes)))
    return row


def strength(task: Task) -> Row:
    """Try a congestor: the canary's impact factors and, beside it, LAMMPS and miniMD in setting IV over setting II."""
    _, others = layout_of(3, task.seed, ROTATIONS, given(task.machine, task.seed))
    row = _impact(task, others, task.what)
    for name in ("LAMMPS", "miniMD"):
        row[name] = _slowdown(task, name, task.what)
    return row


def _slowdown(task: Task, name: str, strength: str) -> float:
    """Return the time of an application in setting IV over that in setting II."""
    network = simulator(task.machine, task.crossbar)
    own, others = layout_of(3, task.seed, ROTATIONS, given(task.machine, task.seed))
    app = program(task.machine, task.crossbar, name, SIZE)
    jobs = [app.job(own, task.seed, at_least_s=LAST_S, start_s=WARM_S)]
    jobs += others_of(task.machine, task.crossbar, task.seed)
    alone = network.run(jobs, seed=task.seed)
    beside = network.run([*jobs, *gpcnet(others, task.seed, strength)], seed=task.seed)
    return app.time_s(beside.jobs[0]) / app.time_s(alone.jobs[0])


def reading(task: Task) -> Row:
    """Try another reading of an application's profile: setting IV over setting II."""
    return {"slowdown": _slowdown(task, task.what, CHOSEN)}


def alone(task: Task) -> Row:
    """Run congestor and canary without an application on so many of the nodes of a list, spaced where they fit (Fig.
    3.20).
    """
    size = int(task.what)
    step = 2 if size <= CONGESTOR else 1
    begin = 4 * (5 * task.seed % 16)
    return _impact(task, given(task.machine, task.seed)[begin : begin + step * size : step], CHOSEN)


def available(task: Task) -> tuple[Ints, Ints]:
    """Return the nodes of the NeDD study (five sets of 40 neighbours) and those of the congestor."""
    random = np.random.default_rng([task.seed, 11])
    got = given(task.machine, task.seed)
    if got.size > BLOCK * BLOCKS:
        first = np.sort(random.permutation(got.size // BLOCK)[:BLOCKS]) * BLOCK
        got = got[(first[:, None] + np.arange(BLOCK)).ravel()]
    if task.layout == "scattered":
        return got, np.sort(random.permutation(got)[:CONGESTOR])
    pieces = random.permutation(got.size // 8)[: CONGESTOR // 8]
    return got, np.sort((got.reshape(-1, 8)[pieces]).ravel())


def _measured(task: Task, congestor: Ints) -> tuple[Floats, Floats]:
    """Return traffic and stalls of every router while the congestor runs alone: what policies are told."""
    jobs = [*gpcnet(congestor, task.seed), *others_of(task.machine, task.crossbar, task.seed)]
    run = simulator(task.machine, task.crossbar).run(jobs, seed=task.seed, until=WARM_S + WINDOW_S, interval=STEP_S)
    return router_traffic(run, WARM_S), router_stalls(run, WARM_S)


def placed(task: Task) -> Row:
    """Place an application beside a running congestor by every policy; return times over that by design."""
    network, app = simulator(task.machine, task.crossbar), program(task.machine, task.crossbar, task.what, SMALL)
    nodes, busy = available(task)
    traffic, stalls = _measured(task, busy)
    free = np.setdiff1d(nodes, busy)
    everybody = others_of(task.machine, task.crossbar, task.seed)
    others = [*gpcnet(busy, task.seed), *everybody]
    row: Row = {}
    for name, policy in POLICIES.items():
        own = allocate(policy, network.network, free, SMALL, task.seed, traffic=list(traffic), stalls=list(stalls))
        job = app.job(own, task.seed, at_least_s=LAST_S, start_s=WARM_S)
        row[name] = app.time_s(network.run([job, *others], seed=task.seed).jobs[0]) / app.iteration_s
        row[f"{name}: shared"] = float(
            np.isin(own // network.network.nodes_per_router, busy // network.network.nodes_per_router).mean()
        )
    own = allocate("fewer-router", network.network, nodes, SMALL, task.seed)
    job = app.job(own, task.seed, at_least_s=LAST_S, start_s=WARM_S)
    row[ALONE] = app.time_s(network.run([job, *everybody], seed=task.seed).jobs[0]) / app.iteration_s
    return row


def order(task: Task) -> Row:
    """Place a sensitive and an insensitive application one after the other beside a congestor, both ways round.

    Then run all of them.
    """
    network = simulator(task.machine, task.crossbar)
    apps = {name: program(task.machine, task.crossbar, name, SMALL) for name in task.what.split(" and ")}
    sensitive, other = apps
    size = {sensitive: SMALL, other: BESIDE * SMALL}
    nodes, busy = available(task)
    traffic, stalls = _measured(task, busy)
    everybody = [*gpcnet(busy, task.seed), *others_of(task.machine, task.crossbar, task.seed)]
    row: Row = {}
    for way, (policy, other_policy, first) in ORDERS.items():
        by = {sensitive: policy, other: other_policy}
        free, jobs = np.setdiff1d(nodes, busy), {}
        for i, name in enumerate((sensitive, other) if first else (other, sensitive)):
            own = allocate(
                by[name],
                network.network,
                free,
                size[name],
                task.seed,
                traffic=list(traffic),
                stalls=list(stalls),
                job=i,
            )
            free = np.setdiff1d(free, own)
            jobs[name] = apps[name].job(own, task.seed, at_least_s=LAST_S, start_s=WARM_S)
        for name in apps:  # each for its whole run, the other one going on as long
            rest = [_endless(job) for other_name, job in jobs.items() if other_name != name]
            run = network.run([jobs[name], *rest, *everybody], seed=task.seed)
            row[f"{way}: {name}"] = apps[name].time_s(run.jobs[0]) / apps[name].iteration_s
    return row


def _endless(job: PacketJob) -> PacketJob:
    return PacketJob(job.placed, job.steps, background=True, seed=job.seed, start_s=job.start_s, name=job.name)


KINDS: dict[str, Callable[[Task], Row]] = {
    "settings": settings,
    "strength": strength,
    "reading": reading,
    "alone": alone,
    "placed": placed,
    "order": order,
}
