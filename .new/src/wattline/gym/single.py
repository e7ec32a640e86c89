"""Single environments: one world, asked about starts, caps or bids."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from wattline.errors import InputError
from wattline.gym.playing import Playing

Seen = npt.NDArray[np.float32]
_ALL = np.ones(1, dtype=bool)


def asked_episode(options: dict[str, Any] | None) -> Any:
    """Return the episode that options name, if they do."""
    unknown = [name for name in options or {} if name != "episode"]
    if unknown:
        raise InputError(f"reset: there is no option {unknown[0]!r}; {{'episode': 3}} takes an episode")
    return (options or {}).get("episode")


class WattlineEnv(gym.Env[Seen, Any]):
    """A cluster whose decisions of one slot are yours; arguments are those of ``Playing``.

    A copy (``copy.deepcopy``, ``pickle``) stands where its original stood: it is made from the same arguments, and
    the episode is played again up to there.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    slot = ""

    def __init__(self, jobs: Any, machine: Any = None, **given: Any) -> None:
        if given.pop("render_mode", None) is not None:
            raise InputError("render_mode: nothing is drawn; wl.simulate with the policy gives a run and its figures")
        self._given = jobs, machine, dict(given)
        self._number: int | None = None
        self._decided: list[Any] = []
        self.playing = Playing(self.slot, 1, jobs, machine, **given)
        self.observation_space = self.playing.observation_space()
        self.action_space = self.playing.action_space()
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode: the one that ``options={"episode": i}`` names, or one that is drawn."""
        super().reset(seed=seed)
        number, episodes = asked_episode(options), self.playing.episodes
        drawn = int(self.np_random.integers(episodes.variety)) if number is None else episodes.checked(number)
        self._begin(drawn)
        return self._seen(), self._told()

    def step(self, action: Any) -> tuple[Seen, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry the episode on with a decision."""
        if self._over:
            raise InputError("the episode is over; reset the environment first")
        if not self.action_space.contains(action):
            raise InputError(f"action: {action!r} is not in {self.action_space}")
        self._decided.append(np.array(action))
        reward = self.playing.decide(np.asarray(action)[None], _ALL)[0]
        terminated, truncated = bool(self.playing.terminated()[0]), bool(self.playing.truncated()[0])
        self._over = terminated or truncated
        return self._seen(), float(reward), terminated, truncated, self._told()

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return which decisions are allowed now."""
        return np.asarray(self.playing.mask()[0])

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made from."""
        own = {"given": self._given, "number": self._number, "decided": self._decided, "over": self._over}
        drawn = {name: getattr(self, name) for name in ("spec", "_np_random", "_np_random_seed")}
        spaces = {"spaces": (self.observation_space, self.action_space)}  # they draw too
        return own | {"drawn": drawn} | spaces

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy."""
        jobs, machine, given = state["given"]
        self.__init__(jobs, machine, **given)  # type: ignore[misc]
        self.__dict__ |= state["drawn"]
        self.observation_space, self.action_space = state["spaces"]
        if state["number"] is not None:
            self._begin(state["number"])
            for action in state["decided"]:
                self.playing.decide(action[None], _ALL)
            self._decided = state["decided"]
            self._over = state["over"]

    def _begin(self, number: int) -> None:
        self._number, self._decided = None, []
        self.playing.begin(0, number)
        self.playing.first(_ALL)
        self._number, self._over = number, False

    def _seen(self) -> Seen:
        return np.array(self.playing.worlds.seen[0])

    def _told(self) -> dict[str, Any]:
        told = self.playing.told(0)
        if self.slot == "select":
            told["action_mask"] = self.action_masks()
        return told

    def close(self) -> None:
        """Let the worlds go."""
        self.playing.close()
        self._over = True
        self._number, self._decided = None, []


class SelectEnv(WattlineEnv):
    """Decide which of the first k waiting jobs starts next; action k is none for now."""

    slot = "select"


class CapEnv(WattlineEnv):
    """Decide the one ratio of all caps: 1 is no cap, 0 the lowest that jobs and nodes can follow."""

    slot = "cap"


class BidEnv(WattlineEnv):
    """Decide the bid of every hour: mean power between idle and full, and the share of the reserve that both allow."""

    slot = "bid"
