"""Hardware overprovisioning: more nodes than watts."""

RUNS_ENGINE = False
KEEPS_PIECES = False
