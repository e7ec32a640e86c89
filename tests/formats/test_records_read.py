"""Recorded days from files: one file one record, long files cut into days, gaps told, bad sets refused in one line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wattline.errors import InputError, TraceError
from wattline.formats.series import repeats
from wattline.formats.series.records import read_records
from wattline.formats.series.repeats import repeated
from wattline.formats.series.signals import read_signal
from wattline.formats.series.still import held
from wattline.model.regulation import Record, Signal

HOUR_S, DAY_S = 3600.0, 86400.0
JULY_16 = 1_594_857_600  # 2020-07-16, midnight UTC


def noise(seed: int, count: int) -> np.ndarray:
    """Return values of a signal that moves at every step."""
    return np.round(np.random.default_rng(seed).uniform(-1, 1, count), 6)


def write(path: Path, values: np.ndarray, *, step: int = 60, first: int = 0, without: tuple[int, int] = (0, 0)) -> Path:
    """Write a signal; the rows of one stretch of seconds are left out."""
    rows = [
        f"{first + k * step},{y}"
        for k, y in enumerate(values)
        if not without[0] <= k * step < without[1] and not math.isnan(y)
    ]
    path.write_text("t_s,regd\n" + "\n".join(rows) + "\n")
    return path


def days(folder: Path, count: int = 2) -> list[Path]:
    """Write some days at a step of a minute."""
    return [write(folder / f"day{k}.csv", noise(k, 1440)) for k in range(count)]


def test_one_file_is_one_record(tmp_path: Path) -> None:
    """Each file is a record from second 0 on under the name of its file, in the order given."""
    found = read_records(list(reversed(days(tmp_path, 3))))
    assert [record.name for record in found.records] == ["day2", "day1", "day0"]
    for record, seed in zip(found.records, (2, 1, 0), strict=True):
        assert (record.signal.start_s, record.signal.step_s, record.length_s) == (0.0, 60.0, DAY_S)
        assert record.signal.values.tolist() == noise(seed, 1440).tolist()
        assert len(record.hours()) == len(record.usable_hours()) == 24
        assert math.isnan(record.begin_unix_s)
    assert found.notes == ()
    assert found.joined().values.tolist() == np.concatenate([noise(k, 1440) for k in (2, 1, 0)]).tolist()


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Files of one name in two folders are records under their paths."""
    paths = []
    for k, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        paths.append(write(tmp_path / folder / "day.csv", noise(k, 1440)))
    assert [record.name for record in read_records(paths).records] == [str(path) for path in paths]


def test_a_long_file_without_dates_is_cut_every_24_hours(tmp_path: Path) -> None:
    """A file of more than 25 h without dates is cut from its beginning; less than an hour at its end is left out."""
    values = noise(1, 2 * 1440 + 59)
    found = read_records([write(tmp_path / "long.csv", values, first=7200)])
    assert [record.name for record in found.records] == ["long day 1", "long day 2"]
    assert [record.signal.values.tolist() for record in found.records] == [
        values[:1440].tolist(),
        values[1440:2880].tolist(),
    ]
    assert [(note.action, note.count, note.example) for note in found.notes] == [
        ("kept", 1, str(tmp_path / "long.csv")),
        ("dropped", 1, "long day 3: 59 min"),
    ]
    assert found.joined().values.size == values.size, "a run plays all of it"


def test_a_long_file_with_dates_is_cut_at_midnight(tmp_path: Path) -> None:
    """A file of more than 25 h with dates is cut at midnight UTC, and its records know their dates."""
    values = noise(2, 1440 + 720 + 60)
    found = read_records([write(tmp_path / "long.csv", values, first=JULY_16 + 12 * 3600)])
    assert [(record.name, record.begin_unix_s, record.length_s) for record in found.records] == [
        ("long 2020-07-16", JULY_16 + 12 * HOUR_S, 12 * HOUR_S),
        ("long 2020-07-17", JULY_16 + DAY_S, DAY_S),
        ("long 2020-07-18", JULY_16 + 2 * DAY_S, HOUR_S),
    ]
    assert np.concatenate([r.signal.values for r in found.records]).tolist() == values.tolist()


def test_a_file_of_25_hours_is_one_record(tmp_path: Path) -> None:
    """The long day of a change of clocks stays whole; a minute more is cut."""
    assert len(read_records([write(tmp_path / "a.csv", noise(3, 1500))]).records) == 1
    assert len(read_records([write(tmp_path / "b.csv", noise(3, 1501))]).records) == 2


def test_columns_of_dates_are_records(tmp_path: Path) -> None:
    """In a wide file every date is a record; columns that are no dates must be picked from."""
    rows = [
        f"{k // 60}:{k % 60:02d}:00,{a},{b}" for k, (a, b) in enumerate(zip(noise(1, 120), noise(2, 120), strict=True))
    ]
    wide = tmp_path / "wide.csv"
    wide.write_text(",7/16/2020,7/17/2020\n" + "\n".join(rows) + "\n")
    found = read_records(wide)
    assert [(record.name, record.begin_unix_s) for record in found.records] == [
        ("wide 2020-07-16", JULY_16),
        ("wide 2020-07-17", JULY_16 + DAY_S),
    ]
    assert [record.name for record in read_records(wide, column="7/17/2020").records] == ["wide 2020-07-17"]
    wide.write_text("time_s,rega,regd\n" + "".join(f"{60 * k},0.{k % 10},0.5\n" for k in range(120)))
    with pytest.raises(TraceError, match=r"several columns that may be the signal: rega, regd; name one: column"):
        read_records(wide)


def test_hours_with_missing_signal_are_counted(tmp_path: Path) -> None:
    """Hours that touch more than a minute of missing signal are not usable; a minute is forgiven."""
    short = write(tmp_path / "a.csv", noise(1, 8640), step=10, without=(7210, 7270))
    long = write(tmp_path / "b.csv", noise(2, 8640), step=10, without=(7190, 7260))
    found = read_records([short, long])
    assert [record.gaps for record in found.records] == [(), ((7190.0, 7260.0),)]
    assert len(found.records[0].usable_hours()) == 24
    gone = set(found.records[1].hours()) - set(found.records[1].usable_hours())
    assert gone == {(3600.0, 7200.0), (7200.0, 10800.0)}
    assert [(n.action, n.count) for n in found.notes] == [("repaired", 13), ("kept", 2)]
    assert found.notes[1].example == "b: none from 1 h 59 min on for 1 min 10 s"


def without_seconds(path: Path, values: np.ndarray, gone: set[int]) -> Path:
    """Write a signal with a value every two seconds; some of them are left out."""
    rows = [f"{2 * k},{y}" for k, y in enumerate(values) if 2 * k not in gone]
    path.write_text("t_s,regd\n" + "\n".join(rows) + "\n")
    return path


def test_an_hour_of_short_holes_is_no_evidence(tmp_path: Path) -> None:
    """Holes of 58 s every two minutes leave half an hour of signal; a minute in all is forgiven, 62 s are not."""
    gone = {t for hole in range(3600, 7200, 120) for t in range(hole + 30, hole + 88, 2)}
    gone |= {*range(10800, 10830, 2), *range(14370, 14400, 2)}  # a minute in all
    gone |= {*range(14400, 14430, 2), *range(16000, 16032, 2)}  # 62 s; the first piece goes on from the hour before
    record = read_records(without_seconds(tmp_path / "a.csv", noise(3, 10800), gone)).records[0]
    lost = set(record.hours()) - set(record.usable_hours())
    assert lost == {(3600.0, 7200.0), (14400.0, 18000.0)}
    found = read_records(without_seconds(tmp_path / "b.csv", noise(4, 10800), gone - {*range(14370, 14400, 2)}))
    assert [n.example for n in found.notes if "no evidence" in n.reason] == ["b: 29 min in all in the hour from 1 h on"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(1, 5300), st.integers(1, 40)), max_size=12),
    st.one_of(st.none(), st.tuples(st.integers(0, 5300), st.integers(31, 60))),
)
def test_usable_hours_agree_with_a_plain_count(
    tmp_path: Path, holes: list[tuple[int, int]], still: tuple[int, int] | None
) -> None:
    """An hour is evidence if no stretch of more than a minute touches it, and a minute of it at most is missing."""
    values = noise(5, 5400)
    gone = {k for first, count in holes for k in range(first, min(first + count, 5399))}
    if still is not None:
        values[still[0] : still[0] + still[1] + 1] = values[still[0]]
    path = without_seconds(tmp_path / "y.csv", values, {2 * k for k in gone})
    seen = values.copy()
    for k in sorted(gone):
        seen[k] = seen[k - 1]
    stretches = [(k * 2, k * 2 + 2) for k in sorted(gone)]
    for k in range(1, 5400):  # a value that is held for more than a minute was filled, but for its first step
        run = next((j for j in range(k, 5400) if seen[j] != seen[k - 1]), 5400) - k
        if 2 * run > 60 and (k == 1 or seen[k - 2] != seen[k - 1]):
            stretches.append((2 * k, 2 * (k + run)))
    seconds = np.zeros(10801, dtype=bool)
    for begin, end in stretches:
        seconds[begin:end] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seconds]).astype(int)))
    runs = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    expected = [
        (h, h + 3600)
        for h in range(0, 10800, 3600)
        if seconds[h : h + 3600].sum() <= 60 and not any(b - a > 60 and a < h + 3600 and h < b for a, b in runs)
    ]
    if expected:
        assert read_records(path).records[0].usable_hours() == expected
    else:
        with pytest.raises(TraceError, match="no hour of 1 record is without missing signal"):
            read_records(path)


def test_a_gap_over_midnight_is_in_both_days(tmp_path: Path) -> None:
    """Missing signal that a cut parts in two is missing in both days, however short a part is."""
    path = write(tmp_path / "a.csv", noise(4, 2 * 8640), step=10, without=(86390, 86470))
    first, second = read_records(path).records
    assert (first.gaps, second.gaps) == (((86390.0, 86400.0),), ((0.0, 70.0),))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 100)), max_size=4), st.integers(1, 500), st.integers(0, 400)
)
def test_missing_agrees_with_a_plain_loop(gaps: list[tuple[int, int]], length: int, begin: int) -> None:
    """A stretch touches a gap if some second is in both."""
    spans = tuple((float(a), float(a + b)) for a, b in gaps)
    record = Record("r", Signal(0.0, 1.0, np.zeros(1000)), spans)
    seconds = {s for a, b in gaps for s in range(a, a + b)}
    assert record.missing(begin, begin + length) == bool(seconds & set(range(begin, begin + length)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.booleans(), min_size=3, max_size=40))
def test_every_missing_stretch_is_told(tmp_path: Path, there: list[bool]) -> None:
    """The reader of signals tells each stretch of held values, of any length, whether its rows or values are absent."""
    there = [True, *there]
    if 2 * sum(there) < len(there) + 2:
        return
    rows = [f"{10 + 2 * k},{'0.5' if known else ''}" for k, known in enumerate(there) if known or k % 3]
    path = tmp_path / "y.csv"
    path.write_text("t,y\n" + "\n".join(rows) + "\n")
    last = max(k for k, known in enumerate(there) if known or k % 3)
    expected, k = [], 0
    while k <= last:
        begin = k
        while k <= last and not there[k]:
            k += 1
        if k > begin:
            expected.append([10.0 + 2 * begin, 10.0 + 2 * k])
        k += 1
    assert read_signal(path, step_s=2.0).gaps.tolist() == expected


def bad_sets(folder: Path) -> dict[str, tuple[list[Path], str]]:
    """Return sets of records that are none, and what is said."""
    a, b = days(folder)
    dated = [write(folder / f"d{k}.csv", noise(10 + k, 1440), first=JULY_16 + k * 43200) for k in range(2)]
    shifted = write(folder / "shifted.csv", np.concatenate([noise(77, 500), noise(0, 1440)[:940]]))
    (folder / "still.csv").write_text("t_s,y\n" + "".join(f"{60 * k},0.25\n" for k in range(70)))
    (folder / "same.csv").write_text("t_s,y\n" + "".join(f"{60 * k},0.25\n" for k in range(70)))
    (folder / "link.csv").symlink_to(a)
    copy = write(folder / "copy.csv", noise(0, 1440))
    coarse = write(folder / "coarse.csv", noise(5, 300), step=300)
    brief = write(folder / "brief.csv", noise(6, 59))
    holes = write(folder / "holes.csv", np.where(np.arange(130) % 10 < 6, noise(7, 130), np.nan))
    twice = write(folder / "twice.csv", np.concatenate([noise(8, 1440), noise(8, 1440)]))
    return {
        "none": ([], "no signal file is given; name at least one"),
        "missing": ([a, folder / "gone.csv"], "gone.csv: no such file"),
        "other step": ([a, coarse], f"coarse.csv: field 'regd': has a value every 300 s, {a} has one every 60 s"),
        "short": ([a, brief], "brief.csv: field 'regd': lasts 59 min, a record lasts an hour at least"),
        "listed twice": ([a, b, a], "day0.csv: is listed twice: one day is one record; leave it out once"),
        "a link": ([a, folder / "link.csv"], "link.csv: is listed twice"),
        "a copy": ([a, b, copy], "copy.csv: field 'regd': 'copy' repeats 'day0': 100% of its values are the same"),
        "most of a day": ([a, b, shifted], "'shifted' repeats 'day0': 6"),
        "a day twice": ([twice], "'twice day 2' repeats 'twice day 1'"),
        "still ones": ([folder / "still.csv", folder / "same.csv"], "'same' repeats 'still': 100%"),
        "overlap": (
            dated,
            f"d1.csv: field 'regd': overlaps with {dated[0]} for 12 h from 2020-07-16 12:00 UTC on",
        ),
        "all gaps": ([holes], "no hour of 1 record is without missing signal"),
    }


@pytest.mark.parametrize(
    "what",
    [
        "none",
        "missing",
        "other step",
        "short",
        "listed twice",
        "a link",
        "a copy",
        "most of a day",
        "a day twice",
        "still ones",
        "overlap",
        "all gaps",
    ],
)
def test_bad_sets_are_one_line(what: str, tmp_path: Path) -> None:
    """What is no set of different days of one signal is refused in one line that names the file and what to do."""
    paths, said = bad_sets(tmp_path)[what]
    with pytest.raises(InputError) as caught:
        read_records(paths)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_days_that_share_a_midnight_are_two(tmp_path: Path) -> None:
    """Files that hold both midnights of their day, as PJM's do, do not overlap."""
    paths = [write(tmp_path / f"d{k}.csv", noise(k, 1441), first=JULY_16 + k * 86400) for k in range(3)]
    assert len(read_records(paths).records) == 3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 600), st.integers(200, 600))
def test_repeats_agree_with_a_search(seed: int, shift: int, count: int) -> None:
    """A series of which 80 % or 40 % stand in another is found wherever they begin; one of which 10 % do is not."""
    base, other = noise(seed, 1200), noise(seed + 5000, 1200)
    for share, found in ((0.8, True), (0.4, True), (0.1, False)):
        own = other[:count].copy()
        own[: int(share * count)] = base[shift : shift + int(share * count)]
        assert (repeated([noise(seed + 9000, 700), base, own]) is not None) == found


def test_many_series_are_compared_by_some_of_their_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are more stretches than are kept, a copy that begins elsewhere is found all the same."""
    monkeypatch.setattr(repeats, "MOST", 1000)
    series = [noise(k, 4000) for k in range(5)]
    assert repeated(series) is None
    found = repeated([*series, np.concatenate([noise(9, 777), series[3][:2500]])])
    assert found is not None
    assert (found.first, found.other) == (3, 5)


def test_recorded_regd_days(data_dir: Path) -> None:
    """Of PJM's seven RegD days two are whole; in seventeen hours of the others more than a minute is missing."""
    found = read_records(sorted((data_dir / "regulation").glob("pjm_regd_2020-07-*.csv.gz")))
    assert [len(record.hours()) for record in found.records] == [24, 23, 23, 23, 23, 24, 23]
    assert [len(record.usable_hours()) for record in found.records] == [24, 21, 18, 20, 18, 24, 21]
    assert [(n.action, n.count) for n in found.notes] == [("repaired", 4602), ("kept", 17)]
    evenings = read_records(data_dir / "regulation/pjm_rega_2017-08-01_02_16h-24h_2s_raw.csv.gz")
    assert [record.name[-10:] for record in evenings.records] == ["2017-08-01", "2017-08-02"]


def test_held_values_are_missing_signal(tmp_path: Path) -> None:
    """Half a day that somebody filled with the last value is as little evidence as half a day that is not there."""
    values = noise(5, 17280)
    filled = values.copy()
    filled[3600:10800] = filled[3599]
    found = read_records(
        [write(tmp_path / "day.csv", filled, step=5), write(tmp_path / "b.csv", noise(6, 17280), step=5)]
    )
    assert [len(record.usable_hours()) for record in found.records] == [14, 24]
    assert found.records[0].gaps == ((18000.0, 54000.0),)
    assert any("stands still" in note.reason and note.count == 1 and "5 h" in note.example for note in found.notes)


@pytest.mark.parametrize("value", [0.1, 0.25, 0.0, 1.0])
def test_a_day_that_never_moves_is_no_evidence(tmp_path: Path, value: float) -> None:
    """A feed that was dead all day is left out beside others, and refused alone."""
    dead = write(tmp_path / "dead.csv", np.full(8640, value), step=10)
    found = read_records([dead, write(tmp_path / "b.csv", noise(6, 8640), step=10)])
    assert [record.name for record in found.records] == ["b"]
    assert found.strangers == {}
    assert any(note.action == "dropped" and note.example == "dead" for note in found.notes)
    with pytest.raises(TraceError, match=r"no hour of 1 record is without missing signal: its value never changes"):
        read_records(dead)


@pytest.mark.parametrize(
    ("level", "times", "missing"), [(1.0, 1, 0), (-1.0, 1, 0), (0.0, 1, 1), (0.0, 2, 2), (0.0, 3, 0), (0.98, 4, 0)]
)
def test_a_signal_may_rest_at_its_levels(level: float, times: int, missing: int) -> None:
    """At its ends, and wherever it comes back to, a signal stands still of itself."""
    values = noise(7, 5000)
    for k in range(times):
        values[500 + 1000 * k : 600 + 1000 * k] = level
    assert len(held(values, 2.0, 60.0)) == missing


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.2, 0.5, 1.0]), st.integers(1, 40)), min_size=1, max_size=12))
def test_held_stretches_agree_with_a_plain_loop(runs: list[tuple[float, int]]) -> None:
    """Value by value: who rests, where, and how often."""
    values = np.array([value for value, count in runs for _ in range(count)])
    rests: list[tuple[float, int, int]] = []
    begin = 0
    for i in range(1, values.size + 1):
        if i == values.size or values[i] != values[begin]:
            if i - begin - 1 >= 15:
                rests.append((float(values[begin]), begin, i))
            begin = i
    often = [value for value, _, _ in rests]
    expected = [
        ((a + 1) * 3.0, b * 3.0)
        for value, a, b in rests
        if abs(value) < 1.0 and often.count(value) < 3 and (b - a - 1) * 3.0 > 60.0
    ]
    if np.unique(values).size == 1:  # no signal at all
        expected = [(0.0, values.size * 3.0)] if values.size * 3.0 > 60.0 else []
    assert held(values, 3.0, 60.0) == expected
