"""NeDD: network-data-driven job allocation, and what network congestion does to applications.

Reproduced packet by packet.

Y. Zhang's thesis, ch. 3, §3.5 to §3.8.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.model.networks import network_text
from wattline.report.page import Page, table
from wattline.systems.nedd.apps import APPLICATIONS, READINGS
from wattline.systems.nedd.cases import (
    ALONE,
    CHOSEN,
    MACHINES,
    ORDERS,
    POLICIES,
    ROUTING,
    SIZE,
    Scale,
    Study,
    program,
)
from wattline.systems.nedd.claims import against, cases_of, claims, slowdown, told_case
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
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "nedd"
TITLE = "Network congestion and network-data-driven allocation (NeDD)"
CITATION = "Y. Zhang: thesis on resource management of HPC systems, ch. 3, §3.5 to §3.8"


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
) -> Reproduction:
    """Run the study; write one page."""
    return present(run_study(Scale.quick() if quick else Scale(), work), out_dir, [SMALLER] if quick else [])


def present(study: Study, out_dir: Path, remarks: list[str]) -> Reproduction:
    """State claims, write the page."""
    stated = list(claims(study))
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: stand-ins, congestors, slowdowns, placements where statements are judged."""
    main = cases_of(study)[0]
    slow = [
        (told_case(case), *(_slowdowns(study, case, app) for app in study.scale.applications))
        for case in cases_of(study)
    ]
    return {
        "stand-ins": Table(STAND_INS, _stand_in_rows(study, *main)),
        "readings": Table(("reading of the collectives", "IV over II"), _reading_rows(study, *main)),
        "congestors": Table(CONGESTORS, _strength_rows(study, *main)),
        "settings": Table(("machine", *study.scale.applications), slow),
        "placements": Table(_placed_head(study, main), _placed_rows(study, *main, "scattered")),
        "orders": Table(("policy and order", "miniMD", "HPCG"), _order_rows(study, *main)),
    }


def _slowdowns(study: Study, case: tuple[str, float], app: str) -> str:
    """Return the slowdown by a congestor next to an application, and by one elsewhere."""
    near, far = (slowdown(study, case, app, endpoint=endpoint) for endpoint in (True, False))
    return f"{near:+.0%}, {far:+.0%}"


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
        ("machines", "; ".join(f"{name}: {_machine(name)}" for name in scale.machines)),
        ("seeds", f"{scale.rotations} rotations of the settings, {scale.seeds} seeds of the placements, paired"),
        ("congestor", f"{CHOSEN}: rma-broadcast of 64 KB, on 80 % of its nodes; {ROUTING} routing"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    for machine in scale.machines:
        page.add(f"<h2>{machine}</h2>")
        for setting in (2, 3):  # I and II are these without the congestor
            page.add(page.figure(draw_setting(machine, setting)))
        for speed in scale.speeds(machine):
            page.add(_stand_ins(study, machine, speed), page.figure(draw_times(study, machine, speed)))
            for metric in METRICS:
                page.add(page.figure(draw_metric(study, machine, speed, metric)))
            main = scale.is_main(machine, speed)
            if main:
                page.add(_strengths(study, machine, speed), page.figure(draw_impact(study, machine, speed)))
            for layout in scale.layouts if main else scale.layouts[:1]:
                page.add(_placements(study, machine, speed, layout))
            page.add(page.figure(draw_placed(study, machine, speed)))
            if main:
                page.add(_orders(study, machine, speed), page.figure(draw_order(study, machine, speed)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def _machine(name: str) -> str:
    it = MACHINES[name]
    return network_text(it.network) + (", with jobs of other users" if it.shared else "")


STAND_INS = (
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
CONGESTORS = (
    "congestor",
    "bandwidth ratio",
    "latency ratio",
    "allreduce ratio",
    "stalls a flit",
    "LAMMPS, IV over II",
    "miniMD, IV over II",
)


def _stand_in_rows(study: Study, machine: str, speed: float) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in study.scale.applications:
        app, made = APPLICATIONS[name], program(machine, speed, name, SIZE)
        rows.append(
            (
                name,
                f"{app.profile.mpi:.1%}",
                f"{app.profile.collective:.1%}",
                f"{app.profile.coupled:.1%}",
                f"{app.collective:.2%}",
                f"{made.exchanges} × {app.pattern}, {app.message_bytes:,} B",
                f"{made.allreduces} × {app.reduced_bytes:,} B",
                f"{made.made[0]:.1%}, {made.made[1]:.2%}",
                f"{made.iteration_s * 1e6:,.0f}",
                "yes" if app.profile.sensitive else "no",
            )
        )
    return rows


def _stand_ins(study: Study, machine: str, speed: float) -> str:
    caption = f"Stand-ins on {SIZE} neighbouring nodes, {machine}, crossbar {speed:g} (Tables 3.4, 3.5)"
    return table(STAND_INS, _stand_in_rows(study, machine, speed), caption=caption)


def _reading_rows(study: Study, machine: str, speed: float) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in study.scale.readings:
        slow = study.of("reading", machine, speed, name)["slowdown"]
        rows.append((f"{name} ({READINGS[name].collective:.2%} of the time)", f"{np.median(slow) - 1:+.1%}"))
    return rows


def _strength_rows(study: Study, machine: str, speed: float) -> list[tuple[str, ...]]:
    rows = []
    for name in study.scale.strengths:
        found = study.of("strength", machine, speed, name)
        keys = ("bandwidth", "latency", "allreduce", "ntile ratio", "LAMMPS", "miniMD")
        rows.append((name, *(f"{found[k].mean():.2f}" for k in keys)))
    return rows


def _strengths(study: Study, machine: str, speed: float) -> str:
    caption = f"Congestors on 64 nodes: impact factors of the canary, {machine}, crossbar {speed:g}"
    return table(CONGESTORS, _strength_rows(study, machine, speed), caption=caption)


def _placed_head(study: Study, case: tuple[str, float], layout: str = "scattered") -> tuple[str, ...]:
    apps = [app for app in study.scale.placed if ("placed", *case, app, layout) in study.found]
    return ("placement", *apps, "nodes that share a router with the congestor")


def _placed_rows(study: Study, machine: str, speed: float, layout: str) -> list[tuple[str, ...]]:
    apps = _placed_head(study, (machine, speed), layout)[1:-1]
    rows = []
    for name in (*POLICIES, ALONE):
        by = [study.of("placed", machine, speed, app, layout) for app in apps]
        cells = []
        for found in by:
            change, wide = against(found, name, "Random")
            cells.append(f"{found[name].mean():.3f} ({change:+.1%} ± {wide:.1%})")
        shared = "" if name == ALONE else f"{by[0][f'{name}: shared'].mean():.0%}"
        rows.append((name, *cells, shared))
    return rows


def _placements(study: Study, machine: str, speed: float, layout: str) -> str:
    caption = f"Time over that of an empty machine (against Random), congestor {layout}, {machine}, crossbar {speed:g}"
    head = _placed_head(study, (machine, speed), layout)
    return table(head, _placed_rows(study, machine, speed, layout), caption=caption)


def _order_rows(study: Study, machine: str, speed: float) -> list[tuple[str, ...]]:
    found = study.of("order", machine, speed, "miniMD and HPCG")
    return [(way, *(_with_half(found[f"{way}: {app}"]) for app in ("miniMD", "HPCG"))) for way in ORDERS]


def _with_half(values: Floats) -> str:
    return f"{values.mean():.3f} ± {_half(values):.3f}"


def _orders(study: Study, machine: str, speed: float) -> str:
    caption = f"Two jobs beside a congestor: time over that of an empty machine, {machine}, crossbar {speed:g}"
    return table(("policy and order", "miniMD", "HPCG"), _order_rows(study, machine, speed), caption=caption)


HOW = """<ul class="counted">
<li>The text measured a production machine of 12,000 nodes. Here packets are simulated on machines whose every link is
known: statements are judged on five groups with eight links between any two, of whose 320 nodes other users' jobs have
120; whether they hold on the others stands beside the verdict.</li>
<li>The others' jobs run stand-ins of the eight applications, drawn, on nodes of several groups. They run in every
experiment, also in those without a congestor.</li>
<li>GPCNeT's congestor reads from one task. Here that task's one link limits it and the canary notices nothing; on Cori
requests may well queue at the root and back up, which they cannot here. The number of tasks that are read from, 32, and
the order of ranks were chosen after looking at first results, on another machine. An incast (many writers to few nodes)
fills all buffers up to the senders and makes everything a hundred times slower and more, which the text did not
see.</li>
<li>Applications are stand-ins: exchanges, allreduces and computation in the published shares of time. Of a small
allreduce's time, 30 µs a call count as network; the rest is waiting for the slowest task. Long ones count whole.
Two tasks a node, ranks in node order. Computation beyond 100 µs at one go is added to the time without being simulated:
all tasks compute alike.</li>
<li>A stall is a flit's time that the head of an input buffer waits for the crossbar. Samples of 100 µs with fewer
stalls than the median of all ports of their class, over the whole machine and all four settings, are left out of the
stall/flit ratio; it is averaged over the ports of the routers that hold the application.</li>
<li>A statement holds if its sentence is true of the first machine at the first crossbar speed.</li>
<li>Policies are told traffic and stalls of the 400 µs before the application starts, while the congestor runs
alone with the others' jobs.</li>
</ul>"""
