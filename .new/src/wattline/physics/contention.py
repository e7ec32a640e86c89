"""How much slower jobs are that share links: a fluid model, calibrated on the packet engine.

Every job goes at the greatest rate at which nobody slower is slowed down (max-min fairness), the fullest link that
it uses deciding; queues on links that are not full, and links crossed, add to its time in proportion. All jobs of a
run take time from each other only while both communicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.kernel.compiled import library
from wattline.model.networks.base import Network
from wattline.physics.link_loads import capacities, share_table


@dataclass(frozen=True)
class Calibration:
    """What the packet engine says of the fluid: ``slowdown = 1 / rate + waiting · Σ share · load + hop · Σ share``.

    ``efficiency``: part of a link's bandwidth that gets through; loads are parts of the bandwidth in use, sums go
    over links. Fitted on random workloads (six patterns, 1 KB, five place policies) on 272 nodes with minimal
    routing and crossbar 4. On other workloads, machines (272 to 1056 nodes), link ratios (¼, 1, 4), routing
    (adaptive) and crossbar (1), a job's communication time is 12 to 19 % off in the mean, and of two placements
    that differ by more than 5 % the better one is named in 89 to 98 % of cases.
    """

    efficiency: float = 1.0
    waiting: float = 0.3
    hop: float = 0.05

    def __post_init__(self) -> None:
        if not (0 < self.efficiency <= 1 and self.waiting >= 0 and self.hop >= 0):
            raise InputError(f"contention: need 0 < efficiency <= 1, waiting >= 0 and hop >= 0, got {self}")


DEFAULT = Calibration()

OVERLOAD, WAITING = 0.63, 0.7
"""Parts of an overload, and of the loads by others that bytes meet, that show in the time jobs of a run communicate
(``neighbours``).

Fitted on 15 random workloads (164 jobs of 4 to 80 nodes, six patterns, five place policies, 10 to 70 % of the time
in communication, 50 to 800 MB/s a node meanwhile) on 272 nodes, minimal routing, crossbar 4. Run times are then 7 %
off in the mean, on ten further workloads 12 %; as if nothing were in the way, 13 and 17 %.
"""


def max_min_rates(demand: Floats, room: Floats) -> Floats:
    """Return the rates, 1 at most, of jobs that ask for ``demand[job, link]`` bytes per second at rate 1.

    All rates rise together; a job stops rising when a link that it uses is full.

    >>> max_min_rates(np.array([[6.0, 0.0], [6.0, 2.0], [0.0, 1.0]]), np.array([9.0, 9.0])).tolist()
    [0.75, 0.75, 1.0]
    """
    rates = np.ones(demand.shape[0])
    _fill(np.ascontiguousarray(demand), room, rates)
    return rates


@library
def _fill(demand: Floats, room: Floats, rates: Floats) -> None:
    jobs, links = demand.shape
    held = np.zeros(links)  # by jobs that rise no more
    asked = np.zeros(links)  # by those that still do, at rate 1
    full = np.zeros(links, dtype=np.bool_)
    rising = np.ones(jobs, dtype=np.bool_)
    left = jobs
    before = 0.0
    while left > 0:
        asked[:] = 0.0  # summed up anew: a difference would leave a residue that nobody asks for
        for j in range(jobs):
            if rising[j]:
                for x in range(links):
                    asked[x] += demand[j, x]
        level = 1.0
        for x in range(links):
            if asked[x] > 0.0:
                level = min(level, (room[x] - held[x]) / asked[x])
        level = max(level, before)  # rounding apart, it only rises
        before = level
        for x in range(links):
            full[x] = held[x] + asked[x] * level >= room[x] * (1.0 - 1e-9)
        for j in range(jobs):
            if not rising[j]:
                continue
            stops = level >= 1.0
            for x in range(links):
                if demand[j, x] > 0.0 and full[x]:
                    stops = True
                    break
            if stops:
                rates[j] = level
                rising[j] = False
                left -= 1
                for x in range(links):
                    held[x] += demand[j, x] * level


def slowdowns(shares: Floats, bytes_per_s: Floats, room: Floats, calibration: Calibration = DEFAULT) -> Floats:
    """Return communication time over the same with links that never fill, for jobs that all communicate at once.

    ``shares[job, link]`` come from ``link_loads.share_table``, ``room`` from its ``capacities``; ``bytes_per_s`` is
    what all nodes of a job together send at full speed.
    """
    demand = shares * np.asarray(bytes_per_s, dtype=np.float64)[:, None]
    rates = max_min_rates(demand, room * calibration.efficiency)
    with np.errstate(invalid="ignore"):
        load = np.minimum(rates @ demand / room, 1.0) if room.size else np.zeros(0)
    return 1.0 / rates + shares @ (calibration.waiting * load) + calibration.hop * shares.sum(axis=1)


def finish_times(
    shares: Floats, volume_bytes: Floats, alone_s: Floats, room: Floats, calibration: Calibration = DEFAULT
) -> Floats:
    """Return when jobs end that begin to communicate together: each end makes the others faster.

    ``alone_s`` is the time of each with links that never fill, ``volume_bytes`` what its nodes send to each other
    in it.
    """
    ends = np.zeros(len(alone_s))
    left = np.array(alone_s, dtype=np.float64)  # seconds at full speed
    rate = np.asarray(volume_bytes, dtype=np.float64) / left
    there = np.arange(len(alone_s))
    now_s = 0.0
    while there.size:
        slower = slowdowns(shares[there], rate[there], room, calibration)
        step_s = float(np.min(left[there] * slower))
        now_s += step_s
        left[there] -= step_s / slower
        over = left[there] <= 1e-9 * np.asarray(alone_s)[there]
        ends[there[over]] = now_s
        there = there[~over]
    return ends


def neighbour_slowdowns(network: Network, placed: Sequence[Ints], bytes_per_s: Floats, share: Floats) -> Floats:
    """Return run time over the same with links that never fill, for jobs that communicate a part of their time.

    Each of a job's nodes sends ``bytes_per_s``, all of it in a part ``share`` of the time. This is, in plain numpy
    and from scratch, what ``neighbours`` keeps up to date in a run (there in whole bytes per second on every link).
    """
    sizes = np.array([nodes.size for nodes in placed], dtype=np.float64)
    shares, room = share_table(network, placed), capacities(network).ravel()
    if not room.size:
        return np.ones(len(placed))
    own = shares * (np.asarray(bytes_per_s) * sizes)[:, None]
    others = own.sum(axis=0) - own
    part = np.asarray(share, dtype=np.float64)
    burst = np.divide(own, part[:, None], out=np.zeros_like(own), where=part[:, None] > 0)
    full = np.where(shares > 0, (others + burst) / room, 0.0).max(axis=1)
    met = (shares * np.minimum(1.0, others / room)).sum(axis=1)
    slower: Floats = 1.0 + part * (OVERLOAD * np.maximum(0.0, full - 1.0) + WAITING * met)
    return slower
