"""All published systems in one run: a page that leads to every statement and its verdict, and the same as data."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.journal.kept import Kept
from wattline.systems import known, reproduce
from wattline.systems.reproduction import COLOURS, FOOTER, HELD, SMALLER, Reproduction, claims_table, count
from wattline.systems.work import Progress, Say, Work

if TYPE_CHECKING:
    from rich.console import Group

PAGE = "all.html"


@dataclass(frozen=True)
class Together:
    """What all systems gave: their outcomes in the order of their names, and how long each took."""

    path: Path
    outcomes: Sequence[Reproduction]
    seconds: Sequence[float]
    quick: bool

    @property
    def table(self) -> Group:
        """The number of statements by system and verdict, for a terminal of 80 columns."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = Table(box=None, pad_edge=False, header_style="bold", width=80)
        rows.add_column("system", style="cyan", width=18)
        for verdict in COLOURS:
            rows.add_column(verdict, justify="right")
        rows.add_column("seconds", justify="right")
        for outcome, seconds in zip(self.outcomes, self.seconds, strict=True):
            by = Counter(claim.verdict for claim in outcome.claims)
            cells = [Text(str(by[verdict]), COLOURS[verdict] if by[verdict] else "dim") for verdict in COLOURS]
            rows.add_row(outcome.name, *cells, f"{seconds:.0f}")
        said = [Text(remark, "bold yellow") for remark in self.remarks]
        return Group(*said, rows, Text(f"\n{self.words}"))

    @property
    def remarks(self) -> list[str]:
        """What has to be said before the statements, by system."""
        told = [
            f"{outcome.name}: {remark}" for outcome in self.outcomes for remark in outcome.remarks if remark != SMALLER
        ]
        return [SMALLER, *told] if self.quick else told

    @property
    def words(self) -> str:
        """How many statements hold, over all systems."""
        return count(claim for outcome in self.outcomes for claim in outcome.claims)

    def to_dict(self) -> dict[str, Any]:
        """Return everything: system, statements, verdicts, tables and numbers."""
        return {
            "quick": self.quick,
            "systems": {
                outcome.name: {**outcome.to_dict(), "seconds": round(seconds, 1)}
                for outcome, seconds in zip(self.outcomes, self.seconds, strict=True)
            },
        }


MINUTES = {
    "aqa": 25.0,
    "contest": 20.0,
    "knapsack": 8.0,
    "level-spread": 10.0,
    "nedd": 3.0,
    "qosg": 6.0,
    "qoscap": 8.0,
}
"""About how long the systems that take long are at it on two cores: for the time left."""

LEAST = 1.0
"""The same of all others, in minutes."""

Open = Callable[[str], Kept | None]
"""Opens the place where pieces of a system are kept."""


def reproduce_all(
    out_dir: Path, say: Say, *, quick: bool, progress: Progress | None = None, kept: Open | None = None
) -> Together:
    """Run every system, each into a folder of its own, and write the page that leads to them.

    ``progress`` hears of the whole: each system counts by the time it takes. What is done is in ``kept``.
    """
    outcomes, seconds = [], []
    names = known()
    whole = sum(MINUTES.get(name, LEAST) for name in names)
    before = 0.0
    for i, name in enumerate(names, 1):
        began = time.perf_counter()
        weight = MINUTES.get(name, LEAST)

        def tell(done: float, total: float, before: float = before, weight: float = weight) -> None:
            if progress is not None:
                progress(before + weight * done / total, whole)

        work = Work(_ahead(f"{i}/{len(names)} {name}", say), tell, None if kept is None else kept(name))
        outcomes.append(reproduce(name, out_dir / name, work, quick=quick))
        before += weight
        tell(0.0, 1.0, before)
        seconds.append(time.perf_counter() - began)
    together = Together(out_dir / PAGE, outcomes, seconds, quick)
    _page(together)
    return together


def _ahead(head: str, say: Say) -> Say:
    """Return a ``say`` that puts words ahead of everything it is told."""
    say(head)
    return lambda told: say(f"{head}: {told}")


def _page(together: Together) -> None:
    from wattline.report.page import Page, Raw, table

    page = Page("All published systems – Wattline reproduction")
    warning = "".join(f'<p class="sub warn"><b>{escape(remark)}</b></p>' for remark in together.remarks)
    page.add(
        '<header><p class="kicker">Wattline reproduction</p><h1>All published systems</h1>'
        f'<p class="sub">{together.words}.</p>{warning}</header>'
    )
    rows = []
    for outcome, seconds in zip(together.outcomes, together.seconds, strict=True):
        by = Counter(claim.verdict for claim in outcome.claims)
        name = Raw(f'<a href="#{outcome.name}">{escape(outcome.name)}</a>')
        rows.append((name, outcome.title, *(by[verdict] for verdict in COLOURS), f"{seconds:.0f} s"))
    page.add(table(("system", "", *COLOURS, "took"), rows, text=(0, 1)))
    for outcome in together.outcomes:
        where = outcome.path.relative_to(together.path.parent).as_posix()
        held = sum(claim.verdict == HELD for claim in outcome.claims)
        page.add(
            f'<h2 id="{outcome.name}">{escape(outcome.title)}</h2>'
            f'<p class="sub">{held} of {len(outcome.claims)} held; '
            f'<a href="{escape(where)}">figures and tables</a></p>',
            claims_table(outcome.claims),
        )
    page.add(FOOTER)
    page.write(together.path)
