"""The quick reproduction of data-driven power capping."""

from __future__ import annotations

import json

import numpy as np
import pytest
from systems_statements import check_rows, check_statements

from wattline.systems.knapsack.claims import NotRunError, View, cause
from wattline.systems.knapsack.data import LOAD, PUBLISHED_JOBS, load_jobs
from wattline.systems.knapsack.page import NAME, reproduce
from wattline.systems.knapsack.study import CHANGING, FEWER_FULL, Scale, Study, limit_steps, monthly_use, pieces_of
from wattline.systems.reproduction import Reproduction
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce(tmp_path_factory.mktemp("knapsack"), True, Work())


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


def test_tables_say_what_the_numbers_say(found: Reproduction) -> None:
    """A table for each cap and order, named by its title, with a row a scheme."""
    year = found.numbers["mira-like"]["wfp"]["3000.0"]
    rows = {row[0]: row for row in found.tables["cap-of-3000-kw-wfp"].rows}
    assert set(rows) == set(year)
    for scheme, told in year.items():
        assert rows[scheme][1] == f"{told['wait_s'] / 3600:,.2f}"
        assert rows[scheme][6] == f"{told['capping']['deadlock_starts']:.0f}"
    assert "no-cap-wfp" in found.tables
    assert all(len(row) == len(table.header) for table in found.tables.values() for row in table.rows)


def test_the_page_is_whole(found: Reproduction) -> None:
    """The page stands alone and has its figures."""
    text = found.path.read_text(encoding="utf-8")
    assert found.path.name == f"{NAME}.html"
    assert text.count('class="figure') >= 5 or text.count("<figure") >= 5
    for figure in ("(Fig. 1)", "(Fig. 2)", "(Fig. 4)", "(Fig. 6)", "(Fig. 7)"):
        assert figure in text


def test_the_load_is_the_published_number_of_jobs() -> None:
    """The year has as many jobs as published, to within 3 %: the rule that fixes the load."""
    assert len(load_jobs("mira-like", 365.0, LOAD)) == pytest.approx(PUBLISHED_JOBS, rel=0.03)


def test_only_what_does_not_hold_has_a_reason(found: Reproduction) -> None:
    """Only a statement that does not hold has a reason."""
    assert [bool(claim.because) for claim in found.claims] == [not claim.holds for claim in found.claims]


def test_a_reason_names_where_a_statement_holds_and_where_not() -> None:
    """It says at which other loads and shares of full-machine jobs it was tested, or that nothing else was run."""

    def check(view: View) -> tuple[bool, str]:
        if view.full == FEWER_FULL:
            raise NotRunError
        return view.load == 0.5, ""

    def none_run(view: View) -> tuple[bool, str]:
        raise NotRunError

    view = View(Study(Scale.quick()), "wfp")
    said = "it holds at a load of 50%; it does not at a load of 40% nor at a load of 65%"
    assert cause(view, check) == said
    assert cause(view, none_run) == "nothing else was run"
    assert cause(view, lambda other: (other.full == FEWER_FULL, "")).startswith("it holds with 0.1% of full-machine")


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


def test_the_document_shows_what_comes_out(found: Reproduction) -> None:
    """Statements word for word, and the rows of every table that a smaller run has."""
    check_statements(found)
    check_rows(found)
