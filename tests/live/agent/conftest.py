"""Worlds for agents, closed after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_kit import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes worlds in a folder of the test's own."""
    made: list[World] = []

    def make(*given: Any, **named: Any) -> World:
        made.append(World(tmp_path, *given, **named))
        return made[-1]

    yield make
    for one in made:
        one.close()
