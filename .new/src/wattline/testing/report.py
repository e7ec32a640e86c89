"""What a conformance run says: one row a check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from wattline.errors import PolicyError


class CheckError(PolicyError):
    """A policy does not satisfy a check; the text says what it did."""


class Row(NamedTuple):
    """One check of one policy: its name, whether it passed, and what went wrong if it did not."""

    check: str
    passed: bool
    detail: str = ""


@dataclass
class Report:
    """Rows of all checks that ran; ``ok`` when all of them passed (and any ran at all)."""

    name: str
    rows: list[Row] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Tell whether every check passed."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    def __str__(self) -> str:
        lines = [f"{'ok  ' if row.passed else 'FAIL'} {row.check}  {row.detail}".rstrip() for row in self.rows]
        return "\n".join([self.name, *lines])
