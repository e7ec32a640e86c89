"""Columns of names → codes in order of appearance, and names; an empty text is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Ints
from wattline.model.jobs import UNKNOWN
from wattline.model.names import Names
from wattline.reading.pieces import Pieces

if TYPE_CHECKING:
    import polars as pl

_AT_ONCE = 50_000
"""Rows of a whole column that are looked at together."""
Codes = npt.NDArray[np.int32]


class Coder:
    """A column that is taken part by part.

    Until it is settled a name has a code of its own in every part, so that no name is an object of its own: names of
    a million jobs take little more than their letters.
    """

    def __init__(self) -> None:
        self._parts: list[pl.Series] = []
        self._codes = Pieces()
        self._count = 0
        self._settled: tuple[Codes, Names] | None = None

    def add(self, texts: pl.Series) -> None:
        """Take a part."""
        import polars as pl

        known = texts.fill_null("")
        distinct = known.unique(maintain_order=True)
        if distinct.len() == 1 and self._parts and distinct.equals(self._parts[-1]):  # one name all along, or none
            self._codes.add("", np.full(known.len(), self._count - 1, dtype=np.int32))
            return
        places = pl.Series(np.arange(self._count, self._count + distinct.len(), dtype=np.int32))
        found = known.replace_strict(distinct, places, return_dtype=pl.Int32) if known.len() else places
        self._codes.add("", found.to_numpy())
        self._parts.append(distinct)
        self._count += distinct.len()

    @property
    def codes(self) -> Codes:
        """The code of every row."""
        return self.settle()[0]

    @property
    def names(self) -> Names:
        """The names that have a code."""
        return self.settle()[1]

    def settle(self) -> tuple[Codes, Names]:
        """Give every name one code: there is no part to come."""
        import polars as pl

        if self._settled is None:
            given = self._codes.take("") if self._parts else np.empty(0, dtype=np.int32)
            texts = pl.concat(self._parts) if self._parts else pl.Series(dtype=pl.String)
            self._parts.clear()
            code, distinct = _numbered(texts)
            del texts
            names = Names.of_series(distinct)
            self._settled = code[given], names
        return self._settled


def codes(texts: pl.Series) -> tuple[Ints, Names]:
    """Number the names of a whole column.

    >>> import polars as pl
    >>> codes(pl.Series(["b", "", "a", None, "b"]))
    (array([ 0, -1,  1, -1,  0]), Names('b', 'a'))
    """
    coder = Coder()
    for begin in range(0, texts.len(), _AT_ONCE):
        coder.add(texts.slice(begin, _AT_ONCE))
    return coder.codes.astype(np.int64), coder.names


def _numbered(texts: pl.Series) -> tuple[Codes, pl.Series]:
    """Return the code of each text, and the distinct ones in order of appearance; sorting takes the least room."""
    rows = np.arange(texts.len(), dtype=np.int32)
    if _all_differ(texts):
        return _without_blank(rows, texts)
    rank: npt.NDArray[Any] = texts.rank("dense").to_numpy()  # from 1
    first = np.zeros(int(rank.max()) + 1, dtype=np.int32)
    first[rank[::-1]] = rows[::-1]  # the last that is written is the first of its name
    order = np.argsort(first[1:])
    place = np.empty_like(first)
    place[order + 1] = rows[: order.size]
    return _without_blank(place[rank], texts[first[1:][order]])


def _all_differ(texts: pl.Series) -> bool:
    """Return whether no text comes twice, as far as that can be told in little room."""
    hashes = np.sort(texts.hash().to_numpy())
    return not bool((hashes[1:] == hashes[:-1]).any())


def _without_blank(code: Codes, distinct: pl.Series) -> tuple[Codes, pl.Series]:
    """Make the empty text unknown."""
    blank = np.flatnonzero((distinct == "").to_numpy())
    if not blank.size:
        return code, distinct
    at = int(blank[0])
    found = np.where(code == at, code.dtype.type(UNKNOWN), code - (code > at))
    return found.astype(code.dtype), distinct.filter(distinct != "")


def without_blank(code: npt.NDArray[Any], distinct: pl.Series) -> tuple[npt.NDArray[Any], Names]:
    """Return codes and names of which the empty one is unknown."""
    found, left = _without_blank(code, distinct)
    return found, Names.of_series(left)
