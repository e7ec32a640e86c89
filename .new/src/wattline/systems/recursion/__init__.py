"""The service-rate system: queueing with control of the service rate, studied by recursions."""

RUNS_ENGINE = True
