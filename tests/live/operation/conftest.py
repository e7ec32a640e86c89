"""What tests of operation share."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_kit import NODE

from wattline.live.power.fakes.powercap import make_tree


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Return the file of a node with a powercap tree."""
    make_tree(tmp_path / "tree")
    (tmp_path / "node.toml").write_text(NODE)
    (tmp_path / "node.toml").chmod(0o644)
    tmp_path.chmod(0o755)
    return tmp_path / "node.toml"
