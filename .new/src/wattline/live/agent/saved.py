"""What a node was like before the agent changed it, kept on disk; and that only one agent leads a node."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
from pathlib import Path

from wattline.errors import InputError

VERSION = 1


class Saved:
    """The save file of a node: there while limits are ours, gone once they were put back."""

    def __init__(self, run_dir: Path, node: str) -> None:
        self.path = run_dir / f"{node}.found.json"

    def load(self) -> dict[str, float] | None:
        """Return what an agent before this one found; None where there is nothing to put back.

        A file that cannot be understood is an ``InputError``.
        """
        try:
            text = self.path.read_text()
        except FileNotFoundError:
            return None
        try:
            data = json.loads(text)
            limits = {str(key): float(value) for key, value in data["found"].items()}
            sound = data["version"] == VERSION and all(math.isfinite(v) and v >= 0.0 for v in limits.values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            sound = False
        if not sound:
            raise InputError(f"{self.path}: is no save file of an agent; look at it, and remove it")
        return limits

    def set_aside(self) -> Path:
        """Rename a file that cannot be understood; return its new name."""
        aside = self.path.with_suffix(".unreadable")
        self.path.replace(aside)
        return aside

    def save(self, limits: dict[str, float], now_s: float) -> None:
        """Write what was found, whole or not at all, and down to the disk."""
        text = json.dumps({"version": VERSION, "at": round(now_s, 3), "pid": os.getpid(), "found": limits}, indent=1)
        temporary = self.path.with_suffix(".writing")
        with temporary.open("w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
        self._sync()

    def remove(self) -> None:
        """Forget: all is as it was found."""
        self.path.unlink(missing_ok=True)
        self._sync()

    def _sync(self) -> None:
        handle = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Lock:
    """Only one agent leads a node: its name and its power tree, if it has one, are locked while the process lives."""

    def __init__(self, run_dir: Path, node: str, tree: str = "") -> None:
        run_dir.mkdir(parents=True, exist_ok=True)
        path = run_dir / f"{node}.lock"
        self._handles: list[int] = []
        try:
            self._take(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), f"{path}", node)
            os.ftruncate(self._handles[0], 0)
            os.pwrite(self._handles[0], f"{os.getpid()}\n".encode(), 0)
            if tree:
                self._take(os.open(tree, os.O_RDONLY | os.O_CLOEXEC), tree, node)
        except BaseException:
            self.release()
            raise

    def _take(self, handle: int, what: str, node: str) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            with contextlib.suppress(OSError):
                pid = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
                what = f"{what}, process {pid}"
            os.close(handle)
            raise InputError(f"{node}: another agent leads this node already ({what}); stop it first") from None
        self._handles.append(handle)

    def release(self) -> None:
        """Let another agent lead; twice is as good as once."""
        while self._handles:
            os.close(self._handles.pop())
