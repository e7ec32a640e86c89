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

    method: Literal["search", "aqa", "qosg", "grid", "heuristic", "given"] = Field(
        "search",
        description="largest reserve by bisection; the published AQA, QoSG and grid; a rule of thumb; or `mean` and "
        "`reserve` as given",
    )
    hours: Annotated[int, Field(ge=2, le=MOST_TRIALS)] = Field(
        200,
        description="hours of a drawn signal on which the choice is tested; of recorded days all hours are",
    )
    protocol: Literal["stationary", "paper"] = Field(
        "stationary", description="warmed up and run on until all have finished, or one hour from an empty machine"
    )
