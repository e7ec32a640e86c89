"""Powers and durations of a scenario as people write them: each reads back as the same number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wattline as wl
from wattline.report.count.differing import differing_keys
from wattline.scenario.key_units import as_written, in_one_way, unit_of
from wattline.units import duration_s, power_w, write_duration, write_power

NUMBERS = st.one_of(
    st.integers(0, 10**12).map(float), st.floats(0.0, 1e12), st.integers(0, 10**9).map(lambda n: n / 1000)
)


@pytest.mark.parametrize("text", ["\u0669\u0660 W", "\uff13\uff10 W", "3\u0660 W"])
def test_numbers_have_the_digits_0_to_9(text: str) -> None:
    """As in tables: what looks like a number in another script is refused."""
    with pytest.raises(wl.WattlineError, match="expected a power like '12 MW', got"):
        power_w(text)
    with pytest.raises(wl.WattlineError, match="expected a duration"):
        duration_s(text.replace(" W", ":00:00"))


@given(NUMBERS)
def test_what_is_written_reads_back_as_the_same_number(value: float) -> None:
    """To the last bit, for powers and durations of any size; what a person writes has no exponent."""
    for write, read in ((write_power, power_w), (write_duration, duration_s)):
        text = write(value)
        assert read(text) == value
        assert isinstance(text, float) or "e" not in text


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("limit.power", "W"),
        ("cluster.idle", "W"),
        ("cluster.sleep.after", "s"),
        ("cluster.class[thin].max", "W"),
        ("cluster.class.0.max", "W"),
        ("run.until", "s"),
        ("trace.load", ""),
        ("limit.steps", ""),
        ("no.such", ""),
    ],
)
def test_units_are_those_of_the_keys(key: str, unit: str) -> None:
    """Of powers and durations; a list of steps is neither."""
    assert unit_of(key) == unit


def test_a_study_that_is_written_has_units_and_the_same_values(tmp_path: Path) -> None:
    """``whatif`` writes watts as people do; the study reads back as the numbers of the answers."""
    (tmp_path / "log.csv").write_text("submit_s,work_s,nodes\n0,600,2\n10,600,2\n20,600,1\n")
    machine = wl.Machine(nodes=4, idle=92.5, max="300.1 W")
    found = wl.whatif(tmp_path / "log.csv", machine, limit="-17%", sleep="90 s", policy="easy", causes=False)
    text = found.scenario()
    for part in ('idle = "92.5 W"', 'max = "300.1 W"', 'after = "90 s"', 'exit = "3 min"'):
        assert part in text
    (tmp_path / "study.toml").write_text(text)
    study = wl.load(tmp_path / "study.toml")
    cluster = study.document.spec.cluster
    assert (cluster.idle, cluster.max) == (92.5, 300.1)
    read = [study.at(setting).document.spec for setting in study.vary().settings()]
    limit_w = found.answers[0].setting["limit.power"]
    assert [spec.limit.power for spec in read[1:]] == [limit_w, float("inf"), limit_w]
    assert read[2].cluster.sleep is not None
    assert read[2].cluster.sleep.power == 9.25


def test_what_differs_is_said_in_units_and_spelling_is_no_difference() -> None:
    """28000.0 is 28 kW, also where one scenario says it one way and another one the other."""

    def told(cluster: str, power: Any) -> dict[str, Any]:
        return {"scenario": f"[cluster]\n{cluster}\n[limit]\npower = {power}\n"}

    manifests = {"a": told("idle = 90.0", 28000.0), "b": told('idle = "0.09 kW"', '"30kW"')}
    keys = differing_keys(manifests, in_one_way)
    assert [(key.name, key.values) for key in keys] == [("limit.power", ("28 kW", "30 kW"))]


def test_values_of_tables_and_lists_are_written_too() -> None:
    """Within tables, lists of tables and lists of values; flags, counts and names stay as they are."""
    data = {"nodes": 4, "class": [{"name": "a", "idle": 90}], "sleep": {"after": 5400, "power": 0.5}}
    written = as_written("cluster", data)
    assert written == {
        "nodes": 4,
        "class": [{"name": "a", "idle": "90 W"}],
        "sleep": {"after": "90 min", "power": "0.5 W"},
    }
    assert as_written("limit.power", ["off", True, 1.5e6]) == ["off", True, "1.5 MW"]
