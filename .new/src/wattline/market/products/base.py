"""What a market product is: the keys it takes from ``[prices]``, and the money it turns a span of time into.

A product is one file of this folder: a frozen dataclass, called ``PRODUCT`` there, that inherits ``Product`` and
has the attributes below; its fields are its settings (keys of kind ``span``), each with a default. Scenario,
journal, reports and searches know products by this protocol alone. ``wattline.testing.check_product`` tells whether
one keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

from wattline.market.held import Held
from wattline.market.span import Span

Kind = Literal["price", "ratio", "power", "span"]
"""What a key takes: a price in $/kWh, a number without unit, watts (each a number or a series), or seconds."""


@dataclass(frozen=True)
class Key:
    """A key of ``[prices]``: ``about`` is its line in the reference.

    ``column`` is the column of the accounts that shows the mean of a series ("": none). ``default`` holds where the
    scenario says nothing (None: it must be given), ``flat`` names the price of ``[regulation] prices`` that holds
    instead, where there is a regulation.
    """

    name: str
    about: str
    kind: Kind = "price"
    column: str = ""
    default: float | None = 0.0
    flat: str = ""


class Charges(NamedTuple):
    """Money of a span in dollars: charged for energy, paid for what was held ready and for what was done, penalty."""

    energy_cost: float
    capacity_credit: float = 0.0
    performance_credit: float = 0.0
    error_cost: float = 0.0


class Product(Protocol):
    """What is sold to a grid, and how it is settled."""

    name: ClassVar[str]
    """what ``rules`` of ``[prices]`` says"""
    about: ClassVar[str]
    """how it is settled, in a line"""
    keys: ClassVar[tuple[Key, ...]]
    """what it takes from ``[prices]``, energy included"""
    follows: ClassVar[bool]
    """whether it settles a bid on a regulation signal, so that a scenario needs ``[regulation]``"""
    scored: ClassVar[bool]
    """whether the performance score decides what is paid"""

    def series(self, given: Mapping[str, Held]) -> Mapping[str, Held]:
        """Return the series that a span is cut by, from those of the keys: the same, unless time shifts them."""
        return given

    def bill(self, span: Span) -> Charges:
        """Return the money of a span; NaN where a price that is needed is not known."""
        ...
