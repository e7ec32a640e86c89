"""Several recorded days in a scenario: one set of records, played one after another, read, moved and kept as inputs."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.scenario.test_scenario_regulation import GOOD, study

import wattline as wl
from wattline.api.assumptions import remarks
from wattline.errors import InputError
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.market.signal_law import time_constant_s
from wattline.scenario import read_scenario, variants
from wattline.scenario.inputs import refuse_input
from wattline.scenario.sections.regulation.regulation import records_of
from wattline.scenario.setting import build_setting
from wattline.scenario.write_bid import _move


def day(seed: int, count: int = 1800) -> np.ndarray:
    """Return values that move at every step."""
    return np.round(np.random.default_rng(seed).uniform(-1, 1, count), 6)


def write(path: Path, values: np.ndarray, step: int = 2) -> None:
    """Write a signal file."""
    path.write_text("time_s,value\n" + "".join(f"{step * k},{y}\n" for k, y in enumerate(values)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three recorded hours and a scenario of two of them."""
    for k, name in enumerate("abc"):
        write(tmp_path / f"{name}.csv", day(k))
    (tmp_path / "s.toml").write_text(GOOD + 'signal = ["b.csv", "a.csv"]\n')
    return tmp_path


def test_records_are_played_one_after_another(folder: Path) -> None:
    """A run plays the files of a list one after another in the order given, and says so."""
    wired = study((folder / "s.toml").read_text(), folder, "trace.duration=2 h")
    signal = wired.options.signal
    assert signal is not None
    assert (signal.step_s, signal.values.tolist()) == (2.0, [*day(1), *day(0)])
    assert [(n.action, n.count, n.example) for n in wired.notes] == [("kept", 2, "b, a")]
    assert wired.market is not None
    assert wired.market.manifest()["signal"] == {"law": "file", "file": ["b.csv", "a.csv"], "step_s": 2.0}


def test_a_list_of_one_is_the_file_itself(folder: Path) -> None:
    """A list of one file means that file, which in a run may last as long or short as the run needs."""
    write(folder / "long.csv", day(9, 5400))
    one = study(GOOD + 'signal = ["long.csv"]\n', folder)
    assert one.options.signal is not None
    assert one.options.signal.values.tolist() == day(9, 5400).tolist()
    assert one.notes == ()


def test_the_sum_of_records_must_last_the_run(folder: Path) -> None:
    """Two recorded hours do not do for a run of three; three do."""
    with pytest.raises(InputError, match=r"s.toml:17: \[regulation\] signal: lasts 7200 s, shorter than the run"):
        study((folder / "s.toml").read_text(), folder, "trace.duration=3 h")
    study((folder / "s.toml").read_text(), folder, "trace.duration=3 h", 'regulation.signal=["a.csv","b.csv","c.csv"]')


def test_set_gives_one_set_of_records(folder: Path) -> None:
    """A list given by --set, or by study.set in Python, is one set of records and no sweep."""
    document = read_scenario(folder / "s.toml", ['regulation.signal=["c.csv", "b.csv", "a.csv"]'])
    assert len(variants(document)) == 1
    market = document.spec.regulation
    assert market is not None
    found = records_of(market, document.context)
    assert found is not None
    assert [record.name for record in found.records] == ["c", "b", "a"]
    changed = wl.load(folder / "s.toml").set({"regulation.signal": ["c.csv", "a.csv"]})
    market = changed.document.spec.regulation
    assert market is not None
    assert market.signal == ["c.csv", "a.csv"]


def test_drawn_signals_have_no_records(folder: Path) -> None:
    """A scenario whose signal is drawn names no records."""
    document = read_scenario(folder / "s.toml", ["regulation.signal=gaussian"])
    assert document.spec.regulation is not None
    assert records_of(document.spec.regulation, document.context) is None


def test_files_of_a_list_are_inputs(folder: Path) -> None:
    """Nothing is written over a file of the list."""
    document = read_scenario(folder / "s.toml")
    with pytest.raises(InputError, match=r"--write: .*a.csv is the file of regulation.signal.1, which is read"):
        refuse_input(document, folder / "a.csv", "--write")


def test_files_of_a_list_move_with_a_written_scenario(folder: Path) -> None:
    """A scenario that is written elsewhere finds the files of its list from there."""
    data = read_scenario(folder / "s.toml", [f'regulation.signal=["a.csv", "{folder}/b.csv"]']).data
    _move(data, folder, folder / "out" / "deep")
    assert data["regulation"]["signal"] == ["../../a.csv", f"{folder}/b.csv"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[]", "[regulation] signal: the list is empty: name at least one file"),
        ("5", '[regulation] signal: expected text in "quotes" or a list of texts, like ["a.csv", "b.csv"], got 5'),
        ('["a.csv", 5]', "[regulation] signal: expected text"),
        ('["a.csv", "gaussian"]', 'a list names files; a drawn signal stands alone: signal = "gaussian"'),
        ('["a.csv", "d.csv"]', "[regulation] signal: no such file: "),
        ('["a.csv", ""]', "[regulation] signal: no such file: ''"),
        ('["a.csv", "b.csv", "./a.csv"]', "a.csv: is listed twice"),
        ('["a.csv", "brief.csv"]', "brief.csv: field 'value': lasts 59 min 58 s, a record lasts an hour at least"),
        ('["a.csv", "coarse.csv"]', "coarse.csv: field 'value': has a value every 4 s"),
    ],
)
def test_bad_lists_are_one_line(given: str, said: str, folder: Path) -> None:
    """A list that is no set of records is refused in one line."""
    write(folder / "brief.csv", day(5, 1799))
    write(folder / "coarse.csv", day(6), step=4)
    with pytest.raises(InputError) as caught:
        study((folder / "s.toml").read_text(), folder, f"regulation.signal={given}")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def wandering(path: Path, std: float, seed: int, *, count: int = 8640) -> float:
    """Write a normal signal of a day at 10 s, and return its time constant as it came out."""
    law = GaussianSignal(10.0 * count, std=std, time_constant_s=120.0, step_s=10.0, energy_neutral=False, seed=seed)
    values = generate_signal(law).values
    path.write_text("t,y\n" + "".join(f"{10 * k},{y}\n" for k, y in enumerate(values)))
    return time_constant_s(values, 10.0)


def test_a_gaussian_signal_takes_after_data(folder: Path) -> None:
    """With a file, spread and time constant of a drawn normal signal are those of the records unless given."""
    times = [wandering(folder / f"n{k}.csv", 0.6, k) for k in range(2)]
    text = GOOD + 'signal = "gaussian"\nfile = ["n0.csv", "n1.csv"]\n'
    wired = study(text, folder)
    assert wired.market is not None
    about = wired.market.manifest()["signal"]
    assert about["file"] == ["n0.csv", "n1.csv"]
    assert about["std"] == pytest.approx(0.6, abs=0.03)
    assert about["time_constant_s"] == pytest.approx(np.mean(times))
    assert about["step_s"] == 10.0
    taken = f"standard deviation {about['std']:.2f} and time constant {np.mean(times):.0f} s taken from 2 records"
    assert f"signal: Gaussian, {taken}" in remarks(wired)
    given = study(text + "std = 0.3\ntime_constant = 50\n", folder)
    assert given.market is not None
    assert (given.market.about["std"], given.market.about["time_constant_s"]) == (0.3, 50.0)
    assert not any("taken from" in line for line in remarks(given))
    one = study(text + "std = 0.3\n", folder, "regulation.file=n1.csv")
    assert f"signal: Gaussian, time constant {times[1]:.0f} s taken from n1.csv" in remarks(one)


def test_a_still_signal_gives_no_gaussian_one(folder: Path) -> None:
    """What a normal signal cannot have is not taken from a file, and the line says what to do."""
    write(folder / "still.csv", np.full(300, 0.25))
    with pytest.raises(InputError, match=r"its standard deviation of 0 is none that a Gaussian signal can have"):
        study(GOOD + 'file = "still.csv"\n', folder)


def test_fitted_days_differ_as_the_records_do(folder: Path) -> None:
    """A signal fitted to several files draws days that take after them; searches draw from the same law."""
    for k, std in enumerate((0.2, 0.7)):
        wandering(folder / f"n{k}.csv", std, k)
    text = GOOD + 'signal = "fitted"\nfile = ["n0.csv", "n1.csv"]\n'
    law = build_setting(read_scenario(_written(folder, text))).signal
    stds = [law(86400.0, seed).values.std() for seed in range(30)]
    assert min(stds) < 0.4 < 0.5 < max(stds)
    assert law(7200.0, 3).values.tolist() == law(7200.0, 3).values.tolist()
    assert pickle.loads(pickle.dumps(law))(60.0, 1).values.tolist() == law(60.0, 1).values.tolist()  # noqa: S301
    drawn = study(text, folder)
    assert drawn.options.signal is not None
    assert drawn.options.signal.values.tolist() == law(drawn.options.signal.end_s, 3).values.tolist()
    assert drawn.market is not None
    assert drawn.market.warnings[0].startswith("record 'n1' differs in law from 'n0': its standard deviation is 0.7")


def test_files_that_a_drawn_signal_takes_after_move(folder: Path) -> None:
    """A list in file moves with a written scenario."""
    data = {"regulation": {"signal": "fitted", "file": ["a.csv", "b.csv"]}}
    _move(data, folder, folder / "out")
    assert data["regulation"]["file"] == ["../a.csv", "../b.csv"]


def test_a_file_goes_with_drawn_signals_only(folder: Path) -> None:
    """File goes with a drawn signal, column with a file."""
    for change, said in (
        ('regulation.file=["a.csv"]', "[regulation] file: does not go with a signal that is read"),
        ("regulation.std=0.3", "[regulation] std: does not go with a signal that is read"),
    ):
        with pytest.raises(InputError) as caught:
            study((folder / "s.toml").read_text(), folder, change)
        assert said in str(caught.value)
    with pytest.raises(InputError, match=r'column: does not go with signal = "gaussian"'):
        study(GOOD + 'column = "y"\n', folder)


def _written(folder: Path, text: str) -> Path:
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"
