"""``wattline reproduce qoscap --quick``: what was published of QoSCap and Adaptive bidding, and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from systems_statements import check_rows, check_statements

from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.systems import reproduce
from wattline.systems.qoscap.cases import LAWS, OURS, OUT, PAIRS, PUBLISHED, PUBLISHED_PAIR, THETA
from wattline.systems.qoscap.study import days_of, narrowed, synthetic
from wattline.systems.reproduction import Reproduction
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """The quick version."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WATTLINE_DATA", raising=False)
        return reproduce("qoscap", tmp_path_factory.mktemp("qoscap"), Work(), quick=True)


def test_published_pair_and_ours(reproduced: Reproduction) -> None:
    """On the quick day QoSCap + Adaptive meets both constraints; our pair does too, for at least 5 % less."""
    day = reproduced.numbers["emmy, Nov 15"]
    assert day[PUBLISHED_PAIR]["met"] == day[OURS.name]["met"] == 1
    assert day[OURS.name]["cost"] <= 0.95 * day[PUBLISHED_PAIR]["cost"] < 0.95 * day[OUT.name]["cost"]


def test_every_pair_is_there_and_reasons_are_given(reproduced: Reproduction) -> None:
    """``--json`` has machine → pair → published and ours; what does not hold says why; the page has figures and
    tables.
    """
    numbers = json.loads(json.dumps(reproduced.to_dict()))["numbers"]["emmy, Nov 15"]
    for pair in PAIRS:
        assert numbers[pair.name]["published"]["worst"] == PUBLISHED["emmy, Nov 15"][pair.name][1]
        assert len(numbers[pair.name]["days"]) == 1
    assert set(numbers["fixed bids"]) == {"EnergyQARE + FES", "QoSCap + FES"}
    assert all(len(claim.because) > 30 for claim in reproduced.claims if not claim.holds)
    page = reproduced.path.read_text()
    assert page.count("<figure>") == 6  # costs, jobs, and for two pairs a day and the service of every kind
    assert page.count("<table") == 3  # claims, the one machine, and narrower caps


def test_tables_say_what_the_numbers_say(reproduced: Reproduction) -> None:
    """A table a machine, a row a pair: published and ours; the market's only where its data are at hand."""
    assert list(reproduced.tables) == ["emmy-nov-15", "narrow"]
    rows = {row[0]: row for row in reproduced.tables["emmy-nov-15"].rows}
    assert list(rows) == [*(pair.name for pair in PAIRS), OURS.name, OUT.name]
    found = reproduced.numbers["emmy, Nov 15"][PUBLISHED_PAIR]
    assert rows[PUBLISHED_PAIR][3] == f"${PUBLISHED['emmy, Nov 15'][PUBLISHED_PAIR][2]}"
    assert rows[PUBLISHED_PAIR][6:8] == (f"{found['cost']:.0f}", f"{found['met']} of 1")
    assert all(len(row) == len(reproduced.tables["emmy-nov-15"].header) for row in rows.values())


def test_narrower_caps_save_less(reproduced: Reproduction) -> None:
    """With a part of the caps' range the same day costs more, and the reason of the saving says so."""
    day = reproduced.numbers["emmy, Nov 15"]
    costs = [day[PUBLISHED_PAIR]["cost"], day["narrow"]["0.5"]["cost"], day["narrow"]["0.25"]["cost"]]
    assert costs == sorted(costs)
    assert costs[2] > 1.2 * costs[0]
    assert [row[1] for row in reproduced.tables["narrow"].rows] == ["100%", "50%", "25%"]
    saving = next(claim for claim in reproduced.claims if claim.short.startswith("it saves"))
    assert not saving.holds
    assert "with 50% of our range" in saving.because


def test_a_narrowed_range_is_that_part_of_it() -> None:
    """Lowest caps take a part of the power that they took, at that part of the time; full power stays."""
    days = days_of("emmy, Nov 15", 1)
    part = narrowed(days, 0.25)
    pairs: list[tuple[JobTable | Kind, JobTable | Kind]] = [(part.jobs, days.jobs)]
    for here, there in [*pairs, *zip(part.kinds, days.kinds, strict=True)]:
        np.testing.assert_allclose(here.draw_w, there.draw_w)
        np.testing.assert_allclose(here.draw_w - here.floor_w, 0.25 * (there.draw_w - there.floor_w), atol=1e-9)
        np.testing.assert_allclose(here.stretch - 1.0, 0.25 * (there.stretch - 1.0), atol=1e-12)


@pytest.mark.parametrize("case", LAWS)
def test_days_and_what_a_search_sees(case: str) -> None:
    """A day has four before it and three after; exhaustive search sees other jobs of the same kinds at the known
    rates.
    """
    days = days_of(case, 2)
    assert (days.begin_s, days.end_s, days.last_s) == (4 * 86400.0, 5 * 86400.0, 8 * 86400.0)
    assert days.jobs.submit_s.max() > days.end_s
    assert all(kind.average and kind.limit == 2.0 for kind in days.kinds)
    other = synthetic(days, 900)
    assert {kind.name for kind in other.kinds} <= {kind.name for kind in days.kinds}
    assert not set(other.jobs.submit_s) & set(days.jobs.submit_s)


def test_theta(data_dir: Path) -> None:
    """A stretch of Theta has real arrivals and widths, and rates from before the measured day only."""
    assert data_dir.is_dir()
    first, second = days_of(THETA, 1), days_of(THETA, 2)
    assert first.cluster.nodes == 4392
    assert len(first.jobs) > 200
    assert 0 <= first.jobs.submit_s[0] < 86400.0
    assert {k.name: k.arrival_per_s for k in first.kinds} != {k.name: k.arrival_per_s for k in second.kinds}


def test_the_document_shows_what_comes_out(reproduced: Reproduction) -> None:
    """Statements word for word, and the rows of every table that a smaller run has."""
    check_statements(reproduced)
    check_rows(reproduced)
