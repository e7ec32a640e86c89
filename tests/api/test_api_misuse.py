"""The Python door, misused: nothing of anybody else is overwritten, and what is wrong is one line."""

from __future__ import annotations

import datetime
import functools
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import wattline as wl
from programs import python

COLUMNS = {"submit_s": [0.0, 5.0, 6.0], "work_s": [60.0, 30.0, 10.0], "nodes": [4, 1, 2]}


@pytest.fixture(scope="module")
def run() -> wl.Run:
    """A small run."""
    return wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), name="small")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"nodes": pl.Series([1])}, r"nodes=\[1\]: expected a whole number"),
        ({"nodes": 4, "levels": pl.Series([1.0])}, r"levels=\[1.0\]: expected a table"),
        ({"nodes": 4, "outages": pl.Series([1])}, r"outage=\[1\]: expected a table"),
        ({"nodes": 4, "classes": pl.DataFrame({"a": [1]})}, "got a DataFrame of polars"),
    ],
)
def test_columns_are_no_keys_of_a_machine(keys: dict[str, object], told: str) -> None:
    """A column counts as the list of its values; a table of columns is refused. Polars' own errors came out."""
    with pytest.raises(wl.InputError, match=told):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(**keys))  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["submit_s", "work_s", "user", "series_w"])
@pytest.mark.parametrize(
    "values",
    [
        [1 + 2j, 2, 3],
        np.array([1 + 2j, 2, 3]),
        [object(), object(), object()],
        [1, "x", object()],
        [{"a": 1}, {"b": 2}, {}],
        [datetime.timedelta(1)] * 3,
        [[[1.0]], [[2.0]], None],
        [b"x", b"y", b"z"],
    ],
    ids=["complex", "complex array", "objects", "mixed", "mappings", "lengths of time", "lists of lists", "bytes"],
)
def test_columns_that_no_job_can_have_are_one_line(column: str, values: object) -> None:
    """Whatever a column holds, in a mapping or a frame of pandas, is taken or refused in one line."""
    pandas = pytest.importorskip("pandas")
    for make in (dict, pandas.DataFrame):
        with pytest.raises(wl.WattlineError) as caught:
            wl.from_frame(make({**COLUMNS, column: values, "series_step_s": 60.0}))
        assert "\n" not in str(caught.value)
        assert repr(column) in str(caught.value)
        foreign = ("CSV", "csv", "dtype", "Series", "datatype", "context stack", "Could not convert", "numpy")
        assert not [word for word in foreign if word in str(caught.value)], "said by somebody else"


@pytest.mark.parametrize("column", ["submit_s", "work_s", "nodes"])
def test_truth_values_are_no_numbers_of_a_job(column: str, tmp_path: Path) -> None:
    """They are refused with the column's name, in a frame and in a Parquet file."""
    frame = pl.DataFrame({"submit_s": [0.0, 1.0], "work_s": [5.0, 6.0], "nodes": [1, 2]})
    assert wl.from_frame(frame).jobs.height == 2
    wrong = frame.with_columns(pl.Series(column, [True, True]))
    with pytest.raises(wl.WattlineError, match=f"field '{column}': column must hold numbers, not truth values"):
        wl.from_frame(wrong)
    wrong.write_parquet(tmp_path / "jobs.parquet")
    with pytest.raises(wl.WattlineError, match=f"field '{column}': column must hold numbers, not truth values"):
        wl.read_trace(tmp_path / "jobs.parquet")


def test_a_page_takes_the_place_of_no_device_and_no_link(run: wl.Run, tmp_path: Path) -> None:
    """A pipe, a folder: refused. A link: the page goes where it leads, and the link stays."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/null", "", "a\0b", "x" * 300):
        with pytest.raises(wl.InputError) as caught:
            run.report(path)
        assert "\n" not in str(caught.value)
    assert not Path("/dev/null").is_file()
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    run.report(tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").stat().st_size > 1_000_000


def test_another_run_s_journal_is_overwritten_only_on_demand(run: wl.Run, tmp_path: Path) -> None:
    """As on the command line: the journal of a run of another name stays unless one says so."""
    other = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), name="important")
    other.write(tmp_path / "j")
    with pytest.raises(wl.InputError, match=r"holds the journal of 'important', not of 'small'; .*force=True"):
        run.write(tmp_path / "j")
    assert wl.read_run(tmp_path / "j").name == "important"
    other.write(tmp_path / "j")
    run.write(tmp_path / "j", force=True)
    assert wl.read_run(tmp_path / "j").name == "small"
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", "/", "a\0b"):
        with pytest.raises(wl.InputError):
            run.write(folder)


def test_a_sweep_keeps_its_journals_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """Journals of a sweep are not mixed with those of another."""
    (tmp_path / "s.toml").write_text(
        '[trace]\ngenerator = "lublin"\njobs = 20\n[cluster]\nnodes = 8\nidle = 90\nmax = 350\n'
    )
    sweep = wl.load(tmp_path / "s.toml").vary(seeds=2)
    sweep.run(folder=tmp_path / "runs", progress=False)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "run-1",
        "run-2",
        "sweep.json",
        "sweep.parquet",
    ]
    with pytest.raises(wl.InputError, match="is not empty"):
        sweep.run(folder=tmp_path / "runs")
    for threads in (0, -1, "3", 1.5):
        with pytest.raises(wl.InputError, match="threads"):
            sweep.run(threads=threads)  # type: ignore[arg-type]


def test_a_machine_that_is_too_small_is_told_without_other_remarks() -> None:
    """Where no job can run, the line says why, and nothing else that there is to say of the run."""
    columns = {
        "submit_s": [0.0],
        "work_s": [600.0],
        "nodes": [9],
        "series_w": [[100.0, 200.0]],
        "series_step_s": [60.0],
    }
    machine = wl.Machine(nodes=1, idle=0, max=300)
    with pytest.raises(wl.WattlineError, match=r"no job of the trace can run on this cluster: 1 × [^;]*$"):
        wl.simulate(wl.from_frame(columns), machine, settings={"profiles.sample": "5 min"}, progress=False)


def test_profiles_are_saved_with_the_journal(tmp_path: Path) -> None:
    """``[profiles] save`` is written by ``Run.write``; a simulation alone leaves no file."""
    trace = wl.from_frame({"submit_s": [0.0] * 4, "work_s": [900.0] * 4, "nodes": [1] * 4, "user": ["ann"] * 4})
    saved = tmp_path / "p.parquet"
    settings = {"profiles.save": str(saved), "profiles.sample": "1 min"}
    machine = wl.Machine(nodes=4, idle=0, max=300)
    run = wl.simulate(trace, machine, profile="quantile", limit=1000.0, settings=settings, progress=False)
    assert not saved.exists()
    run.write(tmp_path / "run")
    assert saved.exists()


def test_numbers_of_numpy_are_numbers() -> None:
    """Scalars and arrays of numpy do as those of Python do."""
    machine = wl.Machine(nodes=np.int64(4), idle=np.float64(90), max=np.int32(350))
    plain = wl.Machine(nodes=4, idle=90, max=350)
    trace = wl.from_frame(COLUMNS)
    given = {"limit": np.int64(1300), "seed": np.int64(3), "settings": {"run.until": np.float64(1e6)}}
    one = wl.simulate(trace, machine, **given)
    two = wl.simulate(trace, plain, limit=1300, seed=3, settings={"run.until": 1e6})
    assert one.jobs.equals(two.jobs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: wl.simulate(pl.DataFrame(COLUMNS)),
        lambda: wl.simulate(None),
        lambda: wl.simulate({}),
        lambda: wl.simulate(wl.from_frame(COLUMNS), {"nodes": 4}),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4), settings=[1]),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4, classes=3)),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4, sleep=[1])),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4, network=3)),
        lambda: wl.from_frame(COLUMNS | {"work_s": [datetime.timedelta(1)] * 3}),
        lambda: wl.from_frame(COLUMNS | {"user": [[1], [2], [3]]}),
        lambda: wl.from_frame(COLUMNS, epoch_unix_s="now"),
        lambda: wl.from_frame(COLUMNS, epoch_unix_s=float("nan")),
        lambda: wl.from_frame(np.zeros((2, 2, 2))),
        lambda: wl.compare(3),
        lambda: wl.compare("run"),
        wl.compare,
        lambda: wl.compare([]),
        lambda: wl.policy(None)(test_numbers_of_numpy_are_numbers),
        lambda: wl.policy("order", wake=3),
        lambda: wl.policy("order", params=["a"]),
        lambda: wl.policy("order")(functools.partial(max, 1)),
        lambda: wl.check(3),
        lambda: wl.bid("no.toml"),
        lambda: wl.load("no.toml"),
        lambda: wl.read_run("nowhere"),
        lambda: wl.read_trace("no.swf"),
        lambda: wl.read_trace(5),
        lambda: wl.read_trace(None),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4), settings={3: 4}),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4), settings={None: 4}),
        lambda: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(4), order=Path("no.py")),
        lambda: wl.from_frame(None),
        lambda: wl.from_frame("jobs.csv"),
        lambda: wl.from_frame({1: [2]}),
        lambda: wl.from_frame(COLUMNS | {"nodes": [1, 2]}),
        lambda: wl.from_frame(pytest.importorskip("pandas").Series([1, 2])),
    ],
)
def test_wrong_types_are_one_line(wrong: object) -> None:
    """Whatever is given in the place of something else is refused as an input error, in one line."""
    with pytest.raises(wl.WattlineError) as caught:
        wrong()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


STUDY = 'name = "s"\n[trace]\ngenerator = "lublin"\njobs = 5\n[cluster]\nnodes = 16\nidle = "90 W"\nmax = "350 W"\n'


def test_arguments_beside_a_study_are_refused(tmp_path: Path) -> None:
    """A study says all of its run: an argument beside it is refused with its name, never left out in silence."""
    (tmp_path / "s.toml").write_text(STUDY)
    study = wl.load(tmp_path / "s.toml")
    given = dict.fromkeys(("order", "select", "place", "cap", "learn", "profile", "bid"), "fcfs")
    given |= {"limit": "1 kW", "ties": "event", "kill": True, "settings": {"run.until": "1 h"}, "seed": 2, "name": "x"}
    for name, value in given.items():
        with pytest.raises(wl.InputError, match=rf"got {name} beside it; change it with study\.set"):
            wl.simulate(study, **{name: value})
    with pytest.raises(wl.InputError, match="got limit, seed beside it"):
        wl.simulate(study, limit="1 kW", seed=2)
    with pytest.raises(wl.InputError, match="a study has a machine already"):
        wl.simulate(study, wl.Machine(4))


def test_a_path_is_the_file_of_a_policy(tmp_path: Path) -> None:
    """A policy may be given as a ``Path``, alone or with parameters, as it may by its text."""
    (tmp_path / "mine.py").write_text(
        "import wattline as wl\n@wl.policy('order')\ndef mine(s, arg, param, memory):\n"
        "    for i in range(s.q_new[0], s.q_tail[0]):\n        if s.queue[i] >= 0:\n"
        "            s.key[s.queue[i]] = -s.nodes[s.queue[i]]\n    return 0\n"
    )
    file, machine = tmp_path / "mine.py", wl.Machine(nodes=4)
    runs = [wl.simulate(wl.from_frame(COLUMNS), machine, order=one) for one in (str(file), file, {"name": file})]
    assert runs[0].jobs.equals(runs[1].jobs)
    assert runs[0].jobs.equals(runs[2].jobs)


def test_what_is_said_twice_is_refused(tmp_path: Path) -> None:
    """A limit as an argument and as a setting, or seeds that are counted and varied, are refused: one of them would be
    left out in silence.
    """
    trace, machine = wl.from_frame(COLUMNS), wl.Machine(nodes=4, idle=90, max=350)
    for settings in ({"limit.power": "1 kW"}, {"limit": {"power": 1000}}):
        with pytest.raises(
            wl.InputError, match=r"settings: limit\S*=.* says again what limit=1400 says; leave one out"
        ):
            wl.simulate(trace, machine, limit=1400, settings=settings)
    with pytest.raises(wl.InputError, match=r"policy.cap='none' says again what cap='under-limit' says"):
        wl.simulate(trace, machine, limit=1400, cap="under-limit", settings={"policy.cap": "none"})
    wl.simulate(trace, machine, settings={"limit.power": 1400, "policy.select": "first-fit", "run.ties": "event"})
    wl.simulate(trace, machine, select={"name": "easy"}, settings={"policy.select.depth": 2})
    for argument, settings in (
        ({"seed": 4}, {"seed": 9}),
        ({"seed": 1}, {"seed": 9}),
        ({"name": "a"}, {"name": "b"}),
        ({"order": "fcfs"}, {"policy.order": "lcfs"}),
        ({"select": "easy"}, {"policy.select": "in-order"}),
        ({"select": {"name": "easy", "depth": 1}}, {"policy.select.depth": 2}),
        ({"select": {"name": "easy"}}, {"policy.select.name": "in-order"}),
        ({"learn": "request"}, {"policy.learn": "truth"}),
        ({"ties": "instant"}, {"run.ties": "event"}),
        ({}, {"cluster.nodes": 8}),
        ({}, {"cluster": {"nodes": 8}}),
    ):
        with pytest.raises(wl.InputError, match=r"settings: .* says again what .* says; leave one out"):
            wl.simulate(trace, machine, settings=settings, **argument)
    (tmp_path / "s.toml").write_text(
        '[trace]\ngenerator = "lublin"\njobs = 20\n[cluster]\nnodes = 8\nidle = 90\nmax = 350\n'
    )
    study = wl.load(tmp_path / "s.toml")
    with pytest.raises(
        wl.InputError, match=r"vary: seeds = 2 counts on from the scenario's seed, and 'seed' is varied"
    ):
        study.vary({"seed": [1, 2]}, seeds=2)
    assert study.vary({"seed": [1, 5]}).run(progress=False)["seed"].to_list() == [1, 5]
    with pytest.raises(wl.InputError, match=r"vary: a key is a dotted name like 'cluster.nodes', got 3"):
        study.vary({3: [1]})  # type: ignore[dict-item]


def test_rows_of_a_frame_are_mentioned_as_those_of_a_file() -> None:
    """Job numbers that come again, and links of -1, are said in the notes of a frame too."""
    trace = wl.from_frame(COLUMNS | {"job_id": [7, 7, 8], "after": [-1, 0, None]})
    told = {note.reason: (note.action, note.count, note.example) for note in trace.notes}
    twins = "another job has the same number: it is given one of its own, from 9 on"
    assert told[twins][:2] == ("repaired", 1)
    assert trace.jobs["job_id"].to_list() == [7, 9, 8]
    assert told["after is -1: no link"][:2] == ("kept", 1)


def test_memory_that_nobody_has_is_told_with_the_policy() -> None:
    """A policy that asks for more memory than the machine has is named before any is taken."""

    @wl.policy("select", memory=10**12)
    def greedy(s, arg, param, memory):
        return 0

    said = r"the 1,000,000,000,000 floats of memory that policy 'greedy' asks for would take about 8 TB of memory"
    with pytest.raises(wl.InputError, match=said):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), select=greedy)


@pytest.mark.parametrize(
    ("step_s", "said"), [(1e-6, r"72,500,000 .* 0\.000001 s"), (1e-12, r"0\.000000000001 s .* would take about")]
)
def test_steps_of_power_are_counted_before_they_are_made(step_s: float, said: str) -> None:
    """A trace whose power has a step of microseconds is refused by the count that refuses such samples; samples of
    another period, or a shorter run, are the way out.
    """
    trace = wl.from_frame(COLUMNS | {"series_w": [[100.0], [90.0], None], "series_step_s": [step_s] * 3})
    machine = wl.Machine(nodes=4, idle=90, max=350)
    with pytest.raises(wl.InputError, match=said) as caught:
        wl.simulate(trace, machine)
    assert "(series_step_s of the trace; [profiles] sample sets another period)" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert wl.simulate(trace, machine, settings={"profiles.sample": "1 s"}).jobs["energy_j"][0] == 4 * 60 * 100.0


PRESSED = """
import os, signal, threading, time
import wattline as wl

trace = wl.draw_trace("lublin", nodes=256, jobs=150_000, load=0.95)
machine = wl.Machine(nodes=256, idle="90 W", max="350 W")
wl.simulate(wl.draw_trace("lublin", nodes=256, jobs=10, load=0.5), machine, select="conservative")  # compiled
asked = []

def press():
    asked.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(0.7, press).start()
try:
    wl.simulate(trace, machine, select="conservative", progress=False)
except KeyboardInterrupt:
    print("heard after", time.process_time() - asked[0])
"""


def test_ctrl_c_is_heard_within_a_second(tmp_path: Path) -> None:
    """A slow policy of ours does not keep Ctrl-C waiting to the end of the run (in a process of its own: workers of
    tests hear none; in seconds of its processor, which others on the machine do not lengthen).
    """
    done = python(PRESSED, tmp_path)
    assert done.out.startswith("heard after"), done.err
    assert float(done.out.split()[-1]) < 1.0


SWF = "; MaxProcs: 8\n1 0 0 300 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n2 9 0 300 6 -1 -1 6 600 -1 1 1 1 1 1 1 -1 -1\n"


def test_keys_that_tell_how_a_log_is_read_are_applied_to_a_path(tmp_path: Path) -> None:
    """``trace.cores_per_node``, ``trace.strict`` and ``trace.format`` do what they do for ``read_trace``."""
    log, machine = tmp_path / "a.swf", wl.Machine(nodes=4)
    log.write_text(SWF)
    run = wl.simulate(log, machine, settings={"trace.cores_per_node": 2}, progress=False)
    assert run.jobs["nodes"].to_list() == wl.read_trace(log, cores_per_node=2).jobs["nodes"].to_list() == [2, 3]
    with pytest.raises(wl.InputError, match=r"a\.swf"):
        wl.simulate(log, machine, settings={"trace.format": "sacct"}, progress=False)
    log.write_text(f"{SWF}3 what is this\n")
    assert wl.simulate(log, wl.Machine(nodes=8), progress=False).jobs.height == 2
    with pytest.raises(wl.InputError, match=r"a.swf:4: "):
        wl.simulate(log, wl.Machine(nodes=8), settings={"trace.strict": True}, progress=False)
    with pytest.raises(wl.InputError, match=r"trace.file='b.swf' says again what trace="):
        wl.simulate(log, wl.Machine(nodes=8), settings={"trace.file": "b.swf"}, progress=False)


@pytest.mark.parametrize(
    "settings",
    [{"trace.cores_per_node": 2}, {"trace.strict": True}, {"trace.zone": "Europe/Paris"}, {"trace.format": "swf"}],
)
def test_keys_that_tell_how_a_log_is_read_come_too_late_for_jobs(tmp_path: Path, settings: dict[str, object]) -> None:
    """Jobs that are read are not read again: such a setting is refused, never claimed by the journal."""
    (tmp_path / "a.swf").write_text(SWF)
    for trace in (wl.read_trace(tmp_path / "a.swf"), wl.from_frame(COLUMNS)):
        with pytest.raises(wl.InputError, match=r"settings: trace\.\S+=.* comes too late .* give it to wl.read_trace"):
            wl.simulate(trace, wl.Machine(nodes=8), settings=settings, progress=False)
    drawn = wl.draw_trace("lublin", nodes=8, jobs=5)
    with pytest.raises(wl.InputError, match=r"settings: trace.load=0.5 .* give it to wl.draw_trace"):
        wl.simulate(drawn, wl.Machine(nodes=8), settings={"trace.load": 0.5}, progress=False)
    cut = wl.simulate(
        wl.read_trace(tmp_path / "a.swf"), wl.Machine(nodes=8), settings={"trace.jobs": 1}, progress=False
    )
    assert cut.jobs.height == 1


def test_a_frame_has_no_other_file() -> None:
    """A file as a setting would leave the frame out in silence."""
    with pytest.raises(wl.InputError, match=r"settings: trace.file='x.swf' says again"):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), settings={"trace.file": "x.swf"})


FORKED = """
import os, sys
import wattline as wl

def use():
    trace = wl.from_frame({"submit_s": [0.0, 1.0], "work_s": [5.0, 5.0], "nodes": [1, 2]})
    return wl.simulate(trace, wl.Machine(nodes=2), progress=False).jobs["start_s"].to_list()

def child():
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        print(use(), flush=True)
    except wl.RunError as error:
        print(error, flush=True)
    os._exit(0)

child()
use()
child()
"""


def test_a_fork_behind_the_first_use_is_told(tmp_path: Path) -> None:
    """It would wait for ever for threads that a fork does not copy; one before the first use works."""
    first, second = python(FORKED, tmp_path).out.splitlines()
    assert first == "[0.0, 5.0]"
    assert second.startswith("this process was forked from one that has used Wattline, and would wait for ever: take ")


def nested(depth: int) -> object:
    """Return a number in so many lists."""
    found: object = 1.0
    for _ in range(depth):
        found = [found]
    return found


DEEP = {
    "limit": lambda deep: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), limit=deep),
    "settings": lambda deep: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), settings={"limit.steps": deep}),
    "nodes": lambda deep: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=deep)),
    "levels": lambda deep: wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4, levels=deep)),
    "column": lambda deep: wl.from_frame({**COLUMNS, "submit_s": deep}),
    "policy": lambda deep: wl.whatif(wl.from_frame(COLUMNS), wl.Machine(nodes=4), policy=deep),
}


@pytest.mark.parametrize("depth", [60, 400, 900, 5000])
@pytest.mark.parametrize("what", DEEP)
def test_lists_that_lie_deep_in_one_another_are_one_line(what: str, depth: int) -> None:
    """Python's own RecursionError came out."""
    with pytest.raises(wl.InputError):
        DEEP[what](nested(depth))


def test_a_table_within_itself_is_one_line() -> None:
    """It has no end."""
    endless: dict[str, object] = {}
    endless["a"] = endless
    with pytest.raises(wl.InputError, match="deep in one another"):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), settings={"limit": endless})
