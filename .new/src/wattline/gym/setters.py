"""Caps and bids that were learned: a small network that sets one ratio or two, and the policy's file made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.policies.looks import F, G

OUTPUTS = {"cap": 1, "bid": 2}
"""Slots whose decisions are numbers from 0 to 1: how many they are."""

_FILE = '''"""{title}"""

import numpy as np
import wattline as wl

K, N, HIDDEN = {k}, {inputs}, {hidden}
INNER = np.array({inner})
OUTER = np.array({outer})
STRAIGHT = np.array({straight})


@wl.policy("{slot}", compiled=True, sorted_running=True{more})
def {name}(s, {arg}, param, memory):
    """{summary}"""
    seen = np.empty(N, dtype=np.float32)
    jobs = np.empty(K, dtype=np.int64)
    wl.look(s, 0, seen, jobs)
    inside = np.empty(HIDDEN)
    for h in range(HIDDEN):
        x = INNER[h, N]
        for i in range(N):
            x += INNER[h, i] * seen[i]
        inside[h] = max(0.0, x)
    share = np.empty({outputs}, dtype=np.float32)  # as exact as the actions of the environment
    for o in range({outputs}):
        x = STRAIGHT[o, N]
        for i in range(N):
            x += STRAIGHT[o, i] * seen[i]
        for h in range(HIDDEN):
            x += OUTER[o, h] * inside[h]
        share[o] = min(1.0, max(0.0, x))
{decide}    return 1
'''

_CAP = """\
    ratio = np.float64(share[0])
    for c in range(s.want_cap_w.shape[0]):
        if np.isnan(s.c_draw_w[c]):
            continue
        lowest_w = max(s.min_cap_w[s.c_pool[c]], s.c_floor_w[c])
        s.want_cap_w[c] = np.inf
        if ratio < 1.0 and lowest_w < s.c_draw_w[c]:
            s.want_cap_w[c] = lowest_w + ratio * (s.c_draw_w[c] - lowest_w)
"""

_BID = """\
    idle_w, max_w = 0.0, 0.0
    for p in range(s.pool_count.shape[0]):
        idle_w += s.pool_count[p] * s.idle_w[p]
        max_w += s.pool_count[p] * s.max_w[p]
    mean_w = idle_w + np.float64(share[0]) * (max_w - idle_w)
    s.want_mean_w[0] = mean_w
    s.want_reserve_w[0] = np.float64(share[1]) * min(mean_w - idle_w, max_w - mean_w)
"""


@dataclass(frozen=True)
class Setter:
    """A network with one hidden layer, and a straight part beside it, that sets the numbers of a cap or of a bid.

    It takes all that is seen, and gives the action of the environment: the ratio of all caps, or mean power and reserve
    of a bid as shares. What it gives is cut to [0, 1].
    """

    slot: str
    inner: Floats
    """hidden × (numbers that are seen, and 1)"""
    outer: Floats
    """numbers that are set × hidden"""
    straight: Floats
    """numbers that are set × (numbers that are seen, and 1)"""

    @staticmethod
    def size(slot: str, k: int, hidden: int) -> int:
        """Return how many weights a network has that sees k waiting jobs."""
        if slot not in OUTPUTS:
            raise InputError(f"Setter: a cap or a bid can be set, not {slot!r}; a Scorer decides about select")
        if k < 1 or hidden < 1:
            raise InputError(f"Setter: k and hidden are whole numbers from 1 on, got {k!r} and {hidden!r}")
        return (hidden + OUTPUTS[slot]) * (k * F + G + 1) + OUTPUTS[slot] * hidden

    @classmethod
    def of(cls, weights: Floats, slot: str, *, k: int, hidden: int) -> Setter:
        """Return the network of a list of weights; several lists, one a row, are several networks in one."""
        size = cls.size(slot, k, hidden)
        if weights.shape[-1] != size:
            raise InputError(f"a network for {slot} with k={k} and {hidden} hidden numbers has {size} weights")
        inputs, outputs, lead = k * F + G + 1, OUTPUTS[slot], weights.shape[:-1]
        inner, outer, straight = np.split(weights, np.cumsum([hidden * inputs, outputs * hidden]), axis=-1)
        return cls(
            slot,
            inner.reshape(*lead, hidden, inputs),
            outer.reshape(*lead, outputs, hidden),
            straight.reshape(*lead, outputs, inputs),
        )

    def answer(self, seen: Any) -> npt.NDArray[np.float32]:
        """Return the actions about every world: row by row of ``seen``, one network for all or one a row.

        Products are added one after the other, as in the policy that is written of it: both give the same bits.
        """
        count, inputs = seen.shape
        inside = np.broadcast_to(self.inner[..., inputs], (count, self.inner.shape[-2])).copy()
        found = np.broadcast_to(self.straight[..., inputs], (count, self.straight.shape[-2])).copy()
        for i in range(inputs):
            inside += self.inner[..., i] * seen[:, i : i + 1]
            found += self.straight[..., i] * seen[:, i : i + 1]
        np.maximum(inside, 0.0, out=inside)
        for h in range(inside.shape[1]):
            found += self.outer[..., h] * inside[:, h : h + 1]
        return np.clip(found, 0.0, 1.0).astype(np.float32)

    @property
    def k(self) -> int:
        """Waiting jobs that it looks at."""
        return (int(self.inner.shape[-1]) - 1 - G) // F

    def text(self, name: str, summary: str, *, ticks: bool) -> str:
        """Return the file of a policy that decides by this network; ``ticks``: at every tick of the run."""
        told = {"cap": "all caps at one ratio, set by what is seen.", "bid": "mean power and reserve by what is seen."}
        words = (summary or f"Learned: {told[self.slot]}").replace('"', "'")
        caps = self.slot == "cap"
        return _FILE.format(
            title=words,
            summary=words,
            slot=self.slot,
            name=name,
            arg="happened" if caps else "hour",
            more=(', caps=True, wake="tick"' if ticks else ", caps=True") if caps else "",
            k=self.k,
            inputs=self.k * F + G,
            hidden=self.outer.shape[-1],
            outputs=OUTPUTS[self.slot],
            inner=self.inner.tolist(),
            outer=self.outer.tolist(),
            straight=self.straight.tolist(),
            decide=_CAP if caps else _BID,
        )
