"""Faults of sensors, limits, clocks and the bus: what the agent does about each, and that it says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_kit import T0, World

from wattline.errors import InputError
from wattline.live.agent.node import OLD_S
from wattline.live.power.server.model import PROFILES

Make = Callable[..., World]
SAFE_CPU_W = PROFILES["gold-6132"].cpu_w(180.0, 12.0)


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("stick", "sensor-stuck"),
        ("nothing", "sensor-garbage"),
        ("garbage", "sensor-garbage"),
        ("backwards", "sensor-backwards"),
    ],
)
def test_without_a_sensor_the_cap_is_kept_by_the_model(world: Make, fault: str, word: str) -> None:
    """While a sensor is faulty no watts are told, the fault is, and the server stays within 2 % of its cap (5 % in the
    first five periods, since a counter that stops shows a last low power); a cap that falls meanwhile is followed.
    """
    w = world()
    w.plant.busy("n1", 320.0, 120.0)
    w.cap(260.0, lease=30.0)
    w.run(6.0)
    w.plant.fault("n1", fault)
    faults = set()
    for i in range(40):
        w.run(0.5)
        faults |= set(w.last()["faults"])
        assert w.server_w() <= 260.0 * (1.05 if i < 10 else 1.02)
        w.cap(260.0, lease=30.0)
    assert word in faults
    assert w.agent.problems()[word] >= 1
    if fault != "backwards":
        assert w.last()["w"] is None
        assert w.last()["age"] > OLD_S
        assert "blind" in w.last()["faults"]
        w.cap(200.0, lease=30.0)
        w.run(3.0)
        assert w.server_w() <= 200.0 * 1.02
        w.plant.fault("n1")
        w.run(9.0)
    assert w.last()["faults"] == []
    assert w.last()["w"] == pytest.approx(w.server_w(), abs=2.0)


def test_a_wrap_is_no_fault(world: Make) -> None:
    """Counters that wrap around are no fault, and no status tells a wrong power."""
    w = world()
    w.plant.busy("n1", 300.0, 120.0)
    w.plant.wrap_soon("n1", 600.0)
    w.plant.step(w.clock.at_s)
    w.agent.end()
    w.start()
    w.cap(250.0, lease=30.0)
    w.run(4.0)
    before = len(w.sent)
    w.run(12.0)
    assert int((w.folder / "n1" / "intel-rapl:0" / "energy_uj").read_text()) < 1e9
    assert all(m["faults"] == [] and abs(m["w"] - 250.0) < 2.0 for m in w.sent[before:])


@pytest.mark.parametrize(
    ("fault", "words", "limit_w"),
    [("refuse", {"clamped"}, 410.0), ("clamp", {"clamped"}, 240.0), ("disable", {"disabled", "no-limit"}, None)],
)
def test_limits_that_are_not_taken_are_told(world: Make, fault: str, words: set[str], limit_w: float | None) -> None:
    """Where the hardware refuses, clamps or switches limits off, the status has the limit that is really in force, and
    the agent goes on trying.
    """
    w = world()
    w.agent.end()
    w.plant.fault("n1", fault, clamp_w=240.0)
    w.start()
    w.run(4.0)
    assert words <= set(w.last()["faults"])
    assert w.last()["limit_w"] == limit_w
    assert w.last()["cap_w"] == 180.0
    w.plant.fault("n1")
    w.run(6.0)
    assert w.last()["faults"] == []
    assert w.limit_w() == pytest.approx(SAFE_CPU_W, abs=3.0)


def test_a_refusing_limit_does_not_wind_the_pid_up(world: Make) -> None:
    """After minutes above its cap with a limit that does not obey, a node is at its cap within 3 s once it does, and
    never far below.
    """
    w = world()
    w.plant.busy("n1", 300.0, 120.0)
    w.plant.fault("n1", "refuse")
    w.plant.step(w.clock.at_s)
    for path in w.folder.glob("n1/intel-rapl/intel-rapl:?/constraint_0_power_limit_uw"):
        path.write_text("205000000\n")  # what it refuses to leave
    w.plant.fault("n1", "refuse")
    for _ in range(30):
        w.cap(250.0)
        w.run(4.0)
    assert w.server_w() == pytest.approx(300.0, abs=1.0)
    w.plant.fault("n1")
    drawn = []
    for _ in range(10):
        w.cap(250.0)
        w.run(1.0)
        drawn.append(w.server_w())
    assert max(drawn[2:]) <= 255.0
    assert min(drawn) >= 240.0


def test_without_readings_nothing_is_raised(world: Make) -> None:
    """Where processors stay below their limit the PID raises it; once no reading tells that they do, the limit is what
    the model says.
    """
    w = world(held_at=0.96)
    w.plant.busy("n1", 340.0, 120.0)
    w.cap(260.0, lease=30.0)
    w.run(15.0)
    model_w = PROFILES["gold-6132"].cpu_w(260.0, 12.0)
    assert w.limit_w() >= model_w + 4.0
    assert w.server_w() == pytest.approx(260.0, abs=2.0)
    w.plant.fault("n1", "garbage")
    w.cap(260.0, lease=30.0)
    w.run(6.0)
    assert w.limit_w() == pytest.approx(model_w, abs=0.2)


def test_memory_without_a_meter_is_assumed(world: Make) -> None:
    """Where memory tells no power the file's figure stands in, and the status says so."""
    w = world()
    for path in w.folder.glob("n1/intel-rapl/*/*/energy_uj"):
        path.unlink()
    w.run(3.2)
    assert w.last()["mem_w"] is None
    assert w.last()["w"] == pytest.approx(90.0, abs=0.5)  # the file says 12 W, and the plant has them
    assert {"memory-assumed", "memory-missing"} <= set(w.last()["faults"])


@pytest.mark.parametrize("jump_s", [-7200.0, 7200.0])
def test_a_clock_that_jumps_ends_the_lease(world: Make, jump_s: float) -> None:
    """If the machine's time jumps, nobody knows how long a lease lasts: the safe cap is in force within a period, no
    watts are made up, and the next cap leads again.
    """
    w = world()
    w.plant.busy("n1", 320.0, 120.0)
    w.cap(300.0, lease=30.0)
    w.run(5.0)
    w.clock.at_s += jump_s
    w.run(1.1)
    assert w.limit_w() == pytest.approx(SAFE_CPU_W, abs=3.0)
    assert all(m["w"] is None or m["w"] < 330.0 for m in w.sent)
    w.run(3.0)
    assert w.last()["mode"] == "safe"
    if jump_s > 0.0:  # after a step back, a controller that stepped back too looks like a replay until it restarts
        w.cap(300.0)
        w.run(1.2)
        assert w.last()["mode"] == "led"


def test_a_wall_clock_that_is_set_is_told(world: Make) -> None:
    """Setting the wall's clock does not move the machine's; it is a fault in the status."""
    w = world()
    offset = [0.0]
    w.clock.wall = lambda: w.clock.at_s + offset[0]
    w.cap(300.0, lease=10.0)
    w.run(2.0)
    offset[0] = 3600.0
    w.run(1.2)
    assert w.last()["mode"] == "led"
    assert "clock-set" in w.last()["faults"]


def test_a_silent_bus_means_the_safe_cap(world: Make) -> None:
    """An agent that hears nobody from its start is under its safe cap at once, and stays there."""
    w = world()
    assert w.limit_w() == pytest.approx(SAFE_CPU_W, abs=1.0)
    w.plant.busy("n1", 320.0, 120.0)
    w.run(30.0)
    assert w.server_w() == pytest.approx(180.0, abs=1.0)


def test_an_agent_that_starts_free_touches_nothing(world: Make) -> None:
    """With ``start = "free"`` neither limits nor the save file are written before the first cap."""
    w = world(more='start = "free"')
    w.run(3.0)
    assert w.limit_w() == 410.0
    assert not list(w.folder.glob("run/*.json"))
    assert w.last()["mode"] == "free"
    w.cap(200.0, lease=2.0)
    w.run(1.0)
    assert list(w.folder.glob("run/*.json"))
    w.run(3.0)
    assert w.last()["mode"] == "safe"


def test_what_was_found_is_on_disk_before_anything_is_written(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the save file cannot be written (a full disk), no limit is changed."""
    w = world()
    w.agent.end()
    assert w.limit_w() == 410.0

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        w.start()
    assert w.limit_w() == 410.0


def test_a_full_disk_after_off_is_told_and_tried_again(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """If what was found cannot be saved when a cap comes, no limit is changed, the status tells the one in force, and
    the cap is in force within a period once there is room.
    """
    w = world()
    w.send("wattline/s/off", {"kind": "off"})
    w.run(1.0)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        w.cap(200.0, lease=20.0)
        w.run(3.0)
        assert w.limit_w() == 410.0
        assert (w.last()["mode"], w.last()["limit_w"], w.last()["faults"]) == ("led", 410.0, ["save-failed"])
    w.run(1.1)
    assert w.limit_w() == pytest.approx(PROFILES["gold-6132"].cpu_w(200.0, 12.0), abs=2.0)
    assert w.agent.end()
    assert w.limit_w() == 410.0


def test_after_a_crash_the_safe_cap_and_the_old_limits(world: Make) -> None:
    """An agent that finds a save file takes the safe cap at once, and at its end puts back what the first one found."""
    w = world(more='start = "free"')
    w.cap(300.0, lease=30.0)
    w.run(2.0)
    w.crash()
    w.start()
    assert w.limit_w() == pytest.approx(SAFE_CPU_W, abs=1.0)
    assert "recovered" in w.events()
    w.run(2.0)
    assert w.last()["mode"] == "safe"
    assert w.agent.end()
    assert w.limit_w() == 410.0
    assert w.last()["mode"] == "free"


@pytest.mark.parametrize(
    "text", ["", "{", '{"version": 1}', '{"version": 1, "found": {"a": "b"}}', '{"version": 9, "found": {}}']
)
def test_a_save_file_that_cannot_be_read_is_set_aside(world: Make, text: str) -> None:
    """With a damaged save file the agent is safe at once and will put back the hardware's greatest limits; the file is
    kept under another name.
    """
    w = world()
    w.crash()
    (w.folder / "run" / "n1.found.json").write_text(text)
    w.start()
    assert w.limit_w() == pytest.approx(SAFE_CPU_W, abs=1.0)
    assert (w.folder / "run" / "n1.found.unreadable").read_text() == text
    assert w.agent.problems()["save-unreadable"] == 1
    w.agent.end()
    assert w.limit_w() == 410.0


def test_what_cannot_be_put_back_stays_on_file(world: Make) -> None:
    """If limits cannot be put back at the end, it is said, and the save file stays for the next agent."""
    w = world()
    saved = w.folder / "run" / "n1.found.json"
    saved.write_text(saved.read_text().replace('"package-0/long_term"', '"package-9/long_term"'))
    w.crash()
    w.start()
    assert not w.agent.end()
    assert "restore-failed" in w.events()
    assert saved.exists()


def test_two_agents_on_a_node_are_refused(world: Make, tmp_path: Path) -> None:
    """A second agent of the same node, or of the same power tree under another name, is refused and changes nothing."""
    w = world()
    w.cap(300.0, lease=20.0)
    w.run(1.0)
    before = w.limit_w()
    with pytest.raises(InputError, match=r"another agent leads this node already .*process \d+"):
        w.start()
    w.file.write_text(w.file.read_text().replace('name = "n1"', 'name = "other"'))
    with pytest.raises(InputError, match="another agent leads"):
        w.start()
    assert w.limit_w() == before


def test_time_before_the_first_turn_is_short(world: Make) -> None:
    """The first turn comes within a period of the start."""
    w = world()
    assert T0 < w.agent.node.due_s() <= T0 + 1.0
    assert math.isfinite(w.agent.node.due_s())
