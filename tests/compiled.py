"""Compiled code that tests share: all of it, made once before the first test."""

from __future__ import annotations

ALSO = {
    "sim.asking": "play",
    "control.step": "step",
    "control.daily": "daily",
    "control.wanted": "wanted",
    "physics.packets.kernels.engine": "advance",
}
"""Parts that runs with all policies do not need but other programs of the tests do, and an entry point of each: several
would compile them at the same time, the longest first.
"""


def everything() -> None:
    """Compile the engine, all policies and what else is shared on all cores, unless it is kept from before."""
    from wattline.control.catalog import catalog
    from wattline.kernel.cache import cache_is_shared, is_warm
    from wattline.sim.warm import in_processes, warm_up

    policies = [policy for slot in catalog().values() for policy in slot.values()]
    warm_up(policies, lambda _text: None, nodes_change=None)
    cold = [part for part, name in ALSO.items() if not is_warm(f"wattline.{part}", name)]
    if cold and cache_is_shared():
        in_processes(cold, lambda _done, _total: None)
