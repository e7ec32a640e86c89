"""Where samples of power lie: files, folders and databases, their columns, and samples in the order of time."""
