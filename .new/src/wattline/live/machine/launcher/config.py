"""The launcher's file: its run directory, its nodes, and how long things are waited for and kept."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from wattline.errors import InputError
from wattline.live.bus.names import nodes_of
from wattline.live.forms import Duration, Moment, Section, read_form, wrong
from wattline.live.machine.launcher.machine import Way
from wattline.units import show_duration


def _names(text: str) -> str:
    try:
        nodes_of(text)
    except InputError as problem:
        raise wrong(str(problem)) from None
    return text


def _words(text: str) -> str:
    try:
        shlex.split(text)
    except ValueError as problem:
        raise wrong(f"{problem} (got {text!r})") from None
    return text


class ClockConfig(Section):
    """Time of the machine."""

    speed: float = Field(default=1.0, gt=0.0, le=1e6, allow_inf_nan=False)
    origin: Moment | None = None


class NodesConfig(Section):
    """Nodes that are alike."""

    names: Annotated[str, AfterValidator(_names)]
    exec: Annotated[str, AfterValidator(_words)] = ""
    stops: bool | None = None

    def way(self) -> Way:
        """Return how commands get onto these nodes: where a shell of another machine runs them, a stop does not."""
        return Way(self.exec, "{command}" not in self.exec if self.stops is None else self.stops)


class LauncherConfig(Section):
    """A launcher's file."""

    run_dir: Annotated[Path, BeforeValidator(lambda given: Path(given) if isinstance(given, str) else given)]
    nodes: list[NodesConfig] = Field(min_length=1)
    clock: ClockConfig = ClockConfig()
    grace: Duration = 10.0
    keep_ended: Duration = 600.0
    keep_unseen: Duration = 86400.0
    durable: bool = True
    most_jobs: int = Field(default=100_000, ge=1)
    most_clients: int = Field(default=64, ge=1, le=10_000)

    @model_validator(mode="after")
    def _check(self) -> LauncherConfig:
        names = [name for group in self.nodes for name in nodes_of(group.names)]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise wrong(f"nodes: {twice!r} is named twice")
        return self

    def ways(self) -> dict[str, Way]:
        """Return how a command gets onto each node."""
        return {name: group.way() for group in self.nodes for name in nodes_of(group.names)}

    def lines(self) -> list[str]:
        """Return what would be used, for people."""
        groups = [
            f"{g.names} ({g.exec or 'started here'}{'' if g.way().stops else ', cannot be stopped'})"
            for g in self.nodes
        ]
        return [
            f"run directory  {self.run_dir}",
            f"nodes          {len(self.ways())}: {'; '.join(groups)}",
            f"clock          {self.clock.speed:g} machine seconds a second",
            f"grace          {show_duration(self.grace)} between SIGTERM and SIGKILL",
            f"ended jobs     kept {show_duration(self.keep_ended)}, unseen ones {show_duration(self.keep_unseen)}",
            f"files          {'on the disk before an answer' if self.durable else 'not forced to the disk'}",
            f"at most        {self.most_jobs} jobs, {self.most_clients} clients",
        ]


def read_launcher(path: Path) -> LauncherConfig:
    """Return what a launcher's file says; paths in it count from where it lies."""
    config = read_form(path, LauncherConfig, "the TOML file of a launcher")
    return config.model_copy(update={"run_dir": Path(path).absolute().parent / config.run_dir.expanduser()})
