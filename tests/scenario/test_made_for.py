"""A bid knows for what signal it was made: written, read back, and a run with another signal is warned of loudly."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from test_scenario_regulation import GOOD, study

import wattline as wl
from wattline.api.assumptions import warnings
from wattline.bidding.hours.setting import Setting
from wattline.errors import InputError, WattlineWarning
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.market.signal_law import Law
from wattline.model.regulation import Record
from wattline.scenario import read_scenario
from wattline.scenario.read.toml_text import to_toml
from wattline.scenario.sections.regulation.made_for import law_made_for, made_for
from wattline.scenario.sections.regulation.regulation import law_of_signal, other_law
from wattline.scenario.setting import build_setting

REGD = "\n[regulation.made_for]\nmean = -0.04\nstd = 0.62\ntime_constant = 210\nends = 0.18\nhours = 160\nrecords = 7\n"
NORMAL = "\n[regulation.made_for]\nmean = 0.0\nstd = 0.4\ntime_constant = 170\nends = 0.01\nhours = 120\nrecords = 5\n"
SAID = (
    "the bid was made for another signal than this one: its standard deviation is 0.39, not 0.62; its share of time at "
    "±1 is 1 %, not 18 %; nothing is known of what it keeps here"
)


def test_a_run_with_another_signal_is_warned_of(tmp_path: Path) -> None:
    """A bid made for RegD on the papers' normal signal is said loudly, with the figures; in its manifest too."""
    wired = study(GOOD + REGD, tmp_path)
    assert warnings(wired) == [SAID]
    assert wired.market is not None
    assert wired.market.manifest()["warnings"] == [SAID]
    assert warnings(study(GOOD + NORMAL, tmp_path)) == []
    assert warnings(study(GOOD, tmp_path)) == []


def test_the_report_and_python_say_it(tmp_path: Path) -> None:
    """The report shows the loud line, and in Python it is a warning."""
    (tmp_path / "s.toml").write_text(GOOD + REGD)
    with pytest.warns(WattlineWarning, match="made for another signal than this one"):
        run = wl.load(tmp_path / "s.toml").simulate()
    assert SAID in run.report(tmp_path / "page.html").read_text()


def write(path: Path, std: float, seed: int) -> None:
    """Write a recorded day."""
    values = generate_signal(GaussianSignal(86400.0, std=std, step_s=10.0, seed=seed)).values
    path.write_text("t,y\n" + "".join(f"{10 * k},{y}\n" for k, y in enumerate(values)))


def test_recorded_signals_are_held_against_it(tmp_path: Path) -> None:
    """Files are compared as a whole, though a run plays a part of them; a stranger among them is said, too."""
    for k, std in enumerate((0.4, 0.4, 0.7)):
        write(tmp_path / f"{k}.csv", std, k)
    assert warnings(study(GOOD + 'signal = ["0.csv", "1.csv"]\n' + NORMAL, tmp_path)) == []
    (told,) = warnings(study(GOOD + 'signal = "2.csv"\n' + NORMAL, tmp_path))
    assert told.startswith("the bid was made for another signal than this one: its standard deviation is 0.71")
    (stranger,) = warnings(study(GOOD + 'signal = ["0.csv", "1.csv", "2.csv"]\n', tmp_path))
    assert stranger.startswith("record '2' differs in law from 2 others: its standard deviation is 0.71")


def test_a_short_file_is_held_against_it(tmp_path: Path) -> None:
    """A file of less than an hour has figures, too, and is given the larger allowance of little signal."""
    (tmp_path / "y.csv").write_text("t,y\n" + "".join(f"{k},{0.9 if k % 7 else -0.9}\n" for k in range(1200)))
    document = read_scenario(_written(tmp_path, GOOD + 'signal = "y.csv"\n' + NORMAL))
    assert document.spec.regulation is not None
    law = law_of_signal(document.spec.regulation, document.context)
    assert law.hours == pytest.approx(1 / 3)
    assert "its time constant is" in other_law(document.spec.regulation, document.context)


def _written(folder: Path, text: str) -> Path:
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    """The table of a law reads back as the same figures, without a time constant where the signal never moves."""
    for law in (
        Law("7 records", -0.04, 0.62, 211.5, 0.18, np.nan, np.nan, 160.5, records=7),
        Law("1 record", 0.0, 0.0, np.nan, 0.0, np.nan, np.nan, 24.0),
        Law("1 record", 0.0, 0.5, np.inf, 0.0, np.nan, np.nan, 24.0),
    ):
        document = read_scenario(_written(tmp_path, GOOD + "\n[regulation.made_for]\n" + to_toml(made_for(law))))
        assert document.spec.regulation is not None
        assert document.spec.regulation.made_for is not None
        assert repr(law_made_for(document.spec.regulation.made_for)) == repr(law)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("regulation.made_for.std=2", "must be at most 1"),
        ("regulation.made_for.ends=-0.1", "must be at least 0"),
        ("regulation.made_for.records=0", "must be at least 1"),
        ("regulation.made_for.sketches=['A B']", "is no sketch of a day"),
        ("regulation.made_for.spread=1", "unknown key 'spread' in [regulation.made_for]"),
        ("regulation.made_for={}", "is missing in [regulation.made_for]"),
        ("regulation.made_for=5", "expected a table, got 5"),
    ],
)
def test_wrong_figures_are_one_line(change: str, said: str, tmp_path: Path) -> None:
    """Figures that no signal has are refused in one line."""
    with pytest.raises(InputError) as caught:
        study(GOOD + NORMAL, tmp_path, change)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_written_bid_says_what_it_was_made_for(tmp_path: Path) -> None:
    """The scenario with the bid holds the figures of its signal; only a run on another signal is warned of."""
    for k, std in enumerate((0.4, 0.7)):
        write(tmp_path / f"{k}.csv", std, k)
    scenario = _written(tmp_path, GOOD.replace("warmup", 'signal = "0.csv"\nwarmup'))
    found = wl.bid(scenario, method="given", hours=2)
    found.write(tmp_path / "bid.toml")
    assert warnings_of(tmp_path / "bid.toml") == []
    (told,) = warnings_of(tmp_path / "bid.toml", "regulation.signal=1.csv")
    assert "its standard deviation is 0.71, not 0.39" in told


def test_trying_a_bid_on_another_signal_does_not_make_it_one_for_that(tmp_path: Path) -> None:
    """A bid that is given, tried on a signal of another law and written stays a bid for the signal of its search."""
    for k, std in enumerate((0.4, 0.7)):
        write(tmp_path / f"{k}.csv", std, k)
    scenario = _written(tmp_path, GOOD.replace("warmup", 'signal = "0.csv"\nwarmup'))
    wl.bid(scenario, method="given", hours=2).write(tmp_path / "bid.toml")
    other = wl.load(tmp_path / "bid.toml", {"regulation.signal": "1.csv"})
    wl.bid(other, method="given", hours=2).write(tmp_path / "again.toml")
    (told,) = warnings_of(tmp_path / "again.toml")
    assert "its standard deviation is 0.71, not 0.39" in told


def test_a_written_bid_knows_near_copies_of_its_days(tmp_path: Path) -> None:
    """Days of the search that were rounded or scaled since count as searched, in the words for the days themselves; on
    others nothing is said.
    """
    days = [generate_signal(GaussianSignal(14400.0, step_s=10.0, seed=seed)) for seed in range(4)]
    law = Law("2 records", 0.0, 0.4, 170.0, 0.01, np.nan, np.nan, 8.0, records=2)
    table = to_toml(made_for(law, [Record("a", days[0]), Record("b", days[1])]))
    saved = [days[0].values, np.round(days[1].values, 2), 0.97 * days[0].values, days[2].values, days[3].values]
    for k, values in enumerate(saved):
        (tmp_path / f"{k}.csv").write_text("t,y\n" + "".join(f"{10 * i},{y}\n" for i, y in enumerate(values)))

    def setting(*names: int) -> Setting:
        named = ", ".join(f'"{k}.csv"' for k in names)
        text = GOOD.replace("warmup", f"signal = [{named}]\nwarmup") + "\n[regulation.made_for]\n" + table
        return build_setting(read_scenario(_written(tmp_path, text)), given=True)

    for names, said in (((0, 1), "2 of these days were searched when the bid was made (0, for one)"), ((2, 3), "1 of")):
        found = setting(*names)
        assert [doubt[: len(said)] for doubt in found.doubts] == [said]
        assert found.records[0].digest in found.searched
    others = setting(3, 4)
    assert (others.doubts, others.searched) == ((), frozenset())


def test_a_written_bid_says_how_late_its_machine_was(tmp_path: Path) -> None:
    """A run on a machine that is later than the bid's is warned of; no other run is."""
    slow = GOOD + '\n[late]\nstart = ["0 s", "1 s"]\nnoise = 0.002\n'
    wl.bid(_written(tmp_path, slow), method="given", hours=2).write(tmp_path / "slow.toml")
    late = tomllib.loads((tmp_path / "slow.toml").read_text())["regulation"]["made_for"]["late"]
    assert late == {"start": [0.0, 1.0], "noise": 0.002, "noise_every": 1.0}
    for same in ((), ("late.start=0.5 s",), ("late.noise=0",)):
        assert warnings_of(tmp_path / "slow.toml", *same) == []
    for worse in ("late.start=2 s", "late.cap=1 s", "late.lag=0.5 s", "late.noise=0.01", "late.noise_every=5 s"):
        (told,) = warnings_of(tmp_path / "slow.toml", worse)
        assert "not as late (starts 0 to 1 s late, noise 0.2 % for 1 s) as this one (" in told
    wl.bid(_written(tmp_path, GOOD), method="given", hours=2).write(tmp_path / "quick.toml")
    assert tomllib.loads((tmp_path / "quick.toml").read_text())["regulation"]["made_for"]["late"] == {}
    (told,) = warnings_of(tmp_path / "quick.toml", "late.start=2 s")
    assert "not as late (obeys at once) as this one (starts 2 s late)" in told
    assert warnings_of(_written(tmp_path, GOOD + NORMAL), "late.start=2 s") == warnings_of(
        _written(tmp_path, GOOD + NORMAL)
    )


def warnings_of(path: Path, *overrides: str) -> list[str]:
    """Return the loud lines of a scenario's run."""
    from wattline.scenario import variants, wire

    return warnings(wire(variants(read_scenario(path, overrides))[0]))
