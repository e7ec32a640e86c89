"""``wattline reproduce contest --quick``: both sides search alike, are brought to equal rates, and are judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wattline.bidding.searches.choice import PAPER, STRICT
from wattline.journal.kept import Kept
from wattline.systems import reproduce
from wattline.systems.contest import match, run
from wattline.systems.contest.claims import claims
from wattline.systems.contest.match import Scale, ratio
from wattline.systems.contest.worlds import (
    CAPS,
    DAYS,
    GAUSSIAN,
    PAUSES,
    TWELVE,
    Case,
    days,
    measured,
    setting_of,
    sweeps,
    variants,
)
from wattline.systems.followers import AQA, SLACKLINE
from wattline.systems.npb import kinds_of
from wattline.systems.reproduction import Reproduction
from wattline.systems.work import Work

ABOUT = {"name": "contest"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the quick contest is made."""
    return tmp_path_factory.mktemp("contest")


@pytest.fixture(scope="module")
def found(folder: Path) -> Reproduction:
    """Return the quick contest; its pieces are kept."""
    kept = Kept(folder / "kept.jsonl", ABOUT, resume=False)
    made = reproduce("contest", folder, Work(kept=kept), quick=True)
    kept.close()
    return made


def test_both_are_judged_on_the_same_hours(found: Reproduction) -> None:
    """W4 is compared with both reaches, each with the bids as found and at equal rates, hour by hour."""
    numbers = json.loads(json.dumps(found.to_dict()))["numbers"]
    both = numbers["W4, gaussian"]
    assert set(both) == {PAPER, STRICT}
    for one in both.values():
        for at in ("own", "equal"):
            costs = [one[at][name]["costs"] for name in ("AQA", "Slackline")]
            assert [len(of) for of in costs] == [Scale.quick().judge_hours] * 2
            assert one[at]["ratio"][0] == pytest.approx(np.sum(costs[1]) / np.sum(costs[0]))
            assert one[at]["ratio"][1] < one[at]["ratio"][0] < one[at]["ratio"][2]
    assert set(numbers) == {"W4, gaussian"}


def test_only_a_reserve_differs_at_equal_rates(found: Reproduction) -> None:
    """The rule changes nothing of a bid but its reserve, and tightens one side alone."""
    for one in found.numbers["W4, gaussian"].values():
        own, equal = one["own"], one["equal"]
        assert [own[n]["mean_w"] for n in ("AQA", "Slackline")] == [equal[n]["mean_w"] for n in ("AQA", "Slackline")]
        moved = {n for n in ("AQA", "Slackline") if own[n]["reserve_w"] != equal[n]["reserve_w"]}
        wanted = {"as found": set(), "first tightened": {"AQA"}, "second tightened": {"Slackline"}}
        assert one["how"].endswith("loosened") or moved == wanted[one["how"]]


def test_the_page_has_every_statement_and_table(found: Reproduction) -> None:
    """A smaller version says so, and says of what it cannot tell that it cannot."""
    page = found.path.read_text(encoding="utf-8")
    for text in ("equal rates", "paper", "strict", "A smaller version"):
        assert text in page, text
    assert set(found.tables) == {"paper", "strict"}
    assert {claim.verdict for claim in found.claims if "14 workloads" in claim.statement} == {"untestable"}
    assert all(len(claim.because) > 10 for claim in found.claims if not claim.holds)


def test_what_was_made_is_not_made_again(
    found: Reproduction, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A contest that was cut off takes every comparison that is done from what is kept; other hours are others."""

    def never(case: Case, scale: Scale) -> dict[str, object]:
        raise AssertionError((case, scale))

    monkeypatch.setattr(run, "play", never)
    again = Kept(folder / "kept.jsonl", ABOUT, resume=True)
    made = reproduce("contest", tmp_path, Work(kept=again), quick=True)
    assert made.to_dict() == found.to_dict()
    with pytest.raises(AssertionError):
        run.run_contest(replace(Scale.quick(), judge_hours=9), Work(kept=again), quick=True)
    again.close()


def test_sets_of_hours_share_none() -> None:
    """No hour of a search, of the safety step or of equal rates is judged."""
    scale = Scale()
    starts = (match.SEARCH_SEED, match.PROOF_SEED, match.EQUAL_SEED, match.JUDGE_SEED)
    counts = (scale.search_hours, scale.proof_hours, scale.equal_hours, scale.judge_hours)
    seeds = [seed for first, count in zip(starts, counts, strict=True) for seed in range(first, first + count)]
    assert len(seeds) == len(set(seeds))


def test_the_full_contest_has_every_workload_and_every_world(data_dir: Path) -> None:
    """All fourteen on the Gaussian signal, both reaches; QoSG's jobs within strict reach; the others on some."""
    assert data_dir.is_dir()
    made = run.cases(Scale())
    assert [case.of for case in made if case.world == GAUSSIAN] == [f"W{i}" for i in range(1, 15)]
    assert {case.world for case in made} == {GAUSSIAN, PAUSES, CAPS, DAYS, TWELVE}
    assert {case.reaches for case in made if case.world == TWELVE} == {(STRICT,)}
    assert {case.reaches for case in made if case.world == GAUSSIAN} == {(PAPER, STRICT)}


def test_both_may_pause_or_neither() -> None:
    """Where Slackline may stop jobs AQA may preempt them; elsewhere neither does."""
    for world in (GAUSSIAN, PAUSES, CAPS, DAYS, TWELVE):
        stops = [
            one.params.get("select", {}).get(key, 0.0) > 0.0
            for policy, key in ((SLACKLINE, "stop"), (AQA, "preempt"))
            for one in variants(policy, Case(world, "W5"))
        ]
        assert set(stops) == {world == PAUSES}


def test_the_ratio_of_costs_is_that_of_sums() -> None:
    """Its interval is that of hours as draws; one hour tells nothing of it."""
    assert ratio(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.5, 1.0])) == [0.5, 0.5, 0.5]
    low, high = ratio(np.array([1.0, 1.2, 0.9]), np.array([0.8, 0.7, 0.9]))[1:]
    assert low < 2.4 / 3.1 < high
    assert np.isnan(ratio(np.array([1.0]), np.array([0.5]))[1:]).all()


def test_measured_responses_keep_the_published_powers(data_dir: Path) -> None:
    """Powers without a cap and at the lowest one are those of the study; run times grow as in the sweep."""
    assert data_dir.is_dir()
    plain = kinds_of("W7")
    for before, after in zip(plain, measured(plain), strict=True):
        assert (after.draw_w, after.floor_w) == pytest.approx((before.draw_w, before.floor_w))
        assert bool(after.response) == (before.name[:2] != "is")
    (lu,) = [kind for kind in measured(kinds_of("W6")) if kind.name.startswith("lu")]
    times = sweeps()["nas-lu.mpi"].measured
    assert lu.stretch == pytest.approx(times[0][1] / times[-1][1])
    assert setting_of(Case(CAPS, "W6"), SLACKLINE).kinds == measured(kinds_of("W6"))
    assert len(days()) == 7


def one_of(ratio_: float) -> dict[str, object]:
    """Return a comparison with a ratio."""
    side = {"cost": 1.0, "worst": "tracking", "load": 0.9}
    at = {"AQA": side, "Slackline": side, "ratio": [ratio_, 0.0, 2.0], "alike": True, "both keep": True}
    return {"own": at, "equal": at, "how": "as found"}


def test_statements_count_what_they_say() -> None:
    """Twelve of fourteen a tenth cheaper hold in the paper's reach, eleven do not; ten do in strict reach."""

    def verdicts(paper: int, strict: int) -> list[str]:
        results = {
            Case(GAUSSIAN, f"W{i}"): {
                PAPER: one_of(0.9 if i <= paper else 0.91),
                STRICT: one_of(0.9 if i <= strict else 1.01),
            }
            for i in range(1, 15)
        }
        return [claim.verdict for claim in claims(results)]

    assert verdicts(12, 10)[:2] == ["held", "held"]
    assert verdicts(11, 9)[:2] == ["not held", "not held"]
    assert verdicts(14, 14)[4:6] == ["held", "held"]
    assert verdicts(14, 13)[4:6] == ["held", "not held"]
