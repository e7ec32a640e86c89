"""Prices of a scenario: wired to a run's clock, accounted for hour by hour, held against a run in no market."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from wattline.errors import InputError
from wattline.journal.journal import Journal, open_journal
from wattline.market.hour import Hour
from wattline.model.regulation import Bid
from wattline.report.count.metrics import Summary, summarize
from wattline.scenario import read_scenario, variants, wire
from wattline.scenario.built.billing import bids_of

PLAIN = """\
name = "plain"
[trace]
generator = "poisson"
rate = "20/h"
jobs = 60
[[trace.type]]
name = "a"
nodes = 2
mean = "20 min"
[cluster]
nodes = 16
idle = "100 W"
max = "300 W"
"""
MARKET = """\
name = "sold"
kinds = "W14"
[trace]
generator = "kinds"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "8.5 kW"
reserve = "3.5 kW"
warmup = "1 h"
"""
TIMES = [f"2022-07-{1 + h // 24:02}T{h % 24:02}:00:00Z" for h in range(72)]
ENERGY = "time,total_lmp_rt\n" + "".join(f"{t},{20 + h}\n" for h, t in enumerate(TIMES))
CARBON = "time,carbon_intensity\n" + "".join(f"{t},{300 + h}\n" for h, t in enumerate(TIMES))


def run(folder: Path, text: str, sets: tuple[str, ...] = (), name: str = "j") -> Journal:
    """Write tables of prices and a scenario, run it and open its journal."""
    (folder / "energy.csv").write_text(ENERGY)
    (folder / "carbon.csv").write_text(CARBON)
    (folder / "s.toml").write_text(text)
    study = wire(variants(read_scenario(folder / "s.toml", sets))[0])
    study.write(study.simulate(), folder / name)
    return open_journal(folder / name)


def refused(folder: Path, text: str, sets: tuple[str, ...] = ()) -> str:
    """Return the line with which a scenario is refused."""
    with pytest.raises(InputError) as caught:
        run(folder, text, sets)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_accounts_of_millions_of_years_are_refused(tmp_path: Path) -> None:
    """How long a job takes is known when it has ended: a row an hour would then take all memory."""
    (tmp_path / "long.csv").write_text("submit_s,work_s,nodes\n0,900000000000,4\n")
    text = '[trace]\nfile = "long.csv"\n[cluster]\nnodes = 4\nidle = "90 W"\nmax = "350 W"\n[prices]\nenergy = 0.1\n'
    said = refused(tmp_path, text)
    assert said.startswith("prices: accounts of 250,000,000 hours would be kept, more than 1,000,000; end the run")
    assert not (tmp_path / "j").exists()
    assert run(tmp_path, text, ('run.until="3 h"',)).manifest["accounts"] is not None


def test_a_run_without_prices_has_no_accounts(tmp_path: Path) -> None:
    """Nothing has a price unless somebody says so."""
    journal = run(tmp_path, PLAIN)
    assert journal.read("hours").is_empty()
    assert journal.manifest["accounts"] is None
    assert summarize(journal).accounts is None
    assert math.isnan(summarize(journal).cost)


def test_energy_and_carbon_without_regulation(tmp_path: Path) -> None:
    """Series of dates are placed by `start`; rows are hours of that clock; energy adds up to the run's."""
    prices = '[prices]\nstart = 2022-07-01T02:30:00Z\nenergy = "energy.csv"\ncarbon = "carbon.csv"\n'
    journal = run(tmp_path, PLAIN + prices)
    hours, summary = journal.read("hours"), summarize(journal)
    assert hours["clock"][:3].to_list() == [
        "2022-07-01T02:30+00:00",
        "2022-07-01T03:00+00:00",
        "2022-07-01T04:00+00:00",
    ]
    assert (hours["end_s"] - hours["start_s"])[:2].to_list() == pytest.approx([1800.0, 3600.0])
    assert hours["energy_price_per_kwh"][:3].to_list() == pytest.approx([0.022, 0.023, 0.024])
    assert hours["carbon_kg_per_kwh"][:3].to_list() == pytest.approx([0.302, 0.303, 0.304])
    assert (hours["energy_kwh"] * hours["energy_price_per_kwh"] - hours["cost"]).abs().max() < 1e-12
    assert hours["score"].null_count() == hours["mean_w"].null_count() == hours.height
    found = summary.accounts
    assert found is not None
    assert found.total.energy_kwh == pytest.approx(summary.energy.total_kwh, rel=1e-12)
    assert found.total.cost == summary.cost == math.fsum(hours["cost"])
    assert found.total.carbon_kg == pytest.approx(float((hours["energy_kwh"] * hours["carbon_kg_per_kwh"]).sum()))
    assert [day.day for day in found.days] == ["2022-07-01"]


def test_constants_and_units(tmp_path: Path) -> None:
    """A number is $/kWh or g/kWh; a text says its unit; without a calendar hours count from the run's beginning."""
    for energy in ("0.05", '"50 $/MWh"', '"5 ct/kWh"', '{value = 50, unit = "$/MWh"}'):
        journal = run(tmp_path, PLAIN + f"[prices]\nenergy = {energy}\ncarbon = 400\n")
        hours = journal.read("hours")
        assert hours["energy_price_per_kwh"].to_list() == pytest.approx([0.05] * hours.height)
        assert hours["carbon_kg_per_kwh"][0] == pytest.approx(0.4)
        assert set(hours["clock"]) == {""}
        start_s = journal.manifest["start_s"]
        assert ((hours["start_s"] - start_s) % 3600.0).to_list() == pytest.approx([0.0] * hours.height)


def test_paths_are_not_prices(tmp_path: Path) -> None:
    """A path may begin with a number; only a unit of prices makes a text one."""
    (tmp_path / "2022").mkdir()
    (tmp_path / "2022/energy.csv").write_text(ENERGY)
    hours = run(tmp_path, PLAIN + '[prices]\nstart = 2022-07-01T00:00:00Z\nenergy = "2022/energy.csv"\n').read("hours")
    assert hours["energy_price_per_kwh"][0] == pytest.approx(0.020)


def test_a_tariff_of_the_day_repeats(tmp_path: Path) -> None:
    """Times of day are those of the run's clock; before the first row of a day the last one holds."""
    (tmp_path / "tariff.csv").write_text("time,price\n06:00,0.3\n22:00,0.1\n")
    prices = (
        '[prices]\nstart = 2022-07-01T04:00:00-04:00\nenergy = {file = "tariff.csv", unit = "$/kWh", repeat = true}\n'
    )
    hours = run(tmp_path, PLAIN + prices).read("hours")
    assert hours["clock"][0] == "2022-07-01T04:00-04:00"
    assert hours["energy_price_per_kwh"][:3].to_list() == [0.1, 0.1, 0.3]
    without = '[prices]\nenergy = {file = "tariff.csv", unit = "$/kWh", repeat = true}\n'
    longer = run(tmp_path, PLAIN + without, ("trace.rate=5/h",)).read("hours")
    assert longer["energy_price_per_kwh"][5:7].to_list() == [0.1, 0.3]


@pytest.mark.parametrize(
    "rows", ["16:00,0.3 00:00,0.1 08:00,0.2", "08:00,0.2 16:00,0.3 00:00,0.1", "00:00,0.1 08:00,0.2 16:00,0.3"]
)
@pytest.mark.parametrize("begins", ["2022-07-01T00:00:00Z", "2022-07-01T23:00:00Z"])
def test_a_tariff_may_begin_at_any_time_of_the_day(tmp_path: Path, rows: str, begins: str) -> None:
    """Rows that pass midnight are still those of one day: the second one was billed by the first price."""
    (tmp_path / "tariff.csv").write_text("time,price\n" + rows.replace(" ", "\n") + "\n")
    prices = f'[prices]\nstart = {begins}\nenergy = {{file = "tariff.csv", unit = "$/kWh", repeat = true}}\n'
    hours = run(tmp_path, PLAIN + prices, ("trace.rate=5/h",)).read("hours")
    clocks = [int(text[11:13]) for text in hours["clock"]]
    assert hours["energy_price_per_kwh"].to_list() == [(0.1, 0.2, 0.3)[clock // 8] for clock in clocks]


def test_old_traces_are_placed_by_their_own_dates_or_as_told(tmp_path: Path) -> None:
    """A log that knows its date needs no `start`; a log of other years needs one."""
    jobs = "\n".join(f"{i} {i * 600} 0 900 2 -1 -1 2 900 -1 1 1 1 1 1 1 -1 -1" for i in range(1, 9))
    (tmp_path / "log.swf").write_text(f"; UnixStartTime: 1656648000\n; MaxNodes: 16\n{jobs}\n")
    text = 'name = "x"\n[trace]\nfile = "log.swf"\n[prices]\nenergy = "energy.csv"\n'
    hours = run(tmp_path, text).read("hours")
    assert hours["clock"][0] == "2022-07-01T04:10+00:00"
    assert hours["energy_price_per_kwh"][0] == pytest.approx(0.024)
    (tmp_path / "log.swf").write_text(f"; UnixStartTime: 856648000\n; MaxNodes: 16\n{jobs}\n")
    said = refused(tmp_path, text)
    assert "s.toml:5: [prices] energy: energy.csv holds 2022-07-01T00:00+00:00 to 2022-07-04T00:00+00:00" in said
    assert "the run takes (at least) 1997-02-22T21:56:40+00:00" in said
    assert "another start" in said
    assert run(tmp_path, text + "start = 2022-07-02\n").read("hours")["clock"][0] == "2022-07-02T00:00+00:00"


def test_a_series_that_is_too_short(tmp_path: Path) -> None:
    """It is refused before the run if it must end too early, and begins anew if told."""
    late = PLAIN + '[prices]\nstart = 2022-07-03T22:00:00Z\nenergy = "energy.csv"\n'
    assert "holds 2022-07-01T00:00+00:00 to 2022-07-04T00:00+00:00, but the run takes" in refused(tmp_path, late)
    again = late.replace('"energy.csv"', '{file = "energy.csv", repeat = true}')
    assert run(tmp_path, again).read("hours")["energy_price_per_kwh"][:4].to_list() == pytest.approx(
        [0.090, 0.091, 0.020, 0.021]
    )
    none = PLAIN + '[prices]\nenergy = "energy.csv"\n'
    assert "energy is a series of dates (2022-07-01T00:00+00:00 to" in refused(tmp_path, none)
    assert "say when the run begins, start" in refused(tmp_path, none)


def test_a_run_that_outlasts_its_prices_keeps_its_journal(tmp_path: Path) -> None:
    """How long jobs take nobody knows before: hours beyond the series have no cost, and the total says so."""
    (tmp_path / "log.swf").write_text("; MaxNodes: 4\n1 0 0 9000 2 -1 -1 2 9000 -1 1 1 1 1 1 1 -1 -1\n")
    (tmp_path / "p.csv").write_text("time,price\n0,0.1\n3600,0.2\n")
    text = 'name = "x"\n[trace]\nfile = "log.swf"\n[prices]\nenergy = {file = "p.csv", unit = "$/kWh"}\n'
    journal = run(tmp_path, text)
    assert journal.read("hours")["cost"].null_count() == 1
    found = summarize(journal).accounts
    assert found is not None
    assert (found.total.hours, found.total.unpriced_s) == pytest.approx((2.0, 1800.0))


def test_prices_need_not_reach_to_a_job_that_never_runs(tmp_path: Path) -> None:
    """The last job is wider than the machine: the run is over long before it is submitted."""
    rows = "1 0 0 600 2 -1 -1 2 600 -1 1 1 1 1 1 1 -1 -1\n2 100000 0 600 9 -1 -1 9 600 -1 1 1 1 1 1 1 -1 -1\n"
    (tmp_path / "log.swf").write_text(f"; MaxNodes: 4\n{rows}")
    (tmp_path / "p.csv").write_text("time,price\n0,0.1\n3600,0.2\n")
    text = 'name = "x"\n[trace]\nfile = "log.swf"\n[prices]\nenergy = {file = "p.csv", unit = "$/kWh"}\n'
    journal = run(tmp_path, text)
    assert journal.manifest["end_s"] == 600.0
    assert journal.read("hours")["cost"].null_count() == 0


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """Two billed hours under PJM's rules, and one to warm up."""
    prices = """\
[prices]
rules = "pjm"
start = 2022-07-01T05:00:00-04:00
energy = "energy.csv"
capacity = "20 $/MW"
performance = "1.5 $/MW"
mileage = 2
carbon = "carbon.csv"
"""
    return run(tmp_path_factory.mktemp("sold"), MARKET + prices)


def test_regulation_by_pjms_rules(sold: Journal) -> None:
    """Every row is its formula; the warm-up is accounted for and not billed; the bill is the accounts' total."""
    hours = sold.read("hours")
    assert hours["billed"].to_list() == [0, 1, 1]
    assert hours["clock"].to_list() == [f"2022-07-01T{h:02}:00-04:00" for h in (5, 6, 7)]
    assert hours["energy_price_per_kwh"].to_list() == pytest.approx([0.029, 0.030, 0.031])
    for row in hours.iter_rows(named=True):
        assert row["score"] == pytest.approx((row["correlation"] + row["delay"] + row["precision"]) / 3)
        assert row["capacity_credit"] == pytest.approx(row["score"] * 3.5 * 0.020)
        assert row["performance_credit"] == pytest.approx(row["score"] * 3.5 * 2 * 0.0015)
        assert row["energy_cost"] == pytest.approx(row["energy_kwh"] * row["energy_price_per_kwh"])
        parts = row["energy_cost"] - row["capacity_credit"] - row["performance_credit"] + row["error_cost"]
        assert row["cost"] == pytest.approx(parts, rel=1e-12)
    summary = summarize(sold)
    assert summary.regulation is not None
    assert summary.accounts is not None
    assert summary.regulation.cost == summary.accounts.total.cost == math.fsum(hours["cost"][1:])
    assert summary.regulation.error == pytest.approx(float(hours["error"][1:].mean()))
    assert sold.manifest["accounts"]["series"]["capacity"] == {"value": 20.0, "unit": "$/MW"}


def test_the_papers_rules_by_the_timeline(tmp_path: Path) -> None:
    """With flat prices the accounts bill what the timeline's targets do, hour by hour, with or without [prices]."""
    from wattline.report.count.regulation import count_regulation
    from wattline.report.count.run import load

    loaded = load(run(tmp_path, MARKET + "prices = {energy = 0.12, reserve = 0.2, error = 0.3}\n"))
    found, bid = count_regulation(loaded), loaded.manifest["regulation"]
    assert found is not None
    assert len(found.hours) == 2
    for hour in found.hours:
        rows, seconds = loaded.steps.part(hour.begin_s, hour.end_s)
        gap_w = np.abs(loaded.steps.power_w[rows] - loaded.steps.target_w[rows])
        missed_kwh = math.fsum(gap_w * seconds) / 3.6e6
        cost = 0.12 * bid["mean_w"] / 1e3 - 0.2 * bid["reserve_w"] / 1e3 + 0.3 * missed_kwh
        assert hour.cost == pytest.approx(cost, rel=1e-9)
        assert hour.error == pytest.approx(missed_kwh * 1e3 / bid["reserve_w"], rel=1e-9)
    given = "[prices]\nenergy = 0.12\nreserve = 0.2\nerror = 0.3\n"
    assert summarize(run(tmp_path, MARKET + given)).cost == pytest.approx(found.cost, rel=1e-12)


def test_bids_come_from_what_was_in_force(tmp_path: Path) -> None:
    """The accounts see the bids as the run had them, with the times at which they began and ended."""
    (tmp_path / "s.toml").write_text(MARKET + 'from = "30 min"\nuntil = "2.5 h"\n')
    study = wire(variants(read_scenario(tmp_path / "s.toml"))[0])
    result = study.simulate()
    bids = bids_of(result)
    assert bids is not None
    assert bids.time_s.tolist() == [1800.0, 9000.0]
    assert np.array_equal(bids.mean_w, [8500.0, np.nan], equal_nan=True)
    assert study.billing is not None
    rows: list[Hour] = study.billing.rows(result, {"time_s": [0.0], "power_w": [8000.0]})
    assert [(row.start_s, row.end_s, row.billed, row.bid_s) for row in rows] == [
        (0.0, 1800.0, 0, 0.0),
        (1800.0, 5400.0, 0, 3600.0),
        (5400.0, 9000.0, 1, 3600.0),
        (9000.0, 10800.0, 0, 0.0),
    ]


def test_weights_of_the_score_in_the_scenario(sold: Journal) -> None:
    """With another weight the same run is paid another credit."""
    folder = sold.folder.parent
    text = (folder / "s.toml").read_text()
    sets = ("prices.score={correlation = 0.0, delay = 0.0, precision = 1.0}",)
    hours = run(folder, text, sets, "other").read("hours")
    assert hours["score"].to_list() == pytest.approx(sold.read("hours")["precision"].to_list())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[prices]\n", "s.toml:14: prices: needs energy"),
        (
            '[prices]\nenergy = "energy.csv"\nrules = "pjm"\n',
            "[prices] rules: settles regulation, and there is no [regulation]",
        ),
        ("[prices]\nenergy = 0.1\nreserve = 1\n", "s.toml:16: [prices] reserve: settles regulation"),
        ('[prices]\nenergy = "5 $/Wh"\n', "[prices] energy: unknown unit '$/Wh' in '5 $/Wh'"),
        ('[prices]\nenergy = "nope.csv"\n', "[prices] energy: no such file"),
        ('[prices]\nenergy = {file = "energy.csv", value = 1}\n', "needs exactly one of 'value' and 'file'"),
        ("[prices]\nenergy = {value = 1, repeat = true}\n", "[prices.energy] repeat: goes with a file"),
        ('[prices]\nenergy = {file = "energy.csv", unit = "€/MWh"}\n', "[prices.energy] unit: unknown unit '€/MWh'"),
        (
            '[prices]\nenergy = {file = "energy.csv", gap = "hold"}\n',
            "unknown key 'gap' in [prices.energy]; did you mean 'gaps'?",
        ),
        ("[prices]\nenergy = true\n", "[prices] energy: expected a table, got True"),
        ("[prices]\nenergy = 0.1\ncarbon = -3\n", "[prices] carbon: must not be negative"),
        ('[prices]\nenergy = 0.1\nstart = "soon"\n', "[prices] start: expected a date and time like"),
        ('[prices]\nenergy = 0.1\nzone = "Mars"\n', "[prices] zone: no such time zone: 'Mars'"),
        ('[prices]\nenergy = 0.1\nzone = ""\n', "[prices] zone: no such time zone: ''"),
        (
            "[prices]\nenergy = 0.1\nstart = 05:00:00\n",
            "[prices] start: expected a date and time like 2022-07-01T00:00:00-04:00, got 05:00:00",
        ),
        ("[prices]\nenergy = 1e308\n", "[prices] energy: must be a number, at most 1,000,000,000, got 1e+308"),
        (
            '[prices]\nenergy = {file = "n.csv", unit = "$/kWh", repeat = true}\n',
            "field 'time': its rows are 0.000001 s apart, and 1 s is the least",
        ),
        (
            '[prices]\nenergy = {file = "u.csv", unit = "$/kWh", step = 5e-324}\n',
            "[prices.energy] step: must be at least 0.001 s, got 5e-324",
        ),
        ('[prices]\nenergy = {file = "u.csv", unit = "$/kWh", step = inf}\n', "[prices.energy] step: "),
        ('[prices]\nenergy = {file = "u.csv"}\n', "the unit of column 'price' is not known: say unit"),
        ('[prices]\nenergy = {file = "w.csv", unit = "$/kWh"}\n', "s.toml:15: "),
    ],
)
def test_bad_prices_are_one_line(tmp_path: Path, text: str, said: str) -> None:
    """Whatever is wrong with prices, file, line and key are named."""
    (tmp_path / "u.csv").write_text("time,price\n0,1\n3600,2\n")
    (tmp_path / "w.csv").write_text("time,price\n0,much\n3600,2\n")
    (tmp_path / "n.csv").write_text("time,price\n0,1\n0.000001,2\n")
    assert said in refused(tmp_path, PLAIN + text)


def test_a_series_that_repeats_too_often_is_refused(tmp_path: Path) -> None:
    """Two seconds of prices over most of a year would be more rows than anybody has."""
    (tmp_path / "s.csv").write_text("time,price\n0,1\n1,2\n")
    text = PLAIN.replace("20/h", "0.01/h") + '[prices]\nenergy = {file = "s.csv", unit = "$/kWh", repeat = true}\n'
    assert re.search(r"\[prices\] energy: s.csv would begin anew [\d,]{9,} times in the run", refused(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[prices]\nrules = "pjm"\nenergy = 0.1\n', '[prices] rules: rules = "pjm" needs a price of capacity'),
        (
            '[prices]\nrules = "pjm"\nenergy = 0.1\ncapacity = 1\nerror = 1\n',
            '[prices] error: does not go with rules = "pjm"',
        ),
        *(
            (
                f'[prices]\nrules = "pjm"\nenergy = 0.1\ncapacity = 1\nscore = {{{key} = inf}}\n',
                "[prices] score: interval, window and longest delay must end, got inf",
            )
            for key in ("window", "longest")
        ),
        ("[prices]\nmileage = 2\n", '[prices] mileage: does not go with rules = "paper"'),
        (
            '[prices]\nrules = "pjm"\nenergy = 0.1\ncapacity = 1\nscore = {correlation = 0.5}\n',
            "[prices] score: the three weights must not be negative and sum to 1",
        ),
        (
            '[prices]\nrules = "pjm"\nenergy = 0.1\ncapacity = 1\nscore = {interval = 0.001}\n',
            "[prices.score] interval: must be at least 0.1, got 0.001",
        ),
        ('baseline = "eazy"\n', "[regulation] baseline: unknown select policy 'eazy'; did you mean 'easy'?"),
        ('baseline = "gps"\n', "[regulation] baseline: 'gps' follows a power target"),
    ],
)
def test_bad_rules_are_one_line(tmp_path: Path, text: str, said: str) -> None:
    """Keys that do not go together, weights and baselines that make no sense."""
    assert said in refused(tmp_path, MARKET + text)


def test_the_baseline_is_the_same_jobs_in_no_market(tmp_path: Path) -> None:
    """It has the jobs but for standby ones, no target, no caps, the same billed time and prices."""
    fill = '[[kind]]\nname = "fill"\nnodes = 1\ntime = 73\npower = "339 W"\nstandby = true\n'
    (tmp_path / "s.toml").write_text(MARKET + 'baseline = "easy"\n' + fill)
    study = wire(variants(read_scenario(tmp_path / "s.toml"))[0])
    baseline = study.baseline
    assert baseline is not None
    assert (baseline.policies.select.name, baseline.policies.cap.name) == ("easy", "none")
    names = [study.trace.jobs.kinds[k] for k in baseline.trace.jobs.kind]
    assert "fill" not in names
    standby = sum(study.trace.jobs.kinds[k] == "fill" for k in study.trace.jobs.kind)
    assert len(baseline.trace.jobs) == len(study.trace.jobs) - standby
    found: dict[str, Summary] = {}
    for name, one in (("sold", study), ("base", baseline)):
        one.write(one.simulate(), tmp_path / name)
        found[name] = summarize(open_journal(tmp_path / name))
    assert found["base"].regulation is None
    timeline = open_journal(tmp_path / "base").read("timeline")
    assert timeline["target_w"].null_count() == timeline.height
    base, own = found["base"].accounts, found["sold"].accounts
    assert base is not None
    assert own is not None
    assert base.total.hours == own.total.hours == 2.0
    assert base.total.cost == base.total.drawn_cost == pytest.approx(base.total.energy_kwh * 0.1)
    counted = {name: [row.jobs for row in summary.qos if not row.standby] for name, summary in found.items()}
    assert counted["base"] == counted["sold"]
    assert json.loads((tmp_path / "base/manifest.json").read_text())["accounts"]["billed"] == [[3600.0, 10800.0]]


def test_no_baseline_without_a_bid(tmp_path: Path) -> None:
    """What takes part in no market needs none."""
    lines = [line for line in MARKET.splitlines() if not line.startswith(("mean", "reserve", "select", "cap"))]
    (tmp_path / "s.toml").write_text("\n".join([*lines, 'baseline = "easy"', ""]))
    assert wire(variants(read_scenario(tmp_path / "s.toml"))[0]).baseline is None


def test_paths_of_prices_move_with_a_written_bid(tmp_path: Path) -> None:
    """A scenario written elsewhere still finds its tables."""
    from wattline.scenario.write_bid import write_bid

    given = 'energy = "energy.csv"\ncapacity = {file = "c.csv"}\nperformance = "5 $/MWh"\n'
    (tmp_path / "s.toml").write_text(f'{MARKET}[prices]\nrules = "pjm"\n{given}')
    (tmp_path / "sub").mkdir()
    nothing: Any = SimpleNamespace(method="given", bid=Bid(8000.0, 900.0), weights=None, params=None)
    write_bid(read_scenario(tmp_path / "s.toml"), nothing, nothing, tmp_path / "sub/sold.toml")
    written = tomllib.loads((tmp_path / "sub/sold.toml").read_text())
    assert (written["regulation"]["mean"], written["regulation"]["reserve"]) == (8000.0, 900.0)
    assert written["prices"] == {
        "rules": "pjm",
        "energy": "../energy.csv",
        "capacity": {"file": "../c.csv"},
        "performance": "5 $/MWh",
    }


def test_a_real_day_of_pjm(tmp_path: Path, data_dir: Path) -> None:
    """July 2022 with its energy, regulation and carbon series: hours priced as published, summing up."""
    names = {
        "energy": "regulation/pjm_rt_hourly_lmp_PJM-RTO_2022-07.csv",
        "capacity": "regulation/pjm_regulation_market_results_2022-07_hourly.csv",
        "performance": "regulation/pjm_regulation_market_results_2022-07_hourly.csv",
    }
    lines = "".join(f'{key} = "{data_dir / path}"\n' for key, path in names.items())
    carbon = data_dir / "carbon/PJM_hourly_generation_mix_avgCI.csv.gz"
    text = (
        f'[prices]\nrules = "pjm"\nstart = 2022-07-01T00:00:00-04:00\n{lines}carbon = {{file = "{carbon}", gaps = '
        f'"hold"}}\n'
    )
    hours = run(tmp_path, MARKET + text).read("hours")
    published = pl.read_csv(data_dir / names["energy"])["total_lmp_rt"][:3] / 1e3
    assert hours["energy_price_per_kwh"].to_list() == pytest.approx(published.to_list())
    capacity = pl.read_csv(data_dir / names["capacity"])["reg_ccp"][:3] / 1e3
    assert hours["capacity_price_per_kwh"].to_list() == pytest.approx(capacity.to_list())
    assert hours["carbon_kg_per_kwh"].min() > 0.3
    assert hours["capacity_credit"][2] == 0.0  # nothing was paid for regulation in that hour
