"""Programs, each in a process of its own that has Wattline loaded already.

Loading takes longer than most commands. A server that loads once, in a process that did nothing else, makes a copy of
itself for every program: folder, arguments, environment, signals, output and exit code are those of a program that a
user starts. The README's commands, and tests of what a process loads or compiles, start from nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

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
        "wattline.control.chores",
        "wattline.sim.engine",
        "wattline.sim.keeping",
        "wattline.wiring.tables",
        "wattline.sim.simulate",
        "wattline.sim.warm",
        "wattline.formats.jobs.export",
        "wattline.generate.lublin",
        "wattline.generate.mira",
        "wattline.generate.rrze",
        "wattline.learn.estimates",
        "wattline.learn.pooled",
        "wattline.learn.t_test",
    ]
)
"""Modules that start no thread of their own but for the keeping of memory: threads do not live on in a copy."""

PATIENCE_S = 300.0

Body = Callable[[list[str]], None]
"""What a copy of the server does."""


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
    return _run(wattline, words, folder)


def python(text: str, folder: Path) -> Done:
    """Run the text of a Python program in a folder, without input."""
    return _run(_python, [text], folder)


class Running:
    """A ``wattline`` command that goes on, with the methods of ``subprocess.Popen``; it hears Ctrl-C also where the
    tests run in the background.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        *,
        largest_file: int = resource.RLIM_INFINITY,
        body: Body | None = None,
        **environment: str,
    ) -> None:
        self._start(body or wattline, ["wattline", *words], folder, largest_file, environment)

    def _start(
        self, body: Body, words: list[str], folder: Path, largest_file: int, environment: dict[str, str]
    ) -> None:
        said = Path(tempfile.mkdtemp())
        self._streams = said / "out", said / "err"
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        given = (body, words, folder, self._streams, {**os.environ, **environment}, largest_file, priority)
        self._process = SERVER.Process(target=_begin, args=given)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        weakref.finalize(self, _end, self._process, said)

    @property
    def returncode(self) -> int | None:
        """How it ended: its exit code, or the signal below zero; None while it goes on."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return how it ended, or None while it goes on."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[str, str]:
        """Wait for its end; return what it wrote to standard output and standard error."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("wattline", timeout)
        out, err = (path.read_text(encoding="utf-8") for path in self._streams)
        return out, err


class _Program(Running):
    """Any program that a copy of the server becomes."""

    def __init__(self, body: Body, words: list[str], folder: Path) -> None:
        self._start(body, words, folder, resource.RLIM_INFINITY, {})


def _run(body: Body, words: list[str], folder: Path) -> Done:
    program = _Program(body, words, folder)
    try:
        out, err = program.communicate()
    finally:
        program.kill()
    assert program.returncode is not None
    return Done(words, program.returncode, out, err)


def _end(process: Any, said: Path) -> None:
    """End a program that nobody waits for any more, and forget what it said."""
    process.kill()
    shutil.rmtree(said, ignore_errors=True)


def _begin(
    body: Body,
    words: list[str],
    folder: Path,
    streams: tuple[Path, Path],
    environment: dict[str, str],
    largest_file: int,
    priority: int,
) -> None:
    """Become the program: this is the copy of the server."""
    os.chdir(folder)
    os.setpriority(os.PRIO_PROCESS, 0, priority)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    if largest_file != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    body(words)


def wattline(words: list[str]) -> None:
    """Do what the command does that a user types."""
    from wattline.cli import main

    sys.argv = words
    main()


def _python(words: list[str]) -> None:
    sys.argv = ["-c"]
    sys.path.insert(0, "")
    exec(words[0], {"__name__": "__main__"})  # noqa: S102
