"""Published systems, one a file: the recipe of mechanisms, its citation, and the claims it must reproduce.

``wattline reproduce NAME`` runs them; nothing here imports a system before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wattline.systems.reproduction import Reproduction

__all__ = ["REPRODUCTIONS", "WITHOUT_ENGINE"]

Say = Callable[[str], None]


def _recursion(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.recursion import reproduce

    return reproduce(out_dir, quick, say)


def _aqa(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.aqa import reproduce

    return reproduce(out_dir, quick, say)


def _qosg(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.qosg import reproduce

    return reproduce(out_dir, quick, say)


def _qoscap(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.qoscap import reproduce

    return reproduce(out_dir, quick, say)


def _knapsack(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.knapsack import reproduce

    return reproduce(out_dir, quick, say)


def _overprovisioning(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.overprovisioning import reproduce

    return reproduce(out_dir, quick, say)


def _rmap(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.rmap import reproduce

    return reproduce(out_dir, quick, say)


def _level_spread(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.level_spread import reproduce

    return reproduce(out_dir, quick, say)


def _nedd(out_dir: Path, quick: bool, say: Say) -> Reproduction:  # noqa: FBT001  # the one signature of all
    from wattline.systems.nedd import reproduce

    return reproduce(out_dir, quick, say)


REPRODUCTIONS: dict[str, Callable[[Path, bool, Say], Reproduction]] = {
    "recursion": _recursion,
    "aqa": _aqa,
    "qosg": _qosg,
    "qoscap": _qoscap,
    "knapsack": _knapsack,
    "rmap": _rmap,
    "overprovisioning": _overprovisioning,
    "level-spread": _level_spread,
    "nedd": _nedd,
}
"""Name → ``reproduce(out_dir, quick, say)``."""

WITHOUT_ENGINE = frozenset({"overprovisioning", "level-spread", "nedd"})
"""Those that never run the scheduler: its engine need not be compiled for them."""
