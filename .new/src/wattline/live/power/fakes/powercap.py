"""A powercap tree on disk and a plant that moves several of them: lag, noise, wraps, and faults when it is told so."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wattline.live.power.server.model import PROFILES, ServerModel

PACKAGE_RANGE_UJ, MEMORY_RANGE_UJ = 262_143_328_850, 65_712_999_613
"""Where the counters of a two-socket server wrap around."""
FIRST_UJ = 10_000_000_000
"""What a new tree's counters show: real ones have been counting for a while."""
_WIDTH = 20
Constraint = tuple[str, int, int, int | None]
"""Name, limit (microwatts), window (microseconds), greatest limit (None: the tree does not tell)."""


def make_tree(
    root: Path | str,
    *,
    packages: int = 2,
    package_max_w: float = 205.0,
    memory: bool = True,
    decoys: bool = False,
    range_uj: int = PACKAGE_RANGE_UJ,
) -> Path:
    """Write a folder with the layout of /sys/class/powercap; ``decoys`` adds zones that overlap the packages."""
    root = Path(root)
    top = root / "intel-rapl"
    top.mkdir(parents=True, exist_ok=True)
    _put(top, enabled=1)
    limit_uw = round(package_max_w * 1e6)
    usual: list[Constraint] = [
        ("long_term", limit_uw, 999_424, limit_uw),
        ("short_term", limit_uw * 6 // 5, 1952, limit_uw * 9 // 5),
    ]
    for i in range(packages):
        zone = top / f"intel-rapl:{i}"
        inner: list[tuple[str, Sequence[Constraint], int]] = []
        # numbers are not names: where there are cores, memory is not the first zone within a package
        if decoys:
            inner += [("core", [("long_term", 0, 976, None)], range_uj)]
        if memory:
            inner += [("dram", [("long_term", 0, 976, 41_250_000)], MEMORY_RANGE_UJ)]
        _zone(root, zone, f"package-{i}", usual[::-1] if decoys else usual, range_uj)
        for k, (name, constraints, inner_range) in enumerate(inner):
            _zone(root, zone / f"{zone.name}:{k}", name, constraints, inner_range, enabled=0)
    if decoys:
        _zone(root, top / f"intel-rapl:{packages}", "psys", usual, range_uj)
        mapped = root / "intel-rapl-mmio"
        mapped.mkdir(exist_ok=True)
        _zone(root, mapped / "intel-rapl-mmio:0", "package-0", usual, range_uj)
    return root


def _put(folder: Path, **values: object) -> None:
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")


def _zone(
    root: Path, zone: Path, name: str, constraints: Sequence[Constraint], range_uj: int, enabled: int = 1
) -> None:
    zone.mkdir(exist_ok=True)
    _put(zone, name=name, enabled=enabled, max_energy_range_uj=range_uj, energy_uj=f"{FIRST_UJ:<{_WIDTH}}")
    for i, (which, limit_uw, window_us, max_uw) in enumerate(constraints):
        _put(zone, **{f"constraint_{i}_name": which, f"constraint_{i}_power_limit_uw": limit_uw})
        _put(zone, **{f"constraint_{i}_time_window_us": window_us})
        if max_uw is not None:
            _put(zone, **{f"constraint_{i}_max_power_uw": max_uw})
    link = root / zone.name
    if not link.is_symlink():
        link.symlink_to(zone.relative_to(root))


def capped_speed(draw_w: float, floor_w: float, stretch: float, cap_w: float) -> float:
    """Return how fast a job progresses at a power of its node: run time grows linearly as power falls.

    1 at ``draw_w``, 1/``stretch`` at ``floor_w``; the simulator's linear rule.
    """
    if cap_w >= draw_w or floor_w >= draw_w:
        return 1.0
    depth = (draw_w - max(cap_w, floor_w)) / (draw_w - floor_w)
    return 1.0 / (1.0 + (stretch - 1.0) * depth)


@dataclass
class FakeNode:
    """An emulated server: a tree, and what it draws. Watts are of the whole server."""

    name: str
    root: Path | str
    idle_w: float = 90.0
    memory_w: float = 12.0
    """Of the memory, always."""
    faults: set[str] = field(default_factory=set)
    """stick: counters stand still · nothing: they are empty · garbage · backwards: once, a step back · refuse: limits
    stay as they were · clamp: none goes below ``clamp_w`` · disable: the zones do not limit.
    """
    clamp_w: float = 0.0


class _Moving:
    """What a node does now."""

    def __init__(self, node: FakeNode, model: ServerModel) -> None:
        self.node = node
        root = Path(node.root)
        zones = sorted((p for p in (root / "intel-rapl").iterdir() if ":" in p.name), key=lambda p: p.name)
        zones = [zone for zone in zones if (zone / "name").read_text().startswith("package-")]
        self.energy: list[tuple[int, int, bool]] = []
        """(file, where it wraps, whether it is memory)."""
        self.limit: list[int] = []
        self.switch: list[int] = []
        for zone in zones:
            self.energy.append((_open(zone / "energy_uj"), _number(zone / "max_energy_range_uj"), False))
            self.switch.append(_open(zone / "enabled"))
            names = sorted(zone.glob("constraint_*_name"))
            term = next(p for p in names if p.read_text().strip() == "long_term")
            self.limit.append(_open(term.with_name(term.name.replace("_name", "_power_limit_uw"))))
            for inner in sorted(zone.iterdir()):
                if ":" in inner.name and (inner / "name").read_text().strip() == "dram":
                    self.energy.append((_open(inner / "energy_uj"), _number(inner / "max_energy_range_uj"), True))
        self.uj = [float(_read(handle, FIRST_UJ)) for handle, _, _ in self.energy]
        self.limits_w = [_read(handle, 0) / 1e6 for handle in self.limit]
        self.kept_w = list(self.limits_w)
        self.idle_cpu_w = model.cpu_w(node.idle_w, node.memory_w)
        self.demand_w = self.floor_w = self.idle_cpu_w
        self.draw_w, self.job_floor_w, self.stretch = node.idle_w, node.idle_w, 1.0
        self.cpu_w = self.allowed_w = self.idle_cpu_w
        self.noise_w = 0.0

    def handles(self) -> list[int]:
        return [handle for handle, _, _ in self.energy] + self.limit + self.switch


class Plant:
    """Emulated servers that follow their package limits.

    Parameters
    ----------
    nodes
        The servers; their trees exist (``make_tree``).
    model
        How processors and memory make up the power of a server.
    lag_s
        Time constant with which processors follow a limit or a change of load.
    noise_w
        Standard deviation of the power of a server's processors, in watts of the server.
    noise_s
        How long a deviation lasts (time constant).
    held_at
        At which part of their limit processors that are held by it draw power: real ones miss it by some percent.
    seed
        Of the noise.
    """

    def __init__(
        self,
        nodes: Iterable[FakeNode],
        *,
        model: ServerModel = PROFILES["gold-6132"],
        lag_s: float = 0.3,
        noise_w: float = 0.0,
        noise_s: float = 2.0,
        held_at: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.model, self.lag_s, self.noise_w, self.noise_s = model, lag_s, noise_w, noise_s
        self.held_at = held_at
        self._nodes = {node.name: _Moving(node, model) for node in nodes}
        self._random = random.Random(seed)
        self._time_s = math.nan

    def busy(self, name: str, draw_w: float, floor_w: float, stretch: float = 1.0) -> None:
        """Let a job run on a node: its draw without caps, the least it can be held to, and its run time there over the
        one without caps.
        """
        n = self._nodes[name]
        n.draw_w, n.job_floor_w, n.stretch = draw_w, min(floor_w, draw_w), stretch
        n.demand_w = self.model.cpu_w(draw_w, n.node.memory_w)
        n.floor_w = self.model.cpu_w(n.job_floor_w, n.node.memory_w)
        n.allowed_w = self._wanted(n)  # a job that starts under a cap has it from the beginning

    def idle(self, name: str) -> None:
        """Let nothing run on a node."""
        self.busy(name, self._nodes[name].node.idle_w, self._nodes[name].node.idle_w)

    def fault(self, name: str, *faults: str, clamp_w: float = 0.0) -> None:
        """Let a node have these faults, and no others, from the next step on."""
        n = self._nodes[name]
        n.node.faults, n.node.clamp_w = set(faults), clamp_w
        n.kept_w = [_read(handle, 0) / 1e6 for handle in n.limit]

    def server_w(self, name: str) -> float:
        """Return what a node draws now, noise included."""
        n = self._nodes[name]
        return self.model.server_w(n.cpu_w + n.noise_w, n.node.memory_w)

    def speed(self, name: str) -> float:
        """Return how fast the job of a node progresses now: 1 without a cap that holds it back."""
        n = self._nodes[name]
        return capped_speed(n.draw_w, n.job_floor_w, n.stretch, self.model.server_w(n.allowed_w, n.node.memory_w))

    def step(self, now_s: float) -> None:
        """Move all nodes to a time: read their limits, count their energy."""
        passed_s = now_s - self._time_s
        self._time_s = now_s
        if not passed_s > 0.0:
            passed_s = 0.0
        gone = -math.expm1(-passed_s / self.lag_s) if self.lag_s > 0.0 else 1.0
        kept = math.exp(-passed_s / self.noise_s) if self.noise_s > 0.0 else 0.0
        new_w = self.noise_w / self.model.phi_1 * math.sqrt(1.0 - kept * kept)
        for n in self._nodes.values():
            self._limits(n)
            goal_w = self._wanted(n)
            joules = goal_w * passed_s + (n.cpu_w - goal_w) * self.lag_s * gone + n.noise_w * passed_s
            n.cpu_w += (goal_w - n.cpu_w) * gone
            n.allowed_w += (goal_w - n.allowed_w) * gone
            if self.noise_w > 0.0:
                n.noise_w = n.noise_w * kept + (self._random.gauss(0.0, new_w) if new_w > 0.0 else 0.0)
            self._count(n, max(joules, 0.0), passed_s)

    def _wanted(self, n: _Moving) -> float:
        return min(n.demand_w, max(sum(n.limits_w) * self.held_at, n.floor_w))

    def _limits(self, n: _Moving) -> None:
        faults = n.node.faults
        for i, handle in enumerate(n.limit):
            uw = _read(handle, -1)
            if uw >= 0:
                n.limits_w[i] = uw / 1e6
            wanted_w = n.limits_w[i]
            if "refuse" in faults:
                wanted_w = n.kept_w[i]
            elif "clamp" in faults:
                wanted_w = max(wanted_w, n.node.clamp_w / len(n.limit))
            if wanted_w != n.limits_w[i]:
                n.limits_w[i] = wanted_w
                _overwrite(handle, round(wanted_w * 1e6))
            if "disable" in faults and _read(n.switch[i], 1) != 0:
                _overwrite(n.switch[i], 0)
            if _read(n.switch[i], 1) == 0:
                n.limits_w[i] = math.inf

    def _count(self, n: _Moving, joules: float, passed_s: float) -> None:
        faults = n.node.faults
        parts = len(n.limit)
        for i, (handle, range_uj, memory) in enumerate(n.energy):
            n.uj[i] += (n.node.memory_w * passed_s if memory else joules) * 1e6 / parts
            if "stick" in faults:
                continue
            if "nothing" in faults:
                os.ftruncate(handle, 0)
                continue
            if "backwards" in faults:
                n.uj[i] -= 5e8
            text = f"{int(n.uj[i]) % range_uj:<{_WIDTH}}\n" if "garbage" not in faults else f"{'0x7fff-':<{_WIDTH}}\n"
            os.pwrite(handle, text.encode(), 0)
        faults.discard("backwards")

    def wrap_soon(self, name: str, joules: float) -> None:
        """Bring the counters of a node's packages and memory to so many joules before they wrap around."""
        n = self._nodes[name]
        n.uj = [range_uj - joules * 1e6 for _, range_uj, _ in n.energy]

    def close(self) -> None:
        """Close the files of all trees; twice is as good as once."""
        for n in self._nodes.values():
            for handle in n.handles():
                os.close(handle)
        self._nodes.clear()

    def __enter__(self) -> Plant:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CLOEXEC)


def _number(path: Path) -> int:
    return int(path.read_text())


def _read(handle: int, otherwise: int) -> int:
    """Return the number in a file; somebody may be about to write it."""
    try:
        return int(os.pread(handle, 32, 0).partition(b"\n")[0])
    except ValueError:
        return otherwise


def _overwrite(handle: int, value: int) -> None:
    os.ftruncate(handle, os.pwrite(handle, f"{value}\n".encode(), 0))
