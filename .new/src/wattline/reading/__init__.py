"""How files are read: bytes and lines from disk, notations, notes about what was dropped or repaired.

Shared by all readers.
"""
