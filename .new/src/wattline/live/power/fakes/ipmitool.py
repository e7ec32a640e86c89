"""A program that answers ``dcmi power …`` as ipmitool does, for a server in a JSON file: running averages, 4 W steps.

``python -m wattline.live.power.fakes.ipmitool STATE.json dcmi power reading``; the file has ``watts`` (what the server
draws), ``limit_w``, ``active``, ``action``, ``correction_ms``, ``sample_s`` and ``faults``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ACTIONS = {
    "no_action": "No Action",
    "power_off": "Hard Power Off & Log Event to SEL",
    "sel_logging": "Log Event to SEL",
}
STATE: dict[str, Any] = {
    "watts": 250.0,
    "average_w": None,
    "limit_w": 0,
    "active": False,
    "action": "no_action",
    "correction_ms": 0,
    "sample_s": 0,
    "faults": [],
    "clamp_w": 0,
}
"""A server without a limit. Faults: fail (code 1), hang, garbage, off (does not measure), refuse (limits), clamp,
needs-correction (limits are refused until a correction time is set), stubborn (the action stays).
"""
KEPT = 0.5
"""Part of the running average that is left from one reading to the next."""


def put(path: Path | str, **state: Any) -> None:
    """Write or change the state of a server."""
    file = Path(path)
    before = json.loads(file.read_text()) if file.exists() else STATE
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps(before | state))
    temporary.replace(file)


def main(words: list[str]) -> int:
    """Answer one command."""
    path, asked = Path(words[0]), words[1:]
    state = STATE | json.loads(path.read_text())
    faults = state["faults"]
    if "hang" in faults:
        time.sleep(5.0)
    if "fail" in faults:
        sys.stderr.write(
            "IANA PEN registry open failed: No such file or directory\n"
            "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory\n"
        )
        return 1
    if "garbage" in faults:
        sys.stdout.write("\x00\x7f Segmentation fault\n")
        return 0
    if asked[:2] != ["dcmi", "power"]:
        return 1
    return _power(path, state, asked[2:])


def _power(path: Path, state: dict[str, Any], words: list[str]) -> int:
    faults, what = state["faults"], words[0]
    if what == "reading":
        was_w = state["watts"] if state["average_w"] is None else state["average_w"]
        average_w = state["watts"] + KEPT * (was_w - state["watts"])
        put(path, average_w=average_w)
        _say_reading(
            0 if "off" in faults else 4 * round(average_w / 4), "deactivated" if "off" in faults else "activated"
        )
        return 0
    if what == "get_limit":
        shown = "Power Limit Active" if state["active"] else "No Active Power Limit"
        sys.stdout.write(
            f"\n    Current Limit State: {shown}\n    Exception actions:   {ACTIONS[state['action']]}\n"
            f"    Power Limit:         {state['limit_w']} Watts\n"
            f"    Correction time:     {state['correction_ms']} milliseconds\n"
            f"    Sampling period:     {state['sample_s']} seconds\n\n"
        )
        return 0
    needs = "needs-correction" in faults and state["correction_ms"] == 0 and words[1:2] == ["limit"]
    if "refuse" in faults or needs:
        sys.stderr.write("    DCMI request failed because: Parameter out of range (c9)\n")
        return 1
    if what in {"activate", "deactivate"}:
        put(path, active=what == "activate")
        sys.stdout.write(f"\n    Power limit successfully {what}d\n")
        return 0
    if what == "set_limit" and len(words) == 3:
        return _set(path, state, words[1], words[2])
    return 1


def _set(path: Path, state: dict[str, Any], name: str, value: str) -> int:
    if name == "action":
        if "stubborn" not in state["faults"]:
            put(path, action=value)
        return 0
    number = int(value)
    if name == "limit" and "clamp" in state["faults"]:
        number = max(number, int(state["clamp_w"]))
    put(path, **{{"limit": "limit_w", "correction": "correction_ms", "sample": "sample_s"}[name]: number})
    return 0


def _say_reading(watts: float, state: str) -> None:
    sys.stdout.write(
        f"\n    Instantaneous power reading:              {watts:>8} Watts\n"
        f"    Minimum during sampling period:           {16:>8} Watts\n"
        f"    Maximum during sampling period:           {468:>8} Watts\n"
        f"    Average power reading over sample period: {watts:>8} Watts\n"
        f"    IPMI timestamp:                           11/16/26 15:17:31 UTC"
        f"    Sampling period:                          00000001 Seconds.\n"
        f"    Power reading state is:                   {state}\n\n\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
