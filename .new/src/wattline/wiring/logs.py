"""Logs of a state: which there are, and how pieces that were moved out of them become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.model import codes
from wattline.model.state.record import State

LOGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "decision": ("a_n", ("a_time_s", "a_kind", "a_job", "a_nodes", "a_cap_w", "a_why", "a_verdict")),
    "event": ("ev_n", ("ev_time_s", "ev_kind", "ev_job", "ev_nodes", "ev_value")),
    "timeline": ("tl_n", ("timeline",)),
    "placement": ("px_n", ("px_job", "px_first", "px_count", "px_from_s", "px_until_s")),
}
"""Logs of the state: name → (its row counter, its arrays)."""


def bid_steps(
    time_s: npt.NDArray[np.float64], kind: npt.NDArray[np.int64], value: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the bids of an event log as steps: from when, mean power (NaN: none), reserve."""
    mean, reserve = kind == codes.EV_BID, kind == codes.EV_RESERVE
    return time_s[mean], value[mean], value[reserve]


def join_logs(chunks: Mapping[str, Sequence[npt.NDArray[Any]]], s: State) -> dict[str, npt.NDArray[Any]]:
    """Return the logs as one array a column from the pieces that were moved out of the state."""
    logs = {}
    for name, (_, arrays) in LOGS.items():
        for i, array in enumerate(arrays):
            pieces = chunks[name][i :: len(arrays)]
            logs[array] = np.concatenate(pieces) if pieces else getattr(s, array)[:0].copy()
    logs["timeline"] = last_of_instants(logs["timeline"])
    return logs


def last_of_instants(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the timeline with one row an instant, the later one of two.

    There are two where the log was emptied within an instant, before a second pass of it wrote its row.
    """
    return rows[np.append(rows[1:, codes.TL_TIME] != rows[:-1, codes.TL_TIME], True)] if len(rows) else rows
