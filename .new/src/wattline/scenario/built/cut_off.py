"""Runs that were cut off: make the journal of what they have done, so that it can be read.

A run holds two locks until its journal is in place: that of its folder and that of what is kept of it. A reader takes
both before it writes, and looks again once it has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

from wattline.errors import TraceError
from wattline.files import refuse_name
from wattline.journal.folder_lock import held, refuse_held
from wattline.journal.frozen import thaw
from wattline.journal.journal import BASELINE, is_journal, read_manifest, tidy
from wattline.journal.unfinished import (
    is_unfinished,
    locked,
    newest,
    read_flush,
    read_run,
    refuse_running,
    token,
    was_kept,
)
from wattline.units import show_duration

_ONE_BY_ONE = Lock()
"""Threads of a process that read the same run wait for the first; another process is refused."""


def cut_text(record: Mapping[str, Any]) -> str:
    """Return how far a run has come, in words."""
    return show_duration(float(record["cut_s"]) - float(record["start_s"]))


def make_readable(folder: Path) -> str:
    """Make the journal of a run that was cut off, unless it is there; return what to say (nothing: the run is over).

    A run that goes on, also one that is writing its journal, is an error.
    """
    refuse_name(folder)
    if folder.is_file():
        return ""
    with _ONE_BY_ONE:
        return _make_readable(folder)


def _make_readable(folder: Path) -> str:
    _refuse_at_work(folder)
    tidy(folder)
    if not _is_cut(folder):
        return ""
    if _is_made(folder):
        return _write_and_say(folder)
    with ExitStack() as locks:
        for place in _locked_with(folder):
            locks.enter_context(held(place))
        if not _is_cut(folder):  # it has gone on to its end meanwhile
            return ""
        try:
            locks.enter_context(locked(folder))
        except OSError as problem:
            raise TraceError.at(folder, f"cannot be locked ({problem.strerror})", hint="read a copy of it") from None
        return _write_and_say(folder)


def _refuse_at_work(folder: Path) -> None:
    """Raise an error if a run that writes to a folder goes on and has no whole journal there yet."""
    refuse_running(folder)
    if is_unfinished(folder) or not folder.exists():  # for a moment there is none: the new one takes its place
        for place in _locked_with(folder):
            refuse_held(place)


def _locked_with(folder: Path) -> list[Path]:
    """Return the folders whose locks a run may hold that writes here: a baseline lies in the folder of its run."""
    return [folder.parent, folder] if folder.name == BASELINE and is_journal(folder.parent) else [folder]


def _is_cut(folder: Path) -> bool:
    return is_unfinished(folder) and (was_kept(folder) or not is_journal(folder))


def _is_made(folder: Path) -> bool:
    """Tell whether the journal in a folder is that of the newest flush."""
    record = newest(folder)
    return record is not None and is_journal(folder) and read_manifest(folder).get("resume") == token(record)


def _write_and_say(folder: Path) -> str:
    """Make the journal, unless it is there; return how far it goes and whether the run can go on."""
    manifest = read_manifest(folder) if is_journal(folder) else {}
    made = manifest.get("resume")
    try:
        record = newest(folder)
        if record is None or made != token(record):
            record = _write_cut(folder)
        about, _ = read_run(folder, arrays=False)
    except TraceError as problem:
        if made is None:
            raise
        there = show_duration(manifest["end_s"] - manifest["start_s"])
        return f"{folder}: the journal of the first {there} of simulated time; it cannot be resumed: {problem}"
    go_on = "it cannot be resumed" if about["hidden"] else "the command that began it goes on with --resume"
    return f"{folder}: cut off after {cut_text(record)} of simulated time; {go_on}"


def _write_cut(folder: Path) -> dict[str, Any]:
    """Write the journal up to the newest flush that is whole; return its record."""
    from wattline.sim.keeping import cut_result

    flush = read_flush(folder)
    about, arrays = read_run(folder)
    study: Any = thaw(about["study"], arrays)  # a Study, made by its name: this file stands below that one
    result = cut_result(flush, study.trace.jobs, study.cluster, study.policies, study.options, study.seed)
    study.write(result, folder, resume=token(flush.record))
    return flush.record
