"""Where every key of a TOML text stands: the standard reader gives values without lines, and messages need both."""

from __future__ import annotations

import tomllib

from wattline.scenario.read.base import KeyPath

_BARE_END = set(" \t\r\n=.]#")


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""Return the line (from 1) of every table, key and array element of a text that is valid TOML.

    >>> key_lines("a = 1\n[[b]]\nc = {d = 2}\n")
    {('a',): 1, ('b', 0): 2, ('b',): 2, ('b', 0, 'c'): 3, ('b', 0, 'c', 'd'): 3}
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    """A walk over the text; it trusts that the text is valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.counted = 0
        self.newlines = 0
        self.lines: dict[KeyPath, int] = {}
        self.counts: dict[KeyPath, int] = {}

    def document(self) -> None:
        section: KeyPath = ()
        while self.skip():
            if self.text.startswith("[[", self.at):
                section = self.header(2)
            elif self.text[self.at] == "[":
                section = self.header(1)
            else:
                self.pair(section)

    def header(self, brackets: int) -> KeyPath:
        line = self.line()
        self.at += brackets
        keys = self.keys()
        self.skip()
        self.at += brackets
        path: KeyPath = ()
        for i, key in enumerate(keys):
            path = (*path, key)
            last = i == len(keys) - 1
            if last and brackets == 2:
                self.counts[path] = self.counts.get(path, 0) + 1
                self.note((*path, self.counts[path] - 1), line)
            self.note(path, line)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def pair(self, section: KeyPath) -> None:
        line = self.line()
        path = section
        for key in self.keys():
            path = (*path, key)
            self.note(path, line)
        self.skip()
        self.at += 1  # the equals sign
        self.skip()
        self.value(path)

    def value(self, path: KeyPath) -> None:
        first = self.text[self.at]
        if first in "\"'":
            self.string()
        elif first == "{":
            self.items("}", lambda _: self.pair(path))
        elif first == "[":
            self.items("]", lambda i: self.element((*path, i)))
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}#\n":
                self.at += 1

    def items(self, end: str, each: object) -> None:
        self.at += 1
        index = 0
        while self.skip() and self.text[self.at] != end:
            each(index)  # type: ignore[operator]
            index += 1
            self.skip()
            if self.text[self.at] == ",":
                self.at += 1
        self.at += 1

    def element(self, path: KeyPath) -> None:
        self.note(path, self.line())
        self.value(path)

    def keys(self) -> list[str]:
        found = []
        while True:
            self.skip()
            start = self.at
            if self.text[self.at] in "\"'":
                self.string()
                found.append(str(tomllib.loads(f"k = {self.text[start : self.at]}")["k"]))
            else:
                while self.text[self.at] not in _BARE_END:
                    self.at += 1
                found.append(self.text[start : self.at])
            self.skip()
            if self.text[self.at] != ".":
                return found
            self.at += 1

    def string(self) -> None:
        quote = self.text[self.at]
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(fence)
        while not self.text.startswith(fence, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(fence)
        while len(fence) == 3 and self.text.startswith(quote, self.at):  # up to two quotes may touch the fence
            self.at += 1

    def skip(self) -> bool:
        """Pass white space and comments; tell whether anything follows."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at].isspace():
                self.at += 1
            else:
                return True
        return False

    def line(self) -> int:
        """Return the line of the place; it only moves forward, so newlines are counted once."""
        self.newlines += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.newlines + 1

    def note(self, path: KeyPath, line: int) -> None:
        self.lines.setdefault(path, line)
