"""What the page of a comparison says: a sentence, what differs, runs over each other, who loses and who gains."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from synthetic import write_synthetic
from test_compare import printed
from test_figure import validate
from test_html import Tags, figures_of, own_text

import wattline as wl
from wattline.journal.journal import Journal
from wattline.report.count.compare import compare
from wattline.report.count.differing import differing_keys
from wattline.report.count.effects import find_effects
from wattline.report.count.metrics import Summary, summarize
from wattline.report.count.run import load
from wattline.report.figures.beside import draw_comparison, draw_powers, draw_queues, draw_wait_shares
from wattline.report.pages.comparison import comparison_html, write_comparison
from wattline.report.show import show_estimate
from wattline.report.tables.answer import answer, effect_words
from wattline.report.tables.summary import change, comparison_table

SCENARIO = '[trace]\ngenerator = "lublin"\n[policy]\nselect = ["easy", "in-order"]\n'


def run_of(folder: Path, waits: list[float], limit: str) -> Journal:
    """Four jobs of an hour of users u000, u000, u001 and u002 on 1, 1, 2 and 4 nodes that waited for so long."""
    start = np.array(waits)
    manifest = {"scenario": f'{SCENARIO}[limit]\npower = "{limit}"\n', "policies": {"select": limit.split()[0]}}
    return write_synthetic(
        folder, np.zeros(4), start, start + 3600.0, [1, 1, 2, 4], [0, 1, 2, 4], 8, user=[0, 0, 1, 2], manifest=manifest
    )


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Journal]:
    """Without a limit only the last job waits, 1 h; with one the two of u000 wait 2 h each and the last not at all."""
    folder = tmp_path_factory.mktemp("two")
    return {
        "off": run_of(folder / "a", [0.0, 0.0, 600.0, 3600.0], "off"),
        "30 kW": run_of(folder / "b", [7200.0, 7200.0, 600.0, 0.0], "30 kW"),
    }


@pytest.fixture(scope="module")
def runs(journals: dict[str, Journal]) -> dict[str, list[Summary]]:
    """Their numbers."""
    return {label: [summarize(journal)] for label, journal in journals.items()}


def test_who_loses_and_who_gains(runs: dict[str, list[Summary]]) -> None:
    """Effects are mean waits of users and sizes in both runs; who loses most hours comes first."""
    found = find_effects(runs)["30 kW"]
    told = [(row.name, row.jobs, row.before_s, row.after_s, row.total_s) for row in found["user"]]
    assert told == [
        ("u000", 2, 0.0, 7200.0, 14400.0),
        ("u001", 1, 600.0, 600.0, 0.0),
        ("u002", 1, 3600.0, 0.0, -3600.0),
    ]
    assert [(row.name, row.change_s) for row in found["size"]] == [("1", 7200.0), ("2", 0.0), ("3–4", -3600.0)]
    words = effect_words("30 kW", "off", found)
    assert words == (
        "Of 3 users 1 waits longer, u000 most in all (4 h more, 2 h a job); "
        "1 waits less, u002 most in all (1 h less, 1 h a job)."
    )


def test_the_answer_is_a_sentence(runs: dict[str, list[Summary]]) -> None:
    """The page begins with what changed: mean wait (17.5 min to 1 h 2.5 min), in units for people, and for whom."""
    said = answer(compare(runs), find_effects(runs))
    assert said.startswith("With 30 kW instead of off the mean wait is 1 h 2 min instead of 17 min 30 s (257 % more)")
    assert "u000 most" in said
    same = answer(compare({"a": runs["off"], "b": runs["off"]}))
    assert same == "Between a and b there is no difference in jobs finished, the mean wait, energy or peak power."
    several = answer(compare(runs | {"again": runs["off"]}))
    assert several.startswith("Of 3 settings ")
    assert "the mean wait is least with off and again (17 min 30 s; 30 kW: 1 h 2 min)" in several


def test_equal_means_are_not_equal_waits(runs: dict[str, list[Summary]]) -> None:
    """Where one user waits longer and another as much less, the sentence says who."""
    found = find_effects(runs)["30 kW"]
    (bob, cat, _) = found["user"]
    swapped = {"b": {"user": (replace(bob, after_s=bob.before_s + 60.0), replace(cat, after_s=cat.before_s - 60.0))}}
    said = answer(compare({"a": runs["off"], "b": runs["off"]}), swapped)
    assert "no difference in jobs finished, the mean wait" in said
    assert "1 waits longer" in said
    assert "1 waits less" in said


def test_jobs_that_never_start_are_not_counted_with_their_users() -> None:
    """Of cat's three jobs one starts: what it waits more is what all of cat's jobs wait more."""
    rows = "".join(
        f"{i},{user},{submit},{work},{nodes}\n"
        for i, (user, submit, work, nodes) in enumerate(
            [("ada", 0, 3600, 2), ("bob", 0, 60, 1), ("cat", 10, 60, 1), ("cat", 20, 60, 9), ("cat", 30, 60, 9)], 1
        )
    )
    log = wl.from_frame(pl.read_csv(f"job_id,user,submit_s,work_s,nodes\n{rows}".encode()))
    machine = wl.Machine(nodes=2, idle=90, max=350)
    one = wl.simulate(log, machine, order="fcfs", select="in-order", progress=False)
    other = wl.simulate(log, machine, order="shortest", select="in-order", progress=False)
    effects = find_effects({"one": [one.summary], "other": [other.summary]})["other"]
    cat = {row.name: row for row in effects["user"]}["cat"]
    assert cat.jobs == 1.0
    assert cat.total_s == cat.change_s
    assert {row.name: (row.jobs, row.started) for row in one.summary.users}["cat"] == (3, 1)


def test_all_and_sizes_are_named(runs: dict[str, list[Summary]]) -> None:
    """Where everybody waits longer it says all; sizes stand in for users that a log does not name."""
    found = find_effects(runs)["30 kW"]
    sizes = {"size": tuple(row for row in found["size"] if not row.gains)}
    assert "1 waits longer, jobs of 1 node most in all (4 h more, 2 h a job)." in effect_words("30 kW", "off", sizes)
    losers = {"user": tuple(replace(row, after_s=row.before_s + 60.0) for row in found["user"])}
    assert effect_words("30 kW", "off", losers).startswith(
        "Of 3 users all wait longer, u000 most in all (2 min more, 1 min a job)"
    )


def test_what_may_be_chance_is_said_to_be(summary: Summary) -> None:
    """A difference whose interval holds 0 is not told as a fact."""

    def of(*waits: float) -> list[Summary]:
        return [replace(summary, seed=i, wait_s=replace(summary.wait_s, mean=wait)) for i, wait in enumerate(waits)]

    assert "which may be chance" in answer(compare({"a": of(10.0, 20.0, 30.0), "b": of(30.0, 10.0, 35.0)}))
    assert "chance" not in answer(compare({"a": of(10.0, 20.0, 30.0), "b": of(15.0, 25.1, 35.0)}))
    three = {"a": of(10.0, 20.0, 30.0), "b": of(30.0, 10.0, 35.0), "c": of(12.0, 19.0, 31.0)}
    assert "least with a (20 s; b: 25 s, which may be chance)" in answer(compare(three))
    sure = answer(compare(three | {"b": of(40.0, 50.1, 60.0), "c": of(35.0, 45.1, 55.0)}))
    assert "least with a (20 s; b: 50 s)" in sure


def test_the_sentence_is_of_runs_that_pair(summary: Summary) -> None:
    """Where none does, the means of all are told, with what they may come from."""

    def of(**waits: float) -> list[Summary]:
        waited = {int(seed[1:]): replace(summary.wait_s, mean=wait) for seed, wait in waits.items()}
        return [replace(summary, seed=seed, wait_s=found) for seed, found in waited.items()]

    said = answer(compare({"a": of(s3=10.0), "b": of(s7=20.0)}))
    assert said.startswith("With b instead of a the mean wait is 20 s instead of 10 s (100 % more, ")
    assert said.endswith("in runs of different seeds, which may be chance).")
    assert "no difference" in answer(compare({"a": of(s3=10.0), "b": of(s7=10.0)}))
    some = compare({"a": of(s1=100.0, s2=10.0), "b": of(s2=12.0, s3=8.0)})
    assert "is 12 s instead of 10 s (20 % more, in runs of equal seeds alone)" in answer(some)
    assert change(some.row("wait_s.mean"), 1) == "+20 %"
    three = answer(compare({"a": of(s1=100.0), "b": of(s1=12.0), "c": of(s2=8.0)}))
    assert three.endswith("Their runs have different seeds: some of it may be chance.")


@pytest.mark.filterwarnings("ignore::wattline.WattlineWarning")
def test_costs_of_other_parts_of_a_run_are_not_compared(tmp_path: Path) -> None:
    """At one price more energy costs more; hours without a price made it look cheaper."""
    (tmp_path / "prices.csv").write_text("time_s,price\n" + "".join(f"{3600 * i},0.1\n" for i in range(49)))
    trace = wl.draw_trace("lublin", nodes=32, jobs=100, load=0.9, seed=1)
    machine = wl.Machine(nodes=32, idle=90, max=350)
    energy = {"file": str(tmp_path / "prices.csv"), "unit": "$/kWh"}
    easy, plain = (
        wl.simulate(trace, machine, select=select, settings={"prices.energy": energy}, progress=False)
        for select in ("easy", "in-order")
    )
    assert plain.summary.accounts is not None
    assert plain.summary.accounts.total.unpriced_s > 0.0
    assert plain.summary.cost < easy.summary.cost
    found = wl.compare(easy=easy, plain=plain)
    assert "cost" not in found.sentence
    row = found.found.row("cost")
    assert change(row, 1) == ""
    assert any(
        "the cost leaves out rows of the bill that reach beyond the series of prices" in note
        for note in found.found.notes
    )
    assert wl.compare(easy=easy, again=easy).found.notes == ()
    assert not any("carbon" in note for note in found.found.notes)  # nobody asked for it
    beside = wl.whatif(trace, machine, policy="in-order", price=energy, causes=False)
    assert re.search(r"costs \$[0-9.]+ without 8 h \d+ min that have no price instead of \$", repr(beside))


def test_keys_that_differ(journals: dict[str, Journal]) -> None:
    """Keys of the scenarios that are not the same in all have a row; of listed policies the one that ran counts."""
    found = differing_keys({label: journal.manifest for label, journal in journals.items()})
    assert [(key.name, *key.values) for key in found] == [
        ("policy.select", "off", "30"),
        ("limit.power", "off", "30 kW"),
    ]
    tables = {"scenario": '[[kind]]\nname = "cfd"\nlimit = 2\n'}, {"scenario": '[[kind]]\nname = "cfd"\nlimit = true\n'}
    (row,) = differing_keys(dict(zip("ab", tables, strict=True)))
    assert row == ("kind[cfd].limit", ("2", "true"))
    assert differing_keys({"a": {"scenario": "# no [toml"}, "b": {}}) == []


def test_the_page_has_it_all(journals: dict[str, Journal], runs: dict[str, list[Summary]], out: Path) -> None:
    """Sentence, keys, overlaid power, queue and waits, effects by user and size; plotly knows the figures."""
    loaders = {label: lambda journal=journal: load(journal) for label, journal in journals.items()}
    write_comparison(runs, out, title="A limit", loaders=loaders)
    words = Tags(own_text(out)).words
    for text in ("the mean wait is 1 h 2 min instead of", "limit.power", "Who loses, who gains", "Mean wait by user"):
        assert text in words
    assert "e+0" not in words
    validate(out)
    timed = [f for f in figures_of(out) if "clock" in (f["layout"].get("meta") or {})]
    assert [[trace["name"] for trace in figure["data"]] for figure in timed] == [["off", "30 kW"]] * 2
    assert out.stat().st_size < 2e6


def test_runs_are_laid_over_each_other(journals: dict[str, Journal]) -> None:
    """Each run keeps its own values on the common axis; its last instant is where the longest ends."""
    loaded = {label: load(journal) for label, journal in journals.items()}
    power = draw_powers(loaded)
    assert power is not None
    peaks = [float(np.max(trace["y"])) * 1000 for trace in power.figure.data]
    assert peaks == [pytest.approx(float(run.steps.power_w.max())) for run in loaded.values()]
    assert power.figure.layout["meta"]["clock"]["span"][1] == pytest.approx(10800 / 3600)
    assert [float(np.max(t["y"])) for t in draw_queues(loaded).figure.data] == [2.0, 3.0]
    assert [float(np.max(t["x"])) for t in draw_wait_shares(loaded).figure.data] == [3600.0, 7200.0]


def test_intervals_of_shares_stay_shares(summary: Summary) -> None:
    """The interval of a share ends at 0 and 1, on the page, in the bars, in JSON and in the terminal."""
    few = [replace(summary, seed=i, utilization=u) for i, u in enumerate((0.98, 0.99, 0.6))]
    found = compare({"a": few, "b": few})
    row = found.row("utilization")
    assert row.estimates[0].mean + row.estimates[0].half_width > 1
    low, high = row.interval(0)
    assert (0 < low < 0.5, high) == (True, 1.0)
    assert "85.7 % (30.4 to 100 %)" in comparison_html(found)
    assert "85.7 (30.4–100)" in printed(comparison_table(found))
    bars = next(d for d in draw_comparison(found) if d.title == "utilization").figure.data[0]
    assert bars["x"][0] + bars["error_x"]["array"][0] == pytest.approx(100)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    told = next(m for m in data["metrics"] if m["path"] == "utilization")["estimates"][0]
    assert (told["low"], told["high"]) == (pytest.approx(low), 1.0)


def test_every_cell_has_a_unit_that_fits(summary: Summary) -> None:
    """A wait of seconds beside one of hours keeps its digits, in page and terminal; no number has an exponent."""

    def waiting(seconds: float) -> list[Summary]:
        return [replace(summary, wait_s=replace(summary.wait_s, mean=seconds))]

    found = compare({"a": waiting(7.65), "b": waiting(13489.0)})
    page, terminal = comparison_html(found), printed(comparison_table(found))
    assert ">7.65 s<" in page
    assert ">3.747 h<" in page
    assert 'data-v="13481.35" data-u="s">3.745 h' in page  # the difference, for the CSV file
    assert "7.65 s" in terminal
    assert "3.747 h" in terminal
    assert change(found.row("wait_s.mean"), 1) == "×1,763"
    assert "e+0" not in page + terminal


def test_rounding_is_no_difference(summary: Summary) -> None:
    """Sums that differ in their last bits are the same: no sign, no percentage, a plain 0."""
    nearly = replace(summary, utilization=summary.utilization * (1 + 1e-15))
    found = compare({"a": [summary], "b": [nearly]})
    assert found.row("utilization").differences[1].mean != 0
    assert change(found.row("utilization"), 1) == ""
    assert '<td data-v="0" data-u="share">0 <span' in comparison_html(found)


def test_an_estimate_as_text() -> None:
    """A mean of nothing is a dash, one of 0 takes the unit of its interval."""
    assert show_estimate(math.nan, math.nan, "s") == "–"
    assert show_estimate(0.0, 90.0, "s") == "0.0 ± 1.5 min"
    assert show_estimate(12.0, math.nan, "jobs") == "12"
