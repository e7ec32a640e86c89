"""Gains of the PID from a step response: which first-order plant it was, gains for that, and what they would do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from wattline.errors import InputError
from wattline.live.power.server.pid import Gains, Pid
from wattline.live.power.server.table import read_numbers

LEAST_SAMPLES = 20
BAND = 0.05
"""A response has settled when it stays this close to its end (part of the step)."""
STEPS_A_PERIOD = 50


@dataclass(frozen=True)
class FirstOrder:
    """A plant: server watts for a watt of package limit, time constant, dead time."""

    gain: float
    lag_s: float
    delay_s: float
    error_w: float = 0.0
    """Root of the mean square that it leaves of the record."""


@dataclass(frozen=True)
class Figures:
    """How a response to a step looks."""

    rise_s: float
    """From 10 to 90 % of the step."""
    overshoot_percent: float
    settle_s: float
    """From the step until it stays within 5 % of it."""


@dataclass(frozen=True)
class Record:
    """A recorded response: times, package limits, power of the server."""

    time_s: list[float]
    limit_w: list[float]
    power_w: list[float]


def read_record(path: Path | str) -> Record:
    """Read a CSV of ``time_s``, ``limit_w`` (of all packages) and ``power_w`` (of the server)."""
    columns = read_numbers(path, ("time_s", "limit_w", "power_w"))
    try:
        return checked(Record(columns["time_s"], columns["limit_w"], columns["power_w"]))
    except InputError as problem:
        raise InputError(f"{path}: {problem}").about(path) from None


def checked(record: Record) -> Record:
    """Return a record in which something can be seen."""
    if len(record.time_s) < LEAST_SAMPLES:
        raise InputError(f"has {len(record.time_s)} samples, a step response needs {LEAST_SAMPLES} or more")
    if any(b <= a for a, b in pairwise(record.time_s)):
        raise InputError("time_s: must rise from row to row")
    if max(record.limit_w) - min(record.limit_w) < 1.0:
        raise InputError("limit_w: has no step of 1 W or more; change the limit while the server is busy")
    return record


def identify(record: Record) -> FirstOrder:
    """Return the first-order plant that is nearest to a record, by least squares."""
    span_s = record.time_s[-1] - record.time_s[0]
    step_s = span_s / (len(record.time_s) - 1)
    lags = [0.0] + [step_s * 0.2 * 1.4**i for i in range(60) if step_s * 0.2 * 1.4**i < span_s]
    delays = [step_s * k for k in range(int(min(0.25 * span_s, 20 * step_s) / step_s) + 1)]
    left, gain, lag_s, delay_s = min(_with_lag(record, lags, delay_s) for delay_s in delays)
    if not gain > 0.0:
        raise InputError("power_w: does not rise with limit_w; was the server busy enough to be held by its limit?")
    return FirstOrder(gain, lag_s, delay_s, math.sqrt(left / len(record.time_s)))


def _with_lag(record: Record, lags: Sequence[float], delay_s: float) -> tuple[float, float, float, float]:
    """Return what is left at the best lag beside a dead time: a longer one of either looks much like the other."""
    best = min(_left(record, lag_s, delay_s) for lag_s in lags)
    for width in (0.15, 0.05, 0.015, 0.005, 0.0015):
        while True:
            closer = min(_left(record, best[2] * scale, delay_s) for scale in (1.0 - width, 1.0 + width))
            if not closer[0] < best[0]:
                break
            best = closer
    return best


def _left(record: Record, lag_s: float, delay_s: float) -> tuple[float, float, float, float]:
    """Return the squares that a plant leaves of a record, its best gain, and itself."""
    times, limits, powers = record.time_s, record.limit_w, record.power_w
    x, at, count = limits[0], 0, len(times)
    followed = [x]
    for before_s, now_s in pairwise(times):
        while at + 1 < count and times[at + 1] + delay_s <= before_s:
            at += 1
        x += (limits[at] - x) * (-math.expm1((before_s - now_s) / lag_s) if lag_s > 0.0 else 1.0)
        followed.append(x)
    mean_x, mean_y = math.fsum(followed) / count, math.fsum(powers) / count
    xx = sum((v - mean_x) ** 2 for v in followed)
    xy = sum((v - mean_x) * (p - mean_y) for v, p in zip(followed, powers, strict=True))
    yy = sum((p - mean_y) ** 2 for p in powers)
    gain = xy / xx if xx > 0.0 else 0.0
    return max(yy - gain * xy, 0.0), gain, lag_s, delay_s


def gains_for(plant: FirstOrder, period_s: float) -> Gains:
    """Return the gains by which the loop closes in as fast as its own dead time lets it (SIMC, Skogestad 2003).

    A reading is a mean over a period and a limit holds for one, which is half a period late each.
    """
    late_s = plant.delay_s + period_s
    ki = 1.0 / (plant.gain * 2.0 * late_s)
    return Gains(kp=ki * min(plant.lag_s, 8.0 * late_s), ki=ki, kd=0.0)


def respond(plant: FirstOrder, gains: Gains, period_s: float, lasting_s: float) -> tuple[list[float], list[float]]:
    """Return times and powers after the target rose by a watt, with readings that are means over a period.

    No model leads the PID here, so that this is what it does about an error of the model.
    """
    pid = Pid(gains, -math.inf, math.inf, target_weight=1.0)
    step_s = period_s / STEPS_A_PERIOD
    gone = -math.expm1(-step_s / plant.lag_s) if plant.lag_s > 0.0 else 1.0
    waiting = [0.0] * round(plant.delay_s / step_s)
    output = pid.step(0.0, 0.0, 0.0)
    power, total = 0.0, 0.0
    times, powers = [0.0], [0.0]
    for i in range(1, round(lasting_s / step_s) + 1):
        waiting.append(output)
        power += (plant.gain * waiting.pop(0) - power) * gone
        total += power
        if i % STEPS_A_PERIOD == 0:
            output = pid.step(i * step_s, 1.0, total / STEPS_A_PERIOD)
            total = 0.0
        times.append(i * step_s)
        powers.append(power)
    return times, powers


def figures(times: Sequence[float], powers: Sequence[float], end: float = 1.0) -> Figures:
    """Return what is told of a response that begins at 0 and should end at ``end``; NaN for what never happens."""
    low_s = next((t for t, p in zip(times, powers, strict=True) if p >= 0.1 * end), math.nan)
    high_s = next((t for t, p in zip(times, powers, strict=True) if p >= 0.9 * end), math.nan)
    outside = [t for t, p in zip(times, powers, strict=True) if abs(p - end) > BAND * end]
    settle_s = 0.0 if not outside else outside[-1] if outside[-1] < times[-1] else math.nan
    return Figures(high_s - low_s, max(0.0, 100.0 * (max(powers) / end - 1.0)), settle_s)
