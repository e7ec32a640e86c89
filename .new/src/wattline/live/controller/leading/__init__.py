"""Who leads a machine: the lease, handing it over, looking on beside the leader, and letting the machine go."""
