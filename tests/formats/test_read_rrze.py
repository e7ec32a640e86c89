"""The logs of emmy and meggie: small files of the published layouts, and everything that may be odd in one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import TraceError
from wattline.formats.jobs import guess_format, read_trace
from wattline.formats.jobs.rrze.read import read_rrze
from wattline.formats.jobs.rrze.slurm import span_s
from wattline.generate.kinds_from_log import find_kinds
from wattline.reading.notes import Trace

HEADER = "JobID|Submit|Start|End|ReqNodes|Timelimit|Elapsed|User|JobName|"
MEGGIE = [
    "349988|2018-12-31T08:27|2018-12-31T08:30|2019-01-01T08:30|7|1-00:00|1-00:00|5c8e3240|b7ef4ccd",
    "349989|2018-12-31T09:00|2018-12-31T10:00|2019-01-01T00:51|25|17:00|14:51|c8218e61|a0a0a0a0",
]
MEGGIE_POWER = [
    "349988\taverage chip RAPL-power                   :      110.5 W",
    "349988\taverage dram RAPL-power                   :        8.8 W",
    "349989\taverage chip RAPL-power                   :      113.0 W",
    "349989\taverage dram RAPL-power                   :       11.0 W",
]
EMMY = [
    "01/01/2019 00:01:33;Q;1033693.eadm;queue=route",
    "01/01/2019 00:01:34;Q;1033693.eadm;queue=devel",
    "01/01/2019 00:01:44;S;1033693.eadm Resource_List.nodes=4:ppn=40 Resource_List.walltime=00:59:00",
    (
        "01/01/2019 00:28:07;E;1033693.eadm Resource_List.nodes=4:ppn=40 Resource_List.walltime=00:59:00 "
        "resources_used.walltime=00:26:03 account=e9f5a27c jobstr=362c9816"
    ),
]
EMMY_POWER = ["1033693  average power consumption (CPU+DRAM)      :      163.7 W"]


def cluster(folder: Path, name: str, jobs: list[str], power: list[str] | None = None, month: str = "01") -> Path:
    """Write the files of a month as the set has them; return that of the jobs."""
    path = folder / name / "job_traces" / f"rrze-traces-{name}-jobs-{month}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(jobs) + "\n")
    if power is not None:
        beside = folder / name / "pwr_traces" / f"rrze-traces-{name}-avg-pwr-{month}.txt"
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text("\n".join(power) + "\n")
    return path


def event(kind: str, number: int = 7, clock: str = "12:00:00", rest: str = "", day: str = "01/02/2019") -> str:
    """Write one event of emmy."""
    return f"{day} {clock};{kind};{number}.eadm{rest}"


def whole(number: int = 7, hour: int = 12, nodes: str = "2:ppn=40", name: str = "aaaa") -> list[str]:
    """Write the events of a job that waits a minute and runs for ten."""
    asks = f" Resource_List.nodes={nodes} Resource_List.walltime=01:00:00"
    return [
        event("Q", number, f"{hour:02}:00:00", ";queue=work"),
        event("S", number, f"{hour:02}:01:00", asks),
        event("E", number, f"{hour:02}:11:00", f"{asks} resources_used.walltime=00:10:00 account=u1 jobstr={name}"),
    ]


def counts(trace: Trace, action: str) -> dict[str, int]:
    """Return how often each reason was given."""
    return {note.reason: note.count for note in trace.notes if note.action == action}


def test_emmy(tmp_path: Path) -> None:
    """Events make a job: first queued, last started, run time used; power of processors and memory from the file beside
    it.
    """
    trace = read_trace(cluster(tmp_path, "emmy", EMMY, EMMY_POWER), strict=True)
    jobs = trace.jobs
    assert (jobs.job_id.tolist(), jobs.nodes.tolist(), jobs.work_s.tolist()) == ([1033693], [4], [1563.0])
    assert (jobs.request_s[0], jobs.recorded_wait_s[0], jobs.draw_w[0]) == (3540.0, 11.0, 163.7)
    assert (jobs.users, jobs.kinds, trace.suggested_nodes) == (("e9f5a27c",), ("362c9816",), 560)
    assert jobs.epoch_unix_s == 1546297293.0  # half past midnight and a bit in Erlangen is an hour before in Greenwich
    assert trace.notes == ()


def test_meggie(tmp_path: Path) -> None:
    """Rows are to the minute, durations hours and minutes; power of chips and memory is added."""
    trace = read_trace(cluster(tmp_path, "meggie", [HEADER, *MEGGIE], MEGGIE_POWER), strict=True)
    jobs = trace.jobs
    assert (jobs.nodes.tolist(), jobs.work_s.tolist()) == ([7, 25], [86400.0, 14 * 3600 + 51 * 60])
    assert (jobs.request_s.tolist(), jobs.recorded_wait_s.tolist()) == ([86400.0, 61200.0], [180.0, 3600.0])
    assert jobs.draw_w.tolist() == pytest.approx([119.3, 124.0])
    assert (jobs.users, jobs.kinds, trace.suggested_nodes) == (("5c8e3240", "c8218e61"), ("b7ef4ccd", "a0a0a0a0"), 728)


def test_a_folder_is_all_months(tmp_path: Path) -> None:
    """A cluster's folder is read whole: a job may begin in one file and end in the next, whatever the order of
    names.
    """
    cluster(
        tmp_path,
        "emmy",
        [event("Q", 5, "23:00:00", day="12/31/2018"), *whole(6)],
        [f"{6}  average power consumption (CPU+DRAM) : 150 W"],
        "12",
    )
    cluster(
        tmp_path,
        "emmy",
        [line.replace("01/02/2019", "01/03/2019") for line in whole(5)[1:]],
        ["5  average power consumption (CPU+DRAM) : 140 W"],
    )
    trace = read_trace(tmp_path / "emmy")
    assert guess_format(tmp_path / "emmy") == guess_format(tmp_path / "emmy" / "job_traces") == "rrze"
    assert (trace.jobs.job_id.tolist(), trace.jobs.draw_w.tolist()) == ([5, 6], [140.0, 150.0])
    assert trace.notes == ()


def test_a_requeued_job_of_emmy_counts_from_the_first_time(tmp_path: Path) -> None:
    """Started twice, a job counts from when it was first queued, with the run time of its last run."""
    lines = whole(7)
    again = [
        event("R", clock="12:05:00"),
        event("Q", clock="12:05:01", rest=";queue=work"),
        *(line.replace("12:0", "13:0").replace("12:1", "13:1") for line in lines[1:]),
    ]
    trace = read_trace(cluster(tmp_path, "emmy", [*lines[:2], *again]))
    assert (trace.jobs.submit_s.tolist(), trace.jobs.work_s.tolist(), trace.jobs.recorded_wait_s.tolist()) == (
        [0.0],
        [600.0],
        [3660.0],
    )
    assert counts(trace, "repaired") == {"requeued: counts from when it was first queued": 1}


def test_a_requeued_job_of_meggie_counts_from_the_first_time(tmp_path: Path) -> None:
    """Of two rows of one job the later run counts, from the first submission; the other is dropped and counted."""
    again = "349989|2019-01-02T09:00|2019-01-02T10:00|2019-01-02T11:00|25|17:00|01:00|c8218e61|a0a0a0a0"
    trace = read_trace(cluster(tmp_path, "meggie", [HEADER, *MEGGIE, again, MEGGIE[0]], MEGGIE_POWER))
    assert trace.jobs.job_id.tolist() == [349988, 349989]
    assert (trace.jobs.submit_s.tolist(), trace.jobs.work_s.tolist()) == ([0.0, 1980.0], [86400.0, 3600.0])
    assert counts(trace, "repaired") == {"requeued: counts from when it was first queued": 1}
    assert counts(trace, "dropped") == {"an earlier run of a requeued job": 1, "the same row again": 1}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([event("Q"), event("D", clock="12:30:00", rest=";requestor=u@h")], "deleted before it started"),
        ([event("Q"), event("A", clock="12:30:00")], "aborted before it started"),
        ([event("Q")], "never started in the log"),
        (whole()[:2], "not finished when the log ends"),
        ([*whole()[:2], event("D", clock="12:05:00")], "not finished when the log ends"),
        (whole(nodes="")[:3], "nodes unknown"),
        ([event("E", rest=" Resource_List.nodes=2:ppn=40")], "run time unknown"),
        (["01/02/2019;what is this"], "malformed: not an accounting event"),
    ],
)
def test_emmy_jobs_that_are_none(tmp_path: Path, lines: list[str], reason: str) -> None:
    """A job without a start or an end is dropped and counted once; strict reading refuses it by line."""
    path = cluster(tmp_path, "emmy", [*whole(1, 10), *lines])
    trace = read_trace(path)
    assert counts(trace, "dropped") == {reason: 1}
    assert (trace.records, trace.jobs.job_id.tolist()) == (2, [1])
    with pytest.raises(TraceError, match=r"jobs-01.txt:4: "):
        read_trace(path, strict=True)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("5|2018-12-31T08:27|Unknown|2019-01-01T08:27|7|1-00:00|00:00|u|n", "deleted before it started"),
        ("5|Unknown|2018-12-31T08:27|2019-01-01T08:27|7|1-00:00|1-00:00|u|n", "submit time unknown"),
        ("5|2018-12-31T08:27|2018-12-31T08:27|Unknown|7|1-00:00|1-00:00|u|n", "not finished when the log ends"),
        ("5|2018-12-31T08:27|2018-12-31T08:27|01.01.2019|7|1-00:00|1-00:00|u|n", "end time cannot be read"),
        ("5|2018-12-31T08:27|2018-12-31T08:27|2019-01-01T08:27|7|1-00:00|INVALID|u|n", "run time unknown"),
        ("5|2018-12-31T08:27|2018-12-31T08:27|2019-01-01T08:27|7|1-00:00|01:60|u|n", "run time unknown"),
        (
            "5|2018-12-31T08:27|2018-12-31T08:27|2019-01-01T08:27|many|1-00:00|1-00:00|u|n",
            "nodes are not a positive whole number",
        ),
        ("5|2018-02-31T08:27|2018-02-31T08:27|2019-01-01T08:27|7|1-00:00|1-00:00|u|n", "times cannot be read"),
        ("5|2018-12-31T08:27", "malformed: expected 9 fields that begin with a job number"),
    ],
)
def test_meggie_rows_that_are_no_jobs(tmp_path: Path, row: str, reason: str) -> None:
    """A row that did not run to an end is dropped and counted; strict reading refuses it by line."""
    path = cluster(tmp_path, "meggie", [HEADER, *MEGGIE, row], MEGGIE_POWER)
    trace = read_trace(path)
    assert counts(trace, "dropped") == {reason: 1}
    assert (trace.records, len(trace.jobs)) == (3, 2)
    with pytest.raises(TraceError, match=r"jobs-01.txt:4: "):
        read_trace(path, strict=True)


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "told"),
    [
        ("2018-12-31T08:27", "2019-01-01T08:28", "1-00:00", 0),  # to the minute
        ("2019-03-30T12:00", "2019-03-31T13:00", "1-00:00", 0),  # clocks were set forward
        ("2018-12-31T08:27", "2019-01-01T08:27", "9-00:00", 1),
        ("2018-12-31T08:27", "2017-12-31T08:27", "1-00:00", 1),
        ("2018-12-31T08:27", "2019-02-31T08:27", "1-00:00", 1),
    ],
)
def test_a_run_time_that_start_and_end_contradict_is_told(
    tmp_path: Path, start: str, end: str, elapsed: str, told: int
) -> None:
    """The run time counts, as Slurm says it, and the page says that the row contradicts itself."""
    row = f"5|{start}|{start}|{end}|7|1-00:00|{elapsed}|u|n"
    trace = read_trace(cluster(tmp_path, "meggie", [HEADER, *MEGGIE, row], MEGGIE_POWER))
    reason = "the run time is not the end less the start: the run time counts"
    assert counts(trace, "kept").get(reason, 0) == told
    assert span_s(elapsed) in trace.jobs.work_s.tolist()


@pytest.mark.parametrize(
    ("limit", "request_s"),
    [("3600", 3600.0), ("01:00", 60.0), ("00:59:00", 3540.0), ("1:00:00:00", 86400.0), ("00:01:00.5", 60.5)],
)
def test_time_limits_of_torque(tmp_path: Path, limit: str, request_s: float) -> None:
    """A time limit is seconds, with minutes, hours and days before them, as PBS and Torque take it."""
    lines = [line.replace("Resource_List.walltime=01:00:00", f"Resource_List.walltime={limit}") for line in whole()]
    trace = read_trace(cluster(tmp_path, "emmy", lines), strict=True)
    assert trace.jobs.request_s.tolist() == [request_s]


@pytest.mark.parametrize("limit", ["1-00:00:00", "00:60:00", "junk", "01:00:00:00:00"])
def test_a_time_limit_of_torque_that_cannot_be_read(tmp_path: Path, limit: str) -> None:
    """It is taken as none and counted; strict reading refuses it by line and field."""
    lines = [line.replace("Resource_List.walltime=01:00:00", f"Resource_List.walltime={limit}") for line in whole()]
    path = cluster(tmp_path, "emmy", lines)
    trace = read_trace(path)
    assert math.isnan(trace.jobs.request_s[0])
    assert counts(trace, "repaired") == {"time limit cannot be read: taken as none": 1}
    with pytest.raises(TraceError, match=r"jobs-01.txt:3: .*Resource_List.walltime"):
        read_trace(path, strict=True)


@pytest.mark.parametrize(
    ("limit", "request_s"),
    [("30", 1800.0), ("1-12", 129600.0), ("1-00:00:00", 86400.0), ("UNLIMITED", math.nan), ("", math.nan)],
)
def test_time_limits_of_meggie(tmp_path: Path, limit: str, request_s: float) -> None:
    """A time limit may be what Slurm takes for one: plain minutes, days and hours, or a word for none."""
    row = f"5|2018-12-31T08:27|2018-12-31T08:27|2019-01-01T08:27|7|{limit}|00:10|u|n"
    trace = read_trace(cluster(tmp_path, "meggie", [HEADER, *MEGGIE, row], MEGGIE_POWER), strict=True)
    asked = dict(zip(trace.jobs.job_id.tolist(), trace.jobs.request_s.tolist(), strict=True))
    assert asked[5] == pytest.approx(request_s, nan_ok=True)


@pytest.mark.parametrize("limit", ["junk", "01:60", "1-25:00", "-30"])
def test_a_time_limit_of_meggie_that_cannot_be_read(tmp_path: Path, limit: str) -> None:
    """It is taken as none and counted; strict reading refuses it by line and field."""
    row = f"5|2018-12-31T08:27|2018-12-31T08:27|2019-01-01T08:27|7|{limit}|00:10|u|n"
    path = cluster(tmp_path, "meggie", [HEADER, *MEGGIE, row], MEGGIE_POWER)
    trace = read_trace(path)
    assert counts(trace, "repaired") == {"time limit cannot be read: taken as none": 1}
    with pytest.raises(TraceError, match=r"jobs-01.txt:4: .*Timelimit"):
        read_trace(path, strict=True)


def test_what_a_log_does_not_say_is_repaired_or_unknown(tmp_path: Path) -> None:
    """Queued before the log begins: counts from its start. No run time at the end: end minus start. Named hosts count
    one each.
    """
    lines = [*whole(1, 10)[1:], *whole(2, 11, nodes="e0101:ppn=40+e0102:ppn=40+e0103:ppn=40")]
    trace = read_trace(
        cluster(
            tmp_path,
            "emmy",
            [*lines, *(line.replace("resources_used.walltime=00:10:00", "") for line in whole(3, 12))],
        )
    )
    assert trace.jobs.nodes.tolist() == [2, 3, 2]
    assert trace.jobs.work_s.tolist() == [600.0] * 3
    assert counts(trace, "repaired") == {
        "queued before the log begins: counts from its start": 1,
        "no run time at its end: taken from start and end": 1,
    }
    assert counts(trace, "kept") == {"no power of it beside the log: power unknown": 3}


def test_power_lines_that_say_nothing(tmp_path: Path) -> None:
    """A power that is not a number, or no power line at all, leaves the power unknown and is counted."""
    power = [
        "1  average power consumption (CPU+DRAM)      :        nan W",
        "rubbish",
        "2  average power consumption (CPU+DRAM) : 9e99 W",
        "3  average power consumption (CPU+DRAM) : 140.0 W",
    ]
    trace = read_trace(cluster(tmp_path, "emmy", [*whole(1, 10), *whole(2, 11), *whole(3, 12)], power))
    assert [math.isnan(watts) for watts in trace.jobs.draw_w] == [True, True, False]
    assert counts(trace, "kept") == {
        "a power that is no number, or cannot be true: unknown": 2,
        "a line that is not the power of a job": 1,
        "no power of it beside the log: power unknown": 2,
    }


def test_dumps_of_slurm_stay_dumps_of_slurm(tmp_path: Path) -> None:
    """The same columns with seconds are an ordinary dump: only times to the minute tell meggie's layout."""
    path = tmp_path / "dump.txt"
    path.write_text(
        f"{HEADER.rstrip('|')}\n5|2018-12-31T08:27:00|2018-12-31T08:28:00|2018-12-31T08:33:00|7|01:00:00|00:05:00|u|n\n"
    )
    assert guess_format(path) == "sacct"
    assert read_trace(path).jobs.work_s.tolist() == [300.0]


def test_kinds_of_meggie_have_observed_power(tmp_path: Path) -> None:
    """Jobs of one name and node count are a kind with the range of power that was measured."""
    rows = [f"{i}|2018-12-31T08:2{i}|2018-12-31T08:30|2018-12-31T09:30|7|1-00:00|01:00|u|n" for i in range(1, 7)]
    power = [
        f"{i}\taverage {part} RAPL-power : {watts + i} W"
        for i in range(1, 7)
        for part, watts in (("chip", 100), ("dram", 8))
    ]
    found = find_kinds(read_trace(cluster(tmp_path, "meggie", [HEADER, *rows], power)))
    (row,) = found.rows
    assert (row.kind.name, row.jobs, row.power_from) == ("n@7", 6, "observed")
    assert (row.kind.floor_w, row.kind.draw_w) == (110.0, 120.0)


@pytest.mark.parametrize(("name", "lines"), [("emmy", EMMY), ("meggie", [HEADER, *MEGGIE])])
def test_both_logs_are_in_the_time_of_erlangen(tmp_path: Path, name: str, lines: list[str]) -> None:
    """The zone of the logs is known: another one changes nothing and is said to; their own needs no word."""
    path = cluster(tmp_path, name, lines)
    plain, same, other = (read_trace(path, zone=zone) for zone in (None, "Europe/Berlin", "Asia/Tokyo"))
    assert plain.zone == same.zone == other.zone == "Europe/Berlin"
    assert not plain.zone_assumed
    assert plain.notes == same.notes
    assert plain.jobs.epoch_unix_s == other.jobs.epoch_unix_s
    assert "the log's times are those of Europe/Berlin: zone changes nothing" in [note.reason for note in other.notes]


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    """An empty folder, files of both clusters together, and a file without jobs are refused in one line."""
    (tmp_path / "none").mkdir()
    with pytest.raises(TraceError, match="is a directory without files of jobs"):
        read_rrze(tmp_path / "none")
    cluster(tmp_path, "both", EMMY)
    cluster(tmp_path, "both", [HEADER, *MEGGIE], month="02")
    with pytest.raises(TraceError, match="holds files of jobs of both clusters; give the folder of one cluster"):
        read_rrze(tmp_path / "both")
    with pytest.raises(TraceError, match=r"none of its 1 record is usable .1 × deleted before it started"):
        read_rrze(cluster(tmp_path, "emmy", [event("Q"), event("D")]))
    (tmp_path / "text.txt").write_text("hello\nworld\n")
    with pytest.raises(TraceError, match=r"none of its 2 records is usable .2 × malformed"):
        read_rrze(tmp_path / "text.txt")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=80),
            st.sampled_from(
                [*EMMY, *MEGGIE, HEADER, *whole(), event("D"), event("S", rest=" Resource_List.nodes=+:x")]
            ),
        ),
        max_size=12,
    )
)
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """Whatever a file holds, it is read with every record accounted for, or refused in one line."""
    path = tmp_path_factory.mktemp("r") / "x-jobs-01.txt"
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    try:
        trace = read_rrze(path)
    except TraceError as problem:
        said = str(problem)
    else:
        said = ""
        assert len(trace.jobs) + trace.count("dropped") == trace.records
    assert "\n" not in said
