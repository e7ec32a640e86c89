"""Random facts, most of them wrong: a state refuses what cannot be, adds up after each batch, and a replay of it all
gives the same actions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.worlds import check_structure
from live.journal.world import NODES, Fuzz, build
from wattline.control.facts import END, ENTER, FREE, LET_GO, REQUEUE, TAKE, TIME, VERBS
from wattline.kernel.compiled import JIT
from wattline.live.controller.journal.folder import Keeping, LiveJournal
from wattline.live.controller.journal.replay import replay
from wattline.live.controller.ledger import Ledger
from wattline.model import codes

BATCHES = 400 if JIT else 40
ODD = (-1.0, 0.0, 1.0, 3.0, 7.5, 63.0, 64.0, 1e9, -1e9, np.inf, -np.inf, np.nan)


class Wild(Fuzz):
    """A world that also tells nonsense: verbs on rows of any status or none, numbers that are none, nodes that are not
    there or held by others.
    """

    def nonsense(self) -> None:
        """Tell one fact of any verb with numbers of any sort."""
        rng, book = self.rng, self.ledger
        verb = int(rng.integers(0, len(VERBS) + 2))
        if verb in (ENTER, FREE):  # the ledger itself names and frees rows
            return
        if verb == TIME:
            book.tell(TIME, float(rng.choice([-1.0, -np.inf, np.nan, np.inf, float(book.state.now[0]) - 5.0])))
            return
        rows = [-1, int(book.state.sizes.J), int(book.state.sizes.J) + 5, *book.row.values()]
        first = float(rng.choice(rows)) if rng.random() < 0.8 else float(rng.choice([-1.0, 0.0, 5.0, 1e6]))
        more = [float(rng.choice(ODD)) for _ in range(int(rng.integers(0, 4)))]
        book.tell(verb, first, *more)

    def move(self) -> None:
        """Let a job turn out to be on other nodes: maybe free ones, maybe not, maybe too few or none at all."""
        rng, book = self.rng, self.ledger
        s = book.state
        able = [n for n, row in book.row.items() if s.status[row] in (codes.STARTING, codes.RUNNING, codes.PAUSED)]
        if not able:
            return
        name = str(rng.choice(able))
        width, first = int(s.nodes[book.row[name]]), int(rng.integers(0, NODES))
        pieces = [(first, min(NODES, first + width))]
        book.tell_of(LET_GO, name)
        if rng.random() < 0.5:
            book.tell_nodes(TAKE, name, pieces)
        book.flush()
        if rng.random() < 0.5:
            self.fate(name, int(book.state.status[book.row[name]]))
            book.flush()

    def settle(self) -> None:
        """Give jobs that found no nodes some that are free."""
        s, book = self.ledger.state, self.ledger
        for name, row in list(book.row.items()):
            if s.status[row] in (codes.STARTING, codes.RUNNING, codes.PAUSED) and s.held[row] < 0:
                self.place(name, row)

    def place(self, name: str, row: int) -> None:
        """Let a job hold nodes that are free; there are as many as it let go of, or it ends."""
        book, s = self.ledger, self.ledger.state
        width = int(s.nodes[row])
        held = np.zeros(NODES, dtype=bool)
        for j in s.running[: s.n_running[0]]:
            x = int(s.held[j])
            while x >= 0:
                held[x : int(s.hx_to[x])] = True
                x = int(s.hx_next[x])
        free = [i for i in range(NODES) if not held[i] and s.node_outages[i] == 0]
        if len(free) < width:
            book.tell_of(END, name, codes.FAILED)
            book.flush()
            return
        book.tell_nodes(TAKE, name, [(i, i + 1) for i in free[:width]])
        assert book.flush()[-1] == 0


def conserved(book: Ledger, energy_j: float) -> float:
    """Assert what never changes: rows and names, nodes, energy; return the energy so far."""
    s = book.state
    check_structure(s)
    assert {row: name for name, row in book.row.items()} == book.name
    in_use = np.flatnonzero(s.status != codes.SPARE)
    assert set(book.name) <= set(in_use.tolist())
    assert len(in_use) == len(book.name) + int(s.n_freed[0])
    assert (s.busy >= 0).all()
    assert (s.paused >= 0).all()
    assert (s.free >= 0).all()
    assert np.isfinite(s.now[0])
    assert np.isfinite(s.node_j).all()
    assert (s.node_j >= 0.0).all()
    assert (s.energy_j[in_use] >= 0.0).all()
    total_j = float(s.node_j.sum())
    assert total_j >= energy_j - 1e-6
    return total_j


@pytest.mark.parametrize("select", ["easy", "conservative"])
@pytest.mark.parametrize("seed", [1, 2])
def test_facts_of_every_sort_right_and_wrong(tmp_path: Path, select: str, seed: int) -> None:
    """Thousands of facts of which a half is wrong: nodes, rows, queue and energy add up after every batch, wrong facts
    are counted and change nothing, and the run is replayed with identical actions.
    """
    start = {
        "name": "fuzz",
        "site": "",
        "how": {"select": select, "rows": 16, "late_start_s": [0.0, 2.0], "outside": True},
    }
    journal = LiveJournal(tmp_path, start, build, keeping=Keeping(checkpoint_s=150.0, seal_s=1e9))
    world, energy_j = Wild(journal.ledger, seed), 0.0
    rng = np.random.default_rng(seed)
    for _ in range(BATCHES):
        for _ in range(int(rng.integers(0, 12))):
            world.nonsense()
        world.ledger.flush()
        if rng.random() < 0.3:
            world.move()
        world.settle()
        energy_j = conserved(world.ledger, energy_j)
        world.tick()
        energy_j = conserved(world.ledger, energy_j)
        journal.tick()
    assert sum(world.ledger.wrong.values()) > BATCHES
    assert world.count > BATCHES
    journal.close()
    found = replay(tmp_path, build)
    assert found.identical, found.difference
    assert found.facts > 10 * BATCHES


def test_a_job_that_let_go_of_its_nodes_ends() -> None:
    """A job that runs elsewhere than was thought, on nodes that the state has given to another, may end before it is
    settled: nothing is given back twice.
    """
    book = Ledger(build({"how": {"rows": 16}}))
    with book.bound:
        world = Fuzz(book, 1)
        for _ in range(6):
            world.enter()
        book.control()
        s = book.state
        running = [name for name, row in book.row.items() if s.status[row] == codes.RUNNING]
        assert len(running) > 2
        book.tell_of(LET_GO, running[0])
        book.tell_nodes(TAKE, running[0], [(0, NODES)])
        book.tell_of(END, running[0], codes.FINISHED)
        book.tell_of(LET_GO, running[1])
        book.tell_of(REQUEUE, running[1])
        results = book.flush()
        assert results.tolist() == [0, -codes.NO_SUCH, 0, 0, 0]
        check_structure(s)
