"""What the power hardware of a node says now, for people: it is opened, read and closed, and nothing is changed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.files import write_whole
from wattline.live.agent.agent import hardware_of, place_of
from wattline.live.agent.config import AgentSettings, NodeSettings
from wattline.live.agent.hardware import open_meter
from wattline.live.power.base import Hardware, HardwareError, Reading
from wattline.live.power.nvml import Gpus
from wattline.live.power.powercap import ROOT, Powercap

SHORT_S = 0.1
"""Between two readings of a counter, where one reading is asked for."""


def look(node: NodeSettings) -> dict[str, Any]:
    """Return what an agent would use on a node; what cannot be used is an error."""
    with ExitStack() as opened:
        hardware, gpus, second = _open(node, opened)
        limit_w, bounds_w = hardware.limits_w(), hardware.bounds_w()
        reading = _read(hardware) if hardware.whole_server else None
        return {
            "name": node.name,
            "hardware": hardware.facts(),
            "whole_server": hardware.whole_server,
            "limit_w": _plain(limit_w),
            "limit_bounds_w": list(bounds_w),
            "server_w": None if reading is None else _plain(reading.server_w),
            "gpus": [] if gpus is None else gpus.facts(),
            "second": None if second is None else second.facts() | {"server_w": _server_w(node, second)},
            "problems": hardware.problems(),
        }


def _open(node: NodeSettings, opened: ExitStack) -> tuple[Hardware, Gpus | None, Hardware | None]:
    """Open what keeps the cap of a node, its GPUs and its second meter."""
    hardware = hardware_of(node)
    opened.callback(hardware.close)
    gpus: Gpus | None = None
    second: Hardware | None = None
    try:
        if node.power.gpus is not None:
            gpus = Gpus(limits=node.power.gpus.limit)
            opened.callback(gpus.close)
        if node.power.meter is not None:
            second = open_meter(node.power, place_of(node))
            opened.callback(second.close)
    except (HardwareError, InputError) as problem:
        raise InputError(f"{node.name}: {problem}") from None
    return hardware, gpus, second


def _read(hardware: Hardware) -> Reading | None:
    """Return a reading; a counter needs two looks for one."""
    hardware.read(time.monotonic())
    time.sleep(SHORT_S if hardware.every_s == 0.0 else 0.0)
    return hardware.read(time.monotonic())


def _server_w(node: NodeSettings, meter: Hardware) -> float | None:
    reading = _read(meter)
    return None if reading is None else _plain(place_of(node).server_w(reading))


def watch(settings: AgentSettings, seconds: int) -> Iterator[dict[str, Any]]:
    """Yield readings of the nodes of a file, once a second."""
    with ExitStack() as opened:
        asked: list[tuple[NodeSettings, Hardware, Gpus | None, Hardware | None]] = []
        for node in settings.nodes:
            hardware, gpus, second = _open(node, opened)
            if second is not None:
                second.read(time.monotonic())
            hardware.read(time.monotonic())
            asked.append((node, hardware, gpus, second))
        for _ in range(seconds):
            time.sleep(1.0 if seconds > 1 else SHORT_S)
            for node, hardware, gpus, second in asked:
                yield _told(node, hardware, gpus, second)


def _told(node: NodeSettings, hardware: Hardware, gpus: Gpus | None, second: Hardware | None) -> dict[str, Any]:
    reading = hardware.read(time.monotonic())
    gpu_w = math.nan if gpus is None else gpus.watts()
    power: dict[str, float | None] = {}
    if reading is not None:
        server_w = place_of(node).server_w(reading)
        if gpus is not None and node.power.gpus is not None:
            server_w += node.power.gpus.phi * gpu_w
        power = {"server_w": server_w, "cpu_w": reading.cpu_w, "memory_w": reading.memory_w}
    power |= {"gpu_w": gpu_w, "limit_w": hardware.limits_w()}
    problems = dict(hardware.problems()) | ({} if gpus is None else gpus.problems())
    if second is not None:
        other = second.read(time.monotonic())
        power["second_w"] = math.nan if other is None else place_of(node).server_w(other)
        problems |= {f"meter-{word}": count for word, count in second.problems().items()}
    told = {key: _plain(value) for key, value in power.items() if value is not None}
    return {"name": node.name, "power": told, "problems": problems, "note": ""}


def write_pairs(readings: Sequence[dict[str, Any]], path: Path | str) -> int:
    """Write what packages, memory and the second meter said at the same time, as ``wattline calibrate`` reads it;
    return how many there are.

    Readings with GPUs are refused: the server model knows none.
    """
    rows = [one["power"] for one in readings]
    if any(row.get("gpu_w") is not None for row in rows):
        raise InputError(f"{path}: a server model is fitted without GPUs; take [gpus] out of the file")
    pairs = [row for row in rows if row.get("cpu_w") is not None and row.get("second_w") is not None]
    if not pairs:
        raise InputError(f"{path}: no reading has both the packages (powercap) and a second meter ([meter])")
    names = {"cpu_w": "cpu_w", "memory_w": "memory_w", "server_w": "second_w"}
    if any(row.get("memory_w") is None for row in pairs):
        del names["memory_w"]
    lines = [",".join(names), *(",".join(f"{row[key]:.9g}" for key in names.values()) for row in pairs)]
    write_whole(path, "\n".join([*lines, ""]).encode())
    return len(pairs)


def watch_here(seconds: int) -> Iterator[dict[str, Any]]:
    """Yield readings of this machine's own powercap tree and GPUs, whichever there are, once a second."""
    with ExitStack() as opened:
        notes: list[str] = []
        tree = _opened(lambda: Powercap(ROOT), notes)
        gpus = _opened(Gpus, notes)
        if gpus is not None:
            opened.callback(gpus.close)
        if tree is None and gpus is None:
            raise InputError(f"this machine tells no power: {'; '.join(notes)}")
        if tree is not None:
            tree.read(time.monotonic())
        for second in range(seconds):
            time.sleep(1.0 if seconds > 1 else SHORT_S)
            reading = None if tree is None else tree.read(time.monotonic())
            power = {"cpu_w": math.nan, "memory_w": math.nan, "gpu_w": math.nan if gpus is None else gpus.watts()}
            if reading is not None:
                power |= {"cpu_w": reading.cpu_w, "memory_w": reading.memory_w}
            problems = ({} if tree is None else tree.problems()) | ({} if gpus is None else gpus.problems())
            yield {
                "name": "here",
                "power": {key: _plain(value) for key, value in power.items()},
                "gpus": [] if gpus is None else gpus.facts(),
                "problems": problems,
                "note": "; ".join(notes) if second == 0 else "",
            }


def _opened(opens: Callable[[], Any], notes: list[str]) -> Any:
    """Return what was opened; None where it is not there, and why among the notes."""
    try:
        return opens()
    except HardwareError as problem:
        notes.append(str(problem))
        return None


def _plain(value: float) -> float | None:
    """Return a number as JSON can have it."""
    return round(value, 3) if math.isfinite(value) else None
