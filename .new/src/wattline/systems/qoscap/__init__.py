"""QoSCap and Adaptive bidding: demand response over days."""

RUNS_ENGINE = True
