"""Plain twins against the compiled engine, on random worlds drawn to be nasty.

A *family* is a module of this package with

* ``NAME``, its name;
* ``draw(rng, size)``, which returns a random ``World`` of size "small" or "deep": a frozen dataclass of plain lists,
  numbers and strings whose ``repr`` evaluates back to it;
* ``check(world)``, which runs engine and twin and returns None, or one line that tells the first difference;
* ``shrink(world)``, which yields smaller worlds, the most drastic first (``shrinking`` has what most families need).

A world is known by its family and its number. ``scripts/soak`` runs them by the million.
"""

from __future__ import annotations

FAMILIES = (
    "classic",
    "energy",
    "market",
    "moldable",
)
"""Names of the families, one a line."""
