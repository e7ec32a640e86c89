"""The units of systemd: they are copied, systemd takes them, they are hardened, and their configuration fits them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wattline.cli.app import app
from wattline.live.agent.config import read_settings
from wattline.live.controller.config import bus_settings, read_site

FOLDER = Path(__file__).parents[3] / "examples" / "live" / "systemd"
UNITS = ("wattline-controller", "wattline-agent")
HARDENED = {
    "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
    "ProtectKernelModules": "yes", "ProtectKernelLogs": "yes", "ProtectControlGroups": "yes", "ProtectClock": "yes",
    "RestrictNamespaces": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes",
    "SystemCallFilter": "@system-service",
    "Type": "notify", "Restart": "on-failure", "StartLimitIntervalSec": "0",
}  # fmt: skip


def keys(unit: str) -> dict[str, list[str]]:
    """Return the values of a unit's keys; a line that is neither a key, a comment nor a heading is an error."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / f"{unit}.service").read_text().splitlines():
        if not line or line[0] == "#" or re.fullmatch(r"\[(Unit|Service|Install)\]", line):
            continue
        key, sign, value = line.partition("=")
        assert sign, line
        assert re.fullmatch(r"[A-Z][A-Za-z]+", key), line
        found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_takes_the_units(unit: str, tmp_path: Path) -> None:
    """Systemd finds no unknown key, no wrong value and nothing that contradicts another."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed (Debian package systemd)")
    text = (FOLDER / f"{unit}.service").read_text()
    assert text.count("ExecStart=/opt/wattline/bin/wattline") >= 1
    copy = tmp_path / f"{unit}.service"
    copy.write_text(text.replace("/opt/wattline/bin/wattline", "/bin/true"))
    done = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True)
    if "Failed to" in done.stderr and str(copy) not in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_hardened(unit: str) -> None:
    """Neither runs as root; the controller has no capability, an agent two; both are watched and started again."""
    found = keys(unit)
    assert {key: found[key][0] for key in HARDENED} == HARDENED
    assert found["User"][0] in ("wattline", "wattline-agent")
    wanted = "" if unit == "wattline-controller" else "CAP_DAC_OVERRIDE CAP_KILL"
    assert found["CapabilityBoundingSet"] == found["AmbientCapabilities"] == [wanted]
    assert float(found["WatchdogSec"][0]) >= 30.0
    assert f"u {found['User'][0]} " in (FOLDER / "wattline.conf").read_text()


def test_what_an_agent_found_outlives_a_crash() -> None:
    """The folder of the limits to put back is not removed when the agent ends."""
    found = keys("wattline-agent")
    assert found["RuntimeDirectoryPreserve"] == ["yes"]
    settings = read_settings(FOLDER / "node.toml")
    assert str(settings.nodes[0].run_dir) == f"/run/{found['RuntimeDirectory'][0]}"


def test_the_configuration_fits_the_units(tmp_path: Path) -> None:
    """Keys are the credentials of the units, folders are theirs, and both files are read as they are."""
    site = read_site(FOLDER / "site.toml")
    bus = bus_settings(FOLDER / "site.toml", site)
    credentials = {text.partition(":")[0] for text in keys("wattline-controller")["LoadCredential"]}
    where = Path("/run/credentials/wattline-controller.service")
    assert {bus.key, bus.known} == {where / name for name in credentials}
    assert site.journal.dir.startswith(f"/var/lib/{keys('wattline-controller')['StateDirectory'][0]}/")
    assert (site.status.socket or "").startswith(f"/run/{keys('wattline-controller')['RuntimeDirectory'][0]}/")
    settings = read_settings(FOLDER / "node.toml")
    assert settings.bus is not None
    credentials = {text.partition(":")[0] for text in keys("wattline-agent")["LoadCredential"]}
    told = {str(settings.bus[key]).rpartition("/") for key in ("key", "known")}
    assert told == {("/run/credentials/wattline-agent.service", "/", name) for name in credentials}


def test_units_are_copied(tmp_path: Path) -> None:
    """``wattline units`` copies all of it, and leaves alone what was changed."""
    folder = tmp_path / "units"
    assert CliRunner().invoke(app, ["units", str(folder)]).exit_code == 0
    assert {p.name for p in folder.iterdir()} == {p.name for p in FOLDER.iterdir()}
    (folder / "site.toml").write_text("# ours\n")
    assert CliRunner().invoke(app, ["units", str(folder)]).exit_code != 0
    assert (folder / "site.toml").read_text() == "# ours\n"
