"""Questions about a log: what would have been, why, and who would have felt it."""
