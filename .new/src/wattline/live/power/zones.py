"""The zones of a powercap tree, found by their names: packages that are limited, memory, and what overlaps them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from wattline.live.power.base import HardwareError

PACKAGE = re.compile(r"package-\d+(-die-\d+)?")
DEEPEST = 4
LONGEST = 128
"""Bytes of a file on disk; those of the kernel seem to have a page."""
LEAST_MOST_W, USUAL_MOST_W = 100.0, 1000.0
"""Watts that a part is trusted to draw at least, and where the tree does not tell what it takes."""


class Files:
    """The files of a tree. Tests give others, that refuse or clamp."""

    def read(self, path: str) -> str:
        """Return what a small file says."""
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(handle, LONGEST).decode("ascii", "replace").partition("\n")[0].strip()
        finally:
            os.close(handle)

    def write(self, path: str, text: str) -> None:
        """Write a small file that is there already.

        Files of the kernel need not be cut off. Emulated ones are, but not first: disks wait for files that were cut to
        nothing.
        """
        data = f"{text}\n".encode()
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, data)
            if len(data) < os.fstat(handle).st_size < LONGEST:
                os.ftruncate(handle, len(data))
        finally:
            os.close(handle)

    def number(self, path: str) -> int | None:
        """Return the whole number in a file; None where there is none."""
        try:
            return int(self.read(path))
        except (OSError, ValueError):
            return None


@dataclass(frozen=True)
class Zone:
    """A zone of the tree."""

    name: str
    path: str
    range_uj: int
    most_w: float
    limit_path: str = ""
    """File of the long-term limit; empty where the zone takes none."""
    max_uw: int = 0
    """The greatest limit that the hardware tells (0: it does not)."""
    min_uw: int = 0


@dataclass
class Zones:
    """What an agent uses of a tree, and what it leaves out."""

    packages: list[Zone] = field(default_factory=list)
    memory: list[Zone] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find(root: str | Path, files: Files) -> Zones:
    """Return the packages and memories below a root; cores, graphics and whole-platform zones overlap them."""
    if not os.path.isdir(root):  # noqa: PTH112
        raise HardwareError(f"{root}: no powercap tree is there; load the intel_rapl_msr module, or set its path")
    folders: dict[str, tuple[str, str]] = {}
    _walk(str(root), "", files, folders, 0)
    found = Zones()
    named: set[str] = set()
    # the same package may be seen twice, through registers of its own and through mapped memory: the first are usual
    for real, (name, parent) in sorted(folders.items(), key=lambda f: ("mmio" in f[0], f[0])):
        is_package, is_memory = bool(PACKAGE.fullmatch(name)), name == "dram"
        if not (is_package or is_memory):
            found.notes.append(f"{name}: left out, it overlaps the packages")
            continue
        full = name if is_package else f"{parent or os.path.basename(real)}/dram"  # noqa: PTH119
        if full in named:
            found.notes.append(f"{full}: seen twice, {real} is left out")
            continue
        named.add(full)
        (found.packages if is_package else found.memory).append(_zone(full, real, files))
    if not found.packages:
        raise HardwareError(f"{root}: has no zone named package-0, package-1, …; this processor tells no power here")
    return found


def _walk(folder: str, parent: str, files: Files, found: dict[str, tuple[str, str]], depth: int) -> None:
    """Note all zones below a folder by their real path; links of the class folder lead to the same ones."""
    try:
        entries = sorted(entry.path for entry in os.scandir(folder) if depth == 0 or ":" in entry.name)
    except OSError:
        return
    for path in entries:
        real = os.path.realpath(path)
        if not os.path.isdir(real) or depth > DEEPEST:  # noqa: PTH112
            continue
        try:
            name = files.read(f"{real}/name")
        except OSError:
            name = ""
        if name and (real not in found or parent):
            found[real] = (name, parent or found.get(real, ("", ""))[1])
        _walk(real, name if PACKAGE.fullmatch(name) else parent, files, found, depth + 1)


def _zone(name: str, path: str, files: Files) -> Zone:
    range_uj = files.number(f"{path}/max_energy_range_uj")
    if not range_uj or range_uj < 0:
        raise HardwareError(f"{path}/max_energy_range_uj: is no number above 0, so that wraps cannot be told")
    limit_path, largest, max_uw, min_uw = "", 0, 0, 0
    for i in range(8):
        try:
            constraint = files.read(f"{path}/constraint_{i}_name")
        except OSError:
            break
        known = files.number(f"{path}/constraint_{i}_max_power_uw") or 0
        largest = max(largest, known, files.number(f"{path}/constraint_{i}_power_limit_uw") or 0)
        if constraint == "long_term":
            limit_path = f"{path}/constraint_{i}_power_limit_uw"
            max_uw, min_uw = max(known, 0), max(files.number(f"{path}/constraint_{i}_min_power_uw") or 0, 0)
    most_w = max(2e-6 * largest, LEAST_MOST_W) if largest > 0 else USUAL_MOST_W
    return Zone(name, path, range_uj, most_w, limit_path, max_uw, min_uw)
