"""Arguments of calls that are of the wrong type, or a wrong number: one line, never an error of Python's."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import wattline as wl

COLUMNS = {"submit_s": [0, 5], "work_s": [60, 30], "nodes": [2, 1]}
MACHINE = wl.Machine(nodes=4, idle=90, max=350)
HUGE = 10**5000
NO_NUMBER = "a number of 1,329 bits is no number of a scenario"
ZIPPED = 'vary: zipped: expected lists of keys, like [["limit.power", "cluster.nodes"]], got '


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: wl.read_run(None), "read_run: expected a path, got NoneType"),
        (lambda: wl.read_run(3), "read_run: expected a path, got int"),
        (lambda: wl.load(3), "load: expected a path, got int"),
        (lambda: wl.load(b"s.toml"), "load: expected a path, got bytes"),
        (lambda: wl.bid(None), "bid: expected a path, got NoneType"),
        (lambda: wl.check(3), "check: expected a path, got int"),
        (lambda: wl.compare(run()).write(None), "write: expected a path, got NoneType"),
        (lambda: wl.whatif(wl.from_frame(COLUMNS), MACHINE, nodes=5).write(b"x"), "write: expected a path, got bytes"),
    ],
)
def test_what_is_no_path_is_refused(call: Callable[[], object], said: str) -> None:
    """Whoever gives something else than a path is told which call wanted one."""
    with pytest.raises(wl.InputError) as caught:
        call()
    assert str(caught.value) == said


def test_a_report_needs_a_path() -> None:
    """Nothing is drawn for a page that has no place."""
    run = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), progress=False)
    with pytest.raises(wl.InputError, match="report: expected a path, got NoneType"):
        run.report(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [-1, 0, math.nan, math.inf, "3", True])
def test_the_time_of_a_call_is_above_0(limit: object) -> None:
    """A policy is not checked against a time that no call keeps, or any."""
    with pytest.raises(wl.InputError, match="check: time_limit is a number of seconds above 0, got "):
        wl.check("mine.py", time_limit=limit)  # type: ignore[arg-type]


def test_plain_lists_may_mix_whole_numbers_and_others() -> None:
    """60, 1.5, NaN and nothing in one list are numbers, as they would be in a frame; a text among them is refused."""
    trace = wl.from_frame({**COLUMNS, "work_s": [60, 1.5], "request_s": [100, math.nan], "draw_w": (200, None)})
    assert trace.jobs["work_s"].to_list() == [60.0, 1.5]
    assert trace.jobs["request_s"].to_list() == [100.0, None]
    with pytest.raises(wl.InputError, match="column 'work_s' holds values of several types"):
        wl.from_frame({**COLUMNS, "work_s": [60, "x"]})


def test_a_frame_without_columns_is_told_what_it_needs() -> None:
    """Nothing at all is refused in a whole sentence."""
    with pytest.raises(wl.InputError, match="from_frame: the frame has no columns; a job table needs submit_s"):
        wl.from_frame({})


@pytest.mark.parametrize("strict", ["no", "", [], 0, None])
def test_strict_is_yes_or_no(strict: object) -> None:
    """A text that says no is not taken as yes."""
    for call in (lambda: wl.from_frame(COLUMNS, strict=strict), lambda: wl.read_trace("x.swf", strict=strict)):  # type: ignore[arg-type]
        with pytest.raises(wl.InputError, match="strict is True or False, got "):
            call()


@pytest.mark.parametrize("value", ["no", 1, np.array([1, 2])])
def test_switches_are_yes_or_no(tmp_path: Path, value: Any) -> None:
    """Of every call, before anything is simulated or written."""
    (tmp_path / "s.toml").write_text('[trace]\ngenerator = "lublin"\njobs = 5\n[cluster]\nnodes = 4\n')
    study = wl.load(tmp_path / "s.toml")
    calls: list[tuple[str, Callable[..., Any]]] = [
        *((name, study.vary(seeds=2).run) for name in ("progress", "resume", "partly", "overwrite")),
        *((name, partial(wl.bid, study)) for name in ("quick", "across", "progress", "resume")),
        ("progress", study.simulate),
        ("progress", partial(wl.simulate, "x.swf")),
        ("progress", partial(wl.check, "x.py")),
        ("causes", partial(wl.whatif, "x.swf", nodes=3)),
        ("force", partial(wl.Run.write, None, tmp_path / "out")),
        ("force", partial(wl.BidResult.write, None, tmp_path / "out.toml")),
    ]
    for name, call in calls:
        with pytest.raises(wl.InputError, match=f"{name} is True or False, got "):
            call(**{name: value})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prices": {"energy": 0.1, "carbon": None}}, "'carbon': expected a value, got None"),
        ({"budget": [{"name": "all", "limit": 1000, "parent": None}]}, "'parent': expected a value, got None"),
        ({"prices": {"energy": {"value": 0.1, "unit": None}}}, "'unit': expected a value, got None"),
    ],
)
def test_none_inside_a_table_is_no_value(settings: dict[str, Any], said: str) -> None:
    """It would count as not given, as if a default had been asked for."""
    with pytest.raises(wl.ScenarioError, match=said):
        wl.simulate(wl.from_frame(COLUMNS), MACHINE, settings=settings)
    with pytest.raises(wl.ScenarioError, match="class: 'min_cap': expected a value, got None"):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(classes=[{"name": "a", "count": 4, "min_cap": None}]))


def test_a_table_of_settings_does_not_take_back_a_key() -> None:
    """The other way round a key is set in the table."""
    trace, run = wl.from_frame(COLUMNS), {"kill": True}
    with pytest.raises(wl.ScenarioError, match=r"settings: run=.* replaces the whole table, and with it run.until=500"):
        wl.simulate(trace, MACHINE, settings={"run.until": 500, "run": run})
    assert (
        wl.simulate(trace, MACHINE, settings={"run": run, "run.until": 500}, progress=np.False_).summary.jobs.total == 2
    )  # type: ignore[arg-type]


def test_a_parameter_has_a_name() -> None:
    """A number is none."""
    with pytest.raises(wl.PolicyError, match="the name of a parameter must be a text, got 1"):
        wl.policy("order", params={1: 2})  # type: ignore[dict-item]


def test_arrays_are_refused_by_name(tmp_path: Path) -> None:
    """One without dimensions calls itself iterable; one with several is neither true nor false."""
    (tmp_path / "s.toml").write_text('[trace]\ngenerator = "lublin"\njobs = 5\n[cluster]\nnodes = 4\n')
    study = wl.load(tmp_path / "s.toml")
    with pytest.raises(wl.InputError, match="vary: zipped: expected lists of keys"):
        study.vary({"cluster.nodes": [4, 5]}, zipped=np.array(3))  # type: ignore[arg-type]
    with pytest.raises(wl.InputError, match="bid: method is a name like 'search', got array"):
        wl.bid(study, method=np.array([1, 2]))  # type: ignore[arg-type]
    with pytest.raises(wl.PolicyError, match="unknown policy slot array"):
        wl.policy(np.array([1, 2]))  # type: ignore[arg-type]
    with pytest.raises(wl.InputError, match=r"compare: takes runs, .* got ndarray"):
        wl.compare(np.array(3.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [[], "", " ", "a\nb", "\0", "x" * 101, b"x", 5])
def test_the_name_of_a_policy_can_be_read_in_a_table(name: object) -> None:
    """It is one line of printable text, as names of runs are; what is none does not mean that none was given."""
    with pytest.raises(wl.PolicyError, match=r"^the name of a policy \(order\) must ") as caught:

        @wl.policy("order", name=name)  # type: ignore[arg-type]
        def mine(s: object, arg: int, param: object, memory: object) -> int:
            return 0

    assert "\n" not in str(caught.value)


def test_a_frame_of_pandas_with_two_columns_of_one_name_is_told_so() -> None:
    """It is a frame, and its column is to blame."""
    frame = pd.DataFrame([[0, 1, 1]], columns=["submit_s", "work_s", "work_s"])
    with pytest.raises(wl.InputError, match=r"^from_frame: two columns are called 'work_s'$"):
        wl.from_frame(frame)


@pytest.mark.parametrize("made", [dict, pl.DataFrame, pd.DataFrame])
def test_columns_of_durations_are_durations(made: Callable[[object], object]) -> None:
    """Spans of time are taken as what they are, whatever frame they stand in; seconds are wanted where nothing says
    which columns are which.
    """
    when, took = [datetime(2024, 1, k, tzinfo=UTC) for k in (1, 2)], [timedelta(hours=1), timedelta(minutes=2)]
    frame = made({"w": when, "t": took, "nodes": [1, 1]})
    assert wl.from_frame(frame, columns={"submit_s": "w", "work_s": "t"}).jobs["work_s"].to_list() == [3600.0, 120.0]
    with pytest.raises(wl.TraceError, match="column must hold numbers, not Duration"):
        wl.from_frame(made({"submit_s": [0, 1], "work_s": took, "nodes": [1, 1]}))


@pytest.mark.parametrize(("given", "wanted"), [([7, None, 3, None], [7, 8, 3, 9]), ([None] * 4, [1, 2, 3, 4])])
def test_a_job_without_a_number_gets_one(given: list[int | None], wanted: list[int]) -> None:
    """An empty field is not known, which is no reason to lose the job."""
    trace = wl.from_frame({"submit_s": [0, 1, 2, 3], "work_s": [1] * 4, "nodes": [1] * 4, "job_id": given})
    assert trace.jobs["job_id"].to_list() == wanted
    assert [(note.action, note.count) for note in trace.notes] == [("repaired", given.count(None))]


@pytest.mark.parametrize("wrong", [[], {}, b"x", (1, 2), object()])
@pytest.mark.parametrize("name", ["limit", "sleep", "sleep_power", "wake"])
def test_a_question_of_the_wrong_type_is_refused_in_a_line(name: str, wrong: object) -> None:
    """Powers and durations are numbers or texts."""
    given = {"sleep": "10 min", name: wrong} if name in ("sleep_power", "wake") else {name: wrong}
    with pytest.raises(wl.InputError, match=r"expected a (power|duration) like"):
        wl.whatif(wl.from_frame(COLUMNS), wl.Machine(nodes=4, idle=90, max=350), **given)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: wl.whatif(wl.from_frame(COLUMNS), 5, nodes=5), "whatif: machine is a wl.Machine, got int"),
        (
            lambda: wl.whatif(wl.from_frame({"submit_s": [0], "work_s": [9], "nodes": [1]}), MACHINE, growth=1.3),
            "growth=1.3: the jobs offer no load that could grow: all are submitted at once, or do no work",
        ),
        (lambda: run().plot([]), "plot: there is no figure []"),
        (lambda: run().plot(HUGE), "plot: there is no figure <int>"),
        (lambda: wl.compare(None), "compare: takes runs, of wl.simulate or wl.read_run, got NoneType"),
        (lambda: wl.compare([None]), "compare: takes runs, of wl.simulate or wl.read_run, got NoneType"),
        (lambda: wl.compare(a=None), "compare: takes runs, of wl.simulate or wl.read_run, got NoneType"),
        (lambda: wl.compare(run()).write("x.html", title=3), "write: title is a text, got 3"),
        (lambda: wl.draw_trace("lublin", nodes=16, jobs=20, rate=10**400), NO_NUMBER),
        (lambda: wl.draw_trace("lublin", nodes=HUGE, jobs=20), "a number of 16,610 bits"),
        (lambda: wl.read_trace("x.swf", cores_per_node=10**400), NO_NUMBER),
        (lambda: wl.from_frame(COLUMNS, strict=HUGE), "from_frame: strict is True or False, got <int>"),
        (lambda: wl.from_frame({**COLUMNS, "nodes": np.array(3)}), "from_frame: column 'nodes' holds"),
        (lambda: wl.whatif(wl.from_frame(COLUMNS), MACHINE, growth=10**400), NO_NUMBER),
        (lambda: wl.whatif(wl.from_frame(COLUMNS), MACHINE, limit=HUGE), "a number of 16,610 bits"),
        (lambda: wl.whatif(wl.from_frame(COLUMNS), wl.Machine(nodes=0), nodes=5), "nodes=0: "),
        (lambda: wl.whatif(wl.from_frame(COLUMNS), MACHINE, price="{ a = " + "9" * 5000 + " }"), "price="),
        (lambda: wl.Machine(classes=(one for one in ())), "classes: expected a list or a table, got generator"),
        (lambda: wl.bid(study(), hours=HUGE), "bid: hours is a whole number"),
        (lambda: wl.policy(HUGE), "unknown policy slot <int>"),
        (lambda: study().set({HUGE: 1}), "set: a key is a dotted name like 'cluster.nodes', got <int>"),
        (
            lambda: study().set({"cluster.outage": [], "cluster.outage.²": 1}),
            "cluster.outage.²=1: '²' is not a position",
        ),
        (lambda: study().vary({"trace.load": np.array(0.5)}), "vary: trace.load: takes a list of values"),
        (lambda: study().vary(seeds=10**400), NO_NUMBER),
        (lambda: study().at(5), "at: expected a mapping of keys to values, got int"),
        (lambda: study().at("x"), "at: expected a mapping of keys to values, got str"),
        (lambda: study().vary({"trace.load": [0.5, 0.6]}, zipped=5), ZIPPED + "5"),
        (lambda: study().vary({"trace.load": [0.5, 0.6]}, zipped=[1]), ZIPPED + "1"),
        (lambda: study().vary({"trace.load": [0.5, 0.6]}, zipped="ab"), ZIPPED + "'ab'"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused_in_a_line(call: Callable[[], object], said: str) -> None:
    """No error of Python's reaches whoever mistypes."""
    with pytest.raises(wl.InputError) as caught:
        call()
    assert str(caught.value).startswith(said)


def run() -> wl.Run:
    """Return a run of two jobs."""
    return wl.simulate(wl.from_frame(COLUMNS), MACHINE, progress=False)


def study() -> wl.Study:
    """Return a study whose load can be varied."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.toml"
        path.write_text('[trace]\ngenerator = "lublin"\njobs = 20\nload = 0.5\n[cluster]\nnodes = 64\n')
        return wl.load(path)


@pytest.mark.parametrize("given", [[], {}, ""], ids=str)
@pytest.mark.parametrize("key", ["idle", "max", "min_cap", "sleep", "failures", "network", "name"])
def test_an_empty_value_of_a_machine_is_not_the_default(key: str, given: object) -> None:
    """What is given and empty is refused by its name; only lists of levels, classes and outages may be empty."""
    jobs = wl.from_frame({"submit_s": [0], "work_s": [60], "nodes": [1]})
    with pytest.raises(wl.WattlineError, match=f"^{key}"):
        wl.simulate(jobs, wl.Machine(**{"nodes": 4, key: given}), progress=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topology": None}, "network: 'topology': expected a value, got None"),
        ({"nosuch": None}, "network: 'nosuch': expected a value, got None"),
        ({"topology": "fat-tree:2x2", "local": None}, "network: 'local': expected a value, got None"),
    ],
)
def test_no_value_in_the_table_of_a_network_is_not_the_default(given: dict[str, object], said: str) -> None:
    """Nor is it in any other table: whoever names a key says something of it."""
    jobs = wl.from_frame(COLUMNS)
    with pytest.raises(wl.InputError, match=f"^{said}"):
        wl.simulate(jobs, wl.Machine(nodes=4, network=given), progress=False)


@pytest.mark.parametrize("key", ["network", "limit", "run.until", "policy.cap"])
def test_a_key_that_is_set_has_a_value(key: str) -> None:
    """A setting of a run, or of a study, that is None is refused."""
    for call in (
        lambda: wl.simulate(wl.from_frame(COLUMNS), MACHINE, settings={key: None}, progress=False),
        lambda: study().set({key: None}),
    ):
        with pytest.raises(wl.InputError, match=f"^{key}.*: expected a value, got None$"):
            call()


@pytest.mark.parametrize("given", [None, [], {}, "", 0, 0.0], ids=str)
@pytest.mark.parametrize("key", ["kill", "name"])
def test_an_empty_argument_is_not_the_default(key: str, given: object) -> None:
    """Nor is one of a run; only a name that is not given is that of the jobs."""
    if key == "name" and given is None:
        return
    jobs = wl.from_frame({"submit_s": [0], "work_s": [60], "nodes": [1]})
    with pytest.raises(wl.WattlineError, match=f"^{key}="):
        wl.simulate(jobs, wl.Machine(nodes=4), progress=False, **{key: given})  # type: ignore[arg-type]


def test_a_machine_is_as_it_was_given() -> None:
    """A list that its owner changes later changes no machine."""
    outages = [{"start": 0, "end": 100, "nodes": 1}]
    machine = wl.Machine(nodes=4, outages=outages)
    outages.append({"start": 0, "end": 1000, "nodes": 4})
    outages[0]["nodes"] = 4
    assert machine.cluster()["outage"] == [{"start": 0, "end": 100, "nodes": 1}]


def test_a_refusal_is_one_line_whatever_it_quotes(tmp_path: Path) -> None:
    """A line break in a name is shown as one."""
    (tmp_path / "s.toml").write_text('[trace]\ngenerator = "lublin"\njobs = 5\n[cluster]\nnodes = 8\n')
    for call in (
        lambda: wl.load(tmp_path / "s.toml", {"prices.energy": "a\nb"}).simulate(progress=False),
        lambda: wl.load(tmp_path / "s.toml", {"a\nb": 1}),
        lambda: wl.load(tmp_path / "a\nb"),
    ):
        with pytest.raises(wl.InputError) as caught:
            call()
        assert "a\\nb" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda text: wl.read_trace("x.csv", zone=text),
        wl.read_trace,
        lambda text: wl.from_frame(COLUMNS, columns={"submit_s": text}),
        lambda text: wl.simulate(wl.from_frame(COLUMNS), MACHINE, settings={"prices.energy": text}),
        lambda text: study().set({"sweep": {text: 1}}),
        lambda text: wl.compare(run()).write("x.html", title=text),
    ],
)
def test_what_no_file_can_hold_is_refused_as_a_text(call: Callable[[str], object]) -> None:
    """Half a character, as names of files have it that are no UTF-8, is shown as what it is; nothing is computed."""
    with pytest.raises(wl.InputError, match=r"^'\\ud800': is not UTF-8 text"):
        call("\ud800")


def test_questions_take_numbers_of_numpy() -> None:
    """As machines and runs do."""
    jobs = wl.from_frame(COLUMNS)
    one, two = (wl.whatif(jobs, MACHINE, limit=make(1300), nodes=make(5), causes=False) for make in (int, np.int64))
    assert repr(one) == repr(two)
