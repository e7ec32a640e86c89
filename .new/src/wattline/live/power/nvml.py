"""GPUs of a node by NVIDIA's management library: watts read, and limits where this process may set them.

``python -m wattline.live.power.nvml`` shows what is read here, and changes nothing.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from wattline.live.power.base import HardwareError

TOLERANCE_W = 1.0


@dataclass(frozen=True)
class Gpu:
    """One GPU and what it takes."""

    handle: Any
    uuid: str
    name: str
    least_w: float
    """Least and greatest limit; NaN where it takes none."""
    most_w: float


def library() -> Any:
    """Return NVIDIA's module; say in one line what is missing."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        raise HardwareError("GPUs need the extra nvml: pip install 'wattline[nvml]'") from None


class Gpus:
    """All GPUs of this node. Only the constructor and ``restore`` raise.

    Parameters
    ----------
    limits
        Whether limits are to be set: GPUs that take none are an error then.
    nvml
        NVIDIA's module, or one that behaves like it.

    Faults (``problems``): gpu-missing (a reading failed), gpu-garbage, gpu-write-refused, gpu-clamped,
    gpu-limit-unread.
    """

    def __init__(self, *, limits: bool = False, nvml: Any = None) -> None:
        self._nvml = nvml if nvml is not None else library()
        self._error: type[Exception] = self._nvml.NVMLError
        self.limits = limits
        self._problems: Counter[str] = Counter()
        self._open = False
        try:
            self._nvml.nvmlInit()
            self._open = True
            self.gpus = [self._gpu(i) for i in range(self._nvml.nvmlDeviceGetCount())]
        except self._error as problem:
            self.close()
            raise HardwareError(f"GPUs: NVML does not answer ({problem}); is NVIDIA's driver loaded?") from None
        fixed = [gpu for gpu in self.gpus if limits and not gpu.most_w > 0.0]
        if not self.gpus or fixed:
            self.close()
            what = f"{fixed[0].name} ({fixed[0].uuid}) takes no limit; set limit = false" if fixed else "there are none"
            raise HardwareError(f"GPUs: {what}")

    def _gpu(self, number: int) -> Gpu:
        nvml = self._nvml
        handle = nvml.nvmlDeviceGetHandleByIndex(number)
        try:
            least, most = nvml.nvmlDeviceGetPowerManagementLimitConstraints(handle)
        except self._error:
            least = most = math.nan
        return Gpu(
            handle,
            _text(nvml.nvmlDeviceGetUUID(handle)),
            _text(nvml.nvmlDeviceGetName(handle)),
            least / 1e3,
            most / 1e3,
        )

    # ------------------------------------------------------------------ meter

    def watts(self) -> float:
        """Return the power of all GPUs together. One that does not tell counts as its greatest power; NaN where that is
        not known either.
        """
        return sum(self._watts(gpu) for gpu in self.gpus)

    def _watts(self, gpu: Gpu) -> float:
        try:
            watts = float(self._nvml.nvmlDeviceGetPowerUsage(gpu.handle)) / 1e3
        except self._error:
            self._problems["gpu-missing"] += 1
            return gpu.most_w
        if not 0.0 <= watts <= 2.0 * (gpu.most_w if gpu.most_w > 0.0 else 5000.0):
            self._problems["gpu-garbage"] += 1
            return gpu.most_w
        return watts

    # ------------------------------------------------------------------ limits

    def bounds_w(self) -> tuple[float, float]:
        """Return the least and the greatest limit of all together."""
        return sum(gpu.least_w for gpu in self.gpus), sum(gpu.most_w for gpu in self.gpus)

    def limits_w(self) -> float:
        """Return the limit in force on all together; NaN where one does not tell."""
        return sum(self._limit_w(gpu) for gpu in self.gpus)

    def _limit_w(self, gpu: Gpu) -> float:
        try:
            return float(self._nvml.nvmlDeviceGetPowerManagementLimit(gpu.handle)) / 1e3
        except self._error:
            self._problems["gpu-limit-unread"] += 1
            return math.nan

    def set_limit(self, watts: float) -> float:
        """Share a limit out by the ranges of the GPUs; return what is in force afterwards."""
        least_w, most_w = self.bounds_w()
        part = (min(max(watts, least_w), most_w) - least_w) / (most_w - least_w) if most_w > least_w else 0.0
        in_force_w = 0.0
        for gpu in self.gpus:
            wanted_w = gpu.least_w + part * (gpu.most_w - gpu.least_w)
            if abs(self._limit_w(gpu) - wanted_w) <= TOLERANCE_W:
                in_force_w += wanted_w
                continue
            in_force_w += self._set(gpu, wanted_w)
        return in_force_w

    def _set(self, gpu: Gpu, watts: float) -> float:
        try:
            self._nvml.nvmlDeviceSetPowerManagementLimit(gpu.handle, round(watts * 1e3))
        except self._error:
            self._problems["gpu-write-refused"] += 1
            return self._limit_w(gpu)
        limit_w = self._limit_w(gpu)
        if abs(limit_w - watts) > TOLERANCE_W:
            self._problems["gpu-clamped"] += 1
        return limit_w

    def found(self) -> dict[str, float]:
        """Return the limits as they are, by UUID."""
        if not self.limits:
            return {}
        limits = {f"gpu/{gpu.uuid}": self._limit_w(gpu) for gpu in self.gpus}
        return {key: watts for key, watts in limits.items() if math.isfinite(watts)}

    def loosest(self) -> dict[str, float]:
        """Return the greatest limits."""
        return {f"gpu/{gpu.uuid}": gpu.most_w for gpu in self.gpus} if self.limits else {}

    def restore(self, limits: dict[str, float]) -> None:
        """Put back what ``found`` returned; what cannot be put back is a ``HardwareError``, after the rest."""
        here = {f"gpu/{gpu.uuid}": gpu for gpu in self.gpus}
        failed = [key for key in limits if key not in here]
        for key, watts in limits.items():
            if key in here and abs(self._limit_w(here[key]) - watts) > TOLERANCE_W:
                in_force_w = self._set(here[key], watts)
                if not abs(in_force_w - watts) <= TOLERANCE_W:
                    failed.append(f"{key} is {in_force_w:g} W, not {watts:g} W")
        if failed:
            raise HardwareError(f"not all limits of GPUs could be put back: {'; '.join(failed)}")

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met."""
        return dict(self._problems)

    def facts(self) -> list[dict[str, Any]]:
        """Return what is read of each GPU now; nothing is changed."""
        return [self._facts(gpu) for gpu in self.gpus]

    def _facts(self, gpu: Gpu) -> dict[str, Any]:
        nvml = self._nvml
        told: dict[str, Any] = {"name": gpu.name, "uuid": gpu.uuid}
        for key, call in (
            ("power_w", "nvmlDeviceGetPowerUsage"),
            ("limit_w", "nvmlDeviceGetPowerManagementLimit"),
            ("enforced_limit_w", "nvmlDeviceGetEnforcedPowerLimit"),
            ("default_limit_w", "nvmlDeviceGetPowerManagementDefaultLimit"),
            ("energy_j", "nvmlDeviceGetTotalEnergyConsumption"),
        ):
            try:
                told[key] = getattr(nvml, call)(gpu.handle) / 1e3
            except (self._error, AttributeError) as problem:
                told[key] = None
                told[f"{key}_problem"] = str(problem)
        known = math.isfinite(gpu.most_w)
        return told | {"limit_bounds_w": [gpu.least_w, gpu.most_w] if known else None}

    def close(self) -> None:
        """Let go of the library; twice is as good as once."""
        if self._open:
            self._open = False
            try:
                self._nvml.nvmlShutdown()
            except self._error:
                self._problems["gpu-missing"] += 1


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def main(words: list[str]) -> int:
    """Show readings of this machine's GPUs as JSON lines, one a second; nothing is changed."""
    seconds = int(words[0]) if words and words[0].isdigit() else 1
    try:
        gpus = Gpus()
    except HardwareError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    for second in range(seconds):
        if second:
            time.sleep(1.0)
        told = {"gpu_w": round(gpus.watts(), 3), "gpus": gpus.facts(), "problems": gpus.problems()}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    gpus.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
