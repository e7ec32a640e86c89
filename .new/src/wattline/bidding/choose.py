"""Choose a bid by the name of a method, on drawn hours or on recorded days, and say how far the choice has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

from wattline.arrays import Floats
from wattline.bidding.across import Margin, certify_on_records, margin_of, plain_bid, sure_bid
from wattline.bidding.budget import budget_bid, given_budget, is_budget
from wattline.bidding.certificate import Certificate
from wattline.bidding.evidence import UNTRIED
from wattline.bidding.hours.outcome import Outcome
from wattline.bidding.hours.params import Params
from wattline.bidding.hours.rates import CONFIDENCE
from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aqa import ITERATIONS, aqa_bid
from wattline.bidding.searches.choice import Choice
from wattline.bidding.searches.grid import KEEPING, LEAST, TRACKING, grid_bid, heuristic_bid
from wattline.bidding.searches.qosg import qosg_bid
from wattline.bidding.searches.search import PROOF_SEEDS, SEARCH_SEEDS, search_bid
from wattline.bidding.searches.weights import search_weights
from wattline.errors import InputError, did_you_mean
from wattline.journal.kept import Kept
from wattline.model.regulation import Bid, Record

GRIDS = {"grid": KEEPING, "grid-tracking": TRACKING, "grid-least": LEAST}
"""Methods that try a grid of bids, and the rule by which each picks one."""

METHODS = ("search", "aqa", "qosg", *GRIDS, "heuristic", "given")

Progress = Callable[[int, int], None]
"""Called with (hours or days simulated, those to simulate by guess)."""

AQA_HOURS = 6
"""Hours that AQA simulates at every step; its gradient needs no more, and three times as many bids are tried."""

_GUESS = {"search": 110, "aqa": 3 * ITERATIONS, "qosg": 170, **dict.fromkeys(GRIDS, 380)}
"""About how many bids a method tries."""


class Watch:
    """Counts the bids that were tried, and tells how many hours or days were simulated for them."""

    def __init__(self, guess: float, progress: Progress | None) -> None:
        self.done, self.draws, self.guess, self.progress = 0, 0, int(guess), progress
        self._counting = Lock()

    def tell(self, draws: int) -> None:
        """Count one more that was tried on some draws; several searches may."""
        with self._counting:
            self.done += 1
            self.draws += draws
            if self.progress is not None:
                self.progress(self.draws, max(self.guess, self.draws + 1))


class Watched(Trial):
    """A trial that tells how many bids were tried on it."""

    def __init__(
        self,
        setting: Setting,
        watch: Watch,
        seeds: Sequence[int] = (),
        *,
        records: Sequence[Record] = (),
        kept: Kept | None = None,
    ) -> None:
        super().__init__(setting, seeds, records=records, kept=kept)
        self.watch = watch

    def run(
        self, bid: Bid, weights: Floats | None = None, params: Params | None = None, *, first: int | None = None
    ) -> Outcome:
        """Simulate the hours or days under a bid, and tell."""
        outcome = super().run(bid, weights, params, first=first)
        self.watch.tell(len(self.stretches[:first]))
        return outcome

    def exceed_share(self, bid: Bid, weights: Floats | None = None) -> float:
        """Simulate the hours or days for their tracking alone, and tell."""
        share = super().exceed_share(bid, weights)
        if self.kept is None:  # where runs are kept it was one, and is told of
            self.watch.tell(len(self.stretches))
        return share


def choose(
    setting: Setting,
    method: str,
    *,
    mode: str,
    given: Bid | None = None,
    progress: Progress | None = None,
    kept: Kept | None = None,
) -> Choice:
    """Choose a bid: ``given`` is taken as it is, the heuristic needs no simulation, the others try many bids."""
    check_method(setting, method)
    if is_budget(setting):
        raise InputError("a day's budget is chosen on recorded days, not on drawn hours")
    if method in UNTRIED:
        return untried(setting, method, _untried_bid(setting, method, mode, given))
    seeds = SEARCH_SEEDS[:AQA_HOURS] if method == "aqa" else SEARCH_SEEDS
    watch = Watch(_GUESS[method] * len(seeds), progress)
    trial = Watched(setting, watch, seeds, kept=kept)
    if method != "search":
        return _by_method(trial, method, mode)
    proof = Watched(setting, watch, PROOF_SEEDS, kept=kept)
    if setting.policies.select.weights:
        return replace(search_weights(trial, mode=mode, proof=proof), runs=watch.done)
    return replace(search_bid(setting, mode=mode, trial=trial, proof=proof), runs=watch.done)


def choose_on_records(
    setting: Setting,
    records: Sequence[Record],
    method: str,
    *,
    mode: str,
    given: Bid | None = None,
    confidence: float = CONFIDENCE,
    quick: bool = False,
    across: bool = False,
    progress: Progress | None = None,
    kept: Kept | None = None,
) -> tuple[Certificate, Margin | None]:
    """Choose a bid on recorded days and test it on days that the search has not seen; tell what its margin costs.

    A ``quick`` search looks at fewer bids. Published methods, and policies with weights, choose on some days and are
    tested on the others: to leave every day out in turn would take them too long. ``across``: days are left out in
    turn however many there are, and each is tried without the margin too.
    """
    check_method(setting, method)
    fixed = None
    if method in UNTRIED:
        fixed = untried(setting, method, _untried_bid(setting, method, mode, given))
    budget = is_budget(setting)
    if fixed is not None and budget:
        fixed = given_budget(setting, fixed)
    in_turn = method == "search" and not setting.policies.select.weights
    watch = Watch(_GUESS.get(method, 0) * (3 if in_turn else 1) * len(records), progress)
    trial = Watched(setting, watch, records=records, kept=kept)

    def pick(part: Trial) -> Choice:
        if budget:
            return budget_bid(part, mode=mode, confidence=confidence, quick=quick)
        if in_turn:
            return sure_bid(part, mode=mode, confidence=confidence, quick=quick)
        return search_weights(part, mode=mode) if method == "search" else _by_method(part, method, mode)

    if across and not (in_turn and len(records) > 1):
        raise InputError("days are left out in turn by a search, on two recorded days or more, without weights")
    plain = partial(plain_bid, mode=mode, quick=quick) if across else None
    found = certify_on_records(trial, records, pick, confidence=confidence, fixed=fixed, in_turn=in_turn, plain=plain)
    if fixed is not None or not in_turn or len(records) == 1:
        return found, None
    margin = margin_of(trial, found.choice, mode=mode, confidence=confidence, quick=quick, made=budget)
    return replace(found, choice=replace(found.choice, runs=watch.done)), margin


def _by_method(trial: Trial, method: str, mode: str) -> Choice:
    if method == "aqa":
        return aqa_bid(trial, mode=mode)
    return qosg_bid(trial, mode=mode) if method == "qosg" else grid_bid(trial, mode=mode, rule=GRIDS[method])


def check_method(setting: Setting, method: str) -> None:
    """Refuse a method that is not known, or does not go with the policy or the prices."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r} of choosing a bid{did_you_mean(method, METHODS)}")
    select, rules = setting.policies.select, setting.prices.book.product.name
    if method in ("aqa", "qosg") and select.builtin and select.name != "gps":
        raise InputError(
            f'method "{method}" chooses weights, which select policy {select.called!r} does not use; take "gps"'
        )
    if is_budget(setting) and (method not in ("search", "given") or select.weights):
        told = "weights of kinds go" if select.weights else f'method "{method}" goes'
        raise InputError(f"a day's budget is chosen by a search of its own: {told} with one bid for all hours")
    if method == "aqa" and rules != "paper":
        told = f'method "aqa" steps down the costs of the papers, not those of rules = "{rules}"'
        raise InputError(f'{told}; take "search"')


def _untried_bid(setting: Setting, method: str, mode: str, given: Bid | None) -> Bid:
    """Return a bid that no search chooses."""
    if method == "heuristic":
        return heuristic_bid(setting, mode)
    if given is None:
        raise InputError('method "given" needs a bid: give mean and reserve')
    return given


def untried(setting: Setting, method: str, bid: Bid) -> Choice:
    """Return a choice that no hour was simulated for."""
    return Choice(method, bid, Outcome(setting.kinds, ()))
