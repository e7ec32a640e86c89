"""NeDD: network-data-driven job allocation, and what network congestion does to applications."""

RUNS_ENGINE = False
