"""What the engine keeps in order while it runs: the queue, free and held nodes, running jobs, the backfill index."""
