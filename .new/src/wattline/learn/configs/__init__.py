"""Time and power of configurations that nobody measured, learned from a few that somebody did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattline.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from wattline.arrays import Ints
    from wattline.learn.configs.fitted import Fit, Fitted
    from wattline.model.configurations import Configurations


def models() -> dict[str, Fit]:
    """Return the models by name, the published one first."""
    from wattline.learn.configs.log_quadratic import fit_log_quadratic
    from wattline.learn.configs.mixed import fit_mixed
    from wattline.learn.configs.physical import fit_physical

    return {"log-quadratic": fit_log_quadratic, "physical": fit_physical, "mixed": fit_mixed}


def fit(table: Configurations, rows: Ints | None = None, model: str = "mixed") -> Fitted:
    """Fit a model by name to some rows of a table (all of them if not said)."""
    import numpy as np

    known = models()
    if model not in known:
        raise InputError(f"no model of configurations is called {model!r}{did_you_mean(model, known)}")
    return known[model](table, np.arange(len(table)) if rows is None else rows)
