"""Hypothesis profiles: `quick` does not shrink, for looking at many failures at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings

from wattline.model.state.sizes import Sizes

settings.register_profile("quick", phases=(Phase.explicit, Phase.reuse, Phase.generate))


@pytest.fixture
def log_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets how many rows the state's logs hold before they are emptied."""

    def set_rows(rows: int) -> None:
        def sizes(**extents: Any) -> Sizes:
            return replace(Sizes(**extents), D=rows)

        monkeypatch.setattr("wattline.wiring.setup.Sizes", sizes)

    return set_rows
