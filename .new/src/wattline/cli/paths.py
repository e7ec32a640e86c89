"""Paths that a user may mix up: a job log where a scenario belongs, the other way round, a run that was cut off, one
name for two results.
"""

from __future__ import annotations

from itertools import combinations
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
    if _is_same(source, target, there=True):
        raise ScenarioError(f"{target}: is the file that is read; give another name for the result")


def refuse_what_it_was_made_from(journal: Path, target: Path) -> None:
    """Raise an error if a result would be written over a file that the run of a journal was made from.

    The names that its scenario has for files are looked for here and where the journal lies: it does not know where
    the scenario was.
    """
    import tomllib

    from wattline.journal.journal import is_journal, read_manifest
    from wattline.scenario.inputs import is_same, named_files

    refuse_journal_file(target)
    if not is_journal(journal):
        return
    try:
        data = tomllib.loads(str(read_manifest(journal).get("scenario") or ""))
    except tomllib.TOMLDecodeError:  # of a newer version: whoever reads the journal says so
        return
    for base in (Path(), journal.parent):
        for key, path in named_files(data, base):
            if is_same(path, target):
                named = ".".join(map(str, key))
                raise ScenarioError(
                    f"{target}: is the file of {named}, which {journal} was made from; give another name"
                )


def refuse_two(*results: tuple[str, Path | None]) -> None:
    """Raise an error if two results, each with its flag, would be written to one file, whatever names lead there."""
    for (one, first), (other, second) in combinations(results, 2):
        if first is not None and second is not None and _is_same(first, second):
            raise ScenarioError(f"{other} {second}: is the file of {one}; give each result a name of its own")


def _is_same(one: Path, other: Path, *, there: bool = False) -> bool:
    """Tell whether two names lead to one file (which is ``there``), by links or another spelling."""
    try:
        if one.exists() and other.exists():
            return one.samefile(other)
        return not there and one.resolve() == other.resolve()
    except (OSError, ValueError, RuntimeError):  # no name of a file: whoever reads or writes it says so
        return False
