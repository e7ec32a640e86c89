"""Carry the contest out: every comparison is a piece of its own, kept as soon as it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wattline.bidding.hours.trial import trial_hour
from wattline.model.regulation import Bid
from wattline.systems.contest.match import Scale, play
from wattline.systems.contest.worlds import (
    CAPS,
    DAYS,
    GAUSSIAN,
    TWELVE,
    Case,
    days,
    setting_of,
    sweeps,
)
from wattline.systems.followers import AQA, SLACKLINE
from wattline.systems.work import Work


@dataclass(frozen=True)
class Task:
    """A comparison, at a scale."""

    case: Case
    scale: Scale


def cases(scale: Scale) -> list[Case]:
    """Return all comparisons that the data at hand allow, those that matter most first."""
    found = [Case(GAUSSIAN, w) for w in scale.workloads]
    found += [Case(TWELVE, "QoSG's jobs")] if scale.twelve else []
    there = {DAYS: days, CAPS: sweeps}
    for world, workloads in scale.others.items():
        if world not in there or there[world]():
            found += [Case(world, w) for w in workloads]
    return found


def carry_out(task: Task) -> dict[str, Any]:
    """Return what a comparison gives."""
    return play(task.case, task.scale)


def run_contest(scale: Scale, work: Work, *, quick: bool) -> dict[Case, dict[str, Any]]:
    """Carry everything out that is not kept yet."""
    todo = [Task(case, scale) for case in cases(scale)]
    work.say(f"{len(todo)} comparisons")
    work.plan(len(todo))
    first = sorted(todo, key=lambda task: task.case.world != DAYS)  # the longest: no core waits for them
    made = work.each(carry_out, first, workers=1 if quick else None, first=lambda: _warm_up(todo[0].case))
    found = {task.case: given for task, given in zip(first, made, strict=True)}
    return {task.case: found[task.case] for task in todo}


def _warm_up(case: Case) -> None:
    """Run an hour of both policies here, so that what is not compiled yet is compiled once and not by every process."""
    for policy in (AQA, SLACKLINE):
        setting = setting_of(case, policy)
        trial_hour(setting, 0).run(Bid(setting.idle_total_w + setting.load_w(), 1000.0))
