"""A scenario as an object: load it, change keys, vary them, run it."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.asking import in_python, plain_policy
from wattline.api.listener import Listener
from wattline.api.many import MOST_RUNS
from wattline.api.plain import as_plain, require_names
from wattline.api.running import carry_out, prepare
from wattline.api.runs import Run, folder_at
from wattline.errors import InputError, ScenarioError

if TYPE_CHECKING:
    import polars as pl

    from wattline.scenario.documents import Document
    from wattline.scenario.study import Study as Wired

SLOT = "policy."


class Study:
    """A scenario that was read and checked. ``simulate`` runs it once, ``vary`` many times.

    ``wl.bid`` finds a bid for it.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.document.spec.name

    @property
    def data(self) -> dict[str, Any]:
        """What the scenario says, as plain data."""
        return copy.deepcopy(self.document.data)

    def set(self, keys: Mapping[str, Any]) -> Study:
        """Return the study with other values of some keys: ``{"cluster.nodes": 64, "policy.select": mine}``."""
        from wattline.scenario.documents import document
        from wattline.scenario.read.files import set_key
        from wattline.scenario.read.source import Source

        data = copy.deepcopy(self.document.data)
        objects = dict(self.document.given.policies)
        typed = dict(self.document.source.overrides)
        if not isinstance(keys, Mapping):
            raise InputError(f"set: expected a mapping of keys to values, got {type(keys).__name__}")
        require_names("set", keys)
        for dotted, given_value in keys.items():
            value = as_plain(given_value)
            plain = plain_policy(dotted.removeprefix(SLOT), value, objects) if dotted.startswith(SLOT) else value
            shown = in_python(dotted, value)
            typed[set_key(data, dotted, plain, shown)] = shown
        before = self.document
        given = replace(before.given, policies=objects)
        told = Source(before.source.file, before.source.lines, typed, before.source.is_program)
        return Study(document(data, told, base=before.base, given=given))

    def vary(self, keys: Mapping[str, Sequence[Any]] | None = None, *, seeds: int = 1) -> Sweep:
        """Return the runs of every combination of values.

        Parameters
        ----------
        keys
            Values by the dotted names of keys: ``{"trace.load": [0.6, 0.8]}``.
        seeds
            Runs of each combination, each with a seed of its own.
        """
        if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
            raise InputError(f"vary: seeds is how many there are of each, a whole number from 1 on, got {seeds!r}")
        if keys is not None and not isinstance(keys, Mapping):
            raise InputError(f"vary: expected a mapping of keys to lists of values, got {type(keys).__name__}")
        require_names("vary", keys or {})
        if seeds > 1 and "seed" in (keys or {}):
            raise InputError(
                f"vary: seeds={seeds} counts on from the scenario's seed, and 'seed' is varied too; give one"
            )
        varied: dict[str, list[Any]] = {}
        for dotted, values in (keys or {}).items():
            if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
                raise InputError(f"vary: {dotted} takes a list of values, got {values!r}")
            varied[dotted] = list(itertools.islice(values, MOST_RUNS + 1))  # some never end
            if not varied[dotted]:
                raise InputError(f"vary: {dotted} has no values")
        count = math.prod(len(values) for values in varied.values()) * seeds
        if count > MOST_RUNS:
            raise InputError(
                f"vary: that would be {count:,} runs or more, at most {MOST_RUNS:,} are made; give fewer values "
                "or seeds"
            )
        return Sweep(self, varied, seeds)

    def run(self) -> pl.DataFrame:
        """Simulate every combination of policies that the scenario lists; return a frame with a row a run."""
        return self.vary().run()

    def simulate(self, *, progress: bool = True) -> Run:
        """Simulate it once and return the run."""
        listener = Listener(progress=progress)
        wired = self.wire()
        parts = [wired] if wired.baseline is None else [wired, wired.baseline]
        prepare(wired, listener, parts[1:])
        runs = []
        for part in parts:
            result = carry_out(part, listener)
            if result.stopped == "interrupted":
                raise KeyboardInterrupt
            runs.append(Run(wired=part, result=result))
        run = runs[0]
        run.against = runs[1] if len(runs) > 1 else None
        for doubt in run.summary.doubts:
            listener.loud(doubt)
        return run

    def wire(self) -> Wired:
        """Return everything that a simulation takes; a scenario that lists several policies is refused."""
        from wattline.scenario.study import wire

        return wire(only(self.document, "study.vary() runs them all, study.set({{'policy.{slot}': …}}) picks one"))

    def __repr__(self) -> str:
        return f"<Study {self.name} of {self.document.source.file}>"


def only(document: Document, how: str) -> Any:
    """Return the one choice of policies of a scenario; ``how`` says what to do where it lists several."""
    from wattline.scenario import variants, varied_slots

    choices = variants(document)
    if len(choices) > 1:
        slot = varied_slots(document)[0]
        raise ScenarioError(
            f"{document.source.where(('policy',))}: {len(choices)} combinations of policies are listed; "
            f"{how.format(slot=slot)}"
        )
    return choices[0]


def load(path: Path | str, settings: Mapping[str, Any] | None = None) -> Study:
    """Read a scenario file.

    Parameters
    ----------
    path
        The file (.toml).
    settings
        Keys that are replaced, by their dotted names: ``{"cluster.nodes": 64}``.
    """
    from wattline.scenario.documents import read_scenario

    study = Study(read_scenario(path))
    return study.set(settings) if settings else study


class Sweep:
    """Runs of a study under combinations of values and seeds."""

    def __init__(self, study: Study, keys: Mapping[str, Sequence[Any]], seeds: int) -> None:
        self.study, self.keys, self.seeds = study, dict(keys), seeds

    def settings(self) -> Iterator[dict[str, Any]]:
        """Yield the combinations of values."""
        for values in itertools.product(*self.keys.values()):
            yield dict(zip(self.keys, values, strict=True))

    def run(
        self, *, folder: Path | str | None = None, threads: int | None = None, progress: bool = True
    ) -> pl.DataFrame:
        """Simulate all runs.

        Parameters
        ----------
        folder
            Where the journals of all runs are kept (default: nowhere).
        threads
            Runs at a time (default: one a core).
        progress
            Whether to show a bar.

        Returns
        -------
        polars.DataFrame
            A row a run: the varied keys, the policies where they differ, the seed, and every metric that some run has.
        """
        import polars as pl

        from wattline.api.many import carry_out_all, plan_runs
        from wattline.report.count.compare import METRICS

        target = None if folder is None else folder_at(folder)
        if target is not None and target.is_dir() and any(target.iterdir()):
            raise InputError(f"{target}: is not empty; give a new folder for the journals of these runs")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise InputError(f"run: threads is a whole number from 1 on, got {threads!r}")
        found = []
        for setting in self.settings():
            where = ", ".join(in_python(key, value) for key, value in setting.items())
            study = self.study.set(setting) if setting else self.study
            found += [(setting, task) for task in plan_runs([study.document], self.seeds, label=where)]
            if len(found) > MOST_RUNS:
                raise InputError(
                    f"vary: that would be more than {MOST_RUNS:,} runs; give fewer values, seeds or policies"
                )
        listener = Listener(progress=progress)
        digits = len(str(len(found)))
        folders = None if target is None else [target / f"run-{i + 1:0{digits}}" for i in range(len(found))]
        done = carry_out_all([task for _, task in found], listener, threads=threads, folders=folders)
        several = len({task.variant.label for _, task in found}) > 1
        rows = []
        for (setting, task), one in zip(found, done, strict=True):
            row: dict[str, Any] = {key: getattr(value, "name", value) for key, value in setting.items()}
            if several:
                row["policies"] = task.variant.label
            row["seed"] = task.seed
            rows.append(row | {metric.path: _null(one.summary.value(metric.path)) for metric in METRICS})
        frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
        unknown = [metric.path for metric in METRICS if frame[metric.path].null_count() == frame.height]
        return frame.drop(unknown)


def _null(value: float) -> float | None:
    return value if value == value else None
