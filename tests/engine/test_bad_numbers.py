"""Numbers that would spoil a run without a word are refused in one line: seeds, parameters, times and powers."""

from __future__ import annotations

import pytest

from engine.worlds import cluster, policies, table
from wattline.errors import InputError
from wattline.sim.simulate import Simulation

ONE = table({"submit": 0, "work": 1, "nodes": 1})


@pytest.mark.parametrize("seed", [-1, 2**53, 2**53 + 1, 2**70])
def test_seeds_that_floats_cannot_tell_apart_are_refused(seed: int) -> None:
    """Seeds reach policies as floats: outside 0 … 2^53 - 1 two of them could be one, so they are refused."""
    with pytest.raises(InputError, match=rf"a seed is a whole number from 0 to 9007199254740991 .* got {seed}"):
        Simulation(ONE, cluster(1), policies(), seed=seed)


def test_the_largest_seed_is_taken() -> None:
    """2^53 - 1 reaches the policies as it is."""
    assert Simulation(ONE, cluster(1), policies(), seed=2**53 - 1).param[0][-1] == 2**53 - 1
