"""The Python door in detail: traces and frames, machines, policies as objects, errors with fields, figures, labels."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import wattline as wl
from wattline.errors import InputError, WattlineWarning
from wattline.formats.jobs.export import write_trace

COLUMNS = {"submit_s": [0.0, 5.0, 6.0], "work_s": [60.0, 30.0, 10.0], "nodes": [4, 1, 2]}


def test_a_frame_becomes_a_trace_and_back() -> None:
    """What ``from_frame`` is given is what ``jobs`` shows: names, requests, order."""
    frame = pl.DataFrame(COLUMNS | {"user": ["ann", "bob", "ann"], "request_s": [100.0, None, 20.0]})
    trace = wl.from_frame(frame)
    assert trace.jobs.select(frame.columns).with_columns(pl.col("user").cast(pl.String)).equals(frame)
    again = wl.from_frame(trace.jobs)
    assert again.jobs.equals(trace.jobs)


def test_power_over_time_goes_round(tmp_path: Path) -> None:
    """``jobs`` has the power over time of a log; ``from_frame`` takes it back, from pandas too, with the same run."""
    lists = [[48.0, 61.5, 63.0, 62.0, 51.0], None]
    pl.DataFrame({"submit_s": [0, 60], "work_s": [1500, 900], "nodes": [512, 1024], "series_w": lists}).write_parquet(
        tmp_path / "s.parquet", metadata={"wattline": '{"series_step_s": 300}'}
    )
    trace = wl.read_trace(tmp_path / "s.parquet")
    assert trace.jobs["series_w"].to_list() == lists
    assert trace.jobs["series_step_s"].to_list() == [300.0, 300.0]
    machine = wl.Machine(nodes=2048, idle=10, max=100)
    power = wl.simulate(trace, machine, progress=False).timeline
    for frame in (trace.jobs, trace.jobs.to_pandas(), trace.jobs.reverse(), trace.jobs.lazy()):
        again = wl.from_frame(frame)
        assert again.jobs.drop("after").equals(trace.jobs.drop("after"))
        assert wl.simulate(again, machine, progress=False).timeline.equals(power)
    trace.jobs.write_parquet(tmp_path / "again.parquet")
    assert wl.read_trace(tmp_path / "again.parquet").jobs.equals(trace.jobs)
    flat = wl.from_frame(trace.jobs.drop("series_w"))
    assert "series_w" not in flat.jobs.columns
    other = trace.jobs.with_columns(pl.col("series_w").list.reverse())
    assert wl.from_frame(other).handed(None)[1] != wl.from_frame(trace.jobs).handed(None)[1]
    with pytest.raises(wl.TraceError, match="the step of series_w is missing; a column series_step_s tells it"):
        wl.from_frame(trace.jobs.drop("series_step_s"))


def test_no_link_to_an_earlier_job_is_null() -> None:
    """As in all columns of ``jobs``, what is not there is null."""
    trace = wl.from_frame(COLUMNS | {"after": [None, 0, -1]})
    assert trace.jobs["after"].to_list() == [None, 0, None]
    assert wl.from_frame(trace.jobs).jobs.equals(trace.jobs)
    assert wl.from_frame(COLUMNS).jobs["after"].to_list() == [None] * 3


def test_notes_of_a_run_are_like_those_of_its_trace(tmp_path: Path) -> None:
    """What was noted of a trace is noted of its run, in the same form, also once it was written and read."""
    trace = wl.from_frame(COLUMNS | {"priority": [float("inf"), 0.0, 1.0]})
    (note,) = trace.notes
    assert (note.action, note.count) == ("repaired", 1)
    run = wl.simulate(trace, wl.Machine(nodes=4), progress=False)
    assert run.notes[:1] == trace.notes
    assert wl.read_run(run.write(tmp_path / "j")).notes == run.notes


def test_a_mapping_of_columns_is_a_frame() -> None:
    """Lists do as well as frames, and rows are sorted by submission."""
    trace = wl.from_frame({"submit_s": [5, 0], "work_s": [10, 20], "nodes": [1, 2]})
    assert trace.jobs["nodes"].to_list() == [2, 1]


def test_a_frame_is_simulated() -> None:
    """Starts of three jobs on four nodes, first come, first served."""
    run = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), select="in-order")
    assert run.jobs["start_s"].to_list() == [0.0, 60.0, 60.0]


def test_what_is_no_frame_is_refused() -> None:
    """Anything else is told what to be."""
    with pytest.raises(wl.InputError, match="polars or pandas"):
        wl.from_frame(object())
    with pytest.raises(wl.TraceError, match="work_s"):
        wl.from_frame({"submit_s": [0], "nodes": [1]})


def test_a_drawn_trace_stays_the_same_whatever_the_seed_of_the_run() -> None:
    """A trace is drawn once: the seed of a run is that of its policies."""
    trace = wl.draw_trace("lublin", nodes=32, jobs=50, load=0.5, seed=7)
    one, two = (wl.simulate(trace, wl.Machine(nodes=32, idle=100, max=300), seed=seed) for seed in (1, 2))
    assert one.jobs["submit_s"].equals(two.jobs["submit_s"])
    assert one.jobs["submit_s"].to_list() == trace.jobs["submit_s"].to_list()


def test_processors_or_nodes_are_chosen_as_the_command_does(tmp_path: Path) -> None:
    """A log whose header has both numbers is read for the machine that is given, not for the one it was first read
    for.
    """
    rows = [f"{i} {i} 0 10 {p} -1 -1 {p} 20 -1 1 1 1 1 1 1 -1 -1" for i, p in enumerate((3, 5, 1, 7), 1)]
    path = tmp_path / "shared.swf"
    path.write_text("; MaxNodes: 10\n; MaxProcs: 40\n" + "\n".join(rows) + "\n")
    trace = wl.read_trace(path)
    assert trace.nodes == 40
    assert wl.simulate(trace, wl.Machine(nodes=10)).jobs["nodes"].to_list() == [1, 2, 1, 2]
    assert wl.simulate(trace, wl.Machine(nodes=40)).jobs["nodes"].to_list() == [3, 5, 1, 7]


def test_policies_are_names_objects_files_or_tables(tmp_path: Path) -> None:
    """All four ways lead to the same run."""
    file = tmp_path / "mine.py"
    source = (
        "import wattline as wl\n\n\n@wl.policy('order', params={'sign': -1.0}, compiled=True)\n"
        "def mine(s, happened, param, memory):\n    for j in wl.waiting(s, new=True):\n"
        "        s.key[j] = param[0] * s.nodes[j]\n    return 0\n"
    )
    file.write_text(source)
    space: dict[str, object] = {}
    exec(compile(source.replace(", compiled=True", ""), "<cell>", "exec"), space)  # noqa: S102 - as a notebook does
    trace = wl.draw_trace("lublin", nodes=16, jobs=60, load=1.5, seed=2)
    machine = wl.Machine(nodes=16, idle=100, max=300)
    given = [str(file), f"{file}:mine", space["mine"], {"name": space["mine"], "sign": -1.0}]
    starts = [wl.simulate(trace, machine, order=order).jobs["start_s"].to_list() for order in given]
    assert all(one == starts[0] for one in starts)
    assert starts[0] != wl.simulate(trace, machine, order={"name": str(file), "sign": 1.0}).jobs["start_s"].to_list()


def test_a_compiled_policy_of_a_cell_is_checked_and_runs(tmp_path: Path) -> None:
    """A policy without a file compiles, and passing its checks lifts the bounds checks in this process."""
    from wattline.control.users.proven import is_proven

    source = (
        "import wattline as wl\n@wl.policy('order', compiled=True)\ndef in_a_cell(s, happened, param, memory):\n"
        f"    for j in wl.waiting(s, new=True):\n        s.key[j] = s.nodes[j]  # {tmp_path} tells it from earlier "
        "ones\n    return 0\n"
    )
    space: dict[str, object] = {}
    import linecache

    linecache.cache["<cell 7>"] = (len(source), None, source.splitlines(keepends=True), "<cell 7>")  # as IPython does
    exec(compile(source, "<cell 7>", "exec"), space)  # noqa: S102
    policy = space["in_a_cell"]
    assert not is_proven(policy)
    report = wl.check(policy)
    assert report.ok, report
    assert is_proven(policy)


def test_a_policy_for_another_slot_is_refused() -> None:
    """An order given as select is told where it belongs."""

    @wl.policy("order")
    def mine(s, happened, param, memory):
        return 0

    with pytest.raises(wl.InputError, match="policy for order"):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), select=mine)
    with pytest.raises(wl.InputError, match=r"@wl\.policy"):
        wl.check(lambda s: 0)


def test_errors_have_fields(tmp_path: Path) -> None:
    """One line for people, and file, line, field and value for programs."""
    (tmp_path / "bad.toml").write_text('[trace]\ngenerator = "lublin"\n\n[cluster]\nnodes = "many"\n')
    with pytest.raises(wl.ScenarioError) as caught:
        wl.load(tmp_path / "bad.toml")
    assert "\n" not in str(caught.value)
    assert caught.value.file == str(tmp_path / "bad.toml")
    assert caught.value.line == 5
    assert caught.value.field == "cluster.nodes"
    (tmp_path / "bad.swf").write_text("1 2 x\n")
    with pytest.raises(wl.TraceError) as caught_trace:
        wl.read_trace(tmp_path / "bad.swf")
    assert caught_trace.value.file == str(tmp_path / "bad.swf")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"limit": "28 kX"}, "limit='28 kX'"),
        ({"select": "esay"}, "did you mean 'easy'"),
        ({"settings": {"run.til": 3}}, "unknown key 'til'"),
        ({"select": ["easy", "in-order"]}, "one run takes one policy"),
        ({"ties": "never"}, "ties='never'"),
        ({"seed": -1}, "seed=-1"),
        ({"machine": wl.Machine(nodes=0)}, "nodes=0"),
        ({"machine": wl.Machine(nodes=4, idle="cold")}, "idle='cold'"),
        ({"machine": wl.Machine()}, "how large its machine was"),
    ],
)
def test_arguments_are_refused_by_name(asked: dict[str, object], words: str) -> None:
    """A wrong argument is named as it was typed, in one line."""
    machine = asked.pop("machine", wl.Machine(nodes=4))
    with pytest.raises(wl.WattlineError) as caught:
        wl.simulate(wl.from_frame(COLUMNS), machine, **asked)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_assumed_watts_are_warned_of_once_and_kept() -> None:
    """A limit without watts is a warning at the caller's line, and a remark of the run."""
    with pytest.warns(wl.WattlineWarning, match="ASSUMED POWER") as caught:
        run = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4), limit="1.2 kW")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert any("ASSUMED POWER" in line for line in run.remarks)


def test_figures_by_name() -> None:
    """Every figure that a run has can be had alone; what it has not, and what nobody knows, is said."""
    run = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4, idle="90 W", max="350 W"))
    for what in ("power", "load", "gantt", "waits", "sizes", "energies"):
        assert run.plot(what).data, what
    with pytest.raises(wl.InputError, match="did you mean 'power'"):
        run.plot("pwer")
    with pytest.raises(wl.InputError, match="nothing to draw"):
        run.plot("regulation")
    with pytest.raises(wl.InputError, match="no watts were given"):
        wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4)).plot("power")


def test_a_figure_is_that_of_the_report() -> None:
    """The curve of power is the timeline's."""
    run = wl.simulate(wl.from_frame(COLUMNS), wl.Machine(nodes=4, idle="90 W", max="350 W"))
    drawn = [np.asarray(trace.y, dtype=float) for trace in run.plot("power").data if trace.y is not None]
    highest = max(np.nanmax(y) for y in drawn if y.size)
    assert highest in (pytest.approx(run.timeline["power_w"].max()), pytest.approx(run.timeline["power_w"].max() / 1e3))


def test_labels_of_a_comparison() -> None:
    """Runs are called by what differs; equal ones by a number, or as the caller says."""
    trace, machine = wl.from_frame(COLUMNS), wl.Machine(nodes=4)
    easy, fcfs = (wl.simulate(trace, machine, select=select) for select in ("easy", "in-order"))
    assert wl.compare(easy, fcfs).labels == ("easy", "in-order")
    assert wl.compare(easy, easy).labels == ("frame (1)", "frame (2)")
    assert wl.compare(before=easy, after=fcfs).labels == ("before", "after")
    both = wl.compare(easy=[easy, easy], fcfs=[fcfs, fcfs])
    assert both.table.filter(pl.col("metric") == "wait_s.mean")["half_width"].to_list() == [0.0, 0.0]
    with pytest.raises(wl.InputError, match="takes runs"):
        wl.compare(easy, "fcfs")  # type: ignore[arg-type]


def test_a_study_is_changed_by_keys_and_objects() -> None:
    """``set`` returns another study and leaves the first alone."""
    study = wl.load(Path(__file__).parents[2] / "examples" / "easy-vs-fcfs.toml")

    @wl.policy("select")
    def nobody(s, happened, param, memory):
        return 0

    other = study.set({"policy.select": ["easy", nobody], "trace.jobs": 10})
    assert study.data["policy"]["select"] != other.data["policy"]["select"]
    assert other.data["policy"]["select"] == ["easy", "nobody"]
    with pytest.raises(wl.ScenarioError, match="2 combinations"):
        other.simulate()
    with pytest.raises(wl.InputError, match="list of values"):
        study.vary({"trace.load": 0.6})
    with pytest.raises(wl.InputError, match="more than 100,000 values"):
        study.vary({"trace.load": itertools.count(), "trace.jobs": range(100)})
    with pytest.raises(wl.ScenarioError, match="laod"):
        study.set({"trace.laod": 0.6})


def test_a_sweep_over_policies_as_objects() -> None:
    """A sweep takes objects as values, and shows their names."""

    @wl.policy("order")
    def last(s, happened, param, memory):
        for j in wl.waiting(s, new=True):
            s.key[j] = -s.submit_s[j]
        return 0

    study = wl.load(
        Path(__file__).parents[2] / "examples" / "easy-vs-fcfs.toml", {"trace.jobs": 40, "policy.select": "easy"}
    )
    frame = study.vary({"policy.order": ["fcfs", last]}, seeds=2).run()
    assert frame["policy.order"].to_list() == ["fcfs", "fcfs", "last", "last"]
    assert frame["seed"].to_list() == [1, 2, 1, 2]


def test_waiting_is_the_queue_without_its_holes() -> None:
    """Compiled and plain, ``waiting`` yields what a loop over the queue's slots finds."""
    source = (
        "import wattline as wl\n@wl.policy('select', compiled={compiled}, memory=1)\ndef mine(s, happened, param, "
        "memory):\n"
        "    n = 0\n    free = s.free[0]\n    total = 0\n"
        "    for j in wl.waiting(s):\n        total += j\n        if s.nodes[j] <= free:\n            n = "
        "wl.propose(s, n, j)\n            free -= s.nodes[j]\n"
        "    by_hand = 0\n    for i in range(s.q_head[0], s.q_tail[0]):\n        if s.queue[i] >= 0:\n            "
        "by_hand += s.queue[i]\n"
        "    if total != by_hand:\n        return -1\n    return n\n"
    )
    trace = wl.draw_trace("lublin", nodes=16, jobs=80, load=1.5, seed=4)
    machine = wl.Machine(nodes=16, idle=100, max=300)
    starts = []
    for compiled in (False, True):
        space: dict[str, object] = {}
        exec(compile(source.format(compiled=compiled), f"<cell {compiled}>", "exec"), space)  # noqa: S102
        starts.append(wl.simulate(trace, machine, select=space["mine"]).jobs["start_s"].to_list())
    assert starts[0] == starts[1] == wl.simulate(trace, machine, select="first-fit").jobs["start_s"].to_list()


def test_the_zone_of_a_log_is_in_its_journal(tmp_path: Path) -> None:
    """Local times of a zone that was told: the journal knows it, and the page's dates have its offset."""
    path = tmp_path / "dump.txt"
    row = "10|2024-07-01T00:00:00|2024-07-01T00:00:10|100|2|COMPLETED"
    path.write_text(f"JobID|Submit|Start|ElapsedRaw|AllocNodes|State\n{row}\n")
    for zone, title in (("Europe/Paris", "time [UTC+02:00]"), (None, "time [UTC]")):
        run = wl.simulate(wl.read_trace(path, zone=zone), wl.Machine(nodes=4, idle=90, max=350), progress=False)
        run.write(tmp_path / "out", force=True)
        told = json.loads((tmp_path / "out" / "manifest.json").read_text())["trace"]
        assert told.get("zone") == zone
        assert run.plot("power").layout.xaxis.title.text == title


@pytest.mark.filterwarnings("ignore::wattline.WattlineWarning")
def test_the_zone_of_a_log_goes_with_it(tmp_path: Path) -> None:
    """A tariff by the time of day charges the same hours of the log, of its Parquet table, its journal and its
    frame; SWF, which has no place for the zone, says that it is lost.
    """
    path = tmp_path / "dump.txt"
    row = "10|2024-07-01T03:00:00|2024-07-01T03:00:00|7200|2|COMPLETED"
    path.write_text(f"JobID|Submit|Start|ElapsedRaw|AllocNodes|State\n{row}\n")
    (tmp_path / "tariff.csv").write_text("time,price\n00:00,0.08\n04:00,0.21\n21:00,0.08\n")
    tariff = {"prices.energy": {"file": str(tmp_path / "tariff.csv"), "unit": "$/kWh", "repeat": True}}
    machine = wl.Machine(nodes=4, idle=90, max=350)

    def cost(trace: wl.Trace) -> float:
        return wl.simulate(trace, machine, settings=tariff, progress=False).summary.cost

    log = wl.read_trace(path, zone="Europe/Paris")
    assert (log.zone, log.epoch_unix_s) == ("Europe/Paris", 1719795600.0)
    assert cost(log) == pytest.approx(0.88 * (0.08 + 0.21))
    assert not write_trace(log.handed(None)[0], tmp_path / "jobs.parquet")
    wl.simulate(log, machine, progress=False).write(tmp_path / "journal")
    copies = [wl.read_trace(tmp_path / "jobs.parquet"), wl.read_trace(tmp_path / "journal")]
    copies.append(wl.from_frame(log.jobs, epoch_unix_s=log.epoch_unix_s, zone=log.zone))
    assert [copy.zone for copy in copies] == ["Europe/Paris"] * 3
    assert [cost(copy) for copy in copies] == [cost(log)] * 3
    lost = write_trace(log.handed(None)[0], tmp_path / "jobs.swf")
    assert [note.reason.split(":")[0] for note in lost] == ["written without the zone of the log"]
    assert not write_trace(wl.read_trace(path).handed(None)[0], tmp_path / "assumed.swf")[1:]
    with pytest.raises(InputError, match="zone goes with epoch_unix_s"):
        wl.from_frame(log.jobs, zone="Europe/Paris")


@pytest.mark.filterwarnings("ignore::wattline.WattlineWarning")
def test_outages_and_limits_are_on_one_clock(tmp_path: Path) -> None:
    """Where a run begins at second 0 and its first job comes later, both count from second 0."""
    text = """
[trace]
generator = "meggie-like"
duration = "3 h"
[cluster]
nodes = 728
idle = 31
max = 165
[[cluster.outage]]
start = 2000
end = 2500
nodes = "0-9"
[limit]
steps = [["0 s", "off"], ["2000 s", "60 kW"]]
"""
    (tmp_path / "s.toml").write_text(text)
    events = wl.load(tmp_path / "s.toml").simulate(progress=False).events
    assert events.filter(pl.col("event") == "submit")["time_s"][0] > 60.0
    for event, expected in (("node-down", 2000.0), ("node-up", 2500.0), ("limit", 2000.0)):
        assert expected in events.filter(pl.col("event") == event)["time_s"].to_list(), event


def test_caps_that_nobody_declared_are_told() -> None:
    """None of them is set, and the cause is named."""

    def forgetful(s: Any, arg: int, param: Any, memory: Any) -> int:
        del arg, param, memory
        s.want_cap_w[:] = 150.0
        return 1

    rows = {"submit_s": [0.0, 5.0], "work_s": [60.0] * 2, "nodes": [1, 1], "floor_w": [120.0] * 2, "stretch": [2.0] * 2}
    machine = wl.Machine(nodes=4, idle="100 W", max="300 W", min_cap="120 W")
    with pytest.warns(WattlineWarning, match=r"CAPS NOT SET: \d+ were refused, .* declared without caps=True"):
        run = wl.simulate(wl.from_frame(rows), machine, cap=wl.policy("cap")(forgetful), progress=False)
    assert run.jobs["runtime_s"].to_list() == [60.0, 60.0]
    capped = wl.simulate(wl.from_frame(rows), machine, cap=wl.policy("cap", caps=True)(forgetful), progress=False)
    assert capped.jobs["runtime_s"].min() > 60.0


def test_jobs_that_draw_less_than_an_idle_node_are_told() -> None:
    """Power that falls when a job starts is no power of a job."""
    trace = wl.from_frame(
        {"submit_s": [0.0, 5.0, 6.0], "work_s": [60.0] * 3, "nodes": [1, 1, 1], "draw_w": [50.0, 100.0, None]}
    )
    told = r"1 of 3 jobs are said to draw less than an idle node, 100 W \(job 1 50 W a node\): power falls"
    with pytest.warns(WattlineWarning, match=told):
        low = wl.simulate(trace, wl.Machine(nodes=4, idle="100 W", max="300 W"))
    assert any("idle node" in line for line in low.remarks)
    fine = wl.simulate(trace, wl.Machine(nodes=4, idle="50 W", max="300 W"))
    assert not any("idle node" in line for line in fine.remarks)


def test_caps_hold_no_busy_node_below_an_idle_one() -> None:
    """A machine refuses such a lowest cap; jobs with such a floor are told where there are caps."""
    rows = {"submit_s": [0.0] * 3, "work_s": [60.0] * 3, "nodes": [1, 1, 1], "floor_w": [40.0, 120.0, None]}
    trace = wl.from_frame(rows)
    with pytest.raises(
        wl.ScenarioError, match=r"min_cap=.40 W.: no cap \(40 W\) holds a busy node below an idle one \(idle = 10"
    ):
        wl.simulate(trace, wl.Machine(nodes=4, idle="100 W", max="300 W", min_cap="40 W"))
    told = r"caps are said to hold 1 of 3 jobs below an idle node, 100 W \(job 1: 40 W a node\): no cap does that"
    with pytest.warns(WattlineWarning, match=told):
        low = wl.simulate(trace, wl.Machine(nodes=4, idle="100 W", max="300 W"), cap="under-limit", limit="700 W")
    assert any("no cap does that" in line for line in low.remarks)
    free = wl.simulate(trace, wl.Machine(nodes=4, idle="100 W", max="300 W"))
    assert not any("no cap does that" in line for line in free.remarks)


def test_tables_that_are_handed_out_are_copies() -> None:
    """Who changes one changes neither the jobs that are simulated nor what others are shown."""
    trace = wl.from_frame({"submit_s": [0.0], "work_s": [5.0], "nodes": [1]})
    trace.jobs[0, "work_s"] = 100.0
    run = wl.simulate(trace, wl.Machine(nodes=4))
    run.jobs[0, "end_s"] = 9.0
    assert (trace.jobs["work_s"].item(), run.jobs["end_s"].item()) == (5.0, 5.0)
