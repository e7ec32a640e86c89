"""``wattline reproduce aqa --quick``: the published study and ours on one workload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wattline.systems import reproduce
from wattline.systems.reproduction import Reproduction


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce("aqa", tmp_path_factory.mktemp("aqa"), lambda _text: None, quick=True)


def test_the_page_is_written(found: Reproduction) -> None:
    """One self-contained page shows the claims, the certificates, the paper's protocol and the figures."""
    page = Path(found.path).read_text(encoding="utf-8")
    for text in (
        "What was published",
        "strict reach",
        "paper reach",
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
    numbers = json.loads(json.dumps(found.to_dict()))["numbers"]["W4"]
    assert numbers["AQA"]["published"] == 0.58
    for policy in ("AQA", "Slackline"):
        low, high = numbers[policy]["interval"]
        assert low < numbers[policy]["ours"] < high
        assert set(numbers[policy]["certificates"]) == {"strict", "paper"}
    assert set(numbers) == {"ratio", "AQA", "Slackline", "EnergyQARE", "Tracking-only"}


def test_slackline_keeps_what_it_promises(found: Reproduction) -> None:
    """On W4 Slackline keeps every promise on fresh hours, strict and paper reach, and costs less than AQA."""
    numbers = found.numbers["W4"]
    for reach in ("strict", "paper"):
        certificate = numbers["Slackline"]["certificates"][reach]
        assert certificate["kept"], certificate["promises"]
        assert numbers["ratio"][reach] < 0.9


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
    published = [claim for claim in found.claims if not claim.where.startswith(("ours", "Fig"))]
    assert all(claim.holds or claim.because for claim in published)
