"""What a reader can do with a page in a browser: zoom, read values, search, save tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chromium import in_browser, needs_chromium
from synthetic import block_schedule, write_synthetic

from wattline.report.figures.style import Drawn, new_figure
from wattline.report.page import Page
from wattline.report.pages.run import write_report
from wattline.report.pages.sweep import write_sweep

pytestmark = needs_chromium

SCRIPT = """
const plots = [...document.querySelectorAll(".plot")];
const timed = plots.filter((p) => p.layout.meta && p.layout.meta.clock);
const titles = timed.map((p) => p.closest("figure").querySelector("h3").firstChild.textContent);
const axes = (p) => Object.keys(p._fullLayout).filter((key) => /^xaxis/.test(key));
const ranges = () => timed.map((p) => axes(p).map((key) => p._fullLayout[key].range));
const span = timed[0].layout.meta.clock.span;
await Plotly.relayout(timed[0], { "xaxis.range": [span[0] + (span[1] - span[0]) / 4, span[1]] });
await pause(300);
const zoomed = ranges();
await Plotly.relayout(timed[1], { "xaxis.autorange": true });
await pause(300);
const whole = ranges();

const power = timed[0], box = power.getBoundingClientRect(), full = power._fullLayout;
const x = box.left + full.xaxis._offset + full.xaxis.c2p(span[0] + 0.4 * (span[1] - span[0]));
const y = box.top + full.yaxis._offset + 20;
power.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
const label = power.querySelector(".label").innerText;
const rulers = timed.map((p) => !p.querySelector(".ruler").hidden);
power.dispatchEvent(new PointerEvent("pointerleave"));

const table = [...document.querySelectorAll("table")].find((t) => t.tHead.textContent.startsWith("user"));
const search = table.closest("details").querySelector("input[type=search]");
search.value = "u002";
search.dispatchEvent(new Event("input"));
const tables = document.querySelectorAll("main table").length;
return {
  titles, zoomed, whole, span, label, rulers, early, total,
  shown: [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[0].textContent),
  csv: table.csv(), mixed: document.querySelector("#jobs ~ .scroll table").csv(), tables,
  savers: document.querySelectorAll(".tools button").length,
};
"""


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a reader found on the page of three jobs on four nodes: 400 W idle, 600 W from 100 s to 700 s, 1 kW then."""
    folder: Path = tmp_path_factory.mktemp("browser")
    run = {
        "submit": [0.0, 0.0, 0.0],
        "start": [100.0, 700.0, 700.0],
        "end": [1000.0, 1000.0, 1000.0],
        "nodes": [1, 1, 1],
        "first": [0, 1, 2],
        "user": [1, 2, 3],
        "total": 4,
    }
    report = write_report(write_synthetic(folder / "j", **run), folder / "report.html")
    found: dict[str, Any] = in_browser(report, SCRIPT)
    return found


def test_zoom_is_shared_by_all_figures_over_time(read: dict[str, Any]) -> None:
    """Zoom one of power, queue and Gantt, and all follow; a double click in another one shows the whole run again."""
    assert read["titles"] == ["Power", "Queue and nodes", "Who held which node"]
    assert read["span"] == [0, pytest.approx(1000 / 60)]
    for figure in read["zoomed"]:
        for axis in figure:
            assert axis == pytest.approx([1000 / 60 / 4, 1000 / 60])
    for figure in read["whole"]:
        for axis in figure:
            assert axis == pytest.approx([0, 1000 / 60])


def test_a_step_is_read_in_its_middle(read: dict[str, Any]) -> None:
    """At 400 s, far from the changes at 100 s and 700 s, the label says what held, and all figures show the instant."""
    assert "6 min 40 s" in read["label"]
    assert "0.6 kW" in read["label"]
    assert read["rulers"] == [True, True, True]


def test_tables_are_searched_and_saved(read: dict[str, Any]) -> None:
    """Every table has a button that saves it as CSV, of the rows that a search left, in SI units."""
    assert read["savers"] == read["tables"]
    assert read["shown"] == ["u002"]
    header, row, rest = read["csv"].split("\r\n")
    assert header.startswith("user,jobs,node-hours,energy [J],share [share],mean wait [s]")
    assert row.split(",")[:4] == ["u002", "1", f"{300 / 3600:.12g}", "90000"]
    assert row.split(",")[5] == "700"
    assert rest == ""


def test_rows_of_different_units_name_theirs(read: dict[str, Any]) -> None:
    """A table of seconds and ratios says the unit of each row in a last column of its CSV file."""
    header, *rows = read["mixed"].strip().split("\r\n")
    assert header == ",jobs,mean,median,p90,p95,p99,max,unit"
    assert rows[0] == "wait,3,500,700,700,700,700,700,s"
    assert rows[-1].startswith("bounded slowdown,3,")
    assert rows[-1].endswith(",")


def test_what_is_out_of_sight_is_drawn_later(read: dict[str, Any]) -> None:
    """The first picture does not wait for figures further down."""
    assert read["early"] < read["total"]


LONG = """
const power = document.querySelector(".plot"), box = power.getBoundingClientRect(), full = power._fullLayout;
const at = { clientX: box.left + full.xaxis._offset + 60, clientY: box.top + full.yaxis._offset + 40, bubbles: true };
power.dispatchEvent(new PointerEvent("pointermove", at));
const left = [...document.querySelectorAll(".plot")].filter((p) => p.layout.meta && p.layout.meta.clock)
  .map((p) => p._fullLayout.xaxis._offset);
return {
  label: power.querySelector(".label").innerText, left,
  type: full.xaxis.type, wide: document.documentElement.scrollWidth, window: innerWidth,
  contents: document.querySelectorAll(".contents a").length, sections: document.querySelectorAll("h2").length,
};
"""


def test_a_long_run_with_dates_on_a_narrow_screen(tmp_path: Path) -> None:
    """Power of a log that began in March 2011 is read by date, with mean and extremes of a bin; figures over time stand
    in one line, and nothing sticks out at the side.
    """
    trace = {"trace": {"source": "a log", "notes": [], "epoch_unix_s": 1_300_000_000.0}}
    journal = write_synthetic(tmp_path / "j", **block_schedule(4000, 10, 4, 3), manifest=trace)
    found = in_browser(write_report(journal, tmp_path / "report.html"), LONG, width=390)
    assert found["type"] == "date"
    assert re.search(r"2011-03-\d\d \d\d:\d\d UTC", found["label"])
    assert re.search(r"power\s+[\d.]+ kW \([\d.]+ to [\d.]+\)", found["label"])
    assert len(found["left"]) == 3
    assert len(set(found["left"])) == 1
    assert found["wide"] <= found["window"] == 390
    assert found["contents"] == found["sections"] > 4


MENU = """
return [...document.querySelectorAll(".plot")].map((plot) => {
  const box = (name) => plot.querySelector(name).getBoundingClientRect();
  const menu = box(".updatemenu-header-group"), legend = box(".legend");
  const apart = (a, b) => a.bottom <= b.top + 1 || b.bottom <= a.top + 1 || a.right <= b.left || b.right <= a.left;
  const inside = menu.right <= innerWidth && legend.right <= innerWidth;
  return { apart: apart(menu, legend), inside, menu: menu.width };
});
"""


@pytest.mark.parametrize("width", [1400, 390])
def test_menu_and_legend_of_a_sweep_stand_apart(tmp_path: Path, width: int) -> None:
    """On a wide screen and on a telephone the menu of metrics covers no name of a line."""
    rows = [
        {"limit.power": power, "trace.load": load, "seed": 1, "wait_s.mean": load * i * 60.0, "utilization": load}
        for i, power in enumerate(("off", "30 kW", "40 kW"))
        for load in (0.6, 0.8, 1.0)
    ]
    keys = {"limit.power": ["off", "30 kW", "40 kW"], "trace.load": [0.6, 0.8, 1.0]}
    page = write_sweep(pl.DataFrame(rows), keys, tmp_path / "sweep.html", title="a sweep")
    found = in_browser(page, MENU, width=width)
    assert len(found) == 2
    for figure in found:
        assert figure["menu"] > 40
        assert figure["apart"]
        assert figure["inside"]


def test_a_section_called_figures_has_its_figures(tmp_path: Path) -> None:
    """The heading's anchor is not taken for the data of the figures."""
    page = Page("figures")
    figure = new_figure(200)
    figure.add_bar(x=["a", "b"], y=[1.0, 2.0], name="one")
    page.add("<header><h1>Figures</h1></header>", "<h2>Figures</h2>", page.figure(Drawn(figure, "Figure 1", "")))
    script = 'return [drawn(), document.querySelectorAll(".plot .bars path").length];'
    assert in_browser(page.write(tmp_path / "page.html"), script) == [1, 2]
