"""The live run beside the simulated run of the same jobs: tracking, service, power, delays."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats
from wattline.demo.layout import LAG_S, NOISE_W
from wattline.model import codes

if TYPE_CHECKING:
    from wattline.demo.run import Ran
    from wattline.scenario.study import Study
    from wattline.wiring.result import Result

LATE = "late.toml"
"""The scenario of a demonstration, as late as its machine was."""
CAPS_S = 0.25
"""Caps follow the signal within this time: the period of the controller's cap passes."""
EXCEED = 0.3
"""Error as a part of the reserve beyond which tracking counts as missed."""


@dataclass(frozen=True)
class Side:
    """One of the two runs, in numbers: power and tracking after the warm-up, jobs from the begin on."""

    mean_error: float
    """|power - target| as a part of the reserve, over time."""
    exceeded: float
    """Share of the time in which it is beyond 0.3."""
    mean_w: float
    energy_j: float
    started: int
    ended: int
    mean_wait_s: float
    broken: tuple[str, ...]
    """Kinds whose promise was not kept."""


@dataclass(frozen=True)
class Beside:
    """Both runs, and what the machine was late by."""

    live: Side
    simulated: Side
    as_late: Side
    """Simulated once more, as late as the machine was: starts, caps (a quarter of a second and the lag), noise."""
    from_s: float
    to_s: float
    start_late_s: tuple[float, float]
    """From the decision to the first process: median and 90th percentile."""
    samples: int

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "window_s": [self.from_s, self.to_s],
            "service_window_s": [0.0, self.to_s],
            "live": vars(self.live),
            "simulated": vars(self.simulated),
            "simulated_as_late": vars(self.as_late),
            "start_late_s": {"median": self.start_late_s[0], "p90": self.start_late_s[1]},
            "samples": self.samples,
        }


def compare(ran: Ran, warmup_s: float) -> Beside:
    """Hold a live run against its simulation, from the end of the warm-up on."""
    to_s = ran.end_s - ran.begin_s
    from_s = min(warmup_s, to_s / 2.0)
    time_s, power_w = plant_power(ran)
    late = late_s(ran)
    told = replace(
        ran.study.options, late_start_s=_starts_s(late), late_cap_s=(LAG_S, LAG_S + CAPS_S), noise=_noise(ran.study)
    )
    return Beside(
        _live(ran, time_s, power_w, from_s, to_s),
        _simulated(ran, ran.study.simulate(), from_s, to_s),
        _simulated(ran, replace(ran.study, options=told).simulate(), from_s, to_s),
        from_s,
        to_s,
        late,
        int(time_s.size),
    )


def write_late(ran: Ran, found: Beside) -> Path:
    """Write the scenario of a run once more, as late as its machine was: bids can be made for that one."""
    first_s, last_s = _starts_s(found.start_late_s)
    late = (
        "\n# As late as the machine of the demonstration was.\n[late]\n"
        f'start = ["{first_s:.3f} s", "{last_s:.3f} s"]\n'
        f'cap = ["{LAG_S:g} s", "{LAG_S + CAPS_S:g} s"]\n'
        f"noise = {_noise(ran.study):.5f}\n"
    )
    path = ran.base / LATE
    path.write_text((ran.base / "scenario.toml").read_text(encoding="utf-8") + late, encoding="utf-8")
    return path


def _starts_s(late: tuple[float, float]) -> tuple[float, float]:
    """Return between which times starts are drawn of a machine whose median and 90th percentile are these."""
    return (late[0] / 2.0, max(late)) if late[1] > 0.0 else (0.0, 0.0)


def _noise(study: Study) -> float:
    """Return by which share the power of the emulated machine deviates."""
    return float(NOISE_W / study.cluster.nodes**0.5 / study.cluster.classes[0].max_w)


def target_steps(ran: Ran) -> tuple[Floats, Floats]:
    """Return when the target changes and to what, in seconds since the begin."""
    found, bid = ran.study.options.signal, next(b for _, b in ran.study.options.bids if b is not None)
    assert found is not None  # noqa: S101  (a demonstration follows a signal)
    at_s = np.asarray(found.start_s + found.step_s * np.arange(found.values.size), dtype=np.float64)
    return at_s, bid.mean_w + bid.reserve_w * found.values


def errors(ran: Ran, time_s: Floats, power_w: Floats, from_s: float, to_s: float) -> tuple[float, float]:
    """Return the mean error over time and the share of time beyond the margin; power holds until the next time."""
    at_s, target_w = target_steps(ran)
    bid = next(b for _, b in ran.study.options.bids if b is not None)
    cuts = np.unique(np.clip(np.concatenate([time_s, at_s, [from_s, to_s]]), from_s, to_s))
    dt = np.diff(cuts)
    power = power_w[np.clip(np.searchsorted(time_s, cuts[:-1], side="right") - 1, 0, None)]
    target = target_w[np.clip(np.searchsorted(at_s, cuts[:-1], side="right") - 1, 0, None)]
    error = np.abs(power - target) / bid.reserve_w
    total_s = float(dt.sum())
    return float((error * dt).sum() / total_s), float(dt[error > EXCEED].sum() / total_s)


def drawn_j(time_s: Floats, power_w: Floats, from_s: float, to_s: float) -> float:
    """Return the energy of a stretch of time; power holds until the next time, the first one from before."""
    cuts = np.clip(np.concatenate([[-np.inf], time_s[1:], [np.inf]]), from_s, to_s)
    return float((power_w * np.diff(cuts)).sum())


def plant_power(ran: Ran) -> tuple[Floats, Floats]:
    """Return what the emulated machine drew, by its own account: times since the begin, and watts."""
    with (ran.base / "plant.csv").open(encoding="utf-8", newline="") as file:
        rows = [(float(row["time_s"]) - ran.begin_s, float(row["power_w"])) for row in csv.DictReader(file)]
    table = np.array(rows)
    return table[:, 0], table[:, 1]


def _live(ran: Ran, time_s: Floats, power_w: Floats, from_s: float, to_s: float) -> Side:
    mean_error, exceeded = errors(ran, time_s, power_w, from_s, to_s)
    energy_j = drawn_j(time_s, power_w, from_s, to_s)
    jobs = ran.study.trace.jobs
    waits, served = [], []
    for row, seen in ran.jobs:
        if seen is None or math.isnan(seen.start_s):
            continue
        waits.append(seen.start_s - seen.submit_s)
        if seen.phase == "ended" and seen.end_s <= ran.end_s:
            served.append((row, (seen.end_s - seen.submit_s)))
    mean_w = energy_j / (to_s - from_s)
    broken = _broken(ran, [(int(jobs.kind[row]), float(jobs.work_s[row]), took_s) for row, took_s in served])
    mean_wait_s = float(np.mean(waits)) if waits else math.nan
    return Side(mean_error, exceeded, mean_w, energy_j, len(waits), len(served), mean_wait_s, broken)


def _simulated(ran: Ran, result: Result, from_s: float, to_s: float) -> Side:
    rows = result.logs["timeline"]
    time_s, power_w = rows[:, codes.TL_TIME], rows[:, codes.TL_POWER]
    mean_error, exceeded = errors(ran, time_s, power_w, from_s, to_s)
    energy_j = drawn_j(time_s, power_w, from_s, to_s)
    s, jobs = result.state, result.jobs
    started = (s.started_s <= to_s) & (jobs.submit_s <= to_s)
    ended = s.end_s <= to_s
    waits = (s.started_s - jobs.submit_s)[started]
    served = [
        (int(jobs.kind[i]), float(jobs.work_s[i]), float(s.end_s[i] - jobs.submit_s[i])) for i in np.flatnonzero(ended)
    ]
    mean_wait_s = float(waits.mean()) if waits.size else math.nan
    return Side(
        mean_error,
        exceeded,
        energy_j / (to_s - from_s),
        energy_j,
        int(started.sum()),
        int(ended.sum()),
        mean_wait_s,
        _broken(ran, served),
    )


def _broken(ran: Ran, served: list[tuple[int, float, float]]) -> tuple[str, ...]:
    """Return the kinds of which more jobs than promised reached their limit of QoS degradation."""
    names = ran.study.trace.jobs.kinds
    broken = []
    for kind in ran.study.options.kinds:
        q = [(took_s - work_s) / work_s for k, work_s, took_s in served if names[k] == kind.name]
        if q and not kind.standby and sum(one >= kind.limit for one in q) > kind.share * len(q):
            broken.append(kind.name)
    return tuple(broken)


def late_s(ran: Ran) -> tuple[float, float]:
    """Return how long jobs took from the controller's command to their first process."""
    asked: dict[str, float] = {}
    with (ran.base / "controller.log").open(encoding="utf-8") as file:
        for line in file:
            told = json.loads(line)
            if told.get("what") == "release":
                asked.setdefault(str(told["job"]), float(told["time"]))
    took = [
        seen.start_s - asked[seen.id]
        for _, seen in ran.jobs
        if seen is not None and seen.id in asked and not math.isnan(seen.start_s)
    ]
    if not took:
        return math.nan, math.nan
    return float(np.median(took)), float(np.quantile(took, 0.9))
