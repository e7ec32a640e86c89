"""Sweeps: every combination once, keys that replace what excludes them, rows that survive a kill."""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import wattline as wl
from wattline.api.sweeps import places, work
from wattline.api.sweeps import sweep as sweeps
from wattline.api.sweeps.places import find_where
from wattline.journal.kept import KEPT
from wattline.scenario.sections.sweep import Varied, read_vary, vary

SCENARIO = """\
name = "small"
seed = 4
[trace]
generator = "lublin"
jobs = 40
load = 0.8
[cluster]
nodes = 16
idle = "100 W"
max = "300 W"
"""
STEPS = '[limit]\nsteps = [["0 s", "3 kW"], ["1 h", "4 kW"]]\nrepeat = "1 d"\ndeadlock = "exceed"\n'


@pytest.fixture
def study(tmp_path: Path) -> wl.Study:
    """Return a study of forty jobs."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    return wl.load(tmp_path / "s.toml")


keys = st.dictionaries(
    st.sampled_from("abcde"), st.lists(st.integers(), min_size=1, max_size=4, unique=True), max_size=4
)


@given(keys)
def test_settings_are_all_combinations_in_the_order_of_the_keys(values: dict[str, list[int]]) -> None:
    """Settings are what nested loops give, the last key changing first."""
    varied = vary(values)
    expected = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
    assert list(varied.settings()) == expected
    assert varied.count == len(expected)


@given(st.integers(1, 5), st.integers(1, 4))
def test_zipped_keys_move_together(count: int, others: int) -> None:
    """Two keys that are zipped make as many settings as one of them; every value occurs where they are looked at one by
    one.
    """
    varied = vary({"a": range(count), "x": range(others), "b": range(10, 10 + count)}, [("a", "b")])
    found = list(varied.settings())
    assert len(found) == varied.count == count * others
    assert all(setting["b"] == setting["a"] + 10 for setting in found)
    assert list(found[0]) == ["a", "x", "b"]
    seen = list(varied.one_by_one())
    assert {s["a"] for s in seen} == set(range(count))
    assert {s["x"] for s in seen} == set(range(others))
    assert all(setting["b"] == setting["a"] + 10 for setting in seen)
    assert len(seen) == count + others - 1


@pytest.mark.parametrize(
    ("text", "key", "values"),
    [
        ("limit.power=off,30 kW,40 kW", "limit.power", ["off", "30 kW", "40 kW"]),
        ("trace.load=0.6:1.0:0.1", "trace.load", [0.6, 0.7, 0.8, 0.9, 1.0]),
        ("cluster.nodes=10:4:-3", "cluster.nodes", [10, 7, 4]),
        ("n=1,2.5,true", "n", [1, 2.5, True]),
        (
            'policy.select=easy,{name="slackline", stop=0.9}',
            "policy.select",
            ["easy", {"name": "slackline", "stop": 0.9}],
        ),
        ('regulation.signal=[["a.csv", "b.csv"], ["c.csv"]]', "regulation.signal", [["a.csv", "b.csv"], ["c.csv"]]),
        ('run.until=["10:20:30"]', "run.until", ["10:20:30"]),
        ('name="a,b",c', "name", ["a,b", "c"]),
    ],
)
def test_values_are_read_as_they_are_typed(text: str, key: str, values: list[Any]) -> None:
    """Lists, ranges with both ends, TOML values, and texts without quotes."""
    assert read_vary(text) == (key, values)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("limit.power", "expected key=values"),
        ("=3", "expected key=values"),
        ("trace.load=", "expected key=values"),
        ("trace.load=[]", "has no values"),
        ("trace.load=[1,", "not a list"),
        ("trace.load=1:2:0", "never ends"),
        ("trace.load=0.6:1.0:0.3", "steps of 0.3 from 0.6 do not meet 1.0; end the range at 0.9, or give a list"),
        ("trace.load=1:2:-1", "never ends"),
        ("run.until=10:20:30", 'write a time in a list: \\["10:20:30"\\]'),
        ("trace.load=0:1e9:1", "more than 100,000"),
    ],
)
def test_what_is_no_list_of_values_is_refused_in_a_line(text: str, told: str) -> None:
    """A slip on the command line names the flag and what to write."""
    with pytest.raises(wl.InputError, match=told) as caught:
        read_vary(text)
    assert str(caught.value).startswith("--vary ")
    assert "\n" not in str(caught.value)


def test_a_sweep_is_the_runs_that_one_would_make_by_hand(study: wl.Study, tmp_path: Path) -> None:
    """Rows of a sweep hold what single runs of scenarios written out by hand give, and their journals are the same."""
    varied = {"cluster.nodes": [16, 20], "policy.select": ["easy", "in-order"]}
    frame = study.vary(varied, seeds=2).run(folder=tmp_path / "out", progress=False)
    assert frame.columns[:4] == ["cluster.nodes", "policy.select", "seed", "journal"]
    rows = frame.iter_rows(named=True)
    for nodes, select, seed in itertools.product([16, 20], ["easy", "in-order"], [4, 5]):
        text = SCENARIO.replace("nodes = 16", f"nodes = {nodes}").replace("seed = 4", f"seed = {seed}")
        (tmp_path / "one.toml").write_text(f'{text}[policy]\nselect = "{select}"\n')
        run = wl.load(tmp_path / "one.toml").simulate(progress=False)
        row = next(rows)
        assert (row["cluster.nodes"], row["policy.select"], row["seed"]) == (nodes, select, seed)
        assert row["wait_s.mean"] == run.summary.wait_s.mean
        assert row["energy.total_j"] == run.summary.energy.total_j
        kept = wl.read_run(tmp_path / "out" / row["journal"])
        assert_frame_equal(kept.jobs, run.jobs)
    assert_frame_equal(pl.read_parquet(tmp_path / "out" / sweeps.TABLE), frame)


def test_a_varied_key_replaces_what_excludes_it(tmp_path: Path) -> None:
    """``limit.power`` takes the place of steps and what goes with them, and "off" leaves no limit at all."""
    (tmp_path / "s.toml").write_text(SCENARIO + STEPS)
    study = wl.load(tmp_path / "s.toml")
    limited = study.at({"limit.power": "4.5 kW"}).document.spec.limit
    assert (limited.power, limited.steps, limited.repeat, limited.deadlock) == (4500.0, [], None, "exceed")
    free = study.at({"limit.power": "off"})
    assert not free.document.spec.limited
    assert "limit" not in free.data
    assert study.document.spec.limit.steps, "the study itself stays as it is"
    assert "limit" not in study.at({"limit.steps": "off"}).data  # and not what only goes with steps
    frame = study.vary({"limit.power": ["off", "4.5 kW"]}).run(progress=False)
    (tmp_path / "free.toml").write_text(SCENARIO)
    assert frame["power.peak_w"][0] == wl.load(tmp_path / "free.toml").simulate(progress=False).summary.power.peak_w
    assert frame["power.peak_w"][1] <= 4500.0


def test_a_varied_load_takes_the_place_of_a_rate(tmp_path: Path) -> None:
    """Arrivals of Poisson jobs are said by a rate or by a load: each takes the other away."""
    kinds = '[[trace.type]]\nname = "a"\nnodes = 2\nmean = "10 min"\n'
    (tmp_path / "s.toml").write_text(
        f'[trace]\ngenerator = "poisson"\njobs = 50\nrate = "30/h"\n{kinds}[cluster]\nnodes = 8\n'
    )
    study = wl.load(tmp_path / "s.toml")
    loaded = study.at({"trace.load": 0.5})
    assert "rate" not in loaded.data["trace"]
    frame = study.vary({"trace.load": [0.25, 0.5]}).run(progress=False)
    assert frame["utilization"][1] > 1.5 * frame["utilization"][0]
    rated = loaded.at({"trace.rate": "60/h"}).data["trace"]
    assert ("load" in rated, rated["rate"]) == (False, "60/h")


def test_a_generator_takes_away_all_that_says_how_a_log_is_read(tmp_path: Path) -> None:
    """Whatever goes with a file alone goes with it: columns stayed, and the setting was refused."""
    (tmp_path / "log.csv").write_text("t,work_s,nodes\n0,60,1\n")
    keys = 'file = "log.csv"\nformat = "table"\nzone = "Europe/Berlin"\nstrict = true\ncolumns = {submit_s = "t"}\n'
    (tmp_path / "s.toml").write_text(f"[trace]\n{keys}[cluster]\nnodes = 8\n")
    study = wl.load(tmp_path / "s.toml")
    assert len(study.simulate(progress=False).jobs) == 1
    drawn = study.at({"trace.generator": "lublin", "trace.jobs": 20})
    assert set(drawn.data["trace"]) == {"generator", "jobs"}


def test_a_scenario_says_its_own_sweep(study: wl.Study, tmp_path: Path) -> None:
    """[sweep] means what ``vary`` means, with dotted keys or tables; a single run refuses it and says what to do."""
    text = '[sweep]\ntrace.load = "0.6:0.8:0.2"\n"cluster.nodes" = [16, 20]\nseeds = 2\n'
    (tmp_path / "swept.toml").write_text(f'{SCENARIO}{text}zipped = [["trace.load", "cluster.nodes"]]\n')
    swept = wl.load(tmp_path / "swept.toml")
    by_hand = study.vary(
        {"trace.load": [0.6, 0.8], "cluster.nodes": [16, 20]}, zipped=[("trace.load", "cluster.nodes")], seeds=2
    )
    assert_frame_equal(swept.run(), by_hand.run(progress=False))
    assert swept.vary({"trace.load": [0.5]}).varied == Varied({"trace.load": [0.5], "cluster.nodes": [16, 20]}, (), 2)
    with pytest.raises(wl.ScenarioError, match=r"swept.toml:\d+: .*2 settings are listed; wattline sweep"):
        swept.simulate()


@pytest.mark.parametrize(
    ("sweep", "told"),
    [
        ("trace.load = 3", "trace.load: takes a list of values"),
        ("trace.load = []", "trace.load: has no values"),
        ("seeds = 0", "seeds is how many"),
        ('zipped = [["trace.load", "cluster.nodes"]]\ntrace.load = [1]', "'cluster.nodes' is not varied"),
        (
            'zipped = [["trace.load", "cluster.nodes"]]\ntrace.load = [1]\ncluster.nodes = [1, 2]',
            "trace.load has 1, cluster.nodes has 2",
        ),
        ('zipped = "a"\ntrace.load = [1]', "expected lists of keys"),
        ("seed = [1, 2]\nseeds = 2", "'seed' is varied"),
        ('limit = ["off"]\n"limit.power" = ["20 kW"]', "limit.power is a part of limit, which is varied too"),
        ('"policy.select" = ["easy"]\npolicy = ["off"]', "policy.select is a part of policy"),
        ('output.folder = ["a", "b"]', "output.folder says what a run writes"),
        ('output = ["off"]', "output says what a run writes"),
        ('"sweep.seeds" = [1, 2]', "sweep.seeds says what is varied and is no key of a run"),
    ],
)
def test_a_wrong_sweep_is_refused_with_its_line(sweep: str, told: str, tmp_path: Path) -> None:
    """The line of the section, and what is wrong in it."""
    (tmp_path / "s.toml").write_text(f"{SCENARIO}[sweep]\n{sweep}\n")
    with pytest.raises(wl.ScenarioError, match=told) as caught:
        wl.load(tmp_path / "s.toml")
    assert "s.toml:11" in str(caught.value)


def test_a_wrong_value_is_said_before_anything_runs(study: wl.Study, tmp_path: Path) -> None:
    """One misspelt value among many ends the sweep before its first run."""
    with pytest.raises(wl.ScenarioError, match="nods"):
        study.vary({"cluster.nods": [1]}).run(folder=tmp_path / "a")
    with pytest.raises(wl.WattlineError, match="no-such"):
        study.vary({"trace.load": [0.1, 0.2], "policy.select": ["easy", "no-such"]}).run(folder=tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("key", "values", "told"),
    [
        ("limit.power", ["30 kW", "30kW"], "limit.power: '30kW' is '30 kW' again, and its runs would be the same"),
        ("limit.power", [30000, "30 kW"], "limit.power: '30 kW' is 30000 again"),
        ("limit.power", ["30 kW", "30 kW"], "limit.power: '30 kW' is given twice"),
        ("run.until", ["12:30", "45000 s"], "run.until: '45000 s' is '12:30' again"),
        ("trace.load", ["0.6:1.0"], "trace.load: 0.6:1.0 has no step; a range is first:last:step, like 0.6:1.0:0.1"),
        ("cluster.nodes", ["16:20"], "cluster.nodes: 16:20 has no step"),
    ],
)
def test_the_same_value_and_half_a_range_are_noticed(study: wl.Study, key: str, values: list[Any], told: str) -> None:
    """However a power or a time is written, it is the same value; two numbers are no range, but may be a time."""
    with pytest.raises(wl.WattlineError) as caught:
        study.vary({key: values})
    assert str(caught.value).startswith(f"vary: {told}")
    assert study.vary({"run.until": ["12:30", "13:30"], "limit.power": ["30 kW", "31kW"]}).varied.count == 4


def test_a_sweep_that_was_cut_off_goes_on(study: wl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done is not done again, a line that was cut off is, and the table is the same as without the cut."""
    sweep = study.vary({"trace.load": [0.5, 0.6, 0.7, 0.8]}, seeds=2)
    whole = sweep.run(folder=tmp_path / "whole", keep="summary", progress=False)
    assert {path.name for path in (tmp_path / "whole").iterdir()} == {sweeps.TABLE, sweeps.ABOUT}
    done: list[Any] = []
    real = work.run_task

    def counting(task: Any, *rest: Any) -> Any:
        done.append(task.seed)
        if len(done) >= 5 and stops:
            raise KeyboardInterrupt
        return real(task, *rest)

    stops, there = True, threading.active_count()
    monkeypatch.setattr(work, "run_task", counting)
    with pytest.raises(KeyboardInterrupt):
        sweep.run(folder=tmp_path / "cut", keep="summary", progress=False, threads=1)
    due_s = time.monotonic() + 30
    while threading.active_count() > there and time.monotonic() < due_s:  # a run that was told to end may still do so
        time.sleep(0.01)
    rows = tmp_path / "cut" / KEPT
    kept = rows.read_text()
    assert [json.loads(line.partition(" ")[2])[0] for line in kept.splitlines()[1:]] == ["0", "1", "2", "3"]
    rows.write_text(kept + kept.splitlines()[2][:50])  # killed while it wrote
    stops = False
    done.clear()
    again = sweep.run(folder=tmp_path / "cut", keep="summary", progress=False, threads=1, resume=True)
    assert len(done) == 4
    assert_frame_equal(again, whole)
    with pytest.raises(wl.InputError, match="is over"):
        sweep.run(folder=tmp_path / "cut", keep="summary", resume=True)
    rows.write_text(kept)
    with pytest.raises(wl.InputError, match="holds another study, not this one"):
        study.vary({"trace.load": [0.5, 0.6]}, seeds=2).run(folder=tmp_path / "cut", keep="summary", resume=True)


def test_too_many_journals_are_refused(study: wl.Study, tmp_path: Path) -> None:
    """Ten thousand runs may leave a journal each; more keep their rows alone."""
    with pytest.raises(wl.InputError, match=r"10,004 journals.*keep='summary'"):
        study.vary({"run.tick": range(1, 2502)}, seeds=4).run(folder=tmp_path / "a")
    with pytest.raises(wl.InputError, match="1,000,001 runs, at most 1,000,000"):
        study.vary(seeds=1_000_001)
    with pytest.raises(wl.InputError, match="keep is"):
        study.vary(seeds=2).run(keep="all")  # type: ignore[arg-type]


PLAIN = """\
import os
import pathlib

import wattline as wl


@wl.policy("order", wake="end node arrival")
def widest(s, happened, param, memory):
    for j in wl.waiting(s, new=True):
        s.key[j] = -s.nodes[j]
    return 0
"""
DIES = """\
    mark = pathlib.Path(__file__).with_name("died")
    if not mark.exists():
        mark.touch()
        os._exit(1)
"""


def test_runs_are_the_same_wherever_they_are_made(study: wl.Study, tmp_path: Path) -> None:
    """Threads, processes and workers of Dask leave the same table; plain Python goes to processes by itself."""
    sweep = study.vary({"trace.load": [0.5, 0.7, 0.9]}, seeds=2)
    whole = sweep.run(progress=False)
    assert_frame_equal(sweep.run(on="processes", threads=2, progress=False), whole)
    (tmp_path / "mine.py").write_text(PLAIN)
    mine = study.set({"policy.order": str(tmp_path / "mine.py")}).vary({"trace.load": [0.5, 0.9]})
    in_threads = mine.run(on="threads", progress=False)
    assert_frame_equal(mine.run(threads=2, progress=False), in_threads)
    assert find_where(None, 2, plain=True).opened.func is places._processes  # type: ignore[attr-defined]
    assert find_where(None, 2, plain=False).opened.func is places._threads  # type: ignore[attr-defined]
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        kept = sweep.run(on=address, progress=False, folder=tmp_path / "dask")
        assert_frame_equal(kept.drop("journal"), whole)
        assert_frame_equal(wl.read_run(tmp_path / "dask" / "run-3").jobs, study.at({"trace.load": 0.7}).simulate().jobs)


def test_a_lost_worker_is_a_run_repeated(study: wl.Study, tmp_path: Path) -> None:
    """A process that dies in the middle costs its runs, not the sweep; one that dies every time is said."""
    (tmp_path / "mine.py").write_text(PLAIN)
    calm = study.set({"policy.order": str(tmp_path / "mine.py")})
    whole = calm.vary({"trace.load": [0.5, 0.6, 0.7, 0.8]}).run(on="threads", progress=False)
    dying = PLAIN.replace("    return 0\n", f"{DIES}    return 0\n")
    (tmp_path / "dies.py").write_text(dying)
    sweep = study.set({"policy.order": str(tmp_path / "dies.py")}).vary({"trace.load": [0.5, 0.6, 0.7, 0.8]})
    found = sweep.run(on="processes", threads=2, progress=False)
    assert (tmp_path / "died").exists()
    assert_frame_equal(found, whole)
    (tmp_path / "dies.py").write_text(dying.replace("        mark.touch()\n", ""))
    (tmp_path / "died").unlink()
    with pytest.raises(wl.InputError, match="workers were lost one after the other"):
        sweep.run(on="processes", threads=1, progress=False)


def test_a_place_that_is_not_there_is_said(study: wl.Study) -> None:
    """A misspelt place, and a scheduler that does not answer, are one line each."""
    with pytest.raises(wl.InputError, match=r"on: expected threads, processes, dask://HOST:PORT, slurm, got 'treads'"):
        study.vary(seeds=2).run(on="treads")

    @wl.policy("order", wake="end node arrival")
    def mine(s: Any, happened: Any, param: Any, memory: Any) -> int:
        return 0

    with pytest.raises(wl.InputError, match="objects are known in this process alone, not on processes"):
        study.vary({"policy.order": ["fcfs", mine]}).run(on="processes")


def test_off_takes_tables_and_keys_out_of_lists(tmp_path: Path) -> None:
    """A position in a list of tables is a key as any other; one that is not there, or that would move, is refused."""
    path = tmp_path / "lists.toml"
    path.write_text(
        '[trace]\ngenerator = "lublin"\njobs = 60\nload = 0.9\n[policy]\nselect = "easy"\n'
        "[cluster]\nnodes = 16\nidle = 90\nmax = 300\n"
        '[[resource]]\nname = "a"\ntotal = 1\namount = 1\n[[resource]]\nname = "b"\ntotal = 9\namount = 1\n'
    )
    study = wl.load(path)
    found = study.vary({"resource.0": ["off"]}).run()
    plain = study.at({"resource": "off"}).simulate()
    whole = study.simulate()
    assert found["wait_s.mean"].to_list() == [study.at({"resource.0": "off"}).simulate().summary.wait.mean]
    assert found["wait_s.mean"][0] < whole.summary.wait.mean
    assert plain.summary.wait.mean <= found["wait_s.mean"][0]
    for key, told in (("resource.5", "not a position"), ("resource.0.total", "total")):
        with pytest.raises(wl.WattlineError, match=told):
            study.at({key: "off"})
    with pytest.raises(wl.WattlineError, match="would move"):
        study.at({"resource.0": "off", "resource.1.total": 3})


def test_keys_that_move_together_are_not_ranked(study: wl.Study) -> None:
    """Nobody can tell which of them changes a metric most."""
    from wattline.report.count.response import respond
    from wattline.report.pages.sweep import sentence

    keys = {"policy.select": ["easy", "in-order"], "policy.order": ["fcfs", "shortest"]}
    apart = study.vary(keys).run()
    tied = study.vary(keys, zipped=[list(keys)]).run()
    assert "changes it most" in sentence(respond(apart, list(keys)))
    assert "changes it most" not in sentence(respond(tied, list(keys)))
