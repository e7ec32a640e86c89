"""Hold two journals against each other, byte for byte; time stamps aside."""

from __future__ import annotations

import json
from pathlib import Path

STAMPS = ("created", "wall_s", "seal")


def assert_same(one: Path, other: Path) -> None:
    """Fail unless two folders hold the same tables and the same manifest."""
    tables = sorted(path.name for path in one.glob("*.parquet"))
    assert tables
    assert tables == sorted(path.name for path in other.glob("*.parquet"))
    for name in tables:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (one, other)]
    for manifest in manifests:
        for stamp in STAMPS:
            assert stamp in manifest
            del manifest[stamp]
    assert manifests[0] == manifests[1]
