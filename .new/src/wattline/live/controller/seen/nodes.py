"""Names and numbers of a machine's nodes: the resource manager has names, the state has numbers in extents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wattline.errors import InputError
from wattline.model.state.record import State


@dataclass(frozen=True)
class NodeNames:
    """Nodes in the order of their numbers."""

    names: tuple[str, ...]
    number: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.number.update({name: i for i, name in enumerate(self.names)})
        if len(self.number) != len(self.names):
            twice = next(name for i, name in enumerate(self.names) if self.number[name] != i)
            raise InputError(f"node {twice!r} is named twice")

    def extents(self, names: Iterable[str]) -> list[tuple[int, int]] | None:
        """Return nodes as pieces of neighbours, first and one past the last; None where one is not known."""
        numbers = []
        for name in names:
            at = self.number.get(name)
            if at is None:
                return None
            numbers.append(at)
        pieces: list[tuple[int, int]] = []
        for at in sorted(numbers):
            if pieces and pieces[-1][1] == at:
                pieces[-1] = (pieces[-1][0], at + 1)
            else:
                pieces.append((at, at + 1))
        return pieces

    def held(self, s: State, row: int) -> tuple[str, ...]:
        """Return the nodes that a job of the state holds."""
        return tuple(self.names[at] for at in sorted(numbers_held(s, row)))


def numbers_held(s: State, row: int) -> list[int]:
    """Return the numbers of the nodes that a job holds."""
    numbers: list[int] = []
    at = int(s.held[row])
    while at >= 0:
        numbers.extend(range(at, int(s.hx_to[at])))
        at = int(s.hx_next[at])
    return numbers
