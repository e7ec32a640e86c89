"""Samples held against rules: every one is good for a stretch of time or counted under one fault."""
