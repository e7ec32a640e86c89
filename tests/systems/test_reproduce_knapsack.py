"""The quick reproduction of data-driven power capping."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wattline.systems.knapsack.data import LOAD, PUBLISHED_JOBS, load_jobs
from wattline.systems.knapsack.page import NAME, reproduce
from wattline.systems.knapsack.study import CHANGING, Scale, limit_steps, monthly_use, pieces_of
from wattline.systems.reproduction import Reproduction


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce(tmp_path_factory.mktemp("knapsack"), True, lambda _: None)


def test_the_quick_one_says_what_it_found(found: Reproduction) -> None:
    """Two months: waits and use beat naive capping, only deadlocks break a fixed cap, and ours waits less; jobs
    have the power of Table I.
    """
    by = {claim.short: claim for claim in found.claims}
    assert by["wfp: shorter waits than naive capping, every month"].holds
    assert by["wfp: better use than naive capping, every month"].holds
    assert by["wfp, a cap of 3,000 kW: only deadlocks exceed it"].holds
    assert by["mean: 65.76 kW a rack"].holds
    assert not by["maximum: 160.6 kW a rack"].holds
    year = found.numbers["mira-like"]["wfp"]["3000.0"]
    paper, ours, naive = year["window 20, t-test"], year["window 100, pooled"], year["naive"]
    assert ours["wait_s"] < 0.9 * paper["wait_s"] < 0.5 * naive["wait_s"]
    assert paper["capping"]["without_deadlocks"]["intervals"] > 0.999
    assert ours["capping"]["without_deadlocks"]["intervals"] > 0.99
    assert json.dumps(found.to_dict())


def test_the_page_is_whole(found: Reproduction) -> None:
    """The page stands alone and has its figures."""
    text = found.path.read_text(encoding="utf-8")
    assert found.path.name == f"{NAME}.html"
    assert text.count('class="figure') >= 5 or text.count("<figure") >= 5
    assert "Fig. 7" in text


def test_the_load_is_the_published_number_of_jobs() -> None:
    """The year has as many jobs as published, to within 3 %: the rule that fixes the load."""
    assert len(load_jobs("mira-like", 365.0, LOAD)) == pytest.approx(PUBLISHED_JOBS, rel=0.03)


def test_what_does_not_hold_was_tested_elsewhere(found: Reproduction) -> None:
    """A statement that does not hold says at which other loads it was tested, or that nothing else was run."""
    for claim in found.claims:
        if not claim.holds:
            assert claim.because


def test_the_changing_cap_has_five_equal_parts() -> None:
    """2, 3, 4, 2 and 3 MW for a fifth of the time each; other machines have the same shares of their greatest power."""
    steps = limit_steps(CHANGING, 100.0, 50.0, 4800.0)
    assert steps == [(100.0, 2e6), (110.0, 3e6), (120.0, 4e6), (130.0, 2e6), (140.0, 3e6)]
    assert limit_steps(3000.0, 0.0, 1.0, 480.0) == [(0.0, 300e3)]
    assert limit_steps(None, 0.0, 1.0, 4800.0) == []


def test_use_by_month_is_exact() -> None:
    """Utilization of a step function by parts of a span, cut where the parts are."""
    use = monthly_use(np.array([0.0, 15.0, 30.0]), np.array([4.0, 2.0, 0.0]), 0.0, 40.0, 4, 4)
    np.testing.assert_allclose(use, [1.0, 0.75, 0.5, 0.0])


def test_the_full_one_has_everything() -> None:
    """Both orders, three caps and a changing one, against naive and uncapped."""
    pieces = pieces_of(Scale(recorded=False))
    assert {(p.order, p.limit) for p in pieces} >= {
        (o, k) for o in ("fcfs", "wfp") for k in (2000.0, 3000.0, 4000.0, CHANGING, None)
    }
