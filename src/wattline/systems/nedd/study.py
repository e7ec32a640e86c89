"""The study of congestion and of network-data-driven placement: what runs where, and what is measured, packet by
packet.
"""

from __future__ import annotations

import numpy as np

from wattline.sim.ensemble import in_processes
from wattline.systems.nedd.cases import FEW, STRENGTHS, Row, Say, Scale, Study, Task
from wattline.systems.nedd.experiments import KINDS


def carry_out(task: Task) -> Row:
    """Do one piece of work."""
    return KINDS[task.kind](task)


def tasks_of(scale: Scale) -> list[Task]:
    """Return all that has to be done."""
    out = []
    for machine in scale.machines:
        for crossbar in scale.crossbars:
            out += [
                Task("settings", machine, crossbar, app, k)
                for app in scale.applications
                for k in range(scale.rotations)
            ]
            out += [Task("strength", machine, crossbar, name, k) for name in STRENGTHS for k in range(scale.trials)]
            out += [Task("alone", machine, crossbar, str(size), k) for size in scale.sizes for k in range(scale.trials)]
            out += [
                Task("placed", machine, crossbar, app, k, layout)
                for layout in scale.layouts
                for app in scale.placed
                for k in range(scale.seeds)
                if layout == "scattered" or app in ("miniMD", "LAMMPS")
            ]
            out += [Task("order", machine, crossbar, "miniMD and HPCG", k) for k in range(scale.seeds)]
    return out


def run_study(scale: Scale, say: Say) -> Study:
    """Carry everything out."""
    todo = tasks_of(scale)
    done = 0

    def tell(task: Task) -> None:
        nonlocal done
        done += 1
        if done % 25 == 0 or done == len(todo):
            say(f"{done} of {len(todo)}: {task}")

    say(f"{len(todo)} experiments, each with several simulations")
    carry_out(next(task for task in todo if task.kind == "placed"))  # compiled once, not by every process
    workers = 1 if len(todo) <= FEW else None
    rows: dict[tuple[str, str, float, str, str], list[Row]] = {}
    for task, row in zip(todo, in_processes(carry_out, todo, done=tell, workers=workers), strict=True):
        rows.setdefault(task.case, []).append(row)
    return Study(scale, {case: {k: np.array([r[k] for r in got]) for k in got[0]} for case, got in rows.items()})
