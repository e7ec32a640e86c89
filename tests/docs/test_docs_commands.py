"""The commands that the documentation shows are the commands that work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?:<!-- file: (?P<file>[\w./-]+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```", re.DOTALL)


def commands(body: str) -> list[list[str]]:
    """Return the wattline commands of a console block, without comments."""
    lines = (line.split("   #")[0].split("  #")[0].strip() for line in body.splitlines())
    return [shlex.split(line) for line in lines if line.startswith("wattline ")]


def run(words: list[str], folder: Path) -> None:
    """Run a command as a user would and show what it said if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_the_tutorial_works_from_top_to_bottom(tmp_path: Path) -> None:
    """Every file and every command of the tutorial, in order, in an empty folder."""
    ran = 0
    for block in BLOCK.finditer((ROOT / "docs/tutorial.md").read_text()):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["body"])
        elif block["language"] == "console":
            for words in commands(block["body"]):
                run(words, tmp_path)
                ran += 1
    assert ran >= 9
    assert (tmp_path / "out/easy/report.html").stat().st_size > 1_000_000


README_COMMANDS = [
    words
    for block in BLOCK.finditer((ROOT / "README.md").read_text())
    if block["language"] == "console"
    for words in commands(block["body"])
]


@pytest.mark.parametrize("words", README_COMMANDS, ids=lambda words: " ".join(words[1:3]))
def test_the_readme_shows_commands_that_work(words: list[str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every command of the README, with real data where it names a log."""
    log = next((word for word in words if word.endswith(".swf.gz")), None)
    if log:
        folder: Path = request.getfixturevalue("data_dir")
        words = [str(folder / "swf" / log) if word == log else word for word in words]
    if words[1] == "reproduce":
        words = [*words, "--quick"]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    run(words, tmp_path)


SCENARIOS = [
    (page.name, block["body"])
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for block in BLOCK.finditer(page.read_text())
    if block["language"] == "toml" and "[trace]" in block["body"] and not block["file"]
]


@pytest.mark.parametrize(("page", "text"), SCENARIOS, ids=[page for page, _ in SCENARIOS])
def test_the_documents_show_scenarios_that_run(page: str, text: str, tmp_path: Path, data_dir: Path) -> None:
    """Every whole scenario of the documentation runs as it stands (those saved as files are run by the page's own test)."""
    log = re.search(r'file = "([^"]+)"', text)
    if log:
        (tmp_path / log[1]).symlink_to(data_dir / "swf" / log[1])
    (tmp_path / "shown.toml").write_text(text)
    several = re.search(r"^(order|select|place|cap|learn) = \[", text, re.MULTILINE)
    run(["wattline", "compare" if several else "run", "shown.toml"], tmp_path)


def test_documents_link_to_files_that_exist() -> None:
    """No link of the documentation leads nowhere."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"
