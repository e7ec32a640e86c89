"""RMAP: power-aware resource management for overprovisioned machines."""

RUNS_ENGINE = True
