"""Predicted configurations on disk: a Parquet table in the layout of measured ones, with bounds and who made it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from wattline.errors import InputError
from wattline.files import write_whole
from wattline.learn.configs.fitted import Fitted
from wattline.learn.configs.grid import Predicted

KEY = "wattline-predicted"


def write_predicted(path: Path, fitted: Fitted, found: Predicted) -> None:
    """Write a predicted table; it can be read wherever measured ones can, and says in its metadata that it is
    predicted.
    """
    import polars as pl

    if not path.name.endswith(".parquet"):
        raise InputError(f"{path}: end the name in .parquet, which holds bounds and where they come from")
    t, bounds = found.table, found.bounds
    seen = np.zeros(len(t), dtype=bool)
    seen[found.measured] = True
    frame = pl.DataFrame(
        {
            "application": [t.application] * len(t),
            "nodes": t.nodes,
            "cores": t.cores,
            "cap_w": t.cap_w,
            "time_s": t.time_s,
            "power_w": t.power_w,
            "turbo": np.where(t.cap_w == t.turbo_w, "yes", "no"),
            "time_least_s": bounds.least_s,
            "time_most_s": bounds.most_s,
            "power_least_w": bounds.least_w,
            "power_most_w": bounds.most_w,
            "measured": seen,
            "beyond": found.beyond,
        }
    )
    about = {"model": fitted.model, "measurements": int(fitted.rows.size), "miss": found.miss}
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={KEY: json.dumps(about)})
    write_whole(path, buffer.getvalue())
