"""Who hears of the runs behind an answer: nobody of those that look for a cause, and of the others nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wattline.api.listener import Listener, Note


class Silent(Listener):
    """Who hears nothing: runs that only look for a cause are not shown."""

    def __init__(self) -> None:
        super().__init__(progress=False)

    def loud(self, text: str) -> None:
        """Hear nothing."""


class Once(Listener):
    """Who tells another one what it hears, but nothing twice: runs of the same jobs have much in common."""

    def __init__(self, other: Listener) -> None:
        super().__init__()
        self._other = other
        self._heard: set[Any] = set()
        self.imagined = False
        """Whether a run is of what never was: that it is hard to believe is no news."""
        self.assumed = False
        """Whether nobody gave watts: that they were assumed is said loudly, and not that they are given."""

    def _is_new(self, what: Any) -> bool:
        new = what not in self._heard
        self._heard.add(what)
        return new

    def say(self, text: str) -> None:
        """Hear a remark about what is done next."""
        if self._is_new(text):
            self._other.say(text)

    def tell(self, text: str) -> None:
        """Hear what to know of a run."""
        if self._is_new(text) and not (self.assumed and text.startswith("power: ")):
            self._other.tell(text)

    def loud(self, text: str) -> None:
        """Hear what nobody should overlook."""
        if self._is_new(text) and not self.imagined:
            self._other.loud(text)

    def notes(self, notes: Iterable[Note], label: str = "") -> None:
        """Hear what was dropped, repaired, rejected or kept on purpose."""
        self._other.notes([note for note in notes if self._is_new(note)], label)

    def warm_up(self, policies: Sequence[Any] = (), *, nodes_change: bool | None = True) -> None:
        """Compile what a run needs."""
        self._other.warm_up(policies, nodes_change=nodes_change)

    def progress(self, what: str, keeping: str = "") -> Any:
        """Show a bar."""
        return self._other.progress(what, keeping) if keeping else self._other.progress(what)
