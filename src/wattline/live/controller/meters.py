"""What agents say of their nodes: power now, caps in force, and what is assumed of nodes that are silent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints


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
    """

    names: Sequence[str]
    most_w: Floats
    stale_s: float = 5.0
    watts: Floats = field(init=False)
    """Last reading, NaN: never heard or not known."""
    heard_s: Floats = field(init=False)
    cap_w: Floats = field(init=False)
    """Cap that the agent says is in force (inf: none)."""
    safe_w: Floats = field(init=False)
    term: Ints = field(init=False)
    mode: list[str] = field(init=False)
    faults: dict[str, int] = field(default_factory=dict)
    _number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.names)
        self.watts, self.heard_s = np.full(n, np.nan), np.full(n, -np.inf)
        self.cap_w, self.safe_w = np.full(n, np.inf), np.full(n, np.inf)
        self.term = np.zeros(n, dtype=np.int64)
        self.mode = ["silent"] * n
        self._number = {name: i for i, name in enumerate(self.names)}

    def take(self, node: str, body: Mapping[str, Any], at_s: float) -> bool:
        """Note a status message; return False where the node is none of ours."""
        at = self._number.get(node)
        if at is None:
            return False
        told_w, age_s = body["w"], body["age"] or 0.0
        self.watts[at] = np.nan if told_w is None or age_s > self.stale_s else float(told_w)
        self.heard_s[at] = at_s
        self.cap_w[at] = np.inf if body["cap_w"] is None else float(body["cap_w"])
        self.safe_w[at] = np.inf if body["safe_w"] is None else float(body["safe_w"])
        self.term[at] = int(body["term"])
        self.mode[at] = str(body["mode"])
        for word in body["faults"]:
            self.faults[word] = self.faults.get(word, 0) + 1
        return True

    def silent(self, now_s: float) -> npt.NDArray[np.bool_]:
        """Return which nodes were not heard for too long."""
        return np.asarray(now_s - self.heard_s > self.stale_s, dtype=np.bool_)

    def system_w(self, now_s: float) -> tuple[float, int]:
        """Return the power of the machine and how many nodes it is known of.

        Of a silent node the worst is assumed that it can do: the greater of its last cap and its safe cap, or its
        greatest power. NaN as long as nobody was heard.
        """
        known = ~self.silent(now_s) & ~np.isnan(self.watts)
        if not known.any():
            return math.nan, 0
        worst_w = np.minimum(self.most_w, np.maximum(self.cap_w, self.safe_w))
        return float(np.where(known, self.watts, worst_w).sum()), int(known.sum())

    def modes(self, now_s: float) -> dict[str, int]:
        """Return how many nodes are led, safe, free and silent."""
        counts: dict[str, int] = {"led": 0, "safe": 0, "free": 0, "silent": 0}
        for mode, is_silent in zip(self.mode, self.silent(now_s), strict=True):
            counts["silent" if is_silent else mode] += 1
        return counts
