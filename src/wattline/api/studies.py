"""A scenario as an object: load it, change keys, vary them, run it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.asking import plain_policy
from wattline.api.forked import refuse_forked
from wattline.api.listener import Listener
from wattline.api.plain import as_plain, in_python, require_names
from wattline.api.running import carry_out, prepare
from wattline.api.runs import Run, check_switches, path_of
from wattline.errors import InputError, ScenarioError

if TYPE_CHECKING:
    import polars as pl

    from wattline.api.sweeps.sweep import Sweep
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
        """Return the study with other values of some keys; the study itself stays as it is.

        Parameters
        ----------
        keys
            Values by the dotted names of keys: ``{"cluster.nodes": 64, "policy.select": mine}``. Quantities are texts
            with their unit (``"28 kW"``) or numbers in SI units.

        Returns
        -------
        Study
            The other study, checked as a scenario is.
        """
        if not isinstance(keys, Mapping):
            raise InputError(f"set: expected a mapping of keys to values, got {type(keys).__name__}")
        require_names("set", keys)
        return self._with(copy.deepcopy(self.document.data), keys)

    def _with(self, data: dict[str, Any], keys: Mapping[str, Any]) -> Study:
        """Return the study of plain data in which keys are set."""
        from wattline.scenario.documents import document
        from wattline.scenario.read.files import set_key
        from wattline.scenario.read.source import Source

        objects = dict(self.document.given.policies)
        typed = dict(self.document.source.overrides)
        for dotted, given_value in keys.items():
            value = as_plain(given_value)
            plain = plain_policy(dotted.removeprefix(SLOT), value, objects) if dotted.startswith(SLOT) else value
            shown = in_python(dotted, value)
            typed[set_key(data, dotted, plain, shown)] = shown
        before = self.document
        given = replace(before.given, policies=objects)
        told = Source(before.source.file, before.source.lines, typed, before.source.is_program)
        return Study(document(data, told, base=before.base, given=given))

    def at(self, setting: Mapping[str, Any]) -> Study:
        """Return the study at one setting of a sweep.

        Parameters
        ----------
        setting
            Values by the dotted names of keys. A key replaces what excludes it, and ``"off"`` takes it away.

        Returns
        -------
        Study
            The study without its sweep, checked as a scenario is.
        """
        from wattline.scenario.sections.sweep import make_room

        if not isinstance(setting, Mapping):
            raise InputError(f"at: expected a mapping of keys to values, got {type(setting).__name__}")
        data = copy.deepcopy(self.document.data)
        data.pop("sweep", None)
        require_names("vary", setting)
        left = make_room(data, setting)
        return self._with(data, left)

    def vary(
        self, keys: Mapping[str, Any] | None = None, *, zipped: Iterable[Sequence[str]] = (), seeds: int | None = None
    ) -> Sweep:
        """Return the runs of every combination of values, those of the scenario's [sweep] included.

        Parameters
        ----------
        keys
            Values by the dotted names of keys: ``{"trace.load": [0.6, 0.8]}``, or a range: ``"0.6:1.0:0.1"``. A key
            replaces what excludes it (``limit.power`` the steps of a limit); the value ``"off"`` takes it away.
        zipped
            Groups of keys that go through their values together: ``[("cluster.nodes", "limit.power")]``.
        seeds
            Runs of each combination, each with a seed of its own (default: as the scenario says, or 1).
        """
        from wattline.api.sweeps.sweep import Sweep
        from wattline.scenario.key_units import si_value
        from wattline.scenario.sections.sweep import Varied, groups_of, vary

        if keys is not None and not isinstance(keys, Mapping):
            raise InputError(f"vary: expected a mapping of keys to lists of values, got {type(keys).__name__}")
        require_names("vary", keys or {})
        own = self.document.spec.sweep or Varied()
        groups = [group for group in own.zipped if not set(group) & set(keys or {})]
        varied = vary(
            {**own.keys, **as_plain(keys or {})},
            [*groups, *groups_of(zipped, "vary: ")],
            own.seeds if seeds is None else as_plain(seeds),
            words="vary: ",
            read=si_value,
        )
        return Sweep(self, varied)

    def run(self) -> pl.DataFrame:
        """Simulate every combination of policies that the scenario lists; return a frame with a row a run."""
        return self.vary().run()

    def simulate(self, *, progress: bool = True, listener: Listener | None = None) -> Run:
        """Simulate it once and return the run.

        Parameters
        ----------
        progress
            Whether to show a bar when it takes longer than two seconds.
        listener
            What hears notes and progress meanwhile (default: one that shows them).

        Returns
        -------
        Run
            Jobs, timeline, summary and figures of the run.
        """
        refuse_forked()
        check_switches("simulate", progress=progress)
        listener = listener or Listener(progress=progress)
        wired = self.wire()
        parts = [wired] if wired.baseline is None else [wired, wired.baseline]
        prepare(wired, listener, parts[1:])
        runs = []
        for part in parts:
            result = carry_out(part, listener)
            if result.stopped == "interrupted" or result.pressed:
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

    many = document.spec.sweep
    if many is not None and many.count * many.seeds > 1:
        listed = f"{many.count:,} settings" if many.count > 1 else f"{many.seeds:,} seeds"
        raise document.source.error(
            ("sweep",),
            f"{listed} are listed; wattline sweep or study.vary() runs them all",
        )
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

    study = Study(read_scenario(path_of("load", path)))
    return study if settings is None else study.set(settings)
