"""How states lie in memory, as a hash: numbers that were kept are taken over only where it is the same."""

from __future__ import annotations

import hashlib

from wattline.model.state.record import FIELDS


def layout() -> str:
    """Return the hash of how states lie in memory: raw numbers are taken over only where it is the same."""
    told = [(name, dtype.__name__, field.shape, field.fixed, field.block) for name, (dtype, field) in FIELDS.items()]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
