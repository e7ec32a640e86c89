"""Learning environments over the simulator, for Gymnasium: ``import wattline.gym`` registers them.

``wattline/Select-v0`` (which waiting job starts), ``wattline/Cap-v0`` (how far jobs are capped) and ``wattline/Bid-v0``
(what is offered to the market). The guide is ``docs/learning.md``.
"""

from __future__ import annotations

from wattline.errors import InputError

try:
    import gymnasium
except ImportError as missing:
    raise InputError("wattline.gym needs Gymnasium; install it with: pip install 'wattline[gym]'") from missing

from wattline.gym.learned import Scorer, save_policy
from wattline.gym.rewards import REWARDS
from wattline.gym.setters import Setter
from wattline.gym.single import BidEnv, CapEnv, SelectEnv
from wattline.gym.vector import BidVectorEnv, CapVectorEnv, SelectVectorEnv
from wattline.policies.looks import JOB_FEATURES, MACHINE_FEATURES

__all__ = [
    "JOB_FEATURES",
    "MACHINE_FEATURES",
    "REWARDS",
    "BidEnv",
    "BidVectorEnv",
    "CapEnv",
    "CapVectorEnv",
    "Scorer",
    "SelectEnv",
    "SelectVectorEnv",
    "Setter",
    "save_policy",
]


def _register() -> None:
    for name in ("Select", "Cap", "Bid"):
        if f"wattline/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"wattline/{name}-v0",
                entry_point=f"wattline.gym:{name}Env",
                vector_entry_point=f"wattline.gym:{name}VectorEnv",
            )


_register()
