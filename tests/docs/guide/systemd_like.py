"""What systemd does for the units of the install guide, where no systemd runs: ``systemctl`` and ``journalctl``.

It reads unit files and drop-ins in /etc/systemd/system, and starts what they name with their user, capabilities,
folders, credentials and environment, waits for its READY=1, and starts it again by ``Restart=on-failure``. Hardening is
left out.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

UNITS, OWN = Path("/etc/systemd/system"), Path("/run/systemd-like")
START_S = 120.0
LISTS = ("LoadCredential", "Environment", "AmbientCapabilities")


def settings(unit: str) -> dict[str, list[str]]:
    """Return the keys of a unit with its drop-ins; an empty value begins a list anew, others are the last one."""
    found: dict[str, list[str]] = {}
    for path in [UNITS / f"{unit}.service", *sorted((UNITS / f"{unit}.service.d").glob("*.conf"))]:
        for line in path.read_text().splitlines():
            key, sign, value = line.partition("=")
            if not sign or line.startswith("#"):
                continue
            if not value:
                found[key] = []
            else:
                found[key] = [*found.get(key, []), value] if key in LISTS else [value]
    return found


def prepare(unit: str, told: dict[str, list[str]]) -> tuple[list[str], dict[str, str]]:
    """Make folders and credentials; return the command with its user, and its environment."""
    user, group = told["User"][0], told["Group"][0]
    made = {"Runtime": Path("/run"), "State": Path("/var/lib"), "Cache": Path("/var/cache")}
    for kind, parent in made.items():
        for name in told.get(f"{kind}Directory", []):
            (parent / name).mkdir(parents=True, exist_ok=True)
            subprocess.run(["chown", "-R", f"{user}:{group}", str(parent / name)], check=True)
            (parent / name).chmod(int(told.get(f"{kind}DirectoryMode", ["0755"])[0], 8))
    handed = OWN / unit / "credentials"
    handed.mkdir(parents=True, exist_ok=True)
    for text in told.get("LoadCredential", []):
        name, _, source = text.partition(":")
        shutil.copyfile(source, handed / name)
        (handed / name).chmod(0o400)
        shutil.chown(handed / name, user, group)
    shutil.chown(handed, user, group)
    environment = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8", "CREDENTIALS_DIRECTORY": str(handed)}
    environment |= dict(text.split("=", 1) for text in told.get("Environment", []))
    environment["NOTIFY_SOCKET"] = str(OWN / unit / "notify")
    names = [name for text in told.get("AmbientCapabilities", []) for name in text.split()]
    given = ",".join(["-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in names)])
    caps = [f"--{kind}={given}" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
    setpriv = ["setpriv", f"--reuid={user}", f"--regid={group}", "--init-groups", "--no-new-privs", *caps]
    return [*setpriv, *shlex.split(told["ExecStart"][0])], environment


def supervise(unit: str) -> None:
    """Run a unit until it ends as it should, or somebody stops it."""
    where = OWN / unit
    where.mkdir(parents=True, exist_ok=True)
    (where / "notify").unlink(missing_ok=True)
    told = settings(unit)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears, (where / "log").open("ab") as log:
        ears.bind(str(where / "notify"))
        (where / "notify").chmod(0o777)
        ears.settimeout(0.1)
        while True:
            command, environment = prepare(unit, told)
            child = subprocess.Popen(
                command, env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            (where / "pid").write_text(str(child.pid))
            while child.poll() is None:
                try:
                    if b"READY=1" in ears.recv(4096):
                        (where / "ready").touch()
                except TimeoutError:
                    continue
            (where / "ready").unlink(missing_ok=True)
            with (where / "codes").open("a") as codes:
                codes.write(f"{child.returncode}\n")
            prevented = {int(word) for word in told.get("RestartPreventExitStatus", ["0"])[0].split()}
            if child.returncode in {0, *prevented} or (where / "stopped").exists():
                break
            time.sleep(float(told["RestartSec"][0]))
    if told.get("RuntimeDirectoryPreserve", ["no"]) == ["no"]:
        shutil.rmtree(Path("/run") / told["RuntimeDirectory"][0])
    (where / "pid").unlink()


def pid_of(unit: str) -> int:
    """Return the process of a unit (0: none)."""
    try:
        return int((OWN / unit / "pid").read_text())
    except (OSError, ValueError):
        return 0


def start(unit: str) -> int:
    """Start a unit, and wait until it is ready."""
    if pid_of(unit):
        return 0
    (OWN / unit).mkdir(parents=True, exist_ok=True)
    for name in ("stopped", "ready"):
        (OWN / unit / name).unlink(missing_ok=True)
    nothing = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, __file__, "supervise", unit],
        start_new_session=True,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
    )
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if (OWN / unit / "ready").exists():
            return 0
        time.sleep(0.05)
    return 1


def stop(unit: str) -> int:
    """Tell a unit to end, and wait for it."""
    (OWN / unit / "stopped").touch()
    if pid := pid_of(unit):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    while pid_of(unit):
        time.sleep(0.1)
    return 0


def systemctl(words: list[str]) -> int:
    """Do what the guide asks for."""
    verb, *rest = [word for word in words if word != "--now"]
    units = [word.removesuffix(".service") for word in rest if not word.startswith("-")]
    if verb == "daemon-reload":
        return 0
    if verb == "kill":  # kill -s KILL UNIT
        os.kill(pid_of(units[-1]), signal.Signals[f"SIG{units[0]}"])
        return 0
    code = 0
    for unit in units:
        if verb in ("stop", "disable", "restart"):
            code |= stop(unit)
        if verb in ("start", "enable", "restart"):
            code |= start(unit)
    return code


def journalctl(words: list[str]) -> int:
    """Show what a unit has said."""
    unit = words[words.index("-u") + 1]
    lines = (OWN / unit / "log").read_text().splitlines()
    last = int(words[words.index("-n") + 1]) if "-n" in words else len(lines)
    sys.stdout.write("\n".join(lines[-last:]) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "supervise":
        supervise(sys.argv[2])
        sys.exit(0)
    sys.exit({"systemctl": systemctl, "journalctl": journalctl}[sys.argv[1]](sys.argv[2:]))
