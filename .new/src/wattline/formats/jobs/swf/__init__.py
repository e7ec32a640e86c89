"""The Standard Workload Format: logs of the Parallel Workloads Archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Swf:
    """Lines of 18 numbers, below a header of comments."""

    name = "swf"
    about = "Standard Workload Format, as in the Parallel Workloads Archive"
    in_parts = True

    def looks_like(self, head: Head) -> Likeness:
        """Tell by a comment with a semicolon on top, or by a line of numbers between blanks."""
        if not head.text or b"|" in head.line or b"," in head.line:
            return Likeness.NO
        parts = head.line.split()
        numbers = len(parts) >= 2 and all(_is_number(part) for part in parts)
        return Likeness.MAYBE if numbers or head.text.lstrip().startswith(b";") else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file."""
        from wattline.formats.jobs.swf.read import read_swf

        return read_swf(path, strict=options.strict, cores_per_node=options.cores_per_node, nodes=options.nodes)


def _is_number(part: bytes) -> bool:
    return part.lstrip(b"+-").replace(b".", b"", 1).isdigit()


FORMAT = Swf()
