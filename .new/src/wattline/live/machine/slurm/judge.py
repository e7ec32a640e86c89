"""From a row of squeue and what is known of the job to what Wattline is told: phase, ours or not, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from wattline.live.machine.base import JobSeen, Phase
from wattline.live.machine.slurm.depend import Others
from wattline.live.machine.slurm.marks import ENTRY, Mark
from wattline.live.machine.slurm.rules import Rules, words
from wattline.live.machine.slurm.text import JobRow

PENDING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
ENDED = {
    "COMPLETED": "",
    "CANCELLED": "Cancelled",
    "FAILED": "Failed",
    "TIMEOUT": "TimeLimit",
    "NODE_FAIL": "NodeFail",
    "PREEMPTED": "Preempted",
    "BOOT_FAIL": "BootFail",
    "DEADLINE": "Deadline",
    "OUT_OF_MEMORY": "OutOfMemory",
    "REVOKED": "Revoked",
}
WAITS = (
    "",
    "Priority",
    "Resources",
    "ReqNodeNotAvail",
    "NodeDown",
    "Cleaning",
    "Prolog",
    "JobHeldAdmin",
    "JobHeldUser",
)
"""Reasons with which a released job is on its way (that of its hold stays until Slurm looks again); others are limits
of accounts, partitions, licences.
"""


BAD = "BadConstraints"
"""Reason of a job that was released to nodes that do not suit it: Slurm has taken its priority away."""


@dataclass
class Known:
    """What is known of a job beyond what squeue shows."""

    mark: Mark = field(default_factory=Mark)
    left: str = ""
    """Why it is left alone."""
    named: str = ""
    """Of a job that asks for nodes by name: that it does."""
    on: tuple[str, ...] = ()
    """Nodes to which it was released, or which it holds."""
    tried: tuple[str, ...] = ()
    """Nodes of the last release, whether it was answered or not."""
    tried_mark: Mark = field(default_factory=lambda: Mark("run"))
    """What was noted at the job with it."""
    excluded: tuple[str, ...] = ()
    """Nodes that it excludes."""
    bad: int = 0
    """How many times Slurm said that the nodes that were named do not suit it."""
    start_s: float = math.nan
    submit_s: float = math.nan
    """When it started and came, in machine time: noted when it was first seen, before clocks could be set."""
    limited_until_s: float = -math.inf
    limit: str = ""
    went_on_s: float = -math.inf
    over: bool = False
    """It ended as it was stopped, though Slurm shows it as stopped."""
    phase: Phase = "ineligible"
    row: JobRow | None = None
    told: JobSeen | None = None
    """What was told of it last, if only a change of row or mark can change that."""
    told_mark: Mark | None = None

    def same(self, row: JobRow) -> JobSeen | None:
        """Return what was told last, if nothing has changed."""
        return self.told if row is self.row and self.mark is self.told_mark else None

    def settle(self, row: JobRow, told: JobSeen, *, do: str) -> None:
        """Note what was told; it stays so for jobs that wait for us or their holder alone, run, or are over."""
        calm = told.phase == "ended" or (told.phase == "running" and row.state == "RUNNING")
        if told.phase == "waiting":
            calm = not row.dependency
        elif told.phase == "ineligible":
            calm = bool(self.left) or told.reason in ("JobHeldUser", "JobHeldAdmin")
        calm = calm and not do and self.mark.word != "stopped"
        self.told, self.told_mark = (told, self.mark) if calm else (None, None)


@dataclass(frozen=True)
class Verdict:
    """What a pending job is, and what is to be done about it."""

    phase: Phase
    reason: str = ""
    do: str = ""
    """"hold": put it under our hold · "give back": release it to Slurm · "" nothing."""


def is_held(row: JobRow) -> bool:
    """Tell whether a pending job is held: without a priority."""
    return row.priority == 0.0


def is_entry(row: JobRow) -> bool:
    """Tell whether a job is held since its submission, for us."""
    held = row.state in PENDING and is_held(row) and row.reason != "JobHeldAdmin"
    return held and words(row.comment).get(ENTRY[0]) == ENTRY[1]


def is_put_back_held(row: JobRow) -> bool:
    """Tell whether somebody put a job back into the queue and holds it there (``scontrol requeuehold``)."""
    return is_held(row) and "requeued in held state" in row.reason.replace("_", " ")


def judge_pending(row: JobRow, known: Known, now_s: float, others: Others) -> Verdict:
    """Tell whether a pending job waits for us, is on its way, or may not start yet.

    Times of the row must be machine time, as ``now_s`` is.
    """
    held, mine = is_held(row), known.mark.word in ("held", "run", "requeued")
    if known.left:
        entry = known.mark.word == "" and held and row.reason == "JobHeldUser"
        entry = entry and words(row.comment).get(ENTRY[0]) == ENTRY[1]
        return Verdict("ineligible", known.left, "give back" if entry or (held and mine) else "")
    if held:
        return _judge_held(row, known, now_s, others)
    if known.mark.word == "run":
        reason = row.reason.partition(",")[0].partition(" ")[0].rstrip(",")
        if reason in WAITS or reason.startswith(("Nodes_required", "Nodes")):
            return Verdict("starting", row.reason)
        return Verdict("ineligible", row.reason, "hold")
    if known.mark.word == "held":
        return Verdict("ineligible", "released by an administrator")
    return Verdict(*_blocked(row, known, now_s, others, row.reason), "hold")


def _judge_held(row: JobRow, known: Known, now_s: float, others: Others) -> Verdict:
    by_user = row.reason != "JobHeldAdmin"
    if known.mark.word in ("held", "run") and row.reason.startswith(BAD):  # after a restart it is taken for held
        return Verdict("ineligible", row.reason, "hold")
    if is_put_back_held(row):
        return Verdict("ineligible", row.reason)
    if by_user:
        entry = known.mark.word == "" and words(row.comment).get(ENTRY[0]) == ENTRY[1]
        if entry or known.mark.word == "requeued":
            return Verdict(*_blocked(row, known, now_s, others, ""), "hold")
        return Verdict("ineligible", row.reason or "JobHeldUser")
    if known.mark.word == "run":
        return Verdict("ineligible", "held by an administrator")
    if known.mark.word in ("", "free"):
        return Verdict("ineligible", "JobHeldAdmin")
    return Verdict(*_blocked(row, known, now_s, others, ""))


def _blocked(row: JobRow, known: Known, now_s: float, others: Others, reason: str) -> tuple[Phase, str]:
    """Return waiting, unless something else keeps the job from starting; a hold hides the reason."""
    if others.keep(row.dependency):
        return "ineligible", "Dependency"
    if row.eligible_s > now_s:
        return "ineligible", "BeginTime"
    if now_s < known.limited_until_s:
        return "ineligible", known.limit
    return "waiting", reason


def judge_present(row: JobRow) -> Phase:
    """Return the phase of a job that is not pending."""
    if row.state in ENDED:
        return "ended"
    if row.state in ("STOPPED", "SUSPENDED"):
        return "paused"
    if row.state == "CONFIGURING":
        return "starting"
    if row.state in ("COMPLETING", "STAGE_OUT"):
        return "completing"
    return "running" if row.on else "ineligible"


def seen(
    row: JobRow,
    known: Known,
    phase: Phase,
    reason: str,
    rules: Rules,
    nodes: int,
    fits: frozenset[str] | None = None,
    set_s: float = 0.0,
) -> JobSeen:
    """Return the job as Wattline is told of it; the wall's clock, which is Slurm's, was set by ``set_s``."""
    mark = known.mark.word
    by_others = phase == "paused" and (row.state == "SUSPENDED" or mark != "stopped")
    ours = not known.left and mark in ("held", "run", "stopped", "requeued") and not by_others
    if phase in ("waiting", "ineligible") and not known.left:
        ours = True
    holds = phase in ("starting", "running", "paused", "completing")
    ended = phase == "ended"
    # whole seconds would leave the order of a second's submissions to the spelling of their numbers
    if math.isnan(known.submit_s):
        known.submit_s = row.submit_s - set_s + 1e-6 * (int(row.number) % 500_000)
    submit_s, begun = known.submit_s, phase in ("running", "paused", "completing", "ended")
    if not begun:
        known.start_s = math.nan
    elif math.isnan(known.start_s):
        known.start_s = max(row.start_s - set_s, submit_s)
    return JobSeen(
        id=row.id,
        phase=phase,
        nodes=nodes,
        submit_s=submit_s,
        request_s=_limit_s(row, known.mark) if phase in ("waiting", "ineligible") else row.limit_s,
        eligible_s=max(row.eligible_s - set_s, submit_s) if phase == "waiting" else math.nan,
        start_s=known.start_s if begun else math.nan,
        end_s=max(row.end_s - set_s, known.start_s, submit_s) if ended else math.nan,
        on=known.on if holds else (),
        ours=ours,
        stoppable=ours and rules.may_stop(row),
        user=row.user,
        account=row.account,
        partition=row.partitions[0],
        kind=words(row.comment).get("kind", ""),
        priority=row.priority,
        draw_w=rules.draw_w(row),
        exit=_exit(row) if ended else None,
        reason=ENDED.get(row.state, "") if ended else reason,
        fits=fits if phase in ("waiting", "starting") else None,
    )


def _limit_s(row: JobRow, mark: Mark) -> float:
    """Return the time limit that a waiting job asked for."""
    return row.limit_s if not mark.asked else 60.0 * mark.limit_min or math.inf


def _exit(row: JobRow) -> int:
    return row.exit if row.state in ("COMPLETED", "STOPPED") else row.exit or 1
