"""The launcher as a kind of resource manager: its key of ``[manager]``, and how it is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wattline.live.clock import Clock
    from wattline.live.machine.base import ResourceManager
    from wattline.live.machine.settings import ManagerSpec


class Launcher:
    """The launcher whose run directory is named."""

    name = "launcher"
    words = "the launcher"
    one = "a launcher"
    by_the_wall = False
    needs: Mapping[str, str] = {"run_dir": "the run directory of the launcher"}
    keys = frozenset({"run_dir"})

    def problems(self, spec: ManagerSpec) -> Iterator[tuple[str, str]]:  # noqa: ARG002  (of the protocol)
        """Yield nothing: one key cannot contradict itself."""
        yield from ()

    def open(self, spec: ManagerSpec, base: Path, clock: Clock, *, timeout_s: float, act: bool) -> ResourceManager:  # noqa: ARG002
        """Open it; what it told is kept for the next one unless somebody acts on it."""
        from wattline.live.machine.launcher.client import LauncherClient

        return LauncherClient(base / (spec.run_dir or ""), timeout_s=timeout_s, acknowledge=act)

    def where(self, spec: ManagerSpec, base: Path) -> str:
        """Return where it runs."""
        return f"launcher in {base / (spec.run_dir or '')}"


MANAGER = Launcher()
