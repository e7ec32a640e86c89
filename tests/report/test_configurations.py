"""Named points of a configuration space, by hand and on measured tables, and the reasons that are given."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.formats.tables.configurations import read_configurations
from wattline.model.configuration_points import NONE, best_by_nodes, degree, front, under_bound, wasted_w, whole_nodes
from wattline.model.configurations import Configurations
from wattline.report.count.configurations import bounded_facts, characterize, describe, explain, row_of, table_facts
from wattline.report.figures.configurations import draw_by_nodes, draw_space


def grid(
    time_s: object, power_w: object, nodes: tuple[int, ...] = (2, 4, 8), cores: tuple[int, ...] = (4, 16)
) -> Configurations:
    """Return a full grid with caps of 50 W and 100 W and turbo at 115 W; time and power are functions of (n, c, p)."""
    points = [(n, c, p) for n in nodes for c in cores for p in (50.0, 100.0, 115.0)]
    n, c, p = (np.array(column) for column in zip(*points, strict=True))
    times, powers = (np.array([f(*point) for point in points], float) for f in (time_s, power_w))  # type: ignore[operator]
    return Configurations("g", n, c, p, times, powers, 115.0)


def scalable() -> Configurations:
    """A node at 50 W draws 100 W and takes 1.25 times as long as at 200 W: twice the nodes at half the power win."""
    return grid(
        lambda n, c, p: 6400 / (n * c) * {50.0: 1.25, 100.0: 1.0, 115.0: 0.9}[p], lambda n, c, p: n * (c / 16) * 2 * p
    )


def test_canonical_points_by_hand() -> None:
    """Under 920 W: packed fills 16 cores, spread uses 4; max is turbo, min 50 W; each on as many nodes as fit."""
    table = scalable()
    found = under_bound(table, 920.0, 290.0)
    named = {
        name: (int(table.nodes[row]), int(table.cores[row]), float(table.cap_w[row]))
        for name, row in found.canonical.items()
    }
    assert named == {
        "packed-max": (4, 16, 115.0),
        "packed-min": (8, 16, 50.0),
        "spread-max": (8, 4, 115.0),
        "spread-min": (8, 4, 50.0),
    }
    assert (table.nodes[found.best], table.cap_w[found.best]) == (8, 50.0)
    assert (found.worst_nodes, found.table_nodes) == (3, 2)
    assert table.nodes[found.worst_case] == 2
    assert degree(table, found) == pytest.approx(8 / 3)
    assert wasted_w(table, found.best, 920.0) == pytest.approx(120.0)
    nobody = under_bound(table, 10.0, 290.0)
    assert {nobody.best, nobody.worst_case, *nobody.canonical.values()} == {NONE}


def test_nodes_fed_by_a_bound() -> None:
    """3,500 W feed 12 nodes of 290 W; 4,500 W feed 15, where the published text prints 16."""
    assert (whole_nodes(3500, 290), whole_nodes(4500, 290)) == (12, 15)


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=1, max_size=30))
def test_nothing_beats_the_front_and_the_front_beats_all_else(points: list[tuple[float, float]]) -> None:
    """No row is better than a row of the front in both; every other row is matched or beaten by one of the front."""
    time_s, power_w = (np.array(column) for column in zip(*points, strict=True))
    table = Configurations(
        "x", np.arange(1, time_s.size + 1), np.ones(time_s.size, int), np.full(time_s.size, 9.0), time_s, power_w
    )
    rows = set(front(table).tolist())
    for i in range(len(table)):
        beaten = [
            j
            for j in range(len(table))
            if j != i
            and time_s[j] <= time_s[i]
            and power_w[j] <= power_w[i]
            and (time_s[j], power_w[j]) != (time_s[i], power_w[i])
        ]
        assert (i in rows) <= (not beaten)
        assert i in rows or any(time_s[j] <= time_s[i] and power_w[j] <= power_w[i] for j in rows)


def test_more_nodes_win_and_it_is_said_why() -> None:
    """The sentence carries the watts of a node, what the cap costs and what the nodes gain."""
    table = scalable()
    said = " ".join(explain(table, under_bound(table, 920.0, 290.0)))
    assert "30.6% less time" in said
    assert "a node gets along with 100 W instead of 230 W" in said
    assert "on 4 nodes that costs +39% of time, 2 times the nodes make it 2 times faster" in said


def test_fewer_cores_win_for_three_reasons() -> None:
    """Because more do not fit, because they share the cap's watts, or because they get in each other's way without a
    cap too.
    """
    power = lambda n, c, p: n * (100 if p == 50.0 else 100 + 6 * c)  # noqa: E731
    shares = grid(
        lambda n, c, p: (
            100
            / n
            * {(4, 50.0): 1.0, (16, 50.0): 1.2, (4, 100.0): 0.9, (16, 100.0): 0.6, (4, 115.0): 0.9, (16, 115.0): 0.55}[
                c, p
            ]
        ),
        power,
    )
    crowds = grid(lambda n, c, p: 100 / n * (1.2 if c == 16 else 1.0) * (1.0 if p == 50.0 else 0.9), power)
    assert "they share the same watts" in explain(shares, under_bound(shares, 800.0, 290.0))[-1]
    assert "they get in each other's way" in explain(crowds, under_bound(crowds, 800.0, 290.0))[-1]
    wide = grid(
        lambda n, c, p: 100 / (n * c) * (1.0 if p == 50.0 else 0.5),
        lambda n, c, p: n * (60 if c == 4 else 300),
        (2, 8, 32),
    )
    said = explain(wide, under_bound(wide, 1950.0, 290.0))
    assert any("would draw 9,600 W, above the bound" in sentence for sentence in said)


def test_the_character_by_hand() -> None:
    """Perfect scaling has efficiency 1; 25 % more time for half the power is a sensitivity of log2(1.25)."""
    found = characterize(scalable())
    assert found.node_efficiency == pytest.approx(1.0)
    assert found.core_efficiency == pytest.approx(1.0)
    assert (found.slowdown, found.saving) == (pytest.approx(1.25), pytest.approx(2.0))
    assert found.sensitivity == pytest.approx(math.log2(1.25))
    assert found.turbo_gain == pytest.approx(1 / 0.9)
    assert "memory or network decide" in " ".join(describe(found, scalable()))


def test_another_problem_on_few_nodes_is_suspected() -> None:
    """Eight nodes as slow as one, 32 four times as fast as eight: the one-node runs had a smaller problem."""
    table = grid(lambda n, c, p: (800 if n > 1 else 100) / n, lambda n, c, p: 100 * n, (1, 8, 32))
    assert any("--least-nodes 8" in sentence for sentence in describe(characterize(table), table))
    assert not any("--least-nodes" in sentence for sentence in describe(characterize(scalable()), scalable()))


def test_facts_and_figures_hold_together() -> None:
    """Facts are JSON; plotly knows everything in the figures."""
    table = scalable()
    facts = json.loads(json.dumps({**table_facts(table), "bound": bounded_facts(table, 920.0, 290.0)}))
    assert facts["bound"]["points"]["best"]["wasted_w"] == pytest.approx(120.0)
    for drawn in (
        draw_space(table, 920.0),
        draw_space(table),
        draw_by_nodes(table, 920.0, lines={"line": (-1.0, 9.0)}),
    ):
        assert go.Figure(json.loads(drawn.figure.to_json())).data


@pytest.fixture(scope="module")
def bt(data_dir: Path) -> Configurations:
    """The measured grid of bt-mz.C."""
    return read_configurations(data_dir / "powercap/rzmerl_powercap_configs.csv.gz").table("bt-mz.C")


def test_the_best_measured_configuration_is_the_published_one(bt: Configurations) -> None:
    """bt-mz.C under 3,500 W: 30 × 14 at 51 W, 6.1 s, 3,418 W; packed-max 16 × 16, 7.3 s, 3,232 W; 12 nodes in the worst
    case.
    """
    found = under_bound(bt, 3500.0, 290.0)
    best, packed = found.best, found.canonical["packed-max"]
    assert (bt.nodes[best], bt.cores[best], bt.cap_w[best]) == (30, 14, 51.0)
    assert (round(bt.time_s[best], 1), round(bt.power_w[best])) == (6.1, 3418)
    assert (bt.nodes[packed], bt.cores[packed], bt.cap_w[packed]) == (16, 16, bt.turbo_w)
    assert (round(bt.time_s[packed], 1), round(bt.power_w[packed])) == (7.3, 3232)
    assert (found.worst_nodes, bt.nodes[found.worst_case], degree(bt, found)) == (12, 12, 2.5)
    assert len(bt) == 13 * 7 * 5


def test_the_published_reason_is_found_on_the_measured_grid(bt: Configurations) -> None:
    """Fewer cores win under 51 W because they share the watts; at turbo 16 cores are faster."""
    said = explain(bt, under_bound(bt, 3500.0, 290.0))
    assert "they share the same watts" in said[-1]
    rows = best_by_nodes(bt, 3500.0)
    assert bt.nodes[rows].tolist() == list(range(8, 34, 2))
    assert row_of(bt, 30, 14, 51.0) in rows
