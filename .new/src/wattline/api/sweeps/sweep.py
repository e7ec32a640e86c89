"""Runs of a study under combinations of values and seeds: a row a run, kept as it goes, so that it can go on."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wattline.api.forked import refuse_forked
from wattline.api.listener import Listener
from wattline.api.many import Task, plan_runs
from wattline.api.many import mechanisms as needed_by
from wattline.api.runs import check_switches, folder_at
from wattline.api.sweeps.places import Call, Where, carry_out_at, find_where
from wattline.api.sweeps.work import Unit, Varies, Worked, plan_unit, value_text, work
from wattline.errors import InputError, shorten
from wattline.files import in_this_folder
from wattline.journal.kept import Kept, open_kept
from wattline.scenario.inputs import files_sha256, identity

if TYPE_CHECKING:
    import polars as pl

    from wattline.scenario.sections.sweep import Varied

TABLE, ABOUT = "sweep.parquet", "sweep.json"
"""What a sweep leaves in its folder: a row a run; what was varied."""

MOST_JOURNALS = 10_000
"""Runs that leave a journal each."""

Keep = Literal["journals", "summary"]


class Sweep:
    """Runs of a study under combinations of values and seeds."""

    def __init__(self, study: Varies, varied: Varied) -> None:
        self.study, self.varied = study, varied
        self.left = 0
        """Runs that were not carried out when the last ``run`` was interrupted."""
        self.warnings: list[str] = []
        self.remarks: list[str] = []
        """What was assumed and what is hard to believe, of the runs of the last ``run``."""

    @property
    def keys(self) -> dict[str, list[Any]]:
        """What is varied: values by keys."""
        return {key: list(values) for key, values in self.varied.keys.items()}

    @property
    def seeds(self) -> int:
        """Runs of each combination."""
        return self.varied.seeds

    def settings(self) -> Iterator[dict[str, Any]]:
        """Yield the combinations of values."""
        return self.varied.settings()

    def check(self) -> list[Task]:
        """Refuse a value that the scenario does not take, before anything is run; return a run of each value."""
        tasks: list[Task] = []
        for setting in self.varied.one_by_one() if self.varied.keys else [{}]:
            tasks += plan_runs([self.study.at(setting).document], 1)
        return tasks

    def run(
        self,
        *,
        folder: Path | str | None = None,
        keep: Keep = "journals",
        threads: int | None = None,
        progress: bool = True,
        resume: bool = False,
        listener: Listener | None = None,
        partly: bool = False,
        overwrite: bool = False,
        on: str | None = None,
        then: Callable[[pl.DataFrame], None] | None = None,
    ) -> pl.DataFrame:
        """Simulate all runs.

        Parameters
        ----------
        folder
            Where the table and the journals of all runs are kept (default: nowhere).
        keep
            ``"journals"``: those of all runs beside the table; ``"summary"``: the table alone.
        threads
            Runs at a time (default: one a core).
        progress
            Whether to show a bar.
        resume
            Whether to go on with a sweep that was cut off in this folder: what is done is not done again.
        listener
            Who is told what happens (default: a bar, where it takes long).
        partly
            Whether Ctrl-C ends it with the rows that are done.
        overwrite
            Whether an earlier sweep in the folder is replaced.
        on
            Where runs are made: ``"threads"``, ``"processes"``, ``"dask://host:port"`` (a scheduler of Dask) or
            ``"slurm"`` (workers of Dask as jobs of Slurm). Default: threads, or processes where a policy is plain
            Python, which threads cannot run side by side, and comes from a file.
        then
            Called with the table when it is written; a sweep that is killed before this has come back can be gone on
            with.

        Returns
        -------
        polars.DataFrame
            A row a run: the varied keys, the policies where they differ, the seed, and every metric that some run has.
        """
        refuse_forked()
        if keep not in ("journals", "summary"):
            raise InputError(f"run: keep is 'journals' or 'summary', got {shorten(keep)}")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise InputError(f"run: threads is a whole number from 1 on, got {shorten(threads)}")
        check_switches("run", progress=progress, resume=resume, partly=partly, overwrite=overwrite)
        tasks = self.check()
        objects = any(task.variant.document.given.policies for task in tasks)
        plain = any(not one.compiled for one in needed_by(tasks))
        where = find_where(on, threads, plain=plain, objects=objects)
        target = None if folder is None else folder_at(folder)
        if target is not None and not resume and not overwrite and target.is_dir() and any(target.iterdir()):
            raise InputError(f"{target}: is not empty; give a new folder for the journals of these runs")
        book = Book(self, target, keep, resume=resume)
        hear = listener or Listener(progress=progress)
        if book.words:
            hear.say(book.words)
        try:
            self._warm_up(tasks, hear)
            done = self._carry_out(book, hear, where, partly=partly)
        finally:
            book.close()
        self.left = book.runs - done
        self.warnings, self.remarks = book.warnings, book.remarks
        return book.finish(then, whole=self.left == 0)

    def _carry_out(self, book: Book, listener: Listener, where: Where, *, partly: bool) -> int:
        """Carry out what the book does not hold; return how many runs it holds then."""
        with listener.progress("runs") as progress, in_this_folder():

            def look() -> None:
                progress(len(book.done), book.runs)

            def take(key: tuple[int, Task], found: Worked) -> None:
                book.take(key[0], found)

            look()
            carry_out_at(where, self._calls(book), take, look, lambda key: _words(key[1]), partly=partly)
        return len(book.done)

    def _calls(self, book: Book) -> Iterator[tuple[tuple[int, Task], Call]]:
        """Yield the runs that the book does not hold, by number, with how each is carried out."""
        study = _anywhere(self.study)
        for at, setting in enumerate(self.settings()):
            numbers = range(at * book.per, (at + 1) * book.per)
            if all(number in book.done for number in numbers):
                continue
            unit = Unit(setting)
            for number, task in zip(numbers, plan_unit(study, unit, self.seeds, book.per), strict=True):
                if number not in book.done:
                    yield (number, task), (work, unit, task, book.place(number))

    def _warm_up(self, tasks: list[Task], listener: Listener) -> None:
        """Compile what some setting needs."""
        import wattline.sim.engine  # noqa: F401  (compiled or loaded here, once, before the threads need it)

        change = any(task.variant.document.spec.cluster.nodes_change for task in tasks)
        listener.warm_up(needed_by(tasks), nodes_change=change)

    def __repr__(self) -> str:
        return f"<Sweep of {self.study.name}: {self.varied.count:,} settings, {self.seeds} seed(s)>"


def _anywhere(study: Varies) -> Varies:
    """Return a study whose files are found from any folder."""
    moved = copy.copy(study)
    moved.document = replace(study.document, base=study.document.base.absolute())
    return moved


def _words(task: Task) -> str:
    return f"{task.label}, seed {task.seed}"


class Book:
    """Rows of a sweep as they come, in a file that is whole up to its last line at any moment."""

    def __init__(self, sweep: Sweep, folder: Path | None, keep: Keep, *, resume: bool) -> None:
        self.sweep, self.folder, self.keep = sweep, folder, keep
        self.done: dict[int, Worked] = {}
        """Runs that are done, by their number."""
        first = next(sweep.settings(), {})
        self.per = len(plan_runs([sweep.study.at(first).document], sweep.seeds))
        """Runs of a setting."""
        self.runs = self.per * sweep.varied.count
        if folder is not None and keep == "journals" and self.runs > MOST_JOURNALS:
            raise InputError(
                f"vary: that would be {self.runs:,} journals, at most {MOST_JOURNALS:,} are written; keep the summary "
                "alone (keep='summary', --keep summary), or give fewer values or seeds"
            )
        self._digits = len(str(self.runs))
        self._kept: Kept | None = None
        if folder is not None:
            self._kept = open_kept(folder, self.about(), resume=resume, result=TABLE)
            self.done = {int(key): self._kept.get(key) for key in self._kept.keys}

    @property
    def words(self) -> str:
        """What the sweep goes on with (nothing: an empty text)."""
        return "" if self._kept is None else self._kept.words

    @property
    def warnings(self) -> list[str]:
        """What was assumed and what is hard to believe, in the order of the runs."""
        return list(dict.fromkeys(line for at in sorted(self.done) for line in self.done[at].warnings))

    @property
    def remarks(self) -> list[str]:
        """What to know of the runs, in their order."""
        return list(dict.fromkeys(line for at in sorted(self.done) for line in self.done[at].remarks))

    def about(self) -> dict[str, Any]:
        """Return what the sweep is, as plain data; a sweep goes on only where this is the same."""
        varied = self.sweep.varied
        document = self.sweep.study.document
        texts = [value for values in varied.keys.values() for value in values if isinstance(value, str) and value]
        return {
            **identity(document),
            "varied files": files_sha256(document.base / text for text in texts),
            "keys": {key: [value_text(value) for value in values] for key, values in varied.keys.items()},
            "zipped": [list(group) for group in varied.zipped],
            "seeds": varied.seeds,
            "keep": self.keep,
        }

    def place(self, number: int) -> Path | None:
        """Return where the journal of a run lies; None: it is not kept."""
        if self.folder is None or self.keep != "journals":
            return None
        return (self.folder / f"run-{number + 1:0{self._digits}}").absolute()

    def take(self, number: int, found: Worked) -> None:
        """Note a run that is done."""
        self.done[number] = found
        if self._kept is not None:
            self._kept.put(str(number), found)

    def finish(self, then: Callable[[pl.DataFrame], None] | None = None, *, whole: bool) -> pl.DataFrame:
        """Return the table, and write it; what is kept is forgotten when ``then`` has come back."""
        frame = self._frame()
        if self.folder is not None:
            _replace(self.folder / TABLE, frame.write_parquet)
            about = {**self.about(), "runs": frame.height, "whole": whole}
            (self.folder / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if then is not None:
            then(frame)
        if whole and self._kept is not None:
            self._kept.forget()
        return frame

    def close(self) -> None:
        """Close the file of what is kept."""
        if self._kept is not None:
            self._kept.close()

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        from wattline.report.count.compare import METRICS

        rows = [self.done[number].row for number in sorted(self.done)]
        if not rows:
            return pl.DataFrame()
        if len({row["policies"] for row in rows}) == 1:
            rows = [{key: value for key, value in row.items() if key != "policies"} for row in rows]
        if all(row["journal"] is None for row in rows):
            rows = [{key: value for key, value in row.items() if key != "journal"} for row in rows]
        frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
        unknown = [m.path for m in METRICS if m.path in frame and frame[m.path].null_count() == frame.height]
        return frame.drop(unknown)


def _replace(path: Path, write: Any) -> None:
    """Write a file beside its place and put it there whole."""
    beside = path.with_name(f".{path.name}.writing-{os.getpid()}")
    write(beside)
    beside.replace(path)
