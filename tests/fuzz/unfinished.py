"""Unfinished runs that are damaged: resumed to the same bytes as a run that was never cut off, or refused in one
line.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.binaries import SCENARIO
from fuzz.changes import damage
from fuzz.judging import Wrong, attempt
from wattline.errors import InputError

UNFINISHED = ".unfinished"


class Unfinished:
    """A run that was cut off after some hours, and the tables of the same run carried through."""

    def __init__(self, jobs: int = 120, hours: int = 8) -> None:
        from wattline.scenario import read_scenario, variants, wire
        from wattline.scenario.resume import keeper_for

        self.home = tempfile.TemporaryDirectory(prefix="wattline-fuzz-")
        folder = Path(self.home.name)
        (folder / "s.toml").write_text(SCENARIO.replace("JOBS", str(jobs)))
        self.study = wire(variants(read_scenario(folder / "s.toml"))[0])
        self.study.write(self.study.simulate(), folder / "whole")
        self.expected = _bytes(folder / "whole")
        left = [hours]

        class Stop(Exception):  # noqa: N818
            pass

        self.cut, self.copy = folder / "cut", folder / "copy"
        with keeper_for(self.study, self.cut, every_hour=True) as keeper:
            keep = keeper.keep

            def counted(run: Any, cut_s: float) -> None:
                keep(run, cut_s)
                left[0] -= 1
                if left[0] == 0:
                    raise Stop

            keeper.keep = counted  # type: ignore[method-assign]
            with contextlib.suppress(Stop):
                self.study.simulate(None, keeper)
        if not list((self.cut / UNFINISHED).glob("flush-*.json")):
            raise RuntimeError("the run was not kept")

    def run(self, rng: random.Random) -> tuple[str, str]:
        """Damage one file, resume, and compare; return what was done and the verdict."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.cut, self.copy)
        how = _damaged(self.copy / UNFINISHED, rng)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = attempt(self._resumed, self.copy)
        if isinstance(found, InputError):
            return how, "refused"
        if found != self.expected:
            raise Wrong(f"{how}: resumed to other tables than those of a run that was never cut off")
        return how, "repaired" if said else "right"

    def _resumed(self, folder: Path) -> dict[str, bytes]:
        from wattline.journal.unfinished import was_kept
        from wattline.scenario.built.cut_off import make_readable
        from wattline.scenario.resume import keeper_for, pick_up

        make_readable(folder)
        if not was_kept(folder):
            raise InputError("nothing to resume")
        since = pick_up(self.study, folder)
        with keeper_for(self.study, folder, since) as keeper:
            result = self.study.simulate(None, keeper)
            keeper.forget()
        self.study.write(result, folder)
        return _bytes(folder)


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def _damaged(folder: Path, rng: random.Random) -> str:
    """Damage the files of an unfinished run in one way."""
    path = rng.choice(sorted(p for p in folder.iterdir() if p.name != "lock"))
    ways: list[Callable[[], str]] = [
        lambda: _bytes_of(path, rng),
        lambda: _bytes_of(path, rng),
        lambda: _file(path, folder, rng),
    ]
    if path.suffix == ".json":
        ways.append(lambda: _key(path, rng))
    return f"{path.name}: {rng.choice(ways)()}"


def _bytes_of(path: Path, rng: random.Random) -> str:
    how, content = damage(path.read_bytes(), rng)
    path.write_bytes(content)
    return how


def _file(path: Path, folder: Path, rng: random.Random) -> str:
    how = rng.choice(["gone", "empty", "another", "renamed", "folder", "pipe"])
    if how == "empty":
        path.write_bytes(b"")
    elif how == "another":
        shutil.copy(rng.choice(sorted(p for p in folder.iterdir() if p != path and p.is_file())), path)
    elif how == "renamed":
        path.rename(
            folder / rng.choice(["flush-abc.json", "flush-99.json", "flush-1.json", "flush-99.bin", "run.json"])
        )
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
        elif how == "pipe":
            os.mkfifo(path)
    return how


def _key(path: Path, rng: random.Random) -> str:
    record = json.loads(path.read_bytes())
    key = rng.choice(sorted(record))
    wrong = rng.choice([None, "x", -1, 0, 1, 1.5, True, [], {}, [1, 2], 2**70, "gone"])
    if wrong == "gone":
        del record[key]
    else:
        record[key] = wrong
    path.write_text(json.dumps(record))
    return f"{key} = {wrong!r}"
