"""[late] in scenarios: what it comes to in a run, in its journal, and in the hours that bids are tried on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wattline.bidding.hours.trial import trial_hour
from wattline.errors import InputError, ScenarioError
from wattline.journal.journal import open_journal
from wattline.model.lateness import Lateness
from wattline.model.regulation import Bid
from wattline.report.count.metrics import summarize
from wattline.scenario import read_scenario, variants, wire
from wattline.scenario.setting import build_setting
from wattline.scenario.study import content_sha256

PLAIN = """\
seed = 3
[trace]
generator = "poisson"
jobs = 60
rate = "120/h"
[[trace.type]]
name = "a"
nodes = 2
mean = "5 min"
[cluster]
nodes = 8
idle = "100 W"
max = "300 W"
"""
MARKET = """\
name = "late"
seed = 1
kinds = "W4"
[trace]
generator = "kinds"
duration = "1 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "8.45 kW"
reserve = "2.8 kW"
"""
LATE = '[late]\nstart = ["0 s", "2 s"]\ncap = "0.3 s"\nlag = "0.5 s"\nnoise = 0.01\nnoise_every = "4 s"\n'


def written(tmp_path: Path, text: str) -> Path:
    """Return the path of a scenario file."""
    path = tmp_path / "s.toml"
    path.write_text(text)
    return path


def test_every_key_reaches_the_run(tmp_path: Path) -> None:
    """Ranges and single times, the lag as that much delay more, noise and how long it lasts."""
    study = wire(variants(read_scenario(written(tmp_path, MARKET + LATE)))[0])
    how = study.options
    assert (how.late_start_s, how.late_cap_s, how.noise, how.noise_every_s) == ((0.5, 2.5), (0.8, 0.8), 0.01, 4.0)


def test_without_the_section_nothing_is_late_and_the_hash_is_as_it_was(tmp_path: Path) -> None:
    """A scenario without [late] runs as ever and has the hash that it had; an empty section changes no run."""
    plain = read_scenario(written(tmp_path, PLAIN))
    assert "late" not in json.loads(json.dumps(plain.spec.model_dump(mode="json", exclude_none=True)))
    calm = wire(variants(plain)[0])
    empty = read_scenario(written(tmp_path, PLAIN + "[late]\n"))
    assert content_sha256(plain) != content_sha256(empty)
    same = wire(variants(empty)[0])
    assert same.options.late_start_s == calm.options.late_start_s == (0.0, 0.0)
    a, b = calm.simulate(), same.simulate()
    np.testing.assert_array_equal(a.state.started_s, b.state.started_s)
    assert "late" not in calm.tables(a)[1]["power"]


def test_the_journal_says_how_late_the_machine_was(tmp_path: Path) -> None:
    """The manifest has the delays and the energy of the noise; parts and total agree with the timeline."""
    study = wire(variants(read_scenario(written(tmp_path, PLAIN + LATE)))[0])
    study.write(study.simulate(), tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    told = {"start_s": [0.5, 2.5], "cap_s": [0.8, 0.8], "noise": 0.01, "noise_every_s": 4.0}
    assert manifest["power"]["late"] == told
    totals = manifest["totals"]
    assert totals["noise_j"] != 0.0
    rows = pl.read_parquet(tmp_path / "out" / "timeline.parquet")
    held_s = np.diff(np.append(rows["time_s"].to_numpy(), manifest["end_s"]))
    assert totals["total_j"] == pytest.approx(float(rows["power_w"].to_numpy() @ held_s), rel=1e-9)
    parts = sum(totals[f"{part}_j"] for part in ("busy", "idle", "sleep", "boot", "noise"))
    assert totals["total_j"] == pytest.approx(parts, rel=1e-12)
    energy = summarize(open_journal(tmp_path / "out")).energy
    assert energy.total_j - energy.accounts_j == pytest.approx(totals["noise_j"], rel=1e-6)


def test_bids_are_tried_on_the_machine_as_it_is(tmp_path: Path) -> None:
    """The hours of a search have the delays of the scenario, and follow the signal worse by them."""
    document = read_scenario(written(tmp_path, MARKET + LATE))
    setting = build_setting(variants(document)[0].document)
    assert setting.late == Lateness((0.5, 2.5), (0.8, 0.8), 0.01, 4.0)
    calm = build_setting(variants(read_scenario(written(tmp_path, MARKET)))[0].document)
    assert calm.late == Lateness()
    hours = [trial_hour(made, 5) for made in (calm, setting)]
    errors = [hour.run(Bid(8450.0, 2800.0))[0].tracking.mean_error for hour in hours]
    assert errors[1] > errors[0] + 0.01
    again = hours[1].run(Bid(8450.0, 2800.0))[0].tracking.mean_error
    assert again == errors[1]  # started over, the same draws


MISTAKES = {
    "three times": ('start = ["0 s", "1 s", "2 s"]', "[late] start: expected a time or two"),
    "the wrong way round": ('cap = ["2 s", "1 s"]', "[late] cap: the first time must not be after the second"),
    "negative": ('start = "-1 s"', "[late] start: must not be negative"),
    "no time": ('cap = "soon"', "[late] cap: "),
    "a unit that is none": ('cap = ["0 s", "1 kW"]', "[late] cap: unknown unit 'kW'"),
    "too long": ('start = "2 h"', "[late] start: must be at most an hour"),
    "too noisy": ("noise = 0.5", "[late] noise: "),
    "noise without noise": ('noise_every = "2 s"', "[late] noise_every: goes with noise, which is 0"),
    "too many deviations": ('noise = 0.01\nnoise_every = "1 ms"', "deviations of power of 0.001 s"),
    "another key": ('starts = "1 s"', "unknown key 'starts' in [late]; did you mean 'start'?"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_said_in_one_line(what: str, tmp_path: Path) -> None:
    """Delays that make no sense are refused with line, key and value."""
    text, words = MISTAKES[what]
    path = written(tmp_path, PLAIN.replace("120/h", "1/h") + "[late]\n" + text + "\n")
    with pytest.raises(InputError) as problem:
        wire(variants(read_scenario(path))[0])
    told = str(problem.value)
    assert words in told
    assert "s.toml:1" in told
    assert "\n" not in told


def test_caps_of_configurations_cannot_be_late(tmp_path: Path) -> None:
    """A policy that moves running jobs between configurations goes with late starts, not with late caps."""
    text = 'policy.cap = "leftover"\n' + PLAIN + '[late]\ncap = "1 s"\n'
    with pytest.raises(ScenarioError, match=r"\[late\] cap: cap policy 'leftover' moves running jobs"):
        read_scenario(written(tmp_path, text))
