"""The nodes of a launcher: who holds each, which are drained, and how a command gets onto one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Way(NamedTuple):
    """How a command gets onto a node: by itself, or by a program before it."""

    exec: str = ""
    """Empty: started here. ``{node}`` is the node's name, ``{command}`` the whole command as one word for a shell."""
    stops: bool = True
    """Whether SIGSTOP here reaches the job's processes."""

    def argv(self, node: str, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> list[str]:
        """Return the command that starts a command on a node."""
        words = shlex.split(self.exec)
        if not any("{command}" in word for word in words):
            return [*(word.replace("{node}", node) for word in words), *argv]
        assignments = [f"{name}={value}" for name, value in env.items()]
        there = f"cd {shlex.quote(cwd)} && exec env {shlex.join([*assignments, *argv])}"
        return [word.replace("{node}", node).replace("{command}", there) for word in words]


@dataclass
class Nodes:
    """Nodes by name, in their order."""

    ways: Mapping[str, Way]
    holder: dict[str, str] = field(default_factory=dict)
    """Node to the job that has it; the others are free."""
    drained: dict[str, str] = field(default_factory=dict)
    """Node to the reason why nothing is started on it."""
    _all_stop: bool = field(init=False)

    def __post_init__(self) -> None:
        self._all_stop = all(way.stops for way in self.ways.values())

    def stops(self, names: Sequence[str]) -> bool:
        """Tell whether jobs on these nodes can be stopped (none given: on any)."""
        return self._all_stop or (bool(names) and all(self.ways[name].stops for name in names))

    def refusal(self, job: str, count: int, on: Sequence[str]) -> str | None:
        """Return why a job cannot have these nodes."""
        if len(on) != count:
            return f"asks for {count} nodes, was given {len(on)}"
        if len(set(on)) != len(on):
            return "was given a node twice"
        for name in on:
            if name not in self.ways:
                return f"node {name!r} does not exist"
            if name in self.drained:
                return f"node {name} is drained ({self.drained[name]})"
            if self.holder.get(name, job) != job:
                return f"node {name} is held by job {self.holder[name]}"
        return None

    def take(self, job: str, on: Sequence[str]) -> None:
        """Give nodes to a job."""
        self.holder.update(dict.fromkeys(on, job))

    def free(self, job: str, on: Sequence[str]) -> None:
        """Take nodes back from a job."""
        for name in on:
            if self.holder.get(name) == job:
                del self.holder[name]

    def rows(self) -> list[dict[str, object]]:
        """Return what clients are told."""
        return [
            {"name": name, "up": False, "reason": self.drained[name]}
            if name in self.drained
            else {"name": name, "up": True}
            for name in self.ways
        ]
