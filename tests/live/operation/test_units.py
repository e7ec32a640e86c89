"""The units of systemd: they are copied, systemd takes them, they are hardened, and their configuration fits them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wattline.cli.app import app
from wattline.cli.complaints import BAD_INPUT, FAILED, LEASE_LOST, NOT_RELEASED
from wattline.errors import TraceError
from wattline.live.agent.config import read_settings
from wattline.live.agent.wires import bus_form
from wattline.live.bus.keys import read_secret
from wattline.live.controller.config import bus_settings, read_site
from wattline.live.power.fakes.powercap import make_tree
from wattline.live.secret import read_token

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
    """Systemd finds no unknown key, no wrong value and nothing that contradicts another, with all drop-ins too."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed (Debian package systemd)")
    text = (FOLDER / f"{unit}.service").read_text()
    assert text.count("ExecStart=/opt/wattline/bin/wattline") >= 1
    for drop_in in FOLDER.glob("*.conf") if unit == "wattline-controller" else ():
        if drop_in.stem in ("dry-run", "slurm-user"):
            (tmp_path / f"{unit}.service.d").mkdir(exist_ok=True)
            said = drop_in.read_text().replace("/opt/wattline/bin/wattline", "/bin/true")
            (tmp_path / f"{unit}.service.d" / drop_in.name).write_text(said)
    copy = tmp_path / f"{unit}.service"
    copy.write_text(text.replace("/opt/wattline/bin/wattline", "/bin/true"))
    done = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True)
    if "Failed to" in done.stderr and str(copy) not in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("unit", "most"), [("wattline-controller", 20), ("wattline-agent", 30)])
def test_systemd_finds_little_exposure(unit: str, most: int) -> None:
    """Of a hundred points of exposure, systemd counts no more than this."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None or b"--threshold" not in subprocess.run([analyze, "--help"], capture_output=True).stdout:
        pytest.skip("needs systemd-analyze of systemd 250 or newer (Debian package systemd)")
    command = [analyze, "security", "--offline=true", f"--threshold={most}", str(FOLDER / f"{unit}.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr


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


def test_a_controller_that_was_switched_off_is_not_started_again() -> None:
    """Neither of the codes with which a controller ends when it was told to is one that systemd answers with a start;
    a crash and a lost lease are.
    """
    found = keys("wattline-controller")
    assert found["Restart"] == ["on-failure"]
    prevented = {int(word) for word in found["RestartPreventExitStatus"][0].split()}
    assert prevented == {NOT_RELEASED}
    assert prevented.isdisjoint({FAILED, BAD_INPUT, LEASE_LOST})


def test_what_an_agent_found_outlives_a_crash() -> None:
    """The folder of the limits to put back is not removed when the agent ends."""
    found = keys("wattline-agent")
    assert found["RuntimeDirectoryPreserve"] == ["yes"]
    settings = read_settings(FOLDER / "node.toml")
    assert str(settings.nodes[0].run_dir) == f"/run/{found['RuntimeDirectory'][0]}"


def credentials(unit: str) -> dict[str, Path]:
    """Return the credentials of a unit: name and file."""
    return {name: Path(path) for name, _, path in (text.partition(":") for text in keys(unit)["LoadCredential"])}


def test_the_configuration_fits_the_units() -> None:
    """Keys are the files that the units hand over, folders are theirs, and both files are read as they are."""
    etc = Path("/etc/wattline")
    site = read_site(FOLDER / "site.toml")
    found = {etc / site.bus[key] for key in ("key", "known")}
    assert found == set(credentials("wattline-controller").values())
    assert all(name == path.name for name, path in credentials("wattline-controller").items())
    assert site.journal.dir.startswith(f"/var/lib/{keys('wattline-controller')['StateDirectory'][0]}/")
    assert (site.status.socket or "").startswith(f"/run/{keys('wattline-controller')['RuntimeDirectory'][0]}/")
    settings = read_settings(FOLDER / "node.toml")
    assert settings.bus is not None
    assert {etc / settings.bus[key] for key in ("key", "known")} == set(credentials("wattline-agent").values())
    assert all(name == path.name for name, path in credentials("wattline-agent").items())


def test_keys_that_systemd_hands_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service reads the copy, whose modes an access list changes; root at a terminal reads the file itself."""
    handed = tmp_path / "credentials"
    handed.mkdir()
    for name in ("controller.key", "public.keys"):
        (handed / name).write_text("x")
        (handed / name).chmod(0o440)
    site = read_site(FOLDER / "site.toml")
    assert bus_settings(FOLDER / "site.toml", site).key == FOLDER / "keys" / "secret" / "controller.key"
    with pytest.raises(TraceError, match="others can read it"):
        read_secret(handed / "controller.key")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(handed))
    bus = bus_settings(FOLDER / "site.toml", site)
    assert (bus.key, bus.known) == (handed / "controller.key", handed / "public.keys")
    form = bus_form(read_settings(FOLDER / "node.toml"), "n001")
    assert (form.key.name, form.key.parent == handed) == ("node.key", False)  # it has no such credential
    assert read_secret(handed / "controller.key") == "x"
    (handed / "signal.token").write_text("a-token-of-some-length")
    (handed / "signal.token").chmod(0o440)
    assert read_token(handed / "signal.token") == "a-token-of-some-length"
    (handed / "controller.key").chmod(0o444)
    with pytest.raises(TraceError, match="others can read it"):
        read_secret(handed / "controller.key")


def test_units_are_copied(tmp_path: Path) -> None:
    """``wattline units`` copies all of it, and leaves alone what was changed."""
    folder = tmp_path / "units"
    assert CliRunner().invoke(app, ["units", str(folder)]).exit_code == 0
    assert {p.name for p in folder.iterdir()} == {p.name for p in FOLDER.iterdir()}
    (folder / "site.toml").write_text("# ours\n")
    assert CliRunner().invoke(app, ["units", str(folder)]).exit_code != 0
    assert (folder / "site.toml").read_text() == "# ours\n"


def as_nobody(*capabilities: str) -> list[str]:
    """Return what lets a program run as nobody, with these capabilities and no others."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("needs root, and setpriv (Debian package util-linux)")
    given = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    caps = [f"--{kind}={given}" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
    return [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", *caps]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that everybody can look into, as /etc and /sys are; tmp_path is root's alone."""
    with tempfile.TemporaryDirectory(prefix="wattline-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_an_agent_needs_no_more_than_its_two_capabilities(open_folder: Path) -> None:
    """As a user with them it reads root's counters, writes root's limits and puts them back."""
    make_tree(open_folder / "tree")
    for path in (open_folder / "tree").rglob("energy_uj"):
        path.chmod(0o400)
    (open_folder / "node.toml").write_text(
        'site = "demo"\nrun_dir = "run"\n[node]\nname = "n1"\npowercap = "tree"\nsafe = "180 W"\nmin = "120 W"\n'
        'max = "350 W"\n[model]\nprofile = "gold-6132"\n'
    )
    (open_folder / "run").mkdir(0o750)
    limits = sorted((open_folder / "tree").glob("intel-rapl:?/constraint_0_power_limit_uw"))
    before = [path.read_text() for path in limits]
    names = keys("wattline-agent")["AmbientCapabilities"][0].split()
    allowed = as_nobody(*(name.removeprefix("CAP_").lower() for name in names))
    os.chown(open_folder / "run", 65534, 65534)
    if subprocess.run([*allowed, sys.executable, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip("capabilities cannot be handed on here")
    program = [sys.executable, "-m", "wattline", "agent", str(open_folder / "node.toml"), "--quiet"]
    agent = subprocess.Popen([*allowed, *program])
    try:
        until = time.monotonic() + 30.0
        while [path.read_text() for path in limits] == before and time.monotonic() < until:
            time.sleep(0.05)
        assert before
        assert [path.read_text() for path in limits] != before
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(10.0) == 0
    finally:
        agent.kill()
        agent.wait()
    assert [int(path.read_text()) for path in limits] == [int(text) for text in before]
