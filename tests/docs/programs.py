"""Programs of the documentation, each in a process of its own that has Wattline loaded already.

Loading takes longer than most commands of a page. A server that loads once, in a process that did nothing else, makes a
copy of itself for every program: folder, arguments, output and exit code are those of a program that a user starts. The
README's commands and the tests of the command line start from nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

SERVER = get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "plotly.graph_objects",
        "polars",
        "scipy.special",
        "wattline.cli.app",
        "wattline.report.count.compare",
        "wattline.report.pages.run",
        "wattline.scenario.resume",
        "wattline.sim.engine",
        "wattline.sim.simulate",
        "wattline.formats.jobs.export",
        "wattline.generate.lublin",
        "wattline.generate.mira",
    ]
)
"""Modules that start no thread of their own but for the keeping of memory: threads do not live on in a copy."""

PATIENCE_S = 300.0


@dataclass(frozen=True)
class Done:
    """What a program left: its words, exit code, standard output and standard error."""

    words: list[str]
    code: int
    out: str
    err: str


def command(words: list[str], folder: Path) -> Done:
    """Run a ``wattline`` command in a folder, without input."""
    assert words[0] == "wattline"
    return _run(_wattline, words, folder)


def python(text: str, folder: Path) -> Done:
    """Run the text of a Python program in a folder, without input."""
    return _run(_python, [text], folder)


def _run(body: Callable[[list[str]], None], words: list[str], folder: Path) -> Done:
    with tempfile.TemporaryDirectory() as said:
        out, err = Path(said, "out"), Path(said, "err")
        process = SERVER.Process(target=_begin, args=(body, words, folder, (out, err)))
        process.start()
        process.join(PATIENCE_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise AssertionError(f"no end within {PATIENCE_S:g} s: {' '.join(words)}")
        return Done(words, process.exitcode, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


def _begin(body: Callable[[list[str]], None], words: list[str], folder: Path, streams: tuple[Path, Path]) -> None:
    """Become the program: this is the copy of the server."""
    os.chdir(folder)
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    body(words)


def _wattline(words: list[str]) -> None:
    from wattline.cli import main

    sys.argv = words
    main()


def _python(words: list[str]) -> None:
    sys.argv = ["-c"]
    sys.path.insert(0, "")
    exec(words[0], {"__name__": "__main__"})  # noqa: S102
