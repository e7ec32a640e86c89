"""Many names, kept as one text: of users, groups, kinds of job and partitions."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

_AT_ONCE = 50_000
"""Names that are texts of their own at a time."""
_HALF = 1 << 31
"""Places in a shorter text need half the room."""


class Names(Sequence[str]):
    """Names in their order; it is read like a tuple of them, which would take five times the room.

    >>> Names(["ada", "", "böll"])
    Names('ada', '', 'böll')
    >>> Names(["ada", "böll"])[1], Names("ab") == ("a", "b"), "b" in Names("ab")
    ('böll', True, True)
    """

    __slots__ = ("_ends", "_text")

    def __init__(self, names: Iterable[str] = ()) -> None:
        text, ends = bytearray(), array("q")
        for name in names:
            text += name.encode("utf-8", "surrogatepass")
            ends.append(len(text))
        self._text = text
        self._ends: npt.NDArray[Any] = np.array(ends, dtype=np.int32 if len(text) < _HALF else np.int64)

    @classmethod
    def of_series(cls, series: pl.Series) -> Names:
        """Return the texts of a column that has no nulls."""
        found = cls()
        sizes = series.str.len_bytes().to_numpy()
        size = int(sizes.sum(dtype=np.int64))
        ends = np.cumsum(sizes, dtype=np.int32 if size < _HALF else np.int64)
        text = bytearray(size)
        for begin in range(0, series.len(), _AT_ONCE):
            part = "".join(series.slice(begin, _AT_ONCE).to_list()).encode("utf-8")
            at = int(ends[begin - 1]) if begin else 0
            text[at : at + len(part)] = part
        found._text, found._ends = text, ends
        return found

    def take(self, places: npt.NDArray[Any]) -> Names:
        """Return some of the names."""
        if np.array_equal(places, np.arange(len(self))):
            return self
        return Names(self[int(place)] for place in places)

    def __len__(self) -> int:
        return int(self._ends.size)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        at = range(len(self))[index]
        begin = int(self._ends[at - 1]) if at else 0
        return self._text[begin : int(self._ends[at])].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        begin = 0
        for part in range(0, len(self), _AT_ONCE):
            for end in self._ends[part : part + _AT_ONCE].tolist():
                yield self._text[begin:end].decode("utf-8", "surrogatepass")
                begin = end

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self._text == other._text and np.array_equal(self._ends, other._ends)
        return tuple(self) == tuple(other) if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = [repr(name) for name in self[:10]]
        more = len(self) - len(shown)
        return f"Names({', '.join([*shown, f'... {more} more'] if more else shown)})"
