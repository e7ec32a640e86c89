"""The page on the agent: its commands work, its tables have what the code has."""

from __future__ import annotations

import re
from pathlib import Path

from test_docs_commands import ROOT, follow

from wattline.live.agent.config import AgentSpec

PAGE = (ROOT / "docs" / "live" / "agent.md").read_text()


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    """Its file is sound, its readings give the model back, and tuning tells gains."""
    checked, fitted, tuned = follow("live/agent.md", tmp_path)
    assert "package-0, package-1, package-0/dram, package-1/dram" in checked.out
    found = re.search(r"phi_1 (\S+)   phi_2 (\S+)   phi_3 (\S+) W", fitted.out)
    assert found is not None
    assert [round(float(value), 1) for value in found.groups()][:2] == [1.3, 1.6]
    assert "settles in" in tuned.out


def test_every_key_and_every_fault_is_told() -> None:
    """The table of keys has all keys of the file, the table of faults all words that the code has."""
    rows = set(re.findall(r"^\| `\[?(\w+)\]?` \|", PAGE, re.MULTILINE))
    assert set(AgentSpec.model_fields) <= rows
    sources = "".join(path.read_text() for path in (ROOT / "src/wattline/live/agent").glob("*.py"))
    words = set(re.findall(r'note\("([a-z-]+)"', sources)) | set(re.findall(r'"(cap-[a-z-]+)"', sources))
    words |= {"clamped", "no-limit"}
    powercap = (ROOT / "src/wattline/live/power/powercap.py").read_text()
    words |= set(re.findall(r'_problems\["([a-z-]+)"\]', powercap))
    words |= {f"sensor-{word}" for word in ("missing", "garbage", "stuck", "backwards", "jump", "gap", "clock")}
    assert len(words) > 18
    assert not {word for word in words if f"`{word}`" not in PAGE}
