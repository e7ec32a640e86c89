"""Linux powercap (RAPL): energy counters of packages and memory as watts, and long-term limits that are read back."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

from wattline.live.power.base import HardwareError, Reading
from wattline.live.power.counter import EnergyCounter
from wattline.live.power.zones import Files, Zone, find

ROOT = "/sys/class/powercap"
RIGHTS = (
    "run as root, or give CAP_DAC_OVERRIDE as an ambient capability (systemd: AmbientCapabilities=; one in the "
    "bounding set alone does not help)"
)
LEAST_PART = 0.1
"""Part of its greatest limit that a package gets at least where the hardware tells no least one: 0 could mean none."""
TOLERANCE_W = 0.5
"""A limit is kept in units of an eighth of a watt: what is read back may differ from what was written by less."""


class Powercap:
    """Meters and limits of a node below a folder that looks like /sys/class/powercap.

    Faults (``problems``): sensor-missing, sensor-garbage, sensor-stuck, sensor-backwards, sensor-jump, sensor-gap,
    sensor-clock, the same of the memory (memory-stuck …), write-refused, clamped (another limit is in force than was
    written), disabled (the zone does not limit), limit-unread.
    """

    whole_server = False
    every_s = 0.0
    step_w = TOLERANCE_W

    def __init__(self, root: str | Path = ROOT, *, files: Files | None = None) -> None:
        self.root = str(root)
        self._files = files or Files()
        zones = find(root, self._files)
        self.packages, self.memory, self.notes = zones.packages, zones.memory, zones.notes
        self._counters = {
            zone.path: EnergyCounter(zone.range_uj, zone.most_w) for zone in [*self.packages, *self.memory]
        }
        self._problems: Counter[str] = Counter()
        self._try_meters()
        self._found_uw = {zone.name: self._files.number(zone.limit_path) or 0 for zone in self.packages}
        self._max_uw = {zone.name: max(zone.max_uw, self._found_uw[zone.name]) for zone in self.packages}
        self._min_uw = {zone.name: zone.min_uw or round(LEAST_PART * self._max_uw[zone.name]) for zone in self.packages}

    @property
    def limited(self) -> bool:
        """Whether all packages take limits (AMD's do not here)."""
        return all(zone.limit_path and self._max_uw[zone.name] > 0 for zone in self.packages)

    def _try_meters(self) -> None:
        for zone in self.packages:
            try:
                self._files.read(f"{zone.path}/energy_uj")
            except PermissionError:
                raise HardwareError(f"{zone.path}/energy_uj: may not be read; {RIGHTS}") from None
            except OSError as problem:
                raise HardwareError(f"{zone.path}/energy_uj: cannot be read ({problem.strerror})") from None

    def try_limits(self) -> None:
        """Raise where limits may not be written; nothing is."""
        for zone in self.packages:
            try:
                os.close(os.open(zone.limit_path, os.O_WRONLY | os.O_CLOEXEC))
            except PermissionError:
                raise HardwareError(f"{zone.limit_path}: may not be written; {RIGHTS}") from None
            except OSError as problem:
                raise HardwareError(f"{zone.limit_path}: cannot be written ({problem.strerror})") from None

    # ------------------------------------------------------------------ meters

    def read(self, now_s: float) -> Reading | None:
        """Return the mean power since the last call; None where the packages do not tell it."""
        cpu_w = sum(self._watts(zone, now_s, "sensor") for zone in self.packages)
        memory_w = sum(self._watts(zone, now_s, "memory") for zone in self.memory) if self.memory else math.nan
        return None if math.isnan(cpu_w) else Reading(now_s, cpu_w, memory_w, math.nan)

    def _watts(self, zone: Zone, now_s: float, what: str) -> float:
        counter = self._counters[zone.path]
        try:
            uj = int(self._files.read(f"{zone.path}/energy_uj"))
        except OSError:
            counter.forget()
            self._problems[f"{what}-missing"] += 1
            return math.nan
        except ValueError:
            uj = -1
        watts, fault = counter.take(uj, now_s)
        if fault:
            self._problems[f"{what}-{fault}"] += 1
        return watts

    # ------------------------------------------------------------------ limits

    def bounds_w(self) -> tuple[float, float]:
        """Return the least and the greatest limit of all packages together."""
        return sum(self._min_uw.values()) / 1e6, sum(self._max_uw.values()) / 1e6

    def limits_w(self) -> float:
        """Return the limit in force on all packages together."""
        return sum(self._limit_w(zone) for zone in self.packages)

    def _limit_w(self, zone: Zone) -> float:
        if self._files.number(f"{zone.path}/enabled") == 0:
            self._problems["disabled"] += 1
            return math.inf
        uw = self._files.number(zone.limit_path)
        if uw is None or uw < 0:
            self._problems["limit-unread"] += 1
            return math.nan
        return uw / 1e6

    def set_limit(self, watts: float) -> float:
        """Share a limit out by what each package takes at most; return what is in force afterwards."""
        if not self.limited:
            self._problems["write-refused"] += 1
            return self.limits_w()
        least_w, most_w = self.bounds_w()
        share = min(max(watts, least_w), most_w) / most_w
        in_force_w = 0.0
        for zone in self.packages:
            uw = max(self._min_uw[zone.name], round(self._max_uw[zone.name] * share))
            self._write(f"{zone.path}/enabled", 1, only_if=0)
            written = self._write(zone.limit_path, uw)
            limit_w = self._limit_w(zone)
            if written and math.isfinite(limit_w) and abs(limit_w - uw / 1e6) > TOLERANCE_W:
                self._problems["clamped"] += 1
            in_force_w += limit_w
        return in_force_w

    def _write(self, path: str, value: int, only_if: int | None = None) -> bool:
        if only_if is not None and self._files.number(path) != only_if:
            return True
        try:
            self._files.write(path, str(value))
        except OSError:
            self._problems["write-refused"] += 1
            return False
        return True

    def found(self) -> dict[str, float]:
        """Return limit and switch of every package, by name."""
        limits: dict[str, float] = {}
        for zone in self.packages:
            for key, path, unit in ((f"{zone.name}/long_term", zone.limit_path, 1e6), self._switch(zone)):
                value = self._files.number(path) if path else None
                if value is not None:
                    limits[key] = value / unit
        return limits

    def loosest(self) -> dict[str, float]:
        """Return the greatest limit of every package, and switches as they are."""
        limits = self.found()
        greatest = {f"{zone.name}/long_term": self._max_uw[zone.name] / 1e6 for zone in self.packages}
        return limits | {key: watts for key, watts in greatest.items() if key in limits}

    @staticmethod
    def _switch(zone: Zone) -> tuple[str, str, float]:
        return f"{zone.name}/enabled", f"{zone.path}/enabled", 1.0

    def restore(self, limits: dict[str, float]) -> None:
        """Put back what ``found`` returned, limits before switches, and read it back."""
        failed = []
        known = {f"{zone.name}/long_term": (zone.limit_path, 1e6) for zone in self.packages}
        known |= {key: (path, unit) for key, path, unit in map(self._switch, self.packages)}
        for key in sorted(limits, key=lambda k: k.endswith("/enabled")):
            path, unit = known.get(key, ("", 1.0))
            value = round(limits[key] * unit)
            now = self._files.number(path) if path else None
            if now == value:
                continue
            self._write(path, value)
            again = self._files.number(path)
            if again is None or abs(again - value) / unit > (TOLERANCE_W if unit > 1.0 else 0.0):
                failed.append(f"{key} is {'unknown' if again is None else again / unit:}, not {limits[key]:g}")
        if failed:
            raise HardwareError(f"{self.root}: not all limits could be put back: {'; '.join(failed)}")

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met."""
        return dict(self._problems)

    def facts(self) -> dict[str, Any]:
        """Return the zones that are used and left out."""
        return {
            "kind": "powercap",
            "where": self.root,
            "packages": [zone.name for zone in self.packages],
            "memory": [zone.name for zone in self.memory],
            "left_out": self.notes,
        }

    def close(self) -> None:
        """Do nothing: files are opened when they are needed."""
