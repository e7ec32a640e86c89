"""Folders of results: whose they are. Results of another scenario are overwritten only where the user says so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.api.bids import CERTIFICATE
from wattline.errors import ScenarioError, shorten
from wattline.files import read_regular, refuse_journal_file
from wattline.version import __version__

if TYPE_CHECKING:
    from wattline.cli.terminal import Terminal
    from wattline.scenario import Document, Study

RESULT, REPRODUCTION = "comparison.json", "reproduction.json"
"""What a folder is known by that holds a comparison, a certificate or a reproduction."""

Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Overwrite results of another scenario in the folder (its own are overwritten anyway)."
    ),
]


def refuse_other_journal(folder: Path, name: str, *, force: bool) -> None:
    """Refuse to overwrite the journal, or the run that was cut off, of another scenario."""
    from wattline.journal.journal import MANIFEST, is_journal
    from wattline.journal.unfinished import place

    if force:
        return
    found = [(folder / MANIFEST, "the journal")] if is_journal(folder) else []
    for path, what in (*found, (place(folder) / "run.json", "a run, cut off,")):
        told = _read(path)
        if isinstance(told.get("name"), str):
            _refuse_other(folder, what, [told["name"]], [name], told.get("created"))


def say_replaced(folder: Path, study: Study, terminal: Terminal) -> None:
    """Say that a journal of the same scenario, but with other settings, is about to be replaced."""
    from wattline.journal.journal import MANIFEST

    told = _read(folder / MANIFEST)
    if told.get("name") == study.name and told.get("scenario_sha256") not in (None, study.scenario_sha256):
        terminal.say(
            f"{folder}: replaces the journal of {study.name!r} with other settings{_written(told.get('created'))}"
        )


def refuse_other_comparison(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Refuse to overwrite a comparison of other scenarios."""
    from wattline.journal.journal import MANIFEST

    if force:
        return
    from wattline.journal.kept import KEPT

    told = _read(folder / RESULT) or _read_line(folder / KEPT)
    there = told.get("scenarios")
    if not isinstance(there, list):  # stopped before it was shown, or of an earlier Wattline: its journals know
        journals = [_read(path) for path in sorted(folder.glob(f"runs/*/*/{MANIFEST}"))]
        there = sorted({str(about["name"]) for about in journals if "name" in about})
        told = journals[0] if journals else {}
    if there:
        _refuse_other(folder, "a comparison", [str(name) for name in there], list(names), told.get("created"))


def refuse_other_sweep(folder: Path, name: str, *, force: bool, resume: bool) -> None:
    """Refuse a folder that holds anything but a sweep of the same scenario."""
    from wattline.api.sweeps.sweep import ABOUT
    from wattline.journal.kept import KEPT

    told = _read(folder / ABOUT) or _read_line(folder / KEPT)
    if isinstance(told.get("name"), str):
        if not force and not resume:
            _refuse_other(folder, "a sweep", [told["name"]], [name], None)
        return
    if any(folder.iterdir()) and not force:
        raise ScenarioError(
            f"{folder}: is not empty, and holds no sweep; --force writes there anyway, or give another --out"
        )


def refuse_other(folder: Path, kind: str, name: str, *, force: bool) -> None:
    """Refuse to overwrite a certificate or a reproduction (``kind``) of something else."""
    from wattline.journal.journal import is_journal
    from wattline.journal.kept import KEPT

    what = {CERTIFICATE: "a certificate", REPRODUCTION: "a reproduction"}[kind]
    told = _read(folder / kind)
    if force:
        return
    if isinstance(told.get("name"), str):
        _refuse_other(folder, what, [told["name"]], [name], told.get("created"))
    begun = _read_line(folder / KEPT)
    if isinstance(begun.get("name"), str):
        _refuse_other(folder, f"{what}, cut off,", [begun["name"]], [name], None)
    if kind == REPRODUCTION and (is_journal(folder) or (folder / RESULT).exists()):
        held = "a journal" if is_journal(folder) else "a comparison"
        raise ScenarioError(f"{folder}: holds {held}; --force writes {what} over its pages, or give another --out")


def keep_reproduction(folder: Path, name: str, data: dict[str, Any]) -> None:
    """Write what a reproduction found beside its page, by which the folder is known from then on."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"name": name, "created": created, "wattline": __version__, **data}
    text = json.dumps(told, ensure_ascii=False, allow_nan=False, default=str, indent=1)
    (folder / REPRODUCTION).write_text(text + "\n", encoding="utf-8")


def check_writable(folder: Path) -> None:
    """Refuse a folder for results that cannot be made or written, before anything is computed."""
    import tempfile

    if folder.exists() and not folder.is_dir():
        raise ScenarioError(f"{folder}: is a file, not a folder; give another one with --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ScenarioError(f"{folder}: cannot be written ({why}); give another --out") from None


def refuse_own_scenario(path: Path, document: Document, *, force: bool) -> None:
    """Refuse to write a scenario with a bid over a file that none of its bids made, before the bid is searched."""
    from wattline.scenario.inputs import refuse_input
    from wattline.scenario.write_bid import refuse_own

    if not os.access(path if path.exists() else path.parent, os.W_OK):
        why = "no permission" if path.parent.is_dir() else "no such folder"
        raise ScenarioError(f"{path}: cannot be written ({why}); give another --write")
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "no regular file"
        raise ScenarioError(f"{path}: is {what}, so no scenario is written there; give another --write")
    refuse_input(document, path, "--write", but=((),))
    refuse_journal_file(path)
    if not force:
        refuse_own(document, path, "--force")


def _refuse_other(folder: Path, what: str, there: list[str], names: list[str], created: object) -> None:
    if set(there) != set(names):
        theirs, ours = (", ".join(shorten(name) for name in sorted(set(some))) for some in (there, names))
        raise ScenarioError(
            f"{folder}: holds {what} of {theirs}{_written(created)}, not of {ours}; --force overwrites it, or give "
            "another --out"
        )


def _written(created: object) -> str:
    return f" (written {created})" if isinstance(created, str) and len(created) < 40 else ""


def _read_line(path: Path) -> dict[str, Any]:
    """Return what the first line of a file says."""
    try:
        return _plain(json.loads(read_regular(path).split(b"\n", 1)[0]))
    except (OSError, ValueError, RecursionError):
        return {}


def _plain(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
