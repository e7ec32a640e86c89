"""IPMI DCMI: what ipmitool prints is understood, limits go in steps of 4 W, and each failure has its word."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from wattline.live.power.base import HardwareError
from wattline.live.power.dcmi import Dcmi, DcmiError
from wattline.live.power.fakes import ipmitool as fake_ipmitool
from wattline.live.power.fakes.ipmitool import put


def _open(folder: Path, *, more: dict[str, Any] | None = None, **state: Any) -> Dcmi:
    put(folder / "bmc.json", **state)
    command = [sys.executable, "-I", "-S", fake_ipmitool.__file__, str(folder / "bmc.json")]
    return Dcmi(command, **({"least_w": 100.0, "most_w": 600.0, "timeout_s": 30.0} | (more or {})))


def _state(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((folder / "bmc.json").read_text())
    return state


def test_power_is_read_and_limited_in_steps_of_four_watts(tmp_path: Path) -> None:
    """A reading is the BMC's running average in steps of 4 W; a limit is written downwards to a step and activated;
    what was found, a limit that is off, comes back.
    """
    hardware = _open(tmp_path, watts=250.0)
    assert hardware.facts()["sampling_s"] == 1.0
    reading = hardware.read(3.0)
    assert reading is not None
    assert (reading.time_s, reading.server_w) == (3.0, 248.0)
    assert hardware.limits_w() == math.inf
    found = hardware.found()
    assert hardware.set_limit(203.0) == 200.0
    assert _state(tmp_path)["active"]
    assert hardware.problems() == {}
    put(tmp_path / "bmc.json", watts=200.0)
    again = hardware.read(4.0)
    assert again is not None
    assert 200.0 < again.server_w < 248.0  # the average follows
    hardware.restore(found)
    assert not _state(tmp_path)["active"]


def test_a_limit_that_was_in_force_comes_back(tmp_path: Path) -> None:
    """Another's limit is put back with its watts."""
    hardware = _open(tmp_path, limit_w=420, active=True)
    found = hardware.found()
    hardware.set_limit(300.0)
    hardware.restore(found)
    assert (_state(tmp_path)["limit_w"], _state(tmp_path)["active"]) == (420, True)


def test_a_server_is_never_switched_off_for_a_cap(tmp_path: Path) -> None:
    """The action beyond a limit is logging before a limit is written, also afterwards; a BMC that keeps "power off"
    gets no limit.
    """
    hardware = _open(tmp_path, action="power_off", limit_w=500, active=True)
    assert _state(tmp_path)["action"] == "power_off"
    found = hardware.found()
    assert hardware.set_limit(300.0) == 300.0
    hardware.restore(found)
    assert _state(tmp_path)["action"] == "sel_logging"
    assert hardware.problems()["hard-power-off"] >= 1
    put(tmp_path / "bmc.json", action="power_off", faults=["stubborn"], active=True)
    hardware.read(1.0)
    assert hardware.set_limit(200.0) == math.inf
    assert not _state(tmp_path)["active"]


def test_an_action_that_others_set_between_two_looks_is_seen(tmp_path: Path) -> None:
    """Somebody sets "power off" after the last look: it is logging again before the next limit is written, or put back;
    where it stays, there is no limit.
    """
    hardware = _open(tmp_path, limit_w=500, active=True)
    found = hardware.found()
    for brings in (lambda: hardware.set_limit(200.0), lambda: hardware.restore(found)):
        put(tmp_path / "bmc.json", action="power_off")
        brings()
        assert _state(tmp_path)["action"] == "sel_logging"
    put(tmp_path / "bmc.json", action="power_off", faults=["stubborn"])
    assert hardware.set_limit(200.0) == math.inf
    assert not _state(tmp_path)["active"]


@pytest.mark.parametrize(
    ("state", "word", "in_force_w"),
    [
        ({"faults": ["refuse"], "limit_w": 500, "active": True}, "write-refused", 500.0),
        ({"faults": ["clamp"], "clamp_w": 320}, "clamped", 320.0),
        ({"faults": ["needs-correction"]}, "write-refused", math.inf),
    ],
)
def test_a_limit_that_is_not_taken_is_told(tmp_path: Path, state: dict[str, Any], word: str, in_force_w: float) -> None:
    """What is returned is the limit that is in force; a refusal has its word, and nothing is activated by it."""
    hardware = _open(tmp_path, **state)
    assert hardware.set_limit(200.0) == in_force_w
    assert hardware.problems()[word] == 1


def test_a_bmc_that_wants_a_correction_time_gets_it(tmp_path: Path) -> None:
    """Correction time and sampling period of the file are set before the limit."""
    more = {"correction_ms": 6000.0, "sample_s": 3.0}
    hardware = _open(tmp_path, more=more, faults=["needs-correction"])
    assert hardware.set_limit(200.0) == 200.0
    assert (_state(tmp_path)["correction_ms"], _state(tmp_path)["sample_s"]) == (6000, 3)


@pytest.mark.parametrize(
    ("fault", "word"),
    [("fail", "ipmi-failed"), ("garbage", "ipmi-garbage"), ("off", "sensor-missing"), ("hang", "ipmi-timeout")],
)
def test_a_bmc_that_fails_is_counted_and_used_again(tmp_path: Path, fault: str, word: str) -> None:
    """A reading that fails is none and has its word; the next one is sound when the BMC is."""
    hardware = _open(tmp_path)
    put(tmp_path / "bmc.json", faults=[fault])
    hardware.timeout_s = 0.2 if fault == "hang" else 30.0
    assert hardware.read(1.0) is None
    assert hardware.problems()[word] == 1
    put(tmp_path / "bmc.json", faults=[])
    hardware.timeout_s = 30.0
    assert hardware.read(2.0) is not None


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    """No such program, a BMC that fails, limits of another hardware."""
    with pytest.raises(DcmiError, match=r"no-such-tool: cannot be run .* install ipmitool"):
        Dcmi(["no-such-tool"])
    with pytest.raises(DcmiError, match=r"failed \(Could not open device at /dev/ipmi0") as found:
        _open(tmp_path, faults=["fail"])
    assert "\n" not in str(found.value)
    with pytest.raises(HardwareError, match="was found by another hardware than dcmi"):
        _open(tmp_path, faults=[]).restore({"redfish/limit_w": 100.0})


READING = """

    Instantaneous power reading:                   {}
    Minimum during sampling period:                 16 Watts
    Maximum during sampling period:                468 Watts
    Average power reading over sample period:      252 Watts
    IPMI timestamp:                           {}    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated


"""
"""As ipmitool 1.8.19 prints it; others end the line after the timestamp."""


@pytest.mark.parametrize(
    ("printed", "watts"),
    [
        ("232 Watts", 232.0),
        ("232 Watts.", 232.0),
        ("232 W", 232.0),
        ("0 Watts", None),
        ("n/a", None),
        ("-4 Watts", None),
    ],
)
@pytest.mark.parametrize("stamp", ["11/16/26 15:17:31 UTC", "Thu Jan  1 00:00:00 1970\n"])
def test_readings_are_understood_as_versions_print_them(
    tmp_path: Path, printed: str, watts: float | None, stamp: str
) -> None:
    """Labels are found by name whatever stands around them; a number without watts, 0 and less are no reading."""
    script = tmp_path / "tool"
    limit = "\n    Current Limit State: No Active Power Limit\n    Power Limit:  0 Watts\n"
    said = READING.format(printed, stamp)
    script.write_text(f"#!/bin/sh\ncase $3 in reading) cat <<'END'\n{said}\nEND\n;; *) echo '{limit}';; esac\n")
    script.chmod(0o755)
    hardware = Dcmi([str(script)])
    assert hardware.sampling_s == 1.0
    reading = hardware.read(1.0)
    assert (None if reading is None else reading.server_w) == watts
    assert hardware.limits_w() == math.inf


def test_passwords_of_the_command_are_not_shown(tmp_path: Path) -> None:
    """What ``--check`` prints of a command has no password in it."""
    script = tmp_path / "tool"
    script.write_text(f"#!/bin/sh\necho '{READING.format('100 Watts', 'now')}'\n")
    script.chmod(0o755)
    shown = Dcmi([str(script), "-U", "me", "-P", "hunter2"], needs_limit=False).facts()["where"]
    assert shown == f"{script} -U me -P …"
