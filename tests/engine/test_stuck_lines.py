"""Runs that cannot go on say in one line whose fault it is: the select policy's, the place policy's, or the limit's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.worlds import cluster, run, table
from wattline.errors import PolicyError, StuckError
from wattline.model.mechanism import policy
from wattline.testing import check_policy
from wattline.wiring.options import Options

HOUR = 3600
ROWS = [{"submit": 100 + HOUR * t, "work": 10, "nodes": 2} for t in range(30)]


@policy("select")
def wide(s, arg, param, memory):
    """Propose the first job on one node too many."""
    j = s.queue[s.q_head[0]]
    s.p_job[0], s.p_nodes[0] = j, s.nodes[j] + 1
    return 1


@policy("select")
def lazy(s, arg, param, memory):
    """Start nobody."""
    return 0


@policy("place")
def nowhere(s, arg, param, memory):
    """Give no node."""
    return 0


@policy("select")
def enormous(s, arg, param, memory):
    """Return a number that no machine word holds."""
    return 2**70


@policy("select", solo_caps=True)
def first_capped(s, arg, param, memory):
    """Start the first job at 150 W a node and say nothing about caps of the others."""
    j = s.queue[s.q_head[0]]
    s.p_job[0], s.p_nodes[0] = j, s.nodes[j]
    if s.now[0] == 0:
        s.p_cap_w[0] = 150.0
    return int(s.nodes[j] <= s.free[0])


def stuck(**slots: Any) -> str:
    """Return what a run that gets stuck says."""
    with pytest.raises(StuckError) as caught:
        run(table(*ROWS), cluster(4), **slots)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_most_frequent_verdict_is_named() -> None:
    """The line says why most proposals were refused, and when, as a time since the start."""
    text = stuck(select=wide)
    assert text.startswith("1 d 5 h after the start 30 jobs wait")
    with pytest.raises(StuckError, match="after the start 1 job waits, nothing runs"):
        run(table(ROWS[0]), cluster(4), select=lazy)
    assert "select policy 'wide' does not start job 1" in text
    assert "30 proposals were refused, mostly: not the job's shape" in text


def test_the_place_policy_is_blamed_for_its_places() -> None:
    """A place policy that gives no nodes is named, and the select policy is not."""
    text = stuck(place=nowhere)
    assert "place policy 'nowhere' does not find job 1 its nodes (2 nodes; 4 are free" in text
    assert "select" not in text


def test_a_limit_that_stays_too_low_is_named() -> None:
    """A job that an earlier limit allowed and the last one never will: the line gives both powers and since when."""
    options = Options(limit_w=[(0.0, 2000.0), (86500.0, 700.0)])
    with pytest.raises(StuckError, match=r"job 25 needs 800 W, the limit stays at 700 W from 1 d after the start on"):
        run(table(*ROWS), cluster(4), options=options)


def test_a_number_beyond_64_bits_is_refused() -> None:
    """A policy that returns more than a machine word holds is told in one line, not as an internal error."""
    with pytest.raises(PolicyError, match=r"test_stuck_lines\.py:\d+: policy 'enormous' must return an int of 64 bits"):
        run(table(*ROWS), cluster(4), select=enormous)


def test_a_cap_is_proposed_once() -> None:
    """A proposal that says nothing about a cap has none, whatever stood in its row before."""
    rows = [{"submit": t, "work": 10, "nodes": 1, "floor_w": 150.0, "stretch": 2.0} for t in (0, 5)]
    result = run(table(*rows), cluster(2, min_cap_w=150.0), select=first_capped)
    assert result.state.end_s.tolist() == [20.0, 15.0]
    assert result.logs["a_cap_w"].tolist() == [150.0, np.inf]


def test_being_stuck_is_no_fault_of_indices() -> None:
    """The conformance suite reports a policy that starts nobody under the checks it fails, not under *indices*."""
    rows = {row.check: row for row in check_policy(lazy).rows}
    assert rows["indices"].passed
    assert not rows["one-node"].passed
    assert "does not start job" in rows["one-node"].detail


def test_ticks_in_which_nothing_happens_are_no_time() -> None:
    """A run that samples power notices only after many samples that it is stuck; the line tells when that began."""
    options = Options(limit_w=[(0.0, 700.0)])
    with pytest.raises(StuckError, match=r"^1 d 5 h after the start 30 jobs wait, nothing runs"):
        run(table(*ROWS), cluster(4), options=options, profile="t-test")


@pytest.mark.parametrize("more", [{}, {"timeline": False}, {"tick_s": 1.0, "quantum": True}, {"shed": True}])
def test_noise_is_nothing_that_happens(more: dict[str, Any]) -> None:
    """A run whose power deviates is stuck when it would be without that, and the line tells the same time."""
    rows = [{"submit": t, "work": 100, "nodes": 4} for t in (0, 10)]
    limit = [(0.0, np.inf), (50.0, 1300.0), (60.0, 1000.0 if "shed" not in more else 1300.0)]
    if "shed" in more:
        rows[1]["draw"] = 400.0
    said = []
    for noise in (0.0, 0.02):
        options = Options(limit_w=limit, noise=noise, noise_every_s=0.7, until_s=1e6, **more)
        with pytest.raises(StuckError) as caught:
            run(table(*rows), cluster(4), options=options)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert said[0].startswith("1 min 40 s after the start 1 job waits, nothing runs and nothing is left to happen")
