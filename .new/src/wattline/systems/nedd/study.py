"""The study of congestion and of network-data-driven placement: what runs where, and what is measured, packet by
packet.
"""

from __future__ import annotations

import numpy as np

from wattline.systems.nedd.cases import FEW, Row, Scale, Study, Task
from wattline.systems.nedd.experiments import KINDS
from wattline.systems.work import Work


def carry_out(task: Task) -> Row:
    """Do one piece of work."""
    return KINDS[task.kind](task)


def tasks_of(scale: Scale) -> list[Task]:
    """Return all that has to be done; what is not asked of all machines and speeds is done where statements are
    judged.
    """
    out: list[Task] = []
    for machine, speed in [(name, speed) for name in scale.machines for speed in scale.speeds(name)]:
        seeds, rotations = (range(scale.times(machine, speed, n)) for n in (scale.seeds, scale.rotations))
        out += [Task("settings", machine, speed, app, k) for app in scale.applications for k in rotations]
        out += [Task("placed", machine, speed, app, k) for app in scale.placed for k in seeds]
        if scale.is_main(machine, speed):
            trials = range(scale.trials)
            out += [Task("alone", machine, speed, str(size), k) for size in scale.sizes for k in trials]
            out += [Task("strength", machine, speed, name, k) for name in scale.strengths for k in trials]
            out += [Task("reading", machine, speed, name, k) for name in scale.readings for k in rotations]
            out += [Task("placed", machine, speed, "miniMD", k, x) for x in scale.layouts[1:] for k in seeds]
            out += [Task("order", machine, speed, "miniMD and HPCG", k) for k in seeds]
    return out


def run_study(scale: Scale, work: Work) -> Study:
    """Carry everything out."""
    todo = tasks_of(scale)
    work.say(f"{len(todo)} experiments, each with several simulations")
    work.plan(len(todo))
    tiny = next(task for task in todo if task.kind == "placed")
    workers = 1 if len(todo) <= FEW else None
    rows: dict[tuple[str, str, float, str, str], list[Row]] = {}
    made = work.each(carry_out, todo, workers=workers, first=lambda: carry_out(tiny))
    for task, row in zip(todo, made, strict=True):
        rows.setdefault(task.case, []).append(row)
    return Study(scale, {case: {k: np.array([r[k] for r in got]) for k in got[0]} for case, got in rows.items()})
