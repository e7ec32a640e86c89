"""AQA: demand response with quality-of-service assurance."""

RUNS_ENGINE = True
