"""A small dose of what ``scripts/soak fuzz`` gives readers: files whose right content is known, changed and damaged."""

from __future__ import annotations

import pytest

from fuzz.cases import FORMATS, Fuzz


@pytest.mark.parametrize("name", FORMATS)
def test_readers_are_right_or_refuse(name: str) -> None:
    """Every reader returns exactly what a file says, repairs with a count, or refuses in one line."""
    fuzz = Fuzz(7, (name,))
    for number in range(12 if name == "unfinished" else 60):
        fuzz.one(number)
    fuzz.close()
    assert not fuzz.failures, "\n".join(fuzz.failures)
