"""Which records of a Slurm dump are runs of one job: a job number alone does not say it, since Slurm uses it again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints

Mask = npt.NDArray[np.bool_]

AT_ONCE_S = 86400.0
"""Slurm submits a job again when its run is lost: what comes under its number a day later is another job."""


def repeated(whole: Mask, job: Ints) -> Ints:
    """Return the rows whose job number comes more than once, in the order of the dump."""
    rows = np.flatnonzero(whole)
    _, which, counts = np.unique(job[rows], return_inverse=True, return_counts=True)
    again: Ints = rows[counts[which] > 1]
    return again


def tell_apart(
    rows: Ints,
    job: Ints,
    user: npt.NDArray[Any] | None,
    times: tuple[Floats, Floats, Floats],
    key: Floats,
    lost: Mask,
    goes_on: Mask,
) -> Ints:
    """Return keys of jobs that differ also where one number stands for several jobs.

    A record goes on with the job of the record before it, of the same number and user, where both are of one
    submission, or where that one lost its nodes within the day before, or had not ended (when an older dump was made).
    Any other end is the end of a job, and what follows is another.
    ``user`` is that of ``rows``; ``times`` are those of submission, start and run, in whose order records come.
    """
    import polars as pl

    told, (submit, begun, elapsed) = job.copy(), times
    if not rows.size:
        return told
    frame = pl.DataFrame(
        {
            "row": rows,
            "job": job[rows],
            "user": np.zeros(rows.size, dtype=np.int64) if user is None else user,
            "at": submit[rows],
            "begun": np.where(goes_on[rows] & np.isinf(begun[rows]), -np.inf, begun[rows]),  # waits: before it runs
            "ran": elapsed[rows],
            "key": key[rows],
            "lost": lost[rows],
            "goes on": goes_on[rows],
        }
    )
    frame = frame.sort("job", "user", "at", "begun", ~pl.col("goes on"), "ran", maintain_order=True)
    before = frame.shift(1)
    ended = before["begun"] + before["ran"]  # infinite where it is not known when it started
    again = (before["lost"] & (frame["at"] <= ended + AT_ONCE_S)) | before["goes on"]
    follows = (
        (frame["job"] == before["job"]) & (frame["user"] == before["user"]) & ((frame["key"] == before["key"]) | again)
    ).fill_null(value=False)
    chain = (~follows).cast(pl.Int64).cum_sum().to_numpy()
    unused = min(0, int(job.min())) - 1
    told[frame["row"].to_numpy()] = unused - chain
    return told
