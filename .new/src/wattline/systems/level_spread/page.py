"""Level-Spread: place each job in the smallest level of a dragonfly that holds it and spread it there.

Reproduce its study.

Y. Zhang et al., Level-Spread (IPDPS 2018), and Y. Zhang's thesis, §§3.2 to 3.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wattline.model.networks.dragonfly import Dragonfly
from wattline.report.figures.network import Placed, draw_network
from wattline.report.figures.style import Drawn
from wattline.report.page import Page, table
from wattline.systems.level_spread.cases import (
    BASELINES,
    BEYOND,
    BLIND,
    HASTY,
    JOKANOVIC,
    LARGE,
    LEVEL_SPREAD,
    POLICIES,
    SMALL,
    Job,
    Scale,
    Setting,
)
from wattline.systems.level_spread.claims import claims
from wattline.systems.level_spread.figures import figures
from wattline.systems.level_spread.points import Estimate, standing
from wattline.systems.level_spread.shown import fixed_tables
from wattline.systems.level_spread.study import Found, Study, place, run_study
from wattline.systems.reproduction import FOOTER, SMALLER, Claim, Reproduction, Table, begin_page, reasoned
from wattline.systems.work import Work

NAME = "level-spread"
TITLE = "Level-Spread: job allocation on dragonflies"
CITATION = (
    "Y. Zhang et al., Level-Spread: a new job allocation policy for dragonfly networks (IPDPS 2018); Y. "
    "Zhang's thesis, §§3.2–3.4"
)
EXAMPLE = (Dragonfly(4, 4, 9), (4, 8, 54))
"""Machine and jobs of Fig. 3.3."""


def reproduce(
    out_dir: Path,
    quick: bool,  # noqa: FBT001  # the one signature of all reproductions
    work: Work,
) -> Reproduction:
    """Run the study; write one page."""
    return present(run_study(Scale.quick() if quick else Scale(), work), out_dir, [SMALLER] if quick else [])


def present(study: Study, out_dir: Path, remarks: list[str]) -> Reproduction:
    """State claims, write the page."""
    stated = reasoned(claims(study))
    path = _page(study, stated, remarks).write(out_dir / f"{NAME}.html")
    return Reproduction(NAME, TITLE, path, stated, remarks, numbers(study), tables(study))


def tables(study: Study) -> dict[str, Table]:
    """Return what the documentation shows: how Level-Spread, and our own policy, stand by crossbar speed and order, and
    times of fixed jobs.
    """
    found: dict[str, Table] = {}
    for crossbar in study.scale.crossbars:
        for large_first, order in ((False, "small-first"), (True, "large-first")):
            setting = Setting(crossbar=crossbar, large_first=large_first)
            if setting in study.found:
                case = f"{crossbar:g}-{order}"
                found[f"standing-{case}"] = Table(HEADER, standings(study, setting))
                found[f"ours-{case}"] = Table(OURS, beyond(study, setting))
    return found | fixed_tables(study)


def numbers(study: Study) -> dict[str, Any]:
    """Return what was found by setting, for ``--json``: mean times by policy, and how Level-Spread stands on random
    workloads.
    """
    found: dict[str, Any] = {}
    for setting, what in study.found.items():
        entry: dict[str, Any] = {
            "workloads": what.time_s.shape[1],
            "cpu_s": what.cpu_s,
            "runs": what.runs,
            "packet_hops": what.hops,
            "time_us": {policy: _microseconds(what, policy) for policy in POLICIES},
        }
        if setting.workload == "random":
            groups = {"baselines": BASELINES} | {name: (name,) for name in setting.policies() if name != LEVEL_SPREAD}
            entry["standing"] = {name: standing(what, policies).to_dict() for name, policies in groups.items()}
            entry["beyond"] = {name: standing(what, policies, BEYOND).to_dict() for name, policies in RIVALS.items()}
        found[str(setting)] = entry
    return found


def _microseconds(found: Found, policy: str) -> dict[str, list[float | None]]:
    times = {name: 1e6 * found.of(policy, size) for name, size in (("small", SMALL), ("large", LARGE))}
    return {name: Estimate.of(values).to_list() for name, values in times.items() if values[0] == values[0]}


def _page(study: Study, stated: list[Claim], remarks: list[str]) -> Page:
    scale = study.scale
    items = [
        ("text", CITATION),
        ("machines", ", ".join(f"{m} nodes" for m in scale.machines)),
        (
            "runs",
            (
                f"{sum(f.runs for f in study.found.values()):,}, {sum(f.hops for f in study.found.values()) / 1e9:.1f} "
                f"thousand million packet-hops, {sum(f.cpu_s for f in study.found.values()):,.0f} CPU seconds"
            ),
        ),
    ]
    page = begin_page(TITLE, stated, items, remarks)
    for crossbar in scale.crossbars:
        for large_first in (False, True):
            setting = Setting(crossbar=crossbar, large_first=large_first)
            if setting in study.found:
                page.add(standings_table(study, setting), beyond_table(study, setting))
    for setting in study.found:
        if setting.workload == "random" and (setting.ratio != 1 or setting.repeats > 1):
            page.add(standings_table(study, setting))
    page.add(page.figure(_example()))
    page.add(*(page.figure(drawn) for drawn in figures(study)))
    page.add("<h2>How this was done</h2>", HOW, FOOTER)
    return page


def standings(study: Study, setting: Setting) -> list[tuple[str, ...]]:
    """Return rows of how Level-Spread stands against each policy on random workloads."""
    found = study.found[setting]
    rows = []
    for name, policies in (("seven baselines", BASELINES), *((p, (p,)) for p in (*BASELINES, *JOKANOVIC))):
        s = standing(found, policies)
        rows.append(
            (name, s.better.percent(), s.worse.percent(), *(_signed(e) for e in (s.of_small, s.of_large, s.reduction)))
        )
    return rows


RIVALS: dict[str, tuple[str, ...]] = {p: (p,) for p in (LEVEL_SPREAD, "RDG", "RDN", *JOKANOVIC)}
"""Whom our own policy is held against: Level-Spread, the best of each kind, Jokanovic's."""


def beyond(study: Study, setting: Setting) -> list[tuple[str, ...]]:
    """Return rows of how our own policy stands, and how it would without what it knows, against Level-Spread."""
    found = study.found[setting]
    told = [(name, standing(found, policies, BEYOND)) for name, policies in RIVALS.items()]
    if BLIND in setting.policies():
        without = {BLIND: "Level-Spread, bytes unknown", HASTY: "Level-Spread, queue unknown"}
        told += [(name, standing(found, (LEVEL_SPREAD,), policy)) for policy, name in without.items()]
    return [
        (name, s.better.percent(), s.worse.percent(), *(_signed(e) for e in (s.of_small, s.of_large, s.reduction)))
        for name, s in told
    ]


def beyond_table(study: Study, setting: Setting) -> str:
    """Return them as HTML."""
    count = study.found[setting].time_s.shape[1]
    return table(OURS, beyond(study, setting), caption=f"ours, {count} workloads: {setting}")


HEADER = (
    "Level-Spread against",
    "strictly better",
    "strictly worse",
    "time of small jobs",
    "of large jobs",
    "mean of both",
)
OURS = ("Least-Contention against", *HEADER[1:])


def standings_table(study: Study, setting: Setting) -> str:
    """Return them as HTML."""
    count = study.found[setting].time_s.shape[1]
    return table(HEADER, standings(study, setting), caption=f"{count} workloads: {setting}")


def _signed(estimate: Estimate) -> str:
    return f"{-estimate.mean:+.1%} ± {100 * estimate.wide:.1f}"


def _example() -> Drawn:
    """Draw three jobs as Level-Spread places them."""
    network, sizes = EXAMPLE
    jobs = [Job(nodes, "halo3d", 1, SMALL) for nodes in sizes]
    placed = place(LEVEL_SPREAD, network, jobs, 0)
    drawn = draw_network(network, [Placed(f"job {i}", nodes) for i, nodes in enumerate(placed, 1)], network.nodes)
    return drawn._replace(title="Three jobs as Level-Spread places them: a router, a group, the machine (Fig. 3.3)")


HOW = """<ul class="counted">
<li>Jobs are placed one after another on an empty machine, then all communicate at once, each its pattern once: two
tasks a node, random task
mapping, adaptive routing. Time is what a job needs from start to end, averaged over the jobs of a size.</li>
<li>Policies are compared on the same workloads with the same task mappings. Intervals are 95 %; a workload's policies
count together.</li>
<li><i>Crossbar</i>: speed of the routers' crossbars over that of local links. At 1 no output queue grows unless buffers
are full, and adaptive
routing with 1 KB messages is minimal routing.</li>
<li>What policies place alike is simulated once.</li>
<li><i>Least-Contention</i> is ours. It is told what a node of a job sends a second with nothing in the way, and the
sizes of the jobs that are
placed after it; the tables say what it does without.</li>
</ul>"""
