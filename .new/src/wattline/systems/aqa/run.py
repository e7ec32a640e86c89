"""Carry the whole study of AQA out: many pieces that know nothing of each other, one process a core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wattline.bidding.hours.trial import trial_hour
from wattline.model.regulation import Bid
from wattline.systems.aqa import around
from wattline.systems.aqa.spread import READINGS, at_published_bid, spread
from wattline.systems.aqa.study import AROUND_SEED, Scale, Study, certificates, in_sample, setting_of
from wattline.systems.followers import AQA, ENERGYQARE, SLACKLINE, TRACKING_ONLY
from wattline.systems.npb import kinds_of
from wattline.systems.work import Work


@dataclass(frozen=True)
class Piece:
    """One part of the study: what, of which (workload, level, number, signal), at which scale."""

    what: str
    of: str
    scale: Scale

    def __str__(self) -> str:
        about = {
            "paper protocol": "tuned on one hour, as the paper does",
            "tight": "tuned on one hour, limits halved",
            "stationary": f"stationary hours, strict reach and the paper's, {self.scale.fresh_hours} fresh ones",
            "standby": "standby jobs",
            "preemption": "preemption",
            "levels": "limits on W4",
            "random": "random limits on W1",
            "large": "10,000 nodes",
            "large hours": "10,000 nodes, AQA's own search on hours that start empty",
            "sensitivity": "λ, T, p off by 20 %, bursts",
            "recorded": "recorded signal on W1",
            "published": "the published bid, by every reading",
            "spread": f"AQA's own search on {self.scale.spread_hours} hours, each by itself",
        }
        return f"{self.of}: {about[self.what]}"


def pieces(scale: Scale) -> list[Piece]:
    """Return all pieces of a study, the longest first."""
    wanted = [("stationary", scale.shown), *(("paper protocol", w) for w in reversed(scale.workloads))]
    wanted += [("spread", f"{w}, {reading.name}") for reading in READINGS for w in scale.workloads]
    if "W4" in scale.workloads:
        wanted += [("tight", "W4"), ("published", "W4")]
    if scale.around:
        wanted[:0] = [("large", "W1"), ("large hours", "W1"), ("sensitivity", "W4")]
        wanted += [("recorded", name) for name in around.recorded_laws()]
        wanted += [("levels", level) for level in around.LEVELS]
        wanted += [("random", str(i)) for i in range(scale.thresholds)]
        wanted += [("standby", "W3"), ("preemption", "W5")]
    return [Piece(what, of, scale) for what, of in wanted]


def carry_out(piece: Piece) -> Any:
    """Carry one piece out."""
    what, of, scale = piece.what, piece.of, piece.scale
    few = range(AROUND_SEED, AROUND_SEED + max(8, scale.fresh_hours // 8))
    if what == "stationary":
        return certificates(of, scale)
    if what in ("paper protocol", "tight"):
        return in_sample(of, scale, kinds=around.limits(kinds_of(of), 0.5 if what == "tight" else 1.0))
    if what == "published":
        return at_published_bid(2 * scale.spread_hours)
    if what == "spread":
        workload, _, name = of.partition(", ")
        reading = next(reading for reading in READINGS if reading.name == name)
        return spread(
            workload, replace(reading, iterations=min(reading.iterations, scale.iterations)), scale.spread_hours
        )
    if what == "levels":
        return around.pair("W4", around.limits(kinds_of("W4"), around.LEVELS[of]), scale)
    if what == "random":
        return around.random_set(int(of), scale)
    if what == "recorded":
        return around.recorded_day(scale, around.recorded_laws()[of])
    if what in ("large", "large hours"):
        return around.large(scale) if what == "large" else around.large_hours(scale)
    if what == "sensitivity":
        return around.sensitivity(of, scale)
    return around.standby_effect(few) if what == "standby" else around.preemption_effect(few)


def run_study(scale: Scale, work: Work) -> Study:
    """Carry everything out."""
    todo = pieces(scale)
    work.say(
        f"{len(todo)} pieces: {len(scale.workloads)} workloads, {scale.fresh_hours} fresh hours for each certificate"
    )
    work.plan(len(todo))
    workers = None if scale.around else 1  # a few seconds' work is not worth starting processes
    made = work.each(carry_out, todo, workers=workers, first=lambda: _warm_up(scale.workloads[0]))
    found = dict(zip(todo, made, strict=True))
    study = Study(scale, ours=found[Piece("stationary", scale.shown, scale)])
    for workload in scale.workloads:
        study.in_sample[workload] = found[Piece("paper protocol", workload, scale)]
    study.spread = {
        reading.name: {w: found[Piece("spread", f"{w}, {reading.name}", scale)] for w in scale.workloads}
        for reading in READINGS
    }
    study.published_w4 = found.get(Piece("published", "W4", scale), {})
    study.tight = found.get(Piece("tight", "W4", scale), {})
    if scale.around:
        study.around = _around(found, scale)
    return study


def _around(found: dict[Piece, Any], scale: Scale) -> dict[str, Any]:
    """Gather the pieces around the workloads: what → result, or what → of → result where there are several."""
    gathered: dict[str, Any] = {}
    for piece, result in found.items():
        if piece.what in ("standby", "preemption", "large", "large hours", "sensitivity"):
            gathered[piece.what] = result
        elif piece.what in ("levels", "recorded"):
            gathered.setdefault(piece.what, {})[piece.of] = result
    gathered["random"] = [found[Piece("random", str(i), scale)] for i in range(scale.thresholds)]
    return gathered


def _warm_up(workload: str) -> None:
    """Run an hour of every policy here, so that what is not compiled yet is compiled once and not by every process."""
    for policy in (AQA, ENERGYQARE, TRACKING_ONLY, SLACKLINE):
        setting = setting_of(workload, policy, paper=True)
        trial_hour(setting, 0).run(Bid(setting.idle_total_w + setting.load_w(), 1000.0))
