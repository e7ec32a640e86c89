"""Columns of a Slurm dump → numbers and codes, part by part, so that no text stays: what
``formats.jobs.sacct.read`` works with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints, in_units
from wattline.errors import InputError
from wattline.model.jobs import UNKNOWN
from wattline.reading import fields
from wattline.reading.coder import Coder
from wattline.reading.pieces import Pieces

if TYPE_CHECKING:
    import polars as pl

NODES, CPUS = ("allocnodes", "nnodes", "alloctres", "reqnodes"), ("alloccpus", "ncpus", "reqcpus")
"""Columns that tell a job's size, in nodes or in CPUs."""
NAMED = {
    "user": ("user", "uid"),
    "group": ("account", "group", "gid"),
    "kind": ("jobname",),
    "partition": ("partition",),
}
"""Columns that name what a job belongs to, the best first."""
_LIMITS, _ENERGIES = ("timelimitraw", "timelimit"), ("consumedenergyraw", "consumedenergy")
_CANONICAL_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d$"
_UNIX_TIME = r"^\d{9,11}$"
_CANONICAL_JOB = r"^([1-9]\d{0,11})(?:_(0|[1-9]\d{0,5}))?$"
_TASK_BITS = 22
_ODD_TIME = -1e15
"""Keys of submit times in other notations begin here; no time is so early."""
_ODD_JOB = UNKNOWN - 1
"""Keys of jobs whose number is not plain begin here, and fall."""


class Columns:
    """What is known of every record so far; ``refused`` is what was wrong with the time zone."""

    def __init__(self, path: Path | str, cores_per_node: int, timezone: str | None) -> None:
        self._path, self._cores_per_node, self._timezone = path, cores_per_node, timezone
        self.pieces = Pieces()
        self.coders = {name: Coder() for name in ("state", "cluster", *NAMED)}
        self.refused: InputError | None = None
        self.odd_submits = False
        self.local = False
        """Whether submit times are times of some place, and not Unix times."""
        self._odd_job, self._odd_submit = Coder(), Coder()

    def __call__(self, frame: pl.DataFrame) -> None:
        """Take a part of the dump."""

        def first(*names: str) -> pl.Series | None:
            name = next((name for name in names if name in frame.columns), None)
            return None if name is None else frame[name].str.strip_chars()

        self._take_numbers(first("jobid", "jobidraw"), first("jobidraw", "jobid"))
        self.pieces.add("row", frame.hash_rows().to_numpy())
        cluster = first("cluster")
        if cluster is not None:
            self.coders["cluster"].add(cluster)
        submit, start, end = (first(name) for name in ("submit", "start", "end"))
        if submit is not None:
            at = self._instants(submit)
            self.pieces.add("submit", at)
            self.local |= bool(
                (np.isfinite(at) & ~submit.str.contains(_UNIX_TIME).fill_null(value=False).to_numpy()).any()
            )
            self.pieces.add("submit key", self._submit_key(submit, at))
            self.pieces.add("submit unread", np.isnan(at) & ~fields.is_unknown(submit))
        if start is not None:
            self.pieces.add("start", self._instants(start))
            self.pieces.add("start unknown", fields.is_unknown(start))
        self._take_elapsed(first("elapsedraw"), first("elapsed"), start, end)
        self._take_sizes(frame, first(*CPUS))
        for name, texts in (("state", first("state")), *((name, first(*among)) for name, among in NAMED.items())):
            if texts is not None:
                self.coders[name].add(fields.state(texts) if name == "state" else texts)
        for name, texts, read in (
            ("limit", first(*_LIMITS), fields.slurm_numbers if "timelimitraw" in frame.columns else fields.clock_s),
            ("priority", first("priority"), fields.slurm_numbers),
            ("energy", first(*_ENERGIES), fields.scaled_numbers),
        ):
            if texts is not None:
                minutes = "timelimitraw" in frame.columns and name == "limit"
                values = in_units(read(texts), 60.0 if minutes else 1.0)
                self.pieces.add(name, values)
                if name == "limit":
                    self.pieces.add(
                        "limit unread", ~((values >= 0) & np.isfinite(values)) & ~fields.is_unlimited(texts)
                    )
                else:
                    self.pieces.add(f"{name} unread", np.isnan(values) & ~fields.is_unknown(texts))

    def taken(self, name: str, keep: npt.NDArray[np.bool_]) -> tuple[Ints, Sequence[str]]:
        """Return codes and names of kept records, numbered in the order in which those appear."""
        column = self.coders.pop(name)
        coded, names = column.codes, column.names
        if not coded.size:
            return np.full(int(keep.sum()), UNKNOWN, dtype=np.int64), ()
        coded = coded[keep]
        values, seen = np.unique(coded, return_index=True)
        order = values[np.argsort(seen)]
        order = order[order >= 0]
        again = np.full(len(names) + 1, UNKNOWN, dtype=np.int64)
        again[order] = np.arange(order.size)
        return again[coded], names.take(order)

    def job_keys(self) -> Ints:
        """Return a number for every record, the same where the job's number is written the same; steps have none."""
        key: Ints = self.pieces.take("job")
        key[key == _ODD_JOB] = UNKNOWN - 1 - self._odd_job.codes
        return key

    def submit_keys(self) -> Floats:
        """Return a number for every submit time, the same where it is written the same."""
        key: Floats = self.pieces.take("submit key")
        key[key == _ODD_TIME] = _ODD_TIME - self._odd_submit.codes
        return key

    def _take_numbers(self, shown: pl.Series | None, raw: pl.Series | None) -> None:
        if shown is None or raw is None:
            return
        step = shown.str.contains(".", literal=True).to_numpy()
        self.pieces.add("step", step)
        self.pieces.add("part", shown.str.contains("+", literal=True).to_numpy())
        self.pieces.add("number", fields.leading_integer(raw))
        self.pieces.add("job", self._job_key(raw, step))

    def _job_key(self, texts: pl.Series, step: npt.NDArray[np.bool_]) -> Ints:
        """Return a number for every job that another has only if its text is the same; steps have none.

        Other texts than plain numbers are numbered when all are known.
        """
        import polars as pl

        groups = texts.str.extract_groups(_CANONICAL_JOB).struct
        job, task = (groups.field(name).cast(pl.Int64) for name in groups.fields)
        key = np.asarray(
            ((job * (1 << _TASK_BITS)) + (task + 1).fill_null(0)).fill_null(UNKNOWN).to_numpy(), dtype=np.int64
        )
        odd = np.flatnonzero((key < 0) & ~step)
        if odd.size:
            key = key.copy()
            key[odd] = _ODD_JOB
            self._odd_job.add(texts[odd])
        return key

    def _submit_key(self, texts: pl.Series, at: Floats) -> Floats:
        """Return a number for every submit time that another has only if its text is the same.

        Times in other notations are numbered when all are known.
        """
        odd = np.flatnonzero(~texts.str.contains(_CANONICAL_TIME).to_numpy())
        if not odd.size:
            return at
        key = at.copy()
        key[odd] = _ODD_TIME
        self._odd_submit.add(texts[odd])
        self.odd_submits = True
        return key

    def _take_elapsed(
        self, raw: pl.Series | None, clock: pl.Series | None, start: pl.Series | None, end: pl.Series | None
    ) -> None:
        """Take run times, from the most exact column there is; NaN where unknown."""
        told = raw if raw is not None else clock
        if told is not None:
            elapsed = fields.slurm_numbers(told) if raw is not None else fields.clock_s(told)
            unread = np.isnan(elapsed) & ~fields.is_unknown(told)
        elif start is not None and end is not None:
            elapsed = self._instants(end) - self._instants(start)
            unread = np.isnan(elapsed) & ~fields.is_unknown(start) & ~fields.is_unknown(end)
        else:
            return
        self.pieces.add("elapsed", elapsed)
        self.pieces.add("elapsed unread", unread)

    def _take_sizes(self, frame: pl.DataFrame, cpus: pl.Series | None) -> None:
        """Take sizes in nodes: allocated if known, else requested; NaN where unknown."""
        nodes: Floats | None = None
        first: Floats | None = None
        unread = np.zeros(frame.height, dtype=np.bool_)
        for name in NODES:
            if name in frame.columns:
                texts = frame[name].str.strip_chars()
                given = fields.slurm_numbers(texts.str.extract(r"(?:^|,)node=(\d+)") if name == "alloctres" else texts)
                first = given if first is None else first
                nodes = given if nodes is None else np.where(nodes > 0, nodes, given)
                if name != "alloctres":
                    unread |= np.isnan(given) & ~fields.is_unknown(texts)
        if nodes is None and cpus is not None:
            given = fields.slurm_numbers(cpus)
            nodes = np.ceil(given / self._cores_per_node)
            self.pieces.add("rounded", given % self._cores_per_node != 0)
            unread = np.isnan(given) & ~fields.is_unknown(cpus)
        if nodes is not None:
            self.pieces.add("nodes", nodes)
            self.pieces.add("nodes unread", unread)
        if first is not None and nodes is not None:
            self.pieces.add("stood in", ~(first > 0) & (nodes > 0))

    def _instants(self, texts: pl.Series) -> Floats:
        try:
            return fields.instants(texts, self._timezone, self._path)
        except InputError as problem:
            self.refused = problem
            return np.full(texts.len(), np.nan)
