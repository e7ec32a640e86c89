"""The conformance check of market products: ours pass it, and products that break a rule are caught by its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from wattline.market.products import find, known
from wattline.market.products.base import Charges, Key, Product
from wattline.market.products.paper import Paper
from wattline.market.span import Span
from wattline.testing import check_product


@pytest.mark.parametrize("name", known())
def test_our_products_conform(name: str) -> None:
    """Every product that is shipped passes every check."""
    report = check_product(find(name)())
    assert report.ok, str(report)


@dataclass(frozen=True)
class Broken(Paper):
    """The papers' rules with a mistake that a subclass makes."""

    name: ClassVar = "broken"


class Free(Broken):
    """Charges nothing for energy."""

    def bill(self, span: Span) -> Charges:
        """Forget the energy."""
        return super().bill(span)._replace(energy_cost=0.0)


class Fee(Broken):
    """Charges a fee for every hour, whatever the prices."""

    def bill(self, span: Span) -> Charges:
        """Add a dollar."""
        return super().bill(span)._replace(error_cost=1.0)


class PerPiece(Broken):
    """Counts pieces, which are nobody's business."""

    def bill(self, span: Span) -> Charges:
        """Pay for pieces."""
        return super().bill(span)._replace(error_cost=float(span.prices["error"].mean() * span.power_w.size))


class Blind(Broken):
    """Takes a missing price for zero."""

    def bill(self, span: Span) -> Charges:
        """Forget what is not known."""
        found = super().bill(span)
        return found if found.energy_cost == found.energy_cost else found._replace(energy_cost=0.0)


class Meddling(Broken):
    """Writes into a series."""

    def bill(self, span: Span) -> Charges:
        """Scale the prices in place."""
        span.prices["reserve"].setflags(write=True)
        span.prices["reserve"][:] = 0.0
        return super().bill(span)

    def series(self, given):  # type: ignore[no-untyped-def]
        """Scale what was given."""
        given["reserve"].values[:] *= 2.0
        return given


class Wordless(Broken):
    """Has a key without a line, shown in a column that there is not."""

    keys: ClassVar = (*Paper.keys, Key("fee", "", column="fee_column"))


CASES = {
    Free: "charges energy alone for nothing",
    Fee: "doubles with prices",
    PerPiece: "is the same however cut",
    Blind: "knows no cost without a price",
    Meddling: "leaves its hours alone",
    Wordless: "declares itself",
}


@pytest.mark.parametrize(("product", "row"), CASES.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_what_a_product_breaks_is_a_failed_row(product: type[Product], row: str) -> None:
    """A product that breaks a rule fails the row of that rule, with a line that says how."""
    report = check_product(product())
    failed = {found.check: found.detail for found in report.rows if not found.passed}
    assert row in failed
    assert "\n" not in failed[row]
