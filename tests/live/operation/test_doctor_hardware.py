"""The doctor and power hardware: one limit is written on an idle node that nobody leads, and put back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from doctor_kit import NODE, Fake, bad

from wattline.live.agent.config import read_settings
from wattline.live.agent.saved import Lock
from wattline.live.doctor import hardware
from wattline.live.doctor.findings import Finding, Machine, worst


def tree(path: Path) -> dict[str, str]:
    """Return every file of the power tree."""
    return {str(one): one.read_text() for one in sorted((path.parent / "tree").rglob("*")) if one.is_file()}


def tried(path: Path, machine: Machine, *, write_test: bool = True) -> list[Finding]:
    """Return what is found of the power hardware."""
    settings = read_settings(path)
    return list(hardware.look(settings.nodes[0], machine, write_test=write_test))


def test_a_limit_is_written_and_put_back(tmp_path: Path, node: Path) -> None:
    """On an idle node one limit is written and read back; afterwards the tree and the folder are as before."""
    before = tree(node)
    found = tried(node, Fake(tmp_path))
    assert found[-1].what == "write"
    assert "in force" in found[-1].text
    assert worst(found) in ("ok", "warn")
    assert tree(node) == before
    assert not (tmp_path / "run" / "n001.found.json").exists()


def test_without_the_flag_nothing_is_written(tmp_path: Path, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only --write-test writes."""

    def refuse(*_: object) -> None:
        raise AssertionError("written")

    monkeypatch.setattr("wattline.live.power.zones.Files.write", refuse)
    assert [one for one in tried(node, Fake(tmp_path), write_test=False) if one.what == "write"] == []


def test_a_bmc_is_not_taken_for_powercap(tmp_path: Path, node: Path) -> None:
    """Where a BMC keeps the cap, powercap is neither looked at nor written."""
    node.write_text(NODE.replace('powercap = "tree"', 'hardware = "dcmi"'))
    for write_test, level in ((False, "warn"), (True, "fail")):
        (found,) = tried(node, Fake(tmp_path), write_test=write_test)
        assert (found.level, "dcmi keeps its cap" in found.text) == (level, True)


def test_a_node_that_is_busy_or_led_is_left_alone(tmp_path: Path, node: Path) -> None:
    """A busy node, one that an agent leads, and one whose limits are still to be put back are not tried."""
    before, machine = tree(node), Fake(tmp_path)
    machine.load = lambda: 1000.0
    assert "busy" in tried(node, machine)[-1].text
    settings = read_settings(node).nodes[0]
    lock = Lock(settings.run_dir, settings.name, settings.powercap)
    assert "another agent leads" in tried(node, Fake(tmp_path))[-1].text
    lock.release()
    (tmp_path / "run" / "n001.found.json").write_text("{}")
    assert "left limits to put back" in tried(node, Fake(tmp_path))[-1].text
    assert all(one.level == "fail" for one in (tried(node, Fake(tmp_path))[-1],))
    assert tree(node) == before


def patched(monkeypatch: pytest.MonkeyPatch, write: Callable[..., None]) -> None:
    """Let writes to the tree go another way."""
    monkeypatch.setattr("wattline.live.power.zones.Files.write", write)


def test_a_bios_that_locks_limits(tmp_path: Path, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is written and not in force, and one that may not be written, are told apart."""
    patched(monkeypatch, lambda *_: None)
    found = tried(node, Fake(tmp_path))[-1]
    assert (found.level, "locked or clamped" in found.text, "BIOS" in found.change) == ("fail", True, True)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    patched(monkeypatch, refuse)
    found = tried(node, Fake(tmp_path))[-1]
    assert (found.level, "may not be written" in found.text) == ("fail", True)


def test_zones_that_are_switched_off_or_missing(tmp_path: Path, node: Path) -> None:
    """Enabled = 0 is a warning, no zones at all are a failure."""
    for switch in (tmp_path / "tree").rglob("enabled"):
        switch.write_text("0\n")
    found = tried(node, Fake(tmp_path), write_test=False)
    assert ("warn", "power") in bad(found)
    assert any("enabled = 0" in one.text for one in found)
    (tmp_path / "node.toml").write_text(NODE.replace('"tree"', '"nowhere"'))
    assert bad(tried(node, Fake(tmp_path), write_test=False)) == [("fail", "power")]
