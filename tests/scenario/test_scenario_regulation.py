"""Demand response in scenarios: kinds, market and bid become what a run follows; mistakes are said in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wattline as wl
from wattline.bidding.hours.trial import trial_hour
from wattline.errors import InputError
from wattline.journal.journal import open_journal
from wattline.model.regulation import Bid
from wattline.report.count.metrics import summarize
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.parts import build_kinds
from wattline.scenario.sections.cluster.cluster import ClusterSpec
from wattline.scenario.sections.regulation.regulation import RegulationSpec
from wattline.scenario.sections.run import RunSpec
from wattline.scenario.setting import build_setting
from wattline.scenario.spec import Spec

GOOD = """\
seed = 3
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
reserve = "2 kW"
warmup = "1 h"
hours = 1
"""

OWN = """\
[trace]
generator = "kinds"
[cluster]
nodes = 4
idle = "100 W"
max = "300 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "800 W"
reserve = "100 W"
[[kind]]
name = "a"
nodes = 1
time = "2 min"
power = "250 W"
floor = "200 W"
longest = "3 min"
limit = 3.0
weight = 0.75
rate = "40/h"
[[kind]]
name = "b"
nodes = 2
time = "1 min"
power = "300 W"
weight = 0.25
rate = "20/h"
"""


def study(text: str, folder: Path, *overrides: str) -> Study:
    """Read a scenario and wire it."""
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml", overrides))[0])


MISTAKES = {
    "weights that do not sum to 1": (
        OWN.replace("0.75", "0.7"),
        "s.toml:21: [kind] weight: the weights of all kinds that are not standby must sum to 1, they sum to 0.95",
    ),
    "weights for some kinds only": (
        OWN.replace("weight = 0.25\n", ""),
        "s.toml:21: [kind] weight: weights are given to some kinds, but not to 'b'",
    ),
    "weights of a workload": (
        GOOD.replace('"W14"', '{workload = "W14", weights = {"ep.D.56" = 0.5, "sp.C.64" = 0.2, "bt.C.16" = 0.2}}'),
        "s.toml:2: [kinds] weights: the weights of all kinds",
    ),
    "weight of no kind": (
        GOOD.replace('"W14"', '{workload = "W14", weights = {"ep.D.5" = 1.0}}'),
        "s.toml:2: [kinds.weights] ep.D.5: W14 has no kind of this name; did you mean 'ep.D.56'?",
    ),
    "a type that never arrives": (
        OWN.replace('rate = "20/h"', "rate = 0"),
        "s.toml:29: [kind] rate: kind 'b' never arrives: give it a rate above 0",
    ),
    "a type without a rate": (
        OWN.replace('rate = "20/h"\n', ""),
        "s.toml:23: kind: kind 'b' never arrives: give it a rate, or standby = true",
    ),
    "a type larger than the machine": (
        OWN.replace("nodes = 2", "nodes = 5"),
        "s.toml:25: [kind] nodes: kind 'b' needs 5 nodes, the cluster has 4",
    ),
    "a scaled type larger than the machine": (
        GOOD.replace('"W14"', '{workload = "W14", scale = 20}'),
        "s.toml:2: kinds: kind 'ep.D.56' needs 40 nodes",
    ),
    "a type that draws more than a node": (
        GOOD.replace('max = "429 W"\n', ""),
        "s.toml:2: kinds: kind 'ep.D.56' draws 383 W a node, [cluster] max allows 300 W",
    ),
    "an unknown workload": (GOOD.replace("W14", "W15"), "s.toml:2: [kinds] workload: unknown workload 'W15'"),
    "no kinds at all": (
        GOOD.replace('kinds = "W14"\n', ""),
        "s.toml:3: [trace] generator: there is no kind to draw from",
    ),
    "a kind declared twice": (
        OWN.replace('name = "b"', 'name = "a"'),
        "s.toml:24: [kind] name: kind 'a' is declared twice",
    ),
    "a cap that raises power": (
        OWN.replace('floor = "200 W"', 'floor = "260 W"'),
        "s.toml:18: [kind] floor: a cap cannot raise power",
    ),
    "a cap that makes faster": (
        OWN.replace('longest = "3 min"', 'longest = "1 min"'),
        "s.toml:19: [kind] longest: a cap cannot make a job faster",
    ),
    "a misspelt key of a kind": (
        OWN.replace("limit = 3.0", "limt = 3.0"),
        "s.toml:20: unknown key 'limt' in [kind]; did you mean 'limit'?",
    ),
    "a misspelt key of the market": (
        GOOD.replace("warmup", "warmpu"),
        "s.toml:15: unknown key 'warmpu' in [regulation]; did you mean 'warmup'?",
    ),
    "half a bid": (
        GOOD.replace('reserve = "2 kW"\n', ""),
        "s.toml:13: [regulation] mean: a bid is mean and reserve: reserve is missing",
    ),
    "no bid for a policy that follows one": (
        GOOD.replace('mean = "8.5 kW"\nreserve = "2 kW"\n', ""),
        "s.toml:12: regulation: select policy 'slackline' follows a power target: give [regulation] mean and reserve",
    ),
    "a bid beyond strict reach": (
        GOOD.replace('reserve = "2 kW"', 'reserve = "3 kW"\nreach = "strict"'),
        "s.toml:14: bid: mean 8500 W − reserve 3000 W = 5500 W is below the 6084 W",
    ),
    "a bid beyond the paper's reach": (
        GOOD.replace('reserve = "2 kW"', 'reserve = "12 kW"'),
        "s.toml:14: bid: with mean 8500 W and reserve 12000 W the target lies more than 0.3 R outside",
    ),
    "a mean that no machine draws": (
        GOOD.replace("8.5 kW", "5 kW"),
        "s.toml:13: bid: mean power 5000 W is outside what the cluster can draw",
    ),
    "a signal shorter than the run": (
        GOOD.replace("[regulation]\n", '[regulation]\nsignal = "short.csv"\n'),
        "s.toml:13: [regulation] signal: lasts 4000 s, shorter than the run",
    ),
    "a signal that is not there": (
        GOOD.replace("[regulation]\n", '[regulation]\nsignal = "gausian"\n'),
        "did you mean 'gaussian'?",
    ),
    "fitted to nothing": (
        GOOD.replace("[regulation]\n", '[regulation]\nsignal = "fitted"\n'),
        "s.toml:13: [regulation] signal: a fitted signal needs the file",
    ),
    "a spread for a file": (
        GOOD.replace("[regulation]\n", '[regulation]\nsignal = "short.csv"\nstd = 0.3\n'),
        "s.toml:14: [regulation] std: does not go with a signal that is read",
    ),
    "more hours than fit": (
        GOOD.replace("hours = 1", "hours = 3"),
        "s.toml:16: [regulation] hours: 2 whole hours fit between 3600 s",
    ),
    "two control periods": (
        GOOD + '[run]\ntick = "5 s"\n',
        "s.toml:18: [run] tick: the control period is [regulation] control = 1 s",
    ),
    "jobs of a drawn hour": (
        GOOD.replace('"kinds"', '"kinds"\njobs = 5'),
        "s.toml:5: [trace] jobs: goes with a file or generator",
    ),
    "an unknown way to choose": (
        GOOD + '[bid]\nmethod = "serach"\n',
        (
            "s.toml:18: [bid] method: expected 'search', 'aqa', 'qosg', 'grid', 'grid-tracking', 'grid-least', "
            "'heuristic' or 'given', got 'serach'; did you mean 'search'?"
        ),
    ),
    "an unknown reach": (
        GOOD.replace("hours = 1", 'reach = "strickt"'),
        "s.toml:16: [regulation] reach: expected 'paper' or 'strict', got 'strickt'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_about_demand_response_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad weights, rates, sizes, bids and signals are said with file, line, key and what to do."""
    monkeypatch.chdir(tmp_path)
    text, message = MISTAKES[name]
    rows = [f"{2 * i},{np.sin(i / 90):.4f}" for i in range(2000)]
    (tmp_path / "short.csv").write_text("\n".join(["time_s,signal", *rows]) + "\n")
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        wire(variants(read_scenario("s.toml"))[0])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_is_the_hour_of_a_certificate(tmp_path: Path) -> None:
    """The sold hour of a run with seed s is the hour s on which a bid is tested: same jobs, power, bill and
    violations.
    """
    wired = study(GOOD, tmp_path)
    wired.write(wired.simulate(), tmp_path / "j")
    summary = summarize(open_journal(tmp_path / "j"))
    assert summary.regulation is not None
    hour = trial_hour(build_setting(read_scenario(tmp_path / "s.toml")), 3).run(Bid(8500.0, 2000.0))[0]
    assert [row.jobs for row in summary.qos] == hour.jobs.tolist()
    assert [row.violations for row in summary.qos] == hour.violations.tolist()
    assert summary.regulation.cost == pytest.approx(hour.bill.cost, rel=1e-12)
    assert summary.regulation.exceed_share == pytest.approx(hour.tracking.exceed_share, abs=1e-12)
    assert summary.regulation.error == pytest.approx(hour.tracking.mean_error, rel=1e-12)


def test_the_manifest_says_what_was_promised(tmp_path: Path) -> None:
    """A journal names the kinds with limits, shares and weights, the bid with its hours and signal, and the
    prices.
    """
    wired = study(OWN, tmp_path, "trace.duration=2 h")
    wired.write(wired.simulate(), tmp_path / "j")
    manifest = open_journal(tmp_path / "j").manifest
    assert [(k["name"], k["limit"], k["share"], k["weight"]) for k in manifest["kinds"]] == [
        ("a", 3.0, 0.1, 0.75),
        ("b", None, 0.1, 0.25),
    ]
    market = manifest["regulation"]
    assert (market["mean_w"], market["reserve_w"], market["hours"]) == (800.0, 100.0, [[0.0, 3600.0], [3600.0, 7200.0]])
    assert market["signal"] == {"law": "gaussian", "seed": 1, "step_s": 2.0, "std": 0.4, "time_constant_s": 200.0}
    assert manifest["accounts"]["series"]["energy"] == {"value": 0.1}


def test_a_bid_is_made_for_the_policies_and_prices_of_the_scenario(tmp_path: Path) -> None:
    """Order and place of the scenario rule the hours of a search, and its hours are charged as the run's are."""
    text = OWN + '\n[prices]\nenergy = {file = "p.csv", unit = "$/kWh", repeat = true}\n'
    (tmp_path / "p.csv").write_text("time,price\n00:00,0.1\n01:00,0.5\n02:00,0.1\n")
    (tmp_path / "s.toml").write_text(text)
    sets = ("policy.order=lcfs", "policy.place=frugal", "trace.duration=3 h")
    setting = build_setting(read_scenario(tmp_path / "s.toml", sets))
    assert (setting.policies.order.name, setting.policies.place.name) == ("lcfs", "frugal")
    bid = Bid(800.0, 100.0)
    first, second, third = (trial_hour(setting, seed).run(bid)[0].bill for seed in range(3))
    assert first.energy_cost == pytest.approx(0.08)
    assert second.energy_cost == pytest.approx(0.40)
    assert third.energy_cost == pytest.approx(0.08)


def test_kinds_are_what_the_file_says(tmp_path: Path) -> None:
    """Run time grows to ``longest`` at ``floor``; a kind without a floor cannot be capped; the lowest floor caps the
    nodes.
    """
    wired = study(OWN, tmp_path)
    a, b = wired.options.kinds
    assert (a.work_s, a.draw_w, a.floor_w, a.stretch, a.limit) == (120.0, 250.0, 200.0, 1.5, 3.0)
    assert (b.floor_w, b.stretch, b.limit, b.arrival_per_s) == (300.0, 1.0, float("inf"), 20 / 3600)
    assert wired.cluster.classes[0].min_cap_w == 200.0
    assert wired.options.tick_s == 1.0


def test_published_kinds_take_utilization_and_scale(tmp_path: Path) -> None:
    """``kinds`` names a workload, asks for another utilization, and widens its jobs."""
    (tmp_path / "s.toml").write_text(
        GOOD.replace('"W14"', '{workload = "W14", utilization = 0.25, scale = 2}')
        + '[[kind]]\nname = "fill"\nnodes = 1\n'
        'time = 73\npower = "339 W"\nstandby = true\n'
    )
    kinds = build_kinds(read_scenario(tmp_path / "s.toml"), 36)
    assert sum(k.arrival_per_s * k.nodes * k.work_s for k in kinds) == pytest.approx(9.0)
    assert [k.nodes for k in kinds] == [4, 6, 2, 1]
    assert [k.weight for k in kinds] == [1 / 3, 1 / 3, 1 / 3, 0.0]


LOG = "submit_s,run_s,nodes,kind\n" + "\n".join(f"{60 * i},{50 + i % 9},{1 + i % 2},{'ab'[i % 2]}" for i in range(150))


def test_a_log_is_matched_by_kind(tmp_path: Path) -> None:
    """Jobs of a file take power and caps from the kind of their name, and the target ends with the last submission."""
    (tmp_path / "log.csv").write_text(LOG.replace("run_s", "work_s") + "\n")
    text = OWN.replace('generator = "kinds"', 'file = "log.csv"').replace('rate = "20/h"\n', "")
    wired = study(text, tmp_path)
    assert set(wired.trace.jobs.draw_w.tolist()) == {250.0, 300.0}
    assert [bid is None for _, bid in wired.options.bids] == [False, True]
    wired.write(wired.simulate(), tmp_path / "j")
    summary = summarize(open_journal(tmp_path / "j"))
    assert summary.jobs.finished == 150
    assert summary.regulation is not None
    assert len(summary.regulation.hours) == 2
    (tmp_path / "log.csv").write_text(LOG.replace("run_s", "work_s").replace(",b", ",bb") + "\n")
    with pytest.raises(InputError, match=r"s.toml:13: .*log.csv: kind 'bb' of the jobs is not declared"):
        study(text, tmp_path)


def test_what_was_done_to_a_signal_is_said(tmp_path: Path) -> None:
    """Repairs of a signal file are notes of the run and of its manifest."""
    rows = [f"{2 * k},{0.3 if k % 2 else -0.3}" for k in range(5400)]
    rows[7] = "14,"
    (tmp_path / "y.csv").write_text("time_s,value\n" + "\n".join(rows) + "\n")
    wired = study(GOOD + 'signal = "y.csv"\n', tmp_path)
    assert [(n.action, n.reason, n.count) for n in wired.notes] == [
        ("repaired", "value is not a number: the last one held", 1)
    ]
    assert wired.market is not None
    assert wired.market.manifest()["notes"][0]["example"].startswith("y.csv:9")


def test_signals_are_read_or_fitted(tmp_path: Path) -> None:
    """A signal file is played from the start of the run; a fitted one is drawn with the spread of its file."""
    rng = np.random.default_rng(1)
    values = np.clip(np.convolve(rng.normal(0, 1.2, 6100), np.ones(50) / 50**0.5, "valid")[:6000] * 0.3, -1, 1)
    rows = [f"{2 * i},{y:.6f}" for i, y in enumerate(values)]
    (tmp_path / "regd.csv").write_text("\n".join(["time_s,RegD", *rows]) + "\n")
    read = study(GOOD.replace("[regulation]\n", '[regulation]\nsignal = "regd.csv"\n'), tmp_path).options.signal
    assert read is not None
    assert read.values[:100] == pytest.approx(values[:100], abs=1e-6)
    drawn = study(
        GOOD.replace("[regulation]\n", '[regulation]\nsignal = "fitted"\nfile = "regd.csv"\n'), tmp_path
    ).options.signal
    assert drawn is not None
    assert drawn.values.size == 5400
    assert drawn.values.std() == pytest.approx(values.std(), rel=0.25)


def test_a_bid_does_not_hold_longer_than_jobs_are_drawn(tmp_path: Path) -> None:
    """A run of drawn kinds ends after ``duration``: hours beyond it were left out of the bill without a word."""
    longer = ('regulation.until="5 h"', "regulation.hours=4")
    with pytest.raises(InputError, match=r"\[regulation\] until: the run ends before it, after 3 h \(duration of \[tr"):
        study(GOOD, tmp_path, *longer)
    for told in ('trace.duration="5 h"', 'run.until="5 h"'):
        made = study(GOOD, tmp_path, *longer, told)
        assert made.market is not None
        assert (len(made.market.hours), made.options.until_s) == (4, 5 * 3600.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("cluster.sleep={power=1,after=1}", "a bid is made for nodes that do not sleep"),
        ("run.kill=true", "a bid is made for jobs that are not ended when they are late"),
        ("run.ties=event", "a bid is made with one pass an instant"),
        ("run.passes=ticks", "a bid is made with passes whenever something happens"),
        ("policy.select=easy", "'easy' does not follow a power target"),
        ("limit.power=9 kW", "a bid is made without a power limit"),
        (
            'budget=[{name="all", limit="9 kW", system=true}]',
            "a bid is made without a power limit, and so without budgets",
        ),
        (
            'regulation={bids="b.csv"}',
            "wattline bid chooses one bid for all hours, or tests one: give mean and reserve",
        ),
        ('configurations=[{file="x.csv"}]', "a bid is made for jobs of one shape each"),
        ('resource=[{name="gpu", total=4, amount=1}]', "a bid is made for jobs that share nothing but nodes and watts"),
        (
            'network={topology="fat-tree:4x9x1", job=[{kind="bt.C.16", traffic="1 MB/s", share=0.5}]}',
            "a bid is made for jobs that do not slow each other",
        ),
    ],
)
def test_a_bid_is_not_made_for_what_it_does_not_know(change: str, message: str, tmp_path: Path) -> None:
    """A machine or a policy that the search of bids cannot take is refused by name."""
    (tmp_path / "s.toml").write_text(GOOD)
    with pytest.raises(InputError, match=message):
        build_setting(read_scenario(tmp_path / "s.toml", [change]))


def test_a_bid_takes_or_refuses_every_section_of_a_scenario() -> None:
    """What changes a run and not its bid makes certificates about something else: who adds a section says which."""
    taken = {"seed", "cluster", "policy", "late", "kinds", "kind", "regulation", "bid", "prices"}
    refused = {"limit", "budget", "configurations", "resource", "network", "sweep"}
    no_matter = {
        "schema_": "it names the layout",
        "name": "it names the run",
        "trace": "hours are drawn from the kinds",
        "run": "as below",
        "bounds": "they bound configurations, which are refused",
        "profiles": "they are learned from a trace",
        "output": "it says what is written",
    }
    assert taken | refused | set(no_matter) == set(Spec.model_fields)
    of_markets = (
        {"signal", "file", "column", "step", "std", "time_constant", "neutral", "seed", "mean", "reserve", "made_for"}
        | {"reach", "prices", "control", "stop_cost"},
        {"bids"},  # refused
        {"every", "lead", "from_", "until", "warmup", "hours", "baseline"},  # which hours of a run are sold
    )
    assert set.union(*of_markets) == set(RegulationSpec.model_fields)
    of_runs = {"ties", "kill", "passes"}, {"requeue", "keep_progress", "tick", "until", "backlog"}
    assert set.union(*of_runs) == set(RunSpec.model_fields)
    of_machines = (
        {"sleep", "levels", "outage", "failures", "variability"},
        {"name", "nodes", "class_", "idle", "max", "min_cap"},
    )
    assert set.union(*of_machines) == set(ClusterSpec.model_fields)


FEW = OWN.replace('rate = "40/h"', 'rate = "3/h"').replace('rate = "20/h"', 'rate = "1/h"')


@pytest.mark.parametrize("seed", range(1, 5))
def test_every_sold_hour_is_billed_though_no_job_is_left(seed: int, tmp_path: Path) -> None:
    """A machine that idles still has to follow what it sold: the run goes on to the end of the last billed hour."""
    made = study(FEW, tmp_path, 'trace.duration="5 h"', 'regulation.warmup="1 h"', f"seed={seed}")
    result = made.simulate()
    assert np.nanmax(result.state.end_s) <= 5 * 3600.0
    tables, _ = made.tables(result)
    rows, billed = tables["hours"], tables["hours"]["billed"] == 1
    assert rows["end_s"][billed].tolist() == [7200.0, 10800.0, 14400.0, 18000.0]
    assert rows["energy_kwh"].sum() == pytest.approx(result.state.node_j.sum() / 3.6e6)


def test_the_baseline_of_a_run_is_billed_for_the_same_hours(tmp_path: Path) -> None:
    """Without a market jobs end earlier, and the machine idles to the end of the billed time, too."""
    made = study(FEW, tmp_path, 'trace.duration="5 h"', 'regulation.baseline="easy"')
    assert made.baseline is not None
    for one in (made, made.baseline):
        assert one.simulate().state.now[0] == 5 * 3600.0


@pytest.mark.parametrize("select", ["slackline", "gps", "tracking-only", "energyqare", "qoscap"])
def test_standby_jobs_that_wait_when_the_bid_is_over_stay_unfinished(select: str, tmp_path: Path) -> None:
    """They fill a target, and there is none any more: the run ends without them, and its hours are billed."""
    log = "submit_s,work_s,nodes,kind\n0,60,1,a\n4000,300,1,s\n7300,60,1,a\n"
    (tmp_path / "log.csv").write_text(log)
    text = OWN.replace('generator = "kinds"', 'file = "log.csv"').replace('name = "b"', 'name = "s"\nstandby = true')
    text = text.replace("weight = 0.75\n", "weight = 1.0\n").replace("weight = 0.25\n", "")
    made = study(text, tmp_path, f'policy.select="{select}"', 'regulation.until="1 h"')
    result = made.simulate()
    assert (result.stopped, result.state.end_s.tolist()[0]) == ("done", 60.0)
    assert np.isnan(result.state.end_s).tolist() == [False, True, False]
    assert result.state.now[0] < 7400.0
    tables, _ = made.tables(result)
    assert tables["hours"]["end_s"][tables["hours"]["billed"] == 1].tolist() == [3600.0]


def test_a_baseline_decides_at_the_ticks_of_the_run_that_it_is_beside(tmp_path: Path) -> None:
    """The control period is the run's tick; the run in no market has no other."""
    made = study(FEW, tmp_path, 'trace.duration="2 h"', 'regulation.baseline="easy"', 'run.passes="ticks"')
    assert made.baseline is not None
    assert made.baseline.options.tick_s == made.options.tick_s == 1.0
    started_s = made.baseline.simulate().state.started_s
    assert np.all(started_s % 1.0 == 0.0)


def test_a_job_behind_a_standby_job_that_never_starts_stays_unfinished_with_it() -> None:
    """The run is over when its last target is, whoever still waits for a standby job."""
    jobs = wl.from_frame(
        {
            "submit_s": [0, 7000, 7010],
            "work_s": [600, 3600, 600],
            "nodes": [2, 1, 2],
            "kind": ["p", "s", "p"],
            "after": [-1, -1, 1],
        }
    )
    kinds = [
        {"name": "p", "nodes": 2, "time": 600, "power": 280, "floor": 150, "limit": 2},
        {"name": "s", "nodes": 1, "time": 3600, "power": 200, "floor": 150, "standby": True},
    ]
    sold = {"mean": 1500, "reserve": 200, "until": 3600}
    machine = wl.Machine(nodes=8, idle=100, max=300)
    for select in ("slackline", "gps"):
        settings = {"kind": kinds, "regulation": sold, "policy.select": select, "policy.cap": "match-target"}
        run = wl.simulate(jobs, machine, settings=settings, progress=False)
        assert run.jobs["status"].to_list() == ["finished", "unfinished", "unfinished"]
