"""Choose a bid by the name of a method, and say how far the choice has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wattline.arrays import Floats
from wattline.bidding.aqa import ITERATIONS, aqa_bid
from wattline.bidding.choice import Choice
from wattline.bidding.grid import grid_bid, heuristic_bid
from wattline.bidding.outcome import Outcome
from wattline.bidding.params import Params
from wattline.bidding.qosg import qosg_bid
from wattline.bidding.search import PROOF_SEEDS, SEARCH_SEEDS, search_bid
from wattline.bidding.setting import Setting
from wattline.bidding.trial import Trial
from wattline.bidding.weights import search_weights
from wattline.errors import InputError, did_you_mean
from wattline.model.regulation import Bid

METHODS = ("search", "aqa", "qosg", "grid", "heuristic", "given")

Progress = Callable[[int, int], None]
"""Called with (bids tried, bids to try by guess)."""

AQA_HOURS = 6
"""Hours that AQA simulates at every step; its gradient needs no more, and three times as many bids are tried."""

_GUESS = {"search": 110, "aqa": 3 * ITERATIONS, "qosg": 170, "grid": 380}
"""About how many bids a method tries."""


class Watched(Trial):
    """A trial that tells how many bids were tried on it."""

    def __init__(self, setting: Setting, seeds: range, tell: Callable[[], None]) -> None:
        super().__init__(setting, seeds)
        self.tell = tell

    def run(
        self, bid: Bid, weights: Floats | None = None, params: Params | None = None, *, first: int | None = None
    ) -> Outcome:
        """Simulate the hours under a bid, and tell."""
        outcome = super().run(bid, weights, params, first=first)
        self.tell()
        return outcome


def choose(
    setting: Setting, method: str, *, mode: str, given: Bid | None = None, progress: Progress | None = None
) -> Choice:
    """Choose a bid: ``given`` is taken as it is, the heuristic needs no simulation, the others try many bids."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r} of choosing a bid{did_you_mean(method, METHODS)}")
    if method == "given":
        if given is None:
            raise InputError('method "given" needs a bid: give mean and reserve')
        return untried(setting, "given", given)
    if method == "heuristic":
        return untried(setting, "heuristic", heuristic_bid(setting, mode))
    select = setting.policies.select
    if method in ("aqa", "qosg") and select.builtin and select.name != "gps":
        raise InputError(
            f'method "{method}" chooses weights, which select policy {select.name!r} does not use; take "gps"'
        )
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, max(_GUESS[method], done + 1))

    seeds = SEARCH_SEEDS[:AQA_HOURS] if method == "aqa" else SEARCH_SEEDS
    trial = Watched(setting, seeds, tell)
    if method == "search":
        proof = Watched(setting, PROOF_SEEDS, tell)
        if select.weights:
            return replace(search_weights(trial, mode=mode, proof=proof), runs=done)
        return replace(search_bid(setting, mode=mode, trial=trial, proof=proof), runs=done)
    if method == "aqa":
        return aqa_bid(trial, mode=mode)
    return qosg_bid(trial, mode=mode) if method == "qosg" else grid_bid(trial, mode=mode)


def untried(setting: Setting, method: str, bid: Bid) -> Choice:
    """Return a choice that no hour was simulated for."""
    return Choice(method, bid, Outcome(setting.kinds, ()))
