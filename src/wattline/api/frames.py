"""Tables that are handed out: made once, and everybody has a copy, so that nobody changes another's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


class Frame:
    """A table as an attribute of an object, made when it is first asked for."""

    def __init__(self, make: Callable[[Any], pl.DataFrame]) -> None:
        self._make, self._kept = make, f"_{make.__name__}"
        self.__doc__ = make.__doc__

    def __get__(self, whole: Any, owner: type | None = None) -> pl.DataFrame:
        """Return a copy, which shares its columns until one of them is changed."""
        if whole is None:
            return self  # type: ignore[return-value]  # of the class: for its documentation
        if self._kept not in vars(whole):
            vars(whole)[self._kept] = self._make(whole)
        found: pl.DataFrame = vars(whole)[self._kept]
        return found.clone()
