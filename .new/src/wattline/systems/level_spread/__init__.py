"""Level-Spread: place each job in the smallest level of a dragonfly that holds it and spread it there."""

RUNS_ENGINE = False
