"""Pieces of a self-contained page: cards, tables, figures, and the shell that holds style, script and data."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from importlib.resources import files
from pathlib import Path

from wattline.errors import InputError
from wattline.files import open_regular, refuse_journal_file
from wattline.report.figures.style import Drawn
from wattline.report.show import Shown

LIBRARY, SCRIPTS = "plotly.js", ("tables.js", "reading.js", "page.js")
"""What draws the figures (built by ``scripts/update-plotly``), and what makes the page answer to its reader."""

_LOOK_BYTES = 1000
SECTIONS = 3
"""A page of fewer sections needs no contents."""

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
        # with an underscore, as everything of the page's own: no anchor of a heading has one
        name = f"figure_{len(self._figures) + 1}"
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
        _refuse_other_files(path, shown)
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
            + _with_contents("\n".join(self._parts))
            + '\n<noscript><p class="empty">Figures need JavaScript; all numbers are in the '
            "tables.</p></noscript>\n</main>\n"
        )
        return b"".join((page.encode(), *self._scripts(), b"</body>\n</html>\n"))

    def _scripts(self) -> tuple[bytes, ...]:
        own = "".join(f"<script>{_asset(name)}</script>\n" for name in SCRIPTS).encode()
        if not self._figures:
            return (own,)
        # "<" would let a name in the data close the script element.
        data = ("[" + ",\n".join(self._figures) + "]").replace("<", "\\u003c")
        library = f"<script>{_asset(LIBRARY)}</script>\n"
        return f'<script type="application/json" id="figures_data">{data}</script>\n{library}'.encode(), own


def _refuse_other_files(path: Path, shown: Path) -> None:
    """Refuse to write over what is no page: a log, a table or a scenario, which the page may be made from."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return
        with open_regular(path) as file:
            begin = file.read(_LOOK_BYTES).decode("utf-8-sig", errors="replace").lstrip().lower()
    except OSError:  # whoever writes says so
        return
    if not begin.startswith(("<!doctype html", "<html")):
        raise InputError(f"{shown}: is there and is no page, so it is not overwritten; give another name")


def _with_contents(body: str) -> str:
    """Return a page's HTML with an anchor at every heading, and links to the sections below the header."""
    taken: dict[str, int] = {}
    sections: list[tuple[str, str]] = []

    def anchored(match: re.Match[str]) -> str:
        level, given, words = match.groups()
        plain = unescape(re.sub(r"<[^>]*>", "", words)).strip()
        slug = given or re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "section"
        taken[slug] = taken.get(slug, 0) + 1
        slug += f"-{taken[slug]}" if taken[slug] > 1 else ""
        if level == "h2":
            sections.append((slug, plain))
        link = f'<a class="anchor" href="#{slug}" aria-label="link to this part">#</a>'
        return f'<{level} id="{slug}">{words}{link}</{level}>'

    body = re.sub(r'<(h[23])(?: id="([^"]*)")?>(.*?)</\1>', anchored, body, flags=re.DOTALL)
    if len(sections) < SECTIONS:
        return body
    links = "".join(f'<a href="#{slug}">{escape(words)}</a>' for slug, words in sections)
    contents = f'<nav class="contents" aria-label="Contents">{links}</nav>'
    above, header, below = body.partition("</header>")
    return f"{above}{header}\n{contents}{below}" if header else f"{contents}\n{body}"


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
    shown = value.shown if isinstance(value, Raw) else value
    if isinstance(shown, Shown) and tag == "td":  # for the CSV file: the number itself, in SI units
        style += f' data-v="{shown.value:.12g}"' + (f' data-u="{escape(shown.unit)}"' if shown.unit else "")
    return f"<{tag}{style}>{value.html if isinstance(value, Raw) else escape(str(value))}</{tag}>"


class Raw:
    """HTML for a table cell that is escaped already, and the number that it shows, if it is one."""

    def __init__(self, html: str, shown: Shown | None = None) -> None:
        self.html, self.shown = html, shown


def _asset(name: str) -> str:
    return files("wattline.report").joinpath("assets", name).read_text(encoding="utf-8")
