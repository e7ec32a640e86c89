"""What a reproduction says: published statements beside our numbers, each with a verdict, as a table and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

    from wattline.report.page import Page

SMALLER = "A smaller version: few cases, few hours; intervals are wide."
FOOTER = "<footer>Made by Wattline; this file asks nothing of the network.</footer>"


@dataclass(frozen=True)
class Claim:
    """A published statement and what became of it.

    ``short`` names it in a terminal; ``ours`` is what we found, ``because`` the reason where it does not hold or holds
    with a proviso.
    """

    where: str
    short: str
    statement: str
    ours: str
    holds: bool
    because: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Reproduction:
    """The outcome: a page on disk, the claims, and what has to be said before them (where the data came from)."""

    name: str
    title: str
    path: Path
    claims: Sequence[Claim]
    remarks: Sequence[str] = ()
    numbers: dict[str, Any] = field(default_factory=dict)

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
            verdict = Text("holds", "green") if claim.holds else Text("does not hold", "bold red")
            rows.add_row(Text(claim.where), Text(claim.short), Text(claim.ours), verdict)
        said = [Text(remark, "bold yellow") for remark in self.remarks]
        return Group(Text(self.title, "bold"), *said, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return claims, remarks and numbers for ``--json``."""
        claims = [{**asdict(claim), "holds": bool(claim.holds), "verdict": claim.verdict} for claim in self.claims]
        return {"title": self.title, "remarks": list(self.remarks), "claims": claims, "numbers": self.numbers}


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
    held = sum(claim.holds for claim in claims)
    warning = "".join(f'<p class="sub warn"><b>{escape(remark)}</b></p>' for remark in remarks)
    page.add(
        f'<header><p class="kicker">Wattline reproduction</p><h1>{escape(title)}</h1>'
        f'<p class="sub">{held} of {len(claims)} statements hold.</p>{warning}{facts(items)}</header>{more}'
    )
    page.add("<h2>What was published, and what we find</h2>", claims_table(claims))
    return page


def claims_table(claims: Sequence[Claim]) -> str:
    """Return the claims as HTML."""
    from wattline.report.page import Raw, table

    rows = []
    for claim in claims:
        style = "down" if claim.holds else "up"
        because = f": {escape(claim.because)}" if claim.because else ""
        verdict = Raw(f'<b class="{style}">{claim.verdict}</b>{because}')
        rows.append((claim.where, claim.statement, claim.ours, verdict))
    return table(("where", "published", "ours", "verdict"), rows, text=(1, 2, 3))
