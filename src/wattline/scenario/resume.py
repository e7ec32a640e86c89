"""Runs that were cut off: tell them from other runs, carry them on, and make the journal of what they have done."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import ScenarioError, TraceError
from wattline.files import read_regular
from wattline.journal.frozen import freeze, thaw
from wattline.journal.unfinished import is_unfinished, newest, read_flush, read_run, refuse_running, token, was_kept
from wattline.units import show_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wattline.journal.unfinished import Array, Flush
    from wattline.scenario.studies import Study
    from wattline.sim.keeping import Keeper

_DIFFERS = {
    "wattline": "it was begun by Wattline {then}, this is {now}",
    "sources": "it was begun by another state of Wattline's sources",
    "seed": "it was begun with seed {then}, not {now}",
    "scenario": "the scenario has changed since (its content's hash was {then:.8}…, is {now:.8}…)",
    "policies": "a policy's file has changed since",
    "trace": "the jobs are not the same: the trace has changed since",
    "inputs": "machine, limits, signal or outputs are not the same",
}
"""What tells runs apart, the plainest first, and what to say."""


def keeper_for(study: Study, folder: Path, since: Flush | None = None, *, every_hour: bool = False) -> Keeper:
    """Return who keeps a run of a study in the folder of its journal: now and then, or at every simulated hour."""
    from wattline.sim.keeping import Keeper

    def describe() -> tuple[Mapping[str, Any], Sequence[Array]]:
        text, arrays = freeze(replace(study, baseline=None))
        return {"name": study.name, "identity": identity(study), "hidden": hidden(study), "study": text}, arrays

    return Keeper(folder, describe, since=since, every_hour=every_hour)


def hidden(study: Study) -> str:
    """Return why a run of a study cannot be carried on (nothing: it can)."""
    from wattline.control.hidden import why_not_resumable

    return why_not_resumable(study.policies.slots())


def identity(study: Study) -> dict[str, str]:
    """Return what must be the same for a run to be carried on."""
    from wattline.model.sources import fingerprint
    from wattline.version import __version__

    files = [read_regular(m.file) for m in study.policies.slots() if m.file is not None]
    return {
        "wattline": __version__,
        "sources": fingerprint(),
        "seed": str(study.seed),
        "scenario": study.scenario_sha256,
        "policies": hashlib.sha256(b"\0".join(files)).hexdigest(),
        "trace": _sha256(study.trace.jobs),
        "inputs": _sha256((study.cluster, study.options)),
    }


def _sha256(value: Any) -> str:
    text, arrays = freeze(value)
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def pick_up(study: Study, folder: Path) -> Flush:
    """Return where the run in a folder was cut off; refuse one that a run of this study would not carry on alike."""
    refuse_running(folder)
    about, _ = read_run(folder, arrays=False)
    now = identity(study)
    for part, text in _DIFFERS.items():
        then = str(about["identity"].get(part))
        if then != now[part]:
            differs = text.format(then=then, now=now[part])
            raise ScenarioError(f"{folder}: cannot be resumed: {differs}; start over without --resume")
    if about["hidden"]:
        raise ScenarioError(f"{folder}: cannot be resumed: {about['hidden']}; start over without --resume")
    return read_flush(folder)


def is_over(study: Study, folder: Path) -> bool:
    """Tell whether a folder holds the journal of the same run, carried through to its end."""
    from wattline.journal.journal import is_journal, read_manifest
    from wattline.version import __version__

    if not is_journal(folder):
        return False
    manifest = read_manifest(folder)
    then = (manifest["stopped"], manifest["wattline"], manifest["scenario_sha256"], manifest["trace"]["sha256"])
    return then[0] != "interrupted" and then[1:] == (__version__, study.scenario_sha256, study.trace_sha256)


def cut_text(record: Mapping[str, Any]) -> str:
    """Return how far a run has come, in words."""
    return show_duration(float(record["cut_s"]) - float(record["start_s"]))


def make_readable(folder: Path) -> str:
    """Make the journal of a run that was cut off, unless it is there; return what to say (nothing: the run is over)."""
    from wattline.journal.journal import is_journal, read_manifest, tidy

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
    study: Study = thaw(about["study"], arrays)
    result = cut_result(flush, study.trace.jobs, study.cluster, study.policies, study.options, study.seed)
    study.write(result, folder, resume=token(flush.record))
    return flush.record
