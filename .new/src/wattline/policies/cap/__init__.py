"""The cap mechanisms."""
