"""Results of a study as they come, by what was asked, so that a study that was cut off at any moment goes on.

A file of lines. The first says what is studied, by which version of Wattline from which sources; each other one is a
result with its checksum. A line that was cut off or damaged is no result: it is made again.
"""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from wattline.errors import InputError
from wattline.files import read_regular
from wattline.journal.plain import from_plain, to_plain
from wattline.version import __version__, sources

T = TypeVar("T")

KEPT = "kept.jsonl"
"""The file's name in the folder of a study that is not over."""

_BEGAN = ("wattline", "sources")


class Kept:
    """Results of a study that is not over, in a file.

    Parameters
    ----------
    path
        Where they are kept.
    about
        What is studied, as plain data: results are taken only where all of this is the same.
    resume
        Whether to go on with what is there; else it begins anew.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], *, resume: bool) -> None:
        self.path = path
        self.damaged = 0
        """Lines that are no results any more."""
        self.made = 0
        """Results that were made since."""
        self._about = {**json.loads(json.dumps(about)), "wattline": __version__, "sources": sources()}
        self._lines: dict[str, str] = {}
        self._lock = threading.Lock()
        if resume and path.exists():
            self._read()
        self._begin()

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    @property
    def keys(self) -> list[str]:
        """What results there are."""
        return list(self._lines)

    def get(self, key: str) -> Any:
        """Return a result that is there."""
        return from_plain(json.loads(zlib.decompress(base64.b64decode(self._lines[key]))))

    def put(self, key: str, value: Any) -> None:
        """Keep a result."""
        text = json.dumps(to_plain(value), allow_nan=False, separators=(",", ":"))
        packed = base64.b64encode(zlib.compress(text.encode(), 1)).decode()
        with self._lock:
            self._lines[key] = packed
            self.made += 1
            self._file.write(_line(key, packed))
            self._file.flush()

    def take(self, key: str, make: Callable[[], T]) -> T:
        """Return a result: the one that is there, or one that is made now and kept."""
        if key in self._lines:
            found: T = self.get(key)
            return found
        made = make()
        self.put(key, made)
        return made

    @property
    def words(self) -> str:
        """What the study goes on with (nothing: an empty text)."""
        lost = f"{self.damaged:,} damaged ones are made again" if self.damaged else ""
        there = f"going on; {len(self):,} results are kept" if self._lines else ""
        told = ", ".join(part for part in (there, lost) if part)
        return f"{self.path.parent}: {told}" if told else ""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def leave(self) -> None:
        """Close the file of a study that is not over; where nothing was done there is none."""
        if self._lines:
            self.close()
        else:
            self.forget()

    def forget(self) -> None:
        """Remove the file: the study is over."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _begin(self) -> None:
        """Begin the file anew with what is known: what was cut off or damaged is gone."""
        beside = self.path.with_name(f".{self.path.name}.writing")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("w", encoding="utf-8") as file:
                file.write(json.dumps(self._about, ensure_ascii=False) + "\n")
                file.writelines(_line(key, packed) for key, packed in self._lines.items())
            beside.replace(self.path)
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as problem:
            raise InputError(f"{self.path}: cannot be written ({problem.strerror})") from None

    def _read(self) -> None:
        try:
            first, *lines = read_regular(self.path).decode("utf-8", errors="replace").split("\n")[:-1]
            told = json.loads(first)
        except (OSError, ValueError, RecursionError):
            raise InputError(f"{self.path}: cannot be read; begin anew without going on with it") from None
        check_same(self.path.parent, told, self._about)
        for line in lines:
            found = _parsed(line)
            if found is None:
                self.damaged += 1
            else:
                self._lines[found[0]] = found[1]


def open_kept(folder: Path, about: Mapping[str, Any], *, resume: bool, result: str) -> Kept:
    """Return the place for results of a study in its folder; ``result`` is the file that one which is over leaves."""
    if resume and not (folder / KEPT).exists() and (folder / result).exists():
        raise InputError(f"{folder}: this study is over, nothing is left to resume")
    return Kept(folder / KEPT, about, resume=resume)


def check_same(folder: Path, told: Any, ours: Mapping[str, Any]) -> None:
    """Refuse results of another study, or of another version of Wattline."""
    there = told if isinstance(told, dict) else {}
    other = [key for key in ours if there.get(key) != ours[key]]
    plain = [key for key in other if key not in _BEGAN]
    if plain:
        raise InputError(
            f"{folder}: holds another study, not this one ({', '.join(plain)} differ); give its own folder"
        )
    if other:
        told_by = there.get("wattline", "?")
        raise InputError(
            f"{folder}: was begun by another version of Wattline ({told_by}, this is {ours['wattline']}) or by other "
            "sources, whose results are not mixed; begin anew, without --resume"
        )


def _line(key: str, packed: str) -> str:
    text = json.dumps([key, packed])
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _parsed(line: str) -> tuple[str, str] | None:
    """Return key and result of a line, or None where it is not as it was written."""
    sum_, _, text = line.partition(" ")
    if sum_ != f"{zlib.crc32(text.encode()):08x}":
        return None
    key, packed = json.loads(text)
    return key, packed
