"""Questions about a log: the answer is a run with that key, its cause is the one that was built in."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import wattline as wl
from wattline.api.asked.effects import (
    Cause,
    as_much_of_others,
    choose,
    felt,
    heaviest_user,
    mean_waits_s,
    more_wait_s,
)
from wattline.api.listener import Listener
from wattline.api.trace import log_at
from wattline.report.count.effects import find_effects
from wattline.units import show_duration

NODES = 16
MACHINE = wl.Machine(nodes=NODES, idle="100 W", max="300 W")


def stream(jobs: int = 300, *, gap_s: float = 320.0, work_s: float = 3000.0, seed: int = 1) -> dict[str, list[Any]]:
    """Return a stream of narrow jobs of several users."""
    draw = random.Random(seed)
    submit = [i * gap_s for i in range(jobs)]
    return {
        "submit_s": submit,
        "work_s": [work_s * draw.uniform(0.5, 1.5) for _ in submit],
        "nodes": [draw.choice([1, 2]) for _ in submit],
        "user": [f"u{draw.randrange(6)}" for _ in submit],
    }


def joined(*parts: dict[str, list[Any]]) -> wl.Trace:
    """Return all jobs of several streams as one trace."""
    rows = sorted(zip(*([v for part in parts for v in part[key]] for key in parts[0]), strict=True))
    return wl.from_frame(dict(zip(parts[0], map(list, zip(*rows, strict=True)), strict=True)), name="made")


@pytest.mark.filterwarnings("ignore:LOAD 2.38, ABOVE 1")
def test_waits_are_held_against_those_of_the_same_jobs(tmp_path: Path) -> None:
    """Jobs that start in one run only have nothing beside them. Here all-wide jobs, which waited longest, can never
    start under the limit, and the others wait longer: means of all jobs would say the opposite. Sentence, effects and
    page count the jobs that start in both, as a plain join has them.
    """
    last_s = 300 * 420.0
    wide = {"submit_s": [last_s] * 60, "work_s": [3600.0] * 60, "nodes": [NODES] * 60, "user": ["u0", "u1"] * 30}
    found = wl.whatif(joined(stream(gap_s=420.0), wide), MACHINE, limit="3.6 kW", causes=False)
    before, after = found.base, found.answers[0].after
    assert (before.summary.jobs.started, after.summary.jobs.started) == (360, 300)
    assert after.summary.wait_s.mean < before.summary.wait_s.mean
    old = {row["job_id"]: row for row in before.jobs.iter_rows(named=True) if row["wait_s"] is not None}
    new = {row["job_id"]: row for row in after.jobs.iter_rows(named=True) if row["wait_s"] is not None}
    both = sorted(old.keys() & new.keys())
    mean_s = [sum(rows[job]["wait_s"] for job in both) / len(both) for rows in (old, new)]
    assert mean_waits_s(before, after) == pytest.approx(tuple(mean_s))
    assert mean_s[1] > mean_s[0]
    waits = [show_duration(seconds) for seconds in mean_s]
    told = f"jobs that start in both wait {waits[1]} on average instead of {waits[0]}; 60 jobs can never start"
    assert told in found.answers[0].sentence
    side = wl.compare(before=before, after=after)
    assert "(of different jobs: 60 fewer start)" in side.sentence
    assert side.found.notes == (
        "with 'after' 60 fewer jobs start than with 'before': mean waits of both are of different jobs",
    )
    effects = find_effects(side.runs, side.loaders)["after"]["user"]
    for row in effects:
        mine = [job for job in both if old[job]["user"] == row.name]
        assert row.jobs == len(mine)
        assert row.total_s == pytest.approx(sum(new[job]["wait_s"] - old[job]["wait_s"] for job in mine))
    assert len(effects) == 6
    assert find_effects(side.runs) == {"after": {}}  # summaries alone do not know which jobs start in both
    page = side.write(tmp_path / "page.html").read_text()
    assert "only those that start in both count" in page
    assert "are of all jobs that start." in found.write(tmp_path / "whatif.html").read_text()


def test_an_answer_is_the_run_with_that_key() -> None:
    """The runs behind the answers are those that ``wl.simulate`` makes with limit, nodes, policy and load given."""
    trace = joined(stream())
    found = wl.whatif(trace, MACHINE, limit="3 kW", nodes="+25%", policy="conservative", causes=False)
    waits = {answer.label: answer.after.summary.wait_s.mean for answer in found.answers}
    more = wl.Machine(nodes=20, idle="100 W", max="300 W")
    by_hand = [
        wl.simulate(trace, MACHINE, limit="3 kW", progress=False),
        wl.simulate(trace, more, progress=False),
        wl.simulate(trace, MACHINE, select="conservative", progress=False),
        wl.simulate(trace, more, select="conservative", limit="3 kW", progress=False),
    ]
    assert list(waits.values()) == [run.summary.wait_s.mean for run in by_hand]
    assert list(waits) == [
        "a limit of 3 kW",
        "4 nodes more (20)",
        "conservative",
        "a limit of 3 kW and 4 nodes more (20) and conservative",
    ]
    assert found.base.summary.wait_s.mean == wl.simulate(trace, MACHINE, progress=False).summary.wait_s.mean


def test_a_part_of_the_peak_and_growth_are_of_the_log_as_it_is() -> None:
    """-25% is below the peak of the log as it is; growth squeezes the gaps, whatever the machine's size."""
    trace = joined(stream())
    found = wl.whatif(trace, MACHINE, limit="-25%", causes=False)
    peak_w = found.base.summary.power.peak_w
    assert found.answers[0].setting == {"limit.power": round(0.75 * peak_w)}
    grown = wl.whatif(trace, MACHINE, growth=2.0, nodes=32, causes=False)
    jobs = trace.jobs["submit_s"].to_list()
    for answer in (grown.answers[1], grown.answers[2]):
        squeezed = answer.after.jobs.sort("job_id")["submit_s"].to_list()
        assert max(abs(b - a / 2.0) for a, b in zip(jobs, squeezed, strict=True)) < 1e-6


def test_a_sentence_has_the_commas_that_its_questions_need() -> None:
    """An aside ends with a comma, and so does the name of a policy; a comma within brackets needs none after them."""
    trace = joined(stream(60))
    found = wl.whatif(trace, MACHINE, limit="-25%", sleep="10 min", policy="conservative", causes=False)
    limit, sleep, policy, together = (answer.sentence for answer in found.answers)
    assert "25% below the 4.8 kW that it draws at most, jobs wait " in limit
    assert "(at 10 W, 3 min to wake) jobs wait " in sleep
    assert policy.startswith("With conservative, jobs wait ")
    assert (
        " at most, and nodes that sleep after 10 min idle (at 10 W, 3 min to wake) and conservative, jobs" in together
    )


def test_the_idle_power_of_added_nodes_is_named() -> None:
    """More nodes under the same watts make waits longer where their idle power eats the limit."""
    trace = joined(stream())
    found = wl.whatif(trace, MACHINE, limit="3.2 kW", nodes="+60%")
    together = found.answers[-1]
    assert together.after.summary.wait_s.mean > found.answers[0].after.summary.wait_s.mean + 60
    assert together.cause is not None
    assert "the idle power of the 10 added nodes: 1 kW, 31% of the limit" in together.cause.words
    assert found.sentence.startswith("With a limit of 3.2 kW and 10 nodes more (26) jobs wait ")
    assert "The cause is the idle power of the 10 added nodes" in found.sentence


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_shorter_waits_have_no_cause() -> None:
    """Nodes that are added make waits longer than the limit alone, and still shorter than they are in the log."""
    trace = wl.draw_trace("lublin", nodes=64, jobs=300, load=0.8, seed=2)
    machine = wl.Machine(nodes=64, idle="90 W", max="350 W")
    together = wl.whatif(trace, machine, limit="-20%", nodes="+20%").answers[-1]
    assert more_wait_s(together.before, together.after) < 0.0
    assert together.cause is None


def test_wide_jobs_are_named() -> None:
    """Three jobs that take the whole machine are the cause of what growth does to all others, and are named by their
    ids.
    """
    thin = stream(200, gap_s=900.0)
    wide = {
        "submit_s": [9000.0, 60000.0, 120000.0],
        "work_s": [30000.0] * 3,
        "nodes": [16] * 3,
        "user": ["u0", "u1", "u2"],
    }
    trace = joined(thin, wide)
    ids = trace.jobs.filter(trace.jobs["nodes"] == 16)["job_id"].to_list()
    found = wl.whatif(trace, MACHINE, growth=1.5)
    cause = found.answers[0].cause
    assert cause is not None
    assert cause.words == f"3 wide jobs ({', '.join(map(str, ids))})"
    assert ". Without them " in found.answers[0].why


def test_one_user_is_named() -> None:
    """A user whose jobs fill the machine in bursts is the cause of what growth does to all others."""
    thin = stream(200, gap_s=900.0)
    hog = {
        "submit_s": [40000.0 + i for i in range(120)],
        "work_s": [7000.0] * 120,
        "nodes": [2] * 120,
        "user": ["hog"] * 120,
    }
    found = wl.whatif(joined(thin, hog), MACHINE, growth=1.5)
    cause = found.answers[0].cause
    assert cause is not None
    assert cause.words.startswith("user hog, whose 120 jobs do ")


@pytest.mark.parametrize("asked", [{"growth": 1.6}, {"nodes": "-40%"}, {"limit": "-45%"}])
def test_a_user_who_bears_the_effect_alone_is_named(asked: dict[str, Any]) -> None:
    """Wide and long jobs of one user wait, and nobody else: the effect goes with that user."""
    draw, jobs = np.random.default_rng(0), 400
    wide = np.arange(jobs) % 4 == 0
    log = wl.from_frame(
        {
            "submit_s": np.cumsum(draw.exponential(300.0, jobs)),
            "work_s": np.where(wide, 3000.0, draw.uniform(100.0, 500.0, jobs)),
            "nodes": np.where(wide, 20, draw.integers(1, 3, jobs)),
            "user": ["hog" if wide[i] else f"u{i % 10}" for i in range(jobs)],
        }
    )
    answer = wl.whatif(log, wl.Machine(nodes=64, idle="1 W", max="300 W"), **asked).answers[0]
    users = {one.name: one.more_s for one in felt(answer.before, answer.after) if one.about == "user"}
    assert users.pop("hog") > 3600.0
    assert max(users.values()) < 60.0
    assert answer.cause is not None
    assert answer.cause.words.startswith("user hog, whose 100 jobs do ")


@pytest.mark.filterwarnings("ignore:NOTHING EVER WAITS")
def test_growth_is_that_of_the_jobs_that_are_used(tmp_path: Path) -> None:
    """With so many jobs from the start of a log, gaps shrink by the factor, and once the load is the log as it is."""
    frame = pl.DataFrame(stream())
    frame = frame.with_columns(submit_s=pl.col("submit_s") ** 1.2)  # ever fewer come
    frame.write_parquet(tmp_path / "log.parquet")
    log = log_at(tmp_path / "log.parquet", jobs=100)
    assert log.jobs.height == 100
    for factor in (1.0, 1.3):
        found = wl.whatif(log, MACHINE, growth=factor, causes=False)
        before, after = (run.jobs.sort("job_id")["submit_s"] for run in (found.base, found.answers[0].after))
        assert len(after) == 100
        assert np.allclose((before - before[0]) / factor, after - after[0])


def test_no_cause_is_made_up() -> None:
    """Where nothing gets worse there is no cause; where the log says no users and no job stands out, none is blamed for
    growth.
    """
    trace = joined(stream())
    better = wl.whatif(trace, MACHINE, nodes="+50%")
    assert better.answers[0].cause is None
    alike = wl.from_frame({key: values for key, values in stream().items() if key != "user"})
    worse = wl.whatif(alike, MACHINE, growth=1.1).answers[0]
    assert worse.after.summary.wait_s.mean > 2 * worse.before.summary.wait_s.mean
    assert worse.cause is None


def test_a_user_like_all_others_is_no_cause() -> None:
    """Users who are drawn alike: without the heaviest one most of the effect of growth is gone, and as much without as
    many jobs of others.
    """
    worse = wl.whatif(joined(stream(600)), MACHINE, growth=1.15).answers[0]
    name, ids, _ = heaviest_user(worse.before) or ("", [], 0.0)
    rest = joined(
        {
            key: [v for v, u in zip(values, stream(600)["user"], strict=True) if u != name]
            for key, values in stream(600).items()
        }
    )
    without = wl.whatif(rest, MACHINE, growth=1.15, causes=False).answers[0]
    assert more_wait_s(without.before, without.after) < 0.5 * more_wait_s(worse.before, worse.after)
    others = as_much_of_others(worse.before, ids)
    work = dict(worse.before.jobs.select("job_id", pl.col("nodes") * pl.col("runtime_s")).iter_rows())
    assert not set(others) & set(ids)
    assert sum(work[job] for job in others) == pytest.approx(sum(work[job] for job in ids), rel=0.05)
    assert worse.cause is None


def test_of_causes_that_explain_as_much_the_one_of_fewest_jobs_is_named() -> None:
    """All that one user did explains as much as his three wide jobs do; what dominates nothing is no cause."""
    wide, his, idle = Cause("wide", 0.95, jobs=3), Cause("user", 1.0, jobs=300), Cause("idle", 0.6)
    assert choose([his, wide]) is wide
    assert choose([his, wide, idle]) is wide
    assert choose([his, Cause("wide", 0.6, jobs=3)]) is his
    assert choose([Cause("idle", 0.4)]) is None
    assert choose([]) is None


def test_a_log_without_a_suspect_keeps_its_dates(tmp_path: Path) -> None:
    """Prices with dates bill the runs that look for a cause, too."""
    parts = stream()
    trace = wl.from_frame(parts, epoch_unix_s=1_000_000_000.0)
    rows = [
        f"{when:%m/%d/%Y %H:%M},20"
        for when in (datetime(2001, 9, 9, tzinfo=UTC) + timedelta(hours=k) for k in range(240))
    ]
    (tmp_path / "lmp.csv").write_text("datetime_beginning_utc,total_lmp_rt\n" + "\n".join(rows) + "\n")
    found = wl.whatif(trace, MACHINE, nodes="-20%", price=tmp_path / "lmp.csv").answers[0]
    assert found.after.summary.wait_s.mean > found.before.summary.wait_s.mean + 60.0
    assert "its energy costs $" in found.sentence


def test_prices_take_the_keys_of_their_section(tmp_path: Path) -> None:
    """A tariff by the clock needs its unit, and to begin anew each day."""
    (tmp_path / "tariff.csv").write_text("time,price\n00:00,0.08\n07:00,0.21\n21:00,0.08\n")
    trace, table = wl.from_frame(stream(), epoch_unix_s=1e9), {"unit": "$/kWh", "repeat": True}
    file = str(tmp_path / "tariff.csv")
    one = wl.whatif(trace, MACHINE, price={"file": file, **table})
    text = f'{{ file = "{file}", unit = "$/kWh", repeat = true }}'
    assert wl.whatif(trace, MACHINE, price=text).sentence == one.sentence
    assert "its energy costs $" in one.sentence
    for price in ("{ file = ", '{ unit = "$/kWh" }', {"unit": "$/kWh"}, "none.csv"):
        with pytest.raises(wl.InputError, match=r"no such file|expected a file, or"):
            wl.whatif(trace, MACHINE, price=price)


def test_whose_jobs_can_never_start_is_said() -> None:
    """A user whose jobs a limit refuses loses most, though he waits for none of them."""
    wide = {"submit_s": [9.0] * 3, "work_s": [60.0] * 3, "nodes": [NODES] * 3, "user": ["w"] * 3}
    said = wl.whatif(joined(stream(), wide), MACHINE, limit="4 kW", causes=False).sentence
    assert "; 3 jobs, all of user w, can never start" in said
    wide["user"] = ["w", "w", "v"]
    said = wl.whatif(joined(stream(), wide), MACHINE, limit="4 kW", causes=False).sentence
    assert "; 3 jobs, 2 of user w, can never start" in said
    wide["user"] = ["w", "u", "v"]
    assert "; 3 jobs can never start" in wl.whatif(joined(stream(), wide), MACHINE, limit="4 kW", causes=False).sentence


def test_sizes_are_of_what_is_scheduled(tmp_path: Path) -> None:
    """Where the processor is scheduled nobody is told of nodes, and watts that nobody gave are not called given."""
    rows = [
        f"{i} {i * 60} 0 4000 {1 + 2 * (i % 8)} -1 -1 {1 + 2 * (i % 8)} 5000 -1 1 {i % 3} 1 1 1 1 -1 -1"
        for i in range(1, 90)
    ]
    path = tmp_path / "shared.swf"
    path.write_text("; MaxNodes: 8\n; MaxProcs: 32\n" + "\n".join(rows) + "\n")
    heard = Heard()
    found = wl.whatif(path, limit="-20%", causes=False, listener=heard)
    sizes = [one.name for one in found.answers[0].felt if one.about == "size"]
    assert sizes
    assert all(name.endswith(("processor", "processors")) for name in sizes)
    assert not [line for line in heard.told if "given" in line]
    assert [line for line in found.warnings if line.startswith("POWER ASSUMED")]


class Heard(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(progress=False)
        self.told: list[str] = []

    def tell(self, text: str) -> None:
        """Keep it."""
        self.told.append(text)

    def loud(self, text: str) -> None:
        """Hear it."""


def test_who_feels_it_is_counted_by_hand() -> None:
    """Mean waits of users before and after are those of a plain count, who loses most first."""
    trace = joined(stream(gap_s=300.0))
    answer = wl.whatif(trace, MACHINE, limit="3 kW", causes=False).answers[0]
    before, after = (dict(run.jobs.select("job_id", "wait_s").iter_rows()) for run in (answer.before, answer.after))
    users: dict[str, list[int]] = {}
    for job, user in trace.jobs.select("job_id", "user").iter_rows():
        users.setdefault(str(user), []).append(job)
    found = {one.name: one for one in felt(answer.before, answer.after) if one.about == "user"}
    assert set(found) == set(users)
    for name, jobs in users.items():
        assert found[name].jobs == len(jobs)
        assert found[name].before_s == pytest.approx(sum(before[j] for j in jobs) / len(jobs))
        assert found[name].after_s == pytest.approx(sum(after[j] for j in jobs) / len(jobs))
    more = [one.more_s for one in answer.felt]
    assert more == sorted(more, reverse=True)


def test_the_study_that_is_left_gives_the_same_runs(tmp_path: Path) -> None:
    """The scenario that ``scenario`` writes has the log as it is and all answers as its settings."""
    trace = joined(stream())
    trace.jobs.write_csv(tmp_path / "jobs.csv")
    log = wl.read_trace(tmp_path / "jobs.csv")
    found = wl.whatif(log, MACHINE, limit="3 kW", growth=1.2, sleep="10 min", causes=False)
    (tmp_path / "study.toml").write_text(found.scenario())
    frame = wl.load(tmp_path / "study.toml").run()
    runs = [found.base, *(answer.after for answer in found.answers)]
    assert frame["wait_s.mean"].to_list() == [run.summary.wait_s.mean for run in runs]
    assert frame["energy.total_j"].to_list() == [run.summary.energy.total_j for run in runs]


def test_watts_are_assumed_only_where_a_question_needs_them() -> None:
    """A limit needs watts, and says that they are assumed; more nodes need none, and there are none."""
    trace = joined(stream())
    found = wl.whatif(trace, wl.Machine(nodes=NODES), limit="3 kW", causes=False)
    told = "POWER ASSUMED: 100 W idle and 300 W busy a node, because no watts were given"
    assert found.warnings == [f"{told}; say them, for the answer rests on them"]
    plain = wl.whatif(trace, wl.Machine(nodes=NODES), nodes=20, causes=False)
    assert plain.warnings == []
    assert not plain.base.summary.has_power


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "ask something: limit, sleep"),
        ({"limit": "+20%"}, "a part below the peak like -20%"),
        ({"limit": "-100%"}, "limit='-100%': expected a power above 0"),
        ({"limit": "much"}, "limit='much': expected a power"),
        ({"limit": float("nan")}, "limit=nan: must be a number"),
        ({"limit": -3.0}, "limit=-3.0: must be a number, and not below 0"),
        ({"nodes": "-100%"}, "nodes='-100%': a machine has at least one node"),
        ({"nodes": "-16"}, "cannot have"),
        ({"nodes": True}, "nodes=True: expected a count"),
        ({"nodes": "many"}, "expected a count like 128"),
        ({"growth": "0"}, "above 0"),
        ({"growth": "x"}, "a factor like 1.3"),
        ({"growth": True}, "growth=True: expected a factor"),
        ({"sleep": "soon"}, "sleep='soon': expected a duration"),
        ({"wake": "5 min", "growth": 2}, "wake='5 min': says how nodes sleep, but not when"),
        ({"policy": "no-such"}, "no-such"),
        ({"price": "no-such.csv"}, "no-such.csv"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_a_line(asked: dict[str, Any], told: str) -> None:
    """The complaint names what was asked."""
    with pytest.raises(wl.WattlineError, match=told) as caught:
        wl.whatif(joined(stream(40)), MACHINE, **asked)
    assert "\n" not in str(caught.value)


def test_drawn_jobs_are_asked_about_as_a_log_is() -> None:
    """Growth shrinks the gaps of jobs that were drawn to a load, too; a scenario cannot hold jobs in memory."""
    machine = wl.Machine(nodes=16, idle="90 W", max="350 W")
    drawn = wl.draw_trace("lublin", nodes=16, jobs=150, load=0.85, seed=8)
    asked, plain = (wl.whatif(jobs, machine, growth=4) for jobs in (drawn, wl.from_frame(drawn.jobs)))
    assert asked.answers[0].after.jobs["wait_s"].to_list() == plain.answers[0].after.jobs["wait_s"].to_list()
    assert asked.answers[0].after.summary.wait.mean > 1.5 * asked.answers[0].before.summary.wait.mean
    with pytest.raises(wl.WattlineError, match="in memory"):
        asked.scenario()


def test_the_scenario_of_drawn_jobs_draws_them_again(tmp_path: Path) -> None:
    """Whatever the size of the machine that they run on: they were drawn for another one."""
    drawn = wl.draw_trace("lublin", nodes=16, jobs=80, load=0.85, seed=8)
    run = wl.simulate(drawn, wl.Machine(nodes=32, idle=90, max=350))
    run.write(tmp_path / "out")
    text = json.loads((tmp_path / "out" / "manifest.json").read_text())["scenario"]
    (tmp_path / "again.toml").write_text(text)
    assert wl.load(tmp_path / "again.toml").simulate().jobs["end_s"].to_list() == run.jobs["end_s"].to_list()


def test_no_node_more_is_as_many_as_now() -> None:
    """A part of nothing is told as what it is."""
    jobs = wl.from_frame({"submit_s": [0, 5], "work_s": [60, 30], "nodes": [2, 1]})
    found = wl.whatif(jobs, wl.Machine(nodes=4), nodes="+0%", causes=False)
    assert found.sentence.startswith("With as many nodes as now (4) ")


def test_a_machine_that_cannot_be_asked_about_is_refused_for_what_it_is() -> None:
    """Not for a size that its classes do say."""
    trace = wl.from_frame(stream(20))
    classes = wl.Machine(classes=[{"name": "x", "count": 10, "idle": 100, "max": 300}])
    with pytest.raises(wl.InputError, match="whatif: asks about nodes that are alike"):
        wl.whatif(trace, classes, growth=1.2)
    with pytest.raises(wl.InputError, match=r"give its nodes beside its network \(--machine"):
        wl.whatif(trace, wl.Machine(network="dragonfly:2x2x3"), growth=1.2)
