"""The records of a run that is not over: JSON sealed by its own checksum, every key of its own type, or damaged."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wattline.errors import shorten
from wattline.files import read_regular

LAYOUT = 2
SEAL = "sha256"


class Damaged(Exception):  # noqa: N818  (it never leaves the reading of unfinished runs)
    """A file of an unfinished run is not what was written."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


Keys = Mapping[str, Callable[[Any], bool]]
_FILE: Keys = {"run": _is_text, "bytes": _is_count, "crc": _is_count}
RUN_KEYS: Keys = {**_FILE, "identity": _are_texts, "hidden": _is_text, "study": _is_text}
FLUSH_KEYS: Keys = {
    **_FILE,
    "flush": _is_count,
    "logs_bytes": _is_count,
    "logs_crc": _is_count,
    "cut_s": _is_number,
    "start_s": _is_number,
    "wall_s": _is_number,
    "names": _are_names,
    "logs": _are_names,
    "layout_of_state": _is_text,
}
"""What a record must hold, and how each is told to be right."""


def encode(record: Mapping[str, Any]) -> bytes:
    """Return a record as JSON with its layout and its seal."""
    whole = {"layout": LAYOUT, **record}
    return json.dumps({**whole, SEAL: _seal(whole)}, ensure_ascii=False).encode()


def read_record(path: Path, keys: Keys) -> dict[str, Any]:
    """Return a record that is whole, and holds these keys."""
    try:
        record = json.loads(read_regular(path))
    except OSError as problem:
        raise Damaged(path, f"cannot be read ({problem.strerror})") from None
    except (ValueError, RecursionError):
        raise Damaged(path, "is damaged (not JSON)") from None
    if not isinstance(record, dict) or "layout" not in record:
        raise Damaged(path, "is damaged (its keys are missing)")
    if record["layout"] != LAYOUT:
        raise Damaged(path, f"is of layout {shorten(record['layout'], 20)}, this Wattline knows {LAYOUT}")
    told = record.pop(SEAL, None)
    try:
        if told != _seal(record):
            raise Damaged(path, "is damaged (its checksum differs)")
    except (ValueError, RecursionError):  # lone surrogates, say, that no writer wrote
        raise Damaged(path, "is damaged (its checksum differs)") from None
    for key, is_right in keys.items():
        if key not in record or not is_right(record[key]):
            raise Damaged(
                path, f"is damaged ({key!r} is {'missing' if key not in record else 'not what it should be'})"
            )
    return record


def decode(file: IO[bytes], size: int) -> list[npt.NDArray[Any]]:
    """Return the arrays that stand in the first bytes of a file."""
    found = []
    while file.tell() < size:
        found.append(np.load(file, allow_pickle=False))
    return found


def _seal(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
