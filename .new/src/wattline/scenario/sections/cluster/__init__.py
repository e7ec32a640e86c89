"""[cluster] and its tables: nodes and their classes, outages, nodes that differ."""
