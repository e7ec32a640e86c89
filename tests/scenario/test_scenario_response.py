"""``response`` of a kind: by name or from a file, refused in one line with the key, kept in the journal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import trial_hour
from wattline.errors import InputError
from wattline.formats.jobs import read_trace
from wattline.journal.journal import open_journal
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.physics.responses.table import Table
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.write_bid import _move

TEXT = """\
[trace]
generator = "kinds"
duration = "10 min"
[cluster]
nodes = 4
idle = "50 W"
max = "250 W"
[policy]
cap = "under-limit"
[limit]
steps = [["0 s", "off"], ["1 min", "500 W"], ["3 min", "off"], ["4 min", "620 W"], ["6 min", "off"]]
[[kind]]
name = "lu"
nodes = 2
time = "60 s"
power = "200 W"
floor = "100 W"
longest = "2 min"
rate = "300/h"
"""


def study(folder: Path, text: str = TEXT) -> Study:
    """Write and wire a scenario."""
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml"))[0])


def test_linear_is_what_a_kind_has_that_says_nothing(tmp_path: Path) -> None:
    """`response = "linear"` names the default: kinds are the same, and only then is the scenario another."""
    plain, named = study(tmp_path), study(tmp_path, TEXT.replace("rate", 'response = "linear"\nrate'))
    assert plain.options.kinds == named.options.kinds
    assert plain.options.kinds[0].response == ()
    assert plain.scenario_sha256 != named.scenario_sha256
    assert "response" not in plain.tables(plain.simulate())[1]["kinds"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rate", 'response = "liner"\nrate'), "s.toml:19: [kind] response: unknown response to caps 'liner'; did you"),
        (('power = "200 W"\n', ""), "[kind] power: is missing: give the power per node without a cap, or a file"),
        (("rate", 'response = "q.csv"\nrate'), "[kind] power: the file of response, q.csv, says it"),
    ],
)
def test_what_is_no_response_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    """A name that there is not, and keys that are missing or said twice, are named with their line."""
    with pytest.raises(InputError) as caught:
        study(tmp_path, TEXT.replace(*change))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------ from a file

LU = "power_w,time_s\n100,120\n150,66\n200,60\n"
FILED = TEXT.replace('power = "200 W"\nfloor = "100 W"\nlongest = "2 min"\n', 'response = "in/lu.csv"\n')


def filed(folder: Path, table: str = LU, text: str = FILED) -> Study:
    """Write a table beside the scenario, and wire that."""
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in/lu.csv").write_text(table)
    return study(folder, text)


def test_a_measured_table_is_the_response_of_a_kind(tmp_path: Path) -> None:
    """Power and slowdown of a kind are its table's, jobs run along the points, the journal has these and the file."""
    wired = filed(tmp_path)
    kind = wired.options.kinds[0]
    assert (kind.draw_w, kind.floor_w, kind.stretch) == (200.0, 100.0, 2.0)
    assert kind.response == ((100.0, 2.0), (150.0, 1.1), (200.0, 1.0))
    wired.write(wired.simulate(), tmp_path / "out")
    journal = open_journal(tmp_path / "out")
    assert journal.manifest["kinds"][0]["response"] == [[100.0, 2.0], [150.0, 1.1], [200.0, 1.0]]
    assert 'response = "in/lu.csv"' in journal.manifest["scenario"]
    line_s, bent_s = (np.nan_to_num(run.simulate().state.end_s, nan=np.inf) for run in (study(tmp_path), wired))
    assert (bent_s <= line_s).all()
    assert (bent_s < line_s).any()


@pytest.mark.parametrize(
    "table",
    [
        "power_w,speed\n100,0.5\n200,1\n",
        "speed,power_w\n7,100\n14,200\n",
        "power_w,time_s\n200,33\n100,66\n\n",
        '"Power_W",TIME_S \n1e2,2.0\n200.0,1\n',
    ],
)
def test_two_rows_are_the_linear_rule(tmp_path: Path, table: str) -> None:
    """A table of both ends, in whatever order, unit of speed and notation, gives the run of `floor` and `longest`."""
    wired, line = filed(tmp_path, table), study(tmp_path)
    assert wired.options == line.options
    assert np.array_equal(wired.simulate().state.end_s, line.simulate().state.end_s, equal_nan=True)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (LU.replace("66", "120"), "lu.csv:3: field 'time_s': is no faster at 150 W (120) than at 100 W (120)"),
        (LU.replace("150", "200"), "lu.csv:4: field 'power_w': there are two rows of 200 W"),
        (LU.replace("66", "x"), "lu.csv:3: field 'time_s': expected a number without a unit (got 'x')"),
        (LU.replace("66", "inf"), "lu.csv:3: field 'time_s': expected a finite number"),
        (LU.replace("66", "-66"), "lu.csv:3: field 'time_s': must be above 0"),
        (LU.replace("100,", "0,"), "lu.csv:2: field 'power_w': must be above 0"),
        (LU.replace("66", "66,1"), "lu.csv:3: expected 2 columns like the header, got 3"),
        (LU.replace("time_s", "minutes"), "lu.csv:1: expected the columns power_w and time_s, or power_w and speed"),
        (LU.replace("time_s", "power_w"), "lu.csv:1: field 'power_w': column is named twice"),
        ("power_w,time_s\n", "lu.csv: holds no numbers, only a header line"),
        ("", "lu.csv: the file is empty"),
        ("power_w,time_s\n100,120\n", "lu.csv: a table of run times under caps needs at least two powers"),
        (LU.replace("200", "300"), "[kind] response: in/lu.csv: kind 'lu' draws 300 W a node, [cluster] max allows"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path: Path, table: str, said: str) -> None:
    """What is no table is refused with the scenario's line, the file, its line and column, and what was found."""
    with pytest.raises(InputError) as caught:
        filed(tmp_path, table)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/s.toml:16: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("in/lu.csv", "in/nu.csv"), "s.toml:16: [kind] response: no such file: "),
        (
            ("in/lu.csv", "table"),
            "unknown response to caps 'table'; known: linear; files of one end in .csv or .csv.gz",
        ),
        (("rate", 'longest = "2 min"\nrate'), "s.toml:17: [kind] longest: the file of response, in/lu.csv, says it"),
    ],
)
def test_what_does_not_go_with_a_table_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    """A file that is not there, a table without one, and what the table says already are named."""
    with pytest.raises(InputError) as caught:
        filed(tmp_path, text=FILED.replace(*change))
    assert said in str(caught.value)


def test_python_says_it_with_the_same_keys(tmp_path: Path) -> None:
    """`wl.load` with a mapping takes the key; a table that a program made gives the kind that the file gives."""
    wired = filed(tmp_path)
    kind = Table.swept([150, 100, 199.5, 200, 201], [66, 120, 60.4, 60, 60.1]).on(Kind("lu", 2, 60.0, 1.0, 1.0))
    assert [watts for watts, _ in kind.response] == [100.0, 150.0, 199.5]
    exact = Table(((100.0, 2.0), (150.0, 1.1), (200.0, 1.0)))
    assert replace(exact.on(kind), arrival_per_s=300 / 3600, weight=1.0) == wired.options.kinds[0]
    with pytest.raises(InputError, match="no cap of this sweep slows the job: of 2 rows 1 differ"):
        Table.swept([100, 200], [60, 60])


def test_a_bid_written_elsewhere_finds_the_table(tmp_path: Path) -> None:
    """Paths of tables are changed for a scenario that lies in another folder."""
    data = {"kind": [{"response": "in/lu.csv"}, {"response": "linear"}, {}]}
    _move(data, tmp_path, tmp_path / "elsewhere")
    assert data == {"kind": [{"response": "../in/lu.csv"}, {"response": "linear"}, {}]}


def test_a_journal_read_as_a_log_says_what_it_lost(tmp_path: Path) -> None:
    """Jobs of a journal have the ends of their response alone; a note counts those that had points between them."""
    for wired, counts in ((filed(tmp_path), [True]), (study(tmp_path), [])):
        wired.write(wired.simulate(), tmp_path / f"out{len(counts)}")
        found = read_trace(tmp_path / f"out{len(counts)}")
        lost = [note for note in found.notes if "points of a response to caps" in note.reason]
        assert [note.count == len(found.jobs) for note in lost] == counts


def test_a_journal_runs_again_along_the_points(tmp_path: Path) -> None:
    """Where the kind is declared with its table, the jobs of a journal respond as they did."""
    wired = filed(tmp_path)
    wired.write(wired.simulate(), tmp_path / "out")
    again = filed(tmp_path, text=FILED.replace('generator = "kinds"\nduration = "10 min"', 'file = "out"'))
    assert again.options.kinds[0].response == wired.options.kinds[0].response
    s = again.simulate().state
    assert (s.k_response[s.kind] == 0).all()
    assert s.resp_w.tolist() == [100.0, 150.0, 200.0]


def test_bids_are_made_along_the_points() -> None:
    """An hour on which a bid is tested runs along the points of its kinds, the same whenever it starts over."""
    line = Kind("a", 1, 60.0, 200.0, 100.0, 3.0, limit=2.0, weight=1.0, arrival_per_s=0.06)
    found = {}
    for points in ((), ((100.0, 3.0), (180.0, 1.2), (200.0, 1.0))):
        kinds = (replace(line, response=points),)
        setting = Setting.alike(kinds, 8, 50.0, 250.0, protocol=Protocol(warm_s=0.0))
        hour = trial_hour(setting, 3)
        first, again = (hour.run(Bid(1100.0, 250.0)) for _ in range(2))
        assert repr(first) == repr(again)
        found[points] = repr(first)
    assert len(set(found.values())) == 2


def test_jobs_of_a_log_that_draw_other_watts_are_named(tmp_path: Path) -> None:
    """A job of a log whose power is not its kind's table is refused before the run, with scenario, log and job."""
    (tmp_path / "jobs.csv").write_text("submit_s,work_s,nodes,kind,draw_w\n0,60,2,lu,200\n5,60,2,lu,180\n")
    text = FILED.replace('generator = "kinds"\nduration = "10 min"', 'file = "jobs.csv"')
    with pytest.raises(InputError) as caught:
        filed(tmp_path, text=text)
    assert "s.toml:" in str(caught.value)
    assert "jobs.csv: job 2 has draw_w 180, the response of its kind 'lu' to caps 200" in str(caught.value)
