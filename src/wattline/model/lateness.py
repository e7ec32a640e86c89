"""How late a machine is: delays of starts and caps, and deviations of its power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lateness:
    """Delays as (least, most) seconds, each as likely; deviations of power as a share of the machine's."""

    start_s: tuple[float, float] = (0.0, 0.0)
    cap_s: tuple[float, float] = (0.0, 0.0)
    noise: float = 0.0
    noise_every_s: float = 1.0

    def options(self) -> dict[str, Any]:
        """Return it as options of a run are called."""
        return {
            "late_start_s": self.start_s,
            "late_cap_s": self.cap_s,
            "noise": self.noise,
            "noise_every_s": self.noise_every_s,
        }
