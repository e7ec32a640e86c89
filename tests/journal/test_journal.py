"""What a journal on disk promises."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace
from wattline.journal import journal as journals
from wattline.journal.journal import SCHEMA, VERSION, Coded, open_journal, read_manifest, write_journal
from wattline.journal.seal import sealed


def example_frames(n: int = 3) -> dict[str, object]:
    """Frames with every column, as arrays, with a null where one is allowed."""
    frames: dict[str, object] = {}
    for name, columns in SCHEMA.items():
        frames[name] = {
            c.name: np.arange(n, dtype=np.int64)
            if c.dtype == "i64"
            else np.arange(n, dtype=np.float64)
            if c.dtype == "f64"
            else Coded(np.arange(n) % 3 - 1, ("a", "b"))
            for c in columns
        }
    return frames


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small journal on disk."""
    write_journal(tmp_path / "j", example_frames(), {"name": "x", "seed": 7})
    return tmp_path / "j"


def test_round_trip(folder: Path) -> None:
    """What is written is read back, column by column, in the order of the schema."""
    journal = open_journal(folder)
    for name, columns in SCHEMA.items():
        frame = journal.read(name)
        assert frame.columns == [c.name for c in columns]
        assert len(frame) == 3
    assert journal.read("jobs", "submit_s")["submit_s"].to_list() == [0.0, 1.0, 2.0]
    assert journal.manifest["name"] == "x"
    assert journal.manifest["journal"] == VERSION


def test_properties_are_lazy(folder: Path) -> None:
    """Opening a journal scans its frames and loads none of them."""
    journal = open_journal(folder)
    frames = (
        journal.jobs,
        journal.placements,
        journal.events,
        journal.timeline,
        journal.decisions,
        journal.classes,
        journal.hours,
    )
    assert all(isinstance(frame, pl.LazyFrame) for frame in frames)


def test_codes_become_names(folder: Path) -> None:
    """A text column may be given as codes; -1 is the empty text."""
    assert open_journal(folder).read("jobs")["user"].to_list() == ["", "a", "b"]


def test_nan_and_minus_one_become_null(tmp_path: Path) -> None:
    """NaN and -1 are nulls where the schema allows nulls, and only there."""
    frames = example_frames(2)
    frames["jobs"]["start_s"] = np.array([np.nan, 1.0])
    frames["events"]["job_id"] = np.array([-1, 4])
    frames["timeline"]["limit_w"] = np.array([np.inf, 5.0])
    frames["placements"]["job_id"] = np.array([-1, 4])
    write_journal(tmp_path / "j", frames, {})
    journal = open_journal(tmp_path / "j")
    assert journal.read("jobs")["start_s"].to_list() == [None, 1.0]
    assert journal.read("events")["job_id"].to_list() == [None, 4]
    assert journal.read("timeline")["limit_w"].to_list() == [np.inf, 5.0]
    assert journal.read("placements")["job_id"].to_list() == [-1, 4]


def test_data_frames_are_taken_too(tmp_path: Path) -> None:
    """A frame may be a polars DataFrame; its columns are put in the schema's order."""
    frames = example_frames()
    frames["classes"] = pl.DataFrame({c.name: ["a"] if c.dtype == "str" else [1] for c in SCHEMA["classes"][::-1]})
    write_journal(tmp_path / "j", frames, {})
    assert open_journal(tmp_path / "j").read("classes").columns == [c.name for c in SCHEMA["classes"]]


def test_empty_frames(tmp_path: Path) -> None:
    """An empty mapping writes an empty table of the right dtypes."""
    write_journal(tmp_path / "j", {name: {} for name in SCHEMA}, {})
    frame = open_journal(tmp_path / "j").read("jobs")
    assert frame.is_empty()
    assert frame.schema["user"] == pl.String


def test_manifest_names_versions(folder: Path) -> None:
    """Every manifest names the versions of what computed it and when."""
    manifest = open_journal(folder).manifest
    assert {"wattline", "python", "numba", "numpy", "polars", "created", "seed"} <= set(manifest)


def test_manifest_takes_numpy_and_infinity(tmp_path: Path) -> None:
    """A manifest stays valid JSON whatever numbers it was given."""
    given = {"seed": np.int64(3), "limit_w": np.inf, "totals": {"e": np.array([1.0, np.nan])}, "path": Path("a")}
    write_journal(tmp_path / "j", example_frames(), given)
    manifest = open_journal(tmp_path / "j").manifest
    assert manifest["seed"] == 3
    assert manifest["limit_w"] is None
    assert manifest["totals"] == {"e": [1.0, None]}
    assert manifest["path"] == "a"


def test_a_journal_is_replaced_and_the_rest_is_kept(folder: Path) -> None:
    """Writing over a journal replaces all its files, drops the stale report and keeps what a user put there."""
    (folder / "report.html").write_text("old")
    (folder / "notes.txt").write_text("mine")
    write_journal(folder, example_frames(5), {"name": "new"})
    assert open_journal(folder).read("jobs").height == 5
    assert not (folder / "report.html").exists()
    assert (folder / "notes.txt").read_text() == "mine"
    assert [p.name for p in folder.parent.iterdir()] == ["j"]


def test_other_folders_are_refused(tmp_path: Path) -> None:
    """A folder with anything else in it is never overwritten."""
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(TraceError, match="no journal"):
        write_journal(tmp_path, example_frames(), {})
    assert (tmp_path / "thesis.tex").exists()
    with pytest.raises(TraceError, match="is a file"):
        write_journal(tmp_path / "thesis.tex", example_frames(), {})


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    """An empty folder that exists already may become a journal."""
    (tmp_path / "j").mkdir()
    write_journal(tmp_path / "j", example_frames(), {})
    assert journals.is_journal(tmp_path / "j")


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """When writing fails, neither half a journal nor a temporary folder is left, and the old journal stands."""
    write_journal(tmp_path / "j", example_frames(), {"name": "old"})
    broken = example_frames()
    broken["classes"]["nodes"] = np.array(["x", "y", "z"])
    with pytest.raises(TraceError, match="'nodes'"):
        write_journal(tmp_path / "j", broken, {})
    assert [p.name for p in tmp_path.iterdir()] == ["j"]
    assert open_journal(tmp_path / "j").manifest["name"] == "old"


def test_a_failed_swap_restores_the_old_journal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new folder cannot take its place, the old one is back where it was, with what a user put there."""
    (folder / "notes.txt").write_text("mine")
    rename = Path.rename

    def refuse_new(self: Path, target: Path) -> Path:
        if self.name.endswith(f"-{os.getpid()}"):
            raise PermissionError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_new)
    with pytest.raises(TraceError, match="cannot be written: no"):
        write_journal(folder, example_frames(5), {})
    assert open_journal(folder).manifest["name"] == "x"
    assert (folder / "notes.txt").read_text() == "mine"


def test_why_it_cannot_be_written_is_what_the_system_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is called that, anything else is not; the name that the folder had in the making is nobody's
    business.
    """
    for number, said in ((errno.ENOSPC, "No space left on device"), (errno.EROFS, "Read-only file system")):

        def refuse(self: Path, *_: object, why: int = number, **__: object) -> None:
            raise OSError(why, os.strerror(why), str(self))

        with monkeypatch.context() as patched:
            patched.setattr(Path, "mkdir", refuse)
            with pytest.raises(TraceError) as caught:
                write_journal(tmp_path / "j", example_frames(5), {})
        assert str(caught.value) == f"{tmp_path / 'j'}: cannot be written: {said}; give another folder"


def test_a_full_disk_is_called_that_whatever_polars_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library tells of a broken file, the system is asked; a disk that takes more is not blamed."""

    def broken(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError("parquet: File out of specification: Invalid thrift: bad data")

    def full(self: Path, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(pl.DataFrame, "write_parquet", broken)
    with pytest.raises(TraceError, match="cannot be written: parquet: File out of specification"):
        write_journal(tmp_path / "j", example_frames(5), {})
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TraceError) as caught:
        write_journal(tmp_path / "j", example_frames(5), {})
    assert str(caught.value) == f"{tmp_path / 'j'}: cannot be written: No space left on device; give another folder"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("events"), "frame 'events' is missing"),
        (lambda f: f.update(extra={}), "unknown frame 'extra'"),
        (lambda f: f["jobs"].pop("nodes"), "column 'nodes' is missing"),
        (lambda f: f["jobs"].update(nodes=np.arange(4)), "differ in length"),
        (lambda f: f["jobs"].update(nodes=pl.Series([1, None, 2])), "must not hold nulls"),
    ],
)
def test_wrong_frames_are_named(tmp_path: Path, change: object, message: str) -> None:
    """Frames that do not follow the schema are refused with the name of what is wrong."""
    frames = example_frames()
    change(frames)
    with pytest.raises(TraceError, match=message):
        write_journal(tmp_path / "j", frames, {})


def damage_cut(folder: Path) -> None:
    """Cut the end off a file, as a full disk would."""
    path = folder / "jobs.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def damage_version(version: object) -> object:
    """Return a function that writes another version into the manifest."""

    def damage(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest.pop("seal", None)  # which earlier versions have none of
        (folder / "manifest.json").write_text(json.dumps(manifest | {"journal": version}))

    return damage


def damage_column(folder: Path) -> None:
    """Take a column away."""
    pl.read_parquet(folder / "jobs.parquet").drop("energy_j").write_parquet(folder / "jobs.parquet")


def damage_dtype(folder: Path) -> None:
    """Turn a column of integers into text."""
    frame = pl.read_parquet(folder / "jobs.parquet").with_columns(pl.lit("x").alias("nodes"))
    frame.write_parquet(folder / "jobs.parquet")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_cut, "jobs.parquet: not a whole Parquet file"),
        (lambda f: (f / "jobs.parquet").write_bytes(b""), "jobs.parquet: not a whole Parquet file"),
        (lambda f: (f / "jobs.parquet").write_bytes(b"\0\xff" * 100), "jobs.parquet: not a whole Parquet file"),
        (lambda f: (f / "events.parquet").unlink(), "events.parquet: missing from the journal"),
        (lambda f: (f / "manifest.json").unlink(), "not a journal: it has no manifest.json"),
        (lambda f: (f / "manifest.json").write_text("{"), "is not JSON"),
        (lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe\x00"), "is not JSON"),
        (lambda f: (f / "manifest.json").write_text("[1]"), "must be a version number"),
        (damage_version("one"), "must be a version number"),
        (damage_version(VERSION + 1), "newer Wattline"),
        (damage_column, "field 'energy_j': column is missing"),
        (damage_dtype, "field 'nodes': column must be i64"),
    ],
)
def test_damage_is_named_in_one_line(folder: Path, damage: object, message: str) -> None:
    """Every kind of damage gives one line that names the file and what is wrong with it."""
    damage(folder)
    with pytest.raises(TraceError, match=message) as caught:
        open_journal(folder)
    assert "\n" not in str(caught.value)


def damage_page(folder: Path) -> None:
    """Damage the data behind an intact footer."""
    path = folder / "jobs.parquet"
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)


def test_damaged_pages_are_named_when_read(folder: Path) -> None:
    """Damage behind an intact footer, after the journal was opened, is one line too."""
    journal = open_journal(folder)
    damage_page(folder)
    with pytest.raises(TraceError, match=r"jobs\.parquet: cannot be read"):
        journal.read("jobs")


def test_a_table_without_a_checksum_is_refused(folder: Path) -> None:
    """A manifest that leaves a table out is not one that a run wrote."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["tables"]["jobs"]
    (folder / "manifest.json").write_text(json.dumps(sealed(manifest)))
    with pytest.raises(TraceError, match=r"has no checksum of jobs\.parquet"):
        open_journal(folder)


def cut_rows(folder: Path) -> None:
    """Leave fewer rows, in a file that is whole."""
    pl.read_parquet(folder / "events.parquet").head(2).write_parquet(folder / "events.parquet")


def mix(folder: Path) -> None:
    """Put a table of another run, as long as this one's, into the journal."""
    other = example_frames()
    other["timeline"]["power_w"] = np.array([7.0, 8.0, 9.0])
    write_journal(folder.parent / "other", other, {})
    (folder.parent / "other" / "timeline.parquet").replace(folder / "timeline.parquet")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut_rows, r"events\.parquet: has 2 rows, the run wrote 3: it was cut or belongs to another run; run the"),
        (mix, r"timeline\.parquet: is not the table that the run wrote: it was changed, damaged or belongs to another"),
        (damage_page, r"jobs\.parquet: is not the table that the run wrote"),
    ],
)
def test_tables_are_those_that_the_run_wrote(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    """A table with fewer rows, of another run or with another byte is refused though its columns are right."""
    damage(folder)
    with pytest.raises(TraceError, match=message):
        open_journal(folder)


def test_a_manifest_whose_checksums_are_none(folder: Path) -> None:
    """An entry that is no table of checksums is named."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(sealed(manifest | {"tables": ["jobs"]})))
    with pytest.raises(TraceError, match=r"manifest\.json: field 'tables': must be a table of tables"):
        open_journal(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m | {"end_s": 5.0},
        lambda m: m | {"name": "y"},
        lambda m: m | {"more": 1},
        lambda m: m | {"seal": "0" * 64},
        lambda m: {key: value for key, value in m.items() if key != "name"},
        lambda m: {key: value for key, value in m.items() if key != "seal"},
    ],
)
def test_the_manifest_is_the_one_that_the_run_wrote(folder: Path, change: Callable[[Any], Any]) -> None:
    """An entry that is changed, added or taken away is noticed by all who read a journal; the order of entries says
    nothing.
    """
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(told.items()))))
    assert open_journal(folder).manifest == told
    path.write_text(json.dumps(change(told)))
    for read in (open_journal, read_manifest, read_trace):
        with pytest.raises(TraceError, match=r"manifest\.json: is not the manifest that the run wrote") as caught:
            read(folder)
        assert "\n" not in str(caught.value)


def test_a_manifest_nested_without_end(folder: Path) -> None:
    """Brackets without end are no JSON that anybody wrote."""
    (folder / "manifest.json").write_text("[" * 200_000)
    with pytest.raises(TraceError, match=r"manifest\.json: is not JSON"):
        open_journal(folder)


def test_no_folder(tmp_path: Path) -> None:
    """A folder that does not exist is said not to exist; a file is said to be a file."""
    with pytest.raises(TraceError, match="no such folder"):
        open_journal(tmp_path / "nowhere")
    (tmp_path / "f").write_text("")
    with pytest.raises(TraceError, match="a journal is a folder"):
        open_journal(tmp_path / "f")


def test_what_a_run_was_held_against_goes_with_it(folder: Path) -> None:
    """A run written anew is not held against the baseline of the one before."""
    write_journal(folder / "baseline", example_frames(), {})
    write_journal(folder, example_frames(), {"name": "new"})
    assert not (folder / "baseline").exists()


def test_schema_explains_itself() -> None:
    """Every column of the schema says what it means, and its unit when its name has one."""
    for columns in SCHEMA.values():
        for column in columns:
            assert column.meaning
            if column.name.endswith(("_s", "_w", "_j")):
                assert column.unit == column.name.rsplit("_", 1)[1].replace("w", "W").replace("j", "J")


def test_a_hundred_thousand_jobs_write_fast(tmp_path: Path) -> None:
    """Writing a journal costs microseconds a row, so that it never dominates a run."""
    frames = example_frames(100_000)
    began = time.process_time()
    write_journal(tmp_path / "j", frames, {})
    assert time.process_time() - began < 2.0
