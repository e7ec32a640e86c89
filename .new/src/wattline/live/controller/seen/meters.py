"""What agents say of their nodes: power now, caps in force, and what is assumed of nodes that are silent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints

IMPOSSIBLE = 1.2
"""A reading of so many times a node's greatest power is none."""
LEASE_ENDED = "lease-ended"
"""Word of an agent whose lease has ended; it is told for some periods after that."""
DISAGREE = "meters-disagree"
"""Word of an agent whose two meters have disagreed for too long."""

REFUSED = frozenset({"write-refused", "clamped", "no-limit", "cap-clipped", "cap-stale", "cap-old-term"})
"""Words of an agent that did not bring a cap into force, or another one in its place."""


@dataclass
class Meters:
    """Readings of all nodes, by their numbers.

    Parameters
    ----------
    names
        Nodes in the order of their numbers.
    most_w
        What each may draw at most: assumed where nothing better is known.
    stale_s
        A node that was not heard for so long is silent.
    idle_w
        What each draws without a job (none given: 0). Readings below half of it, or above the greatest power by a
        fifth, are no power of that node: they count as none.
    """

    names: Sequence[str]
    most_w: Floats
    stale_s: float = 5.0
    idle_w: Floats | None = None
    watts: Floats = field(init=False)
    """Last reading, NaN: never heard or not known."""
    heard_s: Floats = field(init=False)
    gone: npt.NDArray[np.bool_] = field(init=False)
    """Whose agent died, as a broker says: silent at once."""
    cap_w: Floats = field(init=False)
    """Cap that the agent says is in force (inf: none)."""
    safe_w: Floats = field(init=False)
    term: Ints = field(init=False)
    mode: list[str] = field(init=False)
    boot: list[str] = field(init=False)
    """Of the agent's process, which begins by letting stopped jobs go on."""
    lease_until_s: Floats = field(init=False)
    """When the lease that the agent told last ends."""
    loose_s: Floats = field(init=False)
    """When the agent was last seen to have let stopped jobs go on."""
    _ended: npt.NDArray[np.bool_] = field(init=False)
    """Whose last status said that a lease had ended."""
    faults: dict[str, int] = field(default_factory=dict)
    refuses: npt.NDArray[np.bool_] = field(init=False)
    """Nodes whose agents say that they did not bring a cap into force as it was sent."""
    disagree: npt.NDArray[np.bool_] = field(init=False)
    """Nodes with two meters that disagree: their agents tell the larger reading."""
    first_s: float = math.inf
    """When the first node was heard."""
    _number: dict[str, int] = field(init=False)
    _least_w: Floats = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.names)
        self.watts, self.heard_s = np.full(n, np.nan), np.full(n, -np.inf)
        self.cap_w, self.safe_w = np.full(n, np.inf), np.full(n, np.inf)
        self.term = np.zeros(n, dtype=np.int64)
        self.mode, self.boot = ["silent"] * n, [""] * n
        self.lease_until_s, self.loose_s = np.full(n, np.inf), np.full(n, -np.inf)
        self._ended = np.zeros(n, dtype=np.bool_)
        self.disagree = np.zeros(n, dtype=np.bool_)
        self.refuses = np.zeros(n, dtype=np.bool_)
        self.gone = np.zeros(n, dtype=np.bool_)
        self._number = {name: i for i, name in enumerate(self.names)}
        self.idle_w = np.zeros(n) if self.idle_w is None else self.idle_w
        self._least_w = 0.5 * self.idle_w

    def take(self, node: str, body: Mapping[str, Any], at_s: float, boot: str = "") -> bool:
        """Note a status message of the process ``boot``; return False where the node is none of ours."""
        at = self._number.get(node)
        if at is None:
            return False
        told_w, age_s = body["w"], body["age"] or 0.0
        self.watts[at] = np.nan if told_w is None or age_s > self.stale_s else float(told_w)
        if not (np.isnan(self.watts[at]) or self._least_w[at] <= self.watts[at] <= IMPOSSIBLE * self.most_w[at]):
            self.watts[at] = np.nan
            self.faults["impossible-power"] = self.faults.get("impossible-power", 0) + 1
        self.heard_s[at], self.gone[at] = at_s, False
        self.first_s = min(self.first_s, at_s)
        self.cap_w[at] = np.inf if body["cap_w"] is None else float(body["cap_w"])
        self.safe_w[at] = np.inf if body["safe_w"] is None else float(body["safe_w"])
        self.term[at] = int(body["term"])
        self._note_lease(at, body, at_s, boot)
        self.disagree[at] = DISAGREE in body["faults"]
        self.refuses[at] = not REFUSED.isdisjoint(body["faults"])
        for word in body["faults"]:
            self.faults[word] = self.faults.get(word, 0) + 1
        return True

    def _note_lease(self, at: int, body: Mapping[str, Any], at_s: float, boot: str) -> None:
        """Notice that an agent has let its stopped jobs go on: nobody led it for a moment, or it was started anew."""
        mode, ended = str(body["mode"]), LEASE_ENDED in body["faults"]
        anew = boot != self.boot[at] and self.boot[at] != ""
        if anew or (ended and not self._ended[at]) or (mode != "led" and self.mode[at] != mode):
            self.loose_s[at] = at_s
        self.mode[at], self.boot[at], self._ended[at] = mode, boot, ended
        left_s = body.get("lease")
        self.lease_until_s[at] = at_s + float(left_s) if mode == "led" and left_s is not None else np.inf

    def let_go_s(self, now_s: float) -> Floats:
        """Return when each agent last let stopped jobs go on, as far as is known (-inf: never).

        One that was not heard since its lease ended has done so then.
        """
        return np.where(self.lease_until_s < now_s, np.maximum(self.loose_s, self.lease_until_s), self.loose_s)

    def lose(self, node: str) -> None:
        """Note that a node's agent died; until its next status nothing is known of it."""
        at = self._number.get(node)
        if at is not None:
            self.gone[at] = True
            self.faults["agent-gone"] = self.faults.get("agent-gone", 0) + 1

    def silent(self, now_s: float) -> npt.NDArray[np.bool_]:
        """Return which nodes were not heard for too long, or are known to be dead."""
        return np.asarray((now_s - self.heard_s > self.stale_s) | self.gone, dtype=np.bool_)

    def lost(self, now_s: float) -> list[str]:
        """Return the nodes on which no cap can be counted: silent ones, where others speak or they spoke before."""
        gone = self.silent(now_s)
        if now_s - self.first_s <= self.stale_s:
            gone &= self.heard_s > -np.inf
        elif self.first_s == math.inf:
            return []  # nobody ever spoke: a machine without agents
        return [self.names[at] for at in np.flatnonzero(gone).tolist()]

    def node_w(self, now_s: float, row: Ints | None = None) -> tuple[Floats, int]:
        """Return the power of each node and of how many it is known; ``row`` tells whose job holds a node (-1: none).

        Of a node that is silent, or whose power nobody knows, the worst is assumed that it can do: the greater of its
        last cap and its safe cap, or its greatest power; without a job, what it draws idle.
        """
        known = ~self.silent(now_s) & ~np.isnan(self.watts)
        worst_w = np.minimum(self.most_w, np.maximum(self.cap_w, self.safe_w))
        if row is not None and self.idle_w is not None:
            worst_w = np.where((row < 0) & (self.idle_w > 0.0), self.idle_w, worst_w)
        return np.where(known, self.watts, worst_w), int(known.sum())

    def system_w(self, now_s: float, row: Ints | None = None) -> tuple[float, int]:
        """Return the power of the machine and how many nodes it is known of.

        NaN where nobody is heard, and in the first seconds while not all were heard yet.
        """
        watts, known = self.node_w(now_s, row)
        begins = now_s - self.first_s <= self.stale_s and bool(np.isinf(self.heard_s).any())
        return (float(watts.sum()) if known and not begins else math.nan), known

    def distrusted(self, now_s: float) -> int:
        """Return how many nodes that are heard have meters that disagree."""
        return int((self.disagree & ~self.silent(now_s)).sum())

    def modes(self, now_s: float) -> dict[str, int]:
        """Return how many nodes are led, safe, free and silent."""
        counts: dict[str, int] = {"led": 0, "safe": 0, "free": 0, "silent": 0}
        for mode, is_silent in zip(self.mode, self.silent(now_s), strict=True):
            counts["silent" if is_silent else mode] += 1
        return counts
