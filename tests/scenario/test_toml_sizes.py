"""TOML that is too deep, too long or too large is refused in one line before it is read, wherever TOML is read."""

from __future__ import annotations

import re
import time
import tomllib
import tracemalloc
from pathlib import Path

import pytest
from test_scenario_errors import GOOD

from wattline import cli
from wattline.errors import ScenarioError
from wattline.scenario import read_scenario
from wattline.scenario.plan import read_plan
from wattline.scenario.read.toml_read import MOST_BYTES, MOST_KEYS, MOST_LETTERS, MOST_NESTED, check_size, loads

TOO_MUCH = {
    "a." * 50_000 + "a = 1": "a dotted key has more than 12 parts",
    "[" + "a." * 50_000 + "a]": "a dotted key has more than 12 parts",
    '"a" . ' * 50_000 + "'a' = 1": "a dotted key has more than 12 parts",
    "a = " + "[" * 3000 + "]" * 3000: "more than 12 brackets are open at once",
    "a = " + "{a=" * 3000 + "1" + "}" * 3000: "more than 12 brackets are open at once",
    "a" * 100_000 + " = 1": "a key or number has more than 200 characters",
    '"' + "a" * 100_000 + '" = 1': "a key has more than 200 characters",
    "seed = " + "1" * 100_000: "a key or number has more than 200 characters",
}


@pytest.mark.parametrize("text", list(TOO_MUCH), ids=range(len(TOO_MUCH)))
def test_what_is_too_much_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    """A scenario and a plan say which line is too deep or too long, at once and without taking memory for it."""
    path = tmp_path / "s.toml"
    path.write_text(f"# a comment with [[[[[[[[[[[[[[[[ in it\n{text}\n")
    for read in (read_scenario, read_plan):
        tracemalloc.start()
        began = time.process_time()
        with pytest.raises(ScenarioError) as caught:
            read(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert time.process_time() - began < 5.0
        assert most < 50e6
        assert str(caught.value) == f"{path}:2: {TOO_MUCH[text]}; no scenario needs that"


def test_overrides_and_flags_have_the_same_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--set`` and tables given as flags are told apart by what was typed, cut to a line."""
    path = tmp_path / "s.toml"
    path.write_text(GOOD)
    for given, said in (
        ("cluster.nodes=" + "[" * 3000, "more than 12 brackets are open at once"),
        ("a." * 30_000 + "a=1", "a dotted key has more than 12 parts"),
        ("seed=" + "9" * 100_000, "a key or number has more than 200 characters"),
    ):
        with pytest.raises(ScenarioError, match=f"^--set .*…: {said}; no scenario needs that$"):
            read_scenario(path, [given])
    assert cli.call(["trace", "generate", "poisson", str(tmp_path / "log"), "--type", "{a=" * 3000]) == 2
    assert re.match(r"wattline: --type .*…: more than 12 brackets", capsys.readouterr().err)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    """The size of a file is bounded, and said."""
    path = tmp_path / "s.toml"
    path.write_text("#" * (MOST_BYTES + 1))
    with pytest.raises(ScenarioError, match="is larger than 1 MB, expected a TOML scenario"):
        read_scenario(path)


def test_what_is_allowed_is_read_as_ever() -> None:
    """At the bounds all is read; brackets, dots and quotes within texts and comments count for nothing."""
    key = ".".join("k" * MOST_KEYS)
    texts = [
        f"{key} = 1",
        "a = " + "[" * MOST_NESTED + "]" * MOST_NESTED,
        "k" * MOST_LETTERS + " = 1",
        GOOD,
        "a = '" + "[{" * 500 + "'",
        'a = "' + '\\"' * 500 + "." * 500 + '"',
        "# " + "a." * 99 + "\na = 1.5e3 # {{{{{{{{{{{{{{{",
        'a = """' + '[[""\n' * 99 + '"""',
        "a = '''" + "{{''\n" * 99 + "'''",
        'a = """x"""""\nb = ""\nc = \'\'',
        "a = '" + "x" * 999 + "'",
        "d = 2026-11-15T10:00:00.5+01:00\nf = [1.5, -2.25, inf, nan]\n",
    ]
    for text in texts:
        assert str(loads(text)) == str(tomllib.loads(text))


@pytest.mark.parametrize(
    "text", ['a = """' + '\\"""' * 100_000, "a = '''" + "''a" * 100_000, 'a = "' * 50_000, "a = ?" + "[" * 99]
)
def test_texts_that_do_not_end_take_no_time(text: str) -> None:
    """What is no TOML is left to the reader, which says what is wrong with it."""
    began = time.process_time()
    check_size(text)
    assert time.process_time() - began < 2.0
    with pytest.raises(tomllib.TOMLDecodeError):
        loads(text)


def test_a_mark_before_the_first_letter(tmp_path: Path) -> None:
    """A file saved by an editor that puts a byte order mark first is read like any other."""
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    marked = read_scenario(path)
    path.write_text(GOOD)
    assert (marked.data, marked.text) == (read_scenario(path).data, GOOD)
