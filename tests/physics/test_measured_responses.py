"""Responses to caps by measured sweeps of CPUs and GPUs: each makes a table, and the page says how much it matters."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.physics.responses.linear import Linear
from wattline.physics.responses.table import Table
from wattline.testing import check_response

PAGE = Path(__file__).parents[2] / "docs/cap-response.md"
FILES = {
    "rzmerl_powercap_configs": ("node_power_w", "time_s", ("bench", "nodes", "cores_per_node")),
    "zeus_summary_power_v100": ("average_power", "time_per_epoch", ("dataset", "network", "batch_size", "optimizer")),
    "zeus_summary_power_a40": ("average_power", "time_per_epoch", ("dataset", "network", "batch_size", "optimizer")),
}
TURBO_CAP_W = "115.0"


def sweeps(folder: Path, name: str) -> list[Table]:
    """Return the tables of all applications of a file whose power limit slows them."""
    power, time, keys = FILES[name]
    rows: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    with gzip.open(folder / f"powercap/{name}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row.get("pkg_cap_w_per_socket") != TURBO_CAP_W:
                rows[tuple(row[key] for key in keys)].append((float(row[power]), float(row[time])))
    found = []
    for points in rows.values():
        with suppress(InputError):  # no cap of the sweep slows the job
            found.append(Table.swept(*zip(*points, strict=True)))
    return found


def errors(tables: list[Table]) -> tuple[float, float, float]:
    """Return by how much run times of inner points are missed, in the mean: by the line between the ends, by lines
    between the neighbours, and by lines of speed between them.
    """
    by_ends, by_time, by_speed = [], [], []
    for table in tables:
        points = table.points()
        line = Linear(table.draw_w, table.floor_w, table.stretch)
        for (left, right), (watts, truth) in zip(zip(points, points[2:], strict=False), points[1:-1], strict=True):
            between = Table(((left[0], left[1] / right[1]), (right[0], 1.0)))
            share = (watts - left[0]) / (right[0] - left[0])
            by_ends.append(abs(1 / float(line.speed(watts)) / truth - 1))
            by_time.append(abs(right[1] / float(between.speed(watts)) / truth - 1))
            by_speed.append(abs(1 / (1 / left[1] + share * (1 / right[1] - 1 / left[1])) / truth - 1))
    return float(np.mean(by_ends)), float(np.mean(by_time)), float(np.mean(by_speed))


@pytest.mark.parametrize(("name", "count"), list(zip(FILES, (211, 61, 52), strict=True)))
def test_every_measured_sweep_makes_a_table(data_dir: Path, name: str, count: int) -> None:
    """Of all applications that a cap slows there is a table, whose speed grows from the lowest power to the highest."""
    tables = sweeps(data_dir, name)
    assert len(tables) == count
    for table in tables:
        assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(table.points()))
    longest = max(tables, key=lambda table: len(table.points()))
    report = check_response(longest)
    assert report.ok, str(report)


def test_the_page_says_how_much_a_table_matters(data_dir: Path) -> None:
    """The errors on the page are those of the measured sweeps."""
    cpu, v100, a40 = (errors(sweeps(data_dir, name)) for name in FILES)
    page = " ".join(PAGE.read_text().split())
    assert (
        f"by {cpu[0]:.1%} in the mean, lines between the neighbouring points by {cpu[1]:.1%}".replace("%", " %") in page
    )
    told = f"it is {v100[0]:.0%} against {v100[1]:.1%} (V100), and {a40[0]:.0%} against {a40[1]:.1%} (A40)"
    assert told.replace("%", " %") in page
    assert f"would miss by {100 * cpu[2]:.1f}, {100 * v100[2]:.1f} and {100 * a40[2]:.1f} %" in page
