"""Codes that the packet kernels share: kinds of ports, messages and phases, places of options and totals."""

from __future__ import annotations

HOST, LOCAL, GLOBAL = 0, 1, 2
"""Kinds of port: to a node, to a router of the group, to another group."""

MINIMAL, VALIANT, ADAPTIVE, UGAL = 0, 1, 2, 3
ROUTINGS = ("minimal", "valiant", "adaptive-local", "ugal")
"""Names of the routings, in the order of their codes."""

FLIT_BYTES = 8
CREDIT_BITS = 12
"""A credit on its way is packed as (arrival << 12) | flits: packets of up to 4,095 flits."""
CREDIT_MASK = (1 << CREDIT_BITS) - 1
MOST_PS = 1 << 50
"""Simulated time ends here (about 19 minutes): packed credits leave 51 bits for it."""

# -- options (fixed during a run)
O_ROUTER_PORTS, O_NODES, O_LANES, O_ROUTING, O_CROSSBAR_PS, O_RING = 0, 1, 2, 3, 4, 5
O_PACKET_BYTES, O_HEADER_BYTES, O_EAGER_BYTES, O_MEMORY_PS, O_SEED, O_INSIDE = 6, 7, 8, 9, 10, 11
O_OUT, O_SPACE, O_CREDIT, O_NIC, O_TASK, O_PACKET = 12, 13, 14, 15, 16, 17
"""First event of each kind; those of input ports begin at 0."""
O_OPEN, O_PATTERN, O_GAP_PS, O_FLITS, O_SHIFT, O_FROM_PS = 18, 19, 20, 21, 22, 23
"""Open loop: whether, pattern, mean time between packets of a node, their length, nodes of a group and groups to the
destination (packed), when measuring begins."""
O_GROUPS, O_WITHIN, O_OUTPUT_FLITS, O_BUCKET, O_LINKS = 24, 25, 26, 27, 28
"""Groups, routers of a group, flits an output lane holds, bits of time within a bucket of the wheel, links between two
groups."""

UNIFORM, ADVERSARIAL = 0, 1

# -- totals
S_NOW, S_MADE, S_DELIVERED, S_HOPS, S_EVENTS, S_WANT, S_LEFT, S_DRAWN = 0, 1, 2, 3, 4, 5, 6, 7
S_SEEN, S_LATENCY, S_SEEN_HOPS, S_GOT_FLITS, S_DETOURS, S_LOCAL = 8, 9, 10, 11, 12, 13
"""Present time; packets made and delivered, links crossed, events; 1: a pool is empty.

Jobs that must still finish; random
draws; open loop: packets, their latencies, links and flits while measuring; packets sent on a detour; messages
inside nodes."""

# -- kinds of message
M_EAGER, M_ASK, M_CLEAR, M_DATA, M_GET, M_REPLY = 0, 1, 2, 3, 4, 5
"""Sent at once; rendezvous: may I, you may, the data; one-sided: give me, here it is."""

# -- kinds of phase
P_COMPUTE, P_SHIFT, P_LIST, P_GET, P_WAIT = 0, 1, 2, 3, 4

# -- why a slice of the simulation ended
DONE, UNTIL, BUDGET, GROW, IDLE = 0, 1, 2, 3, 4
