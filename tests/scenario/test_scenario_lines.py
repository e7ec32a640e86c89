"""The scanner finds the line of every key that the standard reader finds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from example_runs import EXAMPLES

from wattline.scenario.read.lines import key_lines

TRICKY = '''\
# comment with [brackets] = and "quotes"
top = "a # no comment [x] = 1"   # comment
"quoted key" = 'literal \\ "x"'
multi = """
[not.a.table]
k = 1
""\\"
"""
lit = \'\'\'
b = 2 \'\'\'
dotted.key.path = 1
dates = 1979-05-27T07:32:00Z

[a . "b.c"]
x = [1, 2,
     {y = 3, z.w = [4]},   # inline in a list
     "five]"]
[[a.list]]
k = {}
[a.list.inner]
v = [[1, 2], []]
[[a.list]]
k = {one = 1, two = {three = 3}}
[[a.list.sub]]
t = true
'''


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of everything in nested data."""
    if path:
        yield path
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


@pytest.mark.parametrize("text", [TRICKY, *(p.read_text() for p in EXAMPLES.glob("*.toml"))])
def test_every_key_has_a_line_and_no_other_has_one(text: str) -> None:
    """Paths with lines are exactly the paths of the parsed document."""
    assert set(key_lines(text)) == set(paths(tomllib.loads(text)))


def test_lines_are_right() -> None:
    """Keys are found where they stand, whatever comes before them."""
    lines = key_lines(TRICKY)
    rows = TRICKY.splitlines()
    for path, start in (
        (("multi",), "multi"),
        (("dotted", "key", "path"), "dotted"),
        (("a", "b.c"), "[a ."),
        (("a", "b.c", "x", 2, "z", "w"), "{y"),
        (("a", "list", 0), "[[a.list]]"),
        (("a", "list", 0, "inner", "v"), "v ="),
        (("a", "list", 1, "k", "two", "three"), "k = {one"),
        (("a", "list", 1, "sub", 0, "t"), "t ="),
    ):
        assert rows[lines[path] - 1].strip().startswith(start), path
