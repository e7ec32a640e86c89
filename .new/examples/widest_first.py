"""An order of the queue in a few lines: the widest job first, first come among equals."""

import wattline as wl


@wl.policy(slot="order", wake="end node arrival")
def widest_first(s, arg, param, memory):  # noqa: ARG001  (every policy takes these four)
    """Widest job first."""
    for job in wl.waiting(s, new=True):  # those that are new since the last pass
        s.key[job] = -s.nodes[job]  # smaller keys go first
    return 0
