"""A leader that is told to end while another stands by: the machine becomes his as it is. What metrics tell of both."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from live.faults.faulty import LIMIT_W, Faulty, busy
from live.faults.test_faults_site import Sites
from wattline.live.controller.leading.handover import Waiting
from wattline.live.controller.leading.lease import Lease
from wattline.live.controller.serve import stand_by
from wattline.live.watch.metrics import Prometheus
from wattline.live.watch.table import TABLE


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    """Return a busy world whose controllers share a folder."""
    world = Faulty()
    busy(world, 30, spread_s=20.0)
    world.machine.pass_time(0.0)
    return Sites(world, tmp_path)


def beside(sites: Sites, other: Lease, *, takes: bool = True) -> None:
    """Let another one stand by: whenever time passes it says so, and tries to lead."""
    waiting, rest = Waiting(sites.folder, "standby"), sites.clock.rest

    def both(seconds: float) -> None:
        rest(seconds)
        if not other.term:
            waiting.say()
            if takes:
                other.try_to_lead()

    sites.clock.rest = both


def modes(sites: Sites) -> set[str]:
    """Return how the nodes are led."""
    return {agent.lease.mode for agent in sites.world.staff.values()}


def test_who_stands_by_leads_on_without_a_moment_of_freedom(sites: Sites) -> None:
    """No node is free or safe, no stopped job is continued and the limit holds while the lease changes hands."""
    site, other = sites.site("one"), sites.lease("two")
    beside(sites, other)
    sites.serve(site, 20.0)
    assert sites.log.told("hands-over")
    assert (other.term, modes(sites)) == (2, {"led"})
    left_s = min(agent.lease.left_s(sites.world.now()) for agent in sites.world.staff.values())
    assert left_s >= 9.0  # of ten: caps were renewed at the last moment
    assert sites.world.most_w() <= LIMIT_W
    assert not sites.world.journal.log.problem  # type: ignore[union-attr]


def test_a_word_of_long_ago_is_no_standby(sites: Sites) -> None:
    """Where nobody says any more that he waits, nodes are let go as ever, two seconds later."""
    Waiting(sites.folder, "standby").say()
    site = sites.site("one")
    sites.serve(site, 20.0)
    sites.world.agents_turn()
    assert modes(sites) == {"free"}
    assert not sites.log.told("hands-over")


def test_where_nobody_takes_the_lease_it_is_let_go_after_all(sites: Sites) -> None:
    """One who says that he waits and does not take over leaves the machine with the old leader, who lets it go."""
    site, other = sites.site("one"), sites.lease("two")
    beside(sites, other, takes=False)
    sites.serve(site, 20.0)
    sites.world.agents_turn()
    assert sites.log.told("nobody-took-over")
    assert modes(sites) == {"free"}


def test_off_is_no_reason_to_hand_over(sites: Sites) -> None:
    """Where somebody said off nobody shall lead."""
    site, other = sites.site("one"), sites.lease("two")
    site.off = lambda: True
    beside(sites, other, takes=False)
    sites.serve(site, 20.0)
    sites.world.agents_turn()
    assert modes(sites) == {"free"}


def test_who_stands_by_says_so_while_it_waits(sites: Sites) -> None:
    """Its word rises with every turn and is gone when it waits no more; its metrics say that another one leads."""
    leader, other = sites.lease("one"), sites.lease("two")
    assert leader.try_to_lead()
    said: list[str] = []
    metrics = Prometheus("controller")

    def look(_: float) -> None:
        sites.world.hand.at_s += 0.5
        leader.renew()
        said.append((sites.folder / "waits-two").read_text())

    sites.clock.rest = look
    assert not stand_by(other, sites.clock, lambda: len(said) == 3, sites.log, Waiting(sites.folder, "two"), metrics)
    assert said == ["1\n", "2\n", "3\n"]
    assert not (sites.folder / "waits-two").exists()
    text = metrics.text().decode()
    assert "wattline_leader 0.0" in text
    assert "wattline_lease_term 1.0" in text
    assert "wattline_measured_power_watts NaN" in text
    metrics.close()


class Told(Prometheus):
    """Metrics that remember which of them were set."""

    def __init__(self) -> None:
        self.named: set[str] = set()
        super().__init__("controller")

    def _one(self, name: str, kind: str, word: str) -> Any:
        self.named.add(name)
        return super()._one(name, kind, word)

    def totals(self, name: str, counts: dict[str, int]) -> None:
        """Note it, also where nothing was counted yet."""
        self.named.add(name)
        super().totals(name, counts)

    def value(self, name: str) -> float:
        """Return the value of a metric without a label."""
        lines = [line for line in self.text().decode().splitlines() if line.split(" ")[0] == name]
        return float(lines[0].split(" ")[1])


def test_every_metric_of_the_page_is_set_in_a_short_run(sites: Sites) -> None:
    """Whatever the reference page lists for a controller is told, and what is told is so: committed power is the
    modelled and that of jobs on their way, refused caps are those of nodes that say so, bytes are those of the log.
    """
    site, told = sites.site("one"), Told()
    site.metrics = told
    committed: list[tuple[float, float, int]] = []
    publish = site._publish

    def look(tick: Any) -> None:
        publish(tick)
        caps, state = site.controller.caps, site.controller.ledger.state
        committed.append((caps.modelled_w, caps.committed_w, int(state.n_starting[0])))

    site._publish = look  # type: ignore[method-assign]
    sites.serve(site, 20.0)
    assert told.named == {metric.name for metric in TABLE if "controller" in metric.who}
    assert any(starting for *_, starting in committed)
    for modelled_w, committed_w, starting in committed:
        assert (committed_w > modelled_w + 1.0) if starting else math.isclose(committed_w, modelled_w)
    assert told.value("wattline_caps_refused_total") == 0.0
    assert told.value("wattline_passes_late_total") == 0.0
    written = sum(path.stat().st_size for path in (sites.folder / "facts").iterdir())
    assert 0 < told.value("wattline_journal_written_bytes_total") <= written
    assert told.value("wattline_journal_fsync_seconds_count") > 0
    told.close()


def test_caps_that_are_refused_and_passes_that_are_late_are_counted(sites: Sites) -> None:
    """A node whose agent says that it could not write its limit counts with every cap, the others with none; a pass
    that takes two seconds leaves the eight out that were due meanwhile.
    """
    site, told = sites.site("one"), Told()
    site.metrics = told
    world, slow = sites.world, [True]
    world.staff[world.machine.names[0]].faults.append("write-refused")
    tick = site._tick

    def late(one: Any) -> None:
        tick(one)
        if slow and world.at() > 10.0:
            slow.pop()
            world.step(2.0)

    site._tick = late  # type: ignore[method-assign]
    sites.serve(site, 20.0)
    assert 2 <= told.value("wattline_caps_refused_total") <= told.value("wattline_caps_sent_total") / 3
    assert told.value("wattline_passes_late_total") in (7.0, 8.0)
    told.close()
