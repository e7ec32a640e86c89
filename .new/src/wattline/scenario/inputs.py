"""The files that a scenario reads, so that nothing is written over them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.errors import ScenarioError
from wattline.files import open_regular

if TYPE_CHECKING:
    from wattline.scenario.documents import Document
    from wattline.scenario.read.base import KeyPath

_WRITTEN: tuple[tuple[str | int, ...], ...] = (("name",), ("profiles", "save"), ("output", "folder"))
"""Keys whose text names something else, or what a run leaves."""


def named_files(data: dict[str, Any], base: Path) -> Iterator[tuple[KeyPath, Path]]:
    """Give every file and folder that some text of a scenario's data names, with its key."""
    for key, text in _texts(data, ()):
        if key not in _WRITTEN and text:
            yield key, base / text.partition(".py:")[0]
            if ".py:" in text:
                yield key, base / f"{text.partition('.py:')[0]}.py"


def inputs(document: Document) -> Iterator[tuple[KeyPath, Path]]:
    """Give every file and folder on disk that some text of a scenario names, with its key; the scenario's own has
    none.

    Texts that happen to name a file are given too: whoever has such a file wants to keep it.
    """
    if not document.source.is_program:
        yield (), Path(document.source.file)
    yield from named_files(document.data, document.base)


def identity(document: Document) -> dict[str, Any]:
    """Return what results of a scenario rest on, as plain data: what it says but for its sweep, and the files it
    names.
    """
    data = {key: value for key, value in document.data.items() if key != "sweep"}
    text = json.dumps(data, sort_keys=True, default=str)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return {"name": document.spec.name, "scenario": sha256, "files": inputs_sha256(document)}


def inputs_sha256(document: Document) -> str:
    """Return a hash of all files that the scenario names: what was computed of others does not go with them."""
    return files_sha256(path for key, path in inputs(document) if key)


def files_sha256(paths: Iterable[Path]) -> str:
    """Return a hash of those files among some that there are; that of a journal's folder is its manifest's."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            file = path / "manifest.json" if path.is_dir() else path  # which knows its tables
            if not file.is_file():
                continue
            status = file.stat()
            found = _file_sha256(file.resolve(), status.st_size, status.st_mtime_ns)
        except (OSError, ValueError):  # too long a name, a NUL: it names no file
            continue
        digest.update(f"{found}\n".encode())
    return digest.hexdigest()


@functools.lru_cache(maxsize=1024)
def _file_sha256(path: Path, _size: int, _mtime_ns: int) -> str:
    """Return the hash of a file; one that has not changed since is read once."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


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
