"""What tests of compiled policies share."""

from __future__ import annotations

import numba
import pytest


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let LLVM optimise nothing: what is compiled here hardly runs."""
    monkeypatch.setattr(numba.config, "OPT", type(numba.config.OPT)(0))
