"""The launcher's file: its run directory, its nodes, and how long things are waited for and kept."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from wattline.errors import InputError, did_you_mean, shorten
from wattline.files import read_regular
from wattline.live.machine.launcher.machine import Way
from wattline.units import duration_s, show_duration

MOST_NODES = 1_000_000
_RANGE = re.compile(r"([^\[\],\s]*)\[(\d+)-(\d+)\]([^\[\],\s]*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _seconds(value: Any) -> float:
    try:
        found = duration_s(value)
    except InputError as problem:
        raise ValueError(str(problem)) from None
    if not 0.0 <= found < math.inf:
        raise ValueError(f"expected a duration of at least 0 (got {shorten(value)})")
    return found


Seconds = Annotated[float, BeforeValidator(_seconds)]


def node_names(text: str) -> list[str]:
    """Return the names that a text stands for: ``n[001-032]``, or names with commas between.

    >>> node_names("n[08-10],login")
    ['n08', 'n09', 'n10', 'login']
    """
    names: list[str] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            names.append(part.strip())
            continue
        head, first, last, tail = found.groups()
        if int(last) < int(first) or int(last) - int(first) >= MOST_NODES:
            raise ValueError(f"expected a range from low to high, of at most {MOST_NODES} nodes (got {shorten(part)})")
        names += [f"{head}{number:0{len(first)}d}{tail}" for number in range(int(first), int(last) + 1)]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"expected names like 'n[001-032]' or 'a,b' (got {shorten(name)})")
    return names


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClockConfig(_Part):
    """Time of the machine."""

    speed: float = Field(default=1.0, gt=0.0, le=1e6, allow_inf_nan=False)
    origin: float | None = Field(default=None, allow_inf_nan=False)


class NodesConfig(_Part):
    """Nodes that are alike."""

    names: str
    exec: str = ""
    stops: bool | None = None

    @model_validator(mode="after")
    def _check(self) -> NodesConfig:
        node_names(self.names)
        self.way().argv("n", ["true"], "/", {})
        return self

    def way(self) -> Way:
        """Return how commands get onto these nodes: where a shell of another machine runs them, a stop does not."""
        return Way(self.exec, "{command}" not in self.exec if self.stops is None else self.stops)


class LauncherConfig(_Part):
    """A launcher's file."""

    run_dir: Path
    nodes: list[NodesConfig] = Field(min_length=1)
    clock: ClockConfig = ClockConfig()
    grace: Seconds = 10.0
    keep_ended: Seconds = 600.0
    keep_unseen: Seconds = 86400.0
    durable: bool = True
    most_jobs: int = Field(default=100_000, ge=1)
    most_clients: int = Field(default=64, ge=1, le=10_000)

    @model_validator(mode="after")
    def _check(self) -> LauncherConfig:
        names = [name for group in self.nodes for name in node_names(group.names)]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"nodes: {twice!r} is named twice")
        return self

    def ways(self) -> dict[str, Way]:
        """Return how a command gets onto each node."""
        return {name: group.way() for group in self.nodes for name in node_names(group.names)}

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
    try:
        told = tomllib.loads(read_regular(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise InputError(f"{path}: {' '.join(str(getattr(problem, 'strerror', None) or problem).split())}") from None
    try:
        config = LauncherConfig.model_validate(told)
    except ValidationError as problem:
        raise InputError(f"{path}: {_explain(problem)}") from None
    return config.model_copy(update={"run_dir": Path(path).absolute().parent / config.run_dir.expanduser()})


def _explain(problem: ValidationError) -> str:
    detail = problem.errors(include_url=False)[0]
    key = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        parts: dict[str, type[BaseModel]] = {"clock": ClockConfig, "nodes": NodesConfig}
        model = parts.get(str(detail["loc"][0])) if len(detail["loc"]) > 1 else None
        return f"unknown key {key!r}{did_you_mean(str(detail['loc'][-1]), (model or LauncherConfig).model_fields)}"
    if detail["type"] == "missing":
        return f"key {key!r} is missing"
    message = re.sub(r"^(Value error, |Input )", "", detail["msg"])
    got = "" if "(got" in message or not key else f" (got {shorten(detail['input'])})"
    return " ".join(f"{key + ': ' if key else ''}{message}{got}".split())
