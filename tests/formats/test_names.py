"""Names kept as one text, and columns of names that are coded part by part, against plain tuples and dicts."""

from __future__ import annotations

import copy

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.formats.jobs.swf.read import _codes
from wattline.journal.frozen import digest, freeze, thaw
from wattline.journal.plain import from_plain, to_plain
from wattline.model.names import Names
from wattline.reading import coder as coding
from wattline.reading.coder import Coder, codes

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=30)
FEW = st.lists(st.sampled_from(["", "a", "b", "B", "böll", "a rather long name of somebody", "x" * 40]), max_size=40)


@given(TEXTS)
def test_names_are_read_like_a_tuple(texts: list[str]) -> None:
    """Length, places, slices, search, equality and hash are those of a tuple."""
    names = Names(texts)
    assert (len(names), tuple(names), hash(names)) == (len(texts), tuple(texts), hash(tuple(texts)))
    assert names == tuple(texts)
    assert [names[i] for i in range(-len(texts), len(texts))] == [texts[i] for i in range(-len(texts), len(texts))]
    assert (names[1:], names[::-2]) == (tuple(texts[1:]), tuple(texts[::-2]))
    assert all(text in names and names.index(text) == texts.index(text) for text in texts)
    assert (names == (*texts, "")) is False
    assert names != texts
    assert names == Names.of_series(pl.Series(texts, dtype=pl.String))
    with pytest.raises(IndexError):
        names[len(texts)]


def test_texts_that_no_file_can_hold_are_names_too() -> None:
    """Half a character, as a file's name may have, stays what it is."""
    assert tuple(Names(["\udc80", "a"])) == ("\udc80", "a")


def plain(texts: list[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return the codes and names of a column, by a dict."""
    known: dict[str, int] = {"": -1}
    found = [known.setdefault(text, len(known) - 1) for text in texts]
    return found, tuple(known)[1:]


@given(st.lists(FEW, max_size=6))
def test_a_column_in_parts_has_the_codes_of_a_dict(parts: list[list[str]]) -> None:
    """Names are numbered in order of appearance, wherever the parts are cut; an empty text is unknown."""
    coder = Coder()
    for part in parts:
        coder.add(pl.Series(part, dtype=pl.String))
    texts = [text for part in parts for text in part]
    assert (coder.codes.tolist(), tuple(coder.names)) == plain(texts)
    whole, names = codes(pl.Series(texts, dtype=pl.String).replace("", None))
    assert (whole.tolist(), tuple(names)) == plain(texts)


@given(FEW.filter(bool))
def test_hashes_that_are_the_same_change_nothing(texts: list[str]) -> None:
    """Two names of one hash are two names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coding, "_all_differ", lambda _: False)
        found = codes(pl.Series(texts, dtype=pl.String))
    assert (found[0].tolist(), tuple(found[1])) == plain(texts)


def by_hand(values: list[int], lines: list[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return codes and names of numbers that header lines may name, one after another."""
    names: dict[int, str] = {}
    for line in lines:
        parts = line.split(maxsplit=1)
        if len(parts) == 2 and parts[0].isascii() and parts[0].isdigit():
            names[int(parts[0][:18])] = parts[1]
    distinct = sorted({value for value in values if value >= 0})
    shown = [names.get(value, str(value)) for value in distinct]
    told = [f"{name} ({value})" if shown.count(name) > 1 else name for name, value in zip(shown, distinct, strict=True)]
    return [distinct.index(value) if value >= 0 else -1 for value in values], tuple(told)


GAPS = st.sampled_from([" ", "  ", "\t", "x", ""])
LINES = st.builds(
    lambda number, gap, name: f"{number}{gap}{name}",
    st.integers(0, 12) | st.just(3_000_000),
    GAPS,
    st.sampled_from(["a", "b", "3", "big queue", ""]),
)


@settings(max_examples=200)
@given(
    st.lists(st.integers(-2, 12) | st.just(3_000_000), min_size=1, max_size=20),
    st.lists(LINES, max_size=8),
)
def test_names_of_numbers_in_a_header(values: list[int], lines: list[str]) -> None:
    """The last line on a number names it; what two numbers are called has the number behind it."""
    import numpy as np

    stripped = [line.strip() for line in lines]
    found, names = _codes(np.array(values, dtype=np.float64), "\n".join(stripped))
    assert (found.tolist(), tuple(names)) == by_hand(values, stripped)


def test_names_are_written_down_like_a_tuple() -> None:
    """What is kept of a run that was stopped, or of a result, has the names as a tuple; the digest is the same."""
    names = Names(["a", "böll"])
    assert thaw(*freeze(names)) == ("a", "böll")
    assert digest(names) == digest(("a", "böll"))
    assert from_plain(to_plain(names)) == ("a", "böll")
    assert copy.deepcopy(names) == names
