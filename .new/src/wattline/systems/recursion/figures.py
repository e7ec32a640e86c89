"""The figures of the service-rate paper's §IV, and those of the runs it left open."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.formats.jobs.krc.read import CORES
from wattline.report.figures.figure import Figure
from wattline.report.figures.style import AMBER, BLUE, GREY, RED, TEAL, VIOLET, Drawn, new_figure, soft, split_figure
from wattline.systems.recursion.model import HIGH, K_HIGH, K_LOW, Epochs
from wattline.systems.recursion.study import Curve, Ensemble
from wattline.wiring.result import Result

DAY = 86400.0
EPOCHS = 300


def busiest_window(e: Epochs, count: int = EPOCHS) -> slice:
    """Return the window of epochs in which the rate changes most often."""
    changes = np.concatenate([[0.0], np.cumsum(np.diff(e.rate) != 0)])
    last = max(1, e.rate.size - count)
    first = int(np.argmax(changes[count - 1 :][:last] - changes[:last]))
    return slice(first, min(first + count, e.rate.size))


def draw_workload(result_epochs: Epochs) -> Drawn:
    """Fig. 1: workload and customers in service over key epochs, the time at the high rate shaded."""
    e = result_epochs
    window = busiest_window(e)
    day = (e.time_s[window] - e.time_s[0]) / DAY
    before, after = _fall(e, window)
    figure = split_figure(460, 2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.68, 0.32])
    figure.add_scatter(
        x=np.repeat(day, 2),
        y=np.column_stack([before, after]).ravel(),
        name="workload W",
        mode="lines",
        line={"color": BLUE, "width": 1.6},
        row=1,
        col=1,
    )
    for level, name in ((K_LOW, "k_L"), (K_HIGH, "k_H")):
        figure.add_scatter(
            x=[day[0], day[-1]],
            y=[level, level],
            name=name,
            mode="lines",
            row=1,
            col=1,
            line={"color": RED, "width": 1, "dash": "dot"},
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=day,
        y=e.served[window],
        name="customers in service",
        mode="lines",
        row=2,
        col=1,
        line={"shape": "hv", "color": GREY, "width": 1.4},
        fill="tozeroy",
        fillcolor=soft(GREY, 0.2),
    )
    for a, b in _spells(e.rate[window] == HIGH.rate):
        end = day[b] if b < day.size else day[-1]
        figure.add_vrect(x0=day[a], x1=end, fillcolor=soft(AMBER, 0.14), line_width=0, layer="below")
    figure.update_yaxes(title_text="workload", row=1, col=1)
    figure.update_yaxes(title_text="in service", row=2, col=1)
    figure.update_xaxes(title_text="days since the first arrival", row=2, col=1)
    figure.update_layout(showlegend=True)
    changes = int(np.sum(np.diff(e.rate[window]) != 0))
    return Drawn(
        figure,
        "Fig. 1: workload and customers in service at key epochs",
        f"{EPOCHS} consecutive epochs of {e.rate.size:,}, those with most switches ({changes}). Shaded: the high rate. "
        f"k_L = {K_LOW:g}, k_H = {K_HIGH:g}; W falls at R times the customers in service.",
    )


def _fall(e: Epochs, window: slice) -> tuple[Floats, Floats]:
    """Return W just before and just after each epoch of a window."""
    end = e.workload - e.rate * e.served * e.seconds
    before = np.concatenate([[e.workload[0]], end[:-1]])[window]
    return np.maximum(before, 0.0), e.workload[window]


def _spells(high: Any) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], high.astype(np.int64), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def draw_schedule(result: Result, first: int, how: str, count: int = 500) -> Drawn:
    """Fig. 2: who holds which servers, and the state of each customer, for ``count`` customers."""
    s, jobs = result.state, result.jobs
    last = min(first + count, len(jobs))
    origin = float(s.submit_s[first])
    figure = split_figure(640, 2, shared_xaxes=True, vertical_spacing=0.05, layout={"bargap": 0})
    log = result.logs
    mine = (log["px_job"] >= first) & (log["px_job"] < last)
    row, node, width = (log[name][mine] for name in ("px_job", "px_first", "px_count"))
    begin, end = ((log[name][mine] - origin) / DAY for name in ("px_from_s", "px_until_s"))
    shade = [f"rgba(63, 127, 209, {0.3 + 0.6 * ((j * 37) % 11) / 10:.2f})" for j in row.tolist()]
    figure.add_bar(
        orientation="h",
        base=begin,
        x=end - begin,
        y=node + (width - 1) / 2,
        width=width.astype(np.float64),
        marker={"color": shade, "line": {"width": 0}},
        customdata=np.column_stack([jobs.job_id[row], jobs.nodes[row]]),
        hovertemplate="#%{customdata[0]}, %{customdata[1]} servers<extra></extra>",
        row=1,
        col=1,
    )
    label = jobs.job_id[first:last]
    for name, start_s, end_s, colour in (
        ("waiting", s.submit_s[first:last], s.started_s[first:last], AMBER),
        ("computing", s.started_s[first:last], s.end_s[first:last], BLUE),
    ):
        figure.add_bar(
            orientation="h",
            base=(start_s - origin) / DAY,
            x=(end_s - start_s) / DAY,
            y=np.arange(last - first),
            width=1.0,
            marker={"color": colour, "line": {"width": 0}},
            name=name,
            customdata=label,
            hovertemplate="#%{customdata}<extra>" + name + "</extra>",
            row=2,
            col=1,
        )
    figure.update_yaxes(title_text="server", range=[-0.5, CORES - 0.5], showgrid=False, row=1, col=1)
    figure.update_yaxes(title_text="customer", row=2, col=1, showgrid=False, range=[-0.5, last - first - 0.5])
    figure.update_xaxes(title_text=f"days since customer #{label[0]} arrived", row=2, col=1)
    figure.update_layout(barmode="overlay", showlegend=False)
    return Drawn(
        figure,
        f"Fig. 2: schedule and states of {last - first} customers from #{label[0]}, {how}",
        "Above: servers held (shades tell neighbours apart; only these customers are drawn). Below: amber waits, blue "
        "computes. First come, first served.",
    )


def draw_curve(curve: Curve, printed: Curve) -> Drawn:
    """Fig. 3: mean energy and mean workload over the threshold, by eq. 12 and exactly."""
    figure = split_figure(330, 1, 2, horizontal_spacing=0.1)
    _line(figure, curve.k, curve.energy, "energy, eqs. 11 and 12", AMBER, 1)
    _line(figure, printed.k, printed.energy, "energy, switch as printed", RED, 1)
    _line(figure, curve.k, curve.workload_eq12, "workload, eq. 12", GREY, 2)
    _line(figure, curve.k, curve.workload, "workload, exact", BLUE, 2)
    return Drawn(
        figure,
        "Fig. 3: mean energy and mean workload over the threshold k",
        "The recorded sequence, one run a threshold. Eq. 12 holds each W over its epoch as if it did not fall, so it "
        "lies above the exact average; for the energy, which is constant within an epoch, it is exact. Red: with "
        "the switching epoch that the text prints, which ignores how many are in service.",
    )


def draw_ensemble(found: Ensemble) -> Drawn:
    """The smooth version: change of energy and workload against k = 0, over resampled sequences, with intervals."""
    figure = split_figure(330, 1, 2, horizontal_spacing=0.1)
    for column, (mean, half), colour, name in (
        (1, found.energy_change, AMBER, "energy"),
        (2, found.workload_change, BLUE, "workload"),
    ):
        x = np.concatenate([found.k, found.k[::-1]])
        y = 100 * np.concatenate([mean + half, (mean - half)[::-1]])
        figure.add_scatter(
            x=x,
            y=y,
            fill="toself",
            fillcolor=soft(colour, 0.25),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            row=1,
            col=column,
        )
        _line(figure, found.k, 100 * mean, f"{name} against k = 0 [%]", colour, column)
    figure.update_yaxes(rangemode="normal")
    return Drawn(
        figure,
        "Over randomized runs: the experiment that the paper leaves to the future",
        f"{found.seeds} sequences resampled in blocks of consecutive records, each run at every threshold; mean of the "
        "paired changes and its 95 % interval over sequences.",
    )


def _line(figure: Figure, x: Floats, y: Floats, name: str, colour: str, column: int) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        name=name,
        mode="lines+markers",
        marker={"size": 4},
        row=1,
        col=column,
        line={"color": colour, "width": 1.8},
    )
    figure.update_xaxes(title_text="threshold k", row=1, col=column)
    figure.update_yaxes(rangemode="normal", row=1, col=column)
    figure.update_layout(showlegend=True)


def draw_trade(grid: dict[tuple[str, str], dict[str, Any]], curve: Curve) -> Drawn:
    """Energy against workload: every discipline under every rule, and the threshold's curve."""
    figure = new_figure(380)
    figure.add_scatter(
        x=curve.workload, y=curve.energy, name="FCFS, k = 0 … 3e6", mode="lines", line={"color": GREY, "width": 1}
    )
    colours = {"r_L": TEAL, "r_H": RED, "coins": VIOLET, "count": AMBER, "work": BLUE}
    for rule, colour in colours.items():
        rows = [(line, found) for (line, name), found in grid.items() if name == rule]
        figure.add_scatter(
            x=[found["workload"] for _, found in rows],
            y=[found["energy"] for _, found in rows],
            name=rule,
            mode="markers",
            text=[line for line, _ in rows],
            marker={"color": colour, "size": 8},
            hovertemplate="%{text}, " + rule + "<br>W %{x:,.4~r}, E %{y:,.4~r}<extra></extra>",
        )
    figure.update_xaxes(title_text="mean workload (exact)", type="log")
    figure.update_yaxes(title_text="mean energy per unit time", rangemode="normal")
    figure.update_layout(showlegend=True)
    return Drawn(
        figure, "Energy against workload", "A point a discipline and rule (hover names it); the line is Fig. 3."
    )
