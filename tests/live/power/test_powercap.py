"""Counters of energy become watts or nothing, and limits are believed only when they were read back."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import Any

import pytest

from wattline.live.power.base import HardwareError
from wattline.live.power.counter import EnergyCounter
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree
from wattline.live.power.powercap import Powercap
from wattline.live.power.zones import Files

RANGE_UJ = 262_143_328_850


def _file(root: Path, package: int, name: str) -> Path:
    return root / "intel-rapl" / f"intel-rapl:{package}" / name


@pytest.mark.parametrize(
    ("second", "passed_s", "watts", "fault"),
    [
        (150_000_000, 1.0, 100.0, ""),
        (250_000_000, 2.0, 100.0, ""),
        (50_000_000 - RANGE_UJ + RANGE_UJ, 1.0, math.nan, ""),  # no change yet
        (49_000_000, 1.0, math.nan, "backwards"),
        (5_000_000_000, 1.0, math.nan, "jump"),
        (RANGE_UJ + 1, 1.0, math.nan, "garbage"),
        (-7, 1.0, math.nan, "garbage"),
        (150_000_000, 0.0, math.nan, "clock"),
        (150_000_000, -3600.0, math.nan, "clock"),
        (150_000_000, 400.0, math.nan, "gap"),
        (50_000_000, 3.0, math.nan, "stuck"),
    ],
)
def test_a_counter_tells_watts_or_nothing(second: int, passed_s: float, watts: float, fault: str) -> None:
    """A change of a counter is a power where it can be one; otherwise there is no power, and the fault has a name."""
    counter = EnergyCounter(RANGE_UJ, most_w=1000.0)
    assert math.isnan(counter.take(50_000_000, 1e9)[0])
    got, said = counter.take(second, 1e9 + passed_s)
    assert said == fault
    assert got == pytest.approx(watts, nan_ok=True)


def test_a_counter_that_wraps_around_goes_on() -> None:
    """A counter that began again at 0 has counted up to its range before."""
    counter = EnergyCounter(RANGE_UJ, most_w=1000.0)
    counter.take(RANGE_UJ - 60_000_000, 0.0)
    assert counter.take(40_000_000, 1.0) == (pytest.approx(100.0), "")


def test_after_standing_still_a_counter_begins_anew() -> None:
    """What a stuck counter has missed is not told: the first value after it is a beginning."""
    counter = EnergyCounter(RANGE_UJ, most_w=1000.0)
    for second in range(5):
        counter.take(7, float(second))
    assert math.isnan(counter.take(90_000_007, 5.0)[0])
    assert counter.take(190_000_007, 6.0) == (pytest.approx(100.0), "")


def test_zones_are_found_by_name(tmp_path: Path) -> None:
    """Packages and memory count once; cores, the platform and the second way to a package overlap them, and the limit
    is the long-term one whatever its number.
    """
    root = make_tree(tmp_path / "tree", decoys=True)
    hardware = Powercap(root)
    assert [zone.name for zone in hardware.packages] == ["package-0", "package-1"]
    assert [zone.name for zone in hardware.memory] == ["package-0/dram", "package-1/dram"]
    assert all("mmio" not in zone.path for zone in hardware.packages)
    hardware.set_limit(200.0)
    assert _file(root, 0, "constraint_0_name").read_text() == "short_term\n"
    assert _file(root, 0, "constraint_1_power_limit_uw").read_text() == "100000000\n"
    assert _file(root, 0, "constraint_0_power_limit_uw").read_text() == "246000000\n"


def test_links_alone_are_enough(tmp_path: Path) -> None:
    """The class folder of the kernel has links to the zones and nothing else."""
    tree = make_tree(tmp_path / "devices")
    links = tmp_path / "class"
    links.mkdir()
    for name in ("intel-rapl:1", "intel-rapl:0:0", "intel-rapl:0", "intel-rapl:1:0", "intel-rapl"):
        (links / name).symlink_to((tree / name).resolve())
    hardware = Powercap(links)
    assert [zone.name for zone in hardware.packages] == ["package-0", "package-1"]
    assert [zone.name for zone in hardware.memory] == ["package-0/dram", "package-1/dram"]


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda root: None, "no powercap tree"),
        (lambda root: root.mkdir(), "no zone named package-0"),
        (
            lambda root: (make_tree(root), _file(root, 0, "max_energy_range_uj").write_text("0\n")),
            "max_energy_range_uj",
        ),
        (lambda root: (make_tree(root), _file(root, 1, "energy_uj").unlink()), "energy_uj: cannot be read"),
    ],
)
def test_a_tree_that_cannot_be_used_is_refused(tmp_path: Path, prepare: object, told: str) -> None:
    """What is wrong with a tree is said in one line when an agent starts."""
    prepare(tmp_path / "tree")  # type: ignore[operator]
    with pytest.raises(HardwareError, match=told) as found:
        Powercap(tmp_path / "tree")
    assert "\n" not in str(found.value)


def test_power_of_a_plant_is_read(tmp_path: Path) -> None:
    """Mean powers of packages and memory are what the plant drew, across a wrap of all counters."""
    root = make_tree(tmp_path / "tree")
    with Plant([FakeNode("n", root, idle_w=90.0, memory_w=12.0)], lag_s=0.0) as plant:
        hardware = Powercap(root)
        plant.step(0.0)
        assert hardware.read(0.0) is None
        plant.busy("n", 300.0, 150.0)
        for i in range(1, 11):
            plant.step(i / 10)
        reading = hardware.read(1.0)
        assert reading is not None
        assert plant.model.server_w(reading.cpu_w, reading.memory_w) == pytest.approx(300.0, abs=0.1)
        assert reading.memory_w == pytest.approx(12.0, abs=1e-3)
        plant.wrap_soon("n", 20.0)
        plant.step(1.0)
        hardware.read(1.0)
        plant.step(2.0)
        again = hardware.read(2.0)
        assert again is not None
        assert again.cpu_w == pytest.approx(reading.cpu_w, abs=0.1)
        assert int(_file(root, 0, "energy_uj").read_text()) < 200_000_000


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("stick", "sensor-stuck"),
        ("backwards", "sensor-backwards"),
        ("nothing", "sensor-garbage"),
        ("garbage", "sensor-garbage"),
    ],
)
def test_a_faulty_sensor_gives_no_watts(tmp_path: Path, fault: str, word: str) -> None:
    """Sensors that stick, go back or say nothing give no reading and a count; once well, they give right ones."""
    root = make_tree(tmp_path / "tree")
    with Plant([FakeNode("n", root)], lag_s=0.0) as plant:
        hardware = Powercap(root)
        for t in range(3):
            plant.step(float(t))
            hardware.read(float(t))
        plant.fault("n", fault)
        readings = []
        for t in range(3, 8):
            plant.step(float(t))
            readings.append(hardware.read(float(t)))
        assert readings[0] is None
        assert hardware.problems()[word] >= 1
        assert fault == "backwards" or readings == [None] * 5
        plant.fault("n")
        for t in range(8, 11):
            plant.step(float(t))
            reading = hardware.read(float(t))
        assert reading is not None
        assert plant.model.server_w(reading.cpu_w, reading.memory_w) == pytest.approx(90.0, abs=0.1)


def test_a_sensor_that_vanishes_is_counted(tmp_path: Path) -> None:
    """A counter whose file is gone gives no reading; memory that is gone leaves the packages' power."""
    root = make_tree(tmp_path / "tree")
    hardware = Powercap(root)
    energies = [_file(root, i, "energy_uj") for i in range(2)]
    memory = root / "intel-rapl:0:0" / "energy_uj"
    hardware.read(0.0)
    memory.unlink()
    for energy in energies:
        energy.write_text("10100000000\n")
    reading = hardware.read(1.0)
    assert reading is not None
    assert reading.cpu_w == pytest.approx(200.0)
    assert math.isnan(reading.memory_w)
    energies[0].unlink()
    assert hardware.read(2.0) is None
    assert hardware.problems() == {"memory-missing": 2, "sensor-missing": 1}


class _Stubborn(Files):
    """Files of which some refuse, clamp or ignore what is written."""

    def __init__(self, how: str) -> None:
        self.how = how

    def write(self, path: str, text: str) -> None:
        if self.how == "refuses" and path.endswith("limit_uw"):
            raise PermissionError(13, "no")
        if self.how == "clamps" and path.endswith("limit_uw"):
            text = str(max(int(text), 120_000_000))
        if self.how == "off" and path.endswith("enabled"):
            return
        super().write(path, text)


@pytest.mark.parametrize(
    ("how", "in_force_w", "word"),
    [
        ("obeys", 150.0, ""),
        ("refuses", 410.0, "write-refused"),
        ("clamps", 240.0, "clamped"),
        ("off", math.inf, "disabled"),
    ],
)
def test_a_limit_is_what_was_read_back(tmp_path: Path, how: str, in_force_w: float, word: str) -> None:
    """The limit in force is the one that the hardware shows after the write, and every difference is counted."""
    root = make_tree(tmp_path / "tree")
    if how == "off":
        for i in range(2):
            _file(root, i, "enabled").write_text("0\n")
    hardware = Powercap(root, files=_Stubborn(how))
    assert hardware.set_limit(150.0) == in_force_w
    assert hardware.limits_w() == in_force_w
    assert set(hardware.problems()) == ({word} if word else set())


def test_limits_stay_within_what_the_hardware_takes(tmp_path: Path) -> None:
    """A limit above the greatest is the greatest, one below the least the least; packages share by what they take."""
    root = make_tree(tmp_path / "tree")
    _file(root, 1, "constraint_0_max_power_uw").write_text("102500000\n")
    _file(root, 1, "constraint_0_power_limit_uw").write_text("102500000\n")
    for i in range(2):
        _file(root, i, "constraint_0_min_power_uw").write_text("30000000\n")
    hardware = Powercap(root)
    assert hardware.bounds_w() == (60.0, 307.5)
    assert hardware.set_limit(1e9) == 307.5
    assert hardware.set_limit(150.0) == 150.0
    assert _file(root, 0, "constraint_0_power_limit_uw").read_text() == "100000000\n"
    assert hardware.set_limit(-5.0) >= 60.0


def test_a_greatest_limit_below_the_one_found_is_not_believed(tmp_path: Path) -> None:
    """Some trees tell a greatest limit of 0, or one below the limit in force."""
    root = make_tree(tmp_path / "tree")
    _file(root, 0, "constraint_0_max_power_uw").write_text("0\n")
    _file(root, 1, "constraint_0_max_power_uw").write_text("90000000\n")
    assert Powercap(root).bounds_w() == (41.0, 410.0)


def test_a_limit_is_never_zero(tmp_path: Path) -> None:
    """Where the hardware tells no least limit a tenth of the greatest is the least: 0 could mean that there is none."""
    hardware = Powercap(make_tree(tmp_path / "tree"))
    assert hardware.set_limit(-20.0) == 41.0
    assert hardware.problems() == {}


def test_what_was_found_is_put_back(tmp_path: Path) -> None:
    """Limits and switches are put back as they were; what cannot be is said after the rest was."""
    root = make_tree(tmp_path / "tree")
    _file(root, 1, "enabled").write_text("0\n")
    hardware = Powercap(root)
    found = hardware.found()
    assert found == {
        "package-0/long_term": 205.0, "package-0/enabled": 1.0, "package-1/long_term": 205.0, "package-1/enabled": 0.0
    }  # fmt: skip
    hardware.set_limit(100.0)
    assert _file(root, 1, "enabled").read_text().strip() == "1"
    hardware.restore(found)
    assert hardware.found() == found
    hardware.set_limit(100.0)
    with pytest.raises(HardwareError, match="package-7/long_term") as told:
        hardware.restore(found | {"package-7/long_term": 1.0})
    assert "\n" not in str(told.value)
    assert hardware.found() == found


@pytest.mark.parametrize(("name", "what"), [("energy_uj", "read"), ("power_limit_uw", "written")])
def test_what_may_not_be_touched_says_which_right_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    """Counters that may not be read, or limits that may not be written, are one line with the cure; before anything is
    changed.
    """
    root, real = make_tree(tmp_path / "tree"), os.open

    def refusing(path: Any, flags: int, *more: Any, **named: Any) -> int:
        wanted = os.O_WRONLY if what == "written" else os.O_RDONLY
        if str(path).endswith(name) and flags & os.O_ACCMODE == wanted:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(
        HardwareError, match=rf"{name}: may not be {what}; run as root, or give CAP_DAC_OVERRIDE as an amb"
    ):
        Powercap(root).try_limits()
