"""Every format of job logs passes the shipped check, and a check that cannot fail says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.log_samples import SOUND, Forgetful, Greedy, Hungry, Lenient, Raw, Wordy
from wattline.formats.jobs import FORMATS, find_format
from wattline.formats.jobs.base import LogFormat
from wattline.testing import check_format
from wattline.testing.formats import CHECKS, Check, Sample

MEMORY_BYTES = 10_000_000


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_formats_conform(tmp_path: Path, name: str, check: Check) -> None:
    """Every format keeps every rule, with a file of its own as the sample."""
    check(Sample(find_format(name), SOUND[name], tmp_path, MEMORY_BYTES))


RAW = b"".join(b"%d 60 2\n" % i for i in range(1, 9))
KRC = SOUND["krc"]
BROKEN: dict[str, tuple[LogFormat, bytes, set[str]]] = {
    "python's errors": (Raw(), RAW, {"layouts", "unreadable", "cut-off", "damaged", "strict"}),
    "hunger": (Hungry(), KRC, {"memory"}),
    "strictness": (Lenient(), KRC, {"strict"}),
    "greed": (Greedy(), KRC, {"foreign"}),
    "words": (Wordy(), KRC, {"described", "unreadable", "damaged", "strict"}),
    "silence": (Forgetful(), KRC, {"cut-off", "strict"}),
    "another's file": (find_format("swf"), KRC, {"recognised", "read", "layouts", "cut-off", "memory"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_check_can_fail(name: str) -> None:
    """A format that breaks rules fails the checks of these rules, and no others."""
    broken, content, expected = BROKEN[name]
    report = check_format(broken, content, large_bytes=1_000_000)
    assert {row.check for row in report.rows if not row.passed} == expected, report
    assert not report.ok
