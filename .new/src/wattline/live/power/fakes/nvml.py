"""GPUs that are not there, under the names of NVIDIA's module: milliwatts, ranges, and errors when told so."""

from __future__ import annotations

from dataclasses import dataclass, field


class NVMLError(Exception):
    """An error of the library."""


@dataclass
class FakeGpu:
    """One GPU. Its draw follows its limit at once."""

    demand_mw: int = 250_000
    limit_mw: int = 700_000
    least_mw: int = 200_000
    most_mw: int = 700_000
    name: str = "Fake H200"
    faults: set[str] = field(default_factory=set)
    """lost: every call fails · refuse: no permission · clamp: limits are kept above 400 W · fixed: takes no limits."""

    @property
    def draw_mw(self) -> int:
        """What it draws."""
        return min(self.demand_mw, self.limit_mw)


class FakeNvml:
    """Stands for the module ``pynvml``; the names are NVIDIA's."""

    NVMLError = NVMLError

    def __init__(self, *gpus: FakeGpu, driver: bool = True) -> None:
        self.gpus, self.driver, self.begun = list(gpus), driver, 0

    def nvmlInit(self) -> None:  # noqa: N802
        """Begin."""
        if not self.driver:
            raise NVMLError("Driver Not Loaded")
        self.begun += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        """End."""
        self.begun -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        """Return how many there are."""
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, number: int) -> FakeGpu:  # noqa: N802
        """Return one."""
        return self.gpus[number]

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:  # noqa: N802
        """Return its name for ever."""
        return f"GPU-{next(i for i, one in enumerate(self.gpus) if one is gpu):04d}"

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> bytes:  # noqa: N802
        """Return what it is; older libraries give bytes."""
        return gpu.name.encode()

    def nvmlDeviceGetPowerUsage(self, gpu: FakeGpu) -> int:  # noqa: N802
        """Return milliwatts."""
        return _sound(gpu).draw_mw

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: FakeGpu) -> int:  # noqa: ARG002, N802
        """Refuse: not all GPUs count energy."""
        raise NVMLError("Not Supported")

    def nvmlDeviceGetPowerManagementLimit(self, gpu: FakeGpu) -> int:  # noqa: N802
        """Return milliwatts."""
        return _sound(gpu).limit_mw

    nvmlDeviceGetEnforcedPowerLimit = nvmlDeviceGetPowerManagementDefaultLimit = (  # noqa: N815
        nvmlDeviceGetPowerManagementLimit
    )

    def nvmlDeviceGetPowerManagementLimitConstraints(self, gpu: FakeGpu) -> list[int]:  # noqa: N802
        """Return the range of limits in milliwatts."""
        if "fixed" in _sound(gpu).faults:
            raise NVMLError("Not Supported")
        return [gpu.least_mw, gpu.most_mw]

    def nvmlDeviceSetPowerManagementLimit(self, gpu: FakeGpu, limit_mw: int) -> None:  # noqa: N802
        """Take a limit in milliwatts."""
        if "refuse" in _sound(gpu).faults:
            raise NVMLError("Insufficient Permissions")
        if not gpu.least_mw <= limit_mw <= gpu.most_mw:
            raise NVMLError("Invalid Argument")
        gpu.limit_mw = max(limit_mw, 400_000) if "clamp" in gpu.faults else limit_mw


def _sound(gpu: FakeGpu) -> FakeGpu:
    if "lost" in gpu.faults:
        raise NVMLError("GPU is lost")
    return gpu
