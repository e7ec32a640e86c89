"""The conformance check of responses to caps: ours pass it, and responses that break a rule are caught by its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.model.cap_points import Points
from wattline.physics.responses import NAMES, find_response
from wattline.physics.responses.base import Given, Response
from wattline.physics.responses.linear import Linear
from wattline.testing import check_response

COLUMNS = {"power_w": np.array([90.0, 120.0, 150.0, 200.0]), "time_s": np.array([50.0, 34.0, 24.0, 20.0])}
COLUMNS["speed"] = 1.0 / COLUMNS["time_s"]


@pytest.mark.parametrize("name", NAMES)
def test_our_responses_conform(name: str) -> None:
    """Every response that is shipped passes every check, whether it is read from a file or from the keys of a kind."""
    made = find_response(name)
    for layout in made.columns or [()]:
        columns = {column: COLUMNS[column] for column in layout}
        report = check_response(made.of(Given(columns=columns) if layout else Given(200.0, 100.0, 2.0)))
        assert report.ok, str(report)


@pytest.mark.parametrize("response", [Linear(200.0, 200.0, 1.0), Linear(200.0, 50.0, 1.0), Linear(90.5, 0.0, 31.7)])
def test_lines_at_their_ends_conform(response: Linear) -> None:
    """A line that cannot be capped conforms, one that caps cost nothing, and one down to no power at all."""
    report = check_response(response)
    assert report.ok, str(report)


@dataclass(frozen=True)
class Law(Response):
    """Speed by the cube root of power, in so many points: a response of somebody's own."""

    name: ClassVar[str] = "cube-root"
    about: ClassVar[str] = "speed grows with the cube root of power"

    most_w: float = 200.0
    count: int = 40

    @classmethod
    def of(cls, given: Given) -> Law:
        """Return the law of a kind."""
        return cls(given.draw_w or 200.0)

    def points(self) -> Points:
        """Return points of the law down to a quarter of the power."""
        watts = np.linspace(0.25 * self.most_w, self.most_w, self.count)
        return tuple((float(w), float((self.most_w / w) ** (1 / 3))) for w in watts)


def test_a_response_of_a_users_own_conforms() -> None:
    """A law that bends is written as points, and a run does what it says."""
    report = check_response(Law())
    assert report.ok, str(report)


class Faster(Law):
    """Ends above full speed."""

    def points(self) -> Points:
        """Return times that end below 1."""
        return tuple((w, 0.9 * t) for w, t in super().points())


class Flat(Law):
    """Costs nothing for a while."""

    def points(self) -> Points:
        """Return a plateau."""
        return ((50.0, 2.0), (100.0, 1.5), (150.0, 1.5), (200.0, 1.0))


class Backwards(Law):
    """Begins at the highest power."""

    def points(self) -> Points:
        """Return the points in the wrong order."""
        return super().points()[::-1]


class Moody(Law):
    """Is another one every time."""

    def points(self) -> Points:
        """Return new points at every call."""
        calls.append(1)
        return ((50.0, 2.0 + len(calls)), (200.0, 1.0))


class Bent(Law):
    """Says speeds that no lines between its points give, so that a run would do otherwise."""

    def speed(self, power_w: Any) -> Any:
        """Return the law itself."""
        return (np.clip(power_w, 50.0, 200.0) / 200.0) ** (1 / 2)


class Boundless(Law):
    """Goes on above its highest power."""

    def speed(self, power_w: Any) -> Any:
        """Return more than 1."""
        return super().speed(power_w) * np.maximum(1.0, np.asarray(power_w) / 200.0)


class OneWay(Law):
    """Finds no way back from a speed."""

    def power(self, speed: Any) -> Any:
        """Return the highest power for everything."""
        return np.full_like(np.asarray(speed, dtype=np.float64), 200.0)


class Speechless(Law):
    """Has nothing to say of itself."""

    name: ClassVar[str] = "Über Law"
    about: ClassVar[str] = ""


class Changeable(Law):
    """Counts otherwise in a run than it says."""

    def on(self, kind: Any) -> Any:
        """Give the kind another response."""
        return Linear(200.0, 50.0, 4 ** (1 / 3)).on(kind)


calls: list[int] = []


@pytest.mark.parametrize(
    ("broken", "row"),
    [
        (Faster, "has points"),
        (Flat, "has points"),
        (Backwards, "has points"),
        (Moody, "has points"),
        (Bent, "is straight between points"),
        (Boundless, "keeps its bounds"),
        (OneWay, "finds the way back"),
        (Speechless, "declares itself"),
        (Changeable, "runs as it says"),
    ],
)
def test_a_broken_response_is_caught(broken: type[Law], row: str) -> None:
    """Each mistake fails the check whose title says what is wrong."""
    calls.clear()
    report = check_response(broken())
    assert not report.ok
    assert [r.check for r in report.rows if not r.passed and r.check == row] == [row], str(report)


def test_an_unknown_response_is_one_line() -> None:
    """A name that no file of the folder has is refused, with the one that is near it."""
    with pytest.raises(InputError, match="unknown response to caps 'liner'; did you mean 'linear'"):
        find_response("liner")
