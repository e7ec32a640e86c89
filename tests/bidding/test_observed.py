"""What distributions are made of agrees with what certificates count, and an hour's journal with the hour itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wattline.bidding.choose import untried
from wattline.bidding.hours.laws import GaussianLaw, recorded
from wattline.bidding.hours.observed import observe
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import fresh, trial_hour
from wattline.bidding.journal import journal_of
from wattline.bidding.searches.choice import Choice
from wattline.bidding.tails import AS_PUBLISHED, CORRECTED, delay_tails, signal_laws
from wattline.errors import InputError
from wattline.market.tracking import MARGIN
from wattline.model.regulation import Bid, Signal
from wattline.report.count.regulation import count_qos, count_regulation
from wattline.report.count.run import load
from wattline.systems.followers import AQA, SLACKLINE, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of, standby

BID = Bid(8300.0, 2800.0)


def setting(policy: Follower = AQA, **more: object) -> Setting:
    """W14 on its cluster."""
    return Setting.alike(more.pop("kinds", kinds_of("W14")), NODES, IDLE_W, HIGHEST_W, policy.select, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("paper", [False, True])
def test_distributions_hold_what_outcomes_count(paper: bool) -> None:
    """Shares of late jobs and of time beyond the margin are those of the same hours' outcome, under either protocol."""
    made = setting(protocol=Protocol(paper=paper))
    seen, outcome = observe(made, range(3), BID), fresh(made, range(3), BID)
    late = [np.mean(seen.of(kind.name) >= kind.limit) for kind in made.kinds]
    np.testing.assert_allclose(late, outcome.shares())
    assert seen.degradation.size == outcome.jobs.sum()
    assert seen.seconds.sum() == pytest.approx(3 * 3600.0)
    assert seen.seconds[seen.error > MARGIN].sum() / seen.seconds.sum() == pytest.approx(outcome.exceed.share)
    assert np.isfinite(seen.degradation).all() or not paper


def test_without_a_reserve_there_is_no_error() -> None:
    """Nothing relative to a reserve is kept where none is offered."""
    seen = observe(setting(SLACKLINE), [1], Bid(8300.0, 0.0))
    assert seen.seconds.size == seen.error.size == 0
    assert seen.degradation.size > 0


def test_tails_are_those_of_the_promised_kinds() -> None:
    """Delays are Q·T of every kind that is not standby; predictions meet them at the limit; weights are the kinds'
    own.
    """
    made = setting(kinds=(standby(), *kinds_of("W14")))
    seen = observe(made, range(3), BID)
    tails = delay_tails(made, seen, BID)
    assert [tail.name for tail in tails] == [kind.name for kind in kinds_of("W14")]
    for tail, kind in zip(tails, kinds_of("W14"), strict=True):
        np.testing.assert_allclose(tail.delay_s, np.sort(np.maximum(seen.of(kind.name), 0.0)) * kind.work_s)
        for law in (AS_PUBLISHED, CORRECTED):
            floor = 1.0 / (tail.delay_s.size + 1)
            assert tail.predicted[law].tail(tail.limit_s) == pytest.approx(max(tail.late, floor))
    weights = np.array([0.0, *np.full(3, 1 / 3)])
    assert [t.predicted for t in delay_tails(made, seen, BID, weights)] == [t.predicted for t in tails]


def test_kinds_without_a_limit_have_no_theory() -> None:
    """The theory speaks of promises; a kind without one is refused by its name."""
    made = setting(kinds=tuple(replace(kind, limit=float("inf")) for kind in kinds_of("W14")))
    with pytest.raises(InputError, match=r"ep\.D\.56.*no QoS limit"):
        delay_tails(made, observe(made, [0], BID), BID)


def test_the_law_of_a_generated_signal_is_known_and_of_a_recorded_one_measured() -> None:
    """Memory is 2τ of the generator; a record of the same generator measures close to it, white noise has one step."""
    known = signal_laws(GaussianLaw(0.3, 50.0), 400.0)
    assert (known[AS_PUBLISHED].std, known[AS_PUBLISHED].memory_s) == (0.3, 1.0)
    assert known[CORRECTED].memory_s == 100.0
    law = GaussianLaw(0.3, 50.0, energy_neutral=False)
    measured = signal_laws(recorded(law(200 * 3600.0, 3)), 1000.0)[CORRECTED]
    assert measured.std == pytest.approx(0.3, rel=0.1)
    assert measured.memory_s == pytest.approx(100.0, rel=0.2)
    noise = Signal(0.0, 2.0, 0.5 + 0.1 * np.random.default_rng(1).standard_normal(20_000))
    found = signal_laws(recorded(noise), 60.0)[CORRECTED]
    assert (found.mean, found.memory_s) == (pytest.approx(0.5, abs=0.01), pytest.approx(2.0, rel=0.2))


def test_the_journal_of_an_hour_tells_of_that_hour(tmp_path: Path) -> None:
    """Bill, error, service, weights and parameters in the journal are those of the hour; nodes held are the busy
    ones.
    """
    made = setting(SLACKLINE)
    force = {"select": (0.7, 0.6, 0.5, 0.0, 0.25)}
    choice = replace(untried(made, "given", BID), params=force, weights=np.array([0.2, 0.3, 0.5]))
    journal = journal_of(tmp_path / "hour", made, 5, choice, "an hour")
    hour = trial_hour(made, 5).run(BID, choice.weights, force)[0]
    run = load(journal)
    found = count_regulation(run)
    assert found is not None
    assert found.cost == pytest.approx(hour.bill.cost)
    assert found.error == pytest.approx(hour.tracking.mean_error)
    assert [row.violations for row in count_qos(run)] == hour.violations.tolist()
    assert [kind["weight"] for kind in run.manifest["kinds"]] == [0.2, 0.3, 0.5]
    assert run.manifest["parameters"]["select"]["force"] == 0.7
    placed = journal.read("placements").fill_nan(None)
    for at_s in (4000.5, 5555.5, 7000.5):
        held = placed.filter((placed["start_s"] <= at_s) & (placed["end_s"].fill_null(1e9) > at_s))["count"].sum()
        assert held == run.steps.busy_nodes[np.searchsorted(run.steps.time_s, at_s, "right") - 1]
        assert held > 0


def test_a_watched_hour_is_the_same_hour() -> None:
    """Logging more changes nothing."""
    one, two = (trial_hour(setting(), 3, watched=watched).run(BID)[0] for watched in (False, True))
    assert one.tracking == two.tracking
    assert Choice("x", BID, fresh(setting(), [3], BID)).outcome.cost == one.bill.cost
