"""The conformance check of responses to caps: bounds, growth, the way back from a speed, what a run does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from itertools import pairwise

import numpy as np

from wattline.arrays import Floats
from wattline.control.catalog import find
from wattline.errors import InputError
from wattline.model.cap_points import check_points
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.physics.responses.base import Response
from wattline.testing.report import CheckError, Report, Row

SLACK = 1e-9
"""Relative difference that rounding may make."""
POWERS = 101
"""Powers that are tried between the lowest and the highest, beside its points and the middles between them."""
WORK_S = 1000.0


def declares_itself(response: Response) -> None:
    """It has a name, a line about itself and different columns, and can neither be changed nor differ from its copy."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", response.name):
        raise CheckError(f"its name {response.name!r} is not made of lower-case letters, digits and hyphens")
    if not response.about or "\n" in response.about:
        raise CheckError("needs a line that says what it says of run time and power (about)")
    for layout in response.columns:
        if not layout or len(set(layout)) < len(layout) or any(name != name.strip().lower() for name in layout):
            raise CheckError(f"columns {layout} are not different names in small letters")
    if not is_dataclass(response) or response != type(response)(*(getattr(response, f.name) for f in fields(response))):
        raise CheckError("is no frozen dataclass that equals one made of the same fields")


def has_points(response: Response) -> None:
    """Its points are powers that grow, with run times that fall down to 1; they are the same at every call."""
    points = response.points()
    check_points(points)
    if points != response.points():
        raise CheckError("two calls gave different points")
    ends = (response.floor_w, response.draw_w, response.stretch)
    if ends != (points[0][0], points[-1][0], points[0][1]):
        raise CheckError(f"floor_w, draw_w and stretch are {ends}, its points go from {points[0]} to {points[-1]}")


def keeps_its_bounds(response: Response) -> None:
    """It is 1 where nothing is capped, slowest at the lowest power, and the same beyond either end."""
    low_w, high_w = response.floor_w, response.draw_w
    if response.speed(high_w) != 1.0:
        raise CheckError(f"its speed at {high_w:g} W, uncapped, is {response.speed(high_w)}, not 1")
    _same(f"its speed at {low_w:g} W", float(response.speed(low_w)), 1.0 / response.stretch)
    for inside_w, beyond_w in ((high_w, 10.0 * high_w + 1.0), (high_w, np.inf), (low_w, 0.5 * low_w), (low_w, 0.0)):
        _same(f"its speed at {beyond_w:g} W", float(response.speed(beyond_w)), float(response.speed(inside_w)))


def grows_strictly(response: Response) -> None:
    """More power is more speed, unless no cap costs time; an array gives what its numbers give one by one."""
    powers_w = _powers(response)
    speeds = response.speed(powers_w)
    if response.stretch > 1.0 and not (np.diff(speeds) > 0.0).all():
        i = int(np.argmin(np.diff(speeds)))
        raise CheckError(f"is no faster at {powers_w[i + 1]:g} W than at {powers_w[i]:g} W")
    if speeds.tolist() != [float(response.speed(watts)) for watts in powers_w.tolist()]:
        raise CheckError("gives other speeds for an array than for its numbers one by one")


def is_straight_between_points(response: Response) -> None:
    """Halfway between two points run time is the mean of theirs, as the engine has it."""
    for (low_w, longer), (high_w, shorter) in pairwise(response.points()):
        middle_w = 0.5 * (low_w + high_w)
        _same(f"run time at {middle_w:g} W", 1.0 / float(response.speed(middle_w)), 0.5 * (longer + shorter))


def finds_the_way_back(response: Response) -> None:
    """The power for the speed at a power is that power; speeds that cannot be are refused in one line."""
    powers_w = _powers(response)
    if response.stretch > 1.0:
        for watts, back_w in zip(powers_w, response.power(response.speed(powers_w)), strict=True):
            _same(f"the power for the speed at {watts:g} W", float(back_w), float(watts))
    for wrong in (0.0, -1.0, 1.5, np.nan):
        try:
            response.power(wrong)
        except InputError as problem:
            if "\n" in str(problem):
                raise CheckError(f"the error about a speed of {wrong:g} is not one line") from None
        else:
            raise CheckError(f"gives a power for a speed of {wrong:g}")


def runs_as_it_says(response: Response) -> None:
    """A simulated job under a cap takes the time, and draws the energy, that the response says."""
    from wattline.sim.simulate import simulate
    from wattline.wiring.options import Options
    from wattline.wiring.policies import Policies

    kind = response.on(Kind("mine", 1, WORK_S, response.draw_w, response.floor_w))
    machine = Cluster((NodeClass("node", 1, 0.0, max(1.0, response.draw_w), min_cap_w=response.floor_w),))
    jobs = JobTable.build(
        submit_s=[0.0],
        work_s=[WORK_S],
        nodes=[1],
        kind=[0],
        kinds=("mine",),
        draw_w=[kind.draw_w],
        floor_w=[kind.floor_w],
        stretch=[kind.stretch],
    )
    policies = Policies(
        order=find("order", "fcfs"),
        select=find("select", "easy"),
        place=find("place", "lowest"),
        cap=find("cap", "under-limit"),
        learn=find("learn", "request"),
    )
    powers_w = _powers(response)
    for watts in powers_w[powers_w > 0.0][:: POWERS // 10].tolist():  # no cap is 0 W
        options = Options(kinds=(kind,), limit_w=((0.0, np.inf), (1.0, watts)))
        s = simulate(jobs, machine, policies, options).state
        capped_s = (WORK_S - 1.0) / float(response.speed(watts))
        _same(f"the end of a job under {watts:g} W", float(s.end_s[0]), 1.0 + capped_s)
        _same(f"the energy of a job under {watts:g} W", float(s.energy_j[0]), response.draw_w + capped_s * watts)


CHECKS: tuple[Callable[[Response], None], ...] = (
    declares_itself,
    has_points,
    keeps_its_bounds,
    grows_strictly,
    is_straight_between_points,
    finds_the_way_back,
    runs_as_it_says,
)


def check_response(response: Response) -> Report:
    """Run every check on a response to caps; a failed one is a row of the report.

    Parameters
    ----------
    response
        One of the kind that is to be checked; try several, also one that cannot be capped.
    """
    report = Report(f"response to caps {response.name!r}")
    for check in CHECKS:
        title = check.__name__.replace("_", " ")
        try:
            check(response)
        except (CheckError, InputError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as problem:
            report.rows.append(Row(title, passed=False, detail=f"{type(problem).__name__}: {problem}"))
        else:
            report.rows.append(Row(title, passed=True))
    return report


def _powers(response: Response) -> Floats:
    """Return powers from the lowest to the highest, its points among them, none twice."""
    even = np.linspace(response.floor_w, response.draw_w, POWERS)
    points_w = np.array([power_w for power_w, _ in response.points()])
    apart = [watts for watts in even.tolist() if np.abs(points_w - watts).min() > 1e-6 * max(1.0, watts)]
    return np.unique(np.concatenate([points_w, apart]))


def _same(what: str, found: float, wanted: float) -> None:
    if not np.isclose(found, wanted, rtol=SLACK, atol=0.0):
        raise CheckError(f"{what} is {found!r}, not {wanted!r}")
