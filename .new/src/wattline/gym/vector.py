"""Vector environments: many worlds, carried on by one compiled call a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from wattline.errors import InputError
from wattline.gym.playing import Playing

Seen = npt.NDArray[np.float32]


class WattlineVectorEnv(VectorEnv[Seen, Any, Any]):
    """Clusters whose decisions of one slot are yours; arguments are ``num_envs`` and those of ``Playing``.

    A world whose episode has ended begins the next one at the following step, whose action it ignores
    (``AutoresetMode.NEXT_STEP``). With ``autoreset=False`` it stays as it is, rewards of 0 included, until it is reset
    (``AutoresetMode.DISABLED``).
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    slot = ""

    def __init__(self, num_envs: int, jobs: Any, machine: Any = None, *, autoreset: bool = True, **given: Any) -> None:
        if given.pop("render_mode", None) is not None:
            raise InputError("render_mode: nothing is drawn; wl.simulate with the policy gives a run and its figures")
        if not isinstance(num_envs, int) or num_envs < 1:
            raise InputError(f"num_envs: a whole number from 1 on is needed, got {num_envs!r}")
        self.playing = Playing(self.slot, num_envs, jobs, machine, **given)
        self.num_envs = num_envs
        self._autoreset = autoreset
        if not autoreset:
            self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        self.single_observation_space = self.playing.observation_space()
        self.single_action_space = self.playing.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.ones(num_envs, dtype=bool)
        self._begun = False

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to be copied."""
        raise InputError("a vector environment is not copied or pickled; make another, or copy single environments")

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode in every world: those that ``options={"episode": [i, …]}`` names, or drawn ones.

        One seed seeds one generator, of which all worlds draw, in their order, now and when they begin anew. A list of
        seeds draws the episode of each world from its own, as a single environment does; what worlds draw afterwards
        comes from a generator with the first of them. ``options={"reset_mask": …}`` lets only some begin.
        """
        count = self.num_envs
        if isinstance(seed, (list, tuple)) and len(seed) != count:
            raise InputError(f"seed: a seed for each of {count} worlds is needed, or one for all, got {len(seed)}")
        numbers = self._asked(options or {})
        if isinstance(seed, (list, tuple)):
            drawn = [int(np.random.default_rng(one).integers(self.playing.episodes.variety)) for one in seed]
            numbers = drawn if numbers is None else numbers
            seed = int(seed[0])
        super().reset(seed=seed)
        chosen = self._draw(count) if numbers is None else numbers
        begins = np.asarray((options or {}).get("reset_mask", np.ones(count, dtype=bool)))
        if begins.dtype != bool or begins.shape != (count,) or not (self._begun or begins.all()):
            raise InputError(f"reset_mask: {count} truth values are needed, all of them true at the first reset")
        for w in np.flatnonzero(begins):
            self.playing.begin(int(w), int(chosen[w]))
        self.playing.first(begins)
        self._over &= ~begins
        self._begun = True
        return self.playing.worlds.seen.copy(), self._told(np.zeros(count, dtype=bool))

    def step(
        self, actions: Any
    ) -> tuple[Seen, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Carry every world on with its decision; those that had ended begin anew."""
        if not self._begun:
            raise InputError("reset the environment first")
        begins = self._over.copy()
        rewards = self.playing.decide(actions, ~begins)
        if self._autoreset and begins.any():
            for w in np.flatnonzero(begins):
                self.playing.begin(int(w), int(self._draw(1)[0]))
            self.playing.first(begins)
        truncated = self.playing.truncated()
        terminated = self.playing.terminated()
        self._over = truncated | terminated
        return self.playing.worlds.seen.copy(), rewards, terminated, truncated, self._told(self._over & ~begins)

    def _asked(self, options: dict[str, Any]) -> list[int] | None:
        """Return the episodes that options name for the worlds, one for each or one for all, if they do."""
        unknown = [name for name in options if name not in ("episode", "reset_mask")]
        if unknown:
            told = (
                f"reset: there is no option {unknown[0]!r}; {{'episode': [3, 4]}} takes episodes, 'reset_mask' worlds"
            )
            raise InputError(told)
        numbers = options.get("episode")
        if numbers is None:
            return None
        several = isinstance(numbers, (Sequence, np.ndarray)) and not isinstance(numbers, str)
        each = list(numbers) if several else [numbers] * self.num_envs
        if len(each) != self.num_envs:
            raise InputError(f"episode: {self.num_envs} numbers are needed, one for each world, got {len(each)}")
        return [self.playing.episodes.checked(number) for number in each]

    def _draw(self, count: int) -> npt.NDArray[np.int64]:
        return self.np_random.integers(self.playing.episodes.variety, size=count)

    def _told(self, over: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Return the masks of all worlds, and how the episodes went that have ended."""
        told: dict[str, Any] = {}
        everyone = np.ones(self.num_envs, dtype=bool)
        if self.slot == "select":
            told["action_mask"], told["_action_mask"] = self.playing.mask(), everyone
        for w in np.flatnonzero(over):
            for name, value in self.playing.told(int(w)).items():
                if name == "jobs":
                    continue
                told.setdefault(name, np.zeros(self.num_envs))[w] = value
                told.setdefault(f"_{name}", np.zeros(self.num_envs, dtype=bool))[w] = True
        return told

    def close_extras(self, **_: Any) -> None:
        """Let the worlds go."""
        self.playing.close()


class SelectVectorEnv(WattlineVectorEnv):
    """Decide in every world which of its first k waiting jobs starts next; action k is none for now."""

    slot = "select"


class CapVectorEnv(WattlineVectorEnv):
    """Decide in every world the one ratio of all caps."""

    slot = "cap"


class BidVectorEnv(WattlineVectorEnv):
    """Decide in every world the bid of every hour."""

    slot = "bid"
