"""``wattline status`` while it runs: ask, show, wait, until somebody has seen enough."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.watch.document import Document
from wattline.live.watch.socket import fetch
from wattline.live.watch.view import ASCII, BLOCKS, WIDTH, Line, lines


def text(document: Document) -> str:
    """Return the view as plain text."""
    return "\n".join(line.rstrip() for line, _ in lines(document, blocks=blocks()))


def blocks() -> str:
    """Return the characters for curves that standard output can show."""
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return BLOCKS


def watch(
    path: Path | str,
    *,
    every_s: float = 1.0,
    rest: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
    console: Any = None,
) -> None:
    """Show the status until Ctrl-C; a controller that falls silent is said, and asked again."""
    from rich.console import Console
    from rich.live import Live

    document = fetch(path)
    newest_s, heard = document.time_s, monotonic()
    problem = ""
    shown = console or Console()
    try:
        with Live(console=shown, auto_refresh=False, screen=False) as live:
            while True:
                if document.time_s != newest_s:
                    newest_s, heard = document.time_s, monotonic()
                rows = lines(document, silent_s=monotonic() - heard, blocks=blocks())
                if problem:
                    rows.insert(1, (problem[:WIDTH], "bold red"))
                live.update(_drawn(rows), refresh=True)
                rest(every_s)
                try:
                    document, problem = fetch(path), ""
                except InputError as told:
                    problem = str(told).removeprefix(f"{path}: ")
    except KeyboardInterrupt:
        return


def _drawn(rows: list[Line]) -> Any:
    from rich.text import Text

    drawn = Text(no_wrap=True, overflow="ellipsis")
    for number, (line, style) in enumerate(rows):
        drawn.append(("\n" if number else "") + line.rstrip(), style=style or None)
    return drawn
