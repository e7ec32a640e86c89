"""Help is quick, complete, and fits a terminal."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import resource
import subprocess
import sys
from typing import Any

import pytest
from calling import Call
from typer.main import get_command

from wattline.cli.app import app, app_for

COMMANDS = (
    ["run"],
    ["replay"],
    ["replay-live"],
    ["whatif"],
    ["compare"],
    ["sweep"],
    ["bid"],
    ["trace", "info"],
    ["trace", "formats"],
    ["trace", "convert"],
    ["trace", "generate"],
    ["trace", "kinds"],
    ["telemetry", "check"],
    ["telemetry", "join"],
    ["telemetry", "sample"],
    ["profiles", "show"],
    ["profiles", "merge"],
    ["configs", "show"],
    ["configs", "fit"],
    ["configs", "variability"],
    ["plan"],
    ["launcher"],
    ["submit"],
    ["jobs"],
    ["cancel"],
    ["agent"],
    ["meters"],
    ["calibrate"],
    ["tune-pid"],
    ["policies"],
    ["report"],
    ["reproduce"],
    ["check-policy"],
    ["keys"],
    ["controller"],
    ["off"],
    ["doctor"],
    ["units"],
    ["live-demo"],
    ["status"],
    ["dashboard"],
)


def test_help_imports_no_heavy_package() -> None:
    """``wattline --help`` imports neither numba nor numpy nor polars."""
    code = (
        "import sys; from wattline.cli import call; call(['--help']); call(['replay', '--help'])\n"
        "heavy = {'numba', 'numpy', 'polars', 'scipy', 'plotly'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_algebra_is_done_by_one_thread() -> None:
    """The command line asks for one thread, unless the user asks for more, before numpy can be imported."""
    code = (
        "import os, sys; from wattline.cli import main; sys.argv = ['wattline', '--version']\n"
        "try: main()\n"
        "except SystemExit: print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    )
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for environment, threads in ((plain, "1"), (plain | {"OPENBLAS_NUM_THREADS": "3"}, "3")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        assert done.stdout.splitlines()[-1] == f"{threads} False"


def test_help_takes_half_a_second_at_most() -> None:
    """``wattline --help`` needs half a second at most (of processor time, so that a busy machine does not matter)."""
    best = min(_help_s() for _ in range(3))
    assert best <= 0.5


def _help_s() -> float:
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "wattline", "--help"], capture_output=True, check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_examples_json_and_quiet(wattline: Call, command: list[str]) -> None:
    """The help of every command shows an example and offers --json and --quiet, in 80 columns."""
    answer = wattline(*command, "--help")
    assert answer.code == 0
    assert f"wattline {' '.join(command)} " in answer.out.split("For example:")[1]
    assert "--json" in answer.out
    assert "--quiet" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


@functools.cache
def whole() -> Any:
    """Return the program with all its commands, which takes a tenth of a second to make."""
    return get_command(app)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_word_of_the_help_is_lost(command: list[str]) -> None:
    """What stands in brackets would be taken for markup and not be shown: no help has any."""
    found = whole()
    for name in command:
        found = found.commands[name]
    texts = [found.help or "", *(getattr(param, "help", None) or "" for param in found.params)]
    assert len(texts) >= 3  # what it does, --json and --quiet
    assert not [text for text in texts if re.search(r"\[[a-z/]", text)]


def test_version(wattline: Call) -> None:
    """``--version`` prints name and version."""
    from wattline import __version__

    assert wattline("--version").out == f"wattline {__version__}\n"


def test_shell_completion_is_offered() -> None:
    """A shell that asks for completions of ``wattline re`` gets the commands that begin so."""
    import os

    environment = {**os.environ, "_WATTLINE_COMPLETE": "complete_bash", "COMP_WORDS": "wattline re", "COMP_CWORD": "1"}
    code = "from wattline.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert {"replay", "report", "reproduce"} <= set(done.stdout.split())


def test_the_short_way_to_the_help_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The program's own help, made from names and summaries, is what the whole program would show; so is each
    command's.
    """
    for arguments in (
        [],
        ["--help"],
        ["run", "--help"],
        ["trace", "--help"],
        ["trace", "kinds", "--help"],
        ["check-policy"],
    ):
        said = []
        for program in (app, app_for(arguments)):
            with contextlib.suppress(Exception):
                (whole() if program is app else get_command(program)).main(
                    args=list(arguments), prog_name="wattline", standalone_mode=False
                )
            said.append(capsys.readouterr())
        assert said[0] == said[1]
        assert "--help" not in arguments or "Usage: wattline" in said[0].out


def test_the_help_leaves_out_what_it_never_uses() -> None:
    """Markdown and tracebacks are not read for a help in which there are none, and numba stays away from it."""
    ask = "import sys; from wattline.cli import call; call(['--help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    assert "typer.rich_utils" in loaded
    assert not {"markdown_it", "pygments", "numba", "polars", "numpy"} & set(loaded)


def test_importing_the_package_imports_nothing_slow() -> None:
    """``import wattline`` is at once: what takes time is imported by whoever uses it."""
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, wattline; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numba", "polars", "numpy", "pydantic", "typer"} & set(loaded)
