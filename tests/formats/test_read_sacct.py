"""Slurm accounting dumps: any columns, any order, every notation."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.sacct.read import read_sacct
from wattline.reading.notes import Trace

HEADER = "JobID|Submit|Start|Elapsed|AllocNodes|State"


def read(tmp_path: Path, *lines: str, **options: object) -> Trace:
    """Write and read a dump."""
    path = tmp_path / "dump.txt"
    path.write_text("\n".join(lines) + "\n")
    return read_sacct(path, **options)  # type: ignore[arg-type]


def job(
    number: str = "1", at: str = "00:00:00", elapsed: str = "00:01:00", nodes: str = "2", state: str = "COMPLETED"
) -> str:
    """Write one record."""
    return f"{number}|2024-03-01T{at}|2024-03-01T{at}|{elapsed}|{nodes}|{state}"


def counts(trace: Trace, action: str) -> dict[str, int]:
    """Return how often each reason was given."""
    return {note.reason: note.count for note in trace.notes if note.action == action}


def test_columns_in_any_order(tmp_path: Path) -> None:
    """Every column that is used lands in the job table, whatever the order."""
    trace = read(
        tmp_path,
        "State|TimelimitRaw|ElapsedRaw|NNodes|User|Account|Partition|JobName|Priority|Start|Submit|JobIDRaw|ConsumedEnergyRaw",
        "COMPLETED|60|100|2|ann|phys|std|lu.C|7|2024-03-01T00:00:30|2024-03-01T00:00:00|42|60000",
    )
    jobs = trace.jobs
    assert (jobs.job_id[0], jobs.nodes[0], jobs.work_s[0], jobs.request_s[0]) == (42, 2, 100.0, 3600.0)
    assert (jobs.users, jobs.groups, jobs.partitions, jobs.kinds) == (("ann",), ("phys",), ("std",), ("lu.C",))
    assert (jobs.priority[0], jobs.recorded_wait_s[0], jobs.draw_w[0]) == (7.0, 30.0, 300.0)
    assert (jobs.submit_s[0], jobs.epoch_unix_s) == (0.0, 1709251200.0)


def test_steps_are_not_jobs(tmp_path: Path) -> None:
    """Steps are counted and left out, also in strict reading: every dump without -X has them."""
    trace = read(tmp_path, HEADER, job("1"), job("1.batch"), job("1.0"), job("1.extern"), strict=True)
    assert len(trace.jobs) == 1
    assert counts(trace, "dropped") == {"a step of a job, not a job": 3}


def test_arrays_and_heterogeneous_jobs(tmp_path: Path) -> None:
    """Array tasks and parts of heterogeneous jobs are jobs; without JobIDRaw they share a number."""
    trace = read(tmp_path, HEADER, job("5_1"), job("5_2"), job("6+0"), job("6+1"))
    assert trace.jobs.job_id.tolist() == [5, 5, 6, 6]
    assert counts(trace, "kept") == {
        "part of a heterogeneous job: a job of its own": 2,
        "job number used before (array tasks share one unless the dump has JobIDRaw)": 2,
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (job(state="CANCELLED by 1000", elapsed="00:00:00"), "cancelled before it started"),
        (job(state="RUNNING"), "not finished when the dump was made"),
        (job("9_[3-7%2]", state="PENDING"), "not finished when the dump was made"),
        (job(state="REQUEUED"), "an earlier run of a requeued job"),
        (job(at="later"), "submit time cannot be read"),
        (job(at="?").replace("2024-03-01T?", "Unknown"), "submit time unknown"),
        (job(elapsed="INVALID"), "run time unknown"),
        (job(nodes="0"), "never held nodes (zero or unknown)"),
        (job(nodes="-3"), "never held nodes (zero or unknown)"),
        (job(nodes="nan"), "number of nodes cannot be read"),
        (job(nodes="1e400"), "number of nodes cannot be read"),
        (job(nodes="1.5K"), "number of nodes cannot be read"),
        (job(nodes="1.5"), "number of nodes is not whole"),
        (job(nodes="1e20"), "number of nodes is too large a number"),
        (job(elapsed="100"), "run time cannot be read"),
        (job() + "|more", "malformed: expected 6 columns like the header (got 7 in the first)"),
        ("cut|off", "malformed: expected 6 columns like the header (got 2 in the first)"),
    ],
)
def test_records_that_are_no_jobs(tmp_path: Path, line: str, reason: str) -> None:
    """A record that did not run to its end is dropped and counted; strict reading refuses it by line."""
    trace = read(tmp_path, HEADER, job("77"), line)
    assert counts(trace, "dropped") == {reason: 1}
    assert (trace.records, len(trace.jobs)) == (2, 1)
    with pytest.raises(TraceError, match=r"dump.txt:3: field"):
        read(tmp_path, HEADER, job("77"), line, strict=True)


def test_cancelled_while_running_is_a_job(tmp_path: Path) -> None:
    """A job cancelled after it started ran, so it is a job."""
    assert len(read(tmp_path, HEADER, job(state="CANCELLED by 7")).jobs) == 1


def test_the_header_of_another_query_is_refused(tmp_path: Path) -> None:
    """Dumps of two queries, one behind the other: the columns of the second come in another order. They were read
    under the first header, users as accounts and limits as run times. The same header again is left out.
    """
    rows = [HEADER, job("1"), HEADER, job("2")]
    assert read(tmp_path, *rows).jobs.job_id.tolist() == [1, 2]
    names = HEADER.split("|")
    for i in range(len(names)):
        for k in range(i):
            other = names.copy()
            other[i], other[k] = other[k], other[i]
            with pytest.raises(TraceError, match=r"dump.txt:3: is the header line of another table"):
                read(tmp_path, *rows[:2], "|".join(other), job("2"))


def test_a_run_that_ends_before_it_starts(tmp_path: Path) -> None:
    """Where the run time is End less Start, a negative one is said to be that."""
    rows = ("1|2024-03-01T00:00:00|2024-03-01T01:00:00|2024-03-01T02:00:00|2", "2" + "|2024-03-01T00:00:00" * 3 + "|2")
    late = "3|2024-03-01T00:00:00|2024-03-01T01:00:00|2024-03-01T00:30:00|2"
    trace = read(tmp_path, "JobID|Submit|Start|End|AllocNodes", *rows, late)
    assert counts(trace, "dropped") == {"ends before it starts": 1}


def test_a_job_number_used_before_hints_at_the_raw_one_only_where_that_is_missing(tmp_path: Path) -> None:
    """A dump with JobIDRaw is not told to have it."""
    trace = read(tmp_path, HEADER.replace("JobID", "JobIDRaw"), job("7"), job("7", at="00:10:00"))
    assert counts(trace, "kept") == {"job number used before": 1}


@pytest.mark.parametrize("text", ["inf", "-inf", "1e400", "high"])
def test_a_priority_that_is_no_finite_number_is_counted(tmp_path: Path, text: str) -> None:
    """It is taken as 0, with a count; strict reading refuses it. One that is not known is 0 without a word."""
    rows = (f"{HEADER}|Priority", f"{job('1')}|7", f"{job('2')}|{text}", f"{job('3')}|")
    trace = read(tmp_path, *rows)
    assert trace.jobs.priority.tolist() == [7.0, 0.0, 0.0]
    assert counts(trace, "repaired") == {"priority is no finite number: taken as 0": 1}
    with pytest.raises(TraceError, match=r"dump.txt:3: field 'priority'"):
        read(tmp_path, *rows, strict=True)


@pytest.mark.parametrize("text", ["4294967294", "4294967295"])
def test_slurms_numbers_for_no_value_are_no_values(tmp_path: Path, text: str) -> None:
    """Of a job whose AllocNodes is NO_VAL the requested nodes count; its limit is not known."""
    rows = (
        "JobID|Submit|Start|ElapsedRaw|AllocNodes|ReqNodes|TimelimitRaw|State",
        f"1|2024-03-01T00:00:00|2024-03-01T00:00:00|60|{text}|2|{text}|COMPLETED",
        "2|2024-03-01T00:00:00|2024-03-01T00:00:00|60|2|2|1|COMPLETED",
    )
    trace = read(tmp_path, *rows)
    assert trace.jobs.nodes.tolist() == [2, 2]
    assert trace.jobs.request_s.tolist()[1] == 60.0
    assert not trace.jobs.request_s[0] < math.inf
    assert read(tmp_path, rows[0], rows[1].replace("|2|4", f"|{text}|4", 1), rows[2]).jobs.job_id.tolist() == [2]


def test_runs_of_a_requeued_job_stand_in_any_order(tmp_path: Path) -> None:
    """A run that lost its nodes belongs to the later one of its job, also where that stands before it."""
    rows = [job("3", at="00:20:00", elapsed="00:05:00"), job("3", at="00:10:00", state="NODE_FAIL"), job("4")]
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1)):
        trace = read(tmp_path, HEADER, *(rows[i] for i in order))
        assert sorted(zip(trace.jobs.job_id, trace.jobs.submit_s, trace.jobs.work_s, strict=True)) == [
            (3, 600.0, 300.0),
            (4, 0.0, 60.0),
        ]
        assert counts(trace, "dropped") == {"an earlier run of a requeued job": 1}


def test_last_run_of_a_requeued_job_counts(tmp_path: Path) -> None:
    """Of several runs of one submission only the last is a job."""
    trace = read(tmp_path, HEADER, job("3", elapsed="00:00:10", state="NODE_FAIL"), job("3", elapsed="00:05:00"))
    assert trace.jobs.work_s.tolist() == [300.0]
    assert counts(trace, "dropped") == {"an earlier run of a requeued job": 1}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-02:03:04", 93784.0), ("00:00:01", 1.0), ("05:30", 330.0), ("00:00:07.250", 7.25), ("100:00:00", 360000.0)],
)
def test_elapsed_notations(tmp_path: Path, text: str, seconds: float) -> None:
    """Elapsed is [D-]HH:MM:SS[.fff] or MM:SS."""
    assert read(tmp_path, HEADER, job(elapsed=text)).jobs.work_s.tolist() == [seconds]


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit", "", "00:00:00"])
def test_no_limit_is_unknown(tmp_path: Path, limit: str) -> None:
    """Words instead of a limit mean that the job has none of its own."""
    trace = read(tmp_path, HEADER + "|Timelimit", job() + "|" + limit)
    assert math.isnan(trace.jobs.request_s[0])
    assert counts(trace, "kept") == {"no time limit of its own": 1}


@pytest.mark.parametrize(
    ("column", "limit"),
    [
        *(("Timelimit", text) for text in ("banana", "45?", "2-00", "3x", "-5", "00:99:00", "0-24:00:00")),
        *(("TimelimitRaw", text) for text in ("banana", "45?", "-5", "3x", "1e400", "1e308")),
    ],
)
def test_a_limit_that_cannot_be_read_is_counted(tmp_path: Path, column: str, limit: str) -> None:
    """No limit is what Slurm has words for; anything else that is no time is counted, and refused by strict reading."""
    lines = (f"{HEADER}|{column}", f"{job('1')}|{limit}")
    trace = read(tmp_path, *lines)
    assert math.isnan(trace.jobs.request_s[0])
    assert counts(trace, "repaired") == {"time limit cannot be read: taken as none": 1}
    assert "no time limit of its own" not in counts(trace, "kept")
    with pytest.raises(TraceError, match=rf"dump.txt:2: field '{column.lower()}': time limit cannot be read"):
        read(tmp_path, *lines, strict=True)


@pytest.mark.parametrize("text", ["00:99:99", "00:00:60", "01:60:00", "1-24:00:00"])
def test_a_run_time_that_no_clock_shows_is_none(tmp_path: Path, text: str) -> None:
    """Minutes and seconds go to 59, hours beside days to 23."""
    assert counts(read(tmp_path, HEADER, job("1"), job("2", elapsed=text)), "dropped") == {"run time cannot be read": 1}


@pytest.mark.parametrize(("energy", "draw_w"), [("12K", 100.0), ("0.012M", 100.0), ("12000", 100.0), ("0", math.nan)])
def test_energy_becomes_power_per_node(tmp_path: Path, energy: str, draw_w: float) -> None:
    """Consumed energy (with K, M, G) over run time and nodes is the job's power per node."""
    jobs = read(tmp_path, HEADER + "|ConsumedEnergy", job() + "|" + energy).jobs
    assert jobs.draw_w[0] == pytest.approx(draw_w, nan_ok=True)


def test_absurd_energy_is_unknown(tmp_path: Path) -> None:
    """An energy counter that overflowed does not become a job's power."""
    for energy in ("18446744073709551614", "1e308"):
        trace = read(tmp_path, HEADER + "|ConsumedEnergyRaw", job() + "|" + energy)
        assert math.isnan(trace.jobs.draw_w[0])
        assert counts(trace, "repaired") == {"energy means more than 100000 W a node: power unknown": 1}


def test_an_energy_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """It is unknown, and counted; one of Slurm's words for no value is not."""
    lines = [job() + "|" + energy for energy in ("much", "", "12000")]
    trace = read(
        tmp_path, HEADER + "|ConsumedEnergy", *(line.replace("1|", f"{i}|", 1) for i, line in enumerate(lines, 1))
    )
    assert counts(trace, "repaired") == {"energy cannot be read: power unknown": 1}


def test_nodes_from_cpus(tmp_path: Path) -> None:
    """Without a column of nodes, CPUs divided by cores_per_node, rounded up, are the size."""
    lines = ("JobID|Submit|ElapsedRaw|AllocCPUS", "1|2024-03-01T00:00:00|60|65")
    assert read(tmp_path, *lines, cores_per_node=32).jobs.nodes.tolist() == [3]


def test_nodes_from_tres(tmp_path: Path) -> None:
    """AllocTRES tells the nodes, too."""
    lines = ("JobID|Submit|ElapsedRaw|AllocTRES", "1|2024-03-01T00:00:00|60|billing=8,cpu=8,mem=4G,node=5")
    assert read(tmp_path, *lines).jobs.nodes.tolist() == [5]


def test_run_time_from_start_and_end(tmp_path: Path) -> None:
    """Without elapsed time, end minus start is the run time."""
    lines = ("JobID|Submit|Start|End|NNodes", "1|2024-03-01T00:00:00|2024-03-01T00:01:00|2024-03-01T01:01:00|1")
    assert read(tmp_path, *lines).jobs.work_s.tolist() == [3600.0]


def test_time_zone_makes_times_absolute(tmp_path: Path) -> None:
    """With a time zone, local times become Unix time, across the change to summer time."""
    lines = ("JobID|Submit|ElapsedRaw|NNodes", "1|2024-03-31T01:30:00|5|1", "2|2024-03-31T03:30:00|5|1")
    trace = read(tmp_path, *lines, timezone="Europe/Paris")
    assert trace.jobs.submit_s.tolist() == [0.0, 3600.0]
    assert trace.jobs.epoch_unix_s == 1711845000.0
    with pytest.raises(InputError, match="unknown time zone 'Mars/Olympus'"):
        read(tmp_path, *lines, timezone="Mars/Olympus")


def test_unix_times_are_understood(tmp_path: Path) -> None:
    """Times printed with SLURM_TIME_FORMAT=%s are Unix seconds."""
    lines = ("JobID|Submit|ElapsedRaw|NNodes", "1|1700000000|5|1", "2|1700000060|5|1")
    assert read(tmp_path, *lines).jobs.submit_s.tolist() == [0.0, 60.0]


def test_missing_column_says_how_to_make_the_dump(tmp_path: Path) -> None:
    """A dump without a needed column is refused with the command that prints one."""
    with pytest.raises(
        TraceError, match=r"dump.txt:1: no column submit: found jobid, elapsed; make the dump with `sacct"
    ):
        read(tmp_path, "JobID|Elapsed", "1|00:01:00")


def test_layout_of_the_file_does_not_matter(tmp_path: Path) -> None:
    """--parsable's last bar, repeated headers, blank lines, CRLF and a BOM change nothing."""
    lines = [HEADER + "|", job("1") + "|", "", HEADER + "|", job("2", at="00:00:05") + "|"]
    path = tmp_path / "dump.txt"
    path.write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())
    trace = read_trace(path, strict=True)
    assert (trace.jobs.job_id.tolist(), trace.records) == ([1, 2], 2)


def test_a_requeued_job_counts_from_its_first_submission(tmp_path: Path) -> None:
    """Slurm gives a requeued job a new submit time; what its user waited began with the first."""
    trace = read(
        tmp_path,
        HEADER,
        job("1", at="00:00:00"),
        job("3", at="00:01:00", state="REQUEUED"),
        job("3", at="00:10:00", state="NODE_FAIL"),
        job("4", at="00:20:00", state="PREEMPTED"),
        job("3", at="00:30:00", elapsed="00:05:00"),
        job("5", at="00:40:00", state="NODE_FAIL"),
    )
    jobs = trace.jobs
    assert jobs.job_id.tolist() == [1, 3, 4, 5]  # nobody ran 4 and 5 again: what they lost is all that is known of them
    assert jobs.submit_s.tolist() == [0.0, 60.0, 1200.0, 2400.0]
    assert jobs.work_s.tolist() == [60.0, 300.0, 60.0, 60.0]
    assert jobs.recorded_wait_s[1] == 1740.0
    assert [(note.reason, note.count) for note in trace.notes if note.action == "dropped"] == [
        ("an earlier run of a requeued job", 1),
        ("an earlier run of a requeued job", 1),
    ]
    assert counts(trace, "repaired") == {
        "requeued: counts from its first submission": 1,
        "out of order: sorted by submit time": 1,
    }


@pytest.mark.parametrize("now", ["RUNNING", "PENDING", "SUSPENDED"])
@pytest.mark.parametrize("lost", ["NODE_FAIL", "PREEMPTED", "REQUEUED"])
def test_an_earlier_run_of_a_job_that_has_not_ended_is_none(tmp_path: Path, now: str, lost: str) -> None:
    """A job that runs or waits again has not ended, whatever it lost before; one whose number is used anew has."""
    trace = read(
        tmp_path,
        HEADER,
        job("1", at="00:00:00", state=lost),
        job("1", at="00:00:30", state=now),
        job("2", at="00:00:00"),
        job("3", at="00:00:00"),
        job("3", at="00:10:00", state=now),
        job("4", at="00:00:00", state=now),
        job("4", at="00:00:00", state="NODE_FAIL"),
    )
    assert sorted(trace.jobs.job_id.tolist()) == [2, 3, 4]  # two dumps, one behind the other, show job 4
    assert counts(trace, "dropped") == {
        "not finished when the dump was made": 3,
        "an earlier run of a requeued job": 1,
    }


@pytest.mark.parametrize("turned", [False, True])
def test_runs_of_one_submission_come_in_the_order_of_their_starts(tmp_path: Path, turned: bool) -> None:
    """A run that dies in its first second is requeued in the same second; rows may stand in any order."""
    head = "JobID|Submit|Start|ElapsedRaw|AllocNodes|State"
    day = "2024-01-01T"
    rows = [
        f"9|{day}00:00:00|{day}00:00:00|9|1|COMPLETED",
        f"3|{day}00:10:00|{day}00:10:00|0|2|PREEMPTED",
        f"3|{day}00:10:00|{day}00:10:00|5|2|NODE_FAIL",
        f"3|{day}00:10:00|{day}00:10:05|30|2|TIMEOUT",
        f"4|{day}00:20:00|{day}00:20:00|600|2|NODE_FAIL",
        f"4|{day}00:20:00|{day}00:30:00|60|2|RUNNING",
        f"5|{day}00:20:00|{day}00:20:00|600|2|NODE_FAIL",
        f"5|{day}00:20:00|{day}00:20:00|300|2|RUNNING",
        f"6|{day}00:40:00|{day}00:40:00|600|2|PREEMPTED",
        f"6|{day}00:41:00|Unknown|0|2|PENDING",
    ]
    trace = read(tmp_path, head, *(rows[::-1] if turned else rows))
    found = zip(
        trace.jobs.job_id.tolist(), trace.jobs.work_s.tolist(), trace.jobs.recorded_wait_s.tolist(), strict=True
    )
    assert sorted(found) == [(3, 30.0, 5.0), (5, 600.0, 0.0), (9, 9.0, 0.0)]  # two dumps show the one run of 5


def test_a_job_number_that_was_used_again_is_another_job(tmp_path: Path) -> None:
    """Records of one number that ended by themselves are jobs of their own, with their own submit times."""
    trace = read(tmp_path, HEADER, job("3", at="00:00:00"), job("3", at="00:30:00"))
    assert trace.jobs.submit_s.tolist() == [0.0, 1800.0]


def test_a_requeued_job_ends_with_its_last_run(tmp_path: Path) -> None:
    """What comes under its number later is another job, of another user or of the same one."""
    rows = (
        job("5", at="00:00:00", state="REQUEUED") + "|ann",
        job("5", at="00:10:00", elapsed="00:12:00") + "|ann",
        job("5", at="08:00:00", nodes="4") + "|bob",
        job("5", at="09:00:00", nodes="8") + "|ann",
        job("5", at="10:00:00", state="NODE_FAIL", nodes="8") + "|ann",
        job("5", at="11:00:00", elapsed="00:20:00", nodes="8") + "|ann",
    )
    for order in (rows, rows[::-1]):
        trace = read(tmp_path, HEADER + "|User", *order)
        assert trace.jobs.submit_s.tolist() == [0.0, 28800.0, 32400.0, 36000.0]
        assert trace.jobs.work_s.tolist() == [720.0, 60.0, 60.0, 1200.0]
        assert trace.jobs.nodes.tolist() == [2, 4, 8, 8]
        assert [trace.jobs.users[user] for user in trace.jobs.user] == ["ann", "bob", "ann", "ann"]


def test_a_run_whose_requeue_is_not_in_the_dump_is_nobody_elses(tmp_path: Path) -> None:
    """Another user's job of the same number keeps its own submit time, and what was lost stays what is known."""
    gone = job("5", at="00:00:00", state="REQUEUED") + "|ann"
    lost = job("6", at="00:05:00", state="NODE_FAIL") + "|ann"
    later = (job("5", at="08:00:00") + "|bob", job("6", at="08:00:00") + "|bob")
    trace = read(tmp_path, HEADER + "|User", gone, lost, *later)
    assert trace.jobs.job_id.tolist() == [6, 5, 6]
    assert trace.jobs.submit_s.tolist() == [0.0, 28500.0, 28500.0]
    assert trace.jobs.recorded_wait_s.tolist() == [0.0, 0.0, 0.0]


def test_a_requeued_job_that_is_cancelled_in_the_queue_is_over(tmp_path: Path) -> None:
    """A requeue that never started ends the job too: its number is free for another."""
    trace = read(
        tmp_path,
        HEADER,
        job("5", at="00:00:00", state="REQUEUED"),
        job("5", at="00:10:00", elapsed="00:00:00", state="CANCELLED by 7"),
        job("5", at="08:00:00"),
        job("6", at="00:00:00"),
    )
    assert trace.jobs.submit_s.tolist() == [0.0, 28800.0]


@pytest.mark.parametrize("state", ["PREEMPTED", "NODE_FAIL", "REQUEUED"])
def test_a_number_used_again_long_after_its_nodes_were_lost_is_another_job(tmp_path: Path, state: str) -> None:
    """Slurm submits a job again when it requeues it, not years later."""
    trace = read(
        tmp_path,
        "JobIDRaw|Submit|Start|ElapsedRaw|AllocNodes|User|State",
        f"100|2022-01-01T00:00:00|2022-01-01T00:01:00|3600|4|ann|{state}",
        "101|2022-01-01T00:00:00|2022-01-01T00:01:00|3600|4|bob|COMPLETED",
        "100|2024-06-01T00:00:00|2024-06-01T00:01:00|1800|1|ann|COMPLETED",
    )
    found = zip(trace.jobs.job_id.tolist(), trace.jobs.work_s.tolist(), strict=True)
    assert sorted(found) == [(100, 1800.0), *([(100, 3600.0)] if state != "REQUEUED" else []), (101, 3600.0)]
    assert trace.jobs.recorded_wait_s.max() == 60.0


@pytest.mark.parametrize("state", ["PREEMPTED", "NODE_FAIL", "REQUEUED"])
@pytest.mark.parametrize("older", ["Unknown|Unknown|0|0|ann|PENDING", "2024-01-01T01:00:00|Unknown|9|2|ann|RUNNING"])
def test_a_row_of_an_older_dump_parts_no_job(tmp_path: Path, state: str, older: str) -> None:
    """Dumps of two days, one behind the other: what had not ended in the first is the job of the second."""
    trace = read(
        tmp_path,
        "JobID|Submit|Start|End|ElapsedRaw|AllocNodes|User|State",
        f"7|2024-01-01T00:00:00|{older}",
        f"7|2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T03:00:00|7200|2|ann|{state}",
        "7|2024-01-01T03:00:00|2024-01-01T03:00:10|2024-01-01T04:00:10|3600|2|ann|COMPLETED",
    )
    assert trace.jobs.work_s.tolist() == [3600.0]
    assert trace.jobs.recorded_wait_s.tolist() == [10810.0]
