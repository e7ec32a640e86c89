"""Bids on recorded days: chosen on some, tested on others, and held against the bid of a search without a margin.

Where there are many records, a third of them is kept from the search. Where there are few, each is left out in turn:
the search is made without it, and it is tried under the bid so found. The bid that is offered is then that of a search
on all of them, made in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wattline.bidding.certificate import Certificate, certificate_of
from wattline.bidding.evidence import APART, LEFT_OUT, SEARCHED, UNSEARCHED, Evidence, day_of, on_days
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aim import Aim, stricter
from wattline.bidding.searches.choice import Choice
from wattline.bidding.searches.search import search_bid
from wattline.market.tracking import SHARE
from wattline.model.regulation import Record
from wattline.sim.ensemble import in_threads

ENOUGH = 15
"""Records of which a third can be kept from the search."""

MORE_DAYS = (14, 30, 60)
"""Numbers of records for which it is told what they would save."""

Pick = Callable[[Trial], Choice]
"""A way to choose a bid on the days of a trial."""


@dataclass(frozen=True)
class Margin:
    """What being sure of the next day costs: the bid and the cost without it, and with more recorded days."""

    plain_mean_w: float
    plain_reserve_w: float
    plain_cost: float
    cost: float
    more: tuple[tuple[int, float], ...] = ()
    """(recorded days, cost) if further days are like those."""

    @property
    def part(self) -> float:
        """What the margin costs, in parts of the cost without it."""
        return self.cost / self.plain_cost - 1.0 if self.plain_cost > 0 else math.nan

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return vars(self) | {"part": self.part, "more": [{"records": n, "cost": cost} for n, cost in self.more]}


def certify_on_records(
    trial: Trial,
    records: Sequence[Record],
    pick: Pick,
    *,
    confidence: float,
    fixed: Choice | None,
    in_turn: bool,
    plain: Pick | None = None,
) -> Certificate:
    """Choose a bid on recorded days and test it on days that its search has not seen.

    ``fixed`` is a bid that no search chose. ``in_turn`` says that days are left out in turn where they are few;
    otherwise every second one is kept from the search. With ``plain``, a search without a margin, they are left out in
    turn however many they are, and each is tried under a bid without a margin too.
    """
    setting, count = trial.setting, len(records)
    names = [record.name for record in records]
    if fixed is not None or count == 1:
        choice = fixed or pick(trial)
        outcome = trial.run(choice.bid, choice.weights, choice.params)
        seen = fixed is None or any(record.digest in setting.searched for record in records)
        how = SEARCHED if seen else UNSEARCHED
        return certificate_of(setting, choice, outcome, _evidence(how, trial, names, [choice] * count), confidence)
    if not in_turn or (count >= ENOUGH and plain is None):
        every = 3 if count >= ENOUGH else 2
        tested = [i for i in range(count) if i % every == every - 1]
        choice = pick(trial.only([i for i in range(count) if i not in tested]))
        part = trial.only(tested)
        outcome = part.run(choice.bid, choice.weights, choice.params)
        evidence = _evidence(APART, part, [names[i] for i in tested], [choice] * len(tested))
        return certificate_of(setting, choice, outcome, evidence, confidence)
    found = pick(trial)
    parts = [trial.only([k for k in range(count) if k != i]) for i in range(count)]
    others = in_threads(pick, parts, stop=trial.end)
    without = [] if plain is None else in_threads(plain, parts, stop=trial.end)
    evidence = _evidence(LEFT_OUT, trial, names, others, without)
    return certificate_of(setting, found, left_out(trial, others), evidence, confidence)


def left_out(trial: Trial, choices: Sequence[Choice]) -> Outcome:
    """Return what every draw of a trial comes to under a choice of its own."""
    hours = [
        hour
        for i, choice in enumerate(choices)
        for hour in trial.only([i]).run(choice.bid, choice.weights, choice.params).hours
    ]
    return Outcome(trial.setting.kinds, hours)


def _evidence(
    how: str, trial: Trial, names: Sequence[str], choices: Sequence[Choice], plain: Sequence[Choice] = ()
) -> Evidence:
    def under(choice: Choice, day: int) -> Outcome:
        return trial.only([day]).run(choice.bid, choice.weights, choice.params)

    rows = []
    for i, (name, choice) in enumerate(zip(names, choices, strict=True)):
        rows.append(day_of(name, choice, under(choice, i), under(plain[i], i) if plain else None))
    return on_days(how, rows, trial.setting.doubts)


def sure_bid(trial: Trial, *, mode: str, confidence: float, quick: bool = False) -> Choice:
    """Return the cheapest bid for which the interval of the next day ends below the limit, on the days of a trial.

    The interval is stricter than that of the certificate where a bid can be had for it. Where days are too few to be
    sure of the service of every kind, tracking alone is made sure. If there is no such bid at all, the one that keeps
    the rates themselves, or the least bad one, is returned as not feasible.
    """
    setting = trial.setting
    sure = stricter(confidence)
    for aim in (*map(Aim, sure), *(Aim(c, sure_service=False) for c in sure)):
        found = search_bid(setting, mode=mode, aim=aim, quick=quick, trial=trial, safe=False)
        if found.feasible:
            return found
    return replace(search_bid(setting, mode=mode, quick=quick, trial=trial, safe=False), feasible=False)


def plain_bid(trial: Trial, *, mode: str, quick: bool = False) -> Choice:
    """Return the cheapest bid whose rates on the days of a trial lie below their limits: without a margin."""
    return search_bid(trial.setting, mode=mode, quick=quick, trial=trial, safe=False)


def margin_of(
    trial: Trial, choice: Choice, *, mode: str, confidence: float, quick: bool = False, made: bool = False
) -> Margin:
    """Return what the margin of a bid costs on the days of a trial; ``made``: a policy makes its bids hour by hour."""
    plain = plain_bid(trial, mode=mode, quick=quick)
    cost = trial.run(choice.bid, choice.weights, choice.params).cost
    more = [(days, _cost_with(trial, days, confidence, made=made)) for days in MORE_DAYS if days > len(trial.stretches)]
    known = tuple((days, found) for days, found in more if found is not None)
    return Margin(plain.bid.mean_w, plain.bid.reserve_w, plain.outcome.cost, cost, known)


def _cost_with(trial: Trial, days: int, confidence: float, *, made: bool) -> float | None:
    """Return the cost of the cheapest bid that was tried and would be sure if that many days were like those seen."""
    from scipy.special import stdtrit

    sure = stricter(confidence)[0]
    student = float(stdtrit(days - 1, 0.5 + 0.5 * sure)) * math.sqrt(1.0 + 1.0 / days)
    costs = []
    for outcome in trial.tried(made=made):
        rates = outcome.day_rates
        rates = rates[~np.isnan(rates)]
        if outcome.excess() == 0.0 and rates.mean() + student * rates.std(ddof=1) < SHARE:
            costs.append(outcome.cost)
    return min(costs, default=None)
