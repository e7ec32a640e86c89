"""One case after another, told by a seed: draw a file, change or damage it, judge, and shrink what is wrong to a
test.
"""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
from collections import Counter
from pathlib import Path

from fuzz.binaries import READERS, Journals, run_table
from fuzz.changes import changes_of, damage
from fuzz.judging import Wrong, must_be, must_not_lie
from fuzz.texts import TEXTS, Text
from fuzz.unfinished import Unfinished

FORMATS = (*TEXTS, *READERS, "journal", "unfinished")
SHARES = {"journal": 0.5, "unfinished": 0.5}
COMMAND_SHARE = 0.05
"""Share of text files that are also given to the command line."""


class Fuzz:
    """Cases by number: the same seed and number make the same file."""

    def __init__(self, seed: int, formats: tuple[str, ...] = FORMATS) -> None:
        self.seed, self.formats = seed, formats
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self.home = tempfile.TemporaryDirectory(prefix="wattline-fuzz-")
        self.folder = Path(self.home.name)
        self._journals: Journals | None = None
        self._unfinished: Unfinished | None = None

    def close(self) -> None:
        """Leave nothing behind."""
        for held in (self, self._journals, self._unfinished):
            if held is not None:
                held.home.cleanup()

    def one(self, number: int) -> None:
        """Run a case and count its verdict."""
        rng = random.Random(f"{self.seed}-{number}")
        weights = [SHARES.get(name, 1.0) for name in self.formats]
        name = rng.choices(self.formats, weights)[0]
        try:
            verdict = self._text(TEXTS[name], rng, number) if name in TEXTS else self._other(name, rng)
        except Wrong as problem:
            verdict = "WRONG"
            self.failures.append(f"# {name}, case {number} of seed {self.seed}: {problem}")
        self.counts[name, verdict] += 1

    def _other(self, name: str, rng: random.Random) -> str:
        if name in READERS:
            return run_table(name, rng, self.folder)[1]
        if name == "journal":
            self._journals = self._journals or Journals()
            return self._journals.run(rng)[1]
        self._unfinished = self._unfinished or Unfinished()
        return self._unfinished.run(rng)[1]

    def _text(self, text: Text, rng: random.Random, number: int) -> str:
        rows = text.draw(rng)
        path = self.folder / "x"
        before = [
            row for row in (text.row(dict(zip(text.columns, cells, strict=True))) for cells in rows) if row is not None
        ]
        if rng.random() < 0.5:
            how, apply = rng.choice(sorted(changes_of(text).items()))
            change = apply(text, rows, rng)
            path.write_bytes(change.content)
            try:
                verdict = must_be(text, path, change.rows, may_refuse=change.may_refuse, may_note=change.may_note)
            except Wrong as problem:
                self.failures.append(
                    _as_test(text, number, change.content, f"{how}: {problem}", f"must_be(text, path, {change.rows!r})")
                )
                return "WRONG"
        else:
            how, content = damage(text.write(rows).encode(), rng)
            path.write_bytes(content)
            try:
                verdict = must_not_lie(text, path, content, before)
            except Wrong as problem:
                small = _shrunk(text, content, before, path)
                self.failures.append(
                    _as_test(text, number, small, f"{how}: {problem}", f"must_not_lie(text, path, content, {before!r})")
                )
                return "WRONG"
        if text.command and rng.random() < COMMAND_SHARE:
            self._command(text, path, number)
        return verdict

    def _command(self, text: Text, path: Path, number: int) -> None:
        """Give the file to the command line: exit code 0, or 2 with one line."""
        import warnings

        from wattline.cli import call

        before = warnings.showwarning
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = call([text.command[0], text.command[1], str(path), *text.command[2:]])
            finally:
                warnings.showwarning = before
        said = err.getvalue()
        if code not in (0, 2) or "internal error" in said or (code == 2 and said.count("\n") != 1):
            self.failures.append(
                f"# {text.name}, case {number}: exit code {code}: {said[:300]}\ncontent = {path.read_bytes()!r}"
            )
        self.counts["command line", {0: "right", 2: "refused"}.get(code, "WRONG")] += 1

    def table(self) -> str:
        """Return counts by format and verdict."""
        verdicts = ("right", "repaired", "refused", "WRONG")
        lines = [f"{'format':16}" + "".join(f"{v:>10}" for v in verdicts)]
        lines += [
            f"{name:16}" + "".join(f"{self.counts[name, v]:>10,}" for v in verdicts)
            for name in (*self.formats, "command line")
        ]
        total = {v: sum(n for (_, w), n in self.counts.items() if w == v) for v in verdicts}
        return "\n".join([*lines, f"{'all':16}" + "".join(f"{total[v]:>10,}" for v in verdicts)])


def _fails(text: Text, content: bytes, before: list[tuple[object, ...]], path: Path) -> bool:
    path.write_bytes(content)
    try:
        must_not_lie(text, path, content, before)
    except Wrong:
        return True
    return False


def _shrunk(text: Text, content: bytes, before: list[tuple[object, ...]], path: Path) -> bytes:
    """Leave out lines as long as the file is still read wrongly."""
    lines = content.splitlines(keepends=True)
    at = 1 if text.header else 0
    while at < len(lines):
        less = lines[:at] + lines[at + 1 :]
        if _fails(text, b"".join(less), before, path):
            lines = less
        else:
            at += 1
    return b"".join(lines)


def _as_test(text: Text, number: int, content: bytes, problem: str, verdict: str) -> str:
    """Return a failure as a test that can be pasted."""
    return f'''
def test_{text.name}_{number}(tmp_path: Path) -> None:
    """{" ".join(problem.split())}"""
    content = {content!r}
    text, path = TEXTS[{text.name!r}], tmp_path / "x"
    path.write_bytes(content)
    {verdict}
'''
