"""One comparison of the contest: both search, both are made safe, both are brought to equal rates, both are judged.

Four sets of hours that share none: bids are searched on the first, made safe on the second, brought to equal rates on
the third, and judged on the fourth. Of recorded days one half is for searching and equal rates, the other is judged,
then the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aqa import aqa_bid
from wattline.bidding.searches.choice import Choice, largest_reserve_w
from wattline.bidding.searches.search import make_safe, search_bid
from wattline.bidding.searches.weights import balance, need_weights
from wattline.model.regulation import Bid, Record
from wattline.systems.contest.equal import Side, alike, equal_reserves, worst
from wattline.systems.contest.worlds import CAPS, DAYS, PAUSES, TWELVE, Case, days, setting_of, variants
from wattline.systems.followers import AQA, SLACKLINE, Follower
from wattline.systems.npb import WORKLOADS

SEARCH_SEED, PROOF_SEED, EQUAL_SEED, JUDGE_SEED = 10_000, 20_000, 70_000, 80_000
"""First hours of the four sets."""

SMALL = 4
"""Times as many hours on twelve servers: they vary more, and an hour takes less time."""

WIDER = 2
"""Rounds more for both where standby jobs make the range of mean powers several times as wide."""


@dataclass(frozen=True)
class Scale:
    """How much is simulated; both sides have the same hours, rounds and range."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    others: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {PAUSES: ("W2", "W4", "W5", "W9"), CAPS: ("W1", "W4", "W5", "W9"), DAYS: ("W1", "W4")}
    )
    """Workloads of the other worlds, which are compared on fewer."""
    twelve: bool = True
    """Whether QoSG's twelve servers are among the worlds."""
    search_hours: int = 8
    proof_hours: int = 32
    equal_hours: int = 32
    judge_hours: int = 64
    rounds: int = 1
    steps: int = 0
    """Steps of AQA's own gradient, whose weights are tried beside ours (0: they are not)."""
    balance: int = 12
    """Steps in which AQA's weights are balanced."""
    finalists: int = 2
    """Bids of a side, the best on the hours of the search, that are made safe."""

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds."""
        hours = {"search_hours": 1, "proof_hours": 2, "equal_hours": 2, "judge_hours": 2}
        return cls(("W4",), {}, twelve=False, rounds=1, balance=1, finalists=1, **hours)


class Hours(NamedTuple):
    """What a setting is tried on: to search, to make safe (None: nothing is), and to make rates equal.

    The last two are laid out when they are wanted: hours take memory, and few bids come that far.
    """

    search: Trial
    proof: Callable[[], Trial] | None
    equal: Callable[[], Trial]


@dataclass(frozen=True)
class Found:
    """What one side found: a choice, and the hours it was found on."""

    choice: Choice
    hours: Hours

    @property
    def setting(self) -> Setting:
        """What the bid was made for."""
        return self.hours.search.setting

    def side(self, reach: str) -> Side:
        """Return it as a side of the rule, on the hours for equal rates."""
        choice, bid, trial = self.choice, self.choice.bid, self.hours.equal()

        def load(reserve_w: float) -> float:
            return worst(trial.run(Bid(bid.mean_w, reserve_w), choice.weights, choice.params)).load

        return Side(bid.reserve_w, largest_reserve_w(self.setting, bid.mean_w, reach), load)


def play(case: Case, scale: Scale) -> dict[str, Any]:
    """Carry one comparison out; return plain data, by reach."""
    if case.world == DAYS:
        return {reach: _on_days(case, reach, scale) for reach in case.reaches}
    times = SMALL if case.world == TWELVE else 1

    def hours(setting: Setting) -> Hours:
        def laid_out(first: int, count: int) -> Trial:
            return Trial(setting, range(first, first + times * count))

        search = laid_out(SEARCH_SEED, scale.search_hours)
        proof, equal = (PROOF_SEED, scale.proof_hours), (EQUAL_SEED, scale.equal_hours)
        return Hours(search, lambda: laid_out(*proof), lambda: laid_out(*equal))

    seeds = range(JUDGE_SEED, JUDGE_SEED + times * scale.judge_hours)
    entries = {policy.name: _enter(case, policy, scale, hours) for policy in (AQA, SLACKLINE)}
    return {reach: judged(entries, reach, scale, lambda setting: Trial(setting, seeds)) for reach in case.reaches}


def _on_days(case: Case, reach: str, scale: Scale) -> dict[str, Any]:
    """Let both choose on every second day and judge them on the others, then the other way round."""
    records = days()
    halves = records[::2], records[1::2]
    found: dict[str, Any] = {"days": []}
    for chosen, held_out in (halves, halves[::-1]):

        def hours(setting: Setting, chosen: Sequence[Record] = chosen) -> Hours:
            trial = Trial(setting, records=chosen)
            return Hours(trial, None, lambda: trial)

        def judge(setting: Setting, held_out: Sequence[Record] = held_out) -> Trial:
            return Trial(setting, records=held_out)

        entries = {policy.name: _enter(case, policy, scale, hours) for policy in (AQA, SLACKLINE)}
        one = judged(entries, reach, scale, judge)
        for k, record in enumerate(held_out):
            day: dict[str, Any] = {"day": record.name}
            for at in ("own", "equal"):
                day[at] = {name: {key: one[at][name][key][k] for key in ("costs", "beyond")} for name in entries}
            found["days"].append(day)
    return found


Entries = Sequence[tuple[Hours, Floats | None]]
"""With what a policy enters: its variants, each with the hours it is tried on, and weights."""


def _enter(case: Case, policy: Follower, scale: Scale, hours: Callable[[Setting], Hours]) -> Entries:
    """Return with what a policy enters.

    Slackline has no weights. AQA has, for each rounding, those by what kinds can wait, and the same balanced at the
    best bid found with them; for the first rounding those of its own gradient too, if that has steps.
    """
    found: list[tuple[Hours, Floats | None]] = []
    for i, variant in enumerate(variants(policy, case)):
        here = hours(setting_of(case, variant))
        if policy is SLACKLINE:
            found.append((here, None))
            continue
        need = need_weights(here.search.setting.kinds)
        first = searched((here, need), case.reaches[0], scale)
        found += [(here, need), (here, balance(here.search, first.bid, need, scale.balance))]
        if i == 0 and scale.steps:
            found.append((here, aqa_bid(here.search, mode=case.reaches[0], iterations=scale.steps).weights))
    return found


def searched(entry: tuple[Hours, Floats | None], reach: str, scale: Scale) -> Choice:
    """Return the cheapest bid that keeps all on the hours of the search, or the least bad: recorded days, which are
    long, are searched quickly, for both sides.
    """
    hours, weights = entry
    setting = hours.search.setting
    wider = WIDER if any(kind.standby for kind in setting.kinds) else 0
    return search_bid(
        setting,
        mode=reach,
        rounds=scale.rounds + wider,
        trial=hours.search,
        weights=weights,
        safe=False,
        quick=hours.proof is None,
        wide=True,
    )


def best(entries: Entries, reach: str, scale: Scale) -> Found:
    """Return the best that a policy finds: the best bids on the hours of the search are made safe, and of these it is
    the best on the hours that proved them.
    """
    found = [Found(searched(entry, reach, scale), entry[0]) for entry in entries]
    found.sort(key=lambda one: _rank(one.choice))
    final = [Found(_safe(one), one.hours) for one in found[: scale.finalists]]
    return min(final, key=lambda one: _rank(one.choice))


def _safe(one: Found) -> Choice:
    """Return a bid made safe; where no reserve is safe, it stays as the search found it."""
    if one.hours.proof is None:
        return one.choice
    safe = make_safe(one.setting, one.choice, one.hours.proof())
    return safe if safe.feasible else replace(one.choice, outcome=safe.outcome, feasible=False)


def _rank(choice: Choice) -> tuple[float, float]:
    """Order choices: those that keep all by their cost, the others behind them by their load."""
    load = worst(choice.outcome).load
    return (0.0, choice.outcome.cost) if choice.feasible else (load, choice.outcome.cost)


def judged(entries: dict[str, Entries], reach: str, scale: Scale, judge: Callable[[Setting], Trial]) -> dict[str, Any]:
    """Let both search, make their rates equal, and judge both."""
    sides = {name: best(of, reach, scale) for name, of in entries.items()}
    theirs, ours = sides[AQA.name], sides[SLACKLINE.name]
    equal = equal_reserves(theirs.side(reach), ours.side(reach))
    found: dict[str, Any] = {"own": {}, "equal": {}, "how": equal.how}
    outcomes: dict[str, list[Outcome]] = {"own": [], "equal": []}
    for (name, one), reserve_w in zip(sides.items(), (equal.first_w, equal.second_w), strict=True):
        trial = judge(one.setting)
        for at, watts in (("own", one.choice.bid.reserve_w), ("equal", reserve_w)):
            outcome = trial.run(Bid(one.choice.bid.mean_w, watts), one.choice.weights, one.choice.params)
            found[at][name] = told(one, watts, outcome)
            outcomes[at].append(outcome)
    for at, both in outcomes.items():
        worsts = [worst(outcome) for outcome in both]
        found[at]["ratio"] = ratio(*(outcome.costs for outcome in both))
        found[at]["alike"] = alike(*worsts)
        found[at]["both keep"] = all(one.load <= 1.0 for one in worsts)
    return found


def ratio(theirs: Floats, ours: Floats) -> list[float]:
    """Return our cost over theirs on the same hours, and its interval (95 %)."""
    part = float(ours.sum() / theirs.sum())
    n = theirs.size
    if n < 2:
        return [part, math.nan, math.nan]
    from scipy.special import stdtrit

    spread = math.sqrt(n / (n - 1) * float(np.sum((ours - part * theirs) ** 2))) / float(theirs.sum())
    half = float(stdtrit(n - 1, 0.975)) * spread
    return [part, part - half, part + half]


def told(one: Found, reserve_w: float, outcome: Outcome) -> dict[str, Any]:
    """Return a judged bid as plain data."""
    found, choice = worst(outcome), one.choice
    return {
        "mean_w": choice.bid.mean_w,
        "reserve_w": reserve_w,
        "safe": choice.feasible,
        "select": dict(one.setting.policies.params.get("select", {})),
        "cost": outcome.cost,
        "error": outcome.error,
        "worst": found.about,
        "load": found.load,
        "interval": [found.rate.low / found.limit, found.rate.high / found.limit],
        "tracking": outcome.exceed.share,
        "costs": outcome.draw_costs.tolist(),
        "beyond": outcome.day_rates.tolist() if outcome.on_records else [],
    }
