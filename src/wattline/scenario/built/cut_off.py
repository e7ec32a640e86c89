"""Runs that were cut off: make the journal of what they have done, so that it can be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wattline.errors import TraceError
from wattline.files import refuse_name
from wattline.journal.frozen import thaw
from wattline.journal.journal import is_journal, read_manifest, tidy
from wattline.journal.unfinished import is_unfinished, newest, read_flush, read_run, refuse_running, token, was_kept
from wattline.units import show_duration


def cut_text(record: Mapping[str, Any]) -> str:
    """Return how far a run has come, in words."""
    return show_duration(float(record["cut_s"]) - float(record["start_s"]))


def make_readable(folder: Path) -> str:
    """Make the journal of a run that was cut off, unless it is there; return what to say (nothing: the run is over)."""
    refuse_name(folder)
    if folder.is_file():
        return ""
    tidy(folder)
    if not is_unfinished(folder) or (is_journal(folder) and not was_kept(folder)):
        return ""
    refuse_running(folder)
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
