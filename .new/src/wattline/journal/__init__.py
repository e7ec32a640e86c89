"""The journal of a run: its tables, its seal, runs that were cut off, and who may write into a folder."""
