"""``wattline reproduce qosg --quick``: what was published of QoSG, what it writes, and what it says without recorded
signals.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from systems_statements import check_rows, check_statements

from wattline.bidding.searches.choice import Choice
from wattline.model.regulation import Bid
from wattline.systems import reproduce
from wattline.systems.followers import AQA
from wattline.systems.qosg import jobs, study
from wattline.systems.qosg.causes import By, tried
from wattline.systems.reproduction import Claim, Reproduction
from wattline.systems.tuned import Tuned
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """The quick version, on generated signals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WATTLINE_DATA", raising=False)
        return reproduce("qosg", tmp_path_factory.mktemp("qosg"), Work(), quick=True)


def stated(reproduced: Reproduction, short: str) -> Claim:
    """The claim whose short form begins so."""
    return next(claim for claim in reproduced.claims if claim.short.startswith(short))


def test_the_published_bid_costs_here_what_it_cost_there(reproduced: Reproduction) -> None:
    """With the published bid and weights the simulated saving is the published one within two points, all constraints
    met.
    """
    assert stated(reproduced, "the published bid").holds


def test_shapes_of_the_published_study_hold(reproduced: Reproduction) -> None:
    """Weights, QoS levels, utilization and mixes move as published; EnergyQARE and Tracking-only break promises."""
    for short in ("QoSG chooses", "weights", "tighter QoS", "weight of fs", "fs saves less", "12 servers: only QoSG"):
        assert stated(reproduced, short).holds, stated(reproduced, short)
    numbers = reproduced.numbers
    assert numbers["default"]["QoSG"]["meets"]
    assert numbers["default"]["Tracking-only"]["worst"] > 0.5
    assert not numbers["default"]["QoSG, one fit"]["meets"]


def test_what_does_not_hold_says_why(reproduced: Reproduction) -> None:
    """Every statement that does not hold gives a reason."""
    assert len(reproduced.claims) >= 20
    assert all(len(claim.because) > 30 for claim in reproduced.claims if not claim.holds)


def test_numbers_come_by_study_and_policy(reproduced: Reproduction) -> None:
    """``--json``: study → policy → published, ours, interval; bids stay between idle and greatest power."""
    numbers: dict[str, Any] = json.loads(json.dumps(reproduced.to_dict()))["numbers"]
    assert numbers["default"]["QoSG"]["published"] == 0.461
    assert numbers["12 servers"]["EnergyQARE"]["published"] == 0.37
    for case, by in numbers.items():
        for found in by.values() if case not in ("signals", "sweep") else ():
            low, high = found["interval"]
            assert low <= found["fresh"] <= high
    bid = numbers["default"]["QoSG"]
    assert bid["mean_w"] - bid["reserve_w"] >= 9000.0 - 1e-6
    assert bid["mean_w"] + bid["reserve_w"] <= 30900.0 + 1e-6


def test_limits_and_signals_are_swept_without_standby_jobs(reproduced: Reproduction) -> None:
    """With limits × 4 and a quick signal some bid meets all constraints, though QoSG's own choice does not; the reason
    of the statement names the least limits that are met.
    """
    sweep = reproduced.numbers["sweep"]
    assert set(sweep) == {f"limits × {f}, τ = {t} s" for f in (1, 4) for t in (80, 200)}
    quick = sweep["limits × 4, τ = 80 s"]
    assert quick["searched"]["meets"]
    assert quick["searched"]["ours"] > 0.2
    assert not quick["QoSG"]["meets"]
    assert not sweep["limits × 1, τ = 200 s"]["searched"]["meets"]
    claim = stated(reproduced, "without standby")
    assert not claim.holds
    assert "τ = 80 s: limits × 4, −29" in claim.because
    assert "limits × 4" in reproduced.path.read_text(encoding="utf-8")


def test_tables_say_what_the_numbers_say(reproduced: Reproduction) -> None:
    """Rows for all cases with their policies, for all signals, and for every factor of the sweep by who searched."""
    numbers, tables = reproduced.numbers, reproduced.tables
    assert list(tables) == ["limits", "cases", "signals", "sweep-own", "sweep-searched"]
    told = {(row[0], row[1]): row for row in tables["cases"].rows}
    for case, policy in (("default", "QoSG"), ("12 servers", "EnergyQARE with standby"), ("tight", "QoSG")):
        found = numbers[case][policy]
        assert told[case, policy][2:4] == (f"{found['mean_w']:,.0f}", f"{found['reserve_w']:,.0f}")
        assert told[case, policy][10] == ("yes" if found["meets"] else "no")
    assert {row[0] for row in tables["signals"].rows} == set(numbers["signals"])
    for name, key in (("sweep-own", "QoSG"), ("sweep-searched", "searched")):
        assert [row[0] for row in tables[name].rows] == ["limits × 1", "limits × 4"]
        at = numbers["sweep"]["limits × 4, τ = 200 s"][key]
        assert tables[name].rows[1][2].startswith(f"−{at['ours']:.1%} (")
        assert ("all met" in tables[name].rows[1][2]) == at["meets"]
    assert all(len(row) == len(table.header) for table in tables.values() for row in table.rows)


def test_the_page_is_one_file_and_the_table_fits(reproduced: Reproduction) -> None:
    """The page holds all figures and asks nothing of the network; the terminal table keeps to 80 columns."""
    text = reproduced.path.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="https?://', text[: text.index("<script>")])
    for figure in (
        "Fig. 2.3",
        "Fig. 2.4a",
        "Fig. 2.4b",
        "Fig. 2.5",
        "Fig. 2.6",
        "Fig. 2.7",
        "Fig. 2.15",
        "chosen by us",
    ):
        assert figure in text
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(reproduced.table)
    assert max(len(line.rstrip()) for line in console.export_text().splitlines()) <= 82


def test_without_recorded_signals_it_says_so(reproduced: Reproduction) -> None:
    """The table and the page say that all signals are generated, and where recorded ones go."""
    assert any("all signals are generated" in remark for remark in reproduced.remarks)
    assert "all signals are generated" in reproduced.path.read_text(encoding="utf-8")
    assert not any(name.startswith("RegD") for name in reproduced.numbers["signals"])


def test_recorded_days_are_played_every_four_seconds(data_dir: Path) -> None:
    """The recorded days are found, and hold one value every 4 s."""
    found = jobs.recorded_signals()
    assert len(found) == 2
    assert all(law(3600.0, 1).step_s == 4.0 for law in found.values())
    assert data_dir.is_dir()


def test_arrivals_fill_the_machine_as_told() -> None:
    """Σ λ·T is the utilization times the nodes, split by the mix; standby jobs never arrive by themselves."""
    kinds = jobs.kinds_of(80, utilization=0.75, mix="mix-long")
    load = np.array([kind.arrival_per_s * kind.work_s for kind in kinds])
    assert load.sum() == pytest.approx(60.0)
    assert load[2] == pytest.approx(3 * load[0])
    assert kinds[-1].standby
    assert load[-1] == 0.0


@pytest.mark.parametrize("level", list(jobs.LEVELS))
def test_sc_and_lu_have_least_time(level: str) -> None:
    """At every QoS level sc and lu have the two smallest (1 + Q)·T, and no cap alone breaks a limit."""
    time_s = {n: (1 + q) * jobs.APPLICATIONS[n].work_s for n, q in jobs.LEVELS[level].items()}
    assert set(sorted(time_s, key=lambda n: time_s[n])[:2]) == {"sc", "lu"}
    assert all(
        q > jobs.APPLICATIONS[n].longest_s / jobs.APPLICATIONS[n].work_s - 1 for n, q in jobs.LEVELS[level].items()
    )


def test_the_rule_of_thumb_is_that_of_the_text() -> None:
    """P̄ = ηN·mean p + (1 − η)N·idle; R is what reach allows."""
    bid = study.rule_of_thumb(jobs.setting_of(AQA))
    mean_w = 50 * np.mean([jobs.APPLICATIONS[n].draw_w for n in jobs.NAMES]) + 50 * 90.0
    assert bid.mean_w == pytest.approx(mean_w)
    assert bid.reserve_w == pytest.approx(min(mean_w - 9000.0, 30900.0 - mean_w))


def test_other_hours_and_limits_are_tried_where_a_statement_does_not_hold() -> None:
    """A cause is told by what was tried: how often the statement holds on other hours, and at which limits."""
    scale = study.Scale(other_hours=2)
    assert set(study.TRIED) <= set(study.cases(scale))
    todo = study.others(scale)
    assert len(todo) == len(set(todo)) == len(study.TRIED) * 2 + (len(study.TRIED) - 3) * 2

    def chosen(mean_w: float) -> Any:
        return Choice("test", Bid(mean_w, 1.0), None)  # type: ignore[arg-type]

    found = study.Study(scale)
    assert tried(found, lambda by: True) == "cause not tested"
    found.others = {other: {"QoSG": chosen(10.0 * other.hour + len(other.level))} for other in todo}
    found.found = {level: {"QoSG": Tuned("QoSG", chosen(7.0), None)} for level in study.OTHER_LEVELS}  # type: ignore[arg-type]

    def above(by: By) -> bool:
        return by("η = 75 %").bid.mean_w > 15.0

    on_one = "tried: on 2 other hours of jobs and signal it holds on 1"
    assert tried(found, above, levels=False) == on_one
    assert tried(found, above) == f"{on_one}; with tight and with loose limits it does not hold"
    found.others[study.Other("η = 75 %", 0, "loose")] = {"QoSG": chosen(20.0)}
    assert tried(found, above) == f"{on_one}; with loose limits it holds, with tight ones it does not"
    at_limits = tried(found, lambda by: by("default").bid.mean_w == 7.0)
    assert at_limits.endswith("it holds on none; with tight and with loose limits it holds")


def test_the_document_shows_what_comes_out(reproduced: Reproduction) -> None:
    """Statements word for word, and the rows of every table that a smaller run has."""
    check_statements(reproduced)
    check_rows(reproduced)
