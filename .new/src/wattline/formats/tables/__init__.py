"""Tables from files: configurations, kinds of jobs, factors of nodes, power profiles."""
