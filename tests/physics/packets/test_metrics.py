"""Metrics of congestion: ratios, thresholds, traffic and stalls of routers, by hand and on runs."""

from __future__ import annotations

import numpy as np
import pytest

from packets.machines import simulator
from wattline.errors import InputError
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import Communicate, PacketJob
from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
from wattline.physics.packets.metrics import (
    TileSamples,
    correlation,
    host_rates,
    router_stalls,
    router_traffic,
    stall_flit_ratio,
    stall_thresholds,
    tile_samples,
    tile_stalls,
)
from wattline.physics.packets.sensitivity import MpiProfile


def by_hand() -> TileSamples:
    """Two local ports of router 0, one global of router 1, in three intervals."""
    stalls = np.array([[10.0, 0.0, 4.0], [30.0, 2.0, 0.0], [2.0, 50.0, 8.0]])
    flits = np.array([[10.0, 10.0, 2.0], [10.0, 1.0, 2.0], [0.0, 100.0, 4.0]])
    return TileSamples(stalls, flits, np.array([0, 0, 1]), np.array([LOCAL, LOCAL, GLOBAL]))


def test_the_threshold_is_the_median_of_the_class() -> None:
    """Every class of links has its own threshold: the median over all ports and intervals, of all runs given."""
    assert stall_thresholds([by_hand()]) == {"local": 6.0, "global": 4.0}
    quiet = TileSamples(np.zeros((3, 3)), np.ones((3, 3)), by_hand().router, by_hand().kind)
    assert stall_thresholds([by_hand(), quiet]) == {"local": 0.0, "global": 0.0}


def test_ratios_leave_out_what_is_below_the_threshold() -> None:
    """Samples below the threshold, or without flits, count for nothing; ports are averaged over the samples left."""
    samples, limits = by_hand(), {"local": 6.0, "global": 4.0}
    assert stall_flit_ratio(samples, limits, [0]) == pytest.approx(((1 + 3) / 2 + 0.5) / 2)
    assert stall_flit_ratio(samples, limits, [1]) == pytest.approx(2.0)
    everything = {"local": 0.0, "global": 0.0}  # the second port's small sample has a ratio of 2 that means nothing
    assert stall_flit_ratio(samples, everything, [0]) == pytest.approx(((1 + 3) / 2 + (0 + 2 + 0.5) / 3) / 2)
    assert stall_flit_ratio(samples, {"local": 1e9, "global": 1e9}, [0, 1]) == 0.0
    assert tile_stalls(samples, [1]) == pytest.approx(4.0)
    with pytest.raises(InputError, match="none of these routers"):
        stall_flit_ratio(samples, limits, [7])


def test_rates_of_a_run_are_its_counters_over_its_time() -> None:
    """Flits of tiles are what came in over links, in all what went out; traffic of routers is what their nodes sent and
    got.
    """
    machine = Dragonfly(2, 4, 9)
    run = simulator(machine).run([PacketJob(np.arange(24), "all-to-all", message_bytes=3000)], interval=10e-6)
    samples = tile_samples(run)
    seconds = np.full(len(samples.flits), 10e-6)
    seconds[-1] = run.time_s - 10e-6 * (seconds.size - 1)
    between = run.ports.kind != 0
    assert (samples.flits * seconds[:, None]).sum() == pytest.approx(run.counters.flits[between].sum())
    traffic = router_traffic(run)
    assert traffic.sum() * run.time_s == pytest.approx(2 * run.counters.injected_bytes.sum())
    assert not traffic[12:].any()
    assert (traffic[:12] > 0).all()
    own = slice(0, run.ports.router_ports)
    assert router_stalls(run).sum() * run.time_s == pytest.approx(
        (run.counters.crossbar_stall_s[own] / (run.ports.flit_ps[own] / 1e12)).sum()
    )
    rates = host_rates(run, np.arange(24))
    assert rates.flits * 24 * run.time_s * 8 == pytest.approx(run.counters.received_bytes.sum())
    assert rates.stalls > 0


def test_samples_begin_where_asked() -> None:
    """What was counted before a time is left out; a time after the end is refused, and so is a run without
    intervals.
    """
    jobs = [PacketJob(np.arange(24), "halo3d", repeat=5)]
    run = simulator().run(jobs, interval=2e-6)
    assert run.intervals is not None
    assert len(tile_samples(run, 4e-6).flits) == len(run.intervals.flits) - 2
    with pytest.raises(InputError, match="no interval begins"):
        tile_samples(run, 1.0)
    with pytest.raises(InputError, match="run with interval="):
        tile_samples(simulator().run(jobs))


def test_a_congestor_raises_the_ratio_of_the_routers_it_shares() -> None:
    """Beside a congestor on the same routers an application is slower and the stall/flit ratio there higher."""
    machine = Dragonfly(4, 4, 9)
    steps = [Communicate("halo3d", 2048), Communicate("allreduce", 8)]
    application = PacketJob(np.arange(0, 64, 2), steps, repeat=5, start_s=1e-4)
    congestor = PacketJob(np.arange(1, 64, 2), [Communicate("rma-broadcast", 65_536, roots=20)], background=True)
    network = simulator(machine, crossbar=4.0)
    alone, beside = (network.run(jobs, interval=5e-5) for jobs in ([application], [application, congestor]))
    seen = [tile_samples(run, 1e-4) for run in (alone, beside)]
    limits = stall_thresholds(seen)
    ratios = [stall_flit_ratio(s, limits, np.arange(16)) for s in seen]
    assert beside.jobs[0].elapsed_s > 1.5 * alone.jobs[0].elapsed_s
    assert ratios[1] > 2 * ratios[0]


def test_correlation() -> None:
    """It is Pearson's, and 0 where nothing varies."""
    random = np.random.default_rng(2)
    x, y = random.random(20), random.random(20)
    assert correlation(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert correlation(np.ones(4), np.arange(4)) == 0.0


def test_profiles_that_are_none_are_refused() -> None:
    """Parts of MPI that add up to more than MPI are refused in one line."""
    with pytest.raises(InputError, match=r"add up to at most MPI.s 10\.0%"):
        MpiProfile(0.1, wait=0.2)
