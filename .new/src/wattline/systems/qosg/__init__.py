"""QoSG: demand response with a QoS guarantee by generalized processor sharing."""

RUNS_ENGINE = True
