"""What a scenario says is what is run: units, defaults, variants, seeds, hashes."""

from __future__ import annotations

import math
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.journal.journal import open_journal
from wattline.report.count.metrics import summarize
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.read.toml_text import to_toml

BASE = """\
[trace]
generator = "lublin"
jobs = 200
load = 0.8
[cluster]
nodes = 64
"""


@pytest.fixture
def study(tmp_path: Path) -> Any:
    """Return a function that wires a scenario text."""

    def make(text: str, *overrides: str) -> Study:
        (tmp_path / "s.toml").write_text(text)
        return wire(variants(read_scenario(tmp_path / "s.toml", overrides))[0])

    return make


def test_units_become_si(study: Any) -> None:
    """Human quantities arrive as watts and seconds; times count from the first submission."""
    found = study(
        BASE
        + """
idle = "90 W"
max = "0.35 kW"
min_cap = "150 W"
sleep = {power = "9 W", after = "10 min", entry = "30 s", exit = "2 min"}
[[cluster.outage]]
start = "1 h"
end = "2 h"
nodes = ["0-3", "8"]
drain = true
[run]
tick = "1 min"
until = "2 d"
[limit]
steps = [["0 s", "20 kW"], ["1 h", "off"]]
"""
    )
    start_s = found.trace.jobs.submit_s[0]
    node = found.cluster.classes[0]
    assert (node.idle_w, node.max_w, node.min_cap_w) == (90.0, 350.0, 150.0)
    assert (node.sleep.power_w, node.sleep.after_s, node.sleep.entry_s, node.sleep.exit_s) == (9.0, 600.0, 30.0, 120.0)
    assert [(o.start_s - start_s, o.end_s - start_s, o.first, o.count, o.drain) for o in found.cluster.outages] == [
        (3600.0, 7200.0, 0, 4, True),
        (3600.0, 7200.0, 8, 1, True),
    ]
    assert found.options.tick_s == 60.0
    assert found.options.until_s == start_s + 172800.0
    assert found.options.limit_w == ((start_s, 20e3), (start_s + 3600.0, math.inf))


def test_a_limit_may_come_into_force_later(study: Any) -> None:
    """``warmup`` delays a constant limit; ``off`` is no limit."""
    found = study(BASE + '[limit]\npower = "20 kW"\nwarmup = "1 h"\n')
    assert found.options.limit_w == ((found.trace.jobs.submit_s[0] + 3600.0, 20e3),)
    assert study(BASE + '[limit]\npower = "off"\n').options.limit_w == ()


def test_a_limit_repeats_when_asked(study: Any) -> None:
    """``repeat`` begins the steps anew until twice the trace's span has passed; without it the last step stays."""
    steps = '[limit]\nsteps = [["0 s", "20 kW"], ["8 h", "off"]]\n'
    once, daily = study(BASE + steps), study(BASE + steps + 'repeat = "1 d"\n')
    start_s, span_s = once.trace.jobs.submit_s[0], once.trace.jobs.span_s
    assert len(once.options.limit_w) == 2
    found = [(time_s - start_s, watts) for time_s, watts in daily.options.limit_w]
    assert found[:4] == [(0.0, 20e3), (28800.0, math.inf), (86400.0, 20e3), (115200.0, math.inf)]
    assert found[-2][0] >= 2 * span_s - 86400.0


@pytest.mark.parametrize("budgets", [False, True])
def test_a_run_that_outlasts_the_repeated_limit_says_so(study: Any, tmp_path: Path, *, budgets: bool) -> None:
    """Nobody asked for the limit that stays then; a run that ends before has nothing to say."""
    steps = 'steps = [["0 s", "20 kW"], ["20 min", "21 kW"]]\nrepeat = "1 h"\n'
    where = '[[budget]]\nname = "site"\nsystem = true\n' if budgets else "[limit]\n"

    def doubts(load: float) -> tuple[str, ...]:
        found = study(BASE + where + steps, f"trace.load={load}")
        found.write(found.simulate(), tmp_path / str(load))
        return summarize(open_journal(tmp_path / str(load))).doubts

    assert doubts(0.8) == ()
    (line,) = doubts(50)
    assert line.startswith("THE LIMIT STOPPED REPEATING after ")


@pytest.mark.parametrize("file", [False, True])
def test_a_limit_that_never_begins_is_told(study: Any, tmp_path: Path, *, file: bool) -> None:
    """Unix times in its file, say: nobody would notice that the run had no limit."""
    (tmp_path / "limit.csv").write_text("time_s,limit_w\n1656633600,20000\n")

    def doubts(steps: str) -> tuple[str, ...]:
        found = study(BASE + "[limit]\n" + steps)
        found.write(found.simulate(), tmp_path / str(len(steps)))
        return summarize(open_journal(tmp_path / str(len(steps)))).doubts

    never = f'file = "{tmp_path}/limit.csv"\n' if file else 'steps = [["19000 d", "20 kW"]]\n'
    (line,) = doubts(never)
    assert re.match("POWER WAS NEVER LIMITED: the limit begins [0-9]+ d into a run of ", line)
    assert doubts('steps = [["10 min", "20 kW"]]\n') == ()


def test_a_run_that_outlasts_random_failures_says_so(study: Any, tmp_path: Path) -> None:
    """Nodes that never fail in the last half of a run make it look better than it is."""
    failures = '[cluster.failures]\nmtbf = "2000 h"\nrepair = "10 min"\n'

    def doubts(load: float) -> tuple[str, ...]:
        found = study(BASE + failures, f"trace.load={load}")
        found.write(found.simulate(), tmp_path / str(load))
        return summarize(open_journal(tmp_path / str(load))).doubts

    assert doubts(0.8) == ()
    (line,) = doubts(50)
    assert line.startswith("NODES STOPPED FAILING after ")


def test_the_same_content_has_the_same_hash(study: Any) -> None:
    """Units, order of keys, comments and where results go do not change the hash; what is run does."""
    first = study(BASE + 'idle = "0.1 kW"\n')
    same = study(
        "[cluster]\nidle = 100   # watts\nnodes = "
        "64\n[trace]\nload=0.8\njobs=200\ngenerator='lublin'\n[output]\nfolder='x'\n"
    )
    other = study(BASE + 'idle = "0.2 kW"\n')
    assert first.scenario_sha256 == same.scenario_sha256
    assert first.scenario_sha256 != other.scenario_sha256


def test_lists_of_policies_are_combined(tmp_path: Path) -> None:
    """Each combination of listed policies is a variant, labelled by what differs."""
    (tmp_path / "s.toml").write_text(
        BASE + '[policy]\norder = ["fcfs", {name = "shortest", truth = 1}]\nselect = ["easy", "in-order"]\n'
    )
    found = variants(read_scenario(tmp_path / "s.toml"))
    assert [v.label for v in found] == [
        "fcfs, easy",
        "fcfs, in-order",
        "shortest (truth = 1), easy",
        "shortest (truth = 1), in-order",
    ]
    last = wire(found[-1])
    assert last.policies.select.name == "in-order"
    assert last.policies.params["order"] == {"truth": 1}
    assert tomllib.loads(last.scenario)["policy"] == {"order": {"name": "shortest", "truth": 1}, "select": "in-order"}


def test_a_policy_is_found_beside_the_scenario(study: Any, tmp_path: Path) -> None:
    """A path is relative to the scenario file, not to where one stands."""
    (tmp_path / "mine.py").write_text(
        "from wattline import policy\n\n@policy(slot='order')\ndef mine(s, arg, param, memory):\n    return 0\n"
    )
    assert study(BASE + '[policy]\norder = "mine.py"\n').policies.order.name == "mine"


def test_seeds_draw_jobs_and_failures_anew(study: Any, tmp_path: Path) -> None:
    """The scenario's seed drives generator and failures, unless they have seeds of their own."""
    text = BASE + '[cluster.failures]\nmtbf = "2 d"\nrepair = "1 h"\n'
    one, again, two = study(text), study(text), study(text, "seed=2")
    assert one.cluster.outages == again.cluster.outages
    assert len(one.cluster.outages) > 5
    assert one.cluster.outages != two.cluster.outages
    assert not np.array_equal(one.trace.jobs.work_s, two.trace.jobs.work_s)
    fixed = study(text, "seed=2", "trace.seed=1", "cluster.failures.seed=1")
    assert np.array_equal(one.trace.jobs.work_s, fixed.trace.jobs.work_s)
    assert one.cluster.outages == fixed.cluster.outages


def test_failures_come_as_often_as_they_should(study: Any) -> None:
    """A node fails once in mtbf + repair on average, and never twice at a time."""
    found = study(BASE + '[cluster.failures]\nmtbf = "9 h"\nrepair = "1 h"\n')
    jobs, outages = found.trace.jobs, found.cluster.outages
    span_s = 2 * jobs.span_s + jobs.work_s.max()
    assert len(outages) == pytest.approx(64 * span_s / 36000.0, rel=0.1)
    for node in range(64):
        mine = [o for o in outages if o.first == node]
        assert all(a.end_s <= b.start_s for a, b in pairwise(mine))


def test_generated_types_go_to_their_node_class(study: Any) -> None:
    """A type's ``class`` is the partition of its jobs, and users belong to types."""
    found = study("""
[trace]
generator = "poisson"
rate = "60/h"
users = 3
type = [{name = "a", nodes = 1, mean = "1 h", class = "gpu"}, {name = "b", nodes = 2, mean = "1 h", power = "200 W"}]
[[cluster.class]]
name = "cpu"
count = 8
[[cluster.class]]
name = "gpu"
count = 4
""")
    jobs = found.trace.jobs
    assert {jobs.partitions[p] if p >= 0 else "" for p in jobs.partition[jobs.kind == 0]} == {"gpu"}
    assert set(jobs.partition[jobs.kind == 1]) == {-1}
    assert set(jobs.draw_w[jobs.kind == 1]) == {200.0}
    assert {jobs.users[u][0] for u in jobs.user[jobs.kind == 1]} == {"b"}
    assert len(set(jobs.user)) == 6


def test_a_file_can_be_cut_and_scaled(study: Any, tmp_path: Path) -> None:
    """``jobs`` keeps the first ones, ``load`` scales the gaps; both are noted."""
    lines = [f"{i} {i * 60} -1 600 4 -1 -1 4 900 -1 1 1 1 -1 -1 -1 -1 -1" for i in range(1, 102)]
    (tmp_path / "t.swf").write_text("\n".join(lines))
    found = study('[trace]\nfile = "t.swf"\njobs = 51\nload = 0.5\n[cluster]\nnodes = 64\n')
    jobs = found.trace.jobs
    assert len(jobs) == 51
    assert float(np.sum(jobs.nodes * jobs.work_s)) / (jobs.span_s * 64) == pytest.approx(0.5)
    assert [(n.action, n.count) for n in found.trace.notes] == [("dropped", 50), ("repaired", 51)]
    assert len(found.trace_sha256) == 64


_plain = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8", exclude_characters="\r")),
)
_data = st.recursive(
    st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=0), _plain, max_size=4),
    lambda inner: st.dictionaries(
        st.text(max_size=3),
        st.one_of(_plain, inner, st.lists(inner, max_size=3), st.lists(_plain, max_size=3)),
        max_size=4,
    ),
    max_leaves=12,
)


@given(_data)
def test_written_toml_reads_back(data: dict[str, Any]) -> None:
    """What is written as TOML reads back as the same data."""
    assert tomllib.loads(to_toml(data)) == data
