"""Worlds that are played: episodes in, observations and rewards out; what single and vector environments share."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from wattline.api.machine import Machine
from wattline.arrays import Floats
from wattline.errors import InputError, RunError, shorten
from wattline.gym.episodes import Episodes
from wattline.gym.rewards import Reward, Rewards
from wattline.kernel.cache import is_warm
from wattline.kernel.compiled import JIT
from wattline.model import codes
from wattline.policies.looks import ALLOWED, F, G
from wattline.sim.ensemble import World
from wattline.sim.questions import FORBIDDEN, MAY_REST, SLOWDOWNS, SUMS, WAITS_S
from wattline.sim.worlds import AskedWorlds

MOST_SHOWN = 1024


def say_compiling() -> None:
    """Say that the loop is about to be compiled, unless this machine has it."""
    if JIT and not is_warm("wattline.sim.asking", "play"):
        sys.stderr.write("compiling the loop of learning environments (kept: later programs start at once) ...\n")
        sys.stderr.flush()


class Playing:
    """Some worlds of the same kind, each in an episode of its own.

    Parameters
    ----------
    slot
        Who decides: select, cap or bid.
    count
        How many worlds.
    jobs
        What is played: a scenario (a path that ends with ``.toml``, or ``wl.load``), a log (a path, ``wl.read_trace``,
        ``wl.draw_trace``) or a frame with columns as ``wl.from_frame`` takes them.
    machine
        The cluster, unless a scenario has it.
    k
        Waiting jobs that are shown.
    reward
        A name of ``REWARDS``, or weights by name.
    length
        Jobs of an episode: a stretch of the log (None: all jobs).
    part
        The part of the log that stretches come from: ``(0.7, 1.0)`` is its last three tenths.
    variety
        Different episodes; each is laid out once and started over afterwards.
    every
        Let decisions be asked for at this period (``"5 min"``) instead of whenever something happens.
    seed
        Seed of the first episode; number ``i`` has the seed ``seed + i``.
    threads
        Threads that carry the worlds on.
    settings, policies
        Other keys of the scenario by their dotted names, and policies by their slots, as in ``wl.simulate``.
    """

    def __init__(
        self,
        slot: str,
        count: int,
        jobs: Any,
        machine: Machine | None = None,
        *,
        k: int = 16,
        reward: Reward = "bounded-slowdown",
        length: int | None = None,
        part: tuple[float, float] = (0.0, 1.0),
        variety: int = 256,
        every: float | str | None = None,
        seed: int = 1,
        threads: int = 1,
        settings: Mapping[str, Any] | None = None,
        **policies: Any,
    ) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_SHOWN:
            raise InputError(f"k: a number of waiting jobs from 1 to {MOST_SHOWN} is needed, got {k!r}")
        if not isinstance(threads, int) or threads < 1:
            raise InputError(f"threads: a whole number from 1 on is needed, got {threads!r}")
        self.k, self.count, self.slot = k, count, slot
        self.rewards = Rewards(reward)
        self.episodes = Episodes(
            jobs,
            machine,
            slot=slot,
            length=length,
            part=part,
            variety=variety,
            every=every,
            seed=seed,
            settings=settings,
            policies=policies,
            logs=self.rewards.bill != 0.0,
        )
        if self.rewards.bill:
            self.episodes.require_prices()
        if slot != "bid" and policies.get(slot) is not None:  # (a policy that bids says that there are bids)
            raise InputError(f"{slot}: these decisions are yours; leave the policy {shorten(policies[slot])} out")
        say_compiling()
        self.worlds = AskedWorlds(slot, count, k, threads=threads)
        self._playing: list[tuple[int, World] | None] = [None] * count
        self._factors = np.zeros((count, self.worlds.sums.shape[1]))
        self._paid = np.zeros(count)
        self._runs = np.ones(count)

    def observation_space(self) -> gym.spaces.Space[Any]:
        """Return the space of what is seen of one world."""
        return gym.spaces.Box(0.0, 1.0, (self.k * F + G,), np.float32)

    def action_space(self) -> gym.spaces.Space[Any]:
        """Return the space of the decisions about one world."""
        if self.slot == "select":
            return gym.spaces.Discrete(self.k + 1)
        return gym.spaces.Box(0.0, 1.0, (1 if self.slot == "cap" else 2,), np.float32)

    def begin(self, w: int, number: int) -> None:
        """Let world w play an episode, which ``go`` carries to its first question."""
        self.end(w)
        world = self.episodes.borrow(number)
        self._playing[w] = number, world
        self.worlds.put(w, world.simulation)
        self._runs[w] = max(1, int(np.count_nonzero(world.state.status != codes.REJECTED)))
        self._factors[w] = self.rewards.factors(int(self._runs[w]))
        self._paid[w] = 0.0

    def end(self, w: int) -> None:
        """Give back what world w plays."""
        self.worlds.take(w)
        playing, self._playing[w] = self._playing[w], None
        if playing is not None:
            self.episodes.give_back(*playing)

    def first(self, goes: npt.NDArray[np.bool_]) -> None:
        """Carry worlds that have just begun to their first question; what happens before it counts in the first
        reward.
        """
        self.worlds.play(goes)
        over = goes & self.worlds.over
        if over.any():
            s = self.world(int(np.argmax(over))).state
            cut = " (run.until comes before its first job: a stretch keeps the clock of its log)"
            told = cut if s.until_s[0] < s.submit_s[0] else ""
            raise RunError(f"an episode ends before its first decision of {self.slot}: nothing is asked in it{told}")

    def decide(self, actions: Any, goes: npt.NDArray[np.bool_]) -> Floats:
        """Carry worlds on with decisions; return the rewards (0 where a world does not go)."""
        if self.slot == "select":
            self.worlds.choice[:] = actions
        elif self.slot == "cap":
            self.worlds.ratio[:] = np.clip(np.asarray(actions, dtype=np.float64).reshape(self.count), 0.0, 1.0)
        else:
            self._decide_bids(np.clip(np.asarray(actions, dtype=np.float64).reshape(self.count, 2), 0.0, 1.0), goes)
        self.worlds.play(goes)
        for w in np.flatnonzero(goes & self.worlds.over):
            self._count_who_came(int(w))
        total = np.einsum("ws,ws->w", self._factors, self.worlds.sums)
        reward = np.where(goes, total - self._paid, 0.0)
        self._paid[goes] = total[goes]
        if self.rewards.bill:
            for w in np.flatnonzero(goes & self.worlds.over):
                reward[w] -= self.rewards.bill * self.episodes.cost(self.world(int(w)))
        return reward

    def _count_who_came(self, w: int) -> None:
        """Let means of an episode that is over be those of the jobs that came: others may be cut off before."""
        status = self.world(w).state.status
        came = int(np.count_nonzero(~np.isin(status, (codes.FUTURE, codes.HELD, codes.REJECTED))))
        self._runs[w] = max(1, came)
        self._factors[w] = self.rewards.factors(came)

    def _decide_bids(self, shares: Floats, goes: npt.NDArray[np.bool_]) -> None:
        """Make bids of shares: the mean between idle and full power, the reserve of what both leave room for."""
        for w in np.flatnonzero(goes):
            s = self.world(int(w)).state
            idle_w, max_w = (float(np.cumsum(s.pool_count * watts)[-1]) for watts in (s.idle_w, s.max_w))
            mean_w = idle_w + shares[w, 0] * (max_w - idle_w)
            self.worlds.bid_w[w] = mean_w, shares[w, 1] * min(mean_w - idle_w, max_w - mean_w)

    def world(self, w: int) -> World:
        """Return the world that is played at place w."""
        playing = self._playing[w]
        if playing is None:
            raise InputError("reset the environment first")
        return playing[1]

    def mask(self) -> npt.NDArray[np.int8]:
        """Return which decisions are allowed in each world: its shown jobs, and none."""
        shown = self.worlds.seen[:, : self.k * F].reshape(self.count, self.k, F)
        mask = np.ones((self.count, self.k + 1), dtype=np.int8)
        mask[:, : self.k] = shown[:, :, ALLOWED]
        mask[:, self.k] = self.worlds.sums[:, MAY_REST - SUMS]
        return mask

    def truncated(self) -> npt.NDArray[np.bool_]:
        """Return which worlds were cut at ``run.until``."""
        return np.asarray(self.worlds.why == codes.UNTIL)

    def terminated(self) -> npt.NDArray[np.bool_]:
        """Return which worlds have ended: nothing is left to happen."""
        return np.asarray(self.worlds.over & (self.worlds.why != codes.UNTIL))

    def told(self, w: int) -> dict[str, Any]:
        """Return what there is to know of world w beside what is seen."""
        world = self.world(w)
        sums, jobs = self.worlds.sums[w], self._runs[w]
        playing = self._playing[w]
        return {
            "time_s": float(world.state.now[0]),
            "episode": -1 if playing is None else playing[0],
            "jobs": self.worlds.jobs[w].copy(),
            "mean_wait_s": float(sums[WAITS_S - SUMS] / jobs),
            "mean_bounded_slowdown": float(sums[SLOWDOWNS - SUMS] / jobs),
            "forbidden": int(world.simulation.memory[self.worlds.ask][FORBIDDEN]),
        }

    def close(self) -> None:
        """Let everything go."""
        for w in range(self.count):
            self.end(w)
        self.worlds.close()
