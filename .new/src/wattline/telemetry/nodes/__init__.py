"""Nodes of a machine: which jobs held them, and which sensors measure them."""
