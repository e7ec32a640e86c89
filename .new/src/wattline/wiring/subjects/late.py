"""Lay out in a state what a machine does later than it was told to, and the deviations of its power."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattline.errors import InputError
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import State
from wattline.wiring.options import Options

MOST_NOISE = 0.1
"""Greatest standard deviation of a machine's power over its power: at six of them there is still power left."""


def is_late(options: Options) -> bool:
    """Tell whether anything happens later than it was told to, or otherwise than is known."""
    return options.late_start_s[1] > 0.0 or options.late_cap_s[1] > 0.0 or options.noise > 0.0


def check_late(policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse delays and deviations that make no sense, and caps that cannot be late."""
    for what, (least_s, most_s) in (("starts", options.late_start_s), ("caps", options.late_cap_s)):
        if not 0.0 <= least_s <= most_s < np.inf:
            raise InputError(f"delays of {what} must lie between 0 and a time, got {least_s:g} s to {most_s:g} s")
    if not 0.0 <= options.noise <= MOST_NOISE:
        raise InputError(f"noise must be between 0 and {MOST_NOISE:g} of the machine's power, got {options.noise:g}")
    if not 1e-3 <= options.noise_every_s < np.inf:
        raise InputError(f"a deviation of power must last for at least 1 ms, got {options.noise_every_s:g} s")
    for m in policies:
        if options.late_cap_s[1] > 0.0 and m.recaps:
            raise InputError(
                f"{m.slot} policy {m.called!r} moves running jobs between configurations, at once: caps cannot be late"
            )


def late_classes(options: Options, classes: int) -> int:
    """Return of how many rate classes caps may be on their way; a real machine tells when they are in force."""
    return classes if options.late_cap_s[1] > 0.0 and not options.outside else 0


def fill_late(s: State, options: Options) -> None:
    """Write how late starts and caps are, and how power deviates."""
    s.late_s[:], s.late_cap_s[:] = options.late_start_s, options.late_cap_s
    s.noise_share[0], s.noise_every_s[0] = options.noise, options.noise_every_s
