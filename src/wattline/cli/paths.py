"""Paths that a user may mix up: a job log where a scenario belongs, the other way round, a run that was cut off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import ScenarioError, TraceError
from wattline.files import refuse_journal_file

if TYPE_CHECKING:
    from wattline.cli.terminal import Terminal


def refuse_log(path: Path) -> None:
    """Raise an error that says how to replay it if a file given as a scenario is a job log."""
    from wattline.formats.jobs import guess_format

    if path.suffix == ".toml" or not path.is_file():
        return
    try:
        kind = guess_format(path)
    except TraceError:
        return  # whatever it is, the reader of scenarios says what is wrong with it
    raise ScenarioError(f"{path}: is a job log ({kind}), not a scenario; replay it with: wattline replay {path}")


def refuse_scenario(path: Path) -> None:
    """Raise an error that says how to run it if a file given as a job log is a scenario."""
    if path.suffix == ".toml" and path.is_file():
        raise ScenarioError(f"{path}: is a scenario, not a job log; run it with: wattline run {path}")


def say_cut(folder: Path, terminal: Terminal) -> None:
    """If a folder holds a run that was cut off, make its journal readable and say so."""
    from wattline.journal.journal import BASELINE, tidy
    from wattline.journal.unfinished import is_unfinished, refuse_running

    try:
        if folder.is_file():
            return
        folder.resolve()
    except (OSError, RuntimeError):  # a name too long, links in a circle: whoever reads it says so
        return
    tidy(folder)
    if is_unfinished(folder) or not folder.exists():
        from wattline.scenario.built.cut_off import make_readable

        said = make_readable(folder)
        if said:
            terminal.say(said)
    if is_unfinished(folder / BASELINE):
        refuse_running(folder / BASELINE)
        terminal.say(f"{folder}: its baseline was cut off; the command that began it goes on with --resume")


def refuse_same(source: Path, target: Path) -> None:
    """Raise an error if a result would be written over what it is made from, or over a table of a journal."""
    refuse_journal_file(target)
    try:
        same = target.exists() and source.exists() and target.samefile(source)
    except (OSError, ValueError):  # no name of a file: whoever reads or writes it says so
        same = False
    if same:
        raise ScenarioError(f"{target}: is the file that is read; give another name for the result")
