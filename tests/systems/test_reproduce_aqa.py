"""``wattline reproduce aqa --quick``: the published study and ours on one workload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from systems_statements import check_rows, check_statements

from wattline.systems import reproduce
from wattline.systems.aqa.study import Scale
from wattline.systems.reproduction import Reproduction
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce("aqa", tmp_path_factory.mktemp("aqa"), Work(), quick=True)


def test_the_page_is_written(found: Reproduction) -> None:
    """One self-contained page shows the claims, the certificates, the paper's protocol and the figures."""
    page = Path(found.path).read_text(encoding="utf-8")
    for text in (
        "What was published",
        "Fresh hours: W4",
        "Slackline",
        "Fig. 6",
        "Fig. 7",
        "Fig. 8",
        "Fig. 10(b)",
        "Fig. 11(b)",
        "Fig. 12",
        "Fig. 14",
        "Figs. 7 and 15",
        "what the theory says",
    ):
        assert text in page, text
    assert (found.path.parent / "aqa-hours/fig-6/jobs.parquet").is_file()


def test_numbers_come_by_workload_and_policy(found: Reproduction) -> None:
    """``--json`` gives workload → policy → published, ours, interval, and certificates under both reaches."""
    numbers = json.loads(json.dumps(found.to_dict(), allow_nan=False))["numbers"]["W4"]
    assert numbers["AQA"]["published"] == 0.58
    for policy in ("AQA", "Slackline"):
        low, high = numbers[policy]["interval"]
        assert low < numbers[policy]["ours"] < high
        assert set(numbers[policy]["certificates"]) == {"strict", "paper"}
    baselines = {"EnergyQARE", "EnergyQARE, cheapest", "Tracking-only", "Tracking-only, own bid"}
    assert set(numbers) == {"AQA", "Slackline"} | baselines


def test_tables_say_what_the_numbers_say(found: Reproduction) -> None:
    """Fresh hours by reach with costs and verdicts, the one hour, AQA's own search, and the published bid."""
    assert list(found.tables) == ["fresh", "in-sample", "spread", "spread-workloads", "published-w4"]
    rows = {(row[0], row[1]): row for row in found.tables["fresh"].rows}
    for reach in ("strict", "paper"):
        for policy in ("AQA", "Slackline"):
            certificate = found.numbers["W4"][policy]["certificates"][reach]
            assert rows[reach, policy][5] == f"{certificate['cost']:.3f}"
            assert rows[reach, policy][10] == ("yes" if certificate["kept"] else "no")
    spread = {row[0]: row for row in found.tables["spread"].rows}
    assert {name: [int(row[4])] for name, row in spread.items()} == {
        name: reading["met"] for name, reading in found.numbers["spread"].items()
    }
    assert len(found.tables["published-w4"].rows) == 12
    assert all(len(row) == len(table.header) for table in found.tables.values() for row in table.rows)


def test_the_page_says_which_search_found_a_bid(found: Reproduction) -> None:
    """AQA's bid is that of its own gradient or of our search for its weights, and page and numbers say of which."""
    own, ours = "AQA", "AQA, searched"
    numbers = found.numbers["W4"]["AQA"]
    assert {numbers["in_sample"]["search"], *numbers["search"].values()} <= {own, ours}
    page = Path(found.path).read_text(encoding="utf-8")
    for search in {numbers["in_sample"]["search"], *numbers["search"].values()}:
        assert {own: "its own gradient", ours: "our search of its weights"}[search] in page


def test_every_reading_is_tried_on_hours_of_its_own(found: Reproduction) -> None:
    """All three roundings, fixed weights, other signals and the earlier fit stand side by side, hour by hour."""
    spread = found.numbers["spread"]
    assert {"nearest", "ceil", "floor", "before", "ceil, fixed w", "nearest, τ = 94 s", "nearest, τ = 60 s"} <= set(
        spread
    )
    for reading in spread.values():
        assert reading["met"] == [int(reading["hours"]["W4"][0]["meets"])]
    costs = [reading["hours"]["W4"][0]["cost"] for name, reading in spread.items() if name != "before"]
    assert len(set(costs)) == len(costs)


def test_the_published_bid_is_tried_by_every_reading(found: Reproduction) -> None:
    """Rounded down, jobs wait longest and the target is missed most: the reading decides what the bid comes to."""
    tried = found.numbers["published_w4"]
    assert len(tried) == 12
    plain = {name: tried[f"{name}, effective w, τ = 200 s"] for name in ("nearest", "ceil", "floor")}
    assert plain["floor"]["error"] > max(plain["nearest"]["error"], plain["ceil"]["error"])
    assert plain["floor"]["excess"] > plain["ceil"]["excess"]


def test_both_search_alike() -> None:
    """In the full study AQA chooses, and is made safe, on as many hours as Slackline."""
    scale = Scale()
    assert scale.aqa_hours == (scale.search_hours, scale.proof_hours)
    assert scale.wide


def test_slackline_keeps_what_it_promises(found: Reproduction) -> None:
    """On W4 Slackline keeps every promise on fresh hours, strict and paper reach, and costs less than AQA."""
    numbers = found.numbers["W4"]
    for reach in ("strict", "paper"):
        certificate = numbers["Slackline"]["certificates"][reach]
        assert certificate["kept"], certificate["promises"]
        assert certificate["cost"] < 0.9 * numbers["AQA"]["certificates"][reach]["cost"]


def test_strict_reach_stays_within_the_machine(found: Reproduction) -> None:
    """Under strict reach nothing of the signal is out of reach; the idle machine's bill is a lower bound of the
    cost.
    """
    for policy in ("AQA", "Slackline"):
        certificate = found.numbers["W4"][policy]["certificates"]["strict"]
        assert certificate["unreachable_share"] == pytest.approx(0.0, abs=1e-9)
        assert certificate["cost"] >= 36 * 169.0 * 1e-4


def test_every_claim_has_a_verdict_and_a_reason(found: Reproduction) -> None:
    """A published statement that does not hold says why."""
    assert len(found.claims) >= 8
    assert all(claim.holds or claim.because for claim in found.claims)


def test_the_document_shows_what_comes_out(found: Reproduction) -> None:
    """Statements word for word, and the rows of every table that a smaller run has."""
    check_statements(found)
    check_rows(found)
