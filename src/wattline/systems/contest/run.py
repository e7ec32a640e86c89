"""Carry the contest out: every comparison is kept as a file as soon as it is made, so that nothing is made twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wattline.bidding.trial import trial_hour
from wattline.files import write_whole
from wattline.kernel.sources import fingerprint
from wattline.model.regulation import Bid
from wattline.sim.ensemble import in_processes
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
    variants,
)
from wattline.systems.followers import AQA, SLACKLINE

Say = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """A comparison, at a scale, and the folder in which it is kept."""

    case: Case
    scale: Scale
    folder: Path

    @property
    def path(self) -> Path:
        """The file in which it is kept: its name holds for one scale, for what both enter with, and for one engine."""
        size = {key: value for key, value in asdict(self.scale).items() if key not in ("workloads", "others", "twelve")}
        entered = [[asdict(one) for one in variants(policy, self.case)] for policy in (AQA, SLACKLINE)]
        text = json.dumps([asdict(self.case), size, entered, fingerprint()], sort_keys=True)
        name = str(self.case).replace(", ", "-").replace(" ", "-")
        return self.folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"


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
    """Return what a comparison gave, from its file where it was made before."""
    if task.path.is_file():
        kept: dict[str, Any] = json.loads(task.path.read_text(encoding="utf-8"))
        return kept
    found = play(task.case, task.scale)
    write_whole(task.path, (json.dumps(found, indent=1) + "\n").encode())
    return found


def run_contest(scale: Scale, folder: Path, say: Say, *, quick: bool) -> dict[Case, dict[str, Any]]:
    """Carry everything out that is not kept yet."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [Task(case, scale, folder) for case in cases(scale)]
    open_ = [task for task in todo if not task.path.is_file()]
    say(f"{len(todo)} comparisons, {len(todo) - len(open_)} of them kept in {folder}")
    if open_:
        _warm_up(todo[0].case)
    count = 0

    def tell(task: Task) -> None:
        nonlocal count
        count += 1
        say(f"{count} of {len(todo)}: {task.case}")

    made = in_processes(carry_out, todo, done=tell, workers=1 if quick or not open_ else None)
    return {task.case: found for task, found in zip(todo, made, strict=True)}


def _warm_up(case: Case) -> None:
    """Run an hour of both policies here, so that what is not compiled yet is compiled once and not by every process."""
    for policy in (AQA, SLACKLINE):
        setting = setting_of(case, policy)
        trial_hour(setting, 0).run(Bid(setting.idle_total_w + setting.load_w(), 1000.0))
