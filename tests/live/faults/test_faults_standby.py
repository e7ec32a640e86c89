"""Two controllers of one site as real processes: one leads, the other stands by; and a dry run beside them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from live.faults.rig import LEASE_S, NODES, SPEED, Rig, led_machine, listening
from wattline.api.controlling import LEAST_LEASE_S
from wattline.cli.complaints import LEASE_LOST
from wattline.errors import InputError
from wattline.live.controller.journal.replay import replay
from wattline.live.controller.journal.setup import rebuild
from wattline.live.watch.socket import fetch

MARGIN_S = 1.0
OPENS_S = 8.0
"""Seconds that a controller on a busy computer takes from its lease to its first caps: it reads its log again."""


def leads_after(rig: Rig, reigns: int) -> float:
    """Return how many seconds it took until another one leads all nodes."""
    return rig.until(lambda: rig.log().count('"leads"') == reigns and rig.led(), 40.0, "the one that stands by")


def led_as_seen(path: Path) -> int:
    """Return how many nodes are led, as a controller shows it (0: it shows nothing yet)."""
    try:
        return fetch(path).nodes["led"]
    except InputError:
        return 0


def terms(rig: Rig, resumed: tuple[float, float]) -> list[list[int]]:
    """Return the terms under which each node was led, in order.

    A cap of an old term was refused only while the stopped leader was awake again, and once at most: it was on its way
    when its sender was stopped.
    """
    found: dict[str, list[int]] = {}
    refused: list[str] = []
    for path in rig.layout.agent_files:
        for line in path.with_suffix(".out").read_text().splitlines():
            words = json.loads(line) if line.startswith("{") else {}
            if words.get("event") == "led":
                found.setdefault(words["node"], []).append(words["term"])
            if words.get("fault") == "cap-old-term":
                refused.append(words["node"])
                assert resumed[0] <= words["at"] <= resumed[1], line
    assert len(found) == NODES
    assert len(refused) == len(set(refused))
    return list(found.values())


def said_by_agents(rig: Rig) -> set[str]:
    """Return all events that agents have logged."""
    lines = [line for path in rig.layout.agent_files for line in path.with_suffix(".out").read_text().splitlines()]
    return {json.loads(line).get("event", "") for line in lines if line.startswith("{")}


def test_a_leader_that_is_stopped_or_killed_is_replaced(tmp_path: Path) -> None:
    """A leader that is stopped (SIGSTOP), and one that is killed (-9), is replaced within lease, margin and the time to
    open; the stopped one goes on, finds that it leads no more and ends with exit code 4, and no cap of it counts. One
    that is told to end (SIGTERM) hands over: no node is let go. A dry run beside the leader hears all nodes, says what
    it would do, listens nowhere and takes no lease.
    """
    with led_machine(tmp_path, standby=True) as rig:
        first = rig.processes.running["controller"]
        rig.start("standby")
        rig.start("dry-run")
        rig.until(lambda: "stands-by" in rig.log(), 40.0, "the one that stands by")
        assert listening(rig.processes.running["standby"].pid) == set()
        seen = tmp_path / "status-dry-run.sock"
        rig.until(lambda: led_as_seen(seen) == NODES, 40.0, "the dry run")
        rig.submit(8, 25.0)
        said = tmp_path / "controller-dry-run.log"
        rig.until(lambda: '"would"' in said.read_text(), 10.0, "what the dry run would do")
        document = fetch(seen)
        assert (document.role, document.term, document.power.measured_w > 0.0) == ("dry-run", 0, True)
        assert listening(rig.processes.running["dry-run"].pid) == set()
        assert ('"looks-on"' in said.read_text(), '"leads"' in said.read_text()) == (True, False)
        assert fetch(tmp_path / "status.sock").term == 1

        rig.until(rig.underway, 10.0, "the first job")
        first.send_signal(signal.SIGSTOP)
        try:
            took_s = leads_after(rig, 2)
            assert took_s <= LEAST_LEASE_S + MARGIN_S + OPENS_S
            assert rig.processes.running.pop("controller").poll() is None
        finally:
            resumed_s = rig.clock.now_s()
            first.send_signal(signal.SIGCONT)
        assert first.wait(10.0) == LEASE_LOST
        awake = (resumed_s, rig.clock.now_s() + MARGIN_S * SPEED)
        assert rig.log().count("lease-lost") == 1
        assert rig.led()

        rig.start("controller")
        rig.until(lambda: rig.log().count("stands-by") == 2, 40.0, "the one that stands by")
        rig.kill("standby")
        assert leads_after(rig, 3) <= LEAST_LEASE_S + MARGIN_S + OPENS_S

        rig.start("standby")
        rig.until(lambda: rig.log().count("stands-by") == 3, 40.0, "the one that stands by")
        told = rig.processes.running.pop("controller")
        told.send_signal(signal.SIGTERM)
        assert leads_after(rig, 4) <= LEASE_S + OPENS_S
        assert told.wait(10.0) == 0
        assert "hands-over" in rig.log()
        assert said_by_agents(rig).isdisjoint({"off", "restored"})

        rig.until(lambda: all(rig.phases().get(job) == "ended" for job in rig.jobs), 60.0, "the jobs")
        rig.processes.stop("dry-run")
        rig.processes.stop("standby")
        assert "off" in said_by_agents(rig)
        assert set(rig.released().values()) == {1}  # the last tick before a kill may be missing
        found = replay(tmp_path / "journal", rebuild)
        assert found.identical, found.difference
        assert (found.starts, found.ended) == (4, True)
        for reigns in terms(rig, awake):
            assert reigns == sorted(reigns)
            assert set(reigns) <= {1, 2, 3, 4}
            assert reigns[-1] in (3, 4)  # led on, there is no line
    assert rig.processes.left == []
