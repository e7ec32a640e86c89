"""Estimates: what a job will take and draw, sharpened by what was seen."""

from __future__ import annotations

BUILTIN = {
    "learn": dict.fromkeys(("request", "exact", "recent"), "wattline.learn.estimates"),
    "profile": {
        **dict.fromkeys(("known", "maximum", "measured", "oracle"), "wattline.learn.profiles"),
        "t-test": "wattline.learn.t_test",
        "t-test-per-job": "wattline.learn.t_test_per_job",
        "quantile": "wattline.learn.quantile",
        "pooled": "wattline.learn.pooled",
    },
}
"""Slot → name → module of every built-in learner: a run imports only the modules that it names."""
