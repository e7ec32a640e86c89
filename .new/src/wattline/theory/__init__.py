"""Closed forms and recursions of queueing, to bid by and to hold the engine against."""
