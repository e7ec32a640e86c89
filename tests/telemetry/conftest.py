"""A PostgreSQL server of the tests' own, where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
START_S = 60.0


def program(name: str) -> str | None:
    """Return where a program of PostgreSQL is: Debian keeps them in a folder of their version."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(versions[-1]) if versions else shutil.which(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the connection string of a server: that of WATTLINE_POSTGRES, or of one that ends with the tests."""
    given = os.environ.get("WATTLINE_POSTGRES")
    if given:
        yield given
        return
    initdb, server = program("initdb"), program("postgres")
    if initdb is None or server is None:
        pytest.skip("needs PostgreSQL (Debian package postgresql), or WATTLINE_POSTGRES with its connection string")
    other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    # not in pytest's own folder: names of sockets have at most 107 letters, and the server does not run as root
    with tempfile.TemporaryDirectory(prefix="wattline-postgres-") as name:
        folder = Path(name)
        if other:
            os.chown(folder, NOBODY, NOBODY)
        made = [initdb, "--pgdata", str(folder / "data"), "--username=wattline", "--auth=trust", "--no-sync"]
        done = subprocess.run([*other, *made], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        quick = ["-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen(
                [*other, server, "-D", str(folder / "data"), "-k", str(folder), *quick], cwd=folder, stderr=log
            )
        try:
            until = time.monotonic() + START_S
            while not _ready(folder / "data" / "postmaster.pid"):
                assert running.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until, (folder / "log").read_text()
                time.sleep(0.05)
            yield f"postgresql://wattline@/postgres?host={folder}"
        finally:
            running.terminate()
            running.wait(START_S)


def _ready(told: Path) -> bool:
    """Return whether the server says in its file that it lets callers in."""
    return told.exists() and told.read_text().splitlines()[7:8] == ["ready   "]
