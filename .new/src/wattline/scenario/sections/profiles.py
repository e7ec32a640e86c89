"""[profiles]: how the power of jobs is learned, and the files of profiles that a run begins with and leaves."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from wattline.errors import InputError, WattlineError
from wattline.model.profiles import DEFAULT
from wattline.scenario.read.base import Problem, Section
from wattline.scenario.read.quantities import Span, Words
from wattline.scenario.read.source import Context
from wattline.wiring.options import Options

if TYPE_CHECKING:
    from wattline.model.mechanism import Mechanism
    from wattline.sim.simulate import Simulation
    from wattline.wiring.result import Result


def _levels() -> list[list[Any]]:
    return [list(level) for level in DEFAULT]


class ProfilesSpec(Section):
    """Whose power tells that of a job; the slot `profile` of `[policy]` says how it is learned."""

    levels: list[Annotated[list[Literal["group", "user", "kind", "nodes", "partition"]], Words("list of columns")]] = (
        Field(
            default_factory=_levels,
            max_length=8,
            description="columns of a job that make its own profile, then those of the groups that stand in for it",
        )
    )
    sample: Span | None = Field(
        None,
        gt=0,
        description="period at which power is sampled and changes (default: the step of the trace's power series, or "
        "5 min)",
    )
    load: str | None = Field(None, description="profiles that an earlier run saved, relative to the scenario")
    save: str | None = Field(
        None, description="file to save the profiles to when the run is over and its journal is written (.parquet)"
    )


def check_profiles(spec: ProfilesSpec, *, learns: bool) -> Iterator[Problem]:
    """Yield every problem of the profiles; ``learns``: some profile policy learns them."""
    for i, level in enumerate(spec.levels):
        if not level:
            yield ("profiles", "levels", i), "a level must name at least one column, got an empty list"
        twice = [name for at, name in enumerate(level) if name in level[:at]]
        if twice:
            yield ("profiles", "levels", i), f"a level names a column once, got {twice[0]!r} twice"
        elif any(set(level) == set(earlier) for earlier in spec.levels[:i]):
            yield ("profiles", "levels", i), f"the level {' + '.join(level)} is there already: leave it out"
    if not spec.levels:
        yield ("profiles", "levels"), "expected at least one list of columns, got an empty list"
    for key in ("load", "save"):
        if getattr(spec, key) is not None and not learns:
            yield ("profiles", key), "goes with a [policy] profile that learns"


@dataclass(frozen=True)
class LearnedFiles:
    """Files of power profiles: to begin with, and to leave."""

    load: Path | None = None
    save: Path | None = None

    def begin(self, run: Simulation) -> None:
        """Let a run begin with what an earlier one has learned, and note how much of it is of use."""
        if self.load is None:
            return
        from wattline.formats.tables.profiles import read_profiles

        profiles = read_profiles(self.load)
        try:
            found = run.begin_with(profiles)
        except InputError as problem:
            raise InputError(f"{self.load}: {problem}") from None
        note = ("kept", "power profiles of an earlier run, for jobs or groups of this one", found)
        run.notes = (*run.notes, (*note, f"{len(profiles.labels):,} in {self.load.name}"))

    @contextlib.contextmanager
    def saving(self, result: Result, folder: Path) -> Iterator[None]:
        """Save what a run has learned around the writing of its journal: prepared before, in its place afterwards.

        A run that is killed in between saves it when it is resumed (``leave``). One that was interrupted saves nothing:
        it may begin with that file once more. What cannot be saved is said when the journal is there.
        """
        from wattline.formats.tables.profiles import write_profiles

        self._drop(folder)
        problem: WattlineError | None = None
        try:
            if self.save is not None and result.profiles is not None and result.stopped != "interrupted":
                write_profiles(self._prepared(self.save, folder), result.profiles)
        except WattlineError as error:
            problem = error
        try:
            yield
        except BaseException:
            self._drop(folder)
            raise
        if problem is not None:
            raise problem
        self.leave(folder)

    def leave(self, folder: Path) -> bool:
        """Put what a run has learned and prepared in its place; tell whether there was something."""
        if self.save is None:
            return False
        try:
            self._prepared(self.save, folder).replace(self.save)
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise InputError(f"{self.save}: cannot be written ({problem.strerror or problem})") from None
        return True

    def _drop(self, folder: Path) -> None:
        """Forget what was prepared: there is no journal that goes with it."""
        if self.save is not None:
            self._prepared(self.save, folder).unlink(missing_ok=True)

    @staticmethod
    def _prepared(save: Path, folder: Path) -> Path:
        """Return where a run's profiles are until its journal is written."""
        run = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
        return save.with_name(f".{save.name}.{run}")


def build_learned(spec: ProfilesSpec, context: Context, learner: Mechanism) -> LearnedFiles:
    """Return the files of profiles that a scenario names; what could not be saved later is said now."""
    for key in ("load", "save"):
        if getattr(spec, key) is not None:
            _refuse_forgetful(key, context, learner)
    target = None if spec.save is None else context.base / spec.save
    if target is not None and target.suffix != ".parquet":
        raise context.error(("profiles", "save"), f"end the name in .parquet, got {spec.save!r}")
    if target is not None and not target.parent.is_dir():
        raise context.error(("profiles", "save"), f"there is no folder {target.parent} to save them in")
    if target is not None and target.is_dir():
        raise context.error(("profiles", "save"), f"{target} is a folder: give the name of a file")
    if target is not None and not os.access(target.parent, os.W_OK):
        raise context.error(("profiles", "save"), f"the folder {target.parent} cannot be written to")
    return LearnedFiles(None if spec.load is None else context.base / spec.load, target)


def _refuse_forgetful(key: str, context: Context, learner: Mechanism) -> None:
    """Refuse files of profiles for a policy whose profiles we do not know how to keep: a user's own, for one."""
    from wattline.learn.merging import MERGE, keeps_profiles

    if not keeps_profiles(learner):
        raise context.error(
            ("profiles", key),
            f"the profile policy {learner.name!r} keeps nothing that could be saved; {', '.join(MERGE)} do",
        )


def add_profiles(options: Options, spec: ProfilesSpec) -> Options:
    """Return options with what profiles are learned from."""
    return replace(options, sample_s=spec.sample, profiles=spec.levels)
