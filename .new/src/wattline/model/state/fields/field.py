"""How a field of the state is declared: shape, unit, meaning, what it holds before anything happens, and who may
write it.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY_SLOT = "order select place cap learn profile bid"
"""Writers of a field that policies of all slots may write."""


@dataclass(frozen=True)
class Field:
    """One array of the state.

    Parameters
    ----------
    shape
        Extents by the letters of ``Sizes``, or numbers; several are separated by commas.
    unit
        SI unit of its values; empty for counts, indices and codes.
    meaning
        What a value says, in a few words.
    fixed
        Whether it never changes during a run.
    entered
        Whether a real machine writes it (a job that was not known at the start gets a row, the signal is heard);
        otherwise it is fixed.
    block
        Fields of one block are interleaved in memory: what is touched together lies together.
    nothing
        What it holds before anything happens.
    writers
        Slots whose policies may write it, separated by blanks; the engine alone where there are none.
    """

    shape: str
    unit: str
    meaning: str
    fixed: bool = False
    block: str = ""
    nothing: float = 0
    writers: str = ""
    entered: bool = False
