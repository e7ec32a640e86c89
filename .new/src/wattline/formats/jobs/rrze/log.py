"""Jobs of the RRZE logs while they are read, and what was found wrong with their records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from wattline.reading.notes import NOT_UTF8, Action, Finding, Note, quote, settle
from wattline.reading.source import escaped


@dataclass
class Job:
    """What is known of a job so far; times as texts (``YYYY-MM-DDTHH:MM:SS``, local), where it stands for the notes."""

    number: int
    file: Path
    line: int
    text: str
    queued: str = ""
    started: str = ""
    ended: str = ""
    run_s: float = float("nan")
    limit_s: float = float("nan")
    nodes: int = 0
    user: str = ""
    name: str = ""
    starts: int = 0
    lost: str = ""
    """Why it is no job of the trace; empty if it is."""
    limit_unread: tuple[Path, int, str, str] | None = None
    """File, line, field and text of a time limit that cannot be read."""


class Log:
    """The jobs and findings of one or more files."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.malformed = 0
        self._found: dict[tuple[Action, str], tuple[Finding, Path]] = {}

    def note(self, action: Action, reason: str, file: Path, line: int, text: str, field: str = "record") -> None:
        """Count a record under a reason; the first is quoted."""
        empty = Finding(action, reason, 0, line, field, None, text)
        first, where = self._found.get((action, reason), (empty, file))
        self._found[action, reason] = (replace(first, count=first.count + 1), where)

    def texts(self, file: Path, text: bytes) -> list[str]:
        """Return the lines of a file; those that are not UTF-8 are counted."""
        lines = []
        for number, line in enumerate(text.split(b"\n"), start=1):
            known = escaped(line)
            lines.append(known.decode("utf-8"))
            if known is not line:
                self.note("repaired", NOT_UTF8, file, number, quote(lines[-1]), "text")
        return lines

    def note_limit(self, job: Job) -> None:
        """Count a job whose time limit cannot be read."""
        if job.limit_unread is not None:
            file, line, field, text = job.limit_unread
            self.note("repaired", "time limit cannot be read: taken as none", file, line, f"{field}={text}", field)

    def note_job(self, action: Action, reason: str, job: Job) -> None:
        """Count a job under a reason."""
        self.note(action, reason, job.file, job.line, job.text)

    def settle(self, *, strict: bool) -> tuple[Note, ...]:
        """Turn everything found into notes; strict reading refuses the first that is dropped or repaired."""
        return tuple(note for found, file in self._found.values() for note in settle(file, [found], strict=strict))
