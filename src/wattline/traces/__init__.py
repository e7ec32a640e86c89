"""Disk ↔ model: job logs, synthetic workloads and journals."""

from __future__ import annotations

from pathlib import Path

from wattline.traces.notes import Note, Trace

__all__ = ["Note", "Trace", "read_trace"]


def read_trace(path: Path | str, *, format: str | None = None, strict: bool = False, cores_per_node: int = 1) -> Trace:
    """Read a job log."""
    from wattline.traces.swf import read_swf

    return read_swf(path, strict=strict, cores_per_node=cores_per_node)
