"""A small dose of what ``scripts/soak fuzz`` gives readers: files whose right content is known, changed and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.cases import FORMATS, Fuzz
from fuzz.judging import must_not_lie
from fuzz.texts import TEXTS


@pytest.mark.parametrize("name", FORMATS)
def test_readers_are_right_or_refuse(name: str) -> None:
    """Every reader returns exactly what a file says, repairs with a count, or refuses in one line."""
    fuzz = Fuzz(7, (name,))
    for number in range(12 if name == "unfinished" else 60):
        fuzz.one(number)
    fuzz.close()
    assert not fuzz.failures, "\n".join(fuzz.failures)


FOUND = [
    ("kinds", b"name,nodes,work_s,draw_w\nkind0,18,2_730,309\n"),
    ("samples", b"node,time_s,power_w\nn1,120,1\nn1,180\r,359.139\n"),
    ("samples", b"node,time_s,power_w\nn0,60,215.097\nn0,120l212.044\n"),
    ("sacct", b"jobid|submit|elapsedraw|nnodes|user|state\n6,|2024-03-10T15:16:51|3288|65|user1|COMPLETED\n"),
    ("sacct", b"jobid|submit|elapsedraw|nnodes|user|state\n_3|2024-03-12T00:08:30|396|25|user0|COMPLETED\n"),
    ("samples", b"node,time_s,power_w\nn0,300,149.\t\x1f\n"),
    ("samples", b"node,time_s,power_w\nn0,300,149.5\x0b\nn0,360, 150\n"),
    ("signal", b'time_s,value\n592,-0.3783\n594,-0.6048\n"596,-0.7059\n618,-0.432\n620,-0.6682\n'),
]
"""Damaged files that were once read as something else."""


@pytest.mark.parametrize(("name", "content"), FOUND)
def test_what_was_found_stays_found(tmp_path: Path, name: str, content: bytes) -> None:
    """A file that once passed for something that it does not say is refused, or what is wrong with it counted."""
    path = tmp_path / "x"
    path.write_bytes(content)
    must_not_lie(TEXTS[name], path, content, [])
