"""The pages for operators: the install guide works as it is written, and the runbook has every fault."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from test_docs_commands import BLOCK, ROOT, works

from programs import command
from wattline.demo.slurm_cluster import why_not
from wattline.kernel.compiled import JIT
from wattline.live.doctor.slurm import SCHEDULER

LIVE = ROOT / "docs" / "live"


def cells(page: str) -> list[str]:
    """Return the first cells of all rows of tables on a page."""
    return re.findall(r"^\| (?!---)(.+?) \|", (LIVE / page).read_text(), re.MULTILINE)


def test_the_install_guide_can_be_followed(tmp_path: Path) -> None:
    """Its commands work in an empty folder, in order; --check lists what the services bring along."""
    said = []
    for block in BLOCK.finditer((LIVE / "install-slurm.md").read_text()):
        for line in block["body"].splitlines() if block["language"] == "console" else ():
            words = shlex.split(line)
            if words[0] == "cp":
                shutil.copy(tmp_path / words[1], tmp_path / words[2])
            else:
                said.append(works(command(words, tmp_path)))
    assert [done.words[1] for done in said] == ["units", "examples", "controller", "keys"]
    assert "not there yet" in said[2].out
    assert "keys/secret/controller.key" in said[2].out
    assert (tmp_path / "keys" / "secret" / "n032.key").exists()


NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]


def test_the_install_guide_is_typed_on_a_real_slurm() -> None:
    """Every command of the guide works, in order, on 32 nodes of a real Slurm.

    The doctor finds nothing that fails, all agents are heard, a dry run holds no job, the controller leads as Slurm's
    user and agents as theirs, a standby takes over from one that is stopped, off releases everything, and no file,
    limit or held job is left. What stands in for what is told in tests/docs/guide.
    """
    why = why_not()
    if why or os.geteuid() != 0 or not JIT:
        pytest.skip(why or "needs root, and compiled code")
    with tempfile.TemporaryDirectory(prefix="wattline-guide-") as folder:
        Path(folder).chmod(0o755)
        if subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True).returncode != 0:
            pytest.skip("namespaces and mounts are not allowed here")
        typed = [*NAMESPACES, sys.executable, str(Path(__file__).parent / "guide" / "typed.py"), folder]
        done = subprocess.run(typed, capture_output=True, text=True, timeout=240.0)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert "not there yet" in seen["check"]
    assert " 0 fail\n" in seen["doctor again"]
    assert "all 32 were heard" in seen["bus"]
    assert seen["state in the dry run"] == "RUNNING"
    assert '"would"' in seen["dry run"]
    assert "leader, term 1" in seen["status"]
    assert seen["users"] == ["slurm", "wattline-agent"]
    assert "NOT released" not in seen["back"]
    assert seen["back"].count("released: 32 nodes") == 2
    assert "stands-by" in seen["standby"]
    assert seen["held meanwhile"] == "JobHeldAdmin"
    assert seen["codes"] == [["0", "0"], ["0"]]  # dry run, stopped; switched off
    assert not seen["reason"].startswith("JobHeld")
    assert seen["limits"] == seen["limits before"]
    assert (seen["left"], seen["files"]) == ({}, [])


def test_the_guide_says_what_of_it_is_not_typed() -> None:
    """Every block is typed: none is left out but those of steps that the list names. Commands that stand in its text
    alone are in a block, too, or in the list.
    """
    guide = (LIVE / "install-slurm.md").read_text()
    text, _, rest = guide.partition("## What of this page was typed")
    listed = rest.partition("## When you upgrade")[0]
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    words = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    first = {"systemctl", "journalctl", "sacctmgr", "scontrol", "rm", "pip", "scp", "userdel", "install"}
    commands = [word for word in words if " " in word and word.split()[0] in first]
    backs = [line for line in text.splitlines() if line.startswith("*Back")]
    assert len(commands) >= 10
    typing = (Path(__file__).parent / "guide" / "typed.py").read_text()
    for one in commands:
        typed = any(one.partition(" …")[0] in block for block in blocks) or str(one.split()).replace("'", '"') in typing
        assert typed or one in listed or any(one in line for line in backs), one
    steps = dict(re.findall(r"^## (\d+)\. .*?$(.*?)(?=^## )", text + "## ", re.MULTILINE | re.DOTALL))
    for step, part in steps.items():
        count = len(re.findall(r"```(?:bash|console)\n", part))
        typed = len(re.findall(rf"guide\.type\({step}, ", typing))
        assert typed == count + (step == "5") or (step == "1" and "(step 1)" in listed), (
            step
        )  # the doctor is asked twice
    for name in ("systemctl", "pip install", "scp", "powercap"):
        assert name in typing.partition("STANDS_IN = {")[2].partition("}")[0]
        assert name in listed


def test_names_in_the_guide_are_those_of_the_files() -> None:
    """Files that the guide installs ship, and paths are those that the units load keys from."""
    guide = (LIVE / "install-slurm.md").read_text()
    folder = ROOT / "examples" / "live" / "systemd"
    for name in re.findall(r"units/([\w.-]+)", guide):
        assert (folder / name).exists() or name == "machine.toml", name
    for unit in ("wattline-controller", "wattline-agent"):
        for path in re.findall(
            r"^LoadCredential=[\w.]+:(\S+)$", (folder / f"{unit}.service").read_text(), re.MULTILINE
        ):
            where, _, file = path.rpartition("/")
            assert path in guide or (where in guide and file in guide), path


def test_the_guide_asks_for_what_the_doctor_asks_for() -> None:
    """SchedulerParameters are the same."""
    wanted = {f"{name}={best}" for name, (_, _, best) in SCHEDULER.items()}
    (line,) = re.findall(r"^SchedulerParameters=(\S+)", (LIVE / "install-slurm.md").read_text(), re.MULTILINE)
    assert set(line.split(",")) == wanted


def test_the_runbook_has_every_fault() -> None:
    """Each fault of the page of faults has its row: what you see, what is done, what you do."""
    known = set(cells("runbook.md"))
    assert [fault for fault in cells("faults.md") if fault not in known and fault != "what fails"] == []
    rows = re.findall(r"^\| (?!---|fault )(.*) \|$", (LIVE / "runbook.md").read_text(), re.MULTILINE)
    assert all(len(row.split(" | ")) == 4 for row in rows)
