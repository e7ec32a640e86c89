"""The first steps with the live system, as the page has them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from test_docs_commands import BLOCK, ROOT, works

from programs import command, python
from wattline.live.power.powercap import Powercap

PAGE = (ROOT / "docs" / "live" / "first-steps.md").read_text()
PATIENCE_S = 60.0


def until(ready: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def said(folder: Path, *words: str) -> str:
    """Return what a command says, whether it works or not."""
    return command(["wattline", *words], folder).out


def test_the_steps_by_hand_can_be_followed(tmp_path: Path) -> None:
    """Every file and command of the page, those with & as processes: two jobs of four start under the limit, off puts
    the limits back while jobs run on, and a replay decides the same.
    """
    going: list[subprocess.Popen[bytes]] = []
    outs: dict[str, str] = {}
    try:
        for block in BLOCK.finditer(PAGE.partition("## By hand")[2]):
            if block["file"]:
                (tmp_path / block["file"]).write_text(block["body"].replace("7411", str(_port())))
            elif block["run"]:
                works(python(block["body"], tmp_path))
            elif block["language"] == "console":
                for line in block["body"].splitlines():
                    words = shlex.split(line.removesuffix("&"))
                    if line.endswith("&"):
                        going.append(_start(words, tmp_path))
                        _wait_for(words, tmp_path)
                    else:
                        outs[line] = works(command(words, tmp_path)).out
                        if words[1] == "off":
                            assert [limit_w(tmp_path, n) for n in range(1, 5)] == [500.0] * 4
                            assert said(tmp_path, "jobs", "--launcher", "launcher-run").count(" R ") == 2
        checked = outs["wattline controller site.toml --check"]
        assert checked.splitlines()[-1].startswith("not there yet")
        assert "no launcher is there" in checked.splitlines()[-1]
        assert re.search(r"jobs +2 waiting, 2 running", outs["wattline status site.toml --once"])
        assert outs["wattline replay-live journal"].splitlines()[-1] == "identical"
        assert going[0].wait(PATIENCE_S) == 0, "the launcher was told to stop"
        assert going[3].wait(PATIENCE_S) == 0, "the controller was switched off"
    finally:
        command(["wattline", "launcher", "launcher.toml", "--stop", "--jobs", "cancel"], tmp_path)  # where we did not
        for process in going:
            process.terminate()
        codes = [process.wait(PATIENCE_S) for process in going]
    assert codes == [0, 0, 0, 0]


def limit_w(folder: Path, number: int) -> float:
    """Return the limit of a node's packages, once its agent has heard of off."""
    tree = Powercap(str(folder / "trees" / f"n{number:03d}"))
    until(lambda: tree.limits_w() == 500.0, f"node {number} has its limit back")
    return tree.limits_w()


def _port(found: list[int] = []) -> int:  # noqa: B006  (one port for all files of the page)
    from wattline.demo.layout import free_port

    if not found:
        found.append(free_port())
    return found[0]


def _start(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    program = words if words[0] != "python" else words[1:]
    line = [sys.executable, "-m", *program] if words[0] == "wattline" else [sys.executable, *program]
    with (folder / "said.txt").open("ab") as out:
        return subprocess.Popen(line, cwd=folder, stdout=out, stderr=out)


def _wait_for(words: list[str], folder: Path) -> None:
    """Wait for what a reader sees before going on."""
    if words[1] == "launcher":
        until(lambda: "JOBID" in said(folder, "jobs", "--launcher", "launcher-run"), "the launcher answers")
    elif words[1] == "agent":
        until(lambda: limit_is_safe(folder), "the nodes have their safe caps")
    elif words[1] == "controller":
        until(lambda: "2 running" in said(folder, "status", "site.toml", "--once"), "two jobs run")


def limit_is_safe(folder: Path) -> bool:
    """Tell whether the agents have begun."""
    return all(Powercap(str(folder / "trees" / f"n{n:03d}")).limits_w() < 200.0 for n in range(1, 5))


def test_the_demonstration_is_as_the_page_says() -> None:
    """The page names the command's defaults."""
    from wattline.cli.live.demos import BY_ITSELF, NODES

    assert (NODES, BY_ITSELF) == (32, (15.0, 10.0))
    assert "32 emulated nodes" in PAGE
    assert "fifteen minutes of machine time in ninety seconds" in PAGE
