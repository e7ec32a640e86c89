"""Programs: what each pattern sends, in which order tasks wait, rendezvous, repetition, background, computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packets.machines import SMALL, listed, simulator
from wattline.errors import StuckError
from wattline.physics.packets.jobs import PATTERNS, Communicate, Compute, PacketJob, Wait
from wattline.physics.packets.patterns import ROUNDS, most_cubic, most_square, most_tesseract
from wattline.physics.packets.programs import program_of

PACKET_S = 1024 / 1e9
"""Time of a whole packet on a link of 8 Gbit/s."""
HOP_S = 140e-9 + 8e-9
"""Latency of a link with a crossbar of the same speed."""


def _grid_messages(shape: tuple[int, ...], corners: int) -> int:
    """Count messages of a halo exchange by hand: along each axis a plane less than the grid, twice; or all 26 moves."""
    if not corners:
        return sum(2 * math.prod(shape) // n * (n - 1) for n in shape)
    a, b, c = (3 * n - 2 for n in shape)  # neighbours along an axis, oneself included, added over the axis
    return a * b * c - math.prod(shape)


def _expected(pattern: str, n: int) -> int:
    """Return how many messages a pattern sends among n tasks."""
    rows, columns = most_square(n)
    power = 1 << (n.bit_length() - 1)
    return {
        "all-to-all": n * (n - 1),
        "broadcast": n - 1,
        "fft3d": 2 * n * (rows - 1 + columns - 1),
        "halo2d": _grid_messages((rows, columns), 0),
        "halo3d": _grid_messages(most_cubic(n), 0),
        "halo3d26": _grid_messages(most_cubic(n), 1),
        "halo4d": _grid_messages(most_tesseract(n), 0),
        "allreduce": power * (power.bit_length() - 1) + 2 * (n - power),
        "barrier": n * (n - 1).bit_length(),
        "random-ring": 0 if n == 1 else 2 if n == 2 else 2 * n,
        "rma-broadcast": n - 1,
    }[pattern]


@settings(max_examples=60, deadline=None)
@given(
    pattern=st.sampled_from(PATTERNS),
    nodes=st.integers(1, 40),
    tasks=st.integers(1, 3),
    size=st.sampled_from([0, 1024, 12_001]),
)
def test_every_pattern_runs_on_any_number_of_tasks(pattern: str, nodes: int, tasks: int, size: int) -> None:
    """Each pattern sends exactly its messages, whatever the number of tasks, small or by rendezvous."""
    result = simulator().run(
        [PacketJob(np.arange(nodes), pattern, message_bytes=size, tasks_per_node=tasks, seed=nodes)]
    )
    job = result.jobs[0]
    assert job.messages + result.local_messages == _expected(pattern, nodes * tasks)
    assert job.bytes == job.messages * (0 if pattern == "barrier" else size)
    assert result.packets_delivered == result.packets_made == job.packets


@settings(max_examples=50, deadline=None)
@given(pattern=st.sampled_from(sorted(ROUNDS)), n=st.integers(1, 200))
def test_lists_pair_every_send_with_a_receive(pattern: str, n: int) -> None:
    """In the compiled lists, what a rank is sent and what it asks for are the same messages, each with a cell of its
    own.
    """
    program = program_of(PacketJob(np.arange(n), pattern, tasks_per_node=1))
    rows = 0
    for _, _, _, _, _, _ in program.phases:
        first, last = program.send_first[rows : rows + n + 1], program.recv_first[rows : rows + n + 1]
        sent = [(r, *program.sends[i, :2]) for r in range(n) for i in range(first[r], first[r + 1])]
        asked = [(program.recvs[i, 0], r, i - last[r]) for r in range(n) for i in range(last[r], last[r + 1])]
        assert sorted(sent) == sorted(asked)
        assert all(a != b for a, b, _ in sent)
        rows += n + 1


@given(st.integers(1, 3000))
def test_factors_are_as_square_as_can_be(n: int) -> None:
    """Two factors with the least sum, three factors with the least sum."""
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    assert math.prod(most_square(n)) == math.prod(most_cubic(n)) == n
    assert sum(most_square(n)) == min(d + n // d for d in divisors)
    best = min(d + e + n // d // e for d in divisors for e in divisors if n // d % e == 0)
    assert sum(most_cubic(n)) == best


def test_a_message_of_1_kb_is_two_packets() -> None:
    """1024 bytes and a header of 45 are a packet of 1024 and one of 45 bytes: 128 and 6 flits."""
    result = simulator().run([listed([0, 1], [(0, 1, 1024)])])
    assert result.jobs[0].packets == 2
    assert result.counters.injected_bytes[0] == result.counters.received_bytes[1] == (128 + 6) * 8


def test_large_messages_ask_first() -> None:
    """Above 12,000 bytes a message asks, is told to come, and comes: two more packets and two more trips."""
    eager = simulator().run([listed([0, 1], [(0, 1, 12_000)])]).jobs[0]
    asked = simulator().run([listed([0, 1], [(0, 1, 12_001)])]).jobs[0]
    assert (eager.packets, asked.packets) == (12, 12 + 2)
    assert asked.elapsed_s - eager.elapsed_s == pytest.approx(4 * HOP_S, abs=1e-9)


def test_rendezvous_waits_for_the_receiver() -> None:
    """A large message leaves only when its receiver asks for it; a small one is there already."""
    busy = [(3, 2, 100_000)], [(2, 1, 8)]  # rank 1 hears from rank 2 only when that one has got a long message
    small, large = (
        simulator().run([listed([0, 1, 2, 3], *busy, [(0, 1, size)])]).jobs[0].elapsed_s for size in (12_000, 12_001)
    )
    assert small == pytest.approx(simulator().run([listed([0, 1, 2, 3], *busy)]).jobs[0].elapsed_s, abs=1e-12)
    assert large == pytest.approx(small + 11 * PACKET_S + 4 * HOP_S, abs=PACKET_S)


def test_messages_for_later_rounds_are_not_taken_for_this_one() -> None:
    """A fast neighbour that is an iteration ahead does not let a task go on without its slow neighbour."""
    # rank 1 exchanges with 0 and 2; rank 2 gets its data late from 3 behind a long stream
    rounds = [[(3, 2, 100_000)], [(0, 1, 8), (2, 1, 8), (1, 0, 8)]]
    result = simulator().run([listed([0, 10, 20, 30], *rounds, repeat=3)])
    ends = result.jobs[0].iteration_end_s
    assert len(ends) == 3
    assert (np.diff(ends, prepend=0.0) > 95 * PACKET_S).all()


def test_iterations_and_computation() -> None:
    """A program of computation and a pattern, repeated: elapsed time is computation plus communication, iteration by
    iteration.
    """
    steps = [Compute(5e-6), Communicate("halo2d", 1024), Compute(1e-6)]
    job = PacketJob(np.arange(16), steps, repeat=4, mapping="order", start_s=3e-6)
    times = simulator().run([job]).jobs[0]
    assert times.elapsed_s == pytest.approx(times.communication_s + 4 * 6e-6)
    assert times.iteration_end_s[-1] == times.end_s
    assert (times.iteration_s > 6e-6).all()
    assert times.start_s == 3e-6


def test_computation_hides_communication_that_nobody_waits_for() -> None:
    """Post, compute, wait takes the longer of the two; compute and communicate takes both."""
    one_after_other = PacketJob(np.arange(8), [Communicate("halo3d26", 1024), Compute(50e-6)], mapping="order")
    posted = [Communicate("halo3d26", 1024, wait=False), Compute(50e-6), Wait()]
    at_once = PacketJob(np.arange(8), posted, mapping="order")
    apart, together = (simulator().run([job]).jobs[0].elapsed_s for job in (one_after_other, at_once))
    assert together == pytest.approx(50e-6, rel=1e-3)
    assert apart > together + 5e-6


def test_background_jobs_repeat_until_the_others_are_done() -> None:
    """A congestor runs as long as the others do, slows them down, and does not keep the run going."""
    canary = PacketJob(np.arange(0, 72, 2), "random-ring", repeat=20, name="canary")
    congestor = PacketJob(np.arange(1, 72, 2), "all-to-all", message_bytes=10_000, background=True)
    alone = simulator().run([canary])
    both = simulator().run([canary, congestor])
    assert both.time_s == both.jobs[0].end_s > 1.05 * alone.jobs[0].end_s
    assert math.isnan(both.jobs[1].end_s)
    assert both.jobs[1].messages > 500


@pytest.mark.parametrize("roots", [1, 4])
def test_one_sided_reads_load_their_owners(roots: int) -> None:
    """In an RMA broadcast every rank reads from a root: the roots' nodes send all, and their host links set the
    pace.
    """
    step = Communicate("rma-broadcast", 10_000, roots=roots)
    result = simulator(crossbar=4.0).run([PacketJob(np.arange(20), [step], tasks_per_node=1, mapping="order")])
    readers = 20 // roots - 1 if roots > 1 else 19
    data = readers * -(-(10_000 + 45) // 8) * 8
    assert result.counters.injected_bytes[:roots] == pytest.approx(data, rel=0.001)
    assert (result.counters.injected_bytes[roots:20] == 48).all()
    assert result.jobs[0].elapsed_s > data / 1e9
    if roots == 1:
        assert result.jobs[0].elapsed_s == pytest.approx(data / 1e9, rel=0.01)


def test_a_message_that_nobody_sends_is_reported() -> None:
    """A task that would wait for ever ends the run with an error that names the job."""
    job = listed([0, 1], [(0, 1, 10)], [(0, 1, 10)], name="lonely")
    program_of(job).sends[0, 1] = 1  # the first message is counted as the second one
    with pytest.raises(StuckError, match="lonely"):
        simulator(SMALL, crossbar=3.0).run([job])


def test_random_mapping_moves_tasks_and_keeps_them_on_the_job() -> None:
    """Ranks are dealt over the job's nodes by the seed, two a node; in order, rank r is on node r // 2."""
    nodes = np.array([3, 9, 27, 40])
    shuffled = PacketJob(nodes, "barrier", seed=5).task_nodes()
    assert sorted(shuffled) == sorted(np.repeat(nodes, 2))
    assert not np.array_equal(shuffled, np.repeat(nodes, 2))
    assert np.array_equal(PacketJob(nodes, "barrier", seed=5).task_nodes(), shuffled)
    assert PacketJob(nodes, "barrier", mapping="order").task_nodes().tolist() == [3, 3, 9, 9, 27, 27, 40, 40]
