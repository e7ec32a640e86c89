"""What a page promises: one file, nothing fetched, nothing of the data taken as HTML, readable at any size."""

from __future__ import annotations

import json
import pickle
import re
import time
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from synthetic import BUSY_W, IDLE_W, block_schedule, frames_of, write_synthetic

from wattline.errors import InputError
from wattline.journal.journal import SCHEMA, Coded, Journal, open_journal, write_journal
from wattline.report.count.compare import compare
from wattline.report.count.groups import GroupRow
from wattline.report.count.metrics import Summary, summarize
from wattline.report.count.run import load
from wattline.report.figures.beside import draw_comparison
from wattline.report.figures.jobs import TOP, draw_ranking, draw_waits
from wattline.report.figures.over_time import BINS, CELLS, RECTANGLES, draw_gantt, draw_load, draw_power, draw_rates
from wattline.report.figures.style import Drawn, new_figure
from wattline.report.page import Page
from wattline.report.pages.comparison import write_comparison
from wattline.report.pages.run import write_report
from wattline.report.show import compact, show

ASSETS = files("wattline.report") / "assets"
LIBRARY = (ASSETS / "plotly.js").read_text(encoding="utf-8")
EVIL = "</script><img src=x onerror=alert(1)> & \"'"


class Tags(HTMLParser):
    """Collect tags with their attributes, ids, and the text of everything that is not a script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Remember text."""
        if not self.tags or self.tags[-1][0] not in ("script", "style"):
            self.words += data


def own_text(path: Path) -> str:
    """The page without the drawing library."""
    return path.read_text(encoding="utf-8").replace(LIBRARY, "")


def figures_of(path: Path) -> list[dict[str, object]]:
    """The data of all figures on a page."""
    match = re.search(r'<script type="application/json" id="figures_data">(.*?)</script>', own_text(path), re.DOTALL)
    return json.loads(match.group(1)) if match else []


def test_one_file_with_everything(journal: Journal, out: Path) -> None:
    """The page embeds the drawing library once, forbids the browser to fetch, and names no address."""
    assert write_report(journal, out) == out
    whole = out.read_text(encoding="utf-8")
    assert whole.count(LIBRARY) == 1
    tags = Tags(own_text(out)).tags
    links = [a.get("src") or a.get("href") or "data:," for _, a in tags]
    assert not [link for link in links if link != "data:," and not link.startswith("#")]
    assert any("default-src 'none'" in (a.get("content") or "") for _, a in tags)
    assert "http://" not in own_text(out)
    assert "https://" not in own_text(out)


def test_every_section_has_an_anchor_and_is_in_the_contents(journal: Journal, out: Path) -> None:
    """Headings have anchors of their own, no two alike, and links below the header lead to all sections in order."""
    write_report(journal, out)
    text = own_text(out)
    tags = Tags(text).tags
    named = [a["id"] for tag, a in tags if tag in ("h2", "h3")]
    assert len(set(named)) == len(named)
    assert {"over-time", "jobs", "jobs-by-size", "energy", "power-under-the-limit"} <= set(named)
    contents = re.search(r'<nav class="contents".*?</nav>', text, re.DOTALL)
    assert contents is not None
    sections = [a["id"] for tag, a in tags if tag == "h2"]
    assert re.findall(r'href="#([^"]*)"', contents.group()) == sections
    assert text.index("</header>") < contents.start() < text.index("<h2")


def test_no_heading_takes_the_place_of_a_figure(out: Path) -> None:
    """Whatever sections are called, every id is there once: the script finds its data, and each figure its place."""
    page = Page("figures")
    page.add("<h2>Figures</h2>", "<h2>Figures data</h2>", "<h2>figures_data</h2>", "<h3>Figure 1</h3>")
    figure = new_figure(200)
    figure.add_bar(x=["a"], y=[1.0], name="one")
    page.add(page.figure(Drawn(figure, "Figure 1", "")), page.figure(Drawn(figure, "Figures", "")))
    page.write(out)
    named = [attributes["id"] for _, attributes in Tags(own_text(out)).tags if "id" in attributes]
    assert len(named) == len(set(named)), named
    assert [one["id"] for one in figures_of(out)] == ["figure_1", "figure_2"]


def test_a_page_is_small_and_knows_what_it_draws(journal: Journal, out: Path) -> None:
    """A page stays below 2 MB: its drawing library has the kinds of traces that figures use, and its licences beside
    it.
    """
    write_report(journal, out)
    assert out.stat().st_size < 2e6
    kinds = {trace["type"] for figure in figures_of(out) for trace in figure["data"]}
    assert kinds <= {"scatter", "bar", "heatmap"}
    licences = (ASSETS / "plotly-licences.txt").read_text(encoding="utf-8")
    assert re.match(r"/\* plotly\.js (\S+):", LIBRARY).group(1) in licences
    assert "Copyright" in licences
    assert "Plotly Technologies Inc." in LIBRARY.partition("*/")[0]  # who wrote it is told on the page itself


def test_numbers_of_tables_keep_their_value() -> None:
    """A cell shows a number for people, and holds it in SI units for the CSV file."""
    from wattline.report.page import table

    text = table(("wait", "user"), [(compact(80945.0, "s"), "=cmd()")])
    assert '<td data-v="80945" data-u="s">22.5 h</td>' in text
    assert "<td>=cmd()</td>" in text
    again = pickle.loads(pickle.dumps(compact(80945.0, "s")))  # noqa: S301 - our own bytes
    assert (again, again.value, again.unit) == ("22.5 h", 80945.0, "s")


def test_report_goes_into_the_journal(tmp_path: Path) -> None:
    """Unless told otherwise, the report of a journal lies in it."""
    found = write_synthetic(tmp_path / "j", **block_schedule(20, 2, 2, 1))
    assert write_report(found) == tmp_path / "j" / "report.html"
    assert [p.name for p in tmp_path.iterdir()] == ["j"]


def test_every_figure_has_its_place(journal: Journal, out: Path) -> None:
    """Each figure has one element to be drawn into, and a caption."""
    write_report(journal, out)
    places = [a["id"] for tag, a in Tags(own_text(out)).tags if tag == "div" and a.get("class") == "plot"]
    assert places == [figure["id"] for figure in figures_of(out)]
    assert own_text(out).count("<figcaption>") == len(places)
    assert len(places) >= 10


def test_numbers_are_on_the_page(journal: Journal, summary: Summary, out: Path) -> None:
    """Header, key numbers, notes of the trace reader and scenario are all there."""
    write_report(journal, out)
    words = Tags(own_text(out)).words
    for text in ("synthetic", "600 jobs on 40 nodes", "order fcfs", "zero nodes", "# a <scenario>", "ab" * 32, "numba"):
        assert text in words
    assert f"{100 * summary.utilization:.3g} %" in words


def test_data_is_never_html(tmp_path: Path, out: Path) -> None:
    """Whatever names jobs, users and files carry, they are shown as text."""
    frames, manifest = frames_of(**block_schedule(40, 4, 2, 2))
    for column in ("user", "group", "kind", "partition"):
        frames["jobs"][column] = Coded(np.arange(40) % 2, [EVIL, "x"])
    frames["classes"]["node_class"] = [EVIL]
    manifest |= {
        "name": EVIL,
        "scenario": EVIL,
        "ties": EVIL,
        "policies": {"order": EVIL},
        "stopped": EVIL,
        "scenario_sha256": EVIL,
        "trace": {"source": EVIL, "notes": [{"action": EVIL, "reason": EVIL, "count": 1, "example": EVIL}]},
        "cluster": {"name": EVIL},
        "wattline": EVIL,
        "created": EVIL,
    }
    write_journal(tmp_path / "j", frames, manifest)
    journal = open_journal(tmp_path / "j")
    write_report(journal, out)
    write_comparison({EVIL: [summarize(journal)], "b": [summarize(journal)]}, tmp_path / "c.html", title=EVIL)
    for path in (out, tmp_path / "c.html"):
        parsed = Tags(own_text(path))
        assert "img" not in [tag for tag, _ in parsed.tags]
        assert EVIL in parsed.words
        assert figures_of(path)


def test_a_page_that_cannot_be_written_is_named(journal: Journal, tmp_path: Path) -> None:
    """A path that cannot be written gives one line with its name, and leaves nothing behind."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="taken: is a folder, so no page is written there"):
        write_report(journal, tmp_path / "taken")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_wide_table_shows_that_it_goes_on() -> None:
    """A table wider than the page scrolls by itself, with shadows at the sides that have more."""
    from wattline.report.page import Page, table

    page = Page("wide")
    page.add(table([f"column {i}" for i in range(40)], [range(40)]))
    text = page.content().decode()
    assert '<div class="scroll"><table>' in text
    rule = text.split(".scroll {")[1].split("}")[0]
    assert "overflow-x: auto" in rule
    assert (rule.count("no-repeat local"), rule.count("no-repeat scroll")) == (2, 2)


@pytest.mark.parametrize("jobs", [0, 1, 2])
def test_tiny_runs(tmp_path: Path, out: Path, jobs: int) -> None:
    """A run of no job, one job or two still has a page."""
    times = np.arange(jobs) * 10.0
    run = {"submit": times, "start": times, "end": times + 5, "nodes": np.ones(jobs, int), "first": np.zeros(jobs, int)}
    write_report(write_synthetic(tmp_path / "j", **run, total=2, run_end_s=30.0), out)
    assert ("nothing to draw" in own_text(out)) == (jobs == 0)
    assert "nan" not in Tags(own_text(out)).words.lower().replace("finance", "")


def test_bare_journal(tmp_path: Path, out: Path) -> None:
    """A journal of empty tables and an empty manifest still has a page."""
    write_journal(tmp_path / "j", {name: {} for name in SCHEMA}, {})
    write_report(open_journal(tmp_path / "j"), out)
    assert "nothing to draw" in own_text(out)


def test_stopped_runs_say_so(tmp_path: Path, out: Path) -> None:
    """A run that was interrupted says so, and how many jobs are missing from the numbers."""
    run = {
        "submit": [0.0, 0.0],
        "start": [0.0, np.nan],
        "end": [np.nan] * 2,
        "nodes": [1, 1],
        "first": [0, 0],
        "total": 1,
    }
    journal = write_synthetic(tmp_path / "j", **run, run_end_s=9.0, manifest={"stopped": "interrupted"})
    write_report(journal, out)
    assert "did not reach its end: interrupted after 9 s; 2 jobs had not ended" in own_text(out)
    assert "2 jobs had not ended" in own_text(out)


def test_limit_is_drawn_only_when_there_is_one(tmp_path: Path, journal: Journal) -> None:
    """The line of the limit appears with a limit, and each curve is named."""
    free = write_synthetic(tmp_path / "j", **block_schedule(50, 2, 2, 1))
    assert [trace["name"] for trace in draw_power(load(free)).figure.data] == ["power"]
    assert [trace["name"] for trace in draw_power(load(journal)).figure.data] == ["power", "limit"]


def test_peaks_survive_drawing(tmp_path: Path) -> None:
    """A run too long to draw change by change keeps its highest and lowest power in the figure, and says how."""
    found = load(write_synthetic(tmp_path / "j", **block_schedule(5000, 10, 4, 3)))
    drawn = draw_power(found)
    band = drawn.figure.data[0]["y"] * 1000
    assert band.max() == pytest.approx(found.steps.power_w[found.steps.duration_s > 0].max())
    assert band.min() == pytest.approx(found.steps.power_w[found.steps.duration_s > 0].min())
    assert str(BINS) in drawn.caption
    assert "no peak is lost" in draw_load(found).caption


def test_gantt_by_rectangles_or_raster(tmp_path: Path, journal: Journal) -> None:
    """Few placements are drawn as rectangles, many as the busy share of cells, whose mean is the utilization."""
    few = draw_gantt(load(journal), journal)
    assert few.figure.data[0]["type"] == "bar"
    assert len(few.figure.data[0]["x"]) == 600
    many = write_synthetic(tmp_path / "j", **block_schedule(RECTANGLES + 1, 10, 4, 3))
    run = load(many)
    heat = draw_gantt(run, many).figure.data[0]
    assert heat["type"] == "heatmap"
    assert heat["z"].shape == (40, CELLS[1])
    assert heat["z"].mean() / 100 == pytest.approx(summarize(many).utilization, abs=0.003)


def test_times_are_dates_where_the_log_says_when_it_began(tmp_path: Path, journal: Journal) -> None:
    """Figures over time share one clock: the calendar with an epoch, else days since the start."""
    trace = {"trace": {"source": "a log", "notes": [], "epoch_unix_s": 1_300_000_000.0}}
    dated = write_synthetic(tmp_path / "j", **block_schedule(60, 4, 2, 1), manifest=trace)
    run = load(dated)
    for drawn in (draw_power(run), draw_load(run), draw_gantt(run, dated)):
        axis = drawn.figure.layout["xaxis"]
        assert (axis["type"], drawn.figure.layout["meta"]["clock"]["unit"]) == ("date", "date")
        assert axis["range"] == pytest.approx([1.3e12, 1.3e12 + 1000 * run.end_s])
    assert draw_power(run).figure.data[0]["x"][0] == pytest.approx(1.3e12)
    for drawn in (draw_power(load(journal)), draw_gantt(load(journal), journal)):
        assert "type" not in drawn.figure.layout["xaxis"]
        assert drawn.figure.layout["xaxis"]["title"]["text"] == "time since the start of the run [d]"
        assert drawn.figure.layout["meta"]["clock"]["name"] == "run"


@pytest.mark.parametrize(
    ("zone", "title", "ahead_s"),
    [
        ("Europe/Berlin", "time [UTC+01:00]", 3600.0),  # 2011-03-13, two weeks before summer time
        ("America/St_Johns", "time [UTC-02:30]", -9000.0),  # an hour after it began there
        ("+05:45", "time [UTC+05:45]", 20700.0),
        (None, "time [UTC]", 0.0),
    ],
)
def test_dates_are_those_of_the_logs_zone(zone: str | None, title: str, ahead_s: float, tmp_path: Path) -> None:
    """Clocks on the axis are as far ahead of UTC as the log's were when the run began, and the axis says how far."""
    trace = {"source": "a log", "notes": [], "epoch_unix_s": 1_300_000_000.0} | ({"zone": zone} if zone else {})
    run = load(write_synthetic(tmp_path / "j", **block_schedule(60, 4, 2, 1), manifest={"trace": trace}))
    figure = draw_power(run).figure
    assert figure.layout["xaxis"]["title"]["text"] == title
    assert figure.data[0]["x"][0] == pytest.approx(1.3e12 + 1000 * ahead_s)


def test_the_gantt_speaks_of_hours(journal: Journal) -> None:
    """A rectangle tells how long its job waited and held its nodes in units that people use."""
    told = draw_gantt(load(journal), journal).figure.data[0]["customdata"]
    longest = load(journal).jobs["wait_s"].max()
    assert show(longest, "s") in {row[2] for row in told}
    assert " h" in show(longest, "s")


def test_rates_are_drawn_when_they_change(tmp_path: Path, journal: Journal) -> None:
    """Speed over time is drawn for systems that switch it, and only for them."""
    assert draw_rates(load(journal)) is None
    frames, manifest = frames_of(**block_schedule(50, 2, 2, 1))
    frames["timeline"]["rate"] = np.where(frames["timeline"]["queued_jobs"] > 1, 2.66, 2.0)
    write_journal(tmp_path / "j", frames, manifest)
    drawn = draw_rates(load(open_journal(tmp_path / "j")))
    assert [trace["name"] for trace in drawn.figure.data] == ["rate", "remaining work"]


def test_rankings_keep_everybody() -> None:
    """A ranking shows the first and tells what the rest used; one alone is no ranking."""
    rows = [GroupRow(f"u{i}", 1, 1, 1.0, 3.6e6, 0.01, 0.0, 1.0) for i in range(TOP + 5)]
    drawn = draw_ranking(rows, "user")
    assert len(drawn.figure.data[0]["x"]) == TOP
    assert "5 more used 5 kWh together" in drawn.caption
    assert draw_ranking(rows[:1], "user") is None


def test_waits_are_a_distribution(journal: Journal, summary: Summary) -> None:
    """The curve of waits ends at the longest wait and at all jobs."""
    curve = draw_waits(load(journal)).figure.data[0]
    assert max(curve["x"]) == summary.wait_s.max
    assert max(curve["y"]) == pytest.approx(100)


def test_comparison_page(labelled: dict[str, list[Summary]], out: Path) -> None:
    """A comparison shows means, intervals, paired differences and what was run."""
    write_comparison(labelled, out, title="FCFS against EASY")
    words = Tags(own_text(out)).words
    for text in ("FCFS against EASY", "Δ easy", "-5.0 ± 2.5", "▼25 %", "1, 2, 3", "paired by seed"):
        assert text in words
    figures = draw_comparison(compare(labelled))
    assert len(figures) == len(figures_of(out))
    assert figures[0].figure.data[0]["error_x"]["array"][0] == pytest.approx(24.84, abs=0.01)


def test_comparison_of_single_runs_explains_no_intervals(summary: Summary, out: Path) -> None:
    """A page without intervals does not explain them."""
    write_comparison({"a": [summary], "b": [summary]}, out)
    words = Tags(own_text(out)).words
    assert not set("±▲▼≈") & set(words)
    assert "nothing is known about chance" in words


def test_a_million_jobs(tmp_path: Path, out: Path) -> None:
    """A million jobs are counted in seconds and drawn into a file that a browser opens.

    On an idle machine of two cores: 1.0 s to write, 1.6 s to count, 4 s for the page of 2 MB. The bounds, in seconds of
    the processor, leave room for a slower one.
    """
    frames, manifest = frames_of(**block_schedule(1_000_000, 250, 4, 0), limit_w=250_000.0)
    began = time.process_time()
    write_journal(tmp_path / "j", frames, manifest)
    wrote = time.process_time()
    journal = open_journal(tmp_path / "j")
    summary = summarize(journal)
    counted = time.process_time()
    write_report(journal, out)
    drawn = time.process_time()
    assert summary.energy.total_j == pytest.approx(summary.energy.accounts_j)
    assert summary.energy.total_j == pytest.approx(
        IDLE_W * 1000 * summary.span.duration_s + (BUSY_W - IDLE_W) * sum(row.node_s for row in summary.sizes)
    )
    assert out.stat().st_size < 2e6
    assert wrote - began < 6
    assert counted - wrote < 8
    assert drawn - counted < 30
