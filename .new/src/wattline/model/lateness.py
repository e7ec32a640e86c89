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

    def words(self) -> str:
        """Return it in words ("": it obeys at once and draws what is known of it).

        >>> Lateness((0.0, 1.0), (0.2, 0.2), 0.005).words()
        'starts 0 to 1 s late, caps 0.2 s late, noise 0.5 % for 1 s'
        """
        told = []
        for what, (least_s, most_s) in (("starts", self.start_s), ("caps", self.cap_s)):
            if most_s > 0:
                span = f"{least_s:g} to {most_s:g}" if least_s < most_s else f"{most_s:g}"
                told.append(f"{what} {span} s late")
        if self.noise > 0:
            told.append(f"noise {100 * self.noise:g} % for {self.noise_every_s:g} s")
        return ", ".join(told)

    def options(self) -> dict[str, Any]:
        """Return it as options of a run are called."""
        return {
            "late_start_s": self.start_s,
            "late_cap_s": self.cap_s,
            "noise": self.noise,
            "noise_every_s": self.noise_every_s,
        }
