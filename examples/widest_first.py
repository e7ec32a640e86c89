"""An order of the queue in a few lines: the widest job first, first come among equals."""

from wattline.policy import policy


@policy(slot="order", wake="end node arrival")
def widest_first(s, arg, param, memory):  # noqa: ARG001  (every policy takes these four)
    """Widest job first."""
    for i in range(s.q_new[0], s.q_tail[0]):  # slots that are new since the last pass
        job = s.queue[i]
        if job >= 0:
            s.key[job] = -s.nodes[job]  # smaller keys go first
    return 0
