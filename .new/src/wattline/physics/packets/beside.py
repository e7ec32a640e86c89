"""Jobs that compute and communicate in turn beside each other, packet by packet: what the fast model of neighbours
is held against.

A job is to communicate a part of its time and to send so much: the message size follows, as the one at which its
pattern, with links that never fill, sends at that rate. Slowdowns are mean iterations beside the others over those
alone with such links.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.contention import neighbour_slowdowns
from wattline.physics.packets.jobs import Communicate, Compute, PacketJob, Step
from wattline.physics.packets.simulator import Simulator

SIZES = (64, 512, 4096)
"""Bytes of messages that are tried; others are found between them."""
LEAST_BYTES, MOST_BYTES = 16, 11_000
"""Messages outside would be all header, or ask before they come."""
ITERATIONS = 4
"""Iterations of the slowest job that are looked at, beside one to begin with."""
ENDLESS = 1e3
"""Bandwidth of links that never fill, over that of a node's link."""


@dataclass(frozen=True)
class Talker:
    """A placed job: what each of its nodes sends a second, the part of its time that it does so, and how."""

    nodes: npt.NDArray[np.int64]
    bytes_per_s: float
    share: float
    pattern: str = "all-to-all"


@dataclass(frozen=True)
class Beside:
    """Slowdowns of jobs by packets and by the fast model, and what they really sent a second and node when alone."""

    packets: Floats
    model: Floats
    bytes_per_s: Floats
    message_bytes: npt.NDArray[np.int64]

    @property
    def errors(self) -> Floats:
        """Return by how much the model's run time is off, relative to the packets'."""
        wrong: Floats = self.model / self.packets - 1.0
        return wrong


class Stage:
    """A machine on which jobs are put beside each other; what they do alone is found once a size and pattern."""

    def __init__(self, network: Dragonfly, *, routing: str = "minimal", crossbar: float = 4.0) -> None:
        self.network = network
        self.real = Simulator(network, routing=routing, crossbar=crossbar)
        fast = ENDLESS * network.host_bps
        self.endless = Simulator(replace(network, local_bps=fast, global_bps=fast))
        self._alone: dict[tuple[str, int, int], tuple[float, float]] = {}

    def run(self, talkers: Sequence[Talker], seed: int = 0) -> Beside:
        """Let jobs run beside each other."""
        sizes = [self._message_bytes(t) for t in talkers]
        alone = [self._pass(t.pattern, t.nodes.size, m) for t, m in zip(talkers, sizes, strict=True)]
        programs: list[list[Step]] = [
            [Communicate(t.pattern, m), Compute(one_s * (1 - t.share) / t.share)]
            for t, m, (one_s, _) in zip(talkers, sizes, alone, strict=True)
        ]
        period_s = np.array(
            [self._iteration_s(t, p, seed + i) for i, (t, p) in enumerate(zip(talkers, programs, strict=True))]
        )
        sent = np.array([sent / t.nodes.size for t, (_, sent) in zip(talkers, alone, strict=True)]) / period_s
        random = np.random.default_rng(seed)
        until_s = (ITERATIONS + 1) * float(period_s.max()) * 3
        jobs = [
            PacketJob(t.nodes, p, seed=seed + i, repeat=math.ceil(until_s / d), start_s=float(random.uniform(0, d)))
            for i, (t, p, d) in enumerate(zip(talkers, programs, period_s, strict=True))
        ]
        result = self.real.run(jobs, seed=seed, until=until_s)
        packets = np.array([_mean_iteration_s(job.iteration_end_s) for job in result.jobs]) / period_s
        share = np.array([t.share for t in talkers])
        model = neighbour_slowdowns(self.network, [t.nodes for t in talkers], sent, share)
        return Beside(packets, model, sent, np.array(sizes, dtype=np.int64))

    def _pass(self, pattern: str, nodes: int, message_bytes: int) -> tuple[float, float]:
        """Return how long one pass of a pattern takes with links that never fill, and the bytes that leave nodes in
        it.
        """
        key = (pattern, nodes, message_bytes)
        if key not in self._alone:
            result = self.endless.run([PacketJob(np.arange(nodes), [Communicate(pattern, message_bytes)])])
            self._alone[key] = float(result.jobs[0].elapsed_s), float(result.counters.injected_bytes.sum())
        return self._alone[key]

    def _message_bytes(self, talker: Talker) -> int:
        """Return the size of messages at which a job sends, while it communicates, what it is to send."""
        n = talker.nodes.size
        rates = [sent / took_s / n for took_s, sent in (self._pass(talker.pattern, n, m) for m in SIZES)]
        wanted = np.log(talker.bytes_per_s / talker.share)
        x, y = np.log(np.maximum.accumulate(rates)), np.log(SIZES)
        low = 0 if wanted < x[1] or len(SIZES) < 3 else 1
        slope = (y[low + 1] - y[low]) / max(1e-3, x[low + 1] - x[low])
        size = math.exp(min(20.0, y[low] + slope * (wanted - x[low])))
        return int(min(MOST_BYTES, max(LEAST_BYTES, size)))

    def _iteration_s(self, talker: Talker, program: Sequence[Step], seed: int) -> float:
        result = self.endless.run([PacketJob(np.arange(talker.nodes.size), program, seed=seed, repeat=ITERATIONS)])
        return _mean_iteration_s(result.jobs[0].iteration_end_s)


def _mean_iteration_s(ends_s: Floats) -> float:
    done = ends_s[np.isfinite(ends_s)]
    return float((done[-1] - done[0]) / (done.size - 1)) if done.size > 1 else float("nan")
