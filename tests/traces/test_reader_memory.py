"""What readers of large files take: samples stream, so their reader stays below twice the unpacked file and 300 MB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SIZE = 60_000_000
LINES = {
    "samples": ("node,time_s,power_w\n", "{i},{t},250.5\n"),
}
READ = {
    "samples": "from wattline.traces.telemetry import *; list(open_source(path).batches(['node', 'time_s', 'power_w'], 'time_s'))[:0]",
}


@pytest.mark.parametrize("name", LINES)
def test_a_large_file_takes_at_most_twice_its_size_and_300_mb(tmp_path: Path, name: str) -> None:
    """The peak of a process that does nothing but read a file of 60 MB stays below 420 MB."""
    head, line = LINES[name]
    block = "".join(line.format(i=i % 90, t=i * 10) for i in range(20_000))
    path = tmp_path / "large"
    path.write_text(head + block * (SIZE // len(block)))
    code = f"import resource; path = {str(path)!r}\n{READ[name]}\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 2 * path.stat().st_size + 300e6
