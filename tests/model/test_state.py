"""Where the state's fields lie: compiled code counts on it."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.model.state.layout import allocate
from wattline.model.state.lent import read_only
from wattline.model.state.record import BESIDE, FIELDS, NEAR, State
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


SIZES = [
    Sizes(J=3, N=4, P=2, C=1, L=1, E=0, K=0),
    Sizes(J=0, N=1, P=2, C=3, L=4, E=0, K=5, Y=0, G=7, M=2, A=3, F=1, S=3, U=2, NB=3, NL=2),
    Sizes(J=200, N=150, P=1, C=2, L=3, E=4, K=5, Z=2, A=6, SZ=3, FR=4, NG=2, NN=9, NJ=200, spare=10),
]
"""States of all kinds: with empty fields, with two-dimensional ones, with rows to spare."""


@pytest.mark.parametrize("sizes", SIZES)
def test_a_state_is_described_as_a_look_at_its_arrays_describes_it(sizes: Sizes) -> None:
    """What is written down while the arrays are laid out is what a record finds that looks at each of them; fields
    begin as declared, and as policies of users see them they lie at the same places.
    """
    s = allocate(sizes)
    found = State(**s.arrays()).words
    np.testing.assert_array_equal(s.words[1:], found[1:])
    assert s.words[0] == id(s)
    for name, (_, field) in FIELDS.items():
        np.testing.assert_array_equal(getattr(s, name), field.nothing, name)
    s.words[1] = 5
    seen = read_only(s, "select")
    np.testing.assert_array_equal(seen.words[1:], found[1:])
    assert seen.words[0] == id(seen)
