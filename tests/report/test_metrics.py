"""What is counted of a run, held against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import BUSY_W, IDLE_W, block_schedule, frames_of, write_synthetic

from wattline.errors import TraceError
from wattline.journal.journal import SCHEMA, Coded, open_journal, write_journal
from wattline.report.count.metrics import Summary, summarize
from wattline.report.count.statistics import describe, describe_steps

NEVER = math.nan
# Four nodes, strict FCFS: job 1 holds two nodes for 100 s, job 2 needs all four, job 3 may not overtake it, job 4 is
# too wide.
TINY = {
    "submit": [0, 10, 20, 30], "start": [0, 100, 150, NEVER], "end": [100, 150, 155, NEVER], "nodes": [2, 4, 1, 8],
    "first": [0, 0, 0, 0], "total": 4, "status": [0, 1, 0, 3], "limit_w": 1000.0, "run_end_s": 200.0,
    "user": [0, 1, 0, 1], "kind": [0, 0, 1, 1],
}  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    """The summary of the run above."""
    return summarize(write_synthetic(tmp_path_factory.mktemp("tiny") / "j", **TINY))


def test_jobs_by_status(tiny: Summary) -> None:
    """Jobs are counted by what became of them."""
    jobs = tiny.jobs
    assert (jobs.total, jobs.finished, jobs.killed, jobs.failed, jobs.rejected, jobs.unfinished) == (4, 2, 1, 0, 1, 0)
    assert (jobs.started, jobs.ended) == (3, 3)


def test_waits(tiny: Summary) -> None:
    """Waits are over the jobs that started: 0, 90 and 130 s."""
    assert tiny.wait_s.count == 3
    assert tiny.wait_s.mean == pytest.approx(220 / 3)
    assert tiny.wait_s.median == 90
    assert tiny.wait_s.p90 == pytest.approx(np.quantile([0, 90, 130], 0.9))
    assert tiny.wait_s.max == 130


def test_slowdowns(tiny: Summary) -> None:
    """Slowdown is response over the time alone; the bounded one takes times below 10 s as 10 s."""
    assert tiny.response_s.mean == pytest.approx((100 + 140 + 135) / 3)
    assert tiny.slowdown.mean == pytest.approx((1 + 2.8 + 27) / 3)
    assert tiny.slowdown.max == pytest.approx(27)
    assert tiny.bounded_slowdown.mean == pytest.approx((1 + 2.8 + 13.5) / 3)


def test_waking_slows_down(tmp_path: Path) -> None:
    """Waiting for nodes to wake is shown apart, and makes a slowdown worse: it is part of the response only."""
    frames, manifest = frames_of(**TINY)
    frames["jobs"]["work_s"] = np.array([100.0, 50.0, 2.5, NEVER])
    events = frames["events"]
    woken = {"time_s": 150.0, "job_id": 3, "nodes": 1, "value": 2.5}
    awake: dict[str, object] = {name: np.append(events[name], value) for name, value in woken.items()}
    awake["event"] = Coded(np.append(events["event"].codes, 3), ["submit", "start", "end", "wake"])
    write_journal(tmp_path / "j", frames | {"events": awake}, manifest)
    summary = summarize(open_journal(tmp_path / "j"))
    assert summary.slowdown.max == pytest.approx(135 / 2.5)
    assert (summary.waking_s.count, summary.waking_s.mean) == (1, 2.5)
    assert summary.service.slowdown.max == pytest.approx(135 / 5)


@pytest.mark.parametrize(("status", "alone_s"), [(0, 200.0), (1, 60.0), (2, 50.0)])
def test_time_alone_of_jobs_cut_short(tmp_path: Path, status: int, alone_s: float) -> None:
    """Alone, a job takes its work; a killed one no longer than its request, a failed one no longer than it ran."""
    frames, manifest = frames_of([0], [50], [100], [1], [0], 1, status=[status])
    frames["jobs"] |= {"work_s": np.array([200.0]), "request_s": np.array([60.0])}
    write_journal(tmp_path / "j", frames, manifest)
    assert summarize(open_journal(tmp_path / "j")).slowdown.max == pytest.approx(100 / alone_s)


def test_faster_than_full_speed(tmp_path: Path) -> None:
    """Where nodes run faster than 1, alone means at the highest rate: no job is quicker than alone."""
    frames, manifest = frames_of([0], [0], [100], [1], [0], 1)
    frames["jobs"]["work_s"] = np.array([266.0])
    frames["timeline"]["rate"] = np.full(frames["timeline"]["time_s"].size, 2.66)
    write_journal(tmp_path / "j", frames, manifest)
    assert summarize(open_journal(tmp_path / "j")).slowdown.max == pytest.approx(1.0)


def test_span_and_throughput(tiny: Summary) -> None:
    """The makespan runs from the first submission to the last end; throughput is over it."""
    assert tiny.span.makespan_s == 155
    assert tiny.span.duration_s == 200
    assert tiny.throughput_per_h == pytest.approx(3 / 155 * 3600)


def test_utilization(tiny: Summary) -> None:
    """Utilization is busy over available node-seconds, of the run and of the time in which jobs were submitted."""
    assert tiny.utilization == pytest.approx(405 / 800)
    assert tiny.utilization_submitting == pytest.approx(0.5)


def test_queue_is_averaged_over_time(tiny: Summary) -> None:
    """The queue holds 0, 1, 2, 1, 0 jobs for 10, 10, 80, 50, 50 s."""
    assert tiny.queued_jobs.mean == pytest.approx(220 / 200)
    assert tiny.queued_jobs.max == 2
    assert tiny.queued_jobs.median == 1


def test_energy(tiny: Summary) -> None:
    """Energy is the integral of power: four idle nodes for 200 s and 405 busy node-seconds on top."""
    total = 4 * IDLE_W * 200 + (BUSY_W - IDLE_W) * 405
    assert tiny.energy.total_j == pytest.approx(total)
    assert tiny.energy.accounts_j == pytest.approx(total)
    assert tiny.energy.total_kwh == pytest.approx(total / 3.6e6)
    assert tiny.energy.busy_j == pytest.approx(405 * BUSY_W)
    assert tiny.energy.jobs_j == pytest.approx(405 * BUSY_W)
    assert tiny.energy.per_ended_job_j == pytest.approx(total / 3)
    assert tiny.power.mean_w == pytest.approx(total / 200)
    assert tiny.power.peak_w == 4 * BUSY_W


def test_above_the_limit(tiny: Summary) -> None:
    """Job 2 draws 1200 W for 50 s under a limit of 1000 W."""
    assert tiny.power.limited_s == 200
    assert tiny.power.above_limit_s == 50
    assert tiny.power.above_limit_j == pytest.approx(200 * 50)
    assert tiny.power.above_limit_share == pytest.approx(0.25)
    assert tiny.power.worst_above_w == pytest.approx(200)


def test_a_falling_limit_is_no_breach(tmp_path: Path) -> None:
    """Power above a limit that fell is not held against the run; power that rose above it is."""
    from wattline.report.tables.summary import limit_words

    frames, manifest = frames_of(**(TINY | {"limit_w": 1500.0}))
    time_s = frames["timeline"]["time_s"]
    for since_s, rises, words in ((100, 1, "0.8–1.5 kW; above it 25 % of the time"), (150, 0, "never above it")):
        limited = frames["timeline"] | {"limit_w": np.where(time_s >= since_s, 800.0, 1500.0)}
        write_journal(tmp_path / f"{since_s}", frames | {"timeline": limited}, manifest)
        summary = summarize(open_journal(tmp_path / f"{since_s}"))
        assert summary.power.rises_above_limit == rises
        assert limit_words(summary).endswith(words)
    fallen = frames["timeline"] | {"limit_w": np.where(time_s >= 10, 500.0, 1500.0)}
    keep = fallen["time_s"] < 100
    frames["timeline"] = {name: column[keep] for name, column in fallen.items()}
    write_journal(tmp_path / "fallen", frames, manifest | {"end_s": 100.0})
    summary = summarize(open_journal(tmp_path / "fallen"))
    assert summary.power.rises_above_limit == 0
    assert limit_words(summary) == "0.5–1.5 kW; above it 90 % of the time; no start raised power above it"


def test_users_and_kinds(tiny: Summary) -> None:
    """Tables by user and kind hold all jobs, the largest energy first, and their energies add up."""
    users = {row.name: row for row in tiny.users}
    assert (users["u000"].jobs, users["u001"].jobs) == (2, 2)
    assert users["u000"].energy_j == pytest.approx(205 * BUSY_W)
    assert users["u000"].wait_mean_s == pytest.approx(65)
    assert users["u001"].wait_mean_s == pytest.approx(90)
    assert tiny.users[0].name == "u000"
    assert sum(row.energy_share for row in tiny.kinds) == pytest.approx(1)


def test_sizes(tiny: Summary) -> None:
    """Jobs are classed by powers of two: 1, 2, 3–4, 5–8 nodes."""
    assert [(row.label, row.jobs) for row in tiny.sizes] == [("1", 1), ("2", 1), ("3–4", 1), ("5–8", 1)]
    assert tiny.sizes[2].wait_p95_s == 90
    assert math.isnan(tiny.sizes[3].wait_mean_s)


def test_classes(tiny: Summary) -> None:
    """A node class has its energy, its node-seconds and its utilization."""
    (row,) = tiny.classes
    assert row.energy_j == pytest.approx(tiny.energy.total_j)
    assert row.utilization == pytest.approx(405 / 800)


def test_events(tiny: Summary) -> None:
    """Events are counted by name."""
    assert tiny.events == {"submit": 4, "start": 3, "end": 3}


def test_service_measures_of_customers(tiny: Summary) -> None:
    """Delay, sojourn, service and energy budget are those of the customers that left (recursion paper, §II-B)."""
    service = tiny.service
    assert service.delay_s.mean == pytest.approx(220 / 3)
    assert service.sojourn_s.mean == pytest.approx(375 / 3)
    assert service.service_s.mean == pytest.approx(155 / 3)
    assert service.slowdown.mean == pytest.approx((1 + 2.8 + 27) / 3)
    assert service.energy_budget_j.mean == pytest.approx(405 * BUSY_W / 3)


def test_service_measures_of_the_system(tiny: Summary) -> None:
    """Loads, wasting, consumption and numbers in the system are averages over time (eqs. 10–12)."""
    service = tiny.service
    assert service.potential_load.mean == pytest.approx((2 * 10 + 4 * 140 + 1 * 5) / 200)
    assert service.effective_load.mean == pytest.approx(405 / 200)
    assert service.job_wasted == pytest.approx(2 * 90)
    assert service.job_wasting.mean == pytest.approx(service.potential_load.mean - service.effective_load.mean)
    assert service.energy_consumption_w.mean == pytest.approx(tiny.power.mean_w)
    assert service.customers.mean == pytest.approx(375 / 200)
    assert service.rate_shares == {"1": 1.0}


def test_little(tiny: Summary) -> None:
    """Little's law: the mean number in the system is the arrival rate times the mean sojourn time."""
    assert tiny.service.customers.mean == pytest.approx(3 / 200 * tiny.service.sojourn_s.mean)


def test_workload_falls_linearly(tiny: Summary) -> None:
    """The mean workload is the exact integral of a function that falls while customers are served."""
    area = 95 * 10 + 135 * 10 + 95 * 80 + 30 * 50 + 2.5 * 5
    assert tiny.service.workload_mean == pytest.approx(area / 200)


def test_rates_weigh_the_loads(tmp_path: Path) -> None:
    """Loads are multiplied by the rate of their time, and each rate has its share of the time."""
    frames, manifest = frames_of(**TINY)
    frames["timeline"]["rate"] = np.where(frames["timeline"]["time_s"] < 100, 2.0, 1.0)
    write_journal(tmp_path / "j", frames, manifest)
    service = summarize(open_journal(tmp_path / "j")).service
    assert service.effective_load.mean == pytest.approx((2 * 2 * 100 + 205) / 200)
    assert service.rate_shares == {"1": 0.5, "2": 0.5}
    assert service.rate.mean == pytest.approx(1.5)


def test_summary_is_json(tiny: Summary) -> None:
    """A summary is plain data without NaN, and its numbers are found by their paths."""
    text = json.dumps(tiny.to_dict(), allow_nan=False)
    assert json.loads(text)["wait_s"]["median"] == 90
    assert tiny.value("wait_s.median") == 90
    assert math.isnan(tiny.value("service.rate_shares.7"))


def test_no_limit(tmp_path: Path) -> None:
    """Without a limit there is no time above it, and its share is not a number."""
    power = summarize(write_synthetic(tmp_path / "j", **(TINY | {"limit_w": np.inf}))).power
    assert power.limited_s == 0
    assert power.above_limit_s == 0
    assert math.isnan(power.above_limit_share)


def test_rounding_is_no_breach(tmp_path: Path) -> None:
    """Power that exceeds the limit by the rounding of a sum is not above it."""
    limit = 4 * BUSY_W * (1 - 1e-13)
    assert summarize(write_synthetic(tmp_path / "j", **(TINY | {"limit_w": limit}))).power.above_limit_s == 0


def test_unfinished_jobs(tmp_path: Path) -> None:
    """A job that still runs at the end has waited but not responded; one still queued has done neither."""
    run = {"submit": [0, 0], "start": [5, NEVER], "end": [NEVER, NEVER], "nodes": [1, 1], "first": [0, 0], "total": 1}
    summary = summarize(write_synthetic(tmp_path / "j", **run, run_end_s=20.0))
    assert (summary.jobs.unfinished, summary.jobs.started, summary.jobs.ended) == (2, 1, 0)
    assert summary.wait_s.count == 1
    assert summary.response_s.count == 0
    assert summary.energy.total_j == pytest.approx(5 * IDLE_W + 15 * BUSY_W)
    assert math.isnan(summary.span.makespan_s)


def test_zero_second_jobs(tmp_path: Path) -> None:
    """A job that took no time has no slowdown but a bounded one."""
    run = {"submit": [0, 0], "start": [0, 4], "end": [4, 4], "nodes": [1, 1], "first": [0, 0], "total": 1}
    summary = summarize(write_synthetic(tmp_path / "j", **run))
    assert summary.slowdown.count == 1
    assert summary.bounded_slowdown.count == 2
    assert summary.bounded_slowdown.max == 1


def test_empty_journal(tmp_path: Path) -> None:
    """A journal without jobs, times or classes is counted without complaint."""
    write_journal(tmp_path / "j", {name: {} for name in SCHEMA}, {})
    summary = summarize(open_journal(tmp_path / "j"))
    assert summary.jobs.total == 0
    assert math.isnan(summary.utilization)
    json.dumps(summary.to_dict(), allow_nan=False)


def test_down_nodes_are_not_available(tmp_path: Path) -> None:
    """Nodes out of service do not lower utilization."""
    frames, manifest = frames_of(**TINY)
    count = frames["timeline"]["time_s"].size
    frames["timeline"] |= {"down_nodes": np.full(count, 0.0), "idle_nodes": 3 - frames["timeline"]["busy_nodes"]}
    write_journal(tmp_path / "j", frames, manifest)
    assert summarize(open_journal(tmp_path / "j")).utilization == pytest.approx(405 / 600)


def test_unsorted_timeline_is_refused(tmp_path: Path) -> None:
    """A timeline that runs backwards is an error that names the row."""
    frames, manifest = frames_of(**TINY)
    frames["timeline"]["time_s"] = frames["timeline"]["time_s"][::-1]
    write_journal(tmp_path / "j", frames, manifest)
    with pytest.raises(TraceError, match=r"timeline\.parquet: field 'time_s': row 1 is earlier"):
        summarize(open_journal(tmp_path / "j"))


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_conservation(n: int, blocks: int, seed: int) -> None:
    """For any schedule: timeline energy = accounts, busy node-seconds = those of jobs, Little's law, waits ≥ 0."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        summary = summarize(write_synthetic(Path(folder) / "j", **block_schedule(n, blocks, 3, seed)))
    node_s = sum(row.node_s for row in summary.users)
    assert summary.energy.total_j == pytest.approx(summary.energy.accounts_j)
    assert summary.busy_nodes.mean * summary.span.duration_s == pytest.approx(node_s)
    assert summary.queued_jobs.mean * summary.span.duration_s == pytest.approx(summary.wait_s.mean * n, abs=1e-6)
    assert sum(row.jobs for row in summary.sizes) == n
    assert sum(row.energy_j for row in summary.kinds) == pytest.approx(summary.energy.busy_j)
    assert summary.bounded_slowdown.min >= 1
    assert summary.service.potential_load.mean >= summary.service.effective_load.mean * (1 - 1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_quantiles_agree_with_numpy(values: list[float]) -> None:
    """Quantiles interpolate linearly, as numpy's do."""
    found = describe(values)
    assert found.p95 == pytest.approx(np.quantile(values, 0.95), abs=1e-9)
    assert found.median == pytest.approx(np.median(values), abs=1e-9)
    assert (found.min, found.max) == (min(values), max(values))


@given(st.lists(st.tuples(st.integers(-5, 9), st.integers(0, 9)), min_size=1, max_size=40))
def test_time_weights(steps: list[tuple[int, int]]) -> None:
    """A step function is described as the sample that repeats each value once a second, sorted or not, whole or not."""
    values, seconds = (np.array(column, dtype=float) for column in zip(*steps, strict=True))
    sample = np.repeat(values, seconds.astype(int))
    for scale in (1.0, 0.1):
        found = describe_steps(values * scale, seconds)
        assert found.seconds == sample.size
        if sample.size:
            assert found.mean == pytest.approx(sample.mean() * scale, abs=1e-12)
            assert found.median == np.sort(sample * scale)[math.ceil(0.5 * sample.size) - 1]
            assert (found.min, found.max) == (sample.min() * scale, sample.max() * scale)
