"""Power limits and learned profiles in scenarios: what is refused, what is loaded and saved, what a report is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wattline as wl
from wattline.errors import InputError, ScenarioError, StuckError, WattlineError
from wattline.formats.tables.profiles import read_profiles, write_profiles
from wattline.journal.journal import open_journal
from wattline.report.count.metrics import Summary, summarize
from wattline.scenario import read_scenario, variants, wire
from wattline.scenario.sections.profiles import LearnedFiles

TEXT = """\
name = "capped"

[trace]
generator = "poisson"
jobs = 80
load = 0.9
type = [{name = "a", nodes = 2, mean = "2 h"}, {name = "b", nodes = 5, mean = "1 h"}]

[cluster]
nodes = 8
idle = "10 W"
max = "100 W"

[policy]
select = "window"
profile = "t-test"

[profiles]
levels = [["kind", "nodes"]]
sample = "1 min"

[limit]
power = "600 W"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small machine under a limit that learns from samples by the minute."""
    (tmp_path / "s.toml").write_text(TEXT)
    return tmp_path / "s.toml"


def run(scenario: Path, *sets: str) -> Summary:
    """Run a scenario and return its numbers."""
    study = wire(variants(read_scenario(scenario, sets))[0])
    study.write(study.simulate(), scenario.parent / "j")
    return summarize(open_journal(scenario.parent / "j"))


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ("profiles.levels=[]", "[profiles] levels: expected at least one list of columns, got an empty list"),
        ("profiles.levels=[[]]", "[profiles] levels: a level must name at least one column, got an empty list"),
        ('profiles.levels=[["user", "user"]]', "[profiles] levels: a level names a column once, got 'user' twice"),
        (
            'profiles.levels=[["user", "kind"], ["kind", "user"]]',
            "[profiles] levels: the level kind + user is there already: leave it out",
        ),
        ('profiles.save="folder.parquet"', "folder.parquet is a folder: give the name of a file"),
        (
            "policy.cap=under-limit",
            "[policy] cap: 'under-limit' lowers caps, but no job can be capped: give min_cap",
        ),
        ('profiles.save="p.txt"', "[profiles] save: end the name in .parquet, got 'p.txt'"),
        ('profiles.save="no/p.parquet"', "[profiles] save: there is no folder"),
        ("limit.power=79 W", "[limit] power: 79 W at most, but all nodes at rest draw 80 W: no job could ever start"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_run(scenario: Path, sets: str, said: str) -> None:
    """One line names the key, the value and what to do."""
    (scenario.parent / "folder.parquet").mkdir()
    with pytest.raises(ScenarioError) as caught:
        wire(variants(read_scenario(scenario, [sets]))[0])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_repeated_limit_lets_the_last_job_see_all_its_steps(tmp_path: Path) -> None:
    """The last job fits while the limit is off, which comes again the next day, long after twice the trace's span."""
    trace = wl.from_frame({"submit_s": [0.0, 5400.0], "work_s": [600.0, 600.0], "nodes": [1, 4]})
    limit = {"limit.steps": [["0 s", "off"], ["1 h", "700 W"]], "limit.repeat": "1 d"}
    result = wl.simulate(trace, wl.Machine(nodes=4, idle=50, max=300), settings=limit, progress=False)
    assert result.jobs["start_s"].to_list() == [0.0, 86400.0]
    backlog = wl.from_frame({"submit_s": [0.0] * 4, "work_s": [3600.0, 3600.0, 3600.0, 5.0], "nodes": [3, 3, 3, 4]})
    short = {"limit.steps": [["0 s", "1200 W"], ["30 s", "1000 W"]], "limit.repeat": "1 h"}
    with pytest.raises(StuckError, match=r"the limit stays at 1 kW from .*, since its steps repeat for 2 h only"):
        wl.simulate(backlog, wl.Machine(nodes=4, idle=50, max=300), settings=short, progress=False)


def test_a_repetition_beside_the_machine_is_not_blamed_for_its_limit() -> None:
    """What shares a site repeats its steps day by day; the machine's own limit falls once, and stays."""
    parts = [
        {"name": "site", "limit": "9 kW"},
        {"name": "machine", "parent": "site", "limit": "5 kW", "steps": [["1 h", "1 kW"]], "system": True},
        {"name": "office", "parent": "site", "limit": "2 kW", "steps": [["8 h", "1 kW"]], "repeat": "1 d"},
    ]
    late = wl.from_frame({"submit_s": [0.0, 7200.0], "work_s": [600.0, 600.0], "nodes": [1, 8]})
    with pytest.raises(StuckError, match=r"the limit stays at 1 kW from 1 h after the start on, and the deadlock rule"):
        wl.simulate(late, wl.Machine(nodes=10, idle=10, max=500), settings={"budget": parts}, progress=False)


def test_levels_say_what_a_node_draws() -> None:
    """Without max it is the busy power of the fastest level, not a default: a job that says 150 W draws 150 W there."""
    levels = [{"rate": 0.5, "busy": 100, "idle": 10}, {"rate": 1, "busy": 200, "idle": 20}]
    jobs = wl.from_frame({"submit_s": [0.0, 200.0], "work_s": [100.0, 100.0], "nodes": [1, 1], "draw_w": [150.0, None]})
    result = wl.simulate(jobs, wl.Machine(nodes=2, levels=levels), progress=False)
    assert result.jobs["energy_j"].to_list() == [15_000.0, 20_000.0]
    faster = [{"rate": 1, "busy": 300, "idle": 40}, {"rate": 2, "busy": 500, "idle": 50}]
    given = [
        wl.simulate(jobs, wl.Machine(nodes=2, levels=faster, **more), progress=False) for more in ({}, {"max": 300})
    ]
    for played in given:
        assert played.jobs["energy_j"].to_list() == pytest.approx([50 * 250.0, 50 * 500.0])
    slow = [{"rate": 0.5, "busy": 100, "idle": 10}]
    result = wl.simulate(jobs, wl.Machine(nodes=2, max=200, levels=slow), progress=False)
    assert result.jobs["energy_j"].to_list() == [200 * 75.0, 200 * 100.0]


def test_a_limit_below_rest_for_a_while_is_meant(scenario: Path) -> None:
    """Only a limit under which no job could ever start is refused; sleeping nodes rest deeper."""
    text = scenario.read_text().replace('power = "600 W"', 'steps = [["0 s", "50 W"], ["1 h", "600 W"]]')
    scenario.write_text(text)
    assert run(scenario).jobs.finished == 80
    scenario.write_text(text.replace('["1 h", "600 W"]', '["1 h", "70 W"]'))
    with pytest.raises(ScenarioError, match=r"\[limit\] steps: 70 W at most"):
        wire(variants(read_scenario(scenario, []))[0])
    scenario.write_text(
        text.replace('["1 h", "600 W"]', '["1 h", "70 W"]').replace(
            'max = "100 W"', 'max = "100 W"\nsleep = {power = "1 W", after = "1 min"}'
        )
    )
    wire(variants(read_scenario(scenario, []))[0])


def test_waiting_for_a_limit_that_never_comes_ends_with_a_line(scenario: Path) -> None:
    """Where a job never fits and the rule is to wait, the run ends and names the job, its power and the rule."""
    with pytest.raises(
        StuckError,
        match=r"job \d+ needs \d+ W, the limit stays at 400 W from the start on, and the deadlock rule is to wait",
    ):
        run(scenario, "limit.power=400 W", "policy.profile=maximum")
    found = run(scenario, "limit.power=400 W", "policy.profile=maximum", "limit.deadlock=exceed")
    assert found.capping is not None
    assert found.jobs.finished == 80
    assert found.capping.deadlock_starts > 0


def test_profiles_are_saved_and_loaded(scenario: Path) -> None:
    """What a run saves makes the next one know its jobs from the first on; how much was of use is noted."""
    first = run(scenario, "profiles.save=p.parquet")
    assert first.learning is not None
    assert read_profiles(scenario.parent / "p.parquet").learner == "t-test"
    again = run(scenario, "profiles.load=p.parquet", "seed=2")
    assert again.learning is not None
    assert again.learning.known == 1.0 > first.learning.known
    notes = open_journal(scenario.parent / "j").manifest["trace"]["notes"]
    assert [(n["count"], n["example"]) for n in notes if "profiles" in n["reason"]] == [(2, "2 in p.parquet")]


def test_profiles_without_a_job_are_kept(scenario: Path) -> None:
    """A file that stands for load and save, month after month, keeps the profiles of those who were not there."""
    run(scenario, "profiles.save=p.parquet")
    first = read_profiles(scenario.parent / "p.parquet")
    stranger = (first.labels[0][0], tuple("somebody else" for _ in first.labels[0][1]))
    more = replace(first, labels=(*first.labels, stranger), rows=np.vstack([first.rows, first.rows[:1]]))
    write_profiles(scenario.parent / "p.parquet", more)
    run(scenario, "profiles.load=p.parquet", "profiles.save=p.parquet", "seed=2")
    after = read_profiles(scenario.parent / "p.parquet")
    rows = dict(zip(after.labels, after.rows, strict=True))
    assert rows.keys() == {*first.labels, stranger}
    np.testing.assert_array_equal(rows[stranger], first.rows[0])
    assert not np.array_equal(rows[first.labels[0]], first.rows[0])


def test_profiles_of_a_run_that_was_killed_behind_its_journal_are_saved_by_resume(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is written, the profiles are not: whoever resumes the run gets them."""
    study = wire(variants(read_scenario(scenario, ["profiles.save=p.parquet"]))[0])
    result, journal, saved = study.simulate(), scenario.parent / "j", scenario.parent / "p.parquet"
    with monkeypatch.context() as killed:
        killed.setattr(LearnedFiles, "leave", lambda *_: False)
        study.write(result, journal)
    assert not saved.exists()
    assert study.learned.leave(journal)
    assert read_profiles(saved).labels
    assert not study.learned.leave(journal)
    with monkeypatch.context() as killed:
        killed.setattr(LearnedFiles, "leave", lambda *_: False)
        study.write(result, journal)
    saved.unlink()
    study.write(replace(result, stopped="interrupted"), journal)  # started over, and interrupted
    assert not study.learned.leave(journal)
    assert not [path for path in saved.parent.iterdir() if path.name.startswith(".p.parquet")]
    full = replace(study, learned=replace(study.learned, save=scenario.parent / "q.parquet"))
    (scenario.parent / "no").write_text("a file")
    with pytest.raises(WattlineError):
        full.write(result, scenario.parent / "no" / "j")
    assert not [path for path in saved.parent.iterdir() if "q.parquet" in path.name]


def test_an_interrupted_run_saves_nothing(scenario: Path) -> None:
    """Who loads and saves one file and is interrupted begins again with what was there before."""
    study = wire(variants(read_scenario(scenario, ["profiles.save=p.parquet"]))[0])
    result = study.simulate()
    study.write(replace(result, stopped="interrupted"), scenario.parent / "j")
    assert not (scenario.parent / "p.parquet").exists()
    study.write(result, scenario.parent / "j")
    assert read_profiles(scenario.parent / "p.parquet").labels


def test_profiles_of_another_learner_are_refused(scenario: Path) -> None:
    """The file is named; its profiles are of no use to another learner or with other levels."""
    run(scenario, "profiles.save=p.parquet")
    with pytest.raises(
        InputError, match=r"p\.parquet: profiles of 't-test' are of no use to the profile policy 'pooled'"
    ):
        run(scenario, "profiles.load=p.parquet", "policy.profile=pooled")
    with pytest.raises(InputError, match=r"p\.parquet: profiles by kind\+nodes, the run has user"):
        run(scenario, "profiles.load=p.parquet", 'profiles.levels=[["user"]]')


def test_histograms_of_other_nodes_are_refused(scenario: Path) -> None:
    """Shares of 100 W mean nothing to nodes of 200 W; powers in watts do."""
    run(scenario, "profiles.save=q.parquet", "policy.profile=quantile")
    kept = read_profiles(scenario.parent / "q.parquet")
    assert kept.max_w == (100.0,) == kept.merge(kept).max_w
    with pytest.raises(InputError, match=r"q\.parquet: profiles of 'quantile' are shares .* was 100 W and is 200 W"):
        run(scenario, "profiles.load=q.parquet", "policy.profile=quantile", "cluster.max=200 W")
    with pytest.raises(InputError, match="was 100 W and is 200 W"):
        kept.merge(replace(kept, max_w=(200.0,)))
    run(scenario, "profiles.load=q.parquet", "policy.profile=quantile")
    run(scenario, "profiles.save=p.parquet")
    run(scenario, "profiles.load=p.parquet", "cluster.max=200 W", "limit.power=1.5 kW")


def test_the_manifest_tells_what_reports_need(scenario: Path) -> None:
    """Periods, levels and rules are in the manifest, and the report takes its grids from there."""
    found = run(scenario, "run.tick=20 s", "run.passes=ticks", "limit.deadlock=exceed", "limit.preempt=true")
    assert open_journal(scenario.parent / "j").manifest["power"] == {
        "tick_s": 20.0,
        "sample_s": 60.0,
        "passes": "ticks",
        "levels": [["kind", "nodes"]],
        "deadlock": "exceed",
        "preempt": True,
        "decisions": True,
    }
    assert found.capping is not None
    assert (found.capping.quantum_s, found.capping.sample_s) == (20.0, 60.0)
    assert found.learning is not None
    assert [row.name for row in found.learning.levels] == ["own", "maximum", "doubted"]
    assert sum(row.errors.jobs for row in found.learning.levels) == 80


def test_caps_need_nodes_or_jobs_that_can_be_capped(tmp_path: Path) -> None:
    """Jobs with floors of their own are capped on nodes of which nobody says how low caps go; without any the scenario
    is refused.
    """
    path = tmp_path / "capped.toml"
    path.write_text(
        '[trace]\nfile = "jobs.csv"\n[cluster]\nnodes = 2\nidle = "100 W"\nmax = "300 W"\n'
        '[policy]\ncap = "under-limit"\n[limit]\nsteps = [["0 s", "600 W"], ["10 s", "400 W"]]\n'
    )
    rows = "submit_s,work_s,nodes,draw_w,floor_w,stretch\n" + "0,100,1,300,150,1.5\n" * 2
    (tmp_path / "jobs.csv").write_text(rows)
    result = wire(variants(read_scenario(path, []))[0]).simulate()
    assert result.state.end_s.tolist() == [130.0, 130.0]
    (tmp_path / "jobs.csv").write_text("submit_s,work_s,nodes\n0,100,1\n")
    with pytest.raises(InputError, match=r"no job can be capped: give min_cap in \[cluster\], or the jobs a floor"):
        run(path)
