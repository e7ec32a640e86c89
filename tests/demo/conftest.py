"""What tests of demonstrations share: a hang-up counts, also where the tests themselves were started under nohup."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def hang_ups_count() -> Iterator[None]:
    """Give SIGHUP its usual meaning, here and in what is started: a process that ignores it hands that on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
