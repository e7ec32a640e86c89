"""How the command line complains: one line on standard error, and the exit code that goes with it."""

from __future__ import annotations

import sys
from typing import Any

from wattline.errors import printable

BAD_INPUT, FAILED, INTERRUPTED, BROKEN_PIPE = 2, 1, 130, 141
"""Exit codes."""
NOT_RELEASED, LEASE_LOST = 3, 4
"""Of a controller and of off: it ended as it was told, but something is not released; another one leads."""

said: list[int] = []
"""Codes of what was complained about during this call."""


def complain(message: str, code: int) -> int:
    """Write one line to standard error, whatever names it quotes, and return the exit code."""
    if "@" in message or "=" in message:
        from wattline.telemetry.sources.connection import mask

        message = mask(message)
    plain = printable(message)
    sys.stderr.write(f"wattline: {plain}\n")
    said.append(code)
    return code


def show_warning(message: Any, *_: Any, **__: Any) -> None:
    """Show a warning in one line."""
    sys.stderr.write(f"wattline: warning: {' '.join(str(message).split())}\n")
