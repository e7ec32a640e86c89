"""Power over the run of jobs, to disk and back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.export import write_trace
from wattline.formats.jobs.info import trace_info
from wattline.generate.kinds_from_log import KindRules, find_kinds
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.reading.notes import Trace
from wattline.reading.series_column import mean_over_run

STEP = '{"series_step_s": 300}'
ROWS: dict[str, list[Any]] = {"submit_s": [9.0, 0.0, 5.0], "work_s": [700.0, 60.0, 900.0], "nodes": [1, 2, 3]}


def jobs_with(rows: list[list[float]], step_s: float = 300.0) -> JobTable:
    """Return jobs out of order with this power over time, and its mean."""
    series = PowerSeries.build(step_s, rows)
    return JobTable.build(
        submit_s=ROWS["submit_s"],
        work_s=ROWS["work_s"],
        nodes=ROWS["nodes"],
        series=series,
        kind=[0, 0, 0],
        kinds=["k"],
        draw_w=mean_over_run(series, np.array(ROWS["work_s"])),
    )


def write(path: Path, column: Any, metadata: str = STEP, **more: list[Any]) -> Path:
    """Write a table as somebody else would."""
    pl.DataFrame({**ROWS, "series_w": column, **more}, strict=False).write_parquet(
        path, metadata={"wattline": metadata}
    )
    return path


def test_the_step_may_stand_in_a_column(tmp_path: Path) -> None:
    """A table without metadata tells the step in a column, once; two steps are refused, and so is none."""
    path = tmp_path / "t.parquet"
    lists = [[60.0, 50.0], None, [55.0]]
    assert read_trace(write(path, lists, "{}", series_step_s=[300, None, 300])).jobs.series.step_s == 300.0  # type: ignore[union-attr]
    assert read_trace(write(path, lists, STEP, series_step_s=[300, 300, 300])).jobs.series.step_s == 300.0  # type: ignore[union-attr]
    for metadata, steps in (("{}", [300, 60, 300]), (STEP, [60, 60, 60])):
        with pytest.raises(
            TraceError, match=r"field 'series_step_s': one step for all jobs is needed \(got '60 and 300"
        ):
            read_trace(write(path, lists, metadata, series_step_s=steps))
    with pytest.raises(TraceError, match="the step of series_w is missing"):
        read_trace(write(path, lists, "{}", series_step_s=[None, None, None]))
    with pytest.raises(TraceError, match="column must hold numbers, not String"):
        read_trace(write(path, lists, "{}", series_step_s=["5 min"] * 3))


def test_parquet_keeps_every_value(tmp_path: Path) -> None:
    """A table with power over time reads back to the bit: values, who has none, step and mean."""
    jobs = jobs_with([[60.1, 50.5, 40.0], [], [55.0]], step_s=0.56)
    assert write_trace(Trace(jobs), tmp_path / "t.parquet") == ()
    back = read_trace(tmp_path / "t.parquet")
    assert back.jobs.series is not None
    assert jobs.series is not None
    assert back.jobs.series.step_s == 0.56
    assert back.jobs.series.watts.dtype == np.float32
    assert np.array_equal(back.jobs.series.first, jobs.series.first)
    assert np.array_equal(back.jobs.series.watts, jobs.series.watts)
    assert np.array_equal(back.jobs.draw_w, jobs.draw_w, equal_nan=True)
    assert [n.reason for n in back.notes] == ["requested time unknown"]


@pytest.mark.parametrize(("name", "form"), [("t.csv", "CSV"), ("t.swf", "Standard Workload Format")])
def test_other_formats_say_that_they_cannot_hold_it(tmp_path: Path, name: str, form: str) -> None:
    """CSV and SWF count the jobs whose power over time they leave out; nothing is said of a trace without."""
    lost = write_trace(Trace(jobs_with([[60.0], [], [55.0]])), tmp_path / name)
    assert [n.count for n in lost if f"{form} has no place for power over time" in n.reason] == [2]
    lost = write_trace(Trace(jobs_with([[], [], []])), tmp_path / name)
    assert not [n for n in lost if "power over time" in n.reason]


def test_rows_that_are_dropped_take_their_power_along(tmp_path: Path) -> None:
    """What belongs to a row that is no job goes with it, and sorting moves the rest."""
    path = write(tmp_path / "t.parquet", [[1.0], [2.0, 2.5], [3.0]], request_s=[800.0] * 3)
    frame = pl.read_parquet(path).with_columns(nodes=pl.Series([1, 0, 3]))
    frame.write_parquet(path, metadata={"wattline": STEP})
    series = read_trace(path).jobs.series
    assert series is not None
    assert [series.of(j).tolist() for j in range(len(series))] == [[3.0], [1.0]]


def test_the_mean_is_taken_from_the_values(tmp_path: Path) -> None:
    """An unknown draw_w is filled in, a wrong one put right and counted, one within a thousandth left as it stands."""
    path = write(tmp_path / "t.parquet", [[30.0, 60.0], [50.0], [40.0]], draw_w=[None, 70.0, 40.01])
    trace = read_trace(path)
    by_submit = dict(zip(trace.jobs.submit_s.tolist(), trace.jobs.draw_w.tolist(), strict=True))
    assert by_submit == {9.0: pytest.approx((30 * 300 + 60 * 400) / 700), 0.0: 50.0, 5.0: 40.01}
    assert [(n.action, n.count) for n in trace.notes if n.reason.startswith("draw_w is not the mean")] == [
        ("repaired", 1)
    ]


@pytest.mark.parametrize(
    ("column", "metadata", "said"),
    [
        ([1.0, 2.0, 3.0], STEP, "field 'series_w': column must hold lists of powers, not Float64"),
        ([["a"], None, None], STEP, "field 'series_w': column must hold lists of powers, not List(String)"),
        (
            [[1.0], [2.0, -3.5], None],
            STEP,
            "t.parquet:2: field 'series_w': every value must be a power of 0 to 1,000,000,000 W a node (got '-3.5')",
        ),
        (
            [None, [], [1.0, math.nan]],
            STEP,
            "t.parquet:3: field 'series_w': every value must be a power of 0 to 1,000,000,000 W a node (got 'nan')",
        ),
        ([[math.inf], None, None], STEP, "t.parquet:1: field 'series_w': every value"),
        ([[1.0, None], None, None], STEP, "(got 'null')"),
        ([[1.0], None, None], "{}", "field 'metadata series_step_s': the step of series_w is missing; a column"),
        (
            [[1.0], None, None],
            '{"series_step_s": 0}',
            "the step of series_w must be a positive number of seconds (got 0)",
        ),
        ([[1.0], None, None], '{"series_step_s": true}', "must be a positive number of seconds (got True)"),
        ([[1.0], None, None], '{"series_step_s": "5 min"}', "must be a positive number of seconds (got '5 min')"),
    ],
)
def test_what_is_no_power_is_one_clear_line(tmp_path: Path, column: Any, metadata: str, said: str) -> None:
    """Wrong types, values and steps are refused by file, row, field and value."""
    with pytest.raises(TraceError) as caught:
        read_trace(write(tmp_path / "t.parquet", column, metadata))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_without_values_is_no_power_over_time(tmp_path: Path) -> None:
    """Nulls and empty lists need no step; lists of equal length and of whole numbers are lists too."""
    assert read_trace(write(tmp_path / "t.parquet", [None, [], None], "{}")).jobs.series is None
    assert read_trace(write(tmp_path / "t.parquet", [None] * 3, "{}")).jobs.series is None
    fixed = pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int64, 2))
    series = read_trace(write(tmp_path / "t.parquet", fixed)).jobs.series
    assert series is not None
    assert series.watts.tolist() == [3.0, 4.0, 5.0, 6.0, 1.0, 2.0]


def test_csv_may_not_name_it(tmp_path: Path) -> None:
    """A CSV with such a column is told where it belongs."""
    (tmp_path / "t.csv").write_text("submit_s,work_s,nodes,series_w\n0,1,1,5\n")
    with pytest.raises(
        TraceError, match="field 'series_w': CSV cannot hold power over time; write the table as Parquet"
    ):
        read_trace(tmp_path / "t.csv")


@given(st.lists(st.lists(st.floats(0, 100, width=32), max_size=6), min_size=1, max_size=6), st.floats(0, 2000))
@example(rows=[[1.5]], work_s=5e-324)
def test_the_mean_is_the_integral_over_the_run(rows: list[list[float]], work_s: float) -> None:
    """Each value counts for the part of the run in which it holds, the last one for all the rest."""
    means = mean_over_run(PowerSeries.build(300.0, rows), np.full(len(rows), work_s))
    for values, mean in zip(rows, means.tolist(), strict=True):
        if not values:
            assert math.isnan(mean)
            continue
        grid = (np.arange(10_000) + 0.5) * work_s / 10_000
        held = np.array(values)[np.minimum((grid // 300.0).astype(int), len(values) - 1)]
        assert mean == pytest.approx(held.mean(), abs=0.05)


def test_facts_tell_of_power_over_time() -> None:
    """How many values of how many jobs, their step, and their distribution; nothing known where there is none."""
    facts = trace_info(Trace(jobs_with([[60.0, 50.0], [], [40.0]])))["series_w"]
    assert (facts["known"], facts["jobs"], facts["step_s"], facts["mean"], facts["max"]) == (3, 2, 300.0, 50.0, 60.0)
    assert trace_info(Trace(JobTable.build(submit_s=[0], work_s=[1], nodes=[1])))["series_w"] == {"known": 0}


def test_kinds_have_one_power() -> None:
    """Jobs that get the power of their kind lose their own over time, counted; with own power they keep it."""
    trace = Trace(jobs_with([[60.0, 50.0], [], [40.0]]))
    found = find_kinds(trace, KindRules(power="model"))
    assert found.trace.jobs.series is None
    assert [n.count for n in found.trace.notes if n.reason.startswith("power over time left out")] == [2]
    assert find_kinds(trace, KindRules(power="model", own_power=True)).trace.jobs.series is not None
