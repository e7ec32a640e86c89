"""An agent whose cap is kept by a BMC: no PID, no waiting, and the same promises as on packages."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_kit import World

from wattline.cli import call
from wattline.errors import InputError
from wattline.live.agent.beside import Beside
from wattline.live.agent.config import read_settings
from wattline.live.clock import Clock
from wattline.live.power.behind import AGAIN_S, Behind
from wattline.live.power.fakes.bmc import PASSWORD, USER, FakeBmc, FakeServer
from wattline.live.power.redfish.hardware import Redfish
from wattline.live.power.redfish.service import Bmc


class BmcWorld:
    """A node behind a BMC; the thread that asks it takes its turn every second, unless it is held up."""

    def __init__(self, world: Callable[..., World]) -> None:
        self.behind: Behind | None = None
        self.fake = FakeBmc(FakeServer(demand_w=300.0, lag_s=2.0, average_s=0.5))
        self.one = world(power=self._open)
        self.held_up = False

    def _open(self, _node: Any, clock: Clock) -> tuple[Behind, Beside]:
        self.fake.server.now = clock.now_s
        self.fake.server.__post_init__()
        bmc = Bmc(self.fake.url, user=USER, password=PASSWORD, timeout_s=5.0)
        self.bmc = bmc
        self.behind = Behind(Redfish(bmc, settle_s=0.2, rest=lambda _: None), clock, start=False)
        return self.behind, Beside()

    def run(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(round(seconds)):
            self.one.run(0.5)
            if not self.held_up and self.behind is not None:
                self.behind.turn()
            self.one.run(0.5)


@pytest.fixture
def node(world: Callable[..., World]) -> Iterator[BmcWorld]:
    """A node behind a BMC, closed after the test."""
    made = BmcWorld(world)
    yield made
    made.fake.server.faults = set()
    made.one.crash()
    made.fake.close()


def test_the_bmc_keeps_the_cap_of_the_server(node: BmcWorld) -> None:
    """The cap itself is the limit, in force at the BMC; the status tells it and the BMC's reading, which follows in
    seconds. No package is touched. ``off`` puts back what was found.
    """
    tree_w = node.one.limit_w()
    node.run(3)
    assert node.fake.server.limit_w == 180.0  # the safe cap
    node.one.cap(220.0, lease=60.0)
    node.run(15)
    last = node.one.last()
    assert (last["cap_w"], last["limit_w"], last["mode"], last["faults"]) == (220.0, 220.0, "led", [])
    assert last["w"] == pytest.approx(220.0, abs=2.0)
    assert last["cpu_w"] is None
    assert node.one.limit_w() == tree_w
    assert len(node.fake.changes) == 2
    node.one.send("wattline/s/off", {"kind": "off"})
    node.run(2)
    assert node.fake.server.limit_w is None
    assert node.one.last()["mode"] == "free"
    node.run(AGAIN_S + 5.0)
    assert node.fake.server.limit_w is None


def test_a_lease_that_ends_brings_the_safe_cap(node: BmcWorld) -> None:
    """Without a new cap the BMC is given the safe one within a turn of the thread."""
    node.one.cap(300.0, lease=3.0)
    node.run(2)
    assert node.fake.server.limit_w == 300.0
    node.run(3)
    assert node.fake.server.limit_w == 180.0
    assert node.one.last()["mode"] == "safe"


def test_an_agent_does_not_wait_for_its_bmc(node: BmcWorld) -> None:
    """While the BMC does not answer, statuses go on once a second, say that nothing is known, and the cap that came
    meanwhile is in force when it answers again.
    """
    node.run(3)
    node.held_up = True
    before = len(node.one.sent)
    node.one.cap(250.0, lease=60.0)
    node.run(15)
    assert len(node.one.sent) - before == 15
    assert node.one.last()["w"] is None
    assert "blind" in node.one.last()["faults"]
    assert "no-limit" in node.one.last()["faults"] or "clamped" in node.one.last()["faults"]
    node.held_up = False
    node.fake.server.faults, node.bmc.timeout_s = {"hang"}, 0.2
    node.run(2)
    assert "bmc-timeout" in node.one.last()["faults"]
    assert node.one.last()["limit_w"] is None
    node.fake.server.faults, node.bmc.timeout_s = set(), 5.0
    node.run(4)
    assert node.fake.server.limit_w == 250.0
    assert node.one.last()["limit_w"] == 250.0
    assert node.one.last()["w"] is not None


def test_a_cap_that_is_clamped_stays_told_and_is_not_hammered(node: BmcWorld) -> None:
    """The limit in force is told, with its word for as long as it lasts; it is written again after half a minute."""
    node.run(3)
    node.fake.server.faults, node.fake.server.clamp_w = {"clamp"}, 260.0
    node.one.cap(200.0, lease=200.0)
    before = len(node.fake.changes)
    node.run(20)
    assert node.one.last()["limit_w"] == 260.0
    assert "clamped" in node.one.last()["faults"]
    assert len(node.fake.changes) == before + 1
    node.fake.server.faults = set()
    node.one.cap(200.0, lease=200.0)
    node.run(AGAIN_S / 2.0)
    assert node.fake.server.limit_w == 200.0
    node.run(4)
    assert node.one.last()["faults"] == []


def test_a_limit_that_somebody_else_changes_is_put_right(node: BmcWorld) -> None:
    """An operator's limit at the BMC is overwritten at the next turn, and told."""
    node.one.cap(200.0, lease=60.0)
    node.run(3)
    node.fake.server.limit(500.0)
    node.run(2)
    assert node.fake.server.limit_w == 200.0
    assert "clamped" in node.one.last()["faults"]


def test_what_was_found_survives_a_crash(node: BmcWorld) -> None:
    """An agent that was killed leaves its limit; the next one knows what was there before and puts it back."""
    node.run(2)
    assert json.loads((node.one.folder / "run" / "n1.found.json").read_text())["found"] == {
        "redfish/limit_w": 800.0,
        "redfish/mode": 3.0,
    }
    node.one.crash()
    node.one.start()
    node.run(2)
    assert node.fake.server.limit_w == 180.0
    assert node.one.agent.end()
    assert node.fake.server.limit_w is None


def test_an_end_that_cannot_reach_the_bmc_says_so(node: BmcWorld) -> None:
    """What cannot be put back is told by the end, and stays on disk for the next agent."""
    node.run(2)
    node.fake.server.faults = {"error"}
    assert not node.one.agent.end()
    assert "restore-failed" in node.one.events()
    assert (node.one.folder / "run" / "n1.found.json").exists()


def test_a_bmc_that_shows_a_limit_late_is_not_said_to_clamp_it_twice(node: BmcWorld) -> None:
    """A limit that appears after it was given up on is in force, and not written again."""
    node.run(2)
    node.fake.server.shown_after_s = 1.0
    node.one.cap(220.0, lease=30.0)
    before = len(node.fake.changes)
    node.run(4)
    assert node.one.last()["limit_w"] == 220.0
    assert len(node.fake.changes) == before + 1


NODE = """site = "s"
run_dir = "run"
[node]
name = "n1"
hardware = "{kind}"
safe = "180 W"
min = "120 W"
max = "350 W"
"""
REDFISH = '[redfish]\nurl = "{url}"\nlogin = "{{node}}.login"\nevery = "0.4 s"\n'


def test_the_program_leads_a_node_through_its_bmc(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """``wattline agent`` needs no model and no PID for it: ``--check`` and ``meters`` tell what the BMC says and change
    nothing, a login that others can read is refused, SIGTERM puts back what was found.
    """
    path, login = tmp_path / "node.toml", tmp_path / "n1.login"
    with FakeBmc(FakeServer(demand_w=300.0, lag_s=0.2, limit_w=400.0), serves=("Power",)) as fake:
        path.write_text(NODE.format(kind="redfish") + REDFISH.format(url=fake.url))
        login.write_text(f"{USER}:{PASSWORD}\n")
        login.chmod(0o644)
        assert call(["agent", str(path), "--check"]) == 2
        refused = capfd.readouterr().err
        assert "others can read it (mode 644)" in refused
        assert refused.count("\n") == 1
        login.chmod(0o600)
        assert call(["agent", str(path), "--check"]) == 0
        check = capfd.readouterr().out
        assert "/redfish/v1/Chassis/1U/Power: the BMC keeps the cap of the whole server" in check
        assert "400 W now; the hardware takes 120 to 350 W" in check
        assert call(["meters", str(path), "--json"]) == 0
        told = json.loads(capfd.readouterr().out)["readings"][0]["power"]
        assert (told["server_w"], told["limit_w"]) == (300.0, 400.0)
        assert fake.changes == []
        process = subprocess.Popen([sys.executable, "-m", "wattline", "agent", str(path), "-q"])
        try:
            _until(lambda: fake.server.limit_w == 180.0)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        assert fake.server.limit_w == 400.0
        assert fake.sessions == {}


def _until(true: Callable[[], bool], longest_s: float = 30.0) -> None:
    end_s = time.monotonic() + longest_s
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("kind", "more", "told"),
    [
        ("redfish", "", '[redfish]: is missing, and hardware is "redfish"'),
        ("redfish", '[redfish]\nurl = "http://bmc-{node}"\nlogin = "l"', "would send the password unprotected"),
        ("redfish", '[redfish]\nurl = "bmc"\nlogin = "l"', "expected an address like https://bmc-n001"),
        ("redfish", '[redfish]\nurl = "https://bmc"\nlogin = "l"\nevery = "0 s"', "[redfish] every: must be 0.2 s"),
        ("redfish", '[redfish]\nurl = "https://b"\nlogin = "l"\nresource = "x"', "expected a path like /redfish/v1"),
        (
            "redfish",
            '[redfish]\nurl = "https://b"\nlogin = "l"\n[gpus]',
            "[gpus]: the limit and the reading of redfish",
        ),
        ("dcmi", "[dcmi]\ncommand = []", "[dcmi] command"),
        ("dcmi", '[meter]\nkind = "dcmi"', "a second one must be independent"),
        ("dcmi", '[meter]\nkind = "redfish"', "[meter.redfish]: is missing"),
        ("dcmi", '[meter]\nkind = "powercap"', "[model]: expected a profile"),
        ("dcmi", '[meter]\nkind = "pdu"', "[meter] kind: must be 'redfish', 'dcmi' or 'powercap'"),
        ("powercap", '[meter]\nkind = "powercap"\n[model]\nprofile = "gold-6132"', "must be independent"),
        ("powercap", '[meter]\nkind = "dcmi"\nshare = 1.5\n[model]\nprofile = "gold-6132"', "[meter] share"),
        ("powercap", "", "[model]: expected a profile"),
        ("ipmi", "", "hardware: must be 'powercap', 'redfish' or 'dcmi'"),
    ],
)
def test_hardware_that_does_not_go_together_is_one_line(tmp_path: Path, kind: str, more: str, told: str) -> None:
    """What is wrong is said with file and key."""
    path = tmp_path / "node.toml"
    path.write_text(NODE.format(kind=kind) + more + "\n")
    with pytest.raises(InputError) as found:
        read_settings(path)
    assert told in str(found.value)
    assert str(found.value).startswith(f"{path}: ")
    assert "\n" not in str(found.value)


def test_a_bmc_that_is_not_there_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An agent that cannot ask its BMC at the start ends with code 2 and one line, and leaves nothing behind."""
    path = tmp_path / "node.toml"
    path.write_text(NODE.format(kind="dcmi") + '[dcmi]\ncommand = ["./no-ipmitool"]\n')
    assert call(["agent", str(path)]) == 2
    told = capfd.readouterr().err
    assert "n1: ./no-ipmitool: cannot be run" in told
    assert told.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["node.toml"]
