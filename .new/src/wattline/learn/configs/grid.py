"""A whole table of configurations from a model: every combination of node counts, core counts and caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.learn.configs.fitted import Bools, Bounds, Fitted
from wattline.model.configurations import Configurations

MOST = 200_000
"""Combinations that one grid may have."""


class Predicted(NamedTuple):
    """A predicted table, bounds of its times and powers, which rows were measured (they are predicted all the
    same), which are beyond.
    """

    table: Configurations
    bounds: Bounds
    measured: Ints
    miss: float
    beyond: Bools
    """Where bounds promise nothing: more or less of something than was ever measured."""


def predict_grid(
    fitted: Fitted,
    measured: Configurations,
    *,
    nodes: Sequence[int] = (),
    cores: Sequence[int] = (),
    caps_w: Sequence[float] = (),
    miss: float = 0.1,
) -> Predicted:
    """Return predictions for all combinations; counts and caps that are not given are those of the measured table.

    Combinations that nothing can be said of (turbo, where it was not measured) are left out.
    """
    axes = [
        np.unique(np.asarray(given if len(given) else own, dtype=np.float64))
        for given, own in ((nodes, measured.nodes), (cores, measured.cores), (caps_w, measured.cap_w))
    ]
    size = axes[0].size * axes[1].size * axes[2].size
    if size > MOST:
        raise InputError(f"{fitted.application}: a grid of {size:,} configurations is too large, at most {MOST:,}")
    n, c, p = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    told = fitted.covers(p)
    if not told.any():
        raise InputError(f"{fitted.application}: nothing of this grid can be predicted; measure one with turbo")
    n, c, p = n[told], c[told], p[told]
    time_s, power_w = fitted.predict(n, c, p)
    turbo_w = fitted.turbo_w if fitted.is_turbo(p).any() else float("nan")
    table = Configurations(fitted.application, n.astype(np.int64), c.astype(np.int64), p, time_s, power_w, turbo_w)
    return Predicted(
        table, fitted.interval(n, c, p, miss), _among(table, measured.take(fitted.rows)), miss, ~fitted.reaches(n, c, p)
    )


def _among(table: Configurations, others: Configurations) -> Ints:
    """Return the rows of a table that others have too."""
    known = set(zip(others.nodes.tolist(), others.cores.tolist(), others.cap_w.tolist(), strict=True))
    keys = zip(table.nodes.tolist(), table.cores.tolist(), table.cap_w.tolist(), strict=True)
    return np.asarray([i for i, key in enumerate(keys) if key in known], dtype=np.int64)
