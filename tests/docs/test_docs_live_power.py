"""The page on power hardware: its commands work, its files are sound, its tables have what the code has."""

from __future__ import annotations

import re
from pathlib import Path

from test_docs_commands import BLOCK, ROOT, follow

from wattline.live.agent.config import read_settings
from wattline.live.agent.hardware import DcmiSpec, GpusSpec, MeterSpec, RedfishSpec

PAGE = (ROOT / "docs" / "live" / "power.md").read_text()


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    """The emulated BMC is found, read in its steps of 4 W, and left as it is; the file for a real BMC is sound."""
    checked, read = follow("live/power.md", tmp_path)
    assert "the BMC keeps the cap of the whole server" in checked.out
    assert "none in force now; the hardware takes 150 to 500 W" in checked.out
    assert "n001: server 260 W" in read.out
    assert '"active": false' in (tmp_path / "bmc.json").read_text()
    settings = read_settings(tmp_path / "bmc.toml")
    assert settings.nodes[0].power.kind == "redfish"


def test_pieces_of_files_are_sound(tmp_path: Path) -> None:
    """Tables that the page shows by themselves are taken by a file that has the rest."""
    node = 'site = "s"\n[node]\nname = "n"\nsafe = 180\nmin = 120\nmax = 300\n[model]\nprofile = "gold-6132"\n'
    pieces = [b["body"] for b in BLOCK.finditer(PAGE) if b["language"] == "toml" and not b["file"]]
    assert len(pieces) == 2
    for piece in pieces:
        text = piece.replace('[node]\nhardware = "dcmi"\n', "")
        (tmp_path / "node.toml").write_text(node.replace("max", 'hardware = "powercap"\nmax') + text)
        read_settings(tmp_path / "node.toml")


def test_every_key_and_every_fault_is_told() -> None:
    """The example file has all keys of the hardware's tables; the page has every fault's word."""
    example = (ROOT / "examples/live/node.toml").read_text()
    for spec in (RedfishSpec, DcmiSpec, GpusSpec, MeterSpec):
        assert not {key for key in spec.model_fields if not re.search(rf"\b{key}\b", example)}
    folder = ROOT / "src/wattline/live/power"
    names = ("redfish/hardware", "redfish/service", "dcmi", "nvml", "behind", "second")
    sources = "".join((folder / f"{name}.py").read_text() for name in names)
    words = set(re.findall(r'_(?:problems|own)\["([a-z-]+)"\]', sources))
    words |= set(re.findall(r'"((?:bmc|ipmi)-[a-z]+)"', sources))
    assert len(words) > 22
    assert not {word for word in words if f"`{word}`" not in PAGE}
