"""Bids on recorded days: what a day is, what the search and the certificate see of it, and which verdict follows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from wattline.api import bid_words
from wattline.api.bid_page import day_table, promise_table
from wattline.api.runs import as_text
from wattline.bidding.across import certify_on_records, left_out, plain_bid, sure_bid
from wattline.bidding.certificate import BROKEN, CERTIFIED, NOTHING, UNSURE, Certificate, certificate_of
from wattline.bidding.choose import choose_on_records, untried
from wattline.bidding.evidence import APART, LEFT_OUT, SEARCHED, UNSEARCHED, Evidence
from wattline.bidding.hours.laws import GaussianLaw
from wattline.bidding.hours.outcome import Hour, Outcome
from wattline.bidding.hours.setting import Prices, Setting
from wattline.bidding.hours.trial import Trial, trial_day
from wattline.bidding.searches import search
from wattline.bidding.searches.aim import Aim
from wattline.bidding.searches.choice import Choice
from wattline.bidding.searches.search import RUNGS, search_bid
from wattline.errors import InputError, RunError
from wattline.journal.kept import Kept
from wattline.market.bill import bill_flat, flat_book
from wattline.market.held import Held
from wattline.market.tracking import Tracking, tracking
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Record, Signal
from wattline.sim.ensemble import in_threads
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of
from wattline.units import HOUR_S

KIND = Kind("a", 2, 120.0, 300.0, 200.0, 1.5, limit=3.0, arrival_per_s=0.02)
BID = Bid(1600.0, 150.0)


def small() -> Setting:
    """Return a machine of eight nodes with one kind of job."""
    return Setting.alike((KIND,), 8, 100.0, 320.0)


def record(number: int, hours: int = 3, gaps: tuple[tuple[float, float], ...] = ()) -> Record:
    """Return a short recorded day, each of another law."""
    signal = GaussianLaw(0.3 + 0.02 * (number % 4), energy_neutral=False)(hours * HOUR_S, 50 + number)
    return Record(f"day-{number}", signal, gaps)


def test_a_day_plays_its_record_hour_by_hour() -> None:
    """The counted hours follow the record from its beginning; before and after, its other end is played."""
    made, day = small(), record(1)
    stretch = trial_day(made, day, 4)
    steps = round(HOUR_S / day.signal.step_s)
    begin = round(stretch.begin_s / day.signal.step_s)
    np.testing.assert_array_equal(stretch.signal.values[begin : begin + 3 * steps], day.signal.values)
    np.testing.assert_array_equal(stretch.signal.values[:begin], np.roll(day.signal.values, begin)[:begin])
    assert stretch.signal.values[begin + 3 * steps] == day.signal.values[0]
    assert (stretch.end_s - stretch.begin_s, stretch.record) == (3 * HOUR_S, 4)


def test_hours_of_a_day_by_hand() -> None:
    """Tracking, bill, jobs and late jobs of each hour are what the timeline and the job table of the run say."""
    stretch = trial_day(small(), record(2), 0)
    hours = stretch.run(BID)
    s, rows = stretch.world.state, stretch.world.timeline()
    time_s, power_w = rows[:, codes.TL_TIME], rows[:, codes.TL_POWER]
    for k, hour in enumerate(hours):
        begin_s = stretch.begin_s + k * HOUR_S
        followed = tracking(time_s, power_w, stretch.signal, BID, begin_s, begin_s + HOUR_S)
        assert hour.tracking.exceed_share == pytest.approx(followed.exceed_share, abs=1e-12)
        assert hour.bill.cost == pytest.approx(bill_flat(followed, BID, flat_book()).cost)
        mine = (s.submit_s >= begin_s) & (s.submit_s < begin_s + HOUR_S)
        late = mine & ~((s.end_s - s.submit_s - s.work) / s.work < KIND.limit)
        assert (hour.jobs[0], hour.violations[0]) == (mine.sum(), late.sum())
    assert sum(int(hour.jobs[0]) for hour in hours) > 100


def test_logs_that_are_emptied_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day whose log is emptied on the way, or while its last jobs finish, comes to the same."""
    from wattline.bidding.hours import stretch

    patient = Setting.alike((replace(KIND, limit=30.0),), 8, 100.0, 320.0)
    little = Bid(1000.0, 50.0)  # too little power: many jobs wait on after the day
    day = trial_day(patient, record(2), 0)
    day.world.start_over(bid=little)
    day.world.run_until(day.end_s)
    at_end = len(day.world.timeline())
    whole = day.run(little)
    assert len(day.world.timeline()) > at_end + 5_000
    for rows in (at_end // 3, at_end, at_end + 20):
        monkeypatch.setattr(stretch, "MOST_ROWS", rows)
        parts = trial_day(patient, record(2), 0).run(little)
        assert [hour.tracking for hour in parts] == [hour.tracking for hour in whole]


def test_hours_with_missing_signal_are_no_evidence_of_tracking() -> None:
    """An hour that touches a gap is left out of tracking and counted; its jobs still count."""
    whole, torn = (trial_day(small(), record(3, gaps=gaps), 0).run(BID) for gaps in ((), ((3700.0, 4000.0),)))
    assert [hour.is_missing for hour in torn] == [False, True, False]
    full, part = (Outcome((KIND,), hours) for hours in (whole, torn))
    shares = [hour.tracking.exceed_share for hour in whole]
    assert full.exceed.share == pytest.approx(np.mean(shares))
    assert part.exceed.share == pytest.approx(np.mean([shares[0], shares[2]]))
    assert (full.left_out, part.left_out, part.exceed.count) == (0, 1, 2)
    np.testing.assert_array_equal(part.jobs, full.jobs)


def test_a_left_out_day_has_no_say_in_the_bid_it_is_tried_under() -> None:
    """Every day is tried under the bid of a search without it: another day in its place changes nothing."""
    made = small()
    days = [record(i) for i in range(4)]
    other = [*days[:3], record(9)]
    rows = []
    for these in (days, other):
        found, _ = choose_on_records(made, these, "search", mode="paper", quick=True)
        assert found.evidence.how == LEFT_OUT
        rows.append(found.evidence.table)
    assert (rows[0][3].mean_w, rows[0][3].reserve_w) == (rows[1][3].mean_w, rows[1][3].reserve_w)
    alone = sure_bid(Trial(made, records=days[:3]), mode="paper", confidence=0.95, quick=True)
    assert (rows[0][3].mean_w, rows[0][3].reserve_w) == (alone.bid.mean_w, alone.bid.reserve_w)


def test_a_day_is_kept_only_with_its_service() -> None:
    """A day on which tracking is kept and a promise of service is not is a broken one: in JSON, terminal and page."""
    rows = []
    for limit in (30.0, 3.0):
        made = Setting.alike((replace(KIND, limit=limit),), 8, 100.0, 320.0)
        found, _ = choose_on_records(made, [record(0)], "given", mode="paper", given=BID)
        (row,) = found.to_json()["days"]
        assert row["exceed"] < 0.1
        late = found.outcome.violations.sum() / found.outcome.jobs.sum()
        assert row["worst_service"] == pytest.approx(late / KIND.share)
        assert row["kept"] == (late < KIND.share) == (limit == 30.0)
        terminal, page = as_text(bid_words.days(found)), day_table(found)
        assert f"{row['worst_service']:.2f} ×" in terminal
        rows.append(["BROKEN" in text for text in (terminal, page)])
    assert rows == [[False, False], [True, True]]


def test_days_and_hours_beyond_are_told_of_every_promise() -> None:
    """They are counted by hand from hours and days, those without a job left out; JSON and page have them."""
    kinds = (KIND, replace(KIND, name="b", share=0.5))
    made = Setting.alike(kinds, 8, 100.0, 320.0)
    jobs = [[10, 0], [10, 4], [30, 0], [40, 0], [10, 0], [0, 0]]
    late = [[1, 0], [0, 3], [3, 0], [6, 0], [0, 0], [0, 0]]
    day = trial_day(made, record(0), 0).run(BID)
    hours = [replace(day[k % 2], record=k // 2, jobs=np.array(jobs[k]), violations=np.array(late[k])) for k in range(6)]
    found = certificate_of(made, untried(made, "given", BID), Outcome(kinds, hours))
    tracking_, *service = ((p["days_beyond"], p["hours_beyond"]) for p in found.to_json()["promises"])
    assert tracking_ == (found.outcome.exceed_days, found.outcome.exceed_hours)
    assert service == [(1 / 3, 0.6), (1.0, 1.0)]
    assert promise_table(found).count("<td>60.00 %</td>") == 1
    (drawn,) = Outcome((KIND,), [replace(hours[0], record=-1, jobs=np.array([10]), violations=np.array([1]))]).hours
    assert np.isnan(Outcome((KIND,), [drawn]).beyond(0)[0])
    assert Outcome((KIND,), [drawn]).beyond(0)[1] == 1.0


def test_many_days_are_kept_apart() -> None:
    """Of fifteen days every third is kept from the search, and the certificate rests on those alone."""
    made = small()
    days = [record(i, hours=1) for i in range(15)]
    seen: list[int] = []

    def pick(trial: Trial) -> Choice:
        seen.extend(stretch.record for stretch in trial.stretches)
        return untried(made, "search", BID)

    found = certify_on_records(Trial(made, records=days), days, pick, confidence=0.95, fixed=None, in_turn=True)
    assert seen == [i for i in range(15) if i % 3 != 2]
    assert (found.evidence.how, [day.name for day in found.evidence.table]) == (
        APART,
        [f"day-{i}" for i in range(2, 15, 3)],
    )


def test_what_is_remembered_is_what_would_be_simulated() -> None:
    """A part of a trial shares its memory, and gives what a fresh trial gives."""
    made = small()
    days = [record(i, hours=1) for i in range(3)]
    trial = Trial(made, records=days)
    trial.run(BID)
    part, fresh = trial.only([2, 0]).run(BID), Trial(made, records=days).only([2, 0]).run(BID)
    assert [hour.tracking for hour in part.hours] == [hour.tracking for hour in fresh.hours]
    choices = [Choice("x", bid, part) for bid in (BID, Bid(1500.0, 100.0), BID)]
    assert [hour.record for hour in left_out(trial, choices).hours] == [0, 1, 2]


def test_days_are_charged_as_the_run_that_plays_them_one_after_another() -> None:
    """The records take the prices of the billed hours in turn; jobs go by the day, not by its place."""
    hours = np.arange(8) * HOUR_S
    energy = Held(hours, 0.1 * np.arange(1, 9), 8 * HOUR_S)
    book = flat_book()
    prices = Prices(replace(book, prices={**book.prices, "energy": energy}), tuple(hours.tolist()))
    made = replace(small(), prices=prices)
    days = [record(1, 3), record(2, 2), record(3, 3)]
    found = Trial(made, records=days).run(BID)
    assert [hour.bill.energy_cost for hour in found.hours] == pytest.approx(0.16 * np.arange(1, 9))
    alone = Trial(made, records=days[1:2]).run(BID)
    assert [hour.tracking for hour in alone.hours] == [hour.tracking for hour in found.hours[3:5]]


def test_a_bid_is_no_surer_on_the_days_of_its_search() -> None:
    """A given bid that was searched on some of these days is never certified there; on other days it may be."""
    days = [record(i, 1) for i in range(6)]
    made = replace(small(), searched=frozenset({days[2].digest}), doubts=("one of these days was searched",))
    found, _ = choose_on_records(made, days, "given", mode="paper", given=Bid(1600.0, 60.0))
    assert found.evidence.how == SEARCHED
    assert not found.certified
    others, _ = choose_on_records(small(), days, "given", mode="paper", given=Bid(1600.0, 60.0))
    assert others.evidence.how == UNSEARCHED


def test_tracking_is_made_sure_where_days_are_too_few_for_the_service() -> None:
    """Where service cannot be sure on so few hours, the bid keeps its margin in tracking all the same."""
    made = Setting.alike(kinds_of("W14"), NODES, IDLE_W, HIGHEST_W)
    strict = tuple(replace(kind, share=1e-4) for kind in made.kinds)
    made = replace(made, kinds=tuple(replace(kind, limit=40.0) for kind in strict))
    trial = Trial(made, records=[Record(f"d{i}", GaussianLaw()(4 * HOUR_S, 80 + i)) for i in range(5)])
    found = sure_bid(trial, mode="paper", confidence=0.95, quick=True)
    assert found.feasible
    assert found.outcome.exceed_rate(0.95).next_high < 0.10


def outcome_of(rates: list[float], late: float = 0.01) -> Outcome:
    """Return days of two hours that exceed the margin for a share of their time each."""
    followed = Tracking(HOUR_S, 1e6, 1e3, 1e3, 10.0, 0.1, 0.0, 0.0)
    bill = bill_flat(followed, BID, flat_book())
    counts = np.array([1000]), np.array([round(1000 * late)])
    hours = [
        Hour(d, replace(followed, exceed_share=rate), bill, *counts, 0.0, 1.0, record=d)
        for d, rate in enumerate(rates)
        for _ in range(2)
    ]
    return Outcome((KIND,), hours)


def verdict_of(rates: list[float], late: float = 0.01, **evidence: object) -> Certificate:
    """Return the certificate of such days."""
    basis = Evidence(**{"how": APART, "days": len(rates), **evidence})  # type: ignore[arg-type]
    return certificate_of(small(), Choice("x", BID, outcome_of(rates)), outcome_of(rates, late), basis)


CLOSE, WIDE = [0.06, 0.065, 0.07, 0.06, 0.065, 0.07], [0.02, 0.12, 0.04, 0.11, 0.05, 0.09]


@pytest.mark.parametrize(
    ("finds", "word", "told"),
    [
        (partial(verdict_of, CLOSE), CERTIFIED, "95 % confidence each"),
        (partial(verdict_of, CLOSE * 4), CERTIFIED, "95 % confidence each"),
        (partial(verdict_of, WIDE), UNSURE, "on another day a promise may be broken"),
        (partial(verdict_of, CLOSE[:4]), UNSURE, "fewer than the 5"),
        (partial(verdict_of, [0.12, 0.13, 0.11, 0.12, 0.12]), BROKEN, "not kept"),
        (partial(verdict_of, CLOSE, late=0.2), BROKEN, "not kept"),
        (partial(verdict_of, [0.01], how=SEARCHED), NOTHING, "one recorded day"),
        (partial(verdict_of, CLOSE, doubts=("x is another signal",)), UNSURE, "nothing is certified on this signal"),
    ],
    ids=["certified", "many days", "wide", "few", "tracking", "service", "one", "doubt"],
)
def test_verdicts(finds: Callable[[], Certificate], word: str, told: str) -> None:
    """Certified are five days or more whose prediction for the next ends below the limit; the line says why not."""
    found = finds()
    assert found.word == word
    assert found.certified == (word == CERTIFIED)
    assert told in found.verdict
    data = json.loads(json.dumps(found.to_json()))
    first = data["promises"][0]
    assert {"about", "limit", "rate", "low", "high", "next_day_low", "next_day_high"} <= set(first)
    assert data["model"].startswith("days as draws")
    days = len(data["days"]) or found.evidence.days
    assert ("by a model" in (data["holds"] or "")) == (word == CERTIFIED and days < 19)


def test_a_given_bid_is_tested_on_all_days() -> None:
    """No search has looked at a given bid, so every day is evidence; one day is not enough for a word."""
    made = small()
    found, margin = choose_on_records(made, [record(i, 1) for i in range(3)], "given", mode="paper", given=BID)
    assert (found.evidence.how, found.evidence.days, margin) == (UNSEARCHED, 3, None)
    one, _ = choose_on_records(made, [record(0, 1)], "given", mode="paper", given=Bid(1600.0, 60.0))
    assert one.word in (NOTHING, BROKEN)
    with pytest.raises(InputError, match="left out in turn by a search"):
        choose_on_records(made, [record(0, 1)], "given", mode="paper", given=BID, across=True)


def test_an_interval_below_the_limit_is_aimed_at() -> None:
    """A search with confidence meets what it aims at, and is no cheaper than one that aims at the rates alone."""
    made = Setting.alike(kinds_of("W14"), NODES, IDLE_W, HIGHEST_W)
    trial = Trial(made, records=[Record(f"d{i}", GaussianLaw()(4 * HOUR_S, 80 + i)) for i in range(5)])
    plain, sure = (search_bid(made, aim=aim, rounds=1, trial=trial, safe=False) for aim in (Aim(), Aim(0.95)))
    assert plain.feasible
    assert sure.feasible
    assert Aim(0.95).met(sure.outcome)
    assert sure.outcome.exceed.next_high < 0.10
    assert plain.outcome.cost <= sure.outcome.cost


def test_a_reserve_is_found_where_less_of_it_fails() -> None:
    """The rate is not monotone in the reserve: where the least one fails, a larger one that holds is still found."""
    made = small()

    class Odd(Trial):
        """A trial in which only reserves in the middle are kept."""

        def run(self, bid: Bid, *args: object, **more: object) -> Outcome:
            part = bid.reserve_w / (bid.mean_w - made.idle_total_w)
            return outcome_of([0.05 if 0.45 < part < 0.9 else 0.13] * 5)

    found = search_bid(made, rounds=1, trial=Odd(made, records=[record(0, 1)]), safe=False)
    part = found.bid.reserve_w / (found.bid.mean_w - made.idle_total_w)
    assert found.feasible
    assert 0.8 <= part < 0.9
    assert min(RUNGS) < 0.45


def test_a_machine_that_is_always_full_has_nothing_to_sell() -> None:
    """Where the jobs need all of the machine and the target must stay in reach, no reserve is left: that is said."""
    full = Setting.alike((replace(KIND, arrival_per_s=0.2),), 8, 100.0, 200.0)
    found = search_bid(full, mode="strict", rounds=1, trial=Trial(full, records=[record(0, 1)]), safe=False)
    assert not found.feasible
    assert found.bid.reserve_w == 0.0


def test_a_search_sees_what_a_brute_force_sees() -> None:
    """On a lattice of bids none that is kept at the best mean power is much cheaper than the one found."""
    made = Setting.alike(kinds_of("W14"), NODES, IDLE_W, HIGHEST_W)
    days = [Record(f"d{i}", GaussianLaw()(2 * HOUR_S, 70 + i)) for i in range(3)]
    trial = Trial(made, records=days)
    found = search_bid(made, rounds=1, trial=trial, safe=False)
    assert found.feasible
    kept = []
    for reserve_w in np.linspace(200.0, 4500.0, 40):
        bid = Bid(found.bid.mean_w, float(reserve_w))
        outcome = trial.run(bid, None, found.params)
        if outcome.excess() == 0.0:
            kept.append(outcome.cost)
    assert found.outcome.cost <= min(kept) * 1.02


def test_no_value_beyond_the_record_is_read() -> None:
    """A record whose warm-up is longer than itself is played over and over."""
    made = small()
    day = Record("short", Signal(0.0, 2.0, np.linspace(-1, 1, 1800)))
    assert trial_day(made, day, 0).run(BID)[0].record == 0


@pytest.mark.parametrize("workload", ["W4", "W14"])
def test_what_a_search_does_not_look_at_would_not_be_chosen(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that tries every bid on all days, and looks closely everywhere, finds the same bids by more runs."""
    made = Setting.alike(kinds_of(workload), NODES, IDLE_W, HIGHEST_W)
    days = [Record(f"d{i}", GaussianLaw(0.4 + 0.01 * i)(HOUR_S, 90 + i)) for i in range(5)]
    kept = Kept(tmp_path / "kept.jsonl", {}, resume=False)  # what both searches try is simulated once

    def found() -> tuple[list[Bid], int]:
        trial = Trial(made, records=days, kept=kept)
        picked = [sure_bid(part, mode="paper", confidence=0.8) for part in (trial, trial.only([0, 1, 3, 4]))]
        picked.append(search_bid(made, trial=trial, safe=False))
        return [choice.bid for choice in picked], len(trial._remembered)

    bids, runs = found()
    monkeypatch.setattr(search, "DEARER", np.inf)
    monkeypatch.setattr(Aim, "out_of_reach", lambda *told: False)
    patient_bids, patient_runs = found()
    kept.close()
    assert bids == patient_bids
    assert runs < 0.95 * patient_runs


def test_searches_that_share_days_at_once_find_what_they_find_alone() -> None:
    """Searches in several threads on the same days disturb neither each other's runs nor what is remembered."""
    made = Setting.alike(kinds_of("W14"), NODES, IDLE_W, HIGHEST_W)
    days = [Record(f"d{i}", GaussianLaw(0.4 + 0.01 * i)(HOUR_S, 90 + i)) for i in range(4)]
    alone, shared = Trial(made, records=days), Trial(made, records=days)
    parts = [[k for k in range(4) if k != i] for i in range(4)]
    pick = partial(plain_bid, mode="paper", quick=True)
    expected = [pick(alone.only(part)) for part in parts]
    found = in_threads(pick, [shared.only(part) for part in parts], workers=4)
    assert [choice.bid for choice in found] == [choice.bid for choice in expected]
    assert {key: [hour.bill.cost for hour in hours] for key, hours in shared._remembered.items()} == {
        key: [hour.bill.cost for hour in hours] for key, hours in alone._remembered.items()
    }


def test_a_search_that_fails_ends_those_beside_it() -> None:
    """Whoever searches beside one that fails, or is interrupted, ends at the next bid, and what failed is told."""
    trial = Trial(small(), records=[record(i, 1) for i in range(3)])
    tried = []

    def pick(part: Trial) -> Choice:
        if len(part.stretches) == 1:
            raise KeyboardInterrupt
        tried.extend(part.run(Bid(1600.0, 100.0 + k)) for k in range(10_000))
        raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        in_threads(pick, [trial.only([0]), trial.only([1, 2])], workers=2, stop=trial.end)
    assert len(tried) < 1_000
    with pytest.raises(RunError, match="was ended"):
        trial.run(BID)
