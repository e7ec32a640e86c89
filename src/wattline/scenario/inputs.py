"""The files that a scenario reads, so that nothing is written over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.errors import ScenarioError

if TYPE_CHECKING:
    from wattline.scenario.documents import Document
    from wattline.scenario.read.base import KeyPath

_WRITTEN: tuple[tuple[str | int, ...], ...] = (("name",), ("profiles", "save"), ("output", "folder"))
"""Keys whose text names something else, or what a run leaves."""


def inputs(document: Document) -> Iterator[tuple[KeyPath, Path]]:
    """Give every file and folder on disk that some text of a scenario names, with its key; the scenario's own has
    none.

    Texts that happen to name a file are given too: whoever has such a file wants to keep it.
    """
    if not document.source.is_program:
        yield (), Path(document.source.file)
    for key, text in _texts(document.data, ()):
        if key not in _WRITTEN and text:
            yield key, document.base / text.partition(".py:")[0]
            if ".py:" in text:
                yield key, document.base / f"{text.partition('.py:')[0]}.py"


def refuse_input(document: Document, target: Path, wanted: str, *, but: tuple[KeyPath, ...] = ()) -> None:
    """Refuse to write a file or a folder that the scenario reads; ``wanted`` is who asks, for the message."""
    for key, path in inputs(document):
        if key not in but and is_same(path, target):
            what = f"the file of {'.'.join(map(str, key))}" if key else "the scenario"
            raise ScenarioError(f"{wanted}: {target} is {what}, which is read; give another name for the result")


def is_same(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to one file or folder, by whatever names and links."""
    try:
        return one.exists() and other.exists() and one.samefile(other)
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL, links in a circle: no file
        return False


def _texts(data: Any, key: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(data, str):
        yield key, data
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _texts(value, (*key, name))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from _texts(value, (*key, i))
