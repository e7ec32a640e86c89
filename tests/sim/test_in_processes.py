"""Work spread over processes: in order, told of as it ends, with errors that arrive."""

from __future__ import annotations

import pytest

from wattline.errors import InputError
from wattline.sim.ensemble import in_processes


def square(x: int) -> int:
    """Return the square; refuse 13."""
    if x == 13:
        raise InputError("thirteen")
    return x * x


def test_order_and_news() -> None:
    """Results come in the order of the items, and every item is told of once, with its result."""
    told: list[tuple[int, int]] = []
    assert in_processes(square, [3, 1, 2], done=lambda *one: told.append(one)) == [9, 1, 4]
    assert sorted(told) == [(1, 1), (2, 4), (3, 9)]


def test_errors_arrive() -> None:
    """What a process raises is raised here."""
    with pytest.raises(InputError, match="thirteen"):
        in_processes(square, [1, 13, 2])
