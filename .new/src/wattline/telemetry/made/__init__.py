"""Samples made from a journal, with faults on demand."""
