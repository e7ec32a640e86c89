"""Kinds found in a log: who belongs together, what is pooled, where power and time come from, and what every job
keeps.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.formats.jobs import read_trace
from wattline.generate.cap_model import FLOOR_SHARE, SENSITIVITY, CapModel
from wattline.generate.kinds_from_log import Found, KindRules, find_kinds
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace
from wattline.systems.npb import APPLICATIONS, IDLE_W

MODEL = CapModel(idle_w=31.0, draw_w=120.0)


def log(rows: list[tuple[Any, ...]], **more: Any) -> Trace:
    """Make a log of (name or None, user or None, nodes, run time, power) rows, a minute apart."""
    names = tuple(dict.fromkeys(r[0] for r in rows if r[0] is not None))
    users = tuple(dict.fromkeys(r[1] for r in rows if r[1] is not None))
    jobs = JobTable.build(
        submit_s=60.0 * np.arange(len(rows)),
        nodes=[r[2] for r in rows],
        work_s=[r[3] for r in rows],
        draw_w=[r[4] for r in rows],
        kind=[-1 if r[0] is None else names.index(r[0]) for r in rows],
        user=[-1 if r[1] is None else users.index(r[1]) for r in rows],
        kinds=names,
        users=users,
        **more,
    )
    return Trace(jobs, source="a log")


def same(name: str | None, user: str | None, nodes: int, count: int, power: float = math.nan) -> list[tuple[Any, ...]]:
    """Return equal rows."""
    return [(name, user, nodes, 3600.0, power)] * count


def by_name(found: Found) -> dict[str, int]:
    """Return how many jobs each kind has."""
    return {row.kind.name: row.jobs for row in found.rows}


def said(found: Found, action: str) -> dict[str, int]:
    """Return how often each reason was given."""
    return {note.reason: note.count for note in found.trace.notes if note.action == action}


def test_a_type_is_a_name_and_a_node_count() -> None:
    """Jobs of one name on different node counts are different kinds, whoever submits them; largest kinds come first."""
    found = find_kinds(
        log(same("cfd", "ann", 4, 5) + same("cfd", "bob", 4, 1) + same("cfd", "ann", 8, 5) + same("md", "ann", 4, 5))
    )
    assert by_name(found) == {"cfd@8": 5, "cfd@4": 6, "md@4": 5}
    assert [kind.nodes for kind in found.kinds] == [8, 4, 4]
    assert [found.trace.jobs.kinds[k] for k in found.trace.jobs.kind[:7]] == ["cfd@4"] * 6 + ["cfd@8"]


def test_jobs_without_a_name_go_by_their_user() -> None:
    """A missing name is replaced by the user, a missing user by nothing, and both are counted."""
    found = find_kinds(
        log(same(None, "ann", 4, 5) + same(None, "bob", 4, 6) + same(None, None, 2, 7) + same("cfd", "ann", 4, 5))
    )
    assert by_name(found) == {"user bob@4": 6, "user ann@4": 5, "cfd@4": 5, "unnamed@2": 7}
    kept = said(found, "kept")
    assert kept["has no name: jobs of one user and one number of nodes are a type"] == 11
    assert kept["has neither name nor user: such jobs of one number of nodes are a type"] == 7


def test_rare_types_are_pooled_by_nodes_then_by_range_then_all() -> None:
    """Fewer than ``least`` jobs: pooled with their node count, then with their range of node counts, then with
    everything.
    """
    rows = (
        same("big", "u", 4, 5)
        + same("a", "u", 4, 2)
        + same("b", "u", 4, 3)  # together five on 4 nodes
        + same("c", "u", 5, 2)
        + same("d", "u", 7, 4)  # six on 5 to 8
        + same("e", "u", 40, 1)
        + same("f", "u", 1, 2)  # three with nobody near
    )
    found = find_kinds(log(rows))
    assert by_name(found) == {"big@4": 5, "*@4": 5, "*@5-8": 6, "*": 3}
    ranged = next(kind for kind in found.kinds if kind.name == "*@5-8")
    assert ranged.nodes == 6  # mean 6.33
    assert ranged.work_s == pytest.approx(
        (2 * 5 + 4 * 7) * 3600 / (6 * 6)
    )  # arrivals x nodes x time is the work of the log
    assert (
        sum(
            said(found, "kept")[f"of a type with fewer than 5 jobs: pooled with others of {what}"]
            for what in ("one number of nodes",)
        )
        == 14
    )
    assert by_name(find_kinds(log(rows), KindRules(least=1)))["c@5"] == 2


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 70)), min_size=2, max_size=60), st.integers(1, 9))
def test_pooling_loses_nobody(jobs: list[tuple[str, int]], least: int) -> None:
    """Every job has a kind; all kinds but the last pool have ``least`` jobs; only pools of ranges mix node counts."""
    found = find_kinds(log([(name, None, nodes, 60.0, math.nan) for name, nodes in jobs]), KindRules(least=least))
    table = found.trace.jobs
    assert sum(row.jobs for row in found.rows) == len(jobs) == len(table)
    for k, row in enumerate(found.rows):
        sizes = set(table.nodes[table.kind == k].tolist())
        assert row.jobs >= least or row.kind.name == "*"
        assert len(sizes) == 1 or row.kind.name == "*" or "-" in row.kind.name
    load = sum(k.arrival_per_s * k.nodes * k.work_s for k in found.kinds)
    assert load == pytest.approx(float(np.sum(table.nodes * table.work_s)) / table.span_s)


def test_a_link_to_a_job_that_is_dropped_is_cut_aloud() -> None:
    """The job behind it may enter the queue earlier than before."""
    trace = log([("a", None, 1, 0.0, math.nan), *same("a", None, 1, 5)])
    linked = replace(trace, jobs=trace.jobs.with_columns(after=[-1, 0, 0, 1, -1, -1]))
    found = find_kinds(linked)
    assert found.trace.jobs.after.tolist() == [-1, -1, 0, -1, -1]
    assert said(found, "repaired")["it follows a job that was dropped: link cut"] == 2


def test_jobs_of_no_length_are_dropped() -> None:
    """A job that ran for no time has no QoS degradation; a log of only such jobs is refused."""
    found = find_kinds(log([*same("a", None, 1, 5), ("a", None, 1, 0.0, math.nan)]))
    assert said(found, "dropped") == {"run time 0: QoS degradation has no meaning": 1}
    assert (len(found.trace.jobs), found.trace.records) == (5, 6)
    with pytest.raises(InputError, match="a log: no kinds can be found: none of its 2 jobs ran for any time"):
        find_kinds(log([("a", None, 1, 0.0, math.nan)] * 2))


def test_observed_range_of_power_and_time() -> None:
    """Highest and lowest power are those seen; the slowdown is that of the line through the run times."""
    watts = np.array([100.0, 95.0, 90.0, 85.0, 80.0])
    times = 1000.0 * (1 + 0.2 * (100.0 - watts) / 20.0)
    found = find_kinds(log([("a", None, 2, t, p) for t, p in zip(times, watts, strict=True)]), KindRules(model=MODEL))
    (kind,) = found.kinds
    assert (kind.draw_w, kind.floor_w) == (100.0, 80.0)
    assert kind.stretch == pytest.approx(1.2)
    assert found.rows[0].power_from == "observed"
    jobs = found.trace.jobs
    assert jobs.work_s == pytest.approx(np.full(5, 1000.0))  # at full power all would have taken the same
    assert jobs.draw_w.tolist() == [100.0] * 5
    assert kind.work_s == pytest.approx(1000.0)


def test_own_power_is_kept_on_demand() -> None:
    """With ``own_power`` a job keeps its power and run time, and its kind's line leads from there down to the floor."""
    rows = [("a", None, 2, 1000.0 * (1 + 0.01 * (100 - p)), p) for p in (100.0, 95.0, 90.0, 85.0, 80.0)]
    jobs = find_kinds(log(rows), KindRules(own_power=True, model=MODEL)).trace.jobs
    assert jobs.draw_w.tolist() == [100.0, 95.0, 90.0, 85.0, 80.0]
    assert jobs.work_s.tolist() == [r[3] for r in rows]
    assert jobs.floor_w.tolist() == [80.0] * 5
    assert jobs.work_s * jobs.stretch == pytest.approx(np.full(5, 1200.0))  # at the floor all are alike
    modelled = find_kinds(
        log(
            rows[:3],
        ),
        KindRules(own_power=True, least=1, model=MODEL),
    ).trace.jobs
    assert modelled.floor_w == pytest.approx([MODEL.floor(p) for p in (100.0, 95.0, 90.0)])


@pytest.mark.parametrize(("slope", "stretch"), [(-0.3, 1.0), (+0.9, 1.25)])
def test_a_slowdown_that_caps_cannot_cause_is_bounded(slope: float, stretch: float) -> None:
    """Jobs that run longer at more power give no speed-up, and none is slowed by more than power falls; both are
    counted.
    """
    rows = [("a", None, 1, 1000.0 * (1 + slope * (100 - p) / 20), p) for p in (100.0, 95.0, 90.0, 85.0, 80.0)]
    found = find_kinds(log(rows))
    assert found.kinds[0].stretch == pytest.approx(stretch)
    assert sum(said(found, "repaired").values()) == 5


def test_trimming_leaves_out_a_run_that_crashed() -> None:
    """One job that idled does not widen the range of its kind when the ends are trimmed."""
    rows = [("a", None, 1, 1000.0, p) for p in (31.0, *np.linspace(100, 110, 39))]
    assert find_kinds(log(rows)).kinds[0].floor_w == 31.0
    assert find_kinds(log(rows), KindRules(trim=0.05)).kinds[0].floor_w > 100.0


def test_power_by_the_model() -> None:
    """Without power in the log a kind's power depends on its name alone, and caps act as the model says; notes name
    it.
    """
    rows = same("a", None, 1, 5) + same("b", None, 1, 5)
    found = find_kinds(log(rows), KindRules(model=MODEL))
    again = find_kinds(log(rows[::-1]), KindRules(model=MODEL))
    assert {k.name: k.draw_w for k in found.kinds} == {k.name: k.draw_w for k in again.kinds}
    a, b = found.kinds
    assert a.draw_w != b.draw_w
    assert a.floor_w == pytest.approx(31.0 + 0.46 * (a.draw_w - 31.0))
    assert a.stretch == pytest.approx(1 + 0.48 * (a.draw_w / a.floor_w - 1))
    told = next(reason for reason in said(found, "kept") if "linear-cap" in reason)
    assert "120 W ± 15 % by kind, lowest cap at idle 31 W + 0.46" in told
    assert found.rows[0].power_from == "linear-cap"


def test_the_energy_of_the_log_is_kept() -> None:
    """With the model for caps, the mean power of a kind is weighted so that its jobs use what was measured."""
    rows = [("a", None, 1, 1000.0 * (i + 1), 100.0 + 5 * i) for i in range(6)]
    found = find_kinds(log(rows), KindRules(power="model", model=MODEL))
    jobs = found.trace.jobs
    assert float(np.sum(jobs.draw_w * jobs.work_s * jobs.nodes)) == pytest.approx(sum(t * p for *_, t, p in rows))
    assert found.rows[0].power_from == "mean, linear-cap"
    assert jobs.work_s.tolist() == [r[3] for r in rows]


def test_what_the_log_gives_is_believed() -> None:
    """Jobs that say what caps do to them keep that; sorting a sorted log changes nothing."""
    rows = same("a", "u", 4, 6, 110.0) + same(None, "u", 2, 6) + same("rare", "u", 9, 2) + same("rarer", "u", 10, 4)
    first = find_kinds(log(rows), KindRules(power="model", model=MODEL))
    again = find_kinds(first.trace)
    assert "*@9-16" in by_name(first)
    for one, other in zip(again.kinds, first.kinds, strict=True):
        assert one.response == other.response == ()
        assert vars(one) | {"response": 0} == pytest.approx(vars(other) | {"response": 0})
    assert {row.power_from for row in again.rows} == {"given"}


def test_the_model_is_the_median_of_the_measured_benchmarks() -> None:
    """Floor share and sensitivity are the medians over the published NAS measurements that can be capped at all."""
    capped = [a for a in APPLICATIONS.values() if a.floor_w < a.draw_w]
    share = np.median([(a.floor_w - IDLE_W) / (a.draw_w - IDLE_W) for a in capped])
    sensitivity = np.median([(a.longest_s / a.work_s - 1) / (a.draw_w / a.floor_w - 1) for a in capped])
    assert (len(capped), FLOOR_SHARE, SENSITIVITY) == (
        30,
        pytest.approx(share, abs=0.005),
        pytest.approx(sensitivity, abs=0.005),
    )


def test_kinds_that_nobody_measured_spread_as_stated() -> None:
    """Over many names, power has the stated mean and (but for the cut tails) spread, and stays within two
    deviations.
    """
    watts = np.array([CapModel(draw_w=200.0, spread=0.1).draw(f"kind {i}") for i in range(4000)])
    assert watts.mean() == pytest.approx(200.0, abs=4 * 20 / math.sqrt(4000))
    assert watts.std() == pytest.approx(0.959 * 20, rel=0.05)  # a normal law clipped at two deviations
    assert (watts.min(), watts.max()) == (pytest.approx(160.0), pytest.approx(240.0))


def test_rates_are_those_of_the_chosen_part() -> None:
    """Arrival rates come from a part of the log, so that what is known at a time can be told from what comes later."""
    rows = same("a", None, 1, 30) + same("b", None, 1, 10)  # a minute apart: b comes after half an hour
    whole = {k.name: k.arrival_per_s for k in find_kinds(log(rows)).kinds}
    assert whole == {"a@1": pytest.approx(30 / 2340), "b@1": pytest.approx(10 / 2340)}
    found = find_kinds(log(rows), KindRules(until_s=1770.0))
    assert {k.name: k.arrival_per_s for k in found.kinds} == {
        "a@1": pytest.approx(30 / 1770),
        "b@1": pytest.approx(0.5 / 1770),
    }
    assert (
        said(found, "kept")["kind of job that did not come in the time that rates are taken from: 0.5 arrivals assumed"]
        == 10
    )


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"least": 0}, "the least number of jobs of a kind must be at least 1, got 0"),
        ({"trim": 0.5}, r"the share left out at each end must be in \[0, 0.5\), got 0.5"),
        ({"power": "guess"}, "power must be observed or model, got 'guess'"),
        ({"until_s": 0.0}, "no arrival rates can be taken from 0 s to 0 s after the first submission"),
        ({"model": {"idle_w": 90.0, "draw_w": 50.0}}, "need 0 <= idle power <= busy power, got 90 W and 50 W"),
        ({"model": {"floor_share": 1.5}}, r"the floor share must be in \[0, 1\], got 1.5"),
        ({"model": {"sensitivity": math.nan}}, r"the sensitivity must be in \[0, 10\], got nan"),
        ({"model": {"sensitivity": 1e300}}, r"the sensitivity must be in \[0, 10\], got 1e\+300"),
        ({"limit": 0.0}, "kinds: the limit of the QoS degradation must be above 0, got 0"),
        ({"share": 2.0}, r"kinds: the share of jobs beyond the limit must be in \(0, 1\], got 2"),
    ],
)
def test_senseless_rules_are_refused(rules: dict[str, Any], said: str) -> None:
    """A rule that makes no sense is refused in one line."""
    with pytest.raises(InputError, match=said):
        find_kinds(log(same("a", None, 1, 5)), KindRules(**rules | {"model": CapModel(**rules.get("model", {}))}))


def test_a_log_without_names_on_a_real_machine(data_dir: Path) -> None:
    """Theta's log has no names: users and nodes make its kinds, rare ones pooled; the load of the log stays what it
    was.
    """
    trace = read_trace(data_dir / "swf/ALCF-Theta-2023H1_norm.swf.gz")
    found = find_kinds(trace, KindRules(least=20, model=CapModel(idle_w=110.0, draw_w=270.0)))
    jobs = found.trace.jobs
    assert 20 <= len(found.rows) <= 300
    assert max(kind.nodes for kind in found.kinds) <= 4392
    load = sum(k.arrival_per_s * k.nodes * k.work_s for k in found.kinds)
    assert load == pytest.approx(float(np.sum(jobs.nodes * jobs.work_s)) / jobs.span_s)
    assert len(jobs) + found.trace.count("dropped") == found.trace.records
