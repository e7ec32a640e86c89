"""The power of a server as its BMC tells and limits it over Redfish; the BMC keeps the limit by a loop of its own."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from wattline.live.power.base import HardwareError, Reading, own_limits
from wattline.live.power.redfish.forms import MODES, EnvironmentForm, Form, PowerForm, table
from wattline.live.power.redfish.service import Bmc, BmcError

ROOT = "/redfish/v1/Chassis"
_POWER = PowerForm()
FORMS: tuple[Form, ...] = (EnvironmentForm(), _POWER)
"""The newer one first."""
TOLERANCE_W = 1.0
MOST_CHASSIS = 64
OFF = float(MODES.index("Disabled"))
LOOKS_S = 0.2
"""How often a limit is read back until it is the one that was written, or ``settle_s`` has passed."""


class Redfish:
    """Meter and limit of a server at its BMC.

    Parameters
    ----------
    bmc
        The service.
    chassis
        Which of its chassis is the server; empty: the only one that tells power.
    resource
        A path of its own (an outlet of a PDU, another chassis' resource); empty: found below the chassis.
    least_w, most_w
        Bounds of limits where the BMC tells none.
    settle_s
        How long a BMC may take to show a limit that it was given.
    correction_ms
        CorrectionInMs to set with limits; NaN: as it is.
    every_s
        How often the agent shall ask.
    needs_limit
        Whether it is of no use without a limit; a meter needs none.

    Faults (``problems``): bmc-timeout, bmc-unreachable, bmc-certificate, bmc-auth (401, 403), bmc-missing (404),
    bmc-refused (other 4xx), bmc-error (5xx), bmc-changed (somebody else wrote meanwhile), bmc-garbage, sensor-missing,
    sensor-garbage, write-refused, clamped, limit-unread, hard-power-off (the BMC was set to switch the server off).
    """

    whole_server = True
    step_w = TOLERANCE_W

    def __init__(
        self,
        bmc: Bmc,
        *,
        chassis: str = "",
        resource: str = "",
        least_w: float = 0.0,
        most_w: float = math.inf,
        settle_s: float = 2.0,
        correction_ms: float = math.nan,
        every_s: float = 2.0,
        needs_limit: bool = True,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self.bmc, self.every_s, self._settle_s, self._rest = bmc, every_s, settle_s, rest
        self._least_w, self._most_w, self._correction_ms = least_w, most_w, correction_ms
        self._problems: Counter[str] = Counter()
        self._etag, self._fresh = "", True
        self._other = ""
        """The resource Power of the same server, where it is not the one that is used."""
        try:
            self.path, self._form, self._body = self._find(chassis, resource, needs_limit=needs_limit)
            self._write_path = self.path
            if needs_limit and self._form.name != _POWER.name:
                self._other = self._power_beside()
            if needs_limit and self._form.harmful(self._body):
                self._problems["hard-power-off"] += 1
        except HardwareError:
            bmc.close()
            raise

    # ------------------------------------------------------------------ which resource

    def _find(self, chassis: str, resource: str, *, needs_limit: bool) -> tuple[str, Form, dict[str, Any]]:
        if resource:
            body, self._etag = self.bmc.get(resource)
            for form in FORMS:
                if _sound(form, body, needs_limit=needs_limit):
                    return resource, form, body
            raise HardwareError(f"{self.bmc.url}{resource}: tells no power{' and limit' if needs_limit else ''}")
        found: list[tuple[str, str, Form, dict[str, Any], str]] = []
        for path in [f"{ROOT}/{chassis}"] if chassis else self._chassis():
            one = self._below(path, needs_limit=needs_limit)
            if one is not None:
                found.append((path.rstrip("/").rpartition("/")[2], *one))
        what = "power and takes a limit" if needs_limit else "power"
        if not found:
            raise HardwareError(
                f"{self.bmc.url}: no chassis tells {what} (neither EnvironmentMetrics nor Power); use another hardware"
            )
        if len(found) > 1:
            names = ", ".join(name for name, *_ in found)
            raise HardwareError(f"{self.bmc.url}: several chassis tell {what}; set chassis to one of {names}")
        _, path, form, body, self._etag = found[0]
        return path, form, body

    def _chassis(self) -> list[str]:
        body, _ = self.bmc.get(ROOT)
        rows = body.get("Members")
        links = [table(row).get("@odata.id") for row in (rows if isinstance(rows, list) else [])[:MOST_CHASSIS]]
        return [link for link in links if isinstance(link, str) and link.startswith("/redfish/")]

    def _below(self, path: str, *, needs_limit: bool) -> tuple[str, Form, dict[str, Any], str] | None:
        """Return the first resource of a chassis that will do; a BMC need not link what it has."""
        try:
            links, _ = self.bmc.get(path)
        except BmcError as problem:
            if problem.word != "bmc-missing":
                raise
            raise BmcError(problem.word, f"{self.bmc.url}{path}: no such chassis") from None
        for form in FORMS:
            link = table(links.get(form.name)).get("@odata.id")
            told = isinstance(link, str) and link.startswith("/redfish/")
            where = link if told and isinstance(link, str) else f"{path.rstrip('/')}/{form.name}"
            try:
                body, etag = self.bmc.get(where)
            except BmcError as problem:
                if problem.word not in {"bmc-missing", "bmc-refused"}:
                    raise
                continue
            if _sound(form, body, needs_limit=needs_limit):
                return where, form, body, etag
        return None

    def _power_beside(self) -> str:
        """Return the path of the resource Power beside EnvironmentMetrics, which has a reaction to exceeded limits."""
        where = f"{self.path.rstrip('/').rpartition('/')[0]}/{_POWER.name}"
        try:
            body, _ = self.bmc.get(where)
        except BmcError as problem:
            if problem.word in {"bmc-missing", "bmc-refused"}:
                return ""
            raise
        if _POWER.harmful(body):
            self._problems["hard-power-off"] += 1
        return where if _POWER.limited(body) else ""

    # ------------------------------------------------------------------ meter

    def _refresh(self) -> bool:
        try:
            self._body, self._etag = self.bmc.get(self.path)
        except BmcError as problem:
            self._problems[problem.word] += 1
            self._fresh = False
            return False
        self._fresh = True
        return True

    def read(self, now_s: float) -> Reading | None:
        """Ask the BMC; None where it does not tell."""
        if not self._refresh():
            return None
        watts = self._form.watts(self._body)
        if math.isnan(watts):
            self._problems["sensor-missing"] += 1
            return None
        if watts <= 0.0:  # no server that runs this draws nothing
            self._problems["sensor-garbage"] += 1
            return None
        return Reading(now_s, math.nan, math.nan, watts)

    # ------------------------------------------------------------------ limits

    def bounds_w(self) -> tuple[float, float]:
        """Return the BMC's bounds, where it tells them."""
        least_w, most_w = self._form.bounds_w(self._body)
        return (
            least_w if least_w >= 0.0 else self._least_w,
            most_w if most_w > 0.0 else self._most_w,
        )

    def limits_w(self) -> float:
        """Return the limit of the last answer; NaN where the last request failed."""
        limit_w = self._form.limit_w(self._body) if self._fresh else math.nan
        if math.isnan(limit_w):
            self._problems["limit-unread"] += 1
        return limit_w

    def set_limit(self, watts: float) -> float:
        """Limit the server in whole watts; return what the BMC says afterwards."""
        least_w, most_w = self.bounds_w()
        wanted_w = float(math.floor(min(max(watts, math.ceil(least_w)), most_w)))
        if not self._harmless_beside():
            return self.limits_w()
        if not self._change(lambda body: self._form.set(body, wanted_w, self._correction_ms)):
            return self.limits_w() if self._refresh() else math.nan
        in_force_w = self._read_back(wanted_w)
        if self._fresh and self._form.harmful(self._body):
            return self._disarm()
        if math.isfinite(in_force_w) and abs(in_force_w - wanted_w) > TOLERANCE_W:
            self._problems["clamped"] += 1
        elif math.isinf(in_force_w):
            self._problems["write-refused"] += 1
        return in_force_w

    def _harmless_beside(self) -> bool:
        """See to it that no limit switches the server off; tell whether that is so."""
        if not self._other:
            return True
        try:
            body, etag = self.bmc.get(self._other)
            if _POWER.harmful(body):
                self._problems["hard-power-off"] += 1
                self.bmc.patch(self._other, _POWER.disarmed(body), etag)
                self._refresh()  # another ETag
                body, _ = self.bmc.get(self._other)
        except BmcError as problem:
            self._problems[problem.word] += 1
            self._problems["write-refused"] += 1
            return False
        if _POWER.harmful(body):
            self._problems["write-refused"] += 1
            return False
        return True

    def _disarm(self) -> float:
        """Take the limit away where the BMC would switch the server off for it, and could not be told otherwise."""
        self._problems["hard-power-off"] += 1
        self._problems["write-refused"] += 1
        self._change(lambda body: self._form.restored(body, {}))
        return self._read_back(math.inf)

    def _change(self, made: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
        """Send a change of what was read last; anew where somebody else has changed it meanwhile."""
        for _ in range(3):
            try:
                body = made(self._body)
                self.bmc.patch(self._write_path, _for_control(body) if self._at_control else body, self._use_etag())
            except BmcError as problem:
                self._problems[problem.word] += 1
                if problem.word == "bmc-changed" and self._refresh():
                    continue
                if problem.word in {"bmc-refused", "bmc-missing"} and self._to_control():
                    continue
                if problem.word in {"bmc-refused", "bmc-auth", "bmc-missing", "bmc-changed"}:
                    self._problems["write-refused"] += 1
                return False
            return True
        self._problems["write-refused"] += 1
        return False

    @property
    def _at_control(self) -> bool:
        return self._write_path != self.path

    def _use_etag(self) -> str:
        return "" if self._at_control else self._etag

    def _to_control(self) -> bool:
        """Write to the Control that a set point is a copy of, from now on; tell whether there is one."""
        source = table(self._body.get("PowerLimitWatts")).get("DataSourceUri")
        if self._at_control or not isinstance(source, str) or not source.startswith("/redfish/"):
            return False
        self._write_path = source
        return True

    def _read_back(self, wanted_w: float) -> float:
        """Return the limit once it is the wanted one, or the one that there is after a while."""
        looks = max(1, round(self._settle_s / LOOKS_S))
        for look in range(looks + 1):
            limit_w = self._form.limit_w(self._body) if self._refresh() else math.nan
            near = abs(limit_w - wanted_w) <= TOLERANCE_W or limit_w == wanted_w
            if near or look == looks or not self._fresh:
                break
            self._rest(LOOKS_S)
        if math.isnan(limit_w):
            self._problems["limit-unread"] += 1
        return limit_w

    def found(self) -> dict[str, float]:
        """Return the limit as it was at the last answer."""
        return {f"redfish/{key}": value for key, value in self._form.found(self._body).items()}

    def loosest(self) -> dict[str, float]:
        """Return no limit."""
        return {}

    def restore(self, limits: dict[str, float]) -> None:
        """Put the limit back, or take it away; what the BMC does where one is exceeded stays harmless."""
        limits = own_limits(limits, "redfish")
        if not self._refresh():
            raise HardwareError(f"{self.bmc.url}{self.path}: the limit cannot be put back, the BMC does not answer")
        off = limits.get("mode") == OFF or not limits.get("limit_w", 0.0) > 0.0
        wanted_w = math.inf if off else round(limits["limit_w"])
        there = self._form.found(self._body)
        same = there.get("correction_ms") == limits.get("correction_ms", there.get("correction_ms"))
        same = same and self._form.limit_w(self._body) == wanted_w
        done = same or self._change(lambda b: self._form.restored(b, limits))
        in_force_w = self._read_back(wanted_w) if done else math.nan
        if not (in_force_w == wanted_w or abs(in_force_w - wanted_w) <= TOLERANCE_W):
            raise HardwareError(
                f"{self.bmc.url}{self.path}: the limit could not be put back: it is {_told(in_force_w)}, "
                f"not {_told(wanted_w)}"
            )

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met."""
        return dict(self._problems)

    def facts(self) -> dict[str, Any]:
        """Return where it was found and in which form."""
        return {"kind": "redfish", "where": f"{self.bmc.url}{self.path}", "form": self._form.name}

    def close(self) -> None:
        """End the session."""
        self.bmc.close()


def _sound(form: Form, body: dict[str, Any], *, needs_limit: bool) -> bool:
    if needs_limit:
        return form.limited(body)
    return not math.isnan(form.watts(body))


def _for_control(body: dict[str, Any]) -> dict[str, Any]:
    """Return a change of EnvironmentMetrics as one of the Control behind it."""
    return table(body.get("PowerLimitWatts"))


def _told(limit_w: float) -> str:
    return "unknown" if math.isnan(limit_w) else "none" if math.isinf(limit_w) else f"{limit_w:g} W"
