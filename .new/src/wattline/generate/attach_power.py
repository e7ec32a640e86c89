"""Power for the jobs of any log, from the model of a machine like Mira: by project, user, job name and nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError, did_you_mean
from wattline.generate.laws import SEEDS
from wattline.generate.mira_power import MAX_W, Keys, MiraPower, key_text
from wattline.model.jobs import JobTable
from wattline.reading.notes import Note, Trace
from wattline.reading.series_column import mean_over_run

MODELS = ("mira",)

_ATTACH_KEY = 0x41


def attach_power(trace: Trace, *, model: str = "mira", seed: int = 1, max_w: float = MAX_W) -> Trace:
    """Return the log with power over the run of every job, per node and at most ``max_w``; ``draw_w`` is its mean.

    A job's project is its group, else its user, and is its group afterwards. Profiles depend on seed and key alone,
    what differs between runs of a key on seed and order too. What a log says of power already is replaced, counted.
    """
    if model not in MODELS:
        raise InputError(f"unknown power model {model!r}{did_you_mean(model, MODELS)}")
    if not 0 <= seed < SEEDS:
        raise InputError(f"a seed is a whole number from 0 to {SEEDS - 1} (2^53 - 1), got {seed}")
    power = MiraPower(seed, max_w)
    jobs, notes = _with_projects(trace.jobs)
    told = np.isfinite(jobs.draw_w)
    notes.append(_note("repaired", "power of the log replaced by the model's", told, jobs))
    random = np.random.Generator(np.random.Philox(key=[seed, _ATTACH_KEY]))
    series = power.series(keys_of(jobs), jobs.work_s, random)
    nothing = np.full(len(jobs), np.nan)  # floors and slowdowns under caps belong to the power that was replaced
    drawn = jobs.with_columns(
        draw_w=mean_over_run(series, jobs.work_s), series=series, peak_w=nothing, floor_w=nothing, stretch=nothing
    )
    kept = tuple(note for note in notes if note.count)
    header = trace.header | {"Power": f"model {model}, seed {seed}, at most {max_w:.9g} W a node"}
    return replace(trace, jobs=drawn, notes=(*trace.notes, *kept), header=header)


def keys_of(jobs: JobTable) -> Keys:
    """Return who runs what in a job table: (group, user, kind, nodes) are a key."""
    codes = np.stack([jobs.group, jobs.user, jobs.kind, jobs.nodes])
    distinct, key = np.unique(codes, axis=1, return_inverse=True)
    groups, users, kinds = (*jobs.groups, ""), (*jobs.users, ""), (*jobs.kinds, "")
    texts = [key_text(groups[g], users[u], kinds[k], n) for g, u, k, n in distinct.T.tolist()]
    owners, user = np.unique(codes[:2], axis=1, return_inverse=True)  # a user is another one in another project
    names = [f"{groups[g]}\0{users[u]}" for g, u in owners.T.tolist()]
    return Keys(jobs.group % len(groups), user.ravel(), key.ravel(), groups, names, texts)


def _with_projects(jobs: JobTable) -> tuple[JobTable, list[Note]]:
    """Give jobs without a group that of their user."""
    alone = (jobs.group < 0) & (jobs.user >= 0)
    nobody = (jobs.group < 0) & (jobs.user < 0)
    notes = [
        _note("kept", "has no group: its user is its project", alone, jobs),
        _note("kept", "has neither group nor user: such jobs are one project", nobody, jobs),
    ]
    names = list(jobs.groups)
    place: dict[str, int] = {name: code for code, name in enumerate(names)}
    own = np.full(len(jobs.users), -1, dtype=np.int64)
    for code in np.unique(jobs.user[alone]).tolist():
        name = f"user {jobs.users[code]}"
        own[code] = place.setdefault(name, len(place))
    group: Ints = jobs.group.copy()
    group[alone] = own[jobs.user[alone]]
    return jobs.with_columns(group=group, groups=tuple(place)), notes


def _note(action: str, reason: str, which: np.ndarray[tuple[int], np.dtype[np.bool_]], jobs: JobTable) -> Note:
    first = int(np.argmax(which)) if which.any() else 0
    return Note("repaired" if action == "repaired" else "kept", reason, int(which.sum()), f"job {jobs.job_id[first]}")
