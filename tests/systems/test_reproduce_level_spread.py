"""The quick reproduction of Level-Spread, its workloads, and how cases are counted."""

from __future__ import annotations

import json

import numpy as np
import pytest
from systems_statements import check_rows, check_statements

from wattline.systems import reproduce
from wattline.systems.level_spread import study as level_spread_study
from wattline.systems.level_spread.cases import (
    LARGE,
    LEVEL_SPREAD,
    PATTERNS,
    POLICIES,
    SMALL,
    Scale,
    Setting,
    jobs_of,
    settings,
)
from wattline.systems.level_spread.points import standing
from wattline.systems.level_spread.study import Found, Task, carry_out, communicate, place
from wattline.systems.reproduction import Reproduction
from wattline.systems.work import Work

QUICK_HOPS = 100e6
"""Packet-hops of the quick one, at most: 25 s at four million a second, which ``scripts/bench`` asks of the engine."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction, made in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(level_spread_study, "FEW", 1000)
        return reproduce("level-spread", tmp_path_factory.mktemp("level"), Work(), quick=True)


def test_the_quick_one_says_what_it_found(found: Reproduction) -> None:
    """At both crossbar speeds Level-Spread is strictly better often and strictly worse seldom; the page has the
    figures.
    """
    by = {(claim.where, claim.short): claim for claim in found.claims}
    for crossbar in ("crossbar 4", "crossbar 1"):
        for short in ("59 % strictly better", "3 % strictly worse", "−16 % on average", "16-node jobs: −15 to −89 %"):
            assert by[crossbar, short].holds, by[crossbar, short]
    assert by["variants", "Slurm: first fit as best fit"].holds
    page = found.path.read_text(encoding="utf-8")
    for figure in (
        "3.2",
        "3.3",
        "3.4(a)",
        "3.4(b)",
        "3.5",
        "3.6",
        "3.7(a)",
        "3.7(b)",
        "3.9",
        "3.10",
        "3.11",
        "3.12",
        "3.13",
    ):
        assert f"(Fig. {figure})" in page
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_tables_for_the_documentation(found: Reproduction) -> None:
    """By crossbar speed and order, a row for all baselines together and for each; every statement is told once."""
    standing = found.tables["standing-4-small-first"]
    assert [row[0] for row in standing.rows][:2] == ["seven baselines", "Simple"]
    assert all(len(row) == len(standing.header) for row in standing.rows)
    assert found.tables["ours-4-small-first"].header[0] == "Least-Contention against"
    alone, mixed = found.tables["alone-64"], found.tables["mixed"]
    assert alone.header == ("64-node jobs", "all-to-all", "halo3d")
    assert [row[0] for row in alone.rows][:3] == [LEVEL_SPREAD, "Slurm", "RDG"]
    assert [row[0] for row in mixed.rows][:3] == ["Simple", "Slurm", "RDG"]
    times = found.numbers[str(Setting("64", pattern="halo3d"))]["time_us"]
    assert float(alone.rows[0][2].split()[0]) == pytest.approx(
        times[LEVEL_SPREAD]["large"][0] / times["Simple"]["large"][0], abs=0.006
    )
    assert all(len(row) == len(table.header) for table in (alone, mixed) for row in table.rows)
    told = [(claim.where, claim.statement) for claim in found.claims]
    assert len(told) == len(set(told))
    assert all(claim.holds or len(claim.because) > 10 for claim in found.claims)


def test_numbers_tell_of_every_policy(found: Reproduction) -> None:
    """By setting there are mean times with intervals for every policy, and how Level-Spread stands."""
    plain = found.numbers[str(Setting())]
    assert set(plain["time_us"]) == set(POLICIES)
    mean, low, high = plain["time_us"]["RDN"]["small"]
    assert 0 < low < mean < high
    assert plain["standing"]["baselines"]["better"][0] > plain["standing"]["baselines"]["worse"][0]
    assert plain["runs"] < plain["workloads"] * len(POLICIES)  # what is placed alike runs once
    assert sum(entry["packet_hops"] for entry in found.numbers.values()) < QUICK_HOPS


@pytest.mark.parametrize("seed", range(40))
def test_random_workloads_follow_the_rules(seed: int) -> None:
    """Large jobs have 17 to 136 nodes, small ones 2 to 16, all fit the machine; a seed makes one workload, in either
    order.
    """
    jobs, late = jobs_of(Setting(), seed), jobs_of(Setting(large_first=True), seed)
    small, large = ({job.nodes for job in jobs if job.size == size} for size in (SMALL, LARGE))
    assert len(small) == len(large) == 1
    assert small <= set(range(2, 17))
    assert large <= set(range(17, 137))
    assert sum(job.nodes for job in jobs) <= 272
    assert {job.pattern for job in jobs} <= set(PATTERNS)
    assert sorted(jobs, key=str) == sorted(late, key=str)
    assert (jobs[0].size, late[0].size) == (SMALL, LARGE)
    assert [job.nodes for job in jobs_of(Setting(pattern="fft3d"), seed)] == [job.nodes for job in jobs]


def test_random_workloads_reach_all_sizes() -> None:
    """Over many seeds every size of small and of large jobs occurs, and so does every pattern."""
    jobs = [job for seed in range(3000) for job in {j.size: j for j in jobs_of(Setting(), seed)}.values()]
    assert {job.nodes for job in jobs} == set(range(2, 137))
    assert {(job.pattern, job.size) for job in jobs} == {(p, s) for p in PATTERNS for s in (SMALL, LARGE)}


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (Setting("16", 1056), {16: 59}),  # ⌊1056 × 90 % / 16⌋, the thesis's example
        (Setting("64"), {64: 3}),
        (Setting("64", used=0.7), {64: 2}),
        (Setting("16+64"), {16: 3, 64: 3}),
        (Setting("16+64", 1056), {16: 11, 64: 11}),
        (Setting("quarter", 528), {132: 4}),
        (Setting("17x16"), {16: 17}),
        (Setting("3x16+3x64"), {16: 3, 64: 3}),
    ],
    ids=str,
)
def test_fixed_workloads(setting: Setting, expected: dict[int, int]) -> None:
    """As many jobs as fit into the share of the machine that is used, or as many as are named."""
    nodes = [job.nodes for job in jobs_of(setting, 0)]
    assert {n: nodes.count(n) for n in nodes} == expected


def test_the_study_covers_what_was_published() -> None:
    """Both orders and speeds, four machines, three ratios, both message sizes and uses, single patterns and mixes are
    in it.
    """
    todo = settings(Scale())
    for crossbar, random in ((4.0, 1000), (1.0, 100)):
        assert todo[Setting(crossbar=crossbar)] == todo[Setting(crossbar=crossbar, large_first=True)] == random
        for pattern in PATTERNS:
            assert todo[Setting(crossbar=crossbar, pattern=pattern)] == 40
            for ratio in (0.25, 1.0, 4.0):
                assert todo[Setting("64", ratio=ratio, crossbar=crossbar, pattern=pattern)] == 10
    assert {s.machine for s in todo if s.workload == "quarter"} == {272, 544, 528, 1056}
    assert {(s.small_kib, s.large_kib) for s in todo} == {(1, 1), (1, 100), (100, 1), (100, 100)}
    assert {s.used for s in todo} == {0.9, 0.7}


def test_policies_meet_the_same_workload() -> None:
    """Task mappings do not depend on the policy: a job on the same nodes has the same mapping, and a run can be
    repeated.
    """
    setting = Setting("3x16+3x64", pattern="halo3d")
    jobs = jobs_of(setting, 0)
    network = setting.network()
    placed = place("Simple", network, jobs, 7)
    again = communicate(setting, jobs, placed, 7).communication_s
    np.testing.assert_array_equal(communicate(setting, jobs, placed, 7).communication_s, again)
    made = carry_out(Task(setting, range(1)))
    one = communicate(setting, jobs, place("Simple", network, jobs, 0), 0).communication_s
    assert made.of("Simple", SMALL)[0] == one[:3].mean()
    assert made.of("Simple", LARGE)[0] == one[3:].mean()


def test_level_spread_groups_small_and_spreads_large_jobs() -> None:
    """16-node jobs get a group each, 64-node jobs nodes of every group that has some left."""
    setting = Setting("16+64")
    placed = place(LEVEL_SPREAD, setting.network(), jobs_of(setting, 0), 0)
    groups = [np.unique(setting.network().group_of(nodes)).size for nodes in placed]
    assert groups[:3] == [1, 1, 1]
    assert min(groups[3:]) == 14


def test_cases_are_counted_by_policy_and_workload() -> None:
    """Strictly better is better for both sizes; ties are neither; reductions are relative to the other policy."""
    time_s = np.ones((len(POLICIES), 2, 2))
    order = list(POLICIES)
    time_s[order.index("Simple")] = [[2.0, 2.0], [2.0, 0.5]]  # better for both; better for small jobs only
    time_s[order.index("RDN")] = [[0.5, 0.5], [1.0, 2.0]]  # worse for both; a tie for small jobs
    none = np.zeros((len(POLICIES), 2, 3, 6))
    found = Found(time_s, none, none, none, 0.0, 0, 0)
    simple, rdn = (standing(found, (name,)) for name in ("Simple", "RDN"))
    assert (simple.better.mean, simple.worse.mean, simple.only_small.mean, simple.only_large.mean) == (
        0.5,
        0.0,
        0.5,
        0.0,
    )
    assert (rdn.better.mean, rdn.worse.mean, rdn.only_large.mean) == (0.0, 0.5, 0.5)
    assert simple.of_small.mean == 0.5
    assert simple.of_large.mean == pytest.approx(-0.25)  # half the time of one, twice that of the other
    assert simple.best == 0.5
    assert standing(found, ("Simple", "RDN")).better.mean == 0.25


def test_the_document_shows_what_comes_out(found: Reproduction) -> None:
    """Statements word for word, and the rows of every table that a smaller run has."""
    check_statements(found)
    check_rows(found)
