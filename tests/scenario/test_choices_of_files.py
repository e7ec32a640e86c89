"""Policies of one name in two files."""

from __future__ import annotations

from pathlib import Path

from wattline.scenario import read_scenario, variants

POLICY = """\
from wattline import policy


@policy("order")
def mine(s, arg, param, memory):
    return 0
"""

SCENARIO = """\
[trace]
generator = "lublin"
jobs = 20

[cluster]
nodes = 8

[policy]
order = ["a/mine.py", "b/mine.py", "fcfs"]
"""


def test_policies_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """Each run has a label of its own: the file's path where the name does not tell."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(POLICY)
    (tmp_path / "s.toml").write_text(SCENARIO)
    labels = [one.label for one in variants(read_scenario(tmp_path / "s.toml"))]
    assert labels == ["a/mine.py", "b/mine.py", "fcfs"]
