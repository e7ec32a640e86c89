"""Hardware overprovisioning: more nodes than watts; reproduce its configurations and its cost model.

T. Patki: The case for hardware overprovisioned supercomputers, PhD thesis, University of Arizona, 2015.
"""

from __future__ import annotations

from pathlib import Path

from wattline.model.configuration_points import degree, under_bound
from wattline.model.configurations import Configurations
from wattline.report.count.configurations import point_name
from wattline.report.figures.configurations import draw_by_nodes, draw_space
from wattline.report.page import Page, table
from wattline.systems.overprovisioning.claims import claims
from wattline.systems.overprovisioning.data import (
    BOUNDS_W,
    FILE,
    NODE_MAX_W,
    RESTS_ON,
    TABLE_4_2,
    TABLE_4_7,
    TABLE_4_8,
    TABLE_4_9,
)
from wattline.systems.overprovisioning.study import Study, numbers, run_study
from wattline.systems.reproduction import FOOTER, Claim, Reproduction, Table, begin_page
from wattline.systems.work import Work

NAME = "overprovisioning"
TITLE = "Hardware overprovisioning: configurations and the cost model"
CITATION = (
    "T. Patki: The case for hardware overprovisioned supercomputers (PhD thesis, University of Arizona, 2015), "
    "chapters 3 and 4"
)
NO_DATA = (
    f"The measured configurations are not at hand (set WATTLINE_DATA to a folder with {FILE}): published points "
    "and the model alone."
)
MORE_W = 4500.0
"""A bound of §4.2, beside those of Fig. 3.4."""
NEVER = "–"
"""In the place of a break-even point that there is not."""


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: ARG001, FBT001  # the one signature of all reproductions; this one takes seconds anyway
    work: Work,
) -> Reproduction:
    """Run the study; write one page."""
    work.say("reading measured configurations, solving the cost model")
    study = run_study()
    stated = claims(study)
    remarks = [] if study.measured else [NO_DATA]
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, {"rests_on": RESTS_ON, **numbers(study)}, tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: what ours rests on, the cost model and, measured, BT-MZ under bounds."""
    found = {
        "rests-on": Table(("", "ours rests on"), list(RESTS_ON.items())),
        "cost-nodes": Table(COST_NODES, _node_rows(study)),
        "cost-model": Table(COST_MODEL, _cost_rows(study)),
    }
    if study.measured:
        found["bounds"] = Table(BOUNDS, [_bound_row(study.spaces["BT-MZ"], w) for w in (*BOUNDS_W, MORE_W)])
    return found


BOUNDS = ("bound [W]", "best", "packed-max", "absolute worst case", "its nodes", "degree")
COST_NODES = ("budget [W]", "newer node [W]", "older node [W]", "r_c", "r_p", "n_wc", "n_lim", "n_ovp")
COST_MODEL = (
    "",
    "t_ovp [s]",
    "t_wc [s]",
    "s_ovp",
    "s_ovp if faster means speed",
    "breaks even at r_c",
    "at r_p",
    "at r_p, as speed",
)


def _bound_row(space: Configurations, bound_w: float) -> tuple[str, ...]:
    under = under_bound(space, bound_w, NODE_MAX_W)
    rows = (under.best, under.canonical["packed-max"], under.worst_case)
    points = (f"{point_name(space, row)} {space.time_s[row]:.2f} s, {space.power_w[row]:,.0f} W" for row in rows)
    return f"{bound_w:,.0f}", *points, str(under.worst_nodes), f"{degree(space, under):.2f}"


def _node_rows(study: Study) -> list[tuple[str, ...]]:
    """Return the parameters of the cost model, and the nodes that follow: the same for all applications."""
    q = TABLE_4_7
    given = (f"{q.power_w:,.0f}", f"{q.node_max_w:.0f}", f"{q.node_min_w:.0f}", f"{q.cost_ratio:g}", f"{q.faster:.0%}")
    plans = [by["time"] for by in study.plans.values()]
    return sorted({(*given, str(p.worst_case_nodes), str(p.node_limit), str(p.nodes)) for p in plans})


def _cost_rows(study: Study) -> list[tuple[str, ...]]:
    rows = []
    for name, by in study.plans.items():
        even, o = study.even[name], by["time"].outcomes[0]
        ratio, *faster = even["time"].cost_ratio, even["time"].faster, even["speed"].faster
        rows.append(
            (
                name,
                f"{o.overprovisioned_s:.2f}",
                f"{o.worst_case_s:.2f}",
                f"{by['time'].speedup:.2f}",
                f"{by['speed'].speedup:.2f}",
                NEVER if ratio is None else f"{ratio:.2f}",
                *(NEVER if at is None else f"{at:.1%}" for at in faster),
            )
        )
    return rows


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    from wattline.systems.overprovisioning import figures as draw

    items = [
        ("text", CITATION),
        (
            "configuration",
            "(nodes × cores of each, cap of a socket); 115 W means uncapped, with turbo: a level of its own",
        ),
        ("times", study.reduced or "as published"),
        ("worst case of a node", f"{NODE_MAX_W:.0f} W: two sockets of 115 W, 30 W of memory each"),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    page.add("<h2>What each figure and table rests on</h2>", table(("", "ours rests on"), RESTS_ON.items(), text=(1,)))
    page.add("<h2>Tables</h2>", _table_4_2(), _table_4_9(study))
    if study.measured:
        bt = study.spaces["BT-MZ"]
        page.add(
            "<h2>Configurations</h2>",
            *(
                page.figure(f(study))
                for f in (draw.draw_power, draw.draw_caps, draw.draw_turbo, draw.draw_improvements, draw.draw_canonical)
            ),
        )
        page.add(page.figure(draw_space(bt, 4500.0, NODE_MAX_W, "BT-MZ at 4,500 W (in the place of Fig. 3.6)")))
        line = TABLE_4_8["BT-MZ"]
        for bound_w, figure in ((3500.0, "4.1"), (4500.0, "4.2")):
            fit = next(f for f in study.fits if (f.bound_w, f.least_nodes) == (bound_w, 16))
            lines = {
                "published line": (line.slope_s, line.intercept_s),
                "fitted, 16 nodes and more": (fit.line.slope_s, fit.line.intercept_s),
            }
            page.add(
                page.figure(
                    draw_by_nodes(
                        bt, bound_w, NODE_MAX_W, f"BT-MZ under {bound_w:,.0f} W, measured (Fig. {figure})", lines
                    )
                )
            )
    page.add(page.figure(draw.draw_published([name for name in TABLE_4_2 if name != "BT-MZ" or not study.measured])))
    page.add("<h2>The cost model</h2>")
    for name, number in (("LU-MZ", "4.3"), ("SPhot", "4.4"), ("SP-MZ", "4.5"), ("BT-MZ", "4.6")):
        page.add(page.figure(draw.draw_costs(name, number)))
    page.add(FOOTER)
    return page


def _table_4_2() -> str:
    rows = [
        (
            name,
            kind,
            point.name,
            f"{point.time_s:g}",
            f"{point.power_w:,.0f}",
            f"{1 - point.power_w / 3500:.1%}",
            f"× {by['worst case'].time_s / point.time_s:.2f}",
        )
        for name, by in TABLE_4_2.items()
        for kind, point in by.items()
    ]
    header = ("", "", "(n × c, p)", "time [s]", "power [W]", "unused", "speed over the worst case")
    return table(header, rows, "Table 4.2, 3,500 W: the published points, and what follows from them", text=(1,))


def _table_4_9(study: Study) -> str:
    rows = []
    for name, by in study.plans.items():
        plan, o, printed, line = by["time"], by["time"].outcomes[0], TABLE_4_9[name], TABLE_4_8[name]
        rows.append(
            (
                name,
                f"{line.slope_s:g}, {line.intercept_s:g}",
                plan.worst_case_nodes,
                f"{plan.node_limit} ({printed.node_limit})",
                f"{plan.cost_units:.1f}",
                plan.nodes,
                f"{o.overprovisioned_s:.2f} ({printed.overprovisioned_s})",
                f"{o.worst_case_s:.2f} ({printed.worst_case_s})",
                f"{plan.speedup:.2f} ({printed.speedup})",
                f"{by['speed'].speedup:.2f}",
            )
        )
    q = TABLE_4_7
    caption = (
        f"Tables 4.7 to 4.9: {q.power_w:,.0f} W, {q.node_max_w:.0f} W and {q.node_min_w:.0f} W a node, r_c "
        f"{q.cost_ratio}, r_p {q.faster:.0%}; as the equations give it (as printed)"
    )
    header = ("", "m, c", "n_wc", "n_lim", "c_wc", "n_ovp", "t_ovp [s]", "t_wc [s]", "s_ovp", "s_ovp, faster = speed")
    return table(header, rows, caption)
