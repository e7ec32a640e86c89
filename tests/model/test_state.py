"""Where the state's fields lie: compiled code counts on it."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.model.state.layout import allocate
from wattline.model.state.record import BESIDE, NEAR, State
from wattline.model.state.sizes import Sizes


def made() -> State:
    """Return a small state."""
    return allocate(Sizes(J=3, N=4, P=2, C=1, L=1, E=0, K=0))


def test_small_fields_come_first() -> None:
    """Fields of a known size follow each other from the beginning, none twice, and those that a run changes are in
    ``changing``.
    """
    s = made()
    base = s.option.__array_interface__["data"][0]
    ends = 0
    for name, (offset, count) in NEAR.items():
        assert getattr(s, name).__array_interface__["data"][0] == base + offset
        assert (offset, getattr(s, name).size) == (ends, count)
        ends = offset + 8 * count
    s.changing[:] = 7.0
    assert s.now[0] == s.limit_w[0] == s.started_s[1] == 7.0
    assert not np.any(s.option)


def test_fields_in_other_places_are_refused() -> None:
    """A state whose arrays do not lie where compiled code looks for them is an error, not a stray read."""
    arrays = made().arrays()
    with pytest.raises(TypeError, match="'now' must lie"):
        State(**{**arrays, "now": np.zeros(1)})
    other = made().arrays()
    assert BESIDE["slot"][0] == "status"
    with pytest.raises(TypeError, match="'slot' must lie"):
        State(**{**arrays, "slot": other["slot"]})
