"""Hours that reproductions show: simulated once more with everything logged, and drawn as reports of runs draw them."""

from __future__ import annotations

from pathlib import Path

from wattline.bidding.hours.setting import Setting
from wattline.bidding.journal import journal_of
from wattline.bidding.searches.choice import Choice
from wattline.report.count.regulation import count_regulation
from wattline.report.count.run import load
from wattline.report.figures.hour import draw_regulation
from wattline.report.figures.style import Drawn
from wattline.report.show import dollars, show


def draw_hour(folder: Path, setting: Setting, seed: int, choice: Choice, title: str) -> Drawn:
    """Draw target and power, waiting jobs, arrivals and nodes of one hour; its journal stays in the folder."""
    journal = journal_of(folder, setting, seed, choice, title)
    run = load(journal)
    drawn, found = draw_regulation(run, journal), count_regulation(run)
    assert drawn is not None  # noqa: S101 - the hour was simulated to its end under a bid
    assert found is not None  # noqa: S101
    told = (
        f"P̄ = {show(choice.bid.mean_w, 'W')}, R = {show(choice.bid.reserve_w, 'W')}; mean error "
        f"{show(found.error, 'share')}, "
        f"above 30 % for {show(found.exceed_share, 'share')} of the time; {dollars(found.cost)}."
    )
    return Drawn(drawn.figure, title, f"{told} {drawn.caption}")
