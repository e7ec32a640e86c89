"""A year of Mira in a scenario: drawn by name, with its own parameters, for its own machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.generate.jobs import MiraLike, generate
from wattline.scenario import Study, read_scenario, variants, wire

TEXT = """seed = 5
[trace]
generator = "mira-like"
duration = "20 d"
load = 0.7
full_machine = 0.01
[cluster]
nodes = 49152
idle = "0 W"
max = "97.65625 W"
[policy]
order = "wfp"
"""


def study(folder: Path, text: str, *overrides: str) -> Study:
    """Write and wire a scenario."""
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml", overrides))[0])


def test_a_scenario_draws_what_the_generator_draws(tmp_path: Path) -> None:
    """Duration, load, share of whole-machine jobs and seed reach the generator, and power over time reaches the
    jobs.
    """
    wired = study(tmp_path, TEXT)
    drawn = generate(MiraLike(days=20.0, load=0.7, full_machine=0.01, seed=5)).jobs
    assert np.array_equal(wired.trace.jobs.submit_s, drawn.submit_s)
    assert wired.trace.jobs.series is not None
    assert drawn.series is not None
    assert np.array_equal(wired.trace.jobs.series.watts, drawn.series.watts)
    assert wired.options.start_s == 0.0


def test_without_a_duration_it_is_a_year(tmp_path: Path) -> None:
    """By default jobs arrive for 365 days on 49,152 nodes."""
    text = TEXT.replace('duration = "20 d"\nload = 0.7\nfull_machine = 0.01\n', "").replace("nodes = 49152\n", "")
    wired = study(tmp_path, text)
    assert 364 * 86400 < wired.trace.jobs.submit_s[-1] < 365 * 86400
    assert sum(c.count for c in wired.cluster.classes) == 49152


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("full_machine = 0.01", "full_machine = 1"), "[trace] full_machine: must be less than 1, got 1"),
        (("nodes = 49152", "nodes = 1000"), "its jobs need up to 49152 nodes, got a machine of 1000"),
        (('duration = "20 d"', "jobs = 5"), 'not with generator = "mira-like"'),
        (("mira-like", "meggie-like"), 'goes with generator = "mira-like", not with generator = "meggie-like"'),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    """Keys and values that make no sense are refused where they stand."""
    with pytest.raises(InputError) as caught:
        study(tmp_path, TEXT.replace(*change))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
