"""Data-driven power capping: learned profiles and window scheduling."""

RUNS_ENGINE = True
