"""A year of a machine like Mira: 48 racks of 1,024 nodes, jobs of real partition sizes, projects, and power over time.

What is known and what we chose stands with the laws (``mira_laws``: sizes, run times, projects) and the power
(``mira_power``). Here they come together. Jobs arrive in campaigns (``campaigns``: bursts of one key, more by day than
by night and on weekdays than at weekends); a campaign has a size, drawn by the law of sizes; a project that is active
on that day and likes that size submits it; its user and job name make the key, which recurs. Run times belong to the
key, and power to project, user and key. A project begins with a single job, a test, whatever the size of its first
campaign.

A *population* is a set of projects, the same for every seed, which draws campaigns, jobs and what differs between runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.generate.campaigns import BEFORE_S, campaigns, operational_s
from wattline.generate.laws import SEEDS, check_positive, require_jobs, stream
from wattline.generate.mira_laws import (
    MOST_NAMES,
    MOST_USERS,
    NODES,
    SHARES,
    SIZES,
    WITHIN,
    YEAR_DAYS,
    Projects,
    draw_projects,
    find_stretch,
    limited,
)
from wattline.generate.mira_power import MAX_W, RACK_KW, Keys, MiraPower, key_text
from wattline.model.jobs import JobTable
from wattline.reading.notes import Note, Trace
from wattline.reading.rows import Mask
from wattline.reading.series_column import mean_over_run
from wattline.units import DAY_S, in_full

JOBS_A_YEAR, TESTS = 24_565, 1.015
"""Jobs of the published year; so many more are drawn that as many are left when projects begin with one."""

LOAD = 0.86
"""Offered load of the default year, with which the published gains in utilization agree.

Jobs are in proportion to the load.

Under 4,000 kW a scheduler that reckons with 100 kW a rack fills at most 83.3 % of the machine, 3 points less than one
that learns.
"""

FULL_MACHINE = 0.001
"""About 25 runs of the whole machine a year.

They last 2.9 h on average, 0.8 % of the year: a share of 99 % under 3,000 kW allows no more.
"""

LARGE, LARGE_W, WHOLE_W = 8192, 78.0 / RACK_KW * MAX_W, 75.0 / RACK_KW * MAX_W
"""Runs of 8 racks and more draw at most 78 kW a rack on average, table I's 99 %: so many racks are not all extreme.

Runs of the whole machine draw at most 75 kW a rack: as published, they fit under a limit of 4,000 kW.
"""

CAMPAIGN_NODES, MOST_CAMPAIGN, GAP_S = 0.12, 6.0, 1200.0
"""Jobs of a campaign ask for this share of the machine together (1 to 6 jobs on average), one every 20 minutes."""

USUAL_NAME = 0.85
"""How often a user runs under the usual name of a size; else under any name of the project."""

_PROJECTS_KEY, _POWER_KEY = 0x4D, 0x50
_JOB_BYTES = 6_000
"""What a job takes while it is drawn: nearly a hundred values of power, a few times over."""

_AT_ONCE = 4096
"""Campaigns that are given to projects at once."""

LOAD_SLACK = 0.01
"""How far the load may miss the wanted one before that is mentioned."""


@dataclass(frozen=True)
class MiraLike:
    """``days`` of arrivals from 1 January, a Wednesday.

    ``load`` is the work that jobs bring, over what ``nodes`` can do in that time.

    ``full_machine``: share of jobs that take all 48 racks.
    """

    name: ClassVar[str] = "mira-like"

    days: float = YEAR_DAYS
    load: float = LOAD
    full_machine: float = FULL_MACHINE
    nodes: int | None = None
    seed: int = 1
    population: int = 1

    def __post_init__(self) -> None:
        check_positive(f"{self.name}: days", self.days)
        check_positive(f"{self.name}: load", self.load)
        if not 0 <= self.full_machine < 1:
            raise InputError(
                f"{self.name}: the share of full-machine jobs must be in [0, 1), got {in_full(self.full_machine)}"
            )
        if self.nodes is not None and self.nodes < NODES:
            raise InputError(f"{self.name}: its jobs need up to {NODES} nodes, got a machine of {self.nodes}")
        if not 0 <= self.population < SEEDS:
            raise InputError(f"{self.name}: populations count from 0 to {SEEDS - 1} (2^53 - 1), got {self.population}")


@dataclass(frozen=True)
class _Drawn:
    """Jobs in order of submission: when, which size (its place in ``SIZES``), and who runs what (numbers from 0)."""

    submit_s: Floats
    size: Ints
    project: Ints
    user: Ints
    name: Ints

    @property
    def key(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Index into what projects know of their keys."""
        return self.project, self.user, self.name, self.size


def generate_mira(law: MiraLike) -> Trace:
    """Draw the jobs of a machine like Mira, with their power over time."""
    jobs_per_s = TESTS * JOBS_A_YEAR / (YEAR_DAYS * DAY_S) * law.load / LOAD * (law.nodes or NODES) / NODES
    require_jobs((law.days * DAY_S + BEFORE_S) * jobs_per_s, _JOB_BYTES)
    random = stream(law.seed)
    projects = draw_projects(_philox(law.population, _PROJECTS_KEY), law.days)
    drawn = _draw(law, random, projects, jobs_per_s)
    if not drawn.submit_s.size:
        raise InputError(f"{law.name}: no job arrives in {in_full(law.days)} days")
    typical = np.sqrt(1.0 - WITHIN) * projects.key_score[drawn.key]
    score = typical + np.sqrt(WITHIN) * random.standard_normal(typical.size)
    scores = (drawn.size, typical, score, projects.key_margin[drawn.key])
    machine_s = (law.nodes or NODES) * law.days * DAY_S
    stretch = find_stretch(law.load * machine_s, *scores)
    work_s, request_s = limited(*scores, stretch)
    load = float((SIZES[drawn.size] * work_s).sum()) / machine_s
    columns = _names(drawn)
    keys = _keys(drawn, columns)
    most_w = np.where(SIZES == NODES, WHOLE_W, np.where(SIZES >= LARGE, LARGE_W, MAX_W))[drawn.size]
    power = MiraPower(law.population)
    series = power.series(keys, work_s, _philox(law.seed, _POWER_KEY), ranked=True, most_w=most_w)
    jobs = JobTable.build(
        submit_s=drawn.submit_s,
        work_s=work_s,
        request_s=request_s,
        nodes=SIZES[drawn.size],
        series=series,
        draw_w=mean_over_run(series, work_s),
        **columns,
    )
    header = {
        "Generator": law.name,
        "Seed": str(law.seed),
        "Population": str(law.population),
        "Days": f"{in_full(law.days)}",
        "Load": f"{in_full(law.load)}",
        "FullMachine": f"{in_full(law.full_machine)}",
        "Stretch": f"{in_full(stretch, 3)}",
    }
    return Trace(
        jobs, _missed(law, load, work_s.size), f"generated: {law.name}, seed {law.seed}", header, law.nodes or NODES
    )


def _missed(law: MiraLike, load: float, jobs: int) -> tuple[Note, ...]:
    if abs(load - law.load) <= LOAD_SLACK * law.load:
        return ()
    return (
        Note(
            "kept",
            f"offers load {in_full(load, 3)}, not {in_full(law.load)}: run times cannot be stretched so far",
            jobs,
            "",
        ),
    )


def _philox(number: int, key: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[number, key]))


def _draw(law: MiraLike, random: np.random.Generator, projects: Projects, jobs_per_s: float) -> _Drawn:
    """Draw campaigns of every size, give each to a project, a user and a name, and lay out their jobs."""
    time, campaign, size = _campaigns(law, random, jobs_per_s)
    begin = np.full(size.size, law.days * DAY_S)
    np.minimum.at(begin, campaign, time)
    project = _choose(random, projects, begin / DAY_S, size)
    one_of = np.floor(random.pareto(1.0, size.size)).astype(np.int64)  # the k-th with a chance of 1/(k (k + 1))
    user = np.minimum(one_of, projects.users[project] - 1)
    usual = random.random(size.size) < USUAL_NAME
    name = np.where(usual, user + size, random.integers(MOST_NAMES, size=size.size)) % projects.names[project]
    kept = _careful(campaign, begin, project)
    time, campaign = time[kept], campaign[kept]
    return _Drawn(time, size[campaign], project[campaign], user[campaign], name[campaign])


def _campaigns(law: MiraLike, random: np.random.Generator, jobs_per_s: float) -> tuple[Floats, Ints, Ints]:
    """Return the jobs' times in order and the campaign of each, and the size of every campaign."""
    real, operational = operational_s(law.days * DAY_S, 2)
    until = float(np.interp(law.days * DAY_S, real, operational))
    times: list[Floats] = []
    which: list[Ints] = []
    sizes: list[Ints] = []
    for size, share in enumerate(_shares(law).tolist()):
        mean = min(max(CAMPAIGN_NODES * NODES / int(SIZES[size]), 1.0), MOST_CAMPAIGN)
        moments, campaign = campaigns(random, jobs_per_s * share, mean, GAP_S, until)
        used, place = np.unique(campaign, return_inverse=True)
        times.append(moments)
        which.append(place + sum(s.size for s in sizes))
        sizes.append(np.full(used.size, size, dtype=np.int64))
    time = np.concatenate(times)
    order = np.argsort(time, kind="stable")
    return np.interp(time[order], operational, real), np.concatenate(which)[order], np.concatenate(sizes)


def _careful(campaign: Ints, begin: Floats, project: Ints) -> Mask:
    """Return which jobs to keep: of the first campaign of a project only the first one."""
    order = np.argsort(begin, kind="stable")
    firsts = order[np.unique(project[order], return_index=True)[1]]
    lead = np.zeros(campaign.size, dtype=np.bool_)
    lead[np.unique(campaign, return_index=True)[1]] = True
    return np.asarray(lead | ~np.isin(campaign, firsts))


def _shares(law: MiraLike) -> Floats:
    shares: Floats = SHARES / SHARES.sum() * (1.0 - law.full_machine)
    shares[-1] = law.full_machine
    return shares


def _choose(random: np.random.Generator, projects: Projects, day: Floats, size: Ints) -> Ints:
    draws = random.random(day.size)[:, None]
    chosen = np.empty(day.size, dtype=np.int64)
    for first in range(0, day.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        edges = np.cumsum(projects.chances(day[part], size[part]), axis=1)
        chosen[part] = np.minimum((edges < draws[part]).sum(axis=1), len(projects) - 1)
    return chosen


def _names(drawn: _Drawn) -> dict[str, Any]:
    """Return the columns of names: projects as groups, their users, and their job names as kinds; those that occur."""
    found: dict[str, Any] = {}
    for column, plural, code, per, text in (
        ("group", "groups", drawn.project, 1, "p{0:03}"),
        ("user", "users", drawn.project * MOST_USERS + drawn.user, MOST_USERS, "p{0:03}u{1}"),
        ("kind", "kinds", drawn.project * MOST_NAMES + drawn.name, MOST_NAMES, "p{0:03}-run{1}"),
    ):
        used, place = np.unique(code, return_inverse=True)
        found |= {column: place, plural: [text.format(int(c) // per + 1, int(c) % per + 1) for c in used]}
    return found


def _keys(drawn: _Drawn, columns: dict[str, Any]) -> Keys:
    code = ((drawn.project * MOST_USERS + drawn.user) * MOST_NAMES + drawn.name) * SIZES.size + drawn.size
    _, one, place = np.unique(code, return_index=True, return_inverse=True)
    groups, users, kinds = columns["groups"], columns["users"], columns["kinds"]
    group, user, kind, nodes = columns["group"][one], columns["user"][one], columns["kind"][one], SIZES[drawn.size[one]]
    texts = [
        key_text(groups[g], users[u], kinds[k], n) for g, u, k, n in zip(group, user, kind, nodes.tolist(), strict=True)
    ]
    return Keys(columns["group"], columns["user"], place, groups, users, texts)
