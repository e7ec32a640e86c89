"""The contest: Slackline against AQA with the same search effort, compared where both break promises equally often."""

RUNS_ENGINE = True
