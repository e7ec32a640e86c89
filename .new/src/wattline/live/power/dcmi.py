"""The power of a server as its BMC tells and limits it over IPMI's DCMI commands, by ``ipmitool``."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import Any

from wattline.errors import cut
from wattline.live.power.base import HardwareError, Reading, own_limits

STEP_W = 4.0
"""BMCs keep power in steps of up to 4 W: limits are written in whole steps, downwards."""
LARGEST = 65536
SECRETS = ("-P", "-k", "-y")
"""Options of ipmitool after which passwords and keys stand; they are not shown."""
LABELS = (
    "Instantaneous power reading",
    "Sampling period",
    "Power reading state is",
    "Current Limit State",
    "Exception actions",
    "Power Limit",
)
_LABELLED = re.compile(rf"(?:^|\s)({'|'.join(LABELS)})\s*:[ \t]*([^\n]*)", re.IGNORECASE)
"""Labels are looked for everywhere: ipmitool 1.8.19 prints two on a line."""
_NUMBER = re.compile(r"\s*(-?\d+)\s*([A-Za-z]*)")


class DcmiError(HardwareError):
    """A command that failed; ``word`` is what it is counted under."""

    def __init__(self, word: str, told: str) -> None:
        super().__init__(told)
        self.word = word


class Dcmi:
    """Meter and limit of a server at its BMC.

    Parameters
    ----------
    command
        The program and its first words: ``["ipmitool"]`` through the kernel's driver, or with ``-I lanplus -H …``.
    least_w, most_w
        Bounds of limits: DCMI tells none.
    correction_ms, sample_s
        Correction time and sampling period to set with limits (some BMCs refuse those that are 0); NaN: as they are.
    every_s
        How often the agent shall ask.
    timeout_s
        Seconds of the wall that a command may take.
    needs_limit
        Whether it is of no use without a limit; a meter needs none.

    Faults (``problems``): ipmi-missing (no such program), ipmi-timeout, ipmi-failed, ipmi-garbage, sensor-missing (the
    BMC does not measure), sensor-garbage, write-refused, clamped, limit-unread, hard-power-off (the BMC was set to
    switch the server off).
    """

    whole_server = True
    step_w = STEP_W

    def __init__(
        self,
        command: Sequence[str] = ("ipmitool",),
        *,
        least_w: float = 0.0,
        most_w: float = 65535.0,
        correction_ms: float = math.nan,
        sample_s: float = math.nan,
        every_s: float = 2.0,
        timeout_s: float = 5.0,
        needs_limit: bool = True,
    ) -> None:
        self._command, self.timeout_s, self.every_s = list(command), timeout_s, every_s
        self._least_w, self._most_w = least_w, most_w
        self._extra = {"correction": correction_ms, "sample": sample_s}
        self._problems: Counter[str] = Counter()
        self._limit: dict[str, str] = {}
        self._limits = needs_limit
        self.sampling_s = _seconds(self._ask("reading"))
        if needs_limit:
            self._limit = self._ask("get_limit")
            if math.isnan(self._told_w()):
                raise HardwareError(f"{self._command[0]} dcmi power get_limit: tells no limit; the BMC keeps none")
            self._note_action()

    # ------------------------------------------------------------------ commands

    def _run(self, *words: str) -> str:
        """Return what a command says; no shell sees it."""
        said = f"{self._command[0]} dcmi power {' '.join(words)}"
        try:
            done = subprocess.run(  # noqa: S603 - the program is named by the root-owned file of the agent
                [*self._command, "dcmi", "power", *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_s,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        except subprocess.TimeoutExpired:
            raise DcmiError("ipmi-timeout", f"{said}: no answer within {self.timeout_s:g} s") from None
        except OSError as problem:
            raise DcmiError(
                "ipmi-missing", f"{self._command[0]}: cannot be run ({problem.strerror}); install ipmitool"
            ) from None
        text = done.stdout[:LARGEST].decode("ascii", "replace")
        if done.returncode != 0:
            lines = [
                line.strip() for line in done.stderr[:LARGEST].decode("ascii", "replace").splitlines() if line.strip()
            ]
            told = cut(lines[-1] if lines else f"code {done.returncode}", 90)
            raise DcmiError("ipmi-failed", f"{said}: failed ({told}); it needs root, or an account of the BMC")
        return text

    def _ask(self, *words: str) -> dict[str, str]:
        """Return the labels and values that a command prints."""
        text = self._run(*words)
        found = {label.lower(): value.strip() for label, value in _LABELLED.findall(text)}
        if not found:
            raise DcmiError("ipmi-garbage", f"{self._command[0]} dcmi power {words[0]}: the answer has no values")
        return found

    # ------------------------------------------------------------------ meter

    def read(self, now_s: float) -> Reading | None:
        """Ask for reading and limit; None where the BMC does not tell."""
        try:
            told = self._ask("reading")
        except DcmiError as problem:
            self._problems[problem.word] += 1
            self._limit = {}
            return None
        if self._limits:
            self._refresh()
        watts = _value(told, "instantaneous power reading", "watts")
        self.sampling_s = _seconds(told)
        if told.get("power reading state is", "activated").lower() == "deactivated":
            self._problems["sensor-missing"] += 1
        elif math.isnan(watts):
            self._problems["ipmi-garbage"] += 1
        elif watts <= 0.0:
            self._problems["sensor-garbage"] += 1
        else:
            return Reading(now_s, math.nan, math.nan, watts)
        return None

    # ------------------------------------------------------------------ limits

    def _refresh(self) -> bool:
        try:
            self._limit = self._ask("get_limit")
        except DcmiError as problem:
            self._problems[problem.word] += 1
            self._limit = {}
            return False
        return True

    def _told_w(self) -> float:
        """Return the limit that the last answer told; infinite where it is not active."""
        state = self._limit.get("current limit state", "").lower()
        if not state:
            return math.nan
        if state.startswith("no "):
            return math.inf
        return _value(self._limit, "power limit", "watts")

    @property
    def _harmful(self) -> bool:
        return "power off" in self._limit.get("exception actions", "").lower()

    def _note_action(self) -> None:
        if self._harmful:
            self._problems["hard-power-off"] += 1

    def bounds_w(self) -> tuple[float, float]:
        """Return the bounds that were given."""
        return self._least_w, self._most_w

    def limits_w(self) -> float:
        """Return the limit of the last answer; NaN where the last command failed."""
        limit_w = self._told_w()
        if math.isnan(limit_w):
            self._problems["limit-unread"] += 1
        return limit_w

    def set_limit(self, watts: float) -> float:
        """Limit the server in steps of 4 W, downwards; return what the BMC says afterwards."""
        steps = math.floor(min(max(watts, self._least_w), self._most_w) / STEP_W)
        wanted_w = max(steps, math.ceil(self._least_w / STEP_W), 1) * STEP_W
        return self._bring(wanted_w)

    def _bring(self, wanted_w: float) -> float:
        try:
            self._limit = self._ask("get_limit")  # others may have set what happens beyond a limit since
            if self._harmful:
                self._note_action()
                self._run("set_limit", "action", "sel_logging")
                self._limit = self._ask("get_limit")
            if self._harmful:  # no limit for which the server would be switched off
                self._problems["write-refused"] += 1
                if math.isfinite(self._told_w()):
                    self._run("deactivate")
                    self._limit = self._ask("get_limit")
                return self.limits_w()
            for name, value in self._extra.items():
                if math.isfinite(value):
                    self._run("set_limit", name, str(round(value)))
            self._run("set_limit", "limit", str(round(wanted_w)))
            if math.isinf(self._told_w()):
                self._run("activate")
        except DcmiError as problem:
            self._problems[problem.word] += 1
            self._problems["write-refused"] += problem.word == "ipmi-failed"
        self._refresh()
        in_force_w = self.limits_w()
        if math.isfinite(in_force_w) and abs(in_force_w - wanted_w) >= STEP_W:
            self._problems["clamped"] += 1
        return in_force_w

    def found(self) -> dict[str, float]:
        """Return the limit, and whether it is active, as of the last answer."""
        active = math.isfinite(self._told_w())
        limit_w = _value(self._limit, "power limit", "watts")
        return {"dcmi/active": float(active)} | ({"dcmi/limit_w": limit_w} if limit_w >= 0.0 else {})

    def loosest(self) -> dict[str, float]:
        """Return no limit."""
        return {"dcmi/active": 0.0}

    def restore(self, limits: dict[str, float]) -> None:
        """Put the limit back, active or not; what the BMC does where one is exceeded stays harmless."""
        limits = own_limits(limits, "dcmi")
        wanted_w, active = limits.get("limit_w", math.nan), limits.get("active", 0.0) > 0.0
        try:
            self._limit = self._ask("get_limit")
            if active and self._harmful:
                self._note_action()
                self._run("set_limit", "action", "sel_logging")
            if active and math.isfinite(wanted_w) and wanted_w != _value(self._limit, "power limit", "watts"):
                self._run("set_limit", "limit", str(round(wanted_w)))
            if active != math.isfinite(self._told_w()):
                self._run("activate" if active else "deactivate")
            self._limit = self._ask("get_limit")
        except DcmiError as problem:
            self._problems[problem.word] += 1
            raise HardwareError(f"the limit could not be put back: {problem}") from None
        there = _value(self._limit, "power limit", "watts")
        if active != math.isfinite(self._told_w()) or (active and abs(there - wanted_w) >= STEP_W):
            raise HardwareError(f"the limit could not be put back: it is {there:g} W, {'' if active else 'not '}wanted")

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met."""
        return {word: count for word, count in self._problems.items() if count}

    def facts(self) -> dict[str, Any]:
        """Return the command, and over which time the BMC averages."""
        sampling_s = self.sampling_s if math.isfinite(self.sampling_s) else None
        words = [
            "…" if before in SECRETS else word
            for before, word in zip(["", *self._command], self._command, strict=False)
        ]
        return {"kind": "dcmi", "where": " ".join(words), "sampling_s": sampling_s}

    def close(self) -> None:
        """Do nothing: every command ends by itself."""


def _value(told: dict[str, str], label: str, unit: str) -> float:
    """Return a number with its unit; NaN for all else."""
    found = _NUMBER.match(told.get(label, ""))
    sound = found is not None and (found[2].lower().rstrip(".") in {unit, unit.removesuffix("s"), unit[0]})
    return float(found[1]) if found is not None and sound else math.nan


def _seconds(told: dict[str, str]) -> float:
    return _value(told, "sampling period", "seconds")
