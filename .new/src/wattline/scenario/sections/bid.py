"""[bid]: how ``wattline bid`` chooses mean power and reserve.

What a bid is made for takes many sections: ``scenario/setting.py`` builds it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wattline.scenario.read.base import Section

MOST_TRIALS = 100_000
"""Fresh hours of a certificate: ten thousand settle any question, and each stays in memory."""


class BidSpec(Section):
    """How `wattline bid` chooses mean power and reserve, and tests the choice."""

    method: Literal["search", "aqa", "qosg", "grid", "grid-tracking", "grid-least", "heuristic", "given"] = Field(
        "search",
        description="largest reserve by bisection; the published AQA and QoSG; of a grid of bids the cheapest that "
        "keeps all, the cheapest that keeps tracking (EnergyQARE in thesis-DR §2.5.1), or the one of least degradation "
        "and error (EnergyQARE in AQA §4.3); a rule of thumb (Tracking-only); or `mean` and `reserve` as given",
    )
    hours: Annotated[int, Field(ge=2, le=MOST_TRIALS)] = Field(
        200,
        description="hours of a drawn signal on which the choice is tested; of recorded days all hours are",
    )
    protocol: Literal["stationary", "paper"] = Field(
        "stationary", description="warmed up and run on until all have finished, or one hour from an empty machine"
    )
