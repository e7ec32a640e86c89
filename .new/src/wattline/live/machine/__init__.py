"""Whoever starts the jobs of a machine: one interface, one resource manager a folder."""
