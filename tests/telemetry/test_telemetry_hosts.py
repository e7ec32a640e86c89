"""Host lists as Slurm writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.telemetry.nodes.hosts import expand_hosts
from wattline.telemetry.nodes.placed import natural

LISTS = {
    "node7": ["node7"],
    "node[001-004,007]": ["node001", "node002", "node003", "node004", "node007"],
    "a1,b[2-3],c": ["a1", "b2", "b3", "c"],
    "r[0-1]c[09-11]": ["r0c09", "r0c10", "r0c11", "r1c09", "r1c10", "r1c11"],
    "n[8-11]": ["n8", "n9", "n10", "n11"],
    "n[098-101]x": ["n098x", "n099x", "n100x", "n101x"],
    " a[1] , a2 ": ["a1", "a2"],
    "x[1,1]": ["x1", "x1"],
}
WRONG = {
    "node[1-": "bracket is not closed",
    "node1]": "do not match at character 6",
    "node[1-[2]]": "do not match",
    "node[a-b]": "expected numbers",
    "node[4-1]": "runs backwards",
    "a,,b": "name is empty",
    "": "name is empty",
    "node 1": "blank inside",
    "node[1-99999999999]": "more than 10,000,000",
    "a[0-9999]b[0-9999]": "more than 10,000,000",
}


@pytest.mark.parametrize("text", LISTS)
def test_a_list_has_its_names(text: str) -> None:
    """Brackets, several of them, zeros in front and plain names are expanded exactly."""
    assert expand_hosts(text) == LISTS[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_list_is_refused(text: str) -> None:
    """A damaged list is an error that says what is wrong with it."""
    with pytest.raises(InputError, match=WRONG[text]):
        expand_hosts(text)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 30)), min_size=1, max_size=6), st.integers(0, 4))
def test_ranges_are_what_they_say(ranges: list[tuple[int, int]], width: int) -> None:
    """A list built from ranges names every number of them, in order, as wide as it was written."""
    parts = [f"{low:0{width}d}-{low + more:0{width}d}" for low, more in ranges]
    names = [f"n{i:0{width}d}" for low, more in ranges for i in range(low, low + more + 1)]
    assert expand_hosts(f"n[{','.join(parts)}]") == names


def test_names_sort_as_people_count() -> None:
    """node9 comes before node10, and racks before their nodes' numbers."""
    assert sorted(["n10", "n9", "r2n1", "r10n1", "r2n10"], key=natural) == ["n9", "n10", "r2n1", "r2n10", "r10n1"]
