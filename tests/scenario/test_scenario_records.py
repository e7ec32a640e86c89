"""Several recorded days in a scenario: one set of records, played one after another, read, moved and kept as inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.scenario.test_scenario_regulation import GOOD, study

import wattline as wl
from wattline.errors import InputError
from wattline.scenario import read_scenario, variants
from wattline.scenario.inputs import refuse_input
from wattline.scenario.sections.regulation import records_of
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
