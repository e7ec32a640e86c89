"""Policies that were learned: a small network that scores waiting jobs, and the files of policies made of networks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.files import write_whole
from wattline.gym.setters import Setter
from wattline.policies.looks import ALLOWED, HARMLESS, F, G

INPUTS = F + G
RUNNING = 1
"""Place of the running jobs among the numbers of the machine."""

_FILE = '''"""{title}"""

import numpy as np
import wattline as wl

K, F, G, HIDDEN = {k}, {features}, {machine}, {hidden}
INNER = np.array({inner})
OUTER = np.array({outer})
STRAIGHT = np.array({straight})
NONE = np.array({none})


@wl.policy("select", compiled=True, sorted_running=True)
def {name}(s, happened, param, memory):
    """{summary}"""
    seen = np.empty(K * F + G, dtype=np.float32)
    jobs = np.empty(K, dtype=np.int64)
    n = 0
    while n < s.p_job.shape[0] and wl.look(s, n, seen, jobs) > 0:
        best, chosen = -np.inf, -1
        rests = seen[K * F + {running}] > 0.0  # something runs, and whoever may start would delay somebody
        for i in range(K):
            rests = rests and seen[i * F + {harmless}] == 0.0
        if rests:
            best = NONE[G]
            for g in range(G):
                best += NONE[g] * seen[K * F + g]
        for i in range(K):
            if seen[i * F + {allowed}] == 0.0:
                continue
            score = 0.0
            for h in range(HIDDEN):
                x = INNER[h, F + G]
                for f in range(F):
                    x += INNER[h, f] * seen[i * F + f]
                for g in range(G):
                    x += INNER[h, F + g] * seen[K * F + g]
                score += OUTER[h] * max(0.0, x)
            for f in range(F):
                score += STRAIGHT[f] * seen[i * F + f]
            if score > best:
                best, chosen = score, i
        if chosen < 0:
            break
        n = wl.propose(s, n, jobs[chosen])
    return n
'''


@dataclass(frozen=True)
class Scorer:
    """A network with one hidden layer that scores each waiting job, a straight part beside it, and a score for none.

    The job with the highest score starts, unless none has a higher one. None has a score only while something runs and
    nobody may start without delaying somebody: nodes are never kept idle that EASY would use. (A learner that may do so
    holds long jobs back until its episode runs out of arrivals.)
    """

    inner: Floats
    """hidden × (numbers of a job and of the machine, and 1)"""
    outer: Floats
    straight: Floats
    none: Floats

    @staticmethod
    def size(hidden: int) -> int:
        """Return how many weights a network has."""
        return hidden * (INPUTS + 1) + hidden + F + G + 1

    @classmethod
    def of(cls, weights: Floats, hidden: int) -> Scorer:
        """Return the network of a list of weights; several lists, one a row, are several networks in one."""
        if weights.shape[-1] != cls.size(hidden):
            raise InputError(f"a network with {hidden} hidden numbers has {cls.size(hidden)} weights")
        cut = np.cumsum([hidden * (INPUTS + 1), hidden, F])
        inner, outer, straight, none = np.split(weights, cut, axis=-1)
        return cls(inner.reshape(*weights.shape[:-1], hidden, INPUTS + 1), outer, straight, none)

    def choose(self, seen: Any, k: int) -> Any:
        """Return the decision about every world: row by row of ``seen``, one network for all or one a row."""
        count = seen.shape[0]
        jobs, machine = seen[:, : k * F].reshape(count, k, F), seen[:, k * F :]
        inner = np.broadcast_to(self.inner, (count, *self.inner.shape[-2:]))
        x = np.matmul(jobs, inner[:, :, :F].transpose(0, 2, 1))
        x += (np.matmul(inner[:, :, F:INPUTS], machine[:, :, None])[:, :, 0] + inner[:, :, INPUTS])[:, None, :]
        np.maximum(x, 0.0, out=x)
        outer = np.broadcast_to(self.outer, (count, self.outer.shape[-1]))
        straight = np.broadcast_to(self.straight, (count, F))
        scores = np.empty((count, k + 1))
        scores[:, :k] = (np.matmul(x, outer[:, :, None]) + np.matmul(jobs, straight[:, :, None]))[:, :, 0]
        none = np.broadcast_to(self.none, (count, G + 1))
        scores[:, k] = np.einsum("wg,wg->w", none[:, :G], machine) + none[:, G]
        scores[:, :k][jobs[:, :, ALLOWED] == 0.0] = -np.inf
        scores[(machine[:, RUNNING] == 0.0) | (jobs[:, :, HARMLESS] == 1.0).any(axis=1), k] = -np.inf
        scores = np.concatenate([scores[:, k:], scores[:, :k]], axis=1)  # a tie goes to none, then to the first
        return (scores.argmax(axis=1) - 1) % (k + 1)


def save_policy(
    path: Path | str,
    network: Scorer | Setter,
    *,
    k: int,
    name: str = "learned",
    summary: str = "",
    ticks: bool = False,
) -> Path:
    """Write a policy that decides by a network: a file for ``select=``, ``cap=`` or ``bid=`` and ``wattline
    check-policy``.

    Parameters
    ----------
    path
        The file (.py).
    network
        One network: a ``Scorer`` makes a select policy, a ``Setter`` one of its slot.
    k
        Waiting jobs that it looks at, as in the environment.
    name, summary
        Name of the policy, and a sentence about it.
    ticks
        Whether a cap is set at every tick of the run (``[run] tick``), as in an environment with ``every``, instead of
        whenever something happens.
    """
    file = Path(path)
    if file.suffix != ".py":
        raise InputError(f"save_policy: the file of a policy ends with .py, got {file}")
    if not name.isidentifier():
        raise InputError(f"save_policy: name must be a word that Python takes for a function, got {name!r}")
    weights = [part for part in vars(network).values() if not isinstance(part, str)]
    if network.inner.ndim != 2 or not all(np.isfinite(part).all() for part in weights):
        raise InputError("save_policy: one network with finite weights is needed")
    if isinstance(network, Setter):
        if network.k != k:
            raise InputError(f"save_policy: this network looks at {network.k} waiting jobs, not at k={k}")
        if ticks and network.slot != "cap":
            raise InputError("save_policy: ticks are for caps; bids are made once for every period")
        text = network.text(name, summary, ticks=ticks)
    elif ticks:
        raise InputError("save_policy: ticks are for caps; a select policy is asked whenever something happens")
    else:
        text = _select_text(network, k, name, summary)
    write_whole(file, text.encode())
    return file


def _select_text(scorer: Scorer, k: int, name: str, summary: str) -> str:
    """Return the file of a select policy that decides by a network."""
    told = summary or "Learned: the waiting job with the highest score starts, or none where each would delay another."
    return _FILE.format(
        title=told.replace('"', "'"),
        summary=told.replace('"', "'"),
        name=name,
        k=k,
        features=F,
        machine=G,
        hidden=scorer.outer.size,
        inner=scorer.inner.tolist(),
        outer=scorer.outer.tolist(),
        straight=scorer.straight.tolist(),
        none=scorer.none.tolist(),
        running=RUNNING,
        harmless=HARMLESS,
        allowed=ALLOWED,
    )
