"""A small BMC on loopback: both Redfish resources of a server that follows its limit slowly, and faults on demand.

``python -m wattline.live.power.fakes.bmc 8443`` serves one at http://localhost:8443 until Ctrl-C, and says its login.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import secrets
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER, PASSWORD = "wattline", "only-a-fake"
CHASSIS = "/redfish/v1/Chassis"
OUTLET = "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/A1"


@dataclass
class FakeServer:
    """A server behind a BMC: what it would draw, and a loop in the BMC that brings it under the limit in seconds."""

    demand_w: float = 300.0
    floor_w: float = 120.0
    """No limit brings it below."""
    lag_s: float = 3.0
    """Time constant of the BMC's loop."""
    average_s: float = 1.0
    """A reading is a running average over about so long."""
    least_w: float = 100.0
    most_w: float = 800.0
    limit_w: float | None = None
    exception: str = "LogEventOnly"
    correction_ms: int = 1000
    faults: set[str] = field(default_factory=set)
    """refuse: limits are answered 400 · clamp: none goes below ``clamp_w`` · ignore: they are taken and forgotten ·
    stubborn: LimitException stays · garbage, huge, empty: answers are no JSON · hang: none comes · auth: 401 · gone:
    404 · slash: 308 without a slash at the end · away: 308 to another host · error: 500 · null: no reading · changed:
    the first change of each resource is answered 412 · no-location: where a session is stands in its body alone.
    """
    clamp_w: float = 0.0
    shown_after_s: float = 0.0
    """Time until a limit that was written is told."""
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.watts = self.told_w = min(self.demand_w, self.limit_w or math.inf)
        self._time_s = self.now()
        self._shown: tuple[float, float | None] = (-math.inf, self.limit_w)

    def step(self) -> None:
        """Move to now."""
        now_s = self.now()
        passed_s, self._time_s = max(0.0, now_s - self._time_s), now_s
        goal_w = self.demand_w if self.limit_w is None else min(self.demand_w, max(self.limit_w, self.floor_w))
        rising = goal_w > self.watts and self.limit_w is None
        self.watts += (goal_w - self.watts) * (1.0 if rising else _gone(passed_s, self.lag_s))
        self.told_w += (self.watts - self.told_w) * _gone(passed_s, self.average_s)

    def limit(self, watts: float | None) -> None:
        """Take a limit."""
        if "ignore" in self.faults:
            return
        before = self.shown_w()
        if watts is not None and "clamp" in self.faults:
            watts = max(watts, self.clamp_w)
        self.limit_w = watts
        self._shown = (self.now() + self.shown_after_s, before)

    def shown_w(self) -> float | None:
        """Return the limit that is told."""
        return self.limit_w if self.now() >= self._shown[0] else self._shown[1]


def _gone(passed_s: float, lag_s: float) -> float:
    return -math.expm1(-passed_s / lag_s) if lag_s > 0.0 else 1.0


class FakeBmc:
    """A Redfish service of one server, on a port of its own.

    Parameters
    ----------
    server
        What it watches and limits.
    serves
        Which of "Power" and "EnvironmentMetrics" it has.
    etags
        Whether changes need the ETag of what is changed.
    control
        EnvironmentMetrics is answered 405 when it is changed: the Control behind it must be.
    certificate
        PEM file of certificate and key: it speaks TLS then.
    decoys
        Further chassis (an enclosure, a drawer of disks) that tell no power.
    port
        Where it listens, on loopback; 0: on any that is free.
    """

    def __init__(
        self,
        server: FakeServer | None = None,
        *,
        serves: tuple[str, ...] = ("Power", "EnvironmentMetrics"),
        etags: bool = False,
        control: bool = False,
        certificate: str = "",
        decoys: bool = False,
        port: int = 0,
    ) -> None:
        self.server = server or FakeServer()
        self.serves, self.etags, self.control, self.decoys = serves, etags, control, decoys
        self.changes: list[tuple[str, dict[str, Any]]] = []
        """Paths and bodies of all changes that were asked for."""
        self.sessions: dict[str, str] = {}
        self.requests = 0
        self._version = 1
        self._met: set[str] = set()
        self._lock = threading.Lock()
        self._http = _Quiet(("127.0.0.1", port), _handler(self))
        self._http.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://localhost:{self._http.server_address[1]}"
        self.gone = threading.Event()
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="fake-bmc", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the service."""
        self.gone.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> FakeBmc:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ answers

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and text."""
        with self._lock:
            self.requests += 1
            faults = set(self.server.faults)
        if "hang" in faults:
            self.gone.wait(10.0)
        with self._lock:
            for word, status in (("auth", 401), ("gone", 404), ("error", 500)):
                if word in faults:
                    return status, {}, _error(f"emulated {word}")
            if path == "/redfish/v1/SessionService/Sessions" and method == "POST":
                return self._log_in(body)
            if not self._known(headers):
                return 401, {}, _error("no valid session")
            if method == "DELETE":
                self.sessions = {t: p for t, p in self.sessions.items() if p != path}
                return 204, {}, b""
            self.server.step()
            if "away" in faults or ("slash" in faults and not path.endswith("/")):
                return 308, {"Location": f"https://elsewhere{path}" if "away" in faults else f"{path}/"}, b""
            found = self._resource(path.rstrip("/"))
            if found is None:
                return 404, {}, _error("no such resource")
            if method == "PATCH":
                return self._change(path.rstrip("/"), headers, body)
            if "garbage" in faults:
                return 200, {}, b'{"PowerControl": [{"PowerConsumedWatts": 3'
            if "empty" in faults:
                return 200, {}, b"[]"
            if "huge" in faults:
                return 200, {}, b'{"x": "' + b"x" * (1 << 21) + b'"}'
            return 200, {"ETag": self._etag()} if self.etags else {}, json.dumps(found).encode()

    def _etag(self) -> str:
        return f'W/"{self._version}"'

    def _log_in(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        asked = json.loads(body)
        if (asked.get("UserName"), asked.get("Password")) != (USER, PASSWORD):
            return 401, {}, _error("wrong name or password")
        token = secrets.token_hex(8)
        self.sessions[token] = f"/redfish/v1/SessionService/Sessions/{len(self.sessions) + 1}"
        where = {} if "no-location" in self.server.faults else {"Location": self.sessions[token]}
        return 201, {"X-Auth-Token": token, **where}, json.dumps({"@odata.id": self.sessions[token]}).encode()

    def _known(self, headers: Any) -> bool:
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return headers.get("X-Auth-Token") in self.sessions or headers.get("Authorization") == f"Basic {pair}"

    def _resource(self, path: str) -> dict[str, Any] | None:
        s = self.server
        told_w = None if "null" in s.faults else round(s.told_w)
        shown_w = s.shown_w()
        names = ["enclosure", "disks"] if self.decoys else []
        one = f"{CHASSIS}/1U"
        limit: dict[str, Any] = {"SetPoint": shown_w if shown_w is not None else s.most_w}
        limit |= {"ControlMode": "Disabled" if shown_w is None else "Automatic"}
        limit |= {"AllowableMin": s.least_w, "AllowableMax": s.most_w}
        if self.control:
            limit["DataSourceUri"] = f"{one}/Controls/PowerLimit"
        known: dict[str, dict[str, Any]] = {
            CHASSIS: {"Members": [{"@odata.id": f"{CHASSIS}/{name}"} for name in [*names, "1U"]]},
            one: {"Id": "1U"} | {name: {"@odata.id": f"{one}/{name}"} for name in self.serves},
            OUTLET: {"PowerWatts": {"Reading": told_w}},
        }
        known |= {f"{CHASSIS}/{name}": {"Id": name} for name in names}
        power_limit = {"LimitInWatts": shown_w, "LimitException": s.exception, "CorrectionInMs": s.correction_ms}
        whole = {"Name": "Server Power Control", "PowerConsumedWatts": told_w, "PowerLimit": power_limit}
        part = {"Name": "CPU Sub-system Power", "PhysicalContext": "CPU", "PowerConsumedWatts": 11}
        if "Power" in self.serves:
            known[f"{one}/Power"] = {"PowerControl": [part, whole] if self.decoys else [whole, part]}
        if "EnvironmentMetrics" in self.serves:
            known[f"{one}/EnvironmentMetrics"] = {"PowerWatts": {"Reading": told_w}, "PowerLimitWatts": limit}
            if self.control:
                known[limit["DataSourceUri"]] = {k: v for k, v in limit.items() if k != "DataSourceUri"}
        return known.get(path)

    def _change(self, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        asked = json.loads(body)
        self.changes.append((path, asked))
        faults = self.server.faults
        if "changed" in faults and path not in self._met:
            self._met.add(path)
            self._version += 1
        if "refuse" in faults:
            return 400, {}, _error("the value is not allowed by a policy of the site")
        if path.endswith("/EnvironmentMetrics"):
            if self.control:
                return 405, {}, _error("read only")
            limit = asked["PowerLimitWatts"]
        elif path.endswith("/Controls/PowerLimit"):
            limit = asked
        else:
            rows = asked["PowerControl"]
            limit = rows[1 if self.decoys else 0]["PowerLimit"]
        if self.etags and not path.endswith("/Controls/PowerLimit") and headers.get("If-Match") != self._etag():
            return 412 if headers.get("If-Match") else 428, {}, _error("another version")
        self._version += 1
        self._apply(limit)
        return 200, {}, b"{}"

    def _apply(self, limit: dict[str, Any]) -> None:
        s = self.server
        if limit.get("ControlMode") == "Disabled":
            s.limit(None)
        elif "SetPoint" in limit:
            s.limit(limit["SetPoint"])
        if "LimitException" in limit and "stubborn" not in s.faults:
            s.exception = limit["LimitException"]
        if "CorrectionInMs" in limit:
            s.correction_ms = limit["CorrectionInMs"]
        if "LimitInWatts" in limit:
            s.limit(limit["LimitInWatts"])


class _Quiet(ThreadingHTTPServer):
    """Says nothing of callers that hang up."""

    def handle_error(self, *_: object) -> None:
        """Say nothing."""


def _error(text: str) -> bytes:
    return json.dumps({"error": {"@Message.ExtendedInfo": [{"Message": text}]}}).encode()


def _handler(bmc: FakeBmc) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if bmc.gone.is_set():
                self.close_connection = True
                return
            status, headers, text = bmc.answer(self.command, self.path, self.headers, body)
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
            except OSError:
                self.close_connection = True  # who asked has gone

        do_GET = do_PATCH = do_POST = do_DELETE = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def main(words: list[str]) -> int:
    """Serve a BMC until somebody interrupts."""
    with contextlib.suppress(KeyboardInterrupt), FakeBmc(port=int(words[0]) if words else 0) as bmc:
        sys.stdout.write(f"{bmc.url}   login {USER}:{PASSWORD}\n")
        sys.stdout.flush()
        bmc.gone.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
