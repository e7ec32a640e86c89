"""Runs that were cut off: tell them from other runs, and carry them on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.errors import ScenarioError
from wattline.files import read_regular
from wattline.journal.frozen import digest, freeze
from wattline.journal.journal import is_journal, read_manifest
from wattline.journal.unfinished import read_flush, read_run, refuse_running, warn_of_damage
from wattline.scenario.study import Study
from wattline.version import __version__

if TYPE_CHECKING:
    from wattline.journal.unfinished import Array, Flush
    from wattline.sim.keeping import Keeper

_DIFFERS = {
    "wattline": "it was begun by Wattline {then}, this is {now}",
    "sources": "it was begun by another state of Wattline's sources",
    "seed": "it was begun with seed {then}, not {now}",
    "scenario": "the scenario has changed since (its content's hash was {then:.8}…, is {now:.8}…)",
    "policies": "a policy's file has changed since",
    "trace": "the jobs are not the same: the trace has changed since",
    "inputs": "machine, limits, signal or outputs are not the same",
    "prices": "the prices are not the same: a series has changed since",
}
"""What tells runs apart, the plainest first, and what to say."""


def keeper_for(study: Study, folder: Path, since: Flush | None = None, *, every_hour: bool = False) -> Keeper:
    """Return what keeps a run of a study in the folder of its journal: now and then, or at every simulated hour."""
    from wattline.sim.keeping import Keeper

    def describe() -> tuple[Mapping[str, Any], Sequence[Array]]:
        text, arrays = freeze(replace(study, baseline=None))
        return {"name": study.name, "identity": identity(study), "hidden": hidden(study), "study": text}, arrays

    return Keeper(folder, describe, since=since, every_hour=every_hour)


def hidden(study: Study) -> str:
    """Return why a run of a study cannot be carried on (nothing: it can)."""
    from wattline.control.users.hidden import why_not_resumable

    return why_not_resumable(study.policies.slots())


def identity(study: Study) -> dict[str, str]:
    """Return what must be the same for a run to be carried on."""
    from wattline.kernel.sources import fingerprint

    files = [read_regular(m.file) for m in study.policies.slots() if m.file is not None]
    return {
        "wattline": __version__,
        "sources": fingerprint(),
        "seed": str(study.seed),
        "scenario": study.scenario_sha256,
        "policies": hashlib.sha256(b"\0".join(files)).hexdigest(),
        "trace": digest(study.trace.jobs),
        "inputs": digest((study.cluster, study.options)),
        "prices": "" if study.billing is None else study.billing.sha256,
    }


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
    found = read_flush(folder)
    warn_of_damage(folder, about)
    return found


def is_over(study: Study, folder: Path) -> bool:
    """Tell whether a folder holds the journal of the same run, carried through to its end."""
    if not is_journal(folder):
        return False
    manifest = read_manifest(folder)
    prices = (manifest.get("accounts") or {}).get("sha256", "")
    then = (manifest["wattline"], manifest["scenario_sha256"], manifest["trace"]["sha256"], prices)
    now = "" if study.billing is None else study.billing.sha256
    same = then == (__version__, study.scenario_sha256, study.trace_sha256, now)
    return same and manifest["stopped"] != "interrupted"
