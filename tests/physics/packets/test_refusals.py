"""What cannot be simulated is refused in one line that says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packets.machines import SMALL, listed, simulator
from wattline.errors import InputError
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.physics.packets.jobs import Communicate, Compute, Messages, PacketJob
from wattline.physics.packets.loads import channel_loads
from wattline.physics.packets.offered import offered
from wattline.physics.packets.simulator import Simulator, run
from wattline.physics.packets.wiring import Buffers, Latencies, Protocol

JOB = PacketJob([0, 1], "barrier")
CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: Simulator(SMALL, routing="valient"), "did you mean 'valiant'"),
    (lambda: Simulator(SMALL, crossbar=0), "speed-up"),
    (lambda: Simulator(SMALL, crossbar="2"), "speed-up over local links is a number"),  # type: ignore[arg-type]
    (lambda: Simulator(SMALL, buffers=Buffers(1023, 2000)), "input_bytes = 1023"),
    (lambda: Simulator(SMALL, latencies=Latencies(link_s=-1e-9)), "link_s"),
    (lambda: Simulator(SMALL, protocol=Protocol(header_bytes=0)), "header"),
    (lambda: Simulator(SMALL, protocol=Protocol(packet_bytes=10**6)), "from 1 to 32,760"),
    (lambda: Simulator(FatTree(2, 3, 4)), "dragonflies only"),  # type: ignore[arg-type]
    (lambda: Simulator(Dragonfly(2, 4, 9, local_bps=1e15)), "picoseconds"),
    (lambda: PacketJob([], "barrier"), "at least one node"),
    (lambda: PacketJob([0, 0], "barrier"), "same node twice"),
    (lambda: PacketJob([0], "barier"), "did you mean 'barrier'"),
    (lambda: PacketJob([0], []), "at least one step"),
    (lambda: PacketJob([0], "barrier", repeat=0), "repetitions is a whole number from 1"),
    (lambda: PacketJob([0], "barrier", tasks_per_node=1.5), "tasks per node is a whole number"),  # type: ignore[arg-type]
    (lambda: PacketJob([0], "barrier", seed=-1), "a seed is a whole number from 0"),
    (lambda: PacketJob([0], [3]), "patterns' names and steps, got 3"),  # type: ignore[list-item]
    (lambda: PacketJob([0], ["barrier", "barier"]), "unknown pattern 'barier'"),
    (lambda: simulator().run([JOB], seed=2**70), "a seed is a whole number"),
    (lambda: simulator().run([JOB], seed=1.5), "got 1.5"),  # type: ignore[arg-type]
    (lambda: simulator().run([JOB], interval=1e-12), "more than 10,000 intervals"),
    (lambda: Simulator(SMALL, routing=None), "unknown routing None"),  # type: ignore[arg-type]
    (lambda: Simulator(Dragonfly(2, 4, 9, local_bps=1e-300)), "too fast or too slow"),
    (lambda: PacketJob([0], "barrier", mapping="spread"), "'random' or 'order'"),  # type: ignore[arg-type]
    (lambda: PacketJob([0], "barrier", message_bytes=-1), "whole number of bytes"),
    (lambda: PacketJob([0], [Compute(-1.0)]), "compute"),
    (lambda: simulator().run([PacketJob([72], "barrier")]), "nodes 0 to 71"),
    (lambda: PacketJob([0], [Compute("1 s")]), "got '1 s'"),  # type: ignore[arg-type]
    (lambda: PacketJob([0], "barrier", start_s=None), "a job starts at 0 to 1000 s"),  # type: ignore[arg-type]
    (lambda: Messages([[(0, 1)]]), "round 0 of messages has rows of"),
    (lambda: Messages([[(0, 1, 8)], [(0, 1, 8), (1, 0)]]), "round 1 of messages has rows of"),  # type: ignore[list-item]
    (lambda: Messages([[(0, 1, 8.5)]]), "three whole numbers each"),
    (lambda: Messages(None), "a list of rounds, got None"),  # type: ignore[arg-type]
    (lambda: Latencies(link_s="40 ns"), "link_s is 0 to 0.001 s, got '40 ns'"),  # type: ignore[arg-type]
    (lambda: Protocol(eager_bytes=None), "an eager message is a whole number"),  # type: ignore[arg-type]
    (lambda: Simulator(SMALL, buffers=Buffers("x", 2000)), "input_bytes of a buffer is a whole number"),  # type: ignore[arg-type]
    (lambda: Simulator(SMALL, latencies=5), "latencies must be an object of Latencies, got 5"),  # type: ignore[arg-type]
    (lambda: Simulator(SMALL, protocol="x"), "protocol must be an object of Protocol"),  # type: ignore[arg-type]
    (lambda: simulator().run(JOB), "a list of PacketJobs"),  # type: ignore[arg-type]
    (lambda: simulator().run([JOB], until="5"), "until is 0 to"),  # type: ignore[arg-type]
    (lambda: simulator().run([JOB], interval="1 s"), "got '1 s'"),  # type: ignore[arg-type]
    (
        lambda: run(SMALL, [PacketJob([0, 1], "all-to-all", message_bytes=10**12)]),
        "500,000,000; take smaller",
    ),
    (lambda: run(SMALL, [listed([0, 1], [(0, 1, 10**12)])]), "send 976,562,500 packets"),
    (lambda: run(SMALL, [PacketJob([0, 1], "rma-broadcast", message_bytes=10**12)]), "more than 500,000,000"),
    (lambda: run(SMALL, [PacketJob([0, 1], "barrier", repeat=10**9)]), "fewer repetitions"),
    (lambda: simulator().run([]), "no job"),
    (lambda: simulator().run([PacketJob([0], "barrier", background=True)]), "never end"),
    (lambda: simulator().run([JOB], until=0.0), "until"),
    (lambda: simulator().run([JOB], interval=-1.0), "interval"),
    (lambda: run(SMALL, [listed([0, 1], [(0, 2, 8)])]), "ranks 0 to 1"),
    (lambda: run(SMALL, [listed([0, 1], [(1, 1, 8)])]), "to itself"),
    (lambda: run(SMALL, [PacketJob([0, 1], [Messages([[(0, 1, -5)]])])]), "whole number of bytes"),
    (lambda: run(SMALL, [PacketJob([0, 1], [Communicate("fft3d", wait=False)])]), "every round"),
    (lambda: offered(SMALL, "hotspot"), "unknown traffic"),
    (lambda: offered(SMALL, "uniform", 0.0), "offered load"),
    (lambda: offered(SMALL, "adversarial", shift=9), "another group"),
    (lambda: channel_loads(SMALL, routing="ugal"), "depend on the queues"),
]


@pytest.mark.parametrize(("attempt", "says"), CASES, ids=[says for _, says in CASES])
def test_refused_in_one_line(attempt: Callable[[], object], says: str) -> None:
    """Impossible parameters and jobs are refused before anything runs, in one line."""
    with pytest.raises(InputError) as refused:
        attempt()
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_names_in_a_program_are_steps() -> None:
    """A list of patterns' names runs them one after another, as the steps do."""
    names = run(SMALL, [PacketJob([0, 1, 9], ["all-to-all", "halo3d"])])
    steps = run(SMALL, [PacketJob([0, 1, 9], [Communicate("all-to-all"), Communicate("halo3d")])])
    assert names.communication_s.tolist() == steps.communication_s.tolist()
    assert names.jobs[0].messages == steps.jobs[0].messages > 0
