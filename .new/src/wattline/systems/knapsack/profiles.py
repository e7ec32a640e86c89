"""Power of jobs and projects in the generated year: the paper's Table I and Figs. 1, 2 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.report.figures.style import AMBER, BLUE, TEAL, Drawn, new_figure
from wattline.systems.knapsack.data import FULL_MACHINE, LOAD, load_jobs
from wattline.systems.knapsack.study import Study
from wattline.systems.reproduction import Claim

TABLE = {
    "minimum": (36.48, 0.10),
    "mean": (65.76, 0.01),
    "percentile 05": (56.60, 0.02),
    "percentile 25": (61.20, 0.02),
    "percentile 75": (71.03, 0.02),
    "percentile 95": (74.57, 0.02),
    "percentile 99": (77.99, 0.02),
    "standard deviation": (6.18, 0.10),
}
"""Table I, kW a rack, and how far ours may be off."""

MOST_KW, RACK_MOST_KW = 160.60, 100.0
NODES_A_RACK = 1024
SHOWN, FEWEST = 6, 40
"""Projects and users in the box plots, and the fewest jobs of one that is drawn."""


@dataclass(frozen=True)
class Profiles:
    """Mean power of each job in kW a rack, its project and user, its nodes and run time."""

    kw: Floats
    project: Ints
    user: Ints
    nodes: Ints
    work_s: Floats


def profiles(study: Study) -> Profiles:
    """Return the jobs of the study's year."""
    jobs = load_jobs("mira-like", study.scale.days, LOAD, 0.0, FULL_MACHINE)
    return Profiles(jobs.draw_w * NODES_A_RACK / 1e3, jobs.group, jobs.user, jobs.nodes, jobs.work_s)


def statistics(kw: Floats) -> dict[str, float]:
    """Return what Table I lists."""
    found = {f"percentile {p:02d}": float(np.percentile(kw, p)) for p in (5, 25, 75, 95, 99)}
    return {
        "minimum": float(kw.min()),
        "mean": float(kw.mean()),
        **found,
        "standard deviation": float(kw.std(ddof=1)),
    }


def between(values: Floats, code: Ints) -> float:
    """Return the share of the variance that lies between groups."""
    count = np.bincount(code)
    means = np.bincount(code, values) / np.maximum(count, 1)
    return float((count * (means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def profile_claims(study: Study) -> Iterator[Claim]:
    """Yield Table I, Figs. 1, 2 and 4."""
    p = profiles(study)
    ours = statistics(p.kw)
    for name, (published, off) in TABLE.items():
        yield Claim(
            "Table I",
            f"{name}: {published:g} kW a rack",
            f"job power: {name} {published:g} kW a rack (to within {off:.0%})",
            f"{ours[name]:.2f} kW",
            holds=bool(abs(ours[name] / published - 1) <= off),
            because="" if abs(ours[name] / published - 1) <= off else "the generator was fitted to a year of all sizes",
        )
    yield Claim(
        "Table I",
        f"maximum: {MOST_KW:g} kW a rack",
        f"job power: maximum {MOST_KW:g} kW a rack (to within 10 %)",
        f"{p.kw.max():.2f} kW",
        holds=bool(abs(p.kw.max() / MOST_KW - 1) <= 0.1),
        because=f"the paper's own numbers contradict each other: 48 racks with a peak of 4.8 MW draw at most "
        f"{RACK_MOST_KW:g} kW each",
    )
    share = between(p.kw, p.project)
    yield Claim(
        "Fig. 1",
        "projects have profiles of their own",
        "at least half of the variance of job power lies between projects",
        f"{share:.0%}",
        holds=share >= 0.5,
        because="" if share >= 0.5 else "projects of the generator are more alike",
    )
    pairs = np.unique(np.column_stack([p.project, p.user]), axis=0, return_inverse=True)[1].ravel()
    more = between(p.kw, pairs) - share
    yield Claim(
        "Fig. 2",
        "users of a project are alike",
        "users within projects explain less of the variance of job power than projects do",
        f"{more:.0%} beyond the projects' {share:.0%}",
        holds=more < share,
    )
    small = float(np.mean(p.nodes <= 2048))
    yield Claim(
        "Fig. 4",
        "most jobs are small",
        "job sizes fall off from one midplane (512 nodes) on: at least half of the jobs take 2,048 nodes or fewer",
        f"{small:.0%}",
        holds=small >= 0.5,
    )


def _boxes(kw: Floats, code: Ints, chosen: Ints, label: str, title: str, told: str, colour: str) -> Drawn:
    figure = new_figure(300)
    names = [f"{label} {i + 1}" for i in range(len(chosen))]
    low, first, median, third, high = np.array(
        [np.percentile(kw[code == one], (0, 25, 50, 75, 100)) for one in chosen]
    ).T
    figure.add_scatter(
        x=names,
        y=median,
        name="median, quartiles",
        mode="markers",
        marker={"color": colour, "size": 9},
        error_y={"type": "data", "symmetric": False, "array": third - median, "arrayminus": median - first},
    )
    for ends, name in ((low, "least"), (high, "greatest")):
        figure.add_scatter(
            x=names, y=ends, name=name, mode="markers", marker={"color": AMBER, "symbol": "line-ew-open"}
        )
    figure.update_yaxes(title_text="job power [kW a rack]")
    figure.update_layout(showlegend=True)
    return Drawn(figure, title, told)


def draw_projects(study: Study) -> Drawn:
    """Draw power by project (Fig. 1)."""
    p = profiles(study)
    often = np.flatnonzero(np.bincount(p.project) >= FEWEST)
    chosen = np.sort(np.random.default_rng(1).choice(often, min(SHOWN, often.size), replace=False))
    told = f"Projects with {FEWEST} jobs or more, drawn at random."
    return _boxes(p.kw, p.project, chosen, "project", "Job power by project (Fig. 1)", told, BLUE)


def draw_users(study: Study) -> Drawn:
    """Draw power by user of one project (Fig. 2)."""
    p = profiles(study)
    seen = [np.flatnonzero(np.bincount(p.user[p.project == one]) >= FEWEST // 4) for one in range(p.project.max() + 1)]
    most = int(np.argmax([users.size for users in seen]))
    mine = p.project == most
    told = f"The project with the most users of {FEWEST // 4} jobs or more."
    return _boxes(
        p.kw[mine], p.user[mine], seen[most][: 2 * SHOWN], "user", "Job power by user of a project (Fig. 2)", told, TEAL
    )


def draw_sizes(study: Study) -> Drawn:
    """Draw how many jobs have which size, and their mean run times (Fig. 4)."""
    p = profiles(study)
    sizes = np.unique(p.nodes)
    figure = new_figure(300)
    names = [f"{int(n):,}" for n in sizes]
    figure.add_bar(x=names, y=[int(np.sum(p.nodes == n)) for n in sizes], name="jobs", marker={"color": BLUE})
    figure.add_scatter(
        x=names,
        y=[float(p.work_s[p.nodes == n].mean()) / 60 for n in sizes],
        name="mean run time [min]",
        mode="lines+markers",
        line={"color": AMBER},
    )
    figure.update_xaxes(title_text="nodes", type="category")
    figure.update_yaxes(title_text="jobs; minutes", type="log")
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Sizes and run times of jobs (Fig. 4)", "Logarithmic, as published.")
