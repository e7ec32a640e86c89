"""Slots whose decisions are made outside the loop: what stands in for their policy, and where its memory keeps what."""

from __future__ import annotations

from typing import Any

from wattline.errors import InputError
from wattline.model import codes
from wattline.model.mechanism import Mechanism, Memory
from wattline.model.state.record import State

(
    PHASE,  # where the world stands
    MASK,  # what had happened before the pass that it stands in
    STARTED,  # jobs started before it
    PROPOSED,  # jobs proposed in it so far
    WATCHED,  # jobs that have started and not ended
    FORBIDDEN,  # answers so far that were not allowed
    WAITS_S,  # from here on sums over the run, which rewards are made of: waits of jobs, from their start on
    SLOWDOWNS,  # their bounded slowdowns
    ENERGY_J,  # energy drawn
    ABOVE_S,  # time above the power limit
    ABOVE_J,  # energy above it
    TRACKED,  # time in which the power was too far from its target
    MAY_REST,  # shown beside them: 1 if something will happen even if nobody more is started now
    MEAN_W,  # the bid that was answered: its mean power
    RESERVE_W,  # its reserve
    WATCHES,  # from here on three numbers of each job that is watched: its row, wait and slowdown as counted
) = range(16)
SUMS = WAITS_S
N_SUMS = MEAN_W - SUMS

ASKABLE = ("select", "cap", "bid")


def _outside(s: State, arg: int, param: Any, memory: Any) -> int:  # noqa: ARG001 - the signature of all policies
    """Stand in for a policy that the loop does not call."""
    return 0


def _bid_outside(s: State, hour: int, param: Any, memory: Any) -> int:  # noqa: ARG001 - the signature of all policies
    """Want the bid that was answered."""
    s.want_mean_w[0] = memory[MEAN_W]
    s.want_reserve_w[0] = memory[RESERVE_W]
    return 1


def asked(slot: str, *, wake: int = codes.ANY_CHANGE) -> Mechanism:
    """Return what stands for the decider outside in the policies of a run.

    Running jobs are kept sorted by estimated end, for that is how they are shown.
    """
    if slot not in ASKABLE:
        raise InputError(f"decisions of {', '.join(ASKABLE[:-1])} or {ASKABLE[-1]} can be made outside, not of {slot}")
    return Mechanism(
        name="asked",
        slot=slot,
        function=_bid_outside if slot == "bid" else _outside,
        summary="Decided outside of the run.",
        wake=codes.BIDDING if slot == "bid" else wake,
        memory=Memory(fixed=WATCHES, list_per_job=3),
        sorted_running=True,
        caps=slot == "cap",
    )
