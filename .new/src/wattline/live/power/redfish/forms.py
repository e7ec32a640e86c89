"""The two forms in which Redfish tells and limits the power of a server: ``Power`` and ``EnvironmentMetrics``."""

from __future__ import annotations

import math
from typing import Any, Protocol

HARMLESS = ("NoAction", "LogEventOnly")
"""What a BMC may do when a limit is exceeded. HardPowerOff would end jobs for a cap of ours."""
MODES = ("Automatic", "Override", "Manual", "Disabled")
PARTS = ("CPU", "Memory", "GPU", "Accelerator", "Fan", "StorageDevice", "NetworkingDevice")
"""Contexts of entries of PowerControl that are not the whole server."""


class Form(Protocol):
    """How a resource tells power and takes limits; none of it asks the BMC."""

    name: str

    def watts(self, body: dict[str, Any]) -> float:
        """Return the power of the server; NaN where it is not told."""

    def limited(self, body: dict[str, Any]) -> bool:
        """Tell whether a limit can be set here."""

    def limit_w(self, body: dict[str, Any]) -> float:
        """Return the limit in force; infinite without one, NaN where it is not told."""

    def bounds_w(self, body: dict[str, Any]) -> tuple[float, float]:
        """Return the least and the greatest limit, NaN where they are not told."""

    def set(self, body: dict[str, Any], watts: float, correction_ms: float) -> dict[str, Any]:
        """Return the change that brings a limit into force, and a harmless reaction where it is exceeded."""

    def found(self, body: dict[str, Any]) -> dict[str, float]:
        """Return the limit as it is."""

    def restored(self, body: dict[str, Any], limits: dict[str, float]) -> dict[str, Any]:
        """Return the change that puts back what ``found`` told (an empty one: no limit)."""

    def harmful(self, body: dict[str, Any]) -> bool:
        """Tell whether the BMC would switch the server off where a limit is exceeded."""


def number(value: object) -> float:
    """Return a number of a resource; NaN for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        found = float(value)
    except OverflowError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def _limit_w(limit: dict[str, Any], key: str) -> float:
    """Return a limit; infinite where it is null, 0 or less."""
    if key in limit and limit[key] is None:
        return math.inf
    watts = number(limit.get(key))
    return math.inf if watts <= 0.0 else watts


def table(value: object) -> dict[str, Any]:
    """Return an object of a resource; an empty one for all else."""
    return value if isinstance(value, dict) else {}


class PowerForm:
    """``Chassis/{id}/Power``: PowerControl[] with PowerConsumedWatts and PowerLimit."""

    name = "Power"

    @staticmethod
    def _entry(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the entry of the whole server: the first that is not one of its parts."""
        rows = body.get("PowerControl")
        for at, row in enumerate(rows if isinstance(rows, list) else []):
            if isinstance(row, dict) and row.get("PhysicalContext") not in PARTS:
                return at, row
        return 0, {}

    def _limit(self, body: dict[str, Any]) -> dict[str, Any]:
        return table(self._entry(body)[1].get("PowerLimit"))

    def watts(self, body: dict[str, Any]) -> float:
        """Return PowerConsumedWatts."""
        return number(self._entry(body)[1].get("PowerConsumedWatts"))

    def limited(self, body: dict[str, Any]) -> bool:
        """Tell whether there is a PowerLimit."""
        return "LimitInWatts" in self._limit(body)

    def limit_w(self, body: dict[str, Any]) -> float:
        """Return LimitInWatts; null and 0 are none."""
        return _limit_w(self._limit(body), "LimitInWatts")

    def bounds_w(self, body: dict[str, Any]) -> tuple[float, float]:
        """Return what the form tells: a greatest power at most."""
        return math.nan, number(self._entry(body)[1].get("PowerCapacityWatts"))

    def _change(self, body: dict[str, Any], limit: dict[str, Any]) -> dict[str, Any]:
        at, _ = self._entry(body)
        return {"PowerControl": [*({} for _ in range(at)), {"PowerLimit": limit}]}

    def set(self, body: dict[str, Any], watts: float, correction_ms: float) -> dict[str, Any]:
        """Return a PowerLimit; the exception is only named where it must change."""
        limit: dict[str, Any] = {"LimitInWatts": math.floor(watts)}
        if self._limit(body).get("LimitException") not in (*HARMLESS, None):  # null: the BMC knows no such reaction
            limit["LimitException"] = "LogEventOnly"
        if math.isfinite(correction_ms):
            limit["CorrectionInMs"] = round(correction_ms)
        return self._change(body, limit)

    def found(self, body: dict[str, Any]) -> dict[str, float]:
        """Return limit and correction time, where there are any."""
        limit = self._limit(body)
        told = {"limit_w": number(limit.get("LimitInWatts")), "correction_ms": number(limit.get("CorrectionInMs"))}
        return {key: value for key, value in told.items() if math.isfinite(value) and value >= 0.0}

    def restored(self, body: dict[str, Any], limits: dict[str, float]) -> dict[str, Any]:
        """Return the limit that was, or none; the exception stays harmless."""
        limit: dict[str, Any] = {"LimitInWatts": None}
        if "limit_w" in limits:
            limit["LimitInWatts"] = round(limits["limit_w"])
        correction_ms = limits.get("correction_ms", math.nan)
        if math.isfinite(correction_ms) and number(self._limit(body).get("CorrectionInMs")) != correction_ms:
            limit["CorrectionInMs"] = round(correction_ms)
        if self.harmful(body):
            limit["LimitException"] = "LogEventOnly"
        return self._change(body, limit)

    def disarmed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the change that leaves the limit and makes what happens beyond it harmless."""
        return self._change(body, {"LimitException": "LogEventOnly"})

    def harmful(self, body: dict[str, Any]) -> bool:
        """Tell whether LimitException is HardPowerOff."""
        return self._limit(body).get("LimitException") == "HardPowerOff"


class EnvironmentForm:
    """``Chassis/{id}/EnvironmentMetrics``: PowerWatts.Reading and PowerLimitWatts; also outlets of a rack PDU."""

    name = "EnvironmentMetrics"

    def watts(self, body: dict[str, Any]) -> float:
        """Return PowerWatts.Reading."""
        return number(table(body.get("PowerWatts")).get("Reading"))

    def limited(self, body: dict[str, Any]) -> bool:
        """Tell whether there is a PowerLimitWatts."""
        return "SetPoint" in table(body.get("PowerLimitWatts"))

    def limit_w(self, body: dict[str, Any]) -> float:
        """Return SetPoint, unless ControlMode is Disabled."""
        limit = table(body.get("PowerLimitWatts"))
        return math.inf if limit.get("ControlMode") == "Disabled" else _limit_w(limit, "SetPoint")

    def bounds_w(self, body: dict[str, Any]) -> tuple[float, float]:
        """Return AllowableMin and AllowableMax."""
        limit = table(body.get("PowerLimitWatts"))
        return number(limit.get("AllowableMin")), number(limit.get("AllowableMax"))

    def set(self, body: dict[str, Any], watts: float, correction_ms: float) -> dict[str, Any]:  # noqa: ARG002
        """Return a SetPoint; ControlMode is only named where it is another."""
        limit: dict[str, Any] = {"SetPoint": math.floor(watts)}
        if table(body.get("PowerLimitWatts")).get("ControlMode", "Automatic") != "Automatic":
            limit["ControlMode"] = "Automatic"
        return {"PowerLimitWatts": limit}

    def found(self, body: dict[str, Any]) -> dict[str, float]:
        """Return set point and mode (by its number)."""
        limit = table(body.get("PowerLimitWatts"))
        told = {"limit_w": number(limit.get("SetPoint"))}
        if limit.get("ControlMode") in MODES:
            told["mode"] = float(MODES.index(limit["ControlMode"]))
        return {key: value for key, value in told.items() if math.isfinite(value) and value >= 0.0}

    def restored(self, body: dict[str, Any], limits: dict[str, float]) -> dict[str, Any]:  # noqa: ARG002
        """Return set point and mode that were; Disabled where there was no limit."""
        known = "mode" in limits and 0 <= limits["mode"] < len(MODES)
        mode = MODES[int(limits["mode"])] if known else "Automatic" if "limit_w" in limits else "Disabled"
        limit: dict[str, Any] = {"ControlMode": mode}
        if "limit_w" in limits and mode != "Disabled":
            limit["SetPoint"] = round(limits["limit_w"])
        return {"PowerLimitWatts": limit}

    def harmful(self, body: dict[str, Any]) -> bool:  # noqa: ARG002
        """Tell that this form has no such reaction."""
        return False
