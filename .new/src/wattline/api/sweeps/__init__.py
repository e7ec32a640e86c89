"""Sweeps: which settings there are, where their runs are made, and the rows that they leave."""
