"""What a reproduction says: published statements beside our numbers, each with a verdict, as a table and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.finite import to_finite

if TYPE_CHECKING:
    from rich.console import Group

    from wattline.report.page import Page

SMALLER = "A smaller version: few cases and hours, wide intervals; it judges less."
FOOTER = "<footer>Made by Wattline; this file asks nothing of the network.</footer>"
HELD, NOT_HELD, UNTESTABLE = "held", "not held", "untestable"
"""The verdicts on a statement."""
COLOURS = {HELD: "green", NOT_HELD: "bold red", UNTESTABLE: "yellow"}
"""Of the verdicts, in a terminal."""
STYLES = {HELD: "down", NOT_HELD: "up", UNTESTABLE: "mild"}
"""Of the verdicts, on a page."""


@dataclass(frozen=True)
class Claim:
    """A published statement and what became of it.

    Attributes
    ----------
    where
        The place in the source, or the machine on which it was tried.
    short
        Its name in a terminal.
    statement
        What was published, in one sentence, with the tolerance that the check allows.
    ours
        What we found.
    holds
        Whether that is what the sentence says; None where this machine or these data cannot tell.
    because
        The reason where it does not hold or cannot be tested, or a proviso.
    """

    where: str
    short: str
    statement: str
    ours: str
    holds: bool | None
    because: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.holds is None:
            return UNTESTABLE
        return HELD if self.holds else NOT_HELD

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "holds": None if self.holds is None else bool(self.holds), "verdict": self.verdict}


NOT_TESTED = "cause not tested"
"""The reason of a statement that is not held, where nothing was tried."""


def reasoned(claims: Iterable[Claim]) -> list[Claim]:
    """Return statements; one that is not held and gives no reason says that none was tested.

    >>> [claim.because for claim in reasoned([Claim("Fig. 1", "a", "it is a", "b", holds=False)])]
    ['cause not tested']
    """
    return [c if c.because or c.holds else replace(c, because=NOT_TESTED) for c in claims]


@dataclass(frozen=True)
class Table:
    """Numbers as a page of the documentation shows them: all cells are texts."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"header": list(self.header), "rows": [list(row) for row in self.rows]}


def count(claims: Iterable[Claim]) -> str:
    """Return how many statements hold, in words."""
    by = Counter(claim.verdict for claim in claims)
    told = [f"{by[HELD]} of {by.total()} statements held", f"{by[NOT_HELD]} not"]
    return ", ".join(told + ([f"{by[UNTESTABLE]} cannot be tested here"] if by[UNTESTABLE] else []))


@dataclass(frozen=True)
class Reproduction:
    """The outcome: a page on disk, the claims, and what has to be said before them (where the data came from)."""

    name: str
    title: str
    path: Path
    claims: Sequence[Claim]
    remarks: Sequence[str] = ()
    numbers: dict[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    """What the documentation shows, by name."""

    @property
    def table(self) -> Group:
        """The claims for a terminal of 80 columns."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = Table(box=None, pad_edge=False, header_style="bold", width=80)
        rows.add_column("", style="cyan", width=8, overflow="fold")
        rows.add_column("published", width=24, overflow="fold")
        rows.add_column("ours", overflow="fold")
        rows.add_column("verdict", width=8, overflow="fold")
        for claim in self.claims:
            verdict = Text(claim.verdict, COLOURS[claim.verdict])
            rows.add_row(Text(claim.where), Text(claim.short), Text(claim.ours), verdict)
        said = [Text(remark, "bold yellow") for remark in self.remarks]
        return Group(Text(self.title, "bold"), *said, rows, Text(f"\n{count(self.claims)}"))

    def to_dict(self) -> dict[str, Any]:
        """Return claims, remarks, tables and numbers for ``--json``."""
        return {
            "title": self.title,
            "remarks": list(self.remarks),
            "claims": [claim.to_dict() for claim in self.claims],
            "tables": {name: table.to_dict() for name, table in self.tables.items()},
            "numbers": to_finite(self.numbers),
        }


def begin_page(
    title: str,
    claims: Sequence[Claim],
    items: Iterable[tuple[str, object]],
    remarks: Sequence[str] = (),
    more: str = "",
) -> Page:
    """Return a page that begins with what was reproduced, how much of it holds, what must be said first, and the
    claims.

    ``items`` are facts by name; ``more`` is HTML that stands above the claims.
    """
    from wattline.report.page import Page, facts

    page = Page(f"{title} – Wattline reproduction")
    warning = "".join(f'<p class="sub warn"><b>{escape(remark)}</b></p>' for remark in remarks)
    page.add(
        f'<header><p class="kicker">Wattline reproduction</p><h1>{escape(title)}</h1>'
        f'<p class="sub">{count(claims)}.</p>{warning}{facts(items)}</header>{more}'
    )
    page.add("<h2>What was published, and what we find</h2>", claims_table(claims))
    return page


def claims_table(claims: Sequence[Claim]) -> str:
    """Return the claims as HTML."""
    from wattline.report.page import Raw, table

    rows = []
    for claim in claims:
        because = f": {escape(claim.because)}" if claim.because else ""
        verdict = Raw(f'<b class="{STYLES[claim.verdict]}">{claim.verdict}</b>{because}')
        rows.append((claim.where, claim.statement, claim.ours, verdict))
    return table(("where", "published", "ours", "verdict"), rows, text=(1, 2, 3))
