"""Bids that change during a run: made by a policy, or read from a file."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

import wattline as wl
from wattline.arrays import Floats
from wattline.control.bidding import judge
from wattline.errors import WattlineError
from wattline.formats.series.bids import held_within, journal_bids, read_bids, write_bids
from wattline.journal.journal import open_journal
from wattline.model import codes
from wattline.model.regulation import Bid, Bidding
from wattline.report.count.metrics import summarize_run
from wattline.report.count.regulation import error_steps
from wattline.report.count.run import load
from wattline.report.tables.regulation import qos_terminal
from wattline.report.tables.summary import fact_rows
from wattline.scenario import read_scenario, variants, wire
from wattline.sim.simulate import Simulation

DAY = """
name = "bids"
seed = 3
kinds = {{workload = "W2", average = true}}
[trace]
generator = "kinds"
duration = "4 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "qoscap"
cap = "match-target"
{policy}
[regulation]
warmup = "1 h"
{market}
"""


def scenario(folder: Path, policy: str = "", market: str = "") -> Path:
    """Write a scenario of four hours."""
    path = folder / "day.toml"
    path.write_text(DAY.format(policy=policy, market=market))
    return path


def test_policy_makes_bids(tmp_path: Path) -> None:
    """A bid policy bids for every hour; the journal has the bids, the report their means, the accounts each of them."""
    (variant,) = variants(read_scenario(scenario(tmp_path, 'bid = "adaptive"', 'every = "1 h"\nlead = "10 min"')))
    study = wire(variant)
    assert study.options.bidding == Bidding(0.0, 3600.0, 600.0, 4 * 3600.0)
    assert all(kind.average for kind in study.options.kinds)
    study.write(study.simulate(), tmp_path / "out")
    run = load(open_journal(tmp_path / "out"))
    assert run.event_counts["bid"] == run.event_counts["reserve"] == 5  # four bids and their end
    hours = run.hours.filter(run.hours["billed"] == 1)
    assert hours.height == 3
    assert hours["mean_w"].n_unique() == 3
    found = summarize_run(run).regulation
    assert found is not None
    assert found.changing
    assert found.mean_w == pytest.approx(hours["mean_w"].mean())
    assert found.cost == pytest.approx(hours["cost"].sum())
    seconds, error = error_steps(run)
    assert float(seconds.sum()) == pytest.approx(3 * 3600.0)
    assert float((seconds * error).sum() / seconds.sum()) == pytest.approx(found.error, rel=1e-9)


def test_bids_from_a_file_are_those_of_the_policy(tmp_path: Path) -> None:
    """A run under the table of bids that another run made is that run again."""
    made = wire(variants(read_scenario(scenario(tmp_path, 'bid = "adaptive"')))[0])
    first = made.simulate()
    made.write(first, tmp_path / "first")
    steps, clock = journal_bids(open_journal(tmp_path / "first"))
    assert [(t, bid and bid.mean_w) for t, bid in steps] == [
        (t, m if m == m else None) for t, m in zip(*_bids(first)[:2], strict=True)
    ]
    assert clock == []
    write_bids(tmp_path / "bids.csv", steps)
    assert read_bids(tmp_path / "bids.csv") == steps
    given = wire(variants(read_scenario(scenario(tmp_path, "", 'bids = "bids.csv"')))[0])
    second = given.simulate()
    rows = [result.logs["timeline"] for result in (first, second)]
    before_end = [row[row[:, 0] < 4 * 3600.0].tobytes() for row in rows]
    assert before_end[0] == before_end[1]
    manifest = tmp_path / "out" / "manifest.json"
    given.write(second, tmp_path / "out")
    assert json.loads(manifest.read_text())["regulation"]["mean_w"] is None


def _bids(result: object) -> tuple[Floats, Floats, Floats]:
    from wattline.scenario.built.billing import bids_of

    bids = bids_of(result)  # type: ignore[arg-type]
    assert bids is not None
    return bids.time_s, bids.mean_w, bids.reserve_w


def test_a_file_says_when_nothing_is_promised(tmp_path: Path) -> None:
    """A time alone ends a bid: the hour is billed as drawn, counts in the total, and is said to be without a bid."""
    (tmp_path / "b.csv").write_text("time_s,mean_w,reserve_w,clock\n0,9000,800,then\n7200,,,\n10800,9100,700,\n")
    study = wire(variants(read_scenario(scenario(tmp_path, "", 'bids = "b.csv"')))[0])
    study.write(study.simulate(), tmp_path / "out")
    summary = summarize_run(load(open_journal(tmp_path / "out")))
    found = summary.regulation
    assert found is not None
    assert summary.accounts is not None
    assert [hour.mean_w for hour in found.hours] == pytest.approx([9000.0, float("nan"), 9100.0], nan_ok=True)
    free = found.hours[1]
    assert free.cost == free.without_drawn == pytest.approx(free.mean_power_w / 1e3 * 0.1)
    assert (free.reserve_credit, free.error_cost, found.out_hours) == (0.0, 0.0, 1)
    assert found.cost == summary.accounts.total.cost == pytest.approx(sum(hour.cost for hour in found.hours))
    assert ("", "no bid in 1 of 3 billed hours: energy is paid as drawn") in fact_rows(summary)
    assert (found.mean_w, found.reserve_w) == pytest.approx((9050.0, 750.0))
    steps, _ = journal_bids(open_journal(tmp_path / "out"))
    assert steps == [(0.0, Bid(9000.0, 800.0)), (7200.0, None), (10800.0, Bid(9100.0, 700.0))]


def test_a_file_of_bids_gives_every_start_again(tmp_path: Path) -> None:
    """Also those at the last instant, at which the bids of the policy are over."""
    text = (
        'kinds = "W14"\nseed = 2\n[trace]\ngenerator = "kinds"\nduration = "3 h"\n[cluster]\nnodes = 36\nidle = 169\n'
        'max = 429\n[policy]\nselect = "slackline"\ncap = "match-target"\nbid = "fixed-heuristic"\n'
        '[regulation]\nsignal = "gaussian"\nhours = 1\n'
    )
    (tmp_path / "made.toml").write_text(text)
    made = wl.load(tmp_path / "made.toml").simulate(progress=False)
    made.write(tmp_path / "journal")
    steps, _ = journal_bids(open_journal(tmp_path / "journal"))
    assert steps[-1] == (10800.0, None)
    write_bids(tmp_path / "b.csv", steps)
    given = text.replace('bid = "fixed-heuristic"\n', "").replace("[regulation]\n", '[regulation]\nbids = "b.csv"\n')
    (tmp_path / "given.toml").write_text(given)
    again = wl.load(tmp_path / "given.toml").simulate(progress=False)
    assert (again.jobs["start_s"] == 10800.0).any()
    assert again.jobs.equals(made.jobs)
    assert again.timeline.equals(made.timeline)


def test_bids_of_other_times_do_not_count(tmp_path: Path) -> None:
    """From and until cut a file: what holds at the beginning holds on, what begins after the end never does."""
    a, b, c = (Bid(9000.0 + i, 500.0) for i in range(3))
    steps = [(0.0, a), (3600.0, None), (7200.0, b), (10800.0, c)]
    assert held_within(steps, 0.0, 14400.0) == steps
    assert held_within(steps, 1800.0, 7200.0) == [(1800.0, a), (3600.0, None)]
    assert held_within(steps, 4000.0, 10000.0) == [(7200.0, b)]
    write_bids(tmp_path / "b.csv", steps)
    path = scenario(tmp_path, "", 'bids = "b.csv"\nuntil = "3 h"')
    options = wire(variants(read_scenario(path))[0]).options
    assert options.bids == [*steps[:3], (10800.0, None)]
    with pytest.raises(WattlineError, match=r"no bid of .*b.csv holds between 3600 s and 7200 s"):
        wire(
            variants(read_scenario(path, ['regulation.from="1 h"', 'regulation.until="2 h"', "regulation.warmup=0"]))[0]
        )


def test_bid_policies_know_the_flat_prices(tmp_path: Path) -> None:
    """Parameters of a bid policy that are named like prices are those of the market, unless they are given."""
    path = scenario(tmp_path, 'bid = {name = "quantile", error = 0.3}', "prices = {energy = 0.05, error = 0.2}")
    policies = wire(variants(read_scenario(path))[0]).policies
    assert policies.params["bid"] == {"energy": 0.05, "reserve": 0.1, "error": 0.3}
    assert wire(variants(read_scenario(scenario(tmp_path, 'bid = "adaptive"')))[0]).policies.params["bid"] == {}


def test_many_kinds_are_shown_by_need(tmp_path: Path) -> None:
    """A terminal lists the kinds nearest to their limits; the others are counted, and so are those beyond among
    them.
    """
    from rich.console import Console

    study = wire(variants(read_scenario(scenario(tmp_path, 'bid = "adaptive"')))[0])
    study.write(study.simulate(), tmp_path / "out")
    summary = summarize_run(load(open_journal(tmp_path / "out")))
    row = summary.qos[0]
    rows = tuple(replace(row, name=f"k{i:02}", limit=50.0 - i, mean_at_least=float(i)) for i in range(50))
    console = Console(width=80, record=True, file=StringIO())
    console.print(qos_terminal(replace(summary, qos=rows)))
    lines = console.export_text().splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == [f"k{i:02}" for i in range(49, 33, -1)]
    assert lines[-1].strip() == "and 34 more, 8 beyond limits"  # i > 50 - i from 26 on, 16 of them shown


IDLE_W, MAX_W = 36 * 169.0, 36 * 429.0


@pytest.mark.parametrize(
    ("mean_w", "reserve_w", "kept"),
    [
        (IDLE_W * (1 - 1e-10), 0.0, True),
        (MAX_W * (1 + 5e-10), 0.0, True),
        (IDLE_W - 1.0, 0.0, False),
        (MAX_W + 1.0, 0.0, False),
        (9000.0, MAX_W + 1.0, False),
    ],
)
def test_a_bid_that_the_guard_keeps_can_be_given(tmp_path: Path, mean_w: float, reserve_w: float, kept: bool) -> None:
    """Whether the machine can keep a bid is one question: a policy's bid, one of a file and one of the scenario
    agree.
    """
    (tmp_path / "b.csv").write_text(f"time_s,mean_w,reserve_w\n0,{mean_w!r},{reserve_w!r}\n")
    given = f'mean = {mean_w!r}\nreserve = {reserve_w!r}\nreach = "paper"'
    studies = [variants(read_scenario(scenario(tmp_path, "", market)))[0] for market in (given, 'bids = "b.csv"')]
    found = []
    for variant in studies:
        try:
            wire(variant)
            found.append(True)
        except WattlineError:
            found.append(False)
    made = wire(variants(read_scenario(scenario(tmp_path, 'bid = "adaptive"')))[0])
    state = Simulation(made.trace.jobs, made.cluster, made.policies, made.options).state
    state.want_mean_w[0], state.want_reserve_w[0] = mean_w, reserve_w
    assert [*found, judge(state) == codes.OK] == [kept] * 3


@pytest.mark.parametrize(
    ("policy", "market", "said"),
    [
        ('bid = "adaptive"', 'mean = "8 kW"\nreserve = "1 kW"', "bids are made by policy 'adaptive'"),
        ('bid = "adaptiv"', "", "did you mean"),
        ('bid = "adaptive"', 'lead = "2 h"', "as long ahead as it holds"),
        ("", 'mean = "8 kW"\nreserve = "1 kW"\nlead = "1 min"', "goes with a bid policy"),
        ("", 'bids = "none.csv"', "no such file"),
        ("", 'bids = "b.csv"\nmean = "8 kW"\nreserve = "1 kW"', "not both"),
        ("", 'bids = "far.csv"', "is none that the machine can have"),
        ("", 'bids = "words.csv"', "words.csv:3: field 'mean_w': expected a number (got 'many')"),
        ("", 'bids = "back.csv"', "back.csv:3: field 'time_s': must increase, got 5 after 10"),
        ("", 'bids = "head.csv"', "the first line must be time_s,mean_w,reserve_w"),
        ("", 'bids = "bare.csv"', "there is no bid in it"),
        ("", 'bids = "much.csv"', "much.csv: bid at 5 s: a reserve of 90000 W is none that the machine can have"),
        ("", 'bids = "late.csv"', "late.csv holds between 0 s and 14400 s of the run"),
        (
            "",
            'bids = "early.csv"',
            "early.csv:2: field 'time_s': must not be negative: it counts from the start of the run",
        ),
        ("", 'bids = "wide.csv"', "wide.csv:2: expected 3 columns like the header, got 4"),
        ("", 'bids = "endless.csv"', "endless.csv:2: field 'reserve_w': expected a number (got 'inf')"),
        ("", 'bids = "packed.csv"', "packed.csv:2: bid: the reserve must not be negative, got -1 W"),
        ("", 'bids = "binary.csv"', "binary.csv: is a binary file (NUL at byte 0), expected text"),
        ("", 'bids = "."', "is a directory, expected a file"),
        ("", 'bids = "/dev/zero"', "/dev/zero: is a device, expected a file"),
        ("", 'mean = inf\nreserve = "1 kW"', "[regulation] mean: must be a finite number, got inf"),
        ("", "", "name a [policy] bid"),
    ],
)
def test_what_is_refused(tmp_path: Path, policy: str, market: str, said: str) -> None:
    """Contradictions and bad tables are refused in one line."""
    head = "time_s,mean_w,reserve_w\n"
    files = {
        "b.csv": "0,8000,10\n",
        "far.csv": "0,99,10\n",
        "words.csv": "0,8000,10\n5,many,10\n",
        "bare.csv": "",
        "back.csv": "10,8000,10\n5,8000,10\n",
        "much.csv": "0,8000,10\n5,8000,90000\n",
        "late.csv": "20000,8000,10\n",
        "early.csv": "-1,8000,10\n",
        "wide.csv": "0,8000,10,5\n",
        "endless.csv": "0,8000,inf\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(head + text)
    (tmp_path / "head.csv").write_text("0,8000,10\n")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(f"\ufeff{head}0,8000,-1\n".replace("\n", "\r\n").encode()))
    (tmp_path / "binary.csv").write_bytes(bytes(9))
    with pytest.raises(WattlineError) as caught:
        wire(variants(read_scenario(scenario(tmp_path, policy, market)))[0])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
