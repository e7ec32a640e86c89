"""The figures of the AQA study show what the study found, and plotly takes all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from wattline.bidding.certificate import certify
from wattline.bidding.choose import untried
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches.aqa import aqa_bid, load_weights, start_bid
from wattline.bidding.searches.choice import PAPER, Choice
from wattline.journal.journal import open_journal
from wattline.model.regulation import Bid
from wattline.report.count.run import Run, load
from wattline.report.figures.style import Drawn
from wattline.report.show import dollars
from wattline.systems.aqa import figures as draw
from wattline.systems.aqa.around import large_setting
from wattline.systems.aqa.spread import Found
from wattline.systems.aqa.study import Scale, Study, setting_of
from wattline.systems.followers import AQA, ENERGYQARE, SLACKLINE, TRACKING_ONLY
from wattline.systems.npb import kinds_of
from wattline.systems.tuned import HOUR_SEED, Tuned

SCALE = replace(Scale.quick(), fresh_hours=20)


def tuned(workload: str, **more: Any) -> dict[str, Tuned]:
    """The published policies under bids that took no long search: how good they are does not matter here."""
    found = {}
    for policy in (AQA, ENERGYQARE, TRACKING_ONLY):
        setting = setting_of(workload, policy, paper=True, **more)
        trial = Trial(setting, [HOUR_SEED])
        bid = Bid(setting.idle_total_w + setting.load_w(), 2000.0)
        chosen = aqa_bid(trial, iterations=4) if policy is AQA else Choice("given", bid, trial.run(bid))
        found[policy.name] = Tuned(policy.name, chosen, trial.run(chosen.bid, chosen.weights))
    return found


@pytest.fixture(scope="module")
def study() -> Study:
    """A study of W4 as the quick one is, but for searches."""
    tight = tuple(replace(kind, limit=kind.limit / 2) for kind in kinds_of("W4"))
    found = Study(SCALE, {"W4": tuned("W4")}, tight=tuned("W4", kinds=tight))
    tested = {}
    for policy, bid in ((AQA, Bid(9300.0, 1900.0)), (SLACKLINE, Bid(8400.0, 2500.0))):
        setting = setting_of("W4", policy)
        weights = load_weights(setting.kinds) if policy is AQA else None
        tested[policy.name] = certify(setting, replace(untried(setting, "given", bid), weights=weights), range(4))
    found.ours = {PAPER: tested}
    hours = [
        Found(meets, cost, 9000.0, 2000.0, 9000.0, 4, ()) for meets, cost in ((True, 0.5), (True, 0.7), (False, 0.1))
    ]
    found.spread = {"nearest": {"W4": hours}}
    return found


@pytest.fixture(scope="module")
def sections(study: Study, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Drawn]]:
    """All figures by section, and where their hours are."""
    return dict(draw.figures(study, tmp_path_factory.mktemp("hours")))


def test_the_figures_of_the_paper_are_there_and_valid(sections: dict[str, list[Drawn]]) -> None:
    """Figs. 6–8, 10–12, 14 and 15 are drawn from one workload; each has a caption and is taken by plotly."""
    drawn = [figure for figures in sections.values() for figure in figures]
    titles = " ".join(figure.title for figure in drawn)
    for number in (
        "Fig. 6",
        "Fig. 7",
        "Figs. 7 and 15",
        "Fig. 8",
        "Fig. 10(a)",
        "Fig. 10(b)",
        "Fig. 11(a)",
        "Fig. 11(b)",
        "Fig. 12",
        "Fig. 14",
    ):
        assert f"{number}:" in titles, number
    assert all(go.Figure(json.loads(figure.figure.to_json())).data and figure.caption for figure in drawn)
    assert sum(len(figure.figure.to_json()) for figure in drawn) < 2.5e6


def bars(drawn: Drawn) -> list[dict[str, Any]]:
    """The node stripes of an hour."""
    return [trace for trace in drawn.figure.data if trace.get("orientation") == "h"]


def test_stripes_cover_the_busy_nodes(study: Study, tmp_path: Path) -> None:
    """At any time the stripes are as many nodes as are busy; target, power and waiting jobs are those of the
    journal.
    """
    drawn = draw.draw_tuned(study, "W4", AQA, "Fig. 6", tmp_path)
    run: Run = load(open_journal(tmp_path / "fig-6"))
    traces = {trace["name"]: trace for trace in drawn.figure.data}
    for minute in (5.01, 20.02, 33.33, 47.91, 59.51):
        row = np.searchsorted(run.steps.time_s, 60.0 * minute, "right") - 1
        held = 0
        for trace in bars(drawn):
            covers = (trace["base"] <= minute) & (trace["base"] + trace["x"] > minute)
            held += int(trace["width"][covers].sum())
        assert held == run.steps.busy_nodes[row]
        for name, column, unit in (
            ("target", run.steps.target_w, 1e3),
            ("power", run.steps.power_w, 1e3),
            ("waiting", run.steps.queued_jobs, 1.0),
        ):
            at = np.searchsorted(traces[name]["x"], minute, "right") - 1
            assert traces[name]["y"][at] * unit == pytest.approx(column[row], rel=1e-6), name
    assert {trace["name"] for trace in bars(drawn)} <= {kind.name for kind in setting_of("W4", AQA).kinds}


def test_the_hour_shown_is_the_hour_of_the_study(study: Study, tmp_path: Path) -> None:
    """The cost in the caption is that of the hour on which the policy was tuned."""
    for policy in (AQA, ENERGYQARE):
        cost = study.in_sample["W4"][policy.name].choice.outcome.cost
        drawn = draw.draw_tuned(study, "W4", policy, "Fig. 6", tmp_path)
        assert f"{dollars(cost)}." in drawn.caption


def test_errors_and_service_are_those_of_the_outcomes(study: Study) -> None:
    """The share of time within 30 % and of jobs below their limit can be read off the curves."""
    found = study.in_sample["W4"]
    curves = {trace["name"]: trace for trace in draw.draw_errors(study, "W4").figure.data}
    assert {"AQA", "EnergyQARE", "Tracking-only", "AQA, other hours"} <= set(curves)
    panels = [trace for trace in draw.draw_qos(study, "W4").figure.data if trace.get("legendgroup") == "AQA"]
    for name in ("AQA", "EnergyQARE", "Tracking-only"):
        curve = curves[name]
        within = np.interp(30.0, curve["x"], curve["y"]) / 100
        assert within == pytest.approx(1.0 - found[name].choice.outcome.exceed.share, abs=0.01)
        assert np.all(np.diff(curve["y"]) > 0)
    kinds, shares = setting_of("W4", AQA).kinds, found["AQA"].choice.outcome.shares()
    assert len(panels) == len(kinds)
    for kind, late, trace in zip(kinds, shares, panels, strict=True):
        below = trace["y"][np.flatnonzero(trace["x"] < kind.limit)[-1]] / 100
        assert below == pytest.approx(1.0 - late, abs=0.02)


def test_tight_limits_are_half_of_the_medium_ones(study: Study) -> None:
    """Fig. 12 holds is.D.64 of both levels under both policies, each against its own limit."""
    (drawn,) = draw.draw_levels(study)
    limits = [trace["x"][0] for trace in drawn.figure.data if not trace["showlegend"] and "legendgroup" not in trace]
    assert limits[::2] == [3.1, 1.55]


def test_standby_and_paused_jobs_are_told_apart(tmp_path: Path) -> None:
    """With standby jobs the error falls, with preemption jobs pause; both show as stripes of their own."""
    without, filled = draw.draw_standby(tmp_path)
    assert not any("standby" in trace["name"] for trace in bars(without))
    assert sum(len(t["x"]) for t in bars(filled) if "standby" in t["name"]) > 50
    plain, paused = draw.draw_preemption(tmp_path)
    assert "paused" not in {trace["name"] for trace in bars(plain)}
    assert "paused" in {trace["name"] for trace in bars(paused)}
    assert {path.name for path in tmp_path.iterdir()} == {"fig-10a", "fig-10b", "fig-11a", "fig-11b"}


def test_delays_are_held_against_both_theories(study: Study) -> None:
    """Two figures, at AQA's bid and with power to spare; there every share carries its load, so no tail is flat."""
    at_bid, roomy = draw.draw_theory(study, "W4")
    assert "Case III" not in roomy.caption
    for drawn in (at_bid, roomy):
        names = [trace["name"] for trace in drawn.figure.data if trace.get("showlegend")]
        assert names == ["simulated", "theory as published", "theory corrected", "promised share"]
    lines = [trace for trace in roomy.figure.data if str(trace.get("name", "")).startswith("theory")]
    published, corrected = lines[::2], lines[1::2]
    assert len(published) == len(corrected) == 8
    for one, other in zip(published, corrected, strict=True):
        assert one["y"][-1] < other["y"][-1]


def test_a_nearly_full_machine_and_a_large_one(study: Study, tmp_path: Path) -> None:
    """Figs. 9 and 13 are drawn when their workloads were studied, and not otherwise."""
    assert draw.draw_full(study) == draw.draw_large(study, tmp_path) == []
    more = Study(SCALE, {"W13": tuned("W13")})
    (full,) = draw.draw_full(more)
    assert [heading["text"] for heading in full.figure.layout["annotations"]] == ["ep.D.100", "mg.D.8"]
    assert "published: 38.8 % and 4.2 %" in full.caption
    setting = large_setting(AQA)
    choice = replace(untried(setting, "start", start_bid(setting, PAPER)), weights=load_weights(setting.kinds))
    more.around["large"] = {"AQA": type("Tested", (), {"choice": choice})}
    (large,) = draw.draw_large(more, tmp_path)
    assert large.figure.layout["yaxis4"]["range"] == [-0.5, 9999.5]
    assert max(float((t["y"] + t["width"] / 2).max()) for t in bars(large)) <= 9999.5


def test_costs_stand_beside_what_was_published(study: Study) -> None:
    """Published, on the hour it is tuned on, and the median and range over the hours that its own search meets."""
    published, tuned_on, many = draw.draw_costs(study).figure.data
    assert (published["y"][0], tuned_on["y"][0]) == (0.58, study.in_sample["W4"]["AQA"].choice.outcome.cost)
    assert many["y"][0] == pytest.approx(0.6)
    assert (many["error_y"]["array"][0], many["error_y"]["arrayminus"][0]) == pytest.approx((0.1, 0.1))


def test_fresh_hours_come_from_certificates(study: Study, tmp_path: Path) -> None:
    """Slackline's hour is warmed up, and follows the bid of its certificate."""
    drawn = draw.draw_fresh(study, "W4", SLACKLINE, tmp_path)
    bid = study.ours[PAPER]["Slackline"].choice.bid
    manifest = open_journal(tmp_path / "fresh-slackline").manifest
    assert manifest["regulation"]["mean_w"] == bid.mean_w
    assert manifest["regulation"]["hours"] == [[3600.0, 7200.0]]
    assert drawn.title == "Slackline on W4"
    names = {trace["name"] for trace in draw.draw_fresh_errors(study, "W4").figure.data}
    assert {"AQA", "Slackline"} <= names
