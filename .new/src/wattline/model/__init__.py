"""Facts: the jobs, the cluster, the state and the actions, and the data structures that hold them."""
