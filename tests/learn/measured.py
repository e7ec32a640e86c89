"""Tables of configurations for tests: the measured ones, and one made by a law that is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from wattline.formats.tables.configurations import read_configurations
from wattline.model.configurations import Configurations

FILE = "powercap/rzmerl_powercap_configs.csv.gz"


def measured(data_dir: Path) -> Mapping[str, Configurations]:
    """Return the measured tables by application; 115 W is uncapped, with turbo."""
    return read_configurations(data_dir / FILE).tables


def made(noise: float = 0.0, seed: int = 1, turbo: bool = True) -> Configurations:
    """Return a table on a full grid by a law that is quadratic in logarithms; turbo, if there, is one factor at all
    shapes.
    """
    grid = np.array(
        [(n, c, p) for n in (4, 8, 16, 32) for c in (4, 8, 12, 16) for p in (50.0, 65.0, 80.0, 95.0, 115.0)]
    )
    grid = grid if turbo else grid[grid[:, 2] < 115.0]
    n, c, p = np.log(grid).T
    fast = (grid[:, 2] == 115.0).astype(float)
    p = np.where(fast > 0, np.log(70.0), p)
    time = 8.0 - 0.9 * n - 0.6 * c - 0.3 * p - 0.2 * fast + 0.02 * n * n + 0.05 * c * c - 0.01 * n * c
    power = 2.0 + n + 0.3 * c + 0.4 * p + 0.25 * fast + (0.0 if turbo else 0.03) * (c * p - n * p + p * p)
    rng = np.random.default_rng(seed)
    time, power = (v + noise * rng.standard_normal(v.size) for v in (time, power))
    return Configurations(
        "made", grid[:, 0].astype(np.int64), grid[:, 1].astype(np.int64), grid[:, 2], np.exp(time), np.exp(power), 115.0
    )
