"""The figures of the AQA paper: an hour of following the target, distributions of error and delay, weights over steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.bid.setting import AQA, SLACKLINE, Recipe
from wattline.bid.trial import TrialHour
from wattline.market.shares import ecdf
from wattline.market.tracking import error_steps
from wattline.model import codes
from wattline.report.style import BLUE, GREY, PALETTE, RED, TEAL, Drawn, new_figure, split_figure
from wattline.systems.aqa_study import Study, ratio_of, setting_of


def draw_hour(study: Study, workload: str, recipe: Recipe, number: str) -> Drawn:
    """Draw one fresh hour: target and power, and below it the waiting jobs."""
    certificate = study.ours[workload]["paper"][recipe.name]
    choice = certificate.choice
    hour = TrialHour(setting_of(workload, recipe), 0)
    hour.run(choice.bid, choice.weights, choice.params)
    rows = hour.world.timeline()
    rows = rows[(rows[:, codes.TL_TIME] >= hour.begin_s) & (rows[:, codes.TL_TIME] <= hour.end_s)]
    minutes = (rows[:, codes.TL_TIME] - hour.begin_s) / 60.0
    figure = split_figure(420, 2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.7, 0.3])
    for column, name, colour in ((codes.TL_TARGET, "target", RED), (codes.TL_POWER, "power", BLUE)):
        figure.add_scatter(x=minutes, y=rows[:, column] / 1e3, name=name, mode="lines", row=1, col=1,
                           line={"shape": "hv", "color": colour, "width": 1.3})  # fmt: skip
    figure.add_scatter(x=minutes, y=rows[:, codes.TL_QUEUED], name="jobs waiting", mode="lines", row=2, col=1,
                       line={"shape": "hv", "color": GREY, "width": 1.2})  # fmt: skip
    figure.update_yaxes(title_text="power [kW]", row=1, col=1)
    figure.update_yaxes(title_text="waiting", row=2, col=1)
    figure.update_xaxes(title_text="minutes of the bid hour", row=2, col=1)
    figure.update_layout(showlegend=True)
    bid = choice.bid
    return Drawn(
        figure, f"{number}: {recipe.name} on {workload}",
        f"P̄ = {bid.mean_w:,.0f} W, R = {bid.reserve_w:,.0f} W, a fresh hour after warming up; simulated.",
    )  # fmt: skip


def draw_errors(study: Study, workload: str) -> Drawn:
    """Draw the distribution of the tracking error on a few fresh hours."""
    figure = new_figure(320)
    for recipe, colour in ((AQA, BLUE), (SLACKLINE, TEAL)):
        choice = study.ours[workload]["paper"][recipe.name].choice
        spans, errors = [], []
        for seed in range(8):
            hour = TrialHour(setting_of(workload, recipe), seed)
            hour.run(choice.bid, choice.weights, choice.params)
            rows = hour.world.timeline()
            span, error = error_steps(
                rows[:, codes.TL_TIME], rows[:, codes.TL_POWER], hour.signal, choice.bid, hour.begin_s, hour.end_s
            )
            spans.append(span)
            errors.append(error)
        x, y = ecdf(np.concatenate(spans), np.concatenate(errors))
        keep = np.unique(np.linspace(0, x.size - 1, min(x.size, 800)).astype(int))
        figure.add_scatter(x=x[keep], y=y[keep], name=recipe.name, mode="lines", line={"shape": "hv", "color": colour})
    for x_line, y_line in (([0.3, 0.3], [0, 1]), ([0, 1], [0.9, 0.9])):
        figure.add_scatter(x=x_line, y=y_line, mode="lines", showlegend=False, hoverinfo="skip",
                           line={"color": RED, "width": 1, "dash": "dot"})  # fmt: skip
    figure.update_xaxes(title_text="tracking error ε", range=[0, 1])
    figure.update_yaxes(title_text="share of time", range=[0, 1])
    figure.update_layout(showlegend=True)
    return Drawn(
        figure, f"Fig. 7: tracking error on {workload}", "Eight fresh hours; at least 90 % must lie left of 0.3."
    )


def draw_weights(study: Study, workload: str) -> Drawn:
    """Draw how the weights move over the steps of the search (Fig. 8)."""
    choice = study.in_sample[workload]["AQA"].choice
    figure = new_figure(320)
    weights = np.array([step["weights"] for step in choice.history])
    for k, kind in enumerate(choice.outcome.kinds):
        colour = PALETTE[k % len(PALETTE)]
        figure.add_scatter(y=weights[:, k], name=kind.name, mode="lines", line={"color": colour, "width": 1.6})
    figure.update_xaxes(title_text="iteration")
    figure.update_yaxes(title_text="weight")
    figure.update_layout(showlegend=True)
    return Drawn(figure, f"Fig. 8: weights over the iterations, {workload}", "AQA's search on its one hour.")


def draw_costs(study: Study) -> Drawn:
    """Draw the costs of AQA and Slackline on all workloads, with what the paper prints."""
    from wattline.systems.aqa_study import PUBLISHED

    names = list(study.ours)
    figure = new_figure(340)
    published: Any = [PUBLISHED[w][0] for w in names]
    figure.add_bar(x=names, y=published, name="published AQA (hardware)", marker={"color": GREY})
    for policy, colour in (("AQA", BLUE), ("Slackline", TEAL)):
        found = [study.ours[w]["paper"][policy] for w in names]
        half = [(c.cost_interval[1] - c.cost_interval[0]) / 2 for c in found]
        figure.add_bar(x=names, y=[c.outcome.cost for c in found], name=policy, marker={"color": colour},
                       error_y={"type": "data", "array": half, "visible": True})  # fmt: skip
    figure.update_yaxes(title_text="$ per hour")
    figure.update_layout(showlegend=True, barmode="group")
    ratios = ", ".join(f"{w} {ratio_of(study, w, 'paper'):.2f}" for w in names)
    return Drawn(figure, "Cost of an hour", f"Fresh hours, 95 % intervals. Slackline over AQA: {ratios}.")
