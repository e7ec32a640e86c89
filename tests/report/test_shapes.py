"""Why a configuration was chosen, in words, and that the rule named is the one that was followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import cluster, examples, run
from policies.test_rmap import example, tables, workload
from wattline.report.count.shapes import why_words
from wattline.wiring.options import Options
from wattline.wiring.tables_shapes import RULES, shape_columns


def row(**changes: Any) -> dict[str, Any]:
    """Return a row as a journal has it: the thesis's job in its configuration C3."""
    return {
        "nodes": 8,
        "cores": 10,
        "cap_w": 80.0,
        "turbo": 0,
        "told_s": 439.2,
        "share_w": 800.0,
        "room_w": 750.0,
        "room_nodes": 10,
        "rule": "room",
        "share_shape": "8 × 12 at 65 W",
        "share_told_s": 415.3,
        "asked_shape": "6 × 16 uncapped",
        "asked_told_s": 447.9,
        "asked_nodes": 6,
    } | changes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {},
            (
                "fastest with the 750 W and 10 nodes that were left; 5.75 % more time than its fair share of 800 "
                "W would "
                "take (8 × 12 at 65 W)"
            ),
        ),
        (
            {"rule": "share", "cores": 12, "cap_w": 65.0, "told_s": 415.3},
            "fastest under its fair share of 800 W; 7.28 % less time than as asked (6 × 16 uncapped)",
        ),
        (
            {"rule": "asked", "nodes": 6, "cores": 16, "turbo": 1, "told_s": 447.9},
            "as asked for, on up to 6 nodes, 7.85 % more time than its fair share of 800 W would take (8 × 12 at 65 W)",
        ),
        ({"rule": "least"}, "of least power: nothing fits under its fair share of 800 W"),
        (
            {"rule": "share", "nodes": 6, "cores": 16, "turbo": 1, "told_s": 447.9},
            "fastest under its fair share of 800 W",
        ),
        (
            {"rule": "other"},
            (
                "least time for all who waited, with the 750 W and 10 nodes that were left; 5.75 % "
                "more time "
                "than its fair share of 800 W would take (8 × 12 at 65 W)"
            ),
        ),
        (
            {"rule": "share", "share_w": None, "room_w": None},
            "fastest of all: there was no limit; 1.94 % less time than as asked (6 × 16 uncapped)",
        ),
    ],
)
def test_why_in_words(changes: dict[str, Any], told: str) -> None:
    """A sentence with the bound, what was left, and the configuration that it is held against."""
    assert why_words(row(**changes)) == told


@pytest.mark.parametrize(
    ("select", "rule"), [("rmap-traditional", "asked"), ("rmap-naive", "share"), ("rmap-adaptive", "room")]
)
def test_the_example_of_the_thesis_is_explained(select: str, rule: str) -> None:
    """Traditional takes C1 as asked, Naive C2 under the share of 800 W, Adaptive C3 with the 750 W that are left."""
    found = shape_columns(example(select))
    assert RULES[found["rule"].codes[1]] == rule
    assert found["share_w"][1] == pytest.approx(800.0)
    assert found["share_shape"][1] == "8 × 12 at 65 W"
    assert found["asked_shape"][1] == "6 × 16 uncapped"
    if rule == "room":
        assert found["room_w"][1] == pytest.approx(750.0)
        assert found["room_nodes"][1] == 10


@given(st.integers(0, 100_000), st.sampled_from(["rmap-traditional", "rmap-naive", "rmap-adaptive", "surplus"]))
@examples(60)
def test_the_rule_is_the_one_that_was_followed(seed: int, select: str) -> None:
    """On any trace and table: Traditional starts as asked, Naive under the share, Adaptive under it or with what is
    left.
    """
    rng = np.random.default_rng(seed)
    options = Options(limit_w=[(0, 900.0), (60, 1500.0)], configurations=tables(rng, 8))
    result = run(workload(rng, 8), cluster(8, idle_w=0.0, max_w=230.0), select=select, options=options)
    found = shape_columns(result)
    if not found:
        return
    rules = {RULES[code] for code in found["rule"].codes}
    allowed = {"rmap-traditional": {"asked"}, "rmap-naive": {"share"}, "rmap-adaptive": {"share", "room"}}
    assert rules <= allowed.get(select, set(RULES))
    assert np.all(found["told_w"] <= found["room_w"] * (1 + 1e-9))
    assert np.all(found["nodes"] <= found["room_nodes"])
