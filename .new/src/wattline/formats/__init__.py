"""Files of other people ↔ facts: job logs, series over time, tables."""
