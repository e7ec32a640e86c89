"""A run: its tables, its numbers, its figures; simulated a moment ago or read from its journal."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.frames import Frame
from wattline.errors import InputError, did_you_mean, one_line, shorten

if TYPE_CHECKING:
    import polars as pl

    from wattline.journal.journal import Journal
    from wattline.reading.notes import Note
    from wattline.report.count.metrics import Summary
    from wattline.report.count.run import Run as Loaded
    from wattline.scenario.study import Study as Wired
    from wattline.wiring.result import Result


class Run:
    """One run. Its tables are polars frames, with columns as in docs/journal.md.

    Times are in seconds, power in watts, energy in joules.
    """

    def __init__(
        self,
        *,
        wired: Wired | None = None,
        result: Result | None = None,
        folder: Path | None = None,
        against: Run | None = None,
    ) -> None:
        self.wired, self.result = wired, result
        """What was simulated, and the state at its end; None for a run that was read from its journal."""
        self.folder = folder
        """Where its journal lies, if it was written."""
        self.against = against
        """The same jobs in no market, where the scenario asks for that and it was simulated here."""

    @cached_property
    def journal(self) -> Journal:
        """All tables, scanned lazily, and the manifest."""
        from wattline.journal.journal import in_memory, open_journal

        if self.wired is None or self.result is None:
            assert self.folder is not None  # noqa: S101 - one of them is there
            return open_journal(self.folder)
        return in_memory(*self.wired.tables(self.result))

    @property
    def name(self) -> str:
        """Name of the scenario, or of the log."""
        return str(self.journal.manifest.get("name") or "")

    @property
    def seed(self) -> int | None:
        """Seed of the run."""
        return self.journal.manifest.get("seed")

    @property
    def policies(self) -> dict[str, str]:
        """The policy of each slot."""
        return self.summary.policies

    @Frame
    def jobs(self) -> pl.DataFrame:
        """One row a job: when it was submitted, started and ended, its nodes, its energy, what became of it."""
        return self.journal.read("jobs")

    @Frame
    def timeline(self) -> pl.DataFrame:
        """The machine as a step function of time: power, nodes by state, queue, limit, target."""
        return self.journal.read("timeline")

    @Frame
    def events(self) -> pl.DataFrame:
        """Everything that happened, in order."""
        return self.journal.read("events")

    @Frame
    def placements(self) -> pl.DataFrame:
        """One row per contiguous range of nodes that a job held."""
        return self.journal.read("placements")

    @Frame
    def decisions(self) -> pl.DataFrame:
        """What the policies proposed, and what became of it."""
        return self.journal.read("decisions")

    @Frame
    def classes(self) -> pl.DataFrame:
        """Energy and node-seconds of each node class."""
        return self.journal.read("classes")

    @Frame
    def hours(self) -> pl.DataFrame:
        """Energy, money and carbon hour by hour; empty where nothing has a price."""
        return self.journal.read("hours")

    @cached_property
    def loaded(self) -> Loaded:
        """What counting and drawing start from."""
        from wattline.report.count.run import load

        return load(self.journal)

    @cached_property
    def summary(self) -> Summary:
        """All numbers of the run, e.g. ``summary.wait.mean``; ``summary.to_dict()`` is plain data."""
        from wattline.report.count.metrics import summarize_run

        return summarize_run(self.loaded)

    @cached_property
    def baseline(self) -> Summary | None:
        """The numbers of the same jobs in no market, where the scenario asks for them and they lie beside the
        journal.
        """
        from wattline.report.count.baseline import baseline_of

        if self.against is not None:
            return self.against.summary
        return None if self.folder is None else baseline_of(self.folder)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped, repaired, rejected or kept on purpose: action, reason, count, example."""
        from wattline.reading.notes import Note

        own = tuple(
            Note(note["action"], note["reason"], note["count"], note["example"])
            for note in self.journal.manifest["trace"]["notes"]
        )
        return own if self.wired is None else own + self.wired.notes[len(self.wired.trace.notes) :]

    @property
    def remarks(self) -> list[str]:
        """What to know of the run: the machine of its log, on what its watts rest, results that are hard to believe."""
        from wattline.api.assumptions import remarks, warnings

        said = [] if self.wired is None else [*remarks(self.wired), *warnings(self.wired)]
        return [*said, *self.summary.doubts]

    def plot(self, what: str = "power") -> Any:
        """Return a figure of the report as a plotly figure.

        Parameters
        ----------
        what
            Which figure: power, load, gantt, waits, slowdowns, waits by size, sizes, run times, energies, rates,
            regulation, tracking errors, service, accounts, learning or profile errors. One that the run has nothing for
            is refused.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure, with the units of the report on its axes.
        """
        from wattline.report.figures.gallery import GALLERY

        if not isinstance(what, str) or what not in GALLERY:
            raise InputError(f"plot: there is no figure {shorten(what)}{did_you_mean(what, GALLERY)}")
        drawn = GALLERY[what](self.loaded, self.summary, self.journal)
        if drawn is None:
            why = ": no watts were given" if what in ("power", "energies") and not self.summary.has_power else ""
            raise InputError(f"plot: this run has nothing to draw as {what!r}{why}")
        import plotly.graph_objects as go

        figure = go.Figure({"data": drawn.figure.data, "layout": drawn.figure.layout})
        margin = figure.layout.margin
        return figure.update_layout(title={"text": drawn.title}, margin={"t": (margin.t or 0) + 40})

    def report(self, path: Path | str) -> Path:
        """Write the page of the run: one HTML file with everything in it.

        Parameters
        ----------
        path
            The HTML file.

        Returns
        -------
        Path
            The file that was written.
        """
        from wattline.report.pages.run import report_page

        target = path_of("report", path)
        return report_page(self.loaded, self.summary, self.journal, self.baseline).write(target)

    def write(self, folder: Path | str, *, force: bool = False) -> Path:
        """Write the journal into a folder, as ``wattline run`` does.

        Parameters
        ----------
        folder
            Where to; a journal of a run of the same name that is there is replaced.
        force
            Whether a journal of another name is replaced, too.

        Returns
        -------
        Path
            The folder.
        """
        from wattline.journal.folder_lock import held
        from wattline.journal.journal import BASELINE, is_journal, read_manifest, write_journal

        check_switches("write", force=force)
        target = folder_at(folder)
        with held(target):
            there = read_manifest(target).get("name") if not force and is_journal(target) else self.name
            if there != self.name:
                raise InputError(
                    f"{target}: holds the journal of {there!r}, not of {self.name!r}; write(…, force=True) overwrites "
                    "it, or give another folder"
                )
            if self.wired is not None and self.result is not None:
                self.wired.write(self.result, target)
            else:
                tables = {name: self.journal.read(name) for name in self.journal.frames}
                write_journal(target, tables, self.journal.manifest)
            if self.against is not None:
                self.against.write(target / BASELINE, force=True)
        self.folder = target
        return target

    def __rich__(self) -> Any:
        from wattline.report.tables.summary import summary_table

        return summary_table(self.summary)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        from wattline.report.page import table
        from wattline.report.tables.summary import fact_rows

        return table((self.name, ""), fact_rows(self.summary), text=(1,))


def folder_at(folder: Path | str) -> Path:
    """Return a folder for results; what cannot be one is refused in a line."""
    try:
        target = Path(folder)
        if not target.resolve().name or (target.exists() and not target.is_dir()):
            raise InputError(f"{one_line(target)}: is no folder for results; give another one")
    except (OSError, ValueError, TypeError) as problem:
        told = getattr(problem, "strerror", None) or problem
        raise InputError(f"{shorten(folder, 100)}: cannot be a folder ({told}); give another one") from None
    return target


def path_of(call: str, path: Any) -> Path:
    """Return what was given as a path; what is none is refused in a line."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise InputError(f"{call}: expected a path, got {type(path).__name__}")
    return Path(path)


def check_switches(call: str, **switches: object) -> None:
    """Refuse texts, numbers and arrays where yes or no belongs: "no" would mean yes."""
    for name, value in switches.items():
        kind = type(value)
        if not (kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))):
            raise InputError(f"{call}: {name} is True or False, got {shorten(value)}")


def as_text(renderable: Any, width: int = 80) -> str:
    """Return what a terminal shows of something, without colours."""
    from rich.console import Console

    console = Console(width=width, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as captured:
        console.print(renderable, highlight=False)
    return captured.get().rstrip()


def read_run(folder: Path | str) -> Run:
    """Open the journal that a run left.

    Parameters
    ----------
    folder
        Folder of the journal. That of a run that was cut off is made first, up to the last simulated hour that was
        kept.

    Returns
    -------
    Run
        Jobs, timeline, summary and figures, as ``wl.simulate`` gives them.
    """
    from wattline.scenario.built.cut_off import make_readable

    path = path_of("read_run", folder)
    make_readable(path)
    run = Run(folder=path)
    _ = run.journal  # what is no journal is said now
    return run
