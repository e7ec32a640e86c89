"""The run directory of a launcher: a file for each job, written whole and made durable, and what else must survive."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.machine.launcher.record import Job

SOCKET = "launcher.sock"
IDS_AHEAD = 100
"""Numbers of jobs that are taken at a time, so that not each submission writes two files."""


@dataclass
class Store:
    """Files of a launcher.

    Parameters
    ----------
    root
        The run directory; made when it is missing, for its owner alone.
    durable
        Whether each change is on the disk before it is answered: it then survives a power cut, not only a kill.
    """

    root: Path
    durable: bool = True
    _lock: int = field(init=False, default=-1)
    _next: int = field(init=False, default=1)
    _taken: int = field(init=False, default=0)

    def open(self) -> None:
        """Make the directory and take it; only one launcher may have it."""
        try:
            for folder in (self.root, self.root / "jobs", self.root / "out"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.root.stat()
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise InputError(f"{self.root}: others may write there; give a folder of your own (chmod 700)")
            self._lock = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise InputError(f"{self.root}: cannot be a run directory ({problem.strerror})") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise InputError(f"{self.root}: another launcher has this run directory; stop it, or use another") from None
        self._next = self._taken = int(self.read("ids").get("next", 1))

    def close(self) -> None:
        """Let another launcher have the directory."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def jobs(self) -> Iterator[tuple[Path, Job | None]]:
        """Yield all files of jobs and what is in them, in the order of their numbers; None for what is no job."""
        found = [path for path in (self.root / "jobs").glob("*.json") if path.stem.isdigit()]
        for path in sorted(found, key=lambda p: int(p.stem)):
            try:
                job = Job.from_json(path.read_bytes())
            except (OSError, ValueError, TypeError):
                yield path, None
            else:
                self._next = max(self._next, int(job.id) + 1)
                yield path, job

    def tidy(self) -> None:
        """Remove what keepers left that did not come to write an exit file."""
        for path in (self.root / "jobs").glob("*.tmp"):
            keeper = path.name.split(".")[-2]
            if not (keeper.isdigit() and Path(f"/proc/{keeper}").exists()):
                path.unlink(missing_ok=True)

    def new_id(self) -> str:
        """Return a number that no job had before."""
        if self._next >= self._taken:
            self.write("ids", {"next": self._next + IDS_AHEAD})
            self._taken = self._next + IDS_AHEAD
        self._next += 1
        return str(self._next - 1)

    def was_used(self, job: str) -> bool:
        """Tell whether a job had this number once."""
        return job.isdigit() and 0 < int(job) < self._next

    def save(self, job: Job, *, new: bool = False) -> None:
        """Write the file of a job; an ``OSError`` leaves the one that was there."""
        self._write(self.root / "jobs" / f"{job.id}.json", job.to_json(), new=new)

    def forget(self, job: Job) -> None:
        """Remove all files of a job that are ours."""
        names = [f"{job.id}.json", *(f"{job.id}.{run}.exit" for run in range(1, job.run + 1))]
        for path in [self.root / "jobs" / name for name in names] + [self.root / "out" / f"{job.id}.out"]:
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def many(self) -> Iterator[None]:
        """Write many files and make them durable all at once, at the end."""
        durable, self.durable = self.durable, False
        try:
            yield
        finally:
            self.durable = durable
            if durable:
                os.sync()

    def read(self, name: str) -> dict[str, Any]:
        """Return what is kept under a name; nothing when there is none."""
        path = self.root / f"{name}.json"
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            raise InputError(f"{path}: cannot be read ({problem}); repair or remove it") from None
        if not isinstance(found, dict):
            raise InputError(f"{path}: is not what the launcher wrote; repair or remove it")
        return found

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Keep something under a name."""
        self._write(self.root / f"{name}.json", json.dumps(content).encode() + b"\n", new=True)

    def exit_path(self, run_name: str) -> Path:
        """Return where the keeper of a start of a job leaves its exit code."""
        return self.root / "jobs" / f"{run_name}.exit"

    def exit_of(self, run_name: str) -> tuple[dict[str, Any], float] | None:
        """Return what a keeper left, and when (by the wall's clock)."""
        path = self.exit_path(run_name)
        try:
            found, at_s = json.loads(path.read_bytes()), path.stat().st_mtime
        except (OSError, ValueError):
            return None
        return (found, at_s) if isinstance(found, dict) else None

    def output_path(self, job: Job) -> str:
        """Return where the output of a job goes."""
        if not job.output:
            return str(self.root / "out" / f"{job.id}.out")
        return str(Path(job.cwd) / job.output.replace("%j", job.id))

    def _write(self, path: Path, content: bytes, *, new: bool) -> None:
        temporary = f"{path}.tmp"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            try:
                written = 0
                while written < len(content):
                    written += os.write(handle, content[written:])
                if self.durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(temporary, path)  # noqa: PTH105
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise
        if new and self.durable:
            folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
