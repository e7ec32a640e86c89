"""Days under changing bids: bills that add up, constraints that are counted right, searches that see other days."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wattline.bidding.hours.days import NONE, DayOutcome, Days, DayTrial, Pair, fixed_grid, fixed_search
from wattline.errors import InputError
from wattline.market.bill import bill_flat, flat_book
from wattline.market.held import Held
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Signal
from wattline.units import HOUR_S

IDLE_W = 50.0
KINDS = (
    Kind("short", 1, 900.0, 150.0, 100.0, 1.3, limit=2.0, arrival_per_s=2e-3, average=True),
    Kind("long", 4, 5400.0, 140.0, 90.0, 1.4, limit=2.0, arrival_per_s=3e-4, average=True),
)
QOSCAP = Pair("QoSCap + Adaptive", "qoscap", "adaptive")


def days(seed: int = 1, hours: int = 12, **more: object) -> Days:
    """Return half a day of sixteen nodes: two hours to warm up, four that count."""
    random = np.random.default_rng(seed)
    count = random.poisson([k.arrival_per_s * hours * HOUR_S for k in KINDS])
    kind = np.repeat([0, 1], count)
    submit = random.uniform(0, hours * HOUR_S, kind.size)
    column = {
        name: np.array([getattr(k, name) for k in KINDS])[kind]
        for name in ("work_s", "nodes", "draw_w", "floor_w", "stretch")
    }
    jobs = JobTable.build(submit_s=submit, kind=kind, kinds=("short", "long"), **column)
    signal = Signal(0.0, 4.0, np.clip(0.4 * random.standard_normal(hours * 900).cumsum() / 15.0, -1, 1))
    cluster = Cluster((NodeClass("node", 16, IDLE_W, 160.0, min_cap_w=90.0),))
    given = {"begin_s": 2 * HOUR_S, "end_s": 6 * HOUR_S, "last_s": hours * HOUR_S, **more}
    return Days("half a day", KINDS, jobs, cluster, signal, **given)  # type: ignore[arg-type]


def test_a_day_by_its_parts() -> None:
    """Every counted hour has the bid in force and its bill; costs add up; jobs that arrive in the counted time
    count.
    """
    trial = DayTrial(days(), QOSCAP)
    found = trial.run()
    assert [hour.begin_s for hour in found.hours] == [2 * HOUR_S + k * HOUR_S for k in range(4)]
    bills = [bill_flat(hour.tracking, hour.bid, flat_book()).cost for hour in found.hours if hour.bid is not None]
    assert found.cost == pytest.approx(sum(bills), abs=1e-12)
    assert len({hour.bid for hour in found.hours}) > 1
    s = trial.world.state
    counted = (s.submit_s >= 2 * HOUR_S) & (s.submit_s < 6 * HOUR_S)
    q = (s.end_s - s.submit_s - s.work) / s.work
    assert found.count.tolist() == [int((counted & (s.kind == k)).sum()) for k in range(2)]
    assert found.degradation == pytest.approx([q[counted & (s.kind == k)].mean() for k in range(2)])
    assert found.unfinished == 0


def test_run_again_gives_the_same() -> None:
    """A trial that is run again, also with bids of a policy that remembers, gives the same day."""
    trial = DayTrial(days(), Pair("ours", "slackline", "quantile"))
    assert trial.run().cost == trial.run().cost


def test_no_market() -> None:
    """Out of the market a day costs the energy drawn, and no tracking constraint applies."""
    found = DayTrial(days(), Pair("out", "easy", NONE, cap="none")).run()
    assert all(hour.bid is None for hour in found.hours)
    assert found.cost == pytest.approx(0.10 * found.energy_kwh)
    assert found.exceed == 0.0


def test_prices_that_stay_the_same_are_flat_prices() -> None:
    """A series of equal prices comes to the same bill as one flat price, piece by piece or as a whole."""
    steps = Held(np.array([0.0, 40_000.0]), np.array([0.10, 0.10]))
    book = flat_book()
    series = replace(book, prices=dict.fromkeys(book.prices, steps))
    assert book.flat
    assert not series.flat
    flat, booked = (DayTrial(days(book=given), QOSCAP).run() for given in (book, series))
    assert booked.cost == pytest.approx(flat.cost, rel=1e-9)


def test_excess_by_hand() -> None:
    """Violations are relative and add up: of the mean where that was promised, of the share where it was not."""
    found = DayTrial(days(), QOSCAP).run()
    worse = replace(found, degradation=np.array([3.0, 1.0]), missed=np.array([0.5, 0.3]))
    assert worse.excess(share=1.0) == pytest.approx(0.5)
    shared = tuple(replace(kind, average=False) for kind in KINDS)
    assert replace(worse, kinds=shared).excess(share=1.0) == pytest.approx(0.5 / 0.1 - 1 + 0.3 / 0.1 - 1)
    assert worse.worst == 3.0
    assert worse.worst_kind == "short"


def test_fixed_search_takes_the_cheapest_that_meets_all() -> None:
    """Of a grid of bids it is the cheapest without violation, or the one that violates least."""
    trial = DayTrial(days(), Pair("QoSCap", "qoscap"))
    told: list[int] = []
    bid, found = fixed_search(trial, points=4, progress=lambda done, _all: told.append(done))
    tried: dict[Bid, DayOutcome] = {b: trial.run(b) for b in fixed_grid(trial.days, 4)}
    assert told == list(range(1, 17))
    least = min(outcome.excess() for outcome in tried.values())
    assert found.excess() == least
    assert tried[bid].cost == min(outcome.cost for outcome in tried.values() if outcome.excess() == least)


@pytest.mark.parametrize("wrong", [{"begin_s": 7 * HOUR_S}, {"last_s": 5 * HOUR_S}, {"last_s": 99 * HOUR_S}])
def test_senseless_stretches_are_refused(wrong: dict[str, float]) -> None:
    """Counted time lies within the run, and the signal covers it."""
    with pytest.raises(InputError, match="half a day: "):
        days(**wrong)  # type: ignore[arg-type]
