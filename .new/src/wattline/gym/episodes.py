"""Episodes: the worlds that a learner plays, of a scenario, a log or a frame, and started over at no cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.api.asking import ask
from wattline.api.machine import Machine
from wattline.api.studies import Study, load, only
from wattline.api.trace import Trace, from_frame, log_at
from wattline.errors import InputError, shorten
from wattline.model import codes

if TYPE_CHECKING:
    from wattline.scenario.study import Study as Wired
    from wattline.sim.ensemble import World

USUAL = {
    "order": "fcfs",
    "select": "easy",
    "place": None,
    "cap": None,
    "learn": "request",
    "profile": None,
    "bid": None,
}
"""Policies of the slots that nobody decides about outside."""

LOG_ROWS = 1024


class Episodes:
    """What can be played: number ``i`` is the scenario with the seed ``seed + i``, or a stretch of a log drawn by it.

    Parameters are those of the environments (docs/learning.md).
    """

    def __init__(
        self,
        jobs: Any,
        machine: Machine | None,
        *,
        slot: str,
        length: int | None,
        part: tuple[float, float],
        variety: int,
        every: float | str | None,
        seed: int,
        settings: Mapping[str, Any] | None,
        policies: Mapping[str, Any],
        logs: bool,
    ) -> None:
        if not isinstance(variety, int) or variety < 1:
            raise InputError(f"variety: a number of episodes from 1 on is needed, got {variety!r}")
        if length is not None and (not isinstance(length, int) or length < 1):
            raise InputError(f"length: a number of jobs from 1 on is needed, got {length!r}")
        shares = tuple(part) if isinstance(part, Sequence) else ()
        if len(shares) != 2 or not all(isinstance(one, Real) for one in shares) or not 0.0 <= part[0] < part[1] <= 1.0:
            raise InputError(f"part: two shares of the log such as (0, 0.7) are needed, got {part!r}")
        self.slot, self.variety, self.seed = slot, variety, seed
        self._length, self._part, self._logs = length, shares, logs
        more = dict(settings or {})
        if every is not None:
            more["run.tick"] = every
        self._every = every is not None
        self._study = _study(jobs, machine, policies, more, seed)
        self._choice = only(self._study.document, "an environment plays one: study.set({{'policy.{slot}': …}})")
        self._draws = self._study.document.spec.trace.file is None and self._study.document.given.trace is None
        self._wired: Wired | None = None
        self._kept: dict[int, list[World]] = {}

    def checked(self, number: Any) -> int:
        """Return the number of an episode that somebody asked for, if there is such a one."""
        if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
            raise InputError(f"episode: expected a whole number, got {shorten(number)}")
        if not 0 <= number < self.variety:
            raise InputError(f"episode: numbers go from 0 to {self.variety - 1} (variety), got {number}")
        return int(number)

    def borrow(self, number: int) -> World:
        """Return episode ``number`` at its beginning; nobody else has it until it is given back."""
        kept = self._kept.get(number)
        if kept:
            world = kept.pop()
            world.start_over()
            return world
        return self._make(number)

    def give_back(self, number: int, world: World) -> None:
        """Keep an episode for the next who plays it."""
        self._kept.setdefault(number, []).append(world)

    def require_prices(self) -> None:
        """Refuse episodes that have no bill."""
        if self.wired(0).billing is None:
            raise InputError("reward: there is no bill without [prices]; give settings={'prices.energy': …}")

    def cost(self, world: World) -> float:
        """Return what the billed time of an episode costs, in dollars."""
        from wattline.market.hour import total
        from wattline.wiring.tables import frames

        billing = self.wired(0).billing
        assert billing is not None  # noqa: S101 - it was asked for when the environment was made
        result = world.simulation.result("until")
        rows = billing.rows(result, frames(result)["timeline"])
        return total([row for row in rows if row.billed]).cost

    def wired(self, number: int) -> Wired:
        """Return the run of an episode's scenario with all that it is made of."""
        from wattline.scenario.study import wire

        if self._draws and self.variety > 1:
            return wire(self._choice, seed=self.seed + number)
        if self._wired is None:
            self._wired = wire(self._choice, seed=self.seed)
        return self._wired

    def _make(self, number: int) -> World:
        from wattline.sim.ensemble import World
        from wattline.sim.questions import asked

        wired = self.wired(number)
        jobs = wired.trace.jobs
        if self._length is not None or self._part != (0.0, 1.0):
            jobs = jobs.take(self._stretch(len(jobs), number, wired))
        if self.slot == "bid" and wired.options.bidding is None:
            raise InputError(
                "Bid: the scenario has no bids to make; give [regulation] and a [policy] bid (adaptive, …), in whose "
                "place the learner bids"
            )
        wake = codes.TICK if self._every else codes.ANY_CHANGE
        policies = replace(
            wired.policies,
            **{self.slot: asked(self.slot, wake=wake)},
            params={slot: given for slot, given in wired.policies.params.items() if slot != self.slot},
        )
        options = replace(
            wired.options,
            timeline=self._logs,
            placements=False,
            decisions=False,
            log_rows=max(LOG_ROWS, 4 * wired.cluster.nodes),
        )
        return World(jobs, wired.cluster, policies, options, seed=wired.seed)

    def _stretch(self, count: int, number: int, wired: Wired) -> Any:
        """Return the rows of a stretch of a log: as many as an episode has, from a place that its number draws, or a
        whole part of it.
        """
        said = "length" if self._length is not None else "part"
        if wired.options.configurations or wired.options.resources or wired.options.signal is not None:
            what = "configurations of jobs, resources or a regulation signal"
            raise InputError(f"{said}: stretches of a log cannot have {what}")
        low, high = (round(share * count) for share in self._part)
        if low == high:
            raise InputError(f"part: {self._part} of {count} jobs has none")
        length = high - low if self._length is None else self._length
        if high - low < length:
            raise InputError(f"length: {length} jobs are more than the {high - low} of this part of the log")
        first = low + int(np.random.default_rng([self.seed, number]).integers(high - low - length + 1))
        return np.arange(first, first + length)


def _study(
    jobs: Any, machine: Machine | None, policies: Mapping[str, Any], settings: Mapping[str, Any], seed: int
) -> Study:
    """Return the scenario that is played: given, read, or made of a log or a frame and a machine."""
    unknown = [slot for slot in policies if slot not in USUAL]
    if unknown:
        raise InputError(f"there is no argument {unknown[0]!r}; policies go by their slots: {', '.join(USUAL)}")
    if isinstance(jobs, (str, Path)) and str(jobs).endswith(".toml"):
        jobs = load(jobs)
    if isinstance(jobs, Study):
        if machine is not None:
            raise InputError("a scenario has a machine already; change it with settings={'cluster.nodes': …}")
        named = {f"policy.{slot}": given for slot, given in policies.items() if given is not None}
        return jobs.set({**settings, **named}) if settings or named else jobs
    if machine is not None and not isinstance(machine, Machine):
        raise InputError(f"machine is a wl.Machine, got {type(machine).__name__}")
    if isinstance(jobs, (str, Path)):
        jobs = log_at(jobs)
    elif not isinstance(jobs, Trace):
        jobs = from_frame(jobs)
    chosen = {slot: usual if policies.get(slot) is None else policies[slot] for slot, usual in USUAL.items()}
    unsaid = {("policy", slot) for slot in USUAL if policies.get(slot) is None}
    return Study(
        ask(jobs, machine or Machine(), policies=chosen, settings=settings, seed=seed, unsaid=unsaid, source="gym")
    )
