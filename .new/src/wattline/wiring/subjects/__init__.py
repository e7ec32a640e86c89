"""Subjects of a world: what each fills into the state before a run, and what it refuses."""
