"""The figures of the QoSG study: hours of following the target, distributions of error and QoS, savings over settings."""

from __future__ import annotations

import numpy as np

from wattline.bid.setting import Recipe
from wattline.bid.trial import TrialHour
from wattline.market.shares import ecdf
from wattline.market.tracking import error_steps
from wattline.model import codes
from wattline.model.jobs import Floats
from wattline.report.style import BLUE, GREY, PALETTE, RED, TEAL, Drawn, new_figure, split_figure
from wattline.systems.qosg_claims import PUBLISHED_SAVINGS
from wattline.systems.qosg_jobs import NAMES, setting_of
from wattline.systems.qosg_study import RECIPES, Study, saving
from wattline.systems.tuned import HOUR_SEED, Tuned


def run_hour(found: Tuned, *, standby: bool = True) -> TrialHour:
    """Simulate the hour of the study again under a bid that was found for the default."""
    recipe: Recipe = RECIPES[found.policy.split(",")[0]]
    hour = TrialHour(setting_of(recipe, paper=True, standby=standby), HOUR_SEED)
    hour.run(found.choice.bid, found.choice.weights, found.choice.params)
    return hour


def draw_hour(found: Tuned, title: str, *, standby: bool = True) -> Drawn:
    """Draw target and power, and below them the jobs waiting (standby jobs, which always wait, left out)."""
    hour = run_hour(found, standby=standby)
    rows = hour.world.timeline()
    rows = rows[rows[:, codes.TL_TIME] <= hour.end_s]
    minutes = rows[:, codes.TL_TIME] / 60.0
    figure = split_figure(420, 2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.7, 0.3])
    for column, name, colour in ((codes.TL_TARGET, "target", RED), (codes.TL_POWER, "power", BLUE)):
        figure.add_scatter(x=minutes, y=rows[:, column] / 1e3, name=name, mode="lines", row=1, col=1,
                           line={"shape": "hv", "color": colour, "width": 1.2})  # fmt: skip
    at, waiting = _waiting(hour)
    figure.add_scatter(x=at / 60.0, y=waiting, name="jobs waiting", mode="lines", row=2, col=1,
                       line={"shape": "hv", "color": GREY, "width": 1.2})  # fmt: skip
    figure.update_yaxes(title_text="power [kW]", row=1, col=1)
    figure.update_yaxes(title_text="waiting", row=2, col=1)
    figure.update_xaxes(title_text="minutes", row=2, col=1)
    figure.update_layout(showlegend=True)
    bid, outcome = found.choice.bid, found.choice.outcome
    told = f"P̄ = {bid.mean_w:,.0f} W, R = {bid.reserve_w:,.0f} W; mean error {outcome.error:.1%}."
    return Drawn(figure, title, told)


def _waiting(hour: TrialHour) -> tuple[Floats, Floats]:
    s, rows = hour.world.state, hour.measured
    started = s.started_s[rows]
    times = np.concatenate([s.submit_s[rows], started[~np.isnan(started)]])
    steps = np.concatenate([np.ones(rows.size), -np.ones(int((~np.isnan(started)).sum()))])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(steps[order])


def draw_errors(study: Study) -> Drawn:
    """Draw the distribution of the tracking error of the three policies on the hour of the study (Fig. 2.5)."""
    figure = new_figure(320)
    found = study.found["default"]
    for i, name in enumerate(("QoSG", "Tracking-only", "EnergyQARE", "EnergyQARE with standby")):
        hour = run_hour(found[name], standby=name == "QoSG" or name.endswith("standby"))
        rows, bid = hour.world.timeline(), found[name].choice.bid
        span, error = error_steps(rows[:, codes.TL_TIME], rows[:, codes.TL_POWER], hour.signal, bid, 0.0, hour.end_s)
        x, y = ecdf(span, error)
        keep = np.unique(np.linspace(0, x.size - 1, min(x.size, 800)).astype(int))
        figure.add_scatter(x=x[keep], y=y[keep], name=name, mode="lines", line={"shape": "hv", "color": PALETTE[i]})
    for x_line, y_line in (([0.3, 0.3], [0, 1]), ([0, 1], [0.9, 0.9])):
        figure.add_scatter(x=x_line, y=y_line, mode="lines", showlegend=False, hoverinfo="skip",
                           line={"color": RED, "width": 1, "dash": "dot"})  # fmt: skip
    figure.update_xaxes(title_text="tracking error ε", range=[0, 1])
    figure.update_yaxes(title_text="share of time", range=[0, 1])
    figure.update_layout(showlegend=True)
    return Drawn(figure, "Fig. 2.5: tracking error", "The hour of the study; at least 90 % must lie left of 0.3.")


def draw_qos(study: Study) -> Drawn:
    """Draw the distribution of each kind's QoS degradation over its limit under QoSG (Fig. 2.6)."""
    hour = run_hour(study.found["default"]["QoSG"])
    q = hour.degradation() / hour.limit
    figure = new_figure(320)
    for k, name in enumerate(NAMES):
        values = np.sort(q[(hour.kind == k) & np.isfinite(q)])
        share = np.arange(1, values.size + 1) / max(values.size, 1)
        figure.add_scatter(x=values, y=share, name=name, mode="lines", line={"shape": "hv", "color": PALETTE[k]})
    for x_line, y_line in (([1, 1], [0, 1]), ([0, 3], [0.9, 0.9])):
        figure.add_scatter(x=x_line, y=y_line, mode="lines", showlegend=False, hoverinfo="skip",
                           line={"color": RED, "width": 1, "dash": "dot"})  # fmt: skip
    figure.update_xaxes(title_text="QoS degradation over its limit", range=[0, 3])
    figure.update_yaxes(title_text="share of jobs", range=[0, 1])
    figure.update_layout(showlegend=True)
    return Drawn(
        figure, "Fig. 2.6: QoS under QoSG", "Jobs that finish within the hour of the study; 90 % must lie left of 1."
    )


def draw_savings(study: Study) -> Drawn:
    """Draw QoSG's savings over all cases, with what was published (Figs. 2.11–2.16)."""
    names = list(study.found)
    figure = new_figure(360)
    shown = [n for n in names if n in PUBLISHED_SAVINGS]
    figure.add_bar(
        x=shown, y=[100 * PUBLISHED_SAVINGS[n]["QoSG"] for n in shown], name="published", marker={"color": GREY}
    )
    one = [100 * saving(study.found[n]["QoSG"].choice.outcome)[0] for n in names]
    figure.add_bar(x=names, y=one, name="QoSG, its hour", marker={"color": BLUE})
    fresh = [saving(study.found[n]["QoSG"].others) for n in names]
    half = [100 * (high - low) / 2 for _, low, high in fresh]
    figure.add_bar(x=names, y=[100 * f[0] for f in fresh], name="QoSG, fresh hours", marker={"color": TEAL},
                   error_y={"type": "data", "array": half, "visible": True})  # fmt: skip
    figure.update_yaxes(title_text="saving [%]")
    figure.update_layout(showlegend=True, barmode="group")
    figure.update_xaxes(categoryorder="array", categoryarray=names)
    return Drawn(
        figure,
        "Savings against what was drawn",
        "Fresh hours with 95 % intervals. Not all bids keep their promises there.",
    )


def draw_weights(study: Study) -> Drawn:
    """Draw the weights in the three mixes (Fig. 2.15)."""
    figure = new_figure(320)
    for i, (label, case) in enumerate((("mix-long", "mix-long"), ("mix-even", "default"), ("mix-short", "mix-short"))):
        weights = study.found[case]["QoSG"].choice.weights
        values = [] if weights is None else (100 * weights[: len(NAMES)]).tolist()
        figure.add_bar(x=list(NAMES), y=values, name=label, marker={"color": PALETTE[i]})
    figure.update_yaxes(title_text="weight [%]")
    figure.update_layout(showlegend=True, barmode="group")
    return Drawn(figure, "Fig. 2.15: weights in three mixes", "What fills more of the machine gets more weight.")
