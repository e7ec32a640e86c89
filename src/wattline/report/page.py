"""Pieces of a self-contained page: cards, tables, figures, and the shell that holds style, script and data."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from wattline.errors import InputError
from wattline.files import refuse_journal_file
from wattline.report.figures.style import Drawn

# Nothing may be fetched: a browser refuses whatever this line does not allow.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"


class Page:
    """A page under construction: HTML in order, and the figures to draw into it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []
        self._figures: list[str] = []

    def add(self, *parts: str) -> None:
        """Append HTML that is escaped already."""
        self._parts.extend(parts)

    def figure(self, drawn: Drawn | None) -> str:
        """Register a figure; return the HTML of its place, with title above and caption below (nothing for None)."""
        if drawn is None:
            return ""
        name = f"figure-{len(self._figures) + 1}"
        body = drawn.figure.to_json()
        self._figures.append(f'{{"id":"{name}",{body[1:]}')
        height = drawn.figure.layout["height"]
        return (
            f'<figure><h3>{escape(drawn.title)}</h3><div class="plot" id="{name}" style="height:{height}px"></div>'
            f"<figcaption>{escape(drawn.caption)}</figcaption></figure>"
        )

    def write(self, path: Path) -> Path:
        """Write the page as one file; a reader never sees half of it."""
        shown, path = path, _regular(path)
        refuse_journal_file(path)
        temporary = path.with_name(f".{path.name}.writing-{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(self.content())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise InputError(f"{shown}: the page cannot be written: {error.strerror or error}") from error
        return shown

    def content(self) -> bytes:
        """Return the whole page."""
        page = (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{_asset('page.css')}</style>\n</head>\n<body>\n<main>\n"
            + "\n".join(self._parts)
            + '\n<noscript><p class="empty">Figures need JavaScript; all numbers are in the '
            "tables.</p></noscript>\n</main>\n"
        )
        return b"".join((page.encode(), *self._scripts(), b"</body>\n</html>\n"))

    def _scripts(self) -> tuple[bytes, ...]:
        if not self._figures:
            return ()
        # "<" would let a name in the data close the script element.
        data = ("[" + ",\n".join(self._figures) + "]").replace("<", "\\u003c")
        own = f'<script type="application/json" id="figures">{data}</script>\n<script>{_asset("page.js")}</script>\n'
        return b"<script>", _plotly_js(), b"</script>\n", own.encode()


def _regular(path: Path) -> Path:
    """Return the file that a path leads to; a folder or a device is refused, since a page would take its place."""
    try:
        found = path.resolve()
        there = found.exists()
        if there and not found.is_file():
            raise InputError(
                f"{path}: is {'a folder' if found.is_dir() else 'no regular file'}, so no page is written there; give "
                "another file"
            )
    except (OSError, ValueError, RuntimeError) as problem:  # a NUL, a name too long, a loop of links
        raise InputError(f"{str(path)[:100]!r}: cannot be a file ({problem}); give another name") from None
    if not found.name:
        raise InputError(f"{path}: is no file; give the name of one")
    return found


def card(name: str, value: str, more: str = "", *, bad: bool = False) -> str:
    """Return a key number: its name, the number, and what to know beside it."""
    style = "card bad" if bad else "card"
    return (
        f'<div class="{style}"><div class="name">{escape(name)}</div><div class="value">{escape(value)}</div>'
        f'<div class="more">{escape(more)}</div></div>'
    )


def table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", text: Sequence[int] = ()) -> str:
    """Return a table; everything in it is escaped, columns in ``text`` are set as text."""
    head = "".join(_cell("th", name, i in text) for i, name in enumerate(header))
    body = "".join(
        f"<tr>{''.join(_cell('td', value, i in text) for i, value in enumerate(row))}</tr>\n" for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>'


def facts(items: Iterable[tuple[str, object]]) -> str:
    """Return a list of names and values, leaving out those without a value."""
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>"
        for name, value in items
        if value not in (None, "")
    )
    return f'<dl class="facts">{rows}</dl>'


def folded(summary: str, body: str) -> str:
    """Return HTML behind a line that opens it."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def _cell(tag: str, value: object, text: bool) -> str:  # noqa: FBT001 - a flag of this file only
    style = ' class="text"' if text else ""
    return f"<{tag}{style}>{value.html if isinstance(value, Raw) else escape(str(value))}</{tag}>"


class Raw:
    """HTML for a table cell that is escaped already."""

    def __init__(self, html: str) -> None:
        self.html = html


def _asset(name: str) -> str:
    return files("wattline.report").joinpath("assets", name).read_text(encoding="utf-8")


def _plotly_js() -> bytes:
    """Return the drawing library, which the package plotly carries; importing the package would cost half a second."""
    package = find_spec("plotly")
    for folder in (package.submodule_search_locations or ()) if package else ():
        path = Path(folder, "package_data", "plotly.min.js")
        if path.is_file():
            return path.read_bytes()
    raise InputError(
        "plotly.js was not found; the package that carries it comes with: pip install --force-reinstall plotly"
    )
