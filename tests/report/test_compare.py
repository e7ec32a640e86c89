"""Comparisons over seeds, and the tables of the terminal."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from wattline.errors import InputError
from wattline.journal.journal import SCHEMA
from wattline.report.count.compare import METRICS, compare, estimate
from wattline.report.count.metrics import Summary
from wattline.report.show import Scale, compact, number, show, show_interval
from wattline.report.tables.summary import change, comparison_table, schema_markdown, summary_table

Labelled = dict[str, list[Summary]]
T2 = 4.302652729911275  # Student's t, 2 degrees of freedom, 97.5 %


def printed(renderable: object) -> str:
    """What a terminal of 80 columns shows."""
    console = Console(width=80, file=io.StringIO(), color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def test_estimate() -> None:
    """The interval of a mean is Student's; one run has none."""
    found = estimate([10.0, 20.0, 30.0])
    assert (found.count, found.mean) == (3, 20.0)
    assert found.half_width == pytest.approx(T2 * 10 / math.sqrt(3))
    assert math.isnan(estimate([1.0]).half_width)
    assert estimate([math.nan]).count == 0
    assert not estimate([1.0]).excludes_zero
    assert (estimate([0.1] * 7).mean, estimate([0.1] * 7).half_width) == (0.1, 0.0)


def test_differences_pair_by_seed(labelled: Labelled) -> None:
    """A difference is taken seed by seed, in whatever order the runs came: -5, -4 and -6 s."""
    row = compare(labelled).row("wait_s.mean")
    assert row.differences[0] is None
    assert row.differences[1].mean == pytest.approx(-5)
    assert row.differences[1].half_width == pytest.approx(T2 * 1 / math.sqrt(3))
    assert row.differences[1].excludes_zero
    assert change(row, 1) == "▼25 %"


def on_traces(summary: Summary, *runs: tuple[str, float]) -> list[Summary]:
    """Runs of one seed on traces of these checksums, with these mean waits."""
    return [replace(summary, seed=0, workload=w, wait_s=replace(summary.wait_s, mean=mean)) for w, mean in runs]


def test_a_seed_that_comes_twice_pairs_runs_of_the_same_jobs(summary: Summary) -> None:
    """Runs on three traces share a seed: partners have the same jobs, in whatever order they come."""
    a = on_traces(summary, ("t1", 10.0), ("t2", 20.0), ("t3", 90.0))
    b = on_traces(summary, ("t3", 93.0), ("t1", 11.0), ("t2", 22.0))
    for runs in (b, b[::-1]):
        found = compare({"a": a, "b": runs})
        difference = found.row("wait_s.mean").differences[1]
        assert found.paired_by == "seed and jobs"
        assert difference.mean == pytest.approx(2)
        assert difference.half_width == pytest.approx(T2 * 1 / math.sqrt(3))
        assert found.notes == ()


def test_equal_runs_pair_once_each_in_their_order(summary: Summary) -> None:
    """Seed and jobs may both come twice: no run is anybody's partner twice."""
    a = on_traces(summary, ("t", 10.0), ("t", 20.0))
    found = compare({"a": a, "b": on_traces(summary, ("t", 11.0), ("t", 21.0), ("t", 500.0))})
    assert found.row("wait_s.mean").differences[1].mean == pytest.approx(1)
    assert found.notes == ("2 of 3 runs of 'b' have a partner among the 2 of 'a'; the others are in no difference",)


def test_runs_without_a_partner_are_said(summary: Summary) -> None:
    """What has no partner is in no difference, and the table says so."""
    a = on_traces(summary, ("t1", 10.0), ("t2", 20.0))
    found = compare({"a": a, "b": on_traces(summary, ("t8", 11.0), ("t9", 21.0))})
    assert found.row("wait_s.mean").differences[1].count == 0
    assert "0 of 2 runs of 'b' have a partner among the 2 of 'a'" in printed(comparison_table(found)).replace("\n", " ")


def test_runs_of_different_jobs_are_said(summary: Summary) -> None:
    """Two runs on different traces differ in more than their settings."""
    found = compare({"a": [summary], "b": [replace(summary, workload="other")]})
    assert found.notes == ("'b' and 'a' ran different jobs: a difference is not that of settings alone",)
    assert found.to_dict()["notes"] == list(found.notes)
    assert compare({"a": [summary], "b": [summary]}).notes == ()


def test_unpaired_spread_would_hide_it(labelled: Labelled) -> None:
    """The two means alone overlap: pairing is what makes the difference certain."""
    first, second = compare(labelled).row("wait_s.mean").estimates
    assert first.mean - second.mean < first.half_width + second.half_width


def test_runs_without_seeds_pair_in_order(summary: Summary) -> None:
    """Runs that have no seed pair in the order given."""
    a = [replace(summary, seed=None, utilization=u) for u in (0.5, 0.6)]
    b = [replace(summary, seed=None, utilization=u) for u in (0.7, 0.8)]
    comparison = compare({"a": a, "b": b})
    assert comparison.paired_by == "order"
    assert comparison.row("utilization").differences[1].mean == pytest.approx(0.2)


def test_single_runs_compare_without_intervals(summary: Summary) -> None:
    """One run a label gives differences but no certainty."""
    row = compare({"a": [summary], "b": [replace(summary, utilization=summary.utilization * 1.1)]}).row("utilization")
    assert math.isnan(row.differences[1].half_width)
    assert change(row, 1) == "+10 %"


@pytest.mark.parametrize("nothing", [0.0, 7e-16])
def test_a_part_of_nothing_is_not_shown(summary: Summary, nothing: float) -> None:
    """Against 0, or what rounding leaves of it, there is no percentage."""
    row = compare({"a": [replace(summary, utilization=nothing)], "b": [summary]}).row("utilization")
    assert change(row, 1) == ""


def test_signs_are_explained_where_they_occur(summary: Summary, labelled: Labelled) -> None:
    """The lines below a comparison explain the signs that are in it, and no others."""
    single = printed(comparison_table(compare({"a": [summary], "b": [replace(summary, utilization=0.9)]})))
    assert "from one run each" in single
    assert not set("±▲▼≈") & set(single)
    several = printed(comparison_table(compare(labelled)))
    assert "± is half" in several
    assert "▲▼ certain" in several
    assert "% is" not in printed(comparison_table(compare({"a": [summary]})))


def test_what_nobody_has_is_left_out(summary: Summary) -> None:
    """Events that never happened have no row."""
    paths = [row.metric.path for row in compare({"a": [summary]}).rows]
    assert "jobs.preemptions" not in paths
    assert "wait_s.mean" in paths


def test_jobs_that_did_not_finish_are_compared(summary: Summary) -> None:
    """A comparison shows how many jobs each label finished, rejected and left unfinished, before anything else."""
    fewer = replace(summary, jobs=replace(summary.jobs, finished=590, rejected=7, unfinished=3))
    rows = compare({"a": [summary], "b": [fewer]}).rows
    shown = [(row.metric.title, *(e.mean for e in row.estimates)) for row in rows[:3]]
    assert shown == [("jobs finished", 600, 590), ("jobs rejected", 0, 7), ("jobs unfinished", 0, 3)]


def test_a_run_cut_short_says_so(summary: Summary) -> None:
    """The table of a run that was interrupted or told to stop says so, and how many jobs were left."""
    cut = replace(summary, stopped="interrupted", jobs=replace(summary.jobs, unfinished=12))
    text = printed(summary_table(cut))
    assert "interrupted after" in text
    assert "12 jobs had not ended" in text
    assert "stopped when it was told to" in printed(summary_table(replace(summary, stopped="until")))
    assert "not the end" not in printed(summary_table(summary))


def test_nothing_to_compare() -> None:
    """A comparison of nothing is refused."""
    with pytest.raises(InputError, match="nothing to compare"):
        compare({"a": []})


def test_comparison_is_json(labelled: Labelled) -> None:
    """A comparison is plain data without NaN."""
    data = json.loads(json.dumps(compare(labelled).to_dict(), allow_nan=False))
    assert data["labels"] == ["fcfs", "easy"]
    assert data["metrics"][0]["differences"][0] is None


def test_metrics_exist(summary: Summary) -> None:
    """Every metric that may be compared is a number of a summary."""
    assert all(isinstance(summary.value(metric.path), float) for metric in METRICS)


def test_summary_fits_a_terminal(summary: Summary) -> None:
    """The table of a run fits 80 columns uncut and holds its numbers."""
    text = printed(summary_table(summary))
    assert "…" not in text
    assert "600 finished" in text
    assert "bounded slowdown" in text
    assert "above it" in text


@pytest.mark.parametrize("labels", [1, 2, 3, 7])
def test_comparison_fits_a_terminal(summary: Summary, labels: int) -> None:
    """However many labels there are, 80 columns suffice and every label is shown."""
    runs = {f"easy-window-{i}": [replace(summary, seed=s) for s in (1, 2)] for i in range(labels)}
    text = printed(comparison_table(compare(runs)))
    assert "…" not in text
    assert all(label in text for label in runs)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_cells_and_labels_of_a_comparison_are_whole(summary: Summary) -> None:
    """Where three columns would break a label or a number, two are shown at a time."""
    runs = {
        f"workload-hysteresis-{i}": [replace(summary, seed=s, throughput_per_h=12345.0 + 9 * s * i) for s in (1, 2, 4)]
        for i in range(3)
    }
    text = printed(comparison_table(compare(runs)))
    assert all(text.count(label) >= 1 for label in runs)
    assert text.count("throughput") == 2
    assert any("12,3" in line and "±" in line and "≈" in line for line in text.splitlines())


def test_markup_in_names_is_text(summary: Summary) -> None:
    """A name with brackets is shown as it is, not taken as markup."""
    text = printed(summary_table(replace(summary, name="[red]x[/red] [/]")))
    assert "[red]x[/red] [/]" in text
    assert "[b]" in printed(comparison_table(compare({"[b]": [summary]})))


def test_numbers_as_text() -> None:
    """Numbers are written with their units, dashes where there are none."""
    assert show(math.nan, "s") == "–"
    assert number(math.inf) == "∞"
    assert number(0.0) == "0"
    assert (number(8.642e-05), number(-1e-9), show(8.642e-07, "share")) == ("<0.0001", ">-0.0001", "<0.0001 %")
    assert show_interval(1123.4, math.nan, Scale(1.0, "")) == "1,123"
    assert compact(86400.0, "s") == "1 d"
    assert show_interval(0.5, 0.0, Scale(1.0, "")) == "0.5"
    assert show_interval(1234.0, 56.0, Scale(1.0, "")) == "1,234 ± 56"
    assert show_interval(1.0, 1e-15, Scale(1.0, "")) == "1 ± <0.0001"


def test_schema_is_printed_for_the_documentation() -> None:
    """Every column of every file of a journal has its line in the documentation."""
    text = schema_markdown()
    assert text.count("\n### ") + text.startswith("### ") == len(SCHEMA)
    assert all(f"| `{column.name}` |" in text for columns in SCHEMA.values() for column in columns)
