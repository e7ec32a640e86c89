"""How the study of a system is carried out: piece by piece, told as it goes, kept so that it can go on."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from wattline.journal.kept import Kept
from wattline.sim.ensemble import in_processes, in_threads

T = TypeVar("T")
R = TypeVar("R")

Say = Callable[[str], None]
Progress = Callable[[float, float], None]
"""Called with (pieces that are done, pieces of the whole)."""


class Work:
    """Who is told what happens, and where pieces that are done are kept.

    Parameters
    ----------
    say
        Hears what is done next.
    progress
        Hears how many pieces of the whole are done.
    kept
        Where pieces are kept, and taken from where they are there (None: nowhere).
    """

    def __init__(self, say: Say | None = None, progress: Progress | None = None, kept: Kept | None = None) -> None:
        self._say, self._progress, self.kept = say, progress, kept
        self.done, self.total = 0, 0
        self._counting = threading.Lock()

    def say(self, text: str) -> None:
        """Say what is done next."""
        if self._say is not None:
            self._say(text)

    def plan(self, count: int) -> None:
        """Tell how many pieces the whole has."""
        self.total = count
        self._tell(0)

    def each(
        self,
        function: Callable[[T], R],
        pieces: Iterable[T],
        *,
        workers: int | None = None,
        threads: bool = False,
        first: Callable[[], object] | None = None,
    ) -> list[R]:
        """Return what a function gives for every piece, in order: as it is kept, or made now, one process a core.

        ``threads``: made in threads of this process. ``first`` is called once, before any piece is made: what it
        compiles is not compiled by every process.
        """
        todo = list(pieces)
        keys = [_key(function, piece) for piece in todo]
        found: dict[str, R] = {}
        if self.kept is not None:
            found = {key: self.kept.get(key) for key in keys if key in self.kept}
        self._tell(sum(key in found for key in keys))
        left = {key: piece for key, piece in zip(keys, todo, strict=True) if key not in found}
        if left and first is not None:
            first()

        def note(piece: T, result: R) -> None:
            if self.kept is not None:
                self.kept.put(_key(function, piece), result)
            self._tell(1)

        def make(piece: T) -> R:
            result = function(piece)
            note(piece, result)
            return result

        if threads:
            made = in_threads(make, left.values())
        else:
            made = in_processes(function, left.values(), done=note, workers=workers)
        found |= dict(zip(left, made, strict=True))
        return [found[key] for key in keys]

    def _tell(self, count: int) -> None:
        with self._counting:
            self.done += count
            if self._progress is not None and self.total:
                self._progress(self.done, self.total)


def _key(function: Callable[..., object], piece: object) -> str:
    """Return what was asked: pieces are records, whose words have all that matters."""
    words = repr(piece)
    return f"{function.__module__}.{function.__name__} {hashlib.sha256(words.encode()).hexdigest()[:32]}"
