"""The configurations that jobs chose, and what made each the best, from the state at a run's end."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.journal.journal import Coded
from wattline.model import codes
from wattline.model.state.record import State
from wattline.physics.power import LIMIT_SLACK
from wattline.wiring.result import Result

RULES = ("asked", "share", "room", "least", "other")
ASKED, SHARE, ROOM, LEAST, OTHER = range(len(RULES))


def shape_columns(result: Result, open_j: Floats | float = 0.0) -> dict[str, Any]:
    """Return a row for each job that started in a configuration; nothing where there are none to choose.

    ``open_j`` is what jobs that work have drawn since their energy was last added up.
    """
    s, moldable = result.state, result.options.configurations
    jobs = np.flatnonzero((s.shape >= 0) & ~np.isnan(s.started_s))
    if not jobs.size:
        return {}
    traditional = result.policies.select.name == "rmap-traditional"
    found = [_why(s, int(j), asked_first=traditional) for j in jobs]
    row = s.start_shape[jobs]  # where caps were raised since, time and power are those of the whole run
    mean_w = s.draw_w[jobs] * s.nodes[jobs]
    if result.policies.cap.recaps:  # caps may have been raised and taken back: over all the time that a job held nodes
        working = s.status[jobs] == codes.RUNNING
        held_s = (s.lost_s + s.ran_s)[jobs] + np.where(working, s.now[0] - s.resumed_s[jobs], 0.0)
        drawn_j = (s.energy_j + open_j)[jobs]
        mean_w = np.divide(drawn_j, held_s, out=mean_w, where=held_s > 0)
    turbo_w = np.array([m.truth.turbo_w for m in moldable])[s.app[jobs]]
    limit_w = np.where(np.isfinite(s.shape_limit_w[jobs]), s.shape_limit_w[jobs], np.nan)
    words = [_words(s, r, float(turbo)) for (_, *others), turbo in zip(found, turbo_w, strict=True) for r in others]
    others = np.array([others for _, *others in found])
    return {
        "job_id": result.jobs.job_id[jobs],
        "application": Coded(s.app[jobs], [m.truth.application for m in moldable]),
        "start_s": s.resumed_s[jobs],
        "nodes": s.sh_nodes[row],
        "cores": s.sh_cores[row],
        "cap_w": s.sh_cap_w[row],
        "turbo": (s.sh_cap_w[row] == turbo_w).astype(np.int64),
        "time_s": s.work[jobs],
        "power_w": mean_w,
        "told_s": s.sh_told_s[row],
        "told_w": s.sh_told_w[row],
        "limit_w": limit_w,
        "share_w": _share_w(s, jobs, limit_w),
        "room_w": np.where(np.isfinite(s.shape_room_w[jobs]), s.shape_room_w[jobs], np.nan),
        "room_nodes": s.shape_room[jobs],
        "rule": Coded(np.array([rule for rule, *_ in found]), RULES),
        "share_shape": words[0::2],
        "share_told_s": s.sh_told_s[others[:, 0]],
        "asked_shape": words[1::2],
        "asked_told_s": s.sh_told_s[others[:, 1]],
    }


def _share_w(s: State, jobs: Any, limit_w: Any) -> Any:
    """Return the part of the limit that is each job's: of the nodes it asked for, times its priority if it has one."""
    factor = np.where(s.priority[jobs] > 0, s.priority[jobs], 1.0)
    return factor * s.asked_nodes[jobs] * limit_w / s.pool_count[s.pool[jobs]]


def _why(s: State, j: int, *, asked_first: bool) -> tuple[int, int, int]:
    """Return the rule by which a job's configuration is the best, and those of its share and as asked for."""
    a, limit_w = s.app[j], float(s.shape_limit_w[j])
    every = np.arange(s.app_first[a], s.app_first[a] + s.app_count[a])
    rows = _waited_for(s, every, int(s.pool[j]), limit_w)
    least = int(rows[np.argmin(s.sh_told_w[rows])])
    share_w = float(_share_w(s, j, limit_w)) if np.isfinite(limit_w) else np.inf
    share = _best(s, rows, min(share_w, limit_w), int(s.pool_count[s.pool[j]]), least)
    asked = _asked(s, rows, max(int(s.asked_nodes[j]), int(s.sh_nodes[every].min())), limit_w, least)
    room = _best(s, every, float(s.shape_room_w[j]), int(s.shape_room[j]), -1)
    by = {ASKED: asked, SHARE: share, ROOM: room, LEAST: least}
    order = (ASKED, SHARE, ROOM, LEAST) if asked_first else (SHARE, ROOM, ASKED, LEAST)
    rule = next((rule for rule in order if by[rule] == s.start_shape[j]), OTHER)
    return rule, share, asked


def _waited_for(s: State, rows: Ints, p: int, limit_w: float) -> Ints:
    """Return the configurations that could start beside idle nodes only.

    Where none could, all that the machine is wide enough for.
    """
    wide = rows[s.sh_nodes[rows] <= s.pool_count[p]]
    spare_w = limit_w * (1.0 + LIMIT_SLACK) - s.pool_count[p] * s.idle_w[p]
    able: Ints = wide[s.sh_told_w[wide] - s.sh_nodes[wide] * s.idle_w[p] <= spare_w]
    return able if able.size else wide


def _best(s: State, rows: Ints, bound_w: float, most: int, otherwise: int) -> int:
    """Return the fastest configuration, as told, under a bound and a number of nodes."""
    fits = rows[(s.sh_told_w[rows] <= bound_w) & (s.sh_nodes[rows] <= most)]
    return int(fits[np.lexsort((s.sh_told_w[fits], s.sh_told_s[fits]))[0]]) if fits.size else otherwise


def _asked(s: State, rows: Ints, nodes: int, limit_w: float, otherwise: int) -> int:
    """Return the configuration with most cores, highest cap and most nodes, up to those asked for and the limit."""
    fits = rows[(s.sh_told_w[rows] <= limit_w) & (s.sh_nodes[rows] <= nodes)]
    return int(fits[np.lexsort((s.sh_nodes[fits], s.sh_cap_w[fits], s.sh_cores[fits]))[-1]]) if fits.size else otherwise


def _words(s: State, row: int, turbo_w: float) -> str:
    cap = "uncapped" if s.sh_cap_w[row] == turbo_w else f"at {s.sh_cap_w[row]:g} W"
    return f"{s.sh_nodes[row]} × {s.sh_cores[row]} {cap}"
