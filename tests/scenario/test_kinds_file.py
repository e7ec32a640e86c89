"""Kinds of job from a file: jobs are matched by name, keep what is their own, and take the rest from their kind."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.parts import build_kinds
from wattline.wiring.subjects.regulation import kind_codes

KINDS = """name,nodes,work_s,draw_w,floor_w,stretch,limit,share,arrival_per_s
a@2,2,100,250,200,1.5,2,0.1,0.001
b@1,1,50,300,150,2,,,0.002
"""
JOBS = """submit_s,work_s,nodes,kind,draw_w,floor_w,stretch
0,100,2,a@2,,,
1,400,2,a@2,240,220,1.25
2,70,1,b@1,,,
"""
TEXT = """kinds = "k.kinds.csv"
[trace]
file = "jobs.csv"
[cluster]
nodes = 8
idle = "50 W"
max = "300 W"
"""


def study(folder: Path, text: str = TEXT, *overrides: str) -> Study:
    """Write and wire a scenario with its log and kinds."""
    (folder / "k.kinds.csv").write_text(KINDS)
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml", overrides))[0])


def test_jobs_keep_their_own_time_and_power(tmp_path: Path) -> None:
    """A job's run time is its own, its power too where the log has one; energies are those of each job by itself."""
    wired = study(tmp_path)
    assert wired.trace.jobs.draw_w.tolist() == [250.0, 240.0, 300.0]
    assert wired.trace.jobs.floor_w.tolist() == [200.0, 220.0, 150.0]
    assert wired.trace.jobs.stretch.tolist() == [1.5, 1.25, 2.0]
    assert wired.cluster.classes[0].min_cap_w == 150.0
    wired.write(wired.simulate(), tmp_path / "j")
    jobs = pl.read_parquet(tmp_path / "j" / "jobs.parquet")
    assert jobs["runtime_s"].to_list() == [100.0, 400.0, 70.0]
    assert jobs["energy_j"].to_list() == pytest.approx([2 * 250 * 100, 2 * 240 * 400, 300 * 70])


def test_capped_jobs_of_one_kind_keep_their_own_profiles(tmp_path: Path) -> None:
    """Under the lowest caps two jobs of a kind with unlike profiles take the times and the energies of their own
    profiles.
    """
    text = (
        TEXT
        + """[policy]
select = "in-order"
cap = "match-target"
[regulation]
mean = "401 W"
reserve = "0.001 W"
until = "1 h"
"""
    )
    wired = study(tmp_path, text)
    wired.write(wired.simulate(), tmp_path / "j")
    jobs = pl.read_parquet(tmp_path / "j" / "jobs.parquet")
    assert jobs["runtime_s"].to_list() == pytest.approx([150.0, 500.0, 140.0], abs=2.0)  # the first second is uncapped
    assert jobs["energy_j"].to_list() == pytest.approx([2 * 200 * 150, 2 * 220 * 500, 150 * 140], rel=0.01)


def test_limits_and_weights(tmp_path: Path) -> None:
    """A limit or share for all kinds of a file replaces those in it; kinds without weights get equal ones."""
    wired = study(tmp_path, TEXT.replace('"k.kinds.csv"', '{file = "k.kinds.csv", limit = 3.5, share = 0.2}'))
    assert [(k.limit, k.share, k.weight) for k in wired.options.kinds] == [(3.5, 0.2, 0.5)] * 2
    (tmp_path / "k.kinds.csv").write_text("name,nodes,work_s,draw_w,weight\na@2,2,100,250,0.3\nb@1,1,50,300,0.7\n")
    kinds = build_kinds(read_scenario(tmp_path / "s.toml"), 8)
    assert [k.weight for k in kinds] == [0.3, 0.7]


def test_kinds_of_a_file_may_be_drawn(tmp_path: Path) -> None:
    """``generator = "kinds"`` draws jobs of a file's kinds at its rates."""
    wired = study(tmp_path, TEXT.replace('file = "jobs.csv"', 'generator = "kinds"\nduration = "50 h"'))
    jobs = wired.trace.jobs
    assert jobs.kinds == ("a@2", "b@1")
    assert (jobs.kind == 0).sum() == pytest.approx(180, abs=4 * 180**0.5)
    assert (jobs.kind == 1).sum() == pytest.approx(360, abs=4 * 360**0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("k.kinds", "q.kinds"), r"s.toml:1: \[kinds\] file: no such file: .*q.kinds.csv"),
        (
            TEXT.replace("nodes = 8", "nodes = 1"),
            r"s.toml:1: .*k.kinds.csv: kind 'a@2' needs 2 nodes, the cluster has 1",
        ),
        (TEXT.replace('"300 W"', '"260 W"'), r"kind 'b@1' draws 300 W a node, \[cluster\] max allows 260 W; raise max"),
        (
            TEXT.replace('"k.kinds.csv"', '{file = "k.kinds.csv", workload = "W4"}'),
            "exactly one of 'workload' and 'file'",
        ),
        (TEXT.replace('"k.kinds.csv"', '{file = "k.kinds.csv", scale = 2}'), "scale: goes with a published workload"),
        (
            TEXT + '[[kind]]\nname = "c"\nnodes = 1\ntime = 9\npower = "200 W"\nweight = 0.5\n',
            "must sum to 1, they sum to 0.5",
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A missing file, kinds too large or too hot for the machine, and keys that do not go together are said with their
    line.
    """
    with pytest.raises(InputError, match=said):
        study(tmp_path, text)


def test_a_mistake_in_a_file_is_said_once_where_jobs_are_drawn_from_it(tmp_path: Path) -> None:
    """Where jobs are drawn from kinds too, the error names the line of `kinds` and of the file, and nothing else."""
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "k.kinds.csv").write_text(KINDS.replace("b@1,1", "b@1,x"))
    (tmp_path / "s.toml").write_text(TEXT.replace('file = "jobs.csv"', 'generator = "kinds"'))
    with pytest.raises(InputError) as caught:
        wire(variants(read_scenario(tmp_path / "s.toml"))[0])
    assert "[trace]" not in str(caught.value)
    assert "trace: " not in str(caught.value)
    assert "k.kinds.csv:3: field 'nodes': expected a whole number (got 'x')" in str(caught.value)


def test_a_weight_of_the_scenario_needs_those_of_the_file(tmp_path: Path) -> None:
    """Weights of a file and of the scenario are one set: together they must sum to 1."""
    more = '[[kind]]\nname = "c"\nnodes = 1\ntime = 9\npower = "200 W"\nweight = 1.0\n'
    study(tmp_path)
    (tmp_path / "k.kinds.csv").write_text("name,nodes,work_s,draw_w,weight\na@2,2,100,250,0.3\nb@1,1,50,300,0.7\n")
    (tmp_path / "s.toml").write_text(TEXT + more)
    with pytest.raises(InputError, match="must sum to 1, they sum to 2"):
        build_kinds(read_scenario(tmp_path / "s.toml"), 8)


def test_jobs_that_are_not_what_their_kind_says_are_counted(tmp_path: Path) -> None:
    """Another number of nodes, or power beyond what caps do to the kind, is a note; pools mix nodes by their nature."""
    assert not study(tmp_path).trace.notes
    (tmp_path / "k.kinds.csv").write_text(KINDS + "*@5-8,6,100,250,200,1.5,2,0.1,0.001\n")
    (tmp_path / "jobs.csv").write_text(
        JOBS + "3,100,3,a@2,,,\n4,100,4,a@2,400,,\n5,100,2,a@2,100,,\n6,100,7,*@5-8,,,\n"
    )
    notes = wire(variants(read_scenario(tmp_path / "s.toml"))[0]).trace.notes
    assert [(n.action, n.reason, n.count, n.example) for n in notes] == [
        ("kept", "asks for other nodes than its kind has", 2, "job 4 of kind 'a@2': 3, not 2"),
        ("kept", "draws 10% more or less than its kind can", 2, "job 5 of kind 'a@2': 400, not 250"),
    ]


def test_a_hundred_thousand_kinds_are_found_by_name() -> None:
    """Matching takes one look at every kind, and an unknown one is answered with a few of those that are declared."""
    kinds = [Kind(f"k{i}", 1, 60.0, 100.0, 100.0) for i in range(100_000)]
    jobs = JobTable.build(submit_s=[0, 1], work_s=[1, 1], nodes=[1, 1], kind=[0, 1], kinds=["k99999", "k17"])
    began = time.process_time()
    assert kind_codes(jobs, kinds).tolist() == [99_999, 17]
    assert time.process_time() - began < 10
    with pytest.raises(
        InputError, match=r"kind 'lu@4' of the jobs is not declared; declared are k0, .* and 99,992 more"
    ):
        kind_codes(jobs.with_columns(kinds=("lu@4", "k17")), kinds)
    with pytest.raises(InputError, match="kind 'k0' is declared twice"):
        kind_codes(jobs, [*kinds, kinds[0]])
