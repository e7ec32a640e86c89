"""Extents of the state's arrays, by the letters that the declarations use."""

from __future__ import annotations

from dataclasses import dataclass

from wattline.model.codes import TL_COLUMNS

BLOCK = 32
"""Running jobs that a block has room for."""

MANY_RUNNING = 96
"""Running jobs from which on a sorted list of them is kept in blocks."""


@dataclass(frozen=True)
class Sizes:
    """Extents of the state's arrays, by the letter that the declarations use."""

    J: int  # jobs
    N: int  # nodes
    P: int  # node classes (partitions)
    C: int  # rate classes
    L: int  # speed levels, most of any node class
    E: int  # envelope steps
    K: int  # node changes
    Y: int = 1  # kinds of job
    G: int = 0  # steps of the regulation signal
    M: int = 0  # bids
    B: int = 20  # width buckets of the backfill index
    S: int = 0  # values of the power series of all jobs
    Z: int = 1  # applications with configurations
    A: int = 0  # their configurations
    F: int = 0  # nodes with a power factor: all of them, or none where they are alike
    U: int = 0  # configurations whose response to caps matters: all of them where nodes differ, else none
    SZ: int = 0  # numbers of nodes that configurations have, application by application
    FR: int = 0  # entries of the fronts that ``fr_*`` list
    V: int = 1  # levels of power profiles: a job's own, its group's, …
    NET: int = 1  # routers of the network
    NB: int = 0  # routers whose links' loads decide how fast jobs are: all, or none where no speed depends on them
    NG: int = 0  # groups of them
    NN: int = 0  # nodes of them
    NJ: int = 0  # jobs on them: all
    NP: int = 0  # groups that are linked one to one: those of a dragonfly
    NQ: int = 0  # links that lead to them, to each group as many
    NL: int = 0  # links of a router
    RP: int = 0  # responses to caps that are not the linear rule
    RQ: int = 0  # their points
    RS: int = 0  # resources of the whole machine beside nodes and watts
    LC: int = 0  # rate classes whose caps may be late: all, or none where caps are in force at once
    D: int = 65536  # rows a log holds before it is emptied
    spare: int = 0  # rows among J for jobs that are not known at the start; 0: there are none to come

    def extents(self) -> dict[str, int]:
        """Return the extent that every letter stands for."""
        is_open = self.spare > 0
        running = (self.N if is_open else min(self.J, self.N)) + 1
        # half full they take half of this; an unused one is gone after half a block of starts, and then all are
        # filled anew
        blocks = 4 * -(-running // BLOCK) + 4 if running > MANY_RUNNING else 0
        words = self.N // 64 + 1
        return {
            **vars(self),
            "R": running,  # jobs that can run at once
            "RK": blocks,  # blocks of running jobs
            "RB": blocks * BLOCK,  # room in them
            "NW": words,  # words with a bit for each node, and for the one after the last
            "NX": words // 64 + 1,  # words with a bit for each of those
            "Q": 2 * self.J + 64,  # slots of the queue
            "H": (2 * self.J if is_open else self.J) + self.C,  # room for the heaps of all rate classes
            "SR": self.J if is_open else 0,  # rows that jobs may get or leave during a run
            "SC": self.C if is_open else 0,  # rate classes likewise
            "W": 2 * _power_of_two(self.C),  # winner tree over rate classes
            "X": 4 * self.J + 4 * self.B,  # trees of the backfill index
            "I": 2 * self.J + 2 * self.B,  # leaves of the backfill index
            "T": TL_COLUMNS,
        }


def _power_of_two(n: int) -> int:
    size = 1
    while size < n:
        size *= 2
    return size
