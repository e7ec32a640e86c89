"""A whole emulated machine of real processes: each is killed, stopped or switched off in turn while jobs run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from live.faults.rig import LEASE_S, LIMIT_W, START_S, Rig, led_machine, listening
from wattline.api.controlling import LEAST_LEASE_S
from wattline.demo.run import _caps_left
from wattline.live.controller.journal.replay import replay
from wattline.live.controller.journal.setup import rebuild


def off(rig: Rig) -> list[str]:
    """Say ``wattline off``; return what it says."""
    words = [sys.executable, "-m", "wattline", "off", str(rig.base / "site.toml")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Start the processes, once for all tests."""
    with led_machine(tmp_path_factory.mktemp("rig")) as made:
        yield made


@pytest.fixture
def rig(machine: Rig) -> Rig:
    """Return a machine that is led and has no jobs, whatever the test before, or one that is tried again, left."""
    machine.settle()
    return machine


def test_processes_are_killed_one_after_another(rig: Rig) -> None:
    """Controller, an agent's process and the launcher, each killed (-9) and restarted while jobs run: all nodes are led
    again within a lease and the time that it takes to start, every job is told to start once and ends, power stays
    under the limit but for 3 %, ``wattline off`` ends the controller and leaves no limit behind, the run is replayed
    identically, and nothing listens beyond loopback.
    """
    for name, process in rig.processes.running.items():
        assert listening(process.pid) <= {"0100007F", "00000000000000000000000001000000"}, name
    assert listening(rig.processes.running["controller"].pid)
    reigns = rig.log().count('"leads"')
    rig.submit(10, 25.0)
    rig.until(rig.underway, 10.0, "the first job")
    rig.kill("controller")
    rig.start("controller")
    took_s = rig.until(lambda: rig.log().count('"leads"') == reigns + 1 and rig.led(), 40.0, "the second controller")
    rig.kill("agents-01")
    rig.start("agents-01")
    rig.until(lambda: (rig.base / "agents-01.out").read_text().count('"led"') >= 3, LEASE_S + 5.0, "the agents")
    rig.until(rig.led, LEASE_S + 5.0, "all nodes")
    rig.kill("launcher")
    time.sleep(0.5)
    rig.start("launcher")
    rig.until(rig.layout.jobs.answers, 10.0, "the launcher")
    rig.until(lambda: all(rig.phases().get(job) == "ended" for job in rig.jobs), 60.0, "the jobs")
    assert took_s <= LEASE_S + START_S
    assert max(rig.powers()) <= 1.03 * LIMIT_W
    said = off(rig)
    assert said[0].endswith("has ended and let the machine go")
    assert said[1:] == ["released: 6 nodes, which have put back what they found"]
    assert rig.processes.running.pop("controller").wait(20.0) == 0
    assert _caps_left(rig.layout) == []
    released = rig.released()
    assert {job: released[job] for job in rig.jobs} == dict.fromkeys(rig.jobs, 1)
    found = replay(rig.base / "journal", rebuild)
    assert found.identical, found.difference
    assert (found.starts, found.ended) == (reigns + 1, True)


def test_off_does_the_work_itself_and_a_launcher_that_hangs_ends_no_reign(rig: Rig) -> None:
    """A launcher that hangs for longer than the controller's lease does not end its reign; after kill -9 of the
    controller, off lets the machine go by itself. No job is left stopped, no limit is left behind.
    """
    rig.submit(6, 30.0)
    rig.until(lambda: "running" in rig.phases().values(), 10.0, "the first job")
    hung = rig.processes.running["launcher"]
    hung.send_signal(signal.SIGSTOP)
    time.sleep(LEAST_LEASE_S + 0.5)
    hung.send_signal(signal.SIGCONT)
    rig.until(rig.led, LEASE_S + 5.0, "all nodes")
    assert "lease-lost" not in rig.log()
    assert "does not answer" in rig.log() or "no answer" in rig.log()
    rig.kill("controller")
    assert "released: 6 nodes, which have put back what they found" in off(rig)
    rig.until(lambda: not _caps_left(rig.layout), 5.0, "the limits")
    assert "paused" not in rig.phases().values()


def test_off_ends_a_controller_that_hangs(rig: Rig) -> None:
    """A controller that is stopped keeps the address at which agents wait: off takes its lease, ends its process, and
    lets the machine go. No limit is left behind.
    """
    hung = rig.processes.running.pop("controller")
    hung.send_signal(signal.SIGSTOP)
    try:
        said = off(rig)
        assert hung.wait(5.0) == -signal.SIGKILL
    finally:
        hung.kill()
        hung.wait()
    assert f"process {hung.pid} hung and was ended" in said
    assert "released: 6 nodes, which have put back what they found" in said
    rig.until(lambda: not _caps_left(rig.layout), 5.0, "the limits")
    rig.start("controller")  # as a unit of systemd does with what was killed
    assert rig.processes.running.pop("controller").wait(START_S) == 0
    assert '"stays-ended"' in rig.log()
    assert not _caps_left(rig.layout)
    rig.start("controller")  # as somebody does who wants it to lead
    rig.until(rig.led, 60.0, "the controller")
