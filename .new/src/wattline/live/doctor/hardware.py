"""Power hardware of a node: whether it can be read, takes limits, and keeps one that is written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from wattline.errors import InputError
from wattline.live.agent.config import NodeSettings
from wattline.live.agent.saved import Lock, Saved
from wattline.live.doctor.findings import Finding, Machine
from wattline.live.power.base import HardwareError
from wattline.live.power.powercap import TOLERANCE_W, Powercap

IDLE_LOAD = 0.05
"""Mean load for each processor below which a node is idle."""
PART = 0.9
"""Part of the limit in force that is written as a test."""


def look(node: NodeSettings, machine: Machine, *, write_test: bool) -> Iterator[Finding]:
    """Look at a node; with ``write_test`` a limit is written, read back, and what was found is put back."""
    if node.power.kind != "powercap":
        text = f"{node.name}: {node.power.kind} keeps its cap, and only powercap is looked at here"
        yield Finding("fail" if write_test else "warn", "power", text, "try it with: wattline agent NODE.toml --check")
        return
    try:
        hardware = Powercap(node.powercap)
    except HardwareError as problem:
        yield Finding("fail", "power", f"{node.name}: {problem}", "docs/live/power.md has other ways")
        return
    yield Finding("ok", "power", f"{node.name}: {', '.join(zone.name for zone in hardware.packages)} can be read")
    for note in hardware.notes:
        yield Finding("ok", "power", f"{node.name}: {note}")
    if not hardware.limited:
        yield Finding(
            "fail", "power", f"{node.name}: its packages take no limits", "use a BMC instead (docs/live/power.md)"
        )
        return
    if math.isinf(hardware.limits_w()):
        yield Finding(
            "warn",
            "power",
            f"{node.name}: limits are switched off (enabled = 0); the agent switches them on",
            "if that does not last, allow package power limits in the BIOS",
        )
    least_w, most_w = hardware.bounds_w()
    kept_w = node.model.server_w(least_w, node.memory_w)
    if kept_w > node.min_w:
        yield Finding(
            "warn",
            "power",
            f"{node.name}: caps below {kept_w:.0f} W cannot be kept, the hardware takes {least_w:g} to {most_w:g} W",
            f"set min of the node to {math.ceil(kept_w)} W",
        )
    if write_test:
        yield _write(node, hardware, machine)


def _write(node: NodeSettings, hardware: Powercap, machine: Machine) -> Finding:
    """Try it; all of it is done, and undone, before anything is said."""
    saved = Saved(node.run_dir, node.name)
    load = machine.load() / (os.cpu_count() or 1)
    if load > IDLE_LOAD:
        text = f"{node.name}: not tried, the node is busy (load {load:.2f} for each processor)"
        return Finding("fail", "write", text, "drain it, wait until it is idle, and try again")
    try:
        lock = Lock(node.run_dir, node.name, node.powercap)
    except (InputError, OSError) as problem:
        return Finding("fail", "write", f"{node.name}: not tried: {problem}", "stop the agent for the test")
    try:
        if saved.path.exists():
            text = f"{node.name}: not tried, an agent before left limits to put back ({saved.path})"
            return Finding("fail", "write", text, "start and stop the agent once")
        found = hardware.found()
        saved.save(found, machine.wall())  # an agent puts it back if we are killed
        try:
            tried = _tried(node.name, hardware)
        finally:
            hardware.restore(found)
            saved.remove()
    except HardwareError as problem:
        return Finding("fail", "write", f"{node.name}: {problem}", "put the limits back by hand, or restart the node")
    except OSError as problem:
        return Finding("fail", "write", f"{node.name}: not tried, {problem}", f"let us write {node.run_dir}")
    finally:
        lock.release()
    return tried


def _tried(name: str, hardware: Powercap) -> Finding:
    least_w, most_w = hardware.bounds_w()
    before_w = hardware.limits_w()
    wanted_w = max(least_w, PART * (before_w if math.isfinite(before_w) else most_w))
    if abs(wanted_w - before_w) <= 2 * TOLERANCE_W:
        wanted_w = min(most_w, wanted_w + 0.1 * (most_w - least_w))
    got_w = hardware.set_limit(wanted_w)
    if "write-refused" in hardware.problems():
        return Finding("fail", "write", f"{name}: the limit may not be written", "run as root; is the BIOS locking it?")
    if not math.isfinite(got_w) or abs(got_w - wanted_w) > 2 * TOLERANCE_W * len(hardware.packages):
        return Finding(
            "fail",
            "write",
            f"{name}: {wanted_w:.1f} W was written and {got_w:.1f} W is in force: locked or clamped",
            "unlock package power limits in the BIOS (RAPL, PL1), or cap by the BMC",
        )
    return Finding("ok", "write", f"{name}: {wanted_w:.1f} W was written, was in force, and what was found is back")
