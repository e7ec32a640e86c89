"""What a node has beside the hardware that keeps its cap: GPUs, and a second meter that the first is compared with."""

from __future__ import annotations

import math
from collections import Counter

from wattline.live.power.agreement import Agreement, Trust
from wattline.live.power.base import Hardware, HardwareError
from wattline.live.power.nvml import Gpus
from wattline.live.power.second import Second
from wattline.live.power.server.model import ServerModel

GPU = "gpu/"
"""How the limits of GPUs begin among all that was found."""


class Beside:
    """GPUs and a second meter, none of which must be there.

    Parameters
    ----------
    gpus
        The node's GPUs. Their watts are part of the server's.
    phi
        Watts of the server for a watt of a GPU.
    second
        A meter of the whole server that is independent of the first.
    trust
        When the two meters are said to disagree.
    """

    def __init__(
        self, *, gpus: Gpus | None = None, phi: float = 1.0, second: Second | None = None, trust: Trust | None = None
    ) -> None:
        self.gpus, self.phi, self._second = gpus, phi, second
        self._agreement = Agreement(trust if trust is not None else Trust())

    # ------------------------------------------------------------------ meters

    def gpu_w(self) -> float:
        """Return the power of all GPUs now; 0 where there are none, NaN where nobody knows."""
        return 0.0 if self.gpus is None else self.gpus.watts()

    def second_w(self, now_s: float) -> float:
        """Return the power of the server by the second meter; NaN where there is none, or it is silent."""
        return math.nan if self._second is None else self._second.watts(now_s)

    @property
    def disagree(self) -> bool:
        """Whether the two meters have disagreed for so long that the larger is believed."""
        return self._agreement.disagree

    def believed_w(self, now_s: float, first_w: float, second_w: float) -> float:
        """Compare two readings; return the one that is believed."""
        self._agreement.take(now_s, first_w, second_w)
        return self._agreement.believed_w(first_w, second_w)

    # ------------------------------------------------------------------ limits

    def limit_gpus(self, cap_w: float, model: ServerModel, memory_w: float, cpu_w: tuple[float, float]) -> None:
        """Limit the GPUs, if they are to be, to their part of a server cap.

        What the cap leaves above the least limits of processors and GPUs is shared out by how far the limits of each
        reach, so that the sum of all at their limits is the cap. Processors may use what GPUs leave, not the other way.
        """
        if self.gpus is None or not self.gpus.limits:
            return
        least_w, most_w = self.gpus.bounds_w()
        room_w = cap_w - model.server_w(cpu_w[0], memory_w) - self.phi * least_w
        reach_w = model.phi_1 * (cpu_w[1] - cpu_w[0]) + self.phi * (most_w - least_w)
        part = min(max(room_w / reach_w, 0.0), 1.0) if reach_w > 0.0 else 0.0
        self.gpus.set_limit(least_w + part * (most_w - least_w))

    def found(self) -> dict[str, float]:
        """Return the limits of the GPUs."""
        return {} if self.gpus is None else self.gpus.found()

    def loosest(self) -> dict[str, float]:
        """Return the greatest limits of the GPUs."""
        return {} if self.gpus is None else self.gpus.loosest()

    def restore(self, limits: dict[str, float], hardware: Hardware) -> None:
        """Put back limits of GPUs and of the other hardware, both even if one fails."""
        ours = {key: watts for key, watts in limits.items() if key.startswith(GPU)}
        failed: list[str] = []
        try:
            if ours and self.gpus is None:
                failed.append("limits of GPUs are to be put back, and the file has no [gpus]")
            elif ours and self.gpus is not None:
                self.gpus.restore(ours)
        except HardwareError as problem:
            failed.append(str(problem))
        try:
            hardware.restore({key: watts for key, watts in limits.items() if key not in ours})
        except HardwareError as problem:
            failed.append(str(problem))
        if failed:
            raise HardwareError("; ".join(failed))

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met."""
        found: Counter[str] = Counter()
        for part in (self.gpus, self._second):
            if part is not None:
                found.update(part.problems())
        return dict(found)

    def close(self) -> None:
        """Let go of GPUs and meter; twice is as good as once."""
        for part in (self.gpus, self._second):
            if part is not None:
                part.close()
