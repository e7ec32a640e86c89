"""Published systems, one a folder: the recipe of mechanisms, its citation, and the claims it must reproduce.

A folder here is a system: its ``__init__`` says in a line what it is and whether it needs the compiled engine
(``RUNS_ENGINE``; ``KEEPS_PIECES = False``: it takes seconds, and does not go on where it was cut off), its ``page.py``
has the function ``reproduce``. ``wattline reproduce NAME`` runs it; nothing here imports a system before it is asked
for.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wattline.systems.reproduction import Reproduction
    from wattline.systems.work import Work

__all__ = ["ALL", "keeps_pieces", "known", "reproduce", "runs_engine"]

ALL = "all"
"""The name that stands for every system; see ``together``."""


def known() -> list[str]:
    """Return the names of all systems, as users type them."""
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__) if found.ispkg)


def runs_engine(name: str) -> bool:
    """Return whether a system runs the scheduler, so that its engine must be compiled."""
    return bool(importlib.import_module(_folder(name)).RUNS_ENGINE)


def keeps_pieces(name: str) -> bool:
    """Return whether the study of a system is made of pieces that are kept; one that takes seconds is not."""
    return bool(getattr(importlib.import_module(_folder(name)), "KEEPS_PIECES", True))


def reproduce(name: str, out_dir: Path, work: Work, *, quick: bool) -> Reproduction:
    """Run the study of one system as ``work`` says, write its page into ``out_dir`` and return the outcome."""
    outcome: Reproduction = importlib.import_module(f"{_folder(name)}.page").reproduce(out_dir, quick, work)
    return outcome


def _folder(name: str) -> str:
    return f"{__name__}.{name.replace('-', '_')}"
