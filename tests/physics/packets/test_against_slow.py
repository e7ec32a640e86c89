"""The engine, which sets turns ahead of time, against the same model written plainly, packet by packet."""

from __future__ import annotations

import numpy as np
import pytest

from packets.machines import listed
from packets.slow import Slow
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.simulator import Simulator
from wattline.physics.packets.wiring import Buffers, Latencies

# Speeds without common factors, so that things hardly ever happen at the same picosecond.
HOST_PS, LOCAL_PS, GLOBAL_PS = 7993, 8009, 12_007
SPEEDS = {"host_bps": 64e12 / HOST_PS, "local_bps": 64e12 / LOCAL_PS, "global_bps": 64e12 / GLOBAL_PS}


def _both(
    size: tuple[int, int, int], count: int, window_ns: int, crossbar: float, packets_held: int, seed: int
) -> tuple[list[int], list[int], bool]:
    """Send random packets in both; return the arrivals in picoseconds."""
    network = Dragonfly(*size, **SPEEDS)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, window_ns * 1000, count))
    ends = np.array([rng.choice(network.nodes, 2, replace=False) for _ in range(count)])
    flits = rng.integers(7, 129, count)
    buffer = packets_held * 1024
    simulator = Simulator(
        network, crossbar=crossbar, buffers=Buffers(buffer, buffer), latencies=Latencies(41.1e-9, 53e-9, 47e-9)
    )
    jobs = [
        listed([int(a), int(b)], [(0, 1, int(size) * 8 - 45)], start_s=float(time) * 1e-12)
        for time, (a, b), size in zip(times, ends, flits, strict=True)
    ]
    result = simulator.run(jobs)
    slow = Slow(
        network,
        simulator.setting.crossbar_ps,
        HOST_PS,
        LOCAL_PS,
        GLOBAL_PS,
        delay_ps=41_100 + 53_000 + 47_000 + simulator.setting.crossbar_ps,
        wire_ps=41_100,
        buffer_flits=buffer // 8,
    )
    expected = slow.run([(int(t), int(a), int(b), int(f)) for t, (a, b), f in zip(times, ends, flits, strict=True)])
    return [round(job.end_s * 1e12) for job in result.jobs], expected, slow.tied


MACHINES = [(4, 1, 1), (2, 4, 1), (3, 3, 1), (2, 4, 9), (2, 2, 3), (4, 4, 5)]


@pytest.mark.parametrize("crossbar", [0.61, 1.003, 3.97])
@pytest.mark.parametrize("packets_held", [1, 2, 10])
def test_every_packet_arrives_when_the_plain_model_says(crossbar: float, packets_held: int) -> None:
    """Random packets in crowded networks arrive at exactly the picosecond of the plain model.

    Runs in which two things happen in the same picosecond, so that their order is a matter of taste, agree in the mean.
    """
    exact = 0
    for seed in range(24):
        got, expected, tied = _both(MACHINES[seed % 6], 60, 3000, crossbar, packets_held, seed)
        assert tied or got == expected
        assert np.mean(got) == pytest.approx(np.mean(expected), rel=0.05)
        exact += not tied
    assert exact >= 10


def test_the_races_are_crowded() -> None:
    """The cases above do queue: the last packets arrive long after the last one was sent."""
    got, _, _ = _both((2, 4, 9), 60, 3000, 1.003, 1, 3)
    assert max(got) > 4_000_000
