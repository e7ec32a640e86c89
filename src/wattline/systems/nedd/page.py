"""NeDD: network-data-driven job allocation, and what network congestion does to applications.

Reproduced packet by packet.

Y. Zhang's thesis, ch. 3, §3.5 to §3.8.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.report.page import Page, table
from wattline.systems.nedd.apps import APPLICATIONS
from wattline.systems.nedd.cases import (
    ALONE,
    CHOSEN,
    MACHINES,
    ORDERS,
    POLICIES,
    ROUTING,
    SIZE,
    STRENGTHS,
    Scale,
    Study,
    program,
)
from wattline.systems.nedd.claims import against, claims
from wattline.systems.nedd.figures import (
    METRICS,
    draw_impact,
    draw_metric,
    draw_order,
    draw_placed,
    draw_setting,
    draw_times,
)
from wattline.systems.nedd.study import run_study
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, begin_page

NAME = "nedd"
TITLE = "Network congestion and network-data-driven allocation (NeDD)"
CITATION = "Y. Zhang: thesis on resource management of HPC systems, ch. 3, §3.5 to §3.8"


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    say: Callable[[str], None],
) -> Reproduction:
    """Run the study; write one page."""
    study = run_study(Scale.quick() if quick else Scale(), say)
    stated = list(claims(study))
    remarks = [SMALLER] if quick else []
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study))


def numbers(study: Study) -> dict[str, Any]:
    """Return experiment → machine → crossbar → application or congestor → layout → number → mean and interval, for
    ``--json``.
    """
    found: dict[str, Any] = {}
    for (kind, machine, speed, what, layout), rows in study.found.items():
        by = found.setdefault(kind, {}).setdefault(machine, {}).setdefault(f"crossbar {speed:g}", {})
        by.setdefault(what, {})[layout] = {
            name: {"mean": float(values.mean()), "half_interval": _half(values)} for name, values in rows.items()
        }
    return found


def _half(values: Floats) -> float:
    """Return half the 95 % interval of the mean over seeds (0 of a single one)."""
    return 1.96 * float(values.std(ddof=1)) / float(np.sqrt(values.size)) if values.size > 1 else 0.0


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    scale = study.scale
    items = [
        ("text", CITATION),
        ("machines", "; ".join(f"{name}: dragonfly {'×'.join(map(str, MACHINES[name]))}" for name in scale.machines)),
        ("seeds", f"{scale.rotations} rotations of the settings, {scale.seeds} seeds of the placements, paired"),
        ("congestor", f"{CHOSEN}: rma-broadcast of 64 KB, on 80 % of its nodes; {ROUTING} routing"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    for machine in scale.machines:
        page.add(f"<h2>{machine}</h2>")
        for setting in (2, 3):  # I and II are these without the congestor
            page.add(page.figure(draw_setting(machine, setting)))
        for speed in scale.crossbars:
            page.add(_stand_ins(study, machine, speed), page.figure(draw_times(study, machine, speed)))
            for metric in METRICS:
                page.add(page.figure(draw_metric(study, machine, speed, metric)))
            page.add(_strengths(study, machine, speed), page.figure(draw_impact(study, machine, speed)))
            for layout in scale.layouts:
                page.add(_placements(study, machine, speed, layout))
            page.add(page.figure(draw_placed(study, machine, speed)))
            page.add(_orders(study, machine, speed), page.figure(draw_order(study, machine, speed)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def _stand_ins(study: Study, machine: str, speed: float) -> str:
    rows = []
    for name in study.scale.applications:
        app, made = APPLICATIONS[name], program(machine, speed, name, SIZE)
        rows.append(
            (
                name,
                f"{app.profile.mpi:.1%}",
                f"{app.profile.collective:.1%}",
                f"{app.profile.coupled:.1%}",
                f"{app.network_collective:.2%}",
                f"{made.exchanges} × {app.pattern}, {app.message_bytes:,} B",
                f"{made.allreduces} × {app.reduced_bytes:,} B",
                f"{made.made[0]:.1%}, {made.made[1]:.2%}",
                f"{made.iteration_s * 1e6:,.0f}",
                "yes" if app.profile.sensitive else "no",
            )
        )
    head = (
        "stand-in",
        "MPI",
        "collectives",
        "messages waited for",
        "of the collectives in the network",
        "exchanges",
        "allreduces",
        "parts made",
        "iteration [µs]",
        "sensitive by profile",
    )
    return table(
        head, rows, caption=f"Stand-ins on {SIZE} neighbouring nodes, {machine}, crossbar {speed:g} (Tables 3.4, 3.5)"
    )


def _strengths(study: Study, machine: str, speed: float) -> str:
    rows = []
    for name in STRENGTHS:
        found = study.of("strength", machine, speed, name)
        values = [
            f"{found[k].mean():.2f}" for k in ("bandwidth", "latency", "allreduce", "ntile ratio", "LAMMPS", "miniMD")
        ]
        rows.append((name, *values))
    head = (
        "congestor",
        "bandwidth ratio",
        "latency ratio",
        "allreduce ratio",
        "stalls a flit",
        "LAMMPS, IV over II",
        "miniMD, IV over II",
    )
    return table(
        head, rows, caption=f"Congestors on 64 nodes: impact factors of the canary, {machine}, crossbar {speed:g}"
    )


def _placements(study: Study, machine: str, speed: float, layout: str) -> str:
    apps = [app for app in study.scale.placed if ("placed", machine, speed, app, layout) in study.found]
    rows = []
    for name in (*POLICIES, ALONE):
        by = [study.of("placed", machine, speed, app, layout) for app in apps]
        cells = []
        for found in by:
            change, wide = against(found, name, "Random")
            cells.append(f"{found[name].mean():.3f} ({change:+.1%} ± {wide:.1%})")
        shared = "" if name == ALONE else f"{by[0][f'{name}: shared'].mean():.0%}"
        rows.append((name, *cells, shared))
    head = ("placement", *apps, "nodes that share a router with the congestor")
    return table(
        head,
        rows,
        caption=f"Time over that of an empty machine (against Random), congestor {layout}, {machine}, crossbar "
        f"{speed:g}",
    )


def _orders(study: Study, machine: str, speed: float) -> str:
    found = study.of("order", machine, speed, "miniMD and HPCG")
    rows = [
        (
            way,
            *(
                f"{found[f'{way}: {app}'].mean():.3f} ± {_half(found[f'{way}: {app}']):.3f}"
                for app in ("miniMD", "HPCG")
            ),
        )
        for way in ORDERS
    ]
    return table(
        ("policy and order", "miniMD", "HPCG"),
        rows,
        caption=f"Two jobs beside a congestor: time over that of an empty machine, {machine}, crossbar {speed:g}",
    )


HOW = """<ul class="counted">
<li>The text measured a production machine of 12,000 nodes. Here packets are simulated on two machines whose every link
is known, without other users.</li>
<li>GPCNeT's congestor reads from one task. Here that task's one link limits it and the canary notices nothing; on Cori
requests
may well queue at the root and back up, which they cannot here. With reads from 16 tasks LAMMPS is nearest to the
published slowdown, with 32 the others are nearer to theirs; 32,
the order of ranks and the second machine were chosen after looking at first results. An incast
(many writers to few nodes) fills all buffers up to the senders and makes everything a hundred times slower and more,
which the text did not see.</li>
<li>Applications are stand-ins: exchanges, allreduces and computation in the published shares of time. Of an allreduce's
time, 30 µs a call count as network; the rest is waiting for the slowest task.
Two tasks a node, ranks in node order. Computation beyond 100 µs at one go is added to the time without being simulated:
all tasks compute alike.</li>
<li>A stall is a flit's time that the head of an input buffer waits for the crossbar. Samples of 100 µs with fewer
stalls than the median of all ports of their class
in the four settings are left out of the stall/flit ratio; it is averaged over the ports of the routers that hold the
application.</li>
<li>A statement holds if the direction is as published, beyond the 95 % interval where there is one, or within the
bounds stated, at every crossbar speed; amounts stand beside it.</li>
<li>Policies are told traffic and stalls of the 400 µs before the application starts, while the congestor runs
alone.</li>
</ul>"""
