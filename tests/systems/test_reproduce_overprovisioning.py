"""The reproduction of overprovisioning: claims with and without measured data, and the page that documents it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import plotly.graph_objects as go
import pytest
from systems_statements import check_statements, check_tables

from docs.systems_doc import results
from wattline.systems.overprovisioning import figures as draw
from wattline.systems.overprovisioning.data import RESTS_ON, TABLE_4_2, TABLE_4_9
from wattline.systems.overprovisioning.page import NAME, NO_DATA, reproduce
from wattline.systems.overprovisioning.study import run_study
from wattline.systems.reproduction import Reproduction
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def measured(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the reproduction with measured data."""
    return reproduce(tmp_path_factory.mktemp("overprovisioning"), True, Work())


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    """Return the reproduction without any data."""
    monkeypatch.delenv("WATTLINE_DATA", raising=False)
    return reproduce(tmp_path, True, Work())


def verdicts(found: Reproduction) -> dict[str, bool | None]:
    """Return what holds by short name."""
    return {claim.short: claim.holds for claim in found.claims}


def test_without_data_published_points_and_the_model_are_left(bare: Reproduction) -> None:
    """It says so first; the published table and the cost model stand, with their errors; what was measured is not
    claimed.
    """
    assert list(bare.remarks) == [NO_DATA]
    by = verdicts(bare)
    assert by["$64,800 buys 8 more nodes"]
    assert by["worst case wastes 37 %"]
    assert by["LU-MZ gains from r_c 1.5 on"]
    for wrong in (
        "n_lim = 50",
        "SP-MZ: s_ovp 1.02",
        "12 and 16 nodes in the worst case",
        "3.0 × at most, 2.8 × on average",
        "32 % is 1.8 ×",
        "27 % faster is 0.73 of the time",
    ):
        assert not by[wrong], wrong
    assert not any("measured" in claim.ours.split(":")[0] for claim in bare.claims)
    text = bare.path.read_text(encoding="utf-8")
    assert (bare.path.name, text.count("<figure")) == (f"{NAME}.html", 5)


def test_the_cost_model_in_numbers(bare: Reproduction) -> None:
    """JSON has both readings of 27 % faster for every application, without NaN; each figure says what it rests on."""
    told = json.loads(json.dumps(bare.to_dict(), allow_nan=False))["numbers"]
    model = told["cost_model"]
    assert {name: round(by["time"]["s_ovp"], 2) for name, by in model.items()} == {
        "SPhot": 0.98,
        "SP-MZ": 1.0,
        "BT-MZ": 0.82,
        "LU-MZ": 1.22,
    }
    assert {by[r]["n_lim"] for by in model.values() for r in by} == {38}
    assert sum((by["time"]["s_ovp"] >= 1) != (by["speed"]["s_ovp"] >= 1) for by in model.values()) == 2
    assert told["rests_on"] == RESTS_ON
    assert {"Fig. 1.2", "Fig. 3.4", "Fig. 4.1", "Figs. 4.3–4.6", "Table 4.2", "Tables 4.7–4.9"} <= set(RESTS_ON)


def test_with_data_the_published_rows_are_found(measured: Reproduction) -> None:
    """BT-MZ's three rows of table 4.2 agree, SPhot's does not and it is said why; it takes seconds."""
    by = verdicts(measured)
    assert by["BT-MZ best: 6.1 s, 3,418 W"]
    assert by["BT-MZ packed-max: 7.3 s, 3,232 W"]
    assert by["BT-MZ worst case: 9.9 s, 2,398 W"]
    assert not by["SPhot best: 39.8 s, 3,478 W"]
    assert by["SPhot, 16 cores: 17.1 % from 51 to 85 W"]
    assert by["turbo depends on active cores"]
    assert not by["lines alike at all bounds (2 %)"]
    best = measured.numbers["under_bounds"]["BT-MZ"]["3500 W"]["points"]["best"]
    assert (best["nodes"], best["cores"], best["cap_w"], round(best["power_w"])) == (30, 14, 51.0, 3418)
    assert measured.path.read_text(encoding="utf-8").count("<figure") == 13
    json.dumps(measured.to_dict(), allow_nan=False)


def test_it_takes_seconds(data_dir: Path, tmp_path: Path) -> None:
    """The whole of it, which is also the quick one, within 25 s."""
    began = time.monotonic()
    reproduce(tmp_path, True, Work())
    assert time.monotonic() - began < 25


def test_plotly_knows_every_figure(data_dir: Path) -> None:
    """All figures from data are ones that plotly accepts."""
    study = run_study()
    drawn = [
        f(study)
        for f in (draw.draw_power, draw.draw_caps, draw.draw_turbo, draw.draw_improvements, draw.draw_canonical)
    ]
    drawn += [draw.draw_published(["SPhot"]), draw.draw_costs("LU-MZ", "4.3")]
    for each in drawn:
        assert go.Figure(json.loads(each.figure.to_json())).data


def test_published_points_are_those_of_the_text() -> None:
    """Speed-ups that the text states follow from the points: 2.49 × for SP-MZ within rounding; no best exceeds the
    bound.
    """
    assert all(point.power_w <= 3500 for by in TABLE_4_2.values() for point in by.values())
    assert all(by["best"].time_s < by["packed-max"].time_s < by["worst case"].time_s for by in TABLE_4_2.values())
    assert {row.nodes for row in TABLE_4_9.values()} == {30}


def test_the_document_shows_what_comes_out(measured: Reproduction) -> None:
    """Every row of claims and of tables on the page of the documentation is one of today, word for word."""
    check_statements(measured)
    check_tables(measured)
    shown = results()[NAME]["claims"]
    assert [claim["ours"] for claim in shown] == [claim.ours for claim in measured.claims]
    assert [claim["verdict"] for claim in shown] == [claim.verdict for claim in measured.claims]
