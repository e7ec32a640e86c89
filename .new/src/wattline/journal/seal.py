"""Seals of a journal: rows and a checksum of every table in the manifest, and one of the manifest itself, so that what
was cut, changed or mixed up is noticed.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from wattline.errors import TraceError
from wattline.files import open_regular
from wattline.reading.parquet import reading_parquet

KEY = "tables"
"""Entry of the manifest: rows and checksum of every table."""

SEAL = "seal"
"""Entry of the manifest: the checksum of all others."""

_CHUNK = 1 << 20


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest (plain data) with its seal."""
    others = {key: value for key, value in manifest.items() if key != SEAL}
    return others | {SEAL: _sha256(others)}


def check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that is not the one which the run wrote."""
    told = manifest.get(SEAL)
    if told != _sha256({key: value for key, value in manifest.items() if key != SEAL}):
        raise TraceError.at(
            path, "is not the manifest that the run wrote: it was changed or damaged", hint="run the scenario again"
        )


def _sha256(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def seal(folder: Path, rows: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Return the entry for tables just written: how many rows each has, and its checksum."""
    return {name: {"rows": count, "crc32": _crc32(folder / f"{name}.parquet")} for name, count in rows.items()}


def check_seal(folder: Path, manifest: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse tables that are not those which the run wrote."""
    told = manifest.get(KEY, {})
    if not isinstance(told, dict) or not all(isinstance(entry, dict) for entry in told.values()):
        raise TraceError.at(folder / "manifest.json", "must be a table of tables", field=KEY, value=told)
    for name in names:
        path = folder / f"{name}.parquet"
        entry = told.get(name)
        if entry is None:
            raise TraceError.at(folder / "manifest.json", f"has no checksum of {path.name}", field=KEY)
        if path.exists() and _crc32(path) != entry.get("crc32"):
            raise TraceError.at(path, _difference(path, entry.get("rows")), hint="run the scenario again")


def _difference(path: Path, rows: object) -> str:
    import polars as pl

    try:
        with reading_parquet(path):
            found = pl.scan_parquet(path).select(pl.len()).collect().item()
    except TraceError:
        found = rows  # it cannot be counted: damaged, then
    if found != rows:
        return f"has {found} rows, the run wrote {rows}: it was cut or belongs to another run"
    return "is not the table that the run wrote: it was changed, damaged or belongs to another run"


def _crc32(path: Path) -> str:
    """Return the checksum of a file; a gigabyte takes less than a second."""
    found = 0
    try:
        with open_regular(path) as file:
            while chunk := file.read(_CHUNK):
                found = zlib.crc32(chunk, found)
    except OSError as problem:
        raise TraceError.at(path, f"cannot be read ({problem.strerror})") from None
    return f"{found:08x}"
