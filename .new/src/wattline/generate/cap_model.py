"""The stated model of power under caps, for logs that did not measure it.

*linear-cap*: a node of a job that draws ``draw`` uncapped can be held down to ``floor = idle + φ (draw - idle)``, where
the job takes ``1 + σ (draw / floor - 1)`` times as long; run time grows linearly in between, as everywhere in Wattline.
φ = 0.46 and σ = 0.48 are the medians of 30 NAS benchmarks measured at both ends (``systems/npb.py``, servers that idle
at 169 W); σ = 1 would be speed in proportion to power, σ = 0 a cap that slows nobody.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

from wattline.errors import InputError
from wattline.model.jobs import MOST_W

FLOOR_SHARE, SENSITIVITY = 0.46, 0.48
_WIDEST = 2.0
"""No kind's power lies further from the mean than so many standard deviations."""


@dataclass(frozen=True)
class CapModel:
    """Power per node: ``idle_w``, uncapped ``draw_w`` where nobody measured it, and how caps act.

    Kinds differ: one that was not measured draws ``draw_w`` times a normal number of standard deviation ``spread`` (at
    most two of them away) that depends on its name alone, so the same kind draws the same in every log.
    """

    name: ClassVar[str] = "linear-cap"
    idle_w: float = 100.0
    draw_w: float = 300.0
    spread: float = 0.15
    floor_share: float = FLOOR_SHARE
    sensitivity: float = SENSITIVITY

    def __post_init__(self) -> None:
        if not 0 <= self.idle_w <= self.draw_w <= MOST_W:
            raise InputError(
                f"cap model: need 0 <= idle power <= busy power, got {self.idle_w:g} W and {self.draw_w:g} W"
            )
        for what, value, most in (
            ("spread", self.spread, 0.5),
            ("floor share", self.floor_share, 1.0),
            ("sensitivity", self.sensitivity, 10.0),
        ):
            if not 0 <= value <= most:
                raise InputError(f"cap model: the {what} must be in [0, {most:g}], got {value:g}")

    def draw(self, kind: str) -> float:
        """Return the uncapped power of a kind that nobody measured."""
        digest = int.from_bytes(hashlib.sha256(kind.encode()).digest()[:8], "big")
        deviations = NormalDist().inv_cdf((digest + 0.5) / 2.0**64)
        return max(self.idle_w, self.draw_w * (1.0 + self.spread * max(-_WIDEST, min(_WIDEST, deviations))))

    def floor(self, draw_w: float) -> float:
        """Return the power at the lowest cap; a job that draws no more than an idle node cannot be capped."""
        return self.idle_w + self.floor_share * (draw_w - self.idle_w) if draw_w > self.idle_w else draw_w

    def stretch(self, draw_w: float) -> float:
        """Return the run time at the lowest cap over the run time uncapped."""
        floor_w = self.floor(draw_w)
        return 1.0 + self.sensitivity * (draw_w / floor_w - 1.0) if 0 < floor_w < draw_w else 1.0

    def told(self, *, drawn: bool) -> str:
        """Return the model in words, for notes; ``drawn``: also where the uncapped power comes from."""
        source = f"{self.draw_w:g} W ± {100 * self.spread:g} % by kind, " if drawn else ""
        return (
            f"{self.name} model: {source}lowest cap at idle {self.idle_w:g} W + {self.floor_share:g} of what is "
            "above it, "
            f"run time there 1 + {self.sensitivity:g} (draw/floor - 1)"
        )
