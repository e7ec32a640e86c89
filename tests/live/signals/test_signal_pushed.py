"""Signals that are sent: what is taken, what is refused in a line, and who may send."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.secret import read_token
from wattline.live.signals.base import Sample
from wattline.live.signals.http import Door
from wattline.live.signals.pushed import LARGEST, Pushed
from wattline.live.signals.schedule import Schedule

NOW_S = 1000.0
TOKEN = "a-token-of-enough-letters"  # noqa: S105


def clock() -> Clock:
    """Return a clock that stands still."""
    return Clock(wall=lambda: NOW_S, monotonic=lambda: 0.0)


def test_a_message_of_the_bus_or_a_bare_body_is_taken() -> None:
    """The envelope's keys are passed over; without a time it is of now."""
    pushed = Pushed()
    message = {"v": 1, "kind": "signal", "from": "gw", "boot": "0" * 16, "n": 3, "at": 999.5, "y": 0.25}
    assert pushed.take(message, NOW_S) is None
    assert pushed.y.last(NOW_S) == Sample(0.25, 999.5)
    assert pushed.take_text(b'{"limit_w": 5e5}', NOW_S) is None
    assert pushed.limit.last(NOW_S) == Sample(5e5, NOW_S)
    assert pushed.take({"y": -1, "at": "1970-01-01T00:16:40Z"}, NOW_S) is None
    assert pushed.y.last(NOW_S) == Sample(-1.0, 1000.0)
    assert pushed.counts() == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "malformed"),
        (b"\xff", "malformed"),
        (b"[1]", "malformed"),
        (b'{"y": NaN}', "malformed"),
        (b'{"y": 1e999}', "bad-value"),
        (b'{"y": true}', "bad-value"),
        (b'{"y": "1"}', "bad-value"),
        (b'{"y": ' + b"9" * 400 + b"}", "bad-value"),
        (b'{"y": 0, "limit_w": 1}', "malformed"),
        (b'{"at": 3}', "malformed"),
        (b'{"y": 0, "why": 1}', "malformed"),
        (b'{"y": 0, "at": "noon"}', "bad-value"),
        (b'{"y": 0, "at": "2026-11-16T12:00:00"}', "bad-value"),
        (b'{"y": 0, "at": 1002.5}', "of-the-future"),
        (b'{"y": 0, "at": 899}', "out-of-order"),
        (b'{"y": 0.' + b"0" * LARGEST + b"}", "too-large"),
        (b"[" * LARGEST, "malformed"),
        (b'{"targets": [{"id": "a", "start": 1100, "end": 1200}]}', "bad-value"),
        (b'{"targets": [{"id": 7, "start": 1100, "end": 1200, "limit_w": 5}]}', "bad-value"),
        (b'{"targets": [{"id": "a", "start": 1100, "end": 1200, "limit_w": 5, "x": 1}]}', "bad-value"),
        (b'{"targets": [{"id": "a", "cancel": true}]}', "bad-value"),
        (b'{"targets": []}', "bad-value"),
        (b'{"targets": {}}', "bad-value"),
    ],
)
def test_what_is_wrong_is_refused_in_a_line_and_counted(text: bytes, reason: str) -> None:
    """Nothing is changed by it."""
    pushed = Pushed(Schedule(1000.0))
    assert pushed.take({"y": 0.5, "at": 900.0}, NOW_S) is None
    told = pushed.take_text(text, NOW_S)
    assert told
    assert "\n" not in told
    assert pushed.counts() == {reason: 1}
    assert pushed.y.last(NOW_S) == Sample(0.5, 900.0)
    assert pushed.limit_at(1150.0) == 1000.0


def test_load_targets_are_taken_whole_or_not_at_all() -> None:
    """A list with one bad target changes nothing; a good one is added, changed and cancelled by id."""
    pushed = Pushed(Schedule(1000.0))
    good = {"id": "a", "start": 1100, "end": "1970-01-01T00:20:00Z", "percent": 60, "ramp_s": 10}
    assert "above the base" in (pushed.take({"targets": [good, good | {"limit_w": 2e3, "percent": None}]}, NOW_S) or "")
    assert pushed.limit_at(1150.0) == 1000.0
    assert pushed.take({"targets": [good]}, NOW_S) is None
    assert [pushed.limit_at(t) for t in (1100.0, 1105.0, 1150.0)] == [1000.0, 800.0, 600.0]
    assert pushed.take({"targets": [good | {"percent": 50}]}, NOW_S) is None
    assert pushed.limit_at(1150.0) == 500.0
    assert pushed.next_change_s(NOW_S) == 1100.0
    assert [one.percent for one in pushed.targets()] == [50.0]
    again = Pushed(Schedule(1000.0))
    again.restore(json.loads(json.dumps(pushed.to_data())))
    assert again.limit_at(1150.0) == 500.0
    assert pushed.take({"targets": [{"id": "a", "cancel": True}]}, NOW_S) is None
    assert pushed.limit_at(1150.0) == 1000.0
    without = Pushed()
    assert "takes no load targets" in (without.take({"targets": [good]}, NOW_S) or "")
    assert (without.limit_at(0.0), without.next_change_s(0.0), without.targets()) == (math.inf, math.inf, [])


@pytest.fixture
def pushed() -> Pushed:
    """What the door hands on to."""
    return Pushed(Schedule(1000.0))


@pytest.fixture
def door(pushed: Pushed) -> Iterator[Door]:
    """A door on a free port, with few places and little patience."""
    made = Door(pushed, clock(), TOKEN, port=0, most=4, deadline_s=0.4)
    yield made
    made.close()


def post(door: Door, body: bytes, token: str = TOKEN, path: str = "/signal", method: str = "POST") -> tuple[int, str]:
    """Send a body; return status and text."""
    caller = http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)
    try:
        caller.request(method, path, body, {"Authorization": f"Bearer {token}"})
        got = caller.getresponse()
        return got.status, got.read().decode()
    finally:
        caller.close()


def test_a_signal_is_sent_by_http(pushed: Pushed, door: Door) -> None:
    """204 when it is taken, 400 and one line when not; others' paths and methods are refused."""
    assert post(door, b'{"y": 0.3, "at": 999}') == (204, "")
    assert pushed.y.last(NOW_S) == Sample(0.3, 999.0)
    status, told = post(door, b'{"y": 0.3, "at": 998}')
    assert (status, told.count("\n")) == (400, 1)
    assert "newer" in told
    assert post(door, b"", path="/")[0] == 404
    assert post(door, b"", method="GET")[0] == 405
    assert post(door, b" " * (LARGEST + 1))[0] == 413
    assert pushed.counts() == {"out-of-order": 1, "malformed-request": 3}


def test_without_the_token_nothing_is_taken(pushed: Pushed, door: Door) -> None:
    """A wrong or missing token is 401, counted, and the body is not looked at."""
    for token in ("", TOKEN[:-1], TOKEN + "x", "ä"):
        assert post(door, b'{"y": 0.3}', token=token)[0] == 401
    assert pushed.y.last(NOW_S) is None
    assert pushed.counts() == {"unauthorized": 4}


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"POST /signal HTTP/2\r\n\r\n",
        b"POST /signal HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /signal HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /signal HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /signal HTTP/1.1\r\nContent-Length: \xb2\r\n\r\n",
        b"POST /signal HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /signal HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(pushed: Pushed, door: Door, raw: bytes) -> None:
    """Malformed heads get an answer and the door stays open."""
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as caller:
        caller.sendall(raw)
        first = caller.recv(64)
    assert first.startswith((b"HTTP/1.1 4", b"HTTP/1.1 501"))
    assert pushed.counts() == {"malformed-request": 1}
    assert post(door, b'{"y": 0.3}')[0] == 204


def test_slow_callers_and_floods_do_no_harm(pushed: Pushed, door: Door) -> None:
    """Callers who never finish are cut off, those in excess crowd out the slow, and a quick one gets through."""
    slow = [socket.create_connection(("127.0.0.1", door.port), timeout=5) for _ in range(12)]
    try:
        for caller in slow:
            caller.sendall(b"POST /signal HTTP/1.1\r\n")
        assert post(door, b'{"y": 0.3}')[0] == 204
        for caller in slow:  # all are cut off, whether crowded out or at the deadline
            with contextlib.suppress(ConnectionResetError):
                assert caller.recv(1) == b""
    finally:
        for caller in slow:
            caller.close()
    until_s = time.monotonic() + 10
    while sum(pushed.counts().values()) < 12 and time.monotonic() < until_s:
        time.sleep(0.01)
    assert set(pushed.counts()) <= {"crowded-out", "slow"}
    assert pushed.counts()["crowded-out"] >= 8
    assert sum(pushed.counts().values()) == 12


def test_a_door_listens_on_loopback_and_says_when_it_cannot(pushed: Pushed, door: Door) -> None:
    """A port that is taken, a name instead of an address: one line each."""
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {door.port}"):
        Door(pushed, clock(), TOKEN, port=door.port)
    with pytest.raises(InputError, match="expected an IP address"):
        Door(pushed, clock(), TOKEN, host="everywhere")
    door.close()
    door.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", door.port), timeout=10)


def test_a_token_is_read_only_from_a_file_that_is_ours_alone(tmp_path: Path) -> None:
    """Mode 600 or the program refuses; so it does for a folder, nothing, or a word that is too short."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o640)
    with pytest.raises(InputError, match=r"others may read the token \(mode 640\); chmod 600"):
        read_token(path)
    path.chmod(0o600)
    assert read_token(path) == TOKEN
    for text in ("short", "two words that are long enough", ""):
        path.write_text(text)
        with pytest.raises(InputError, match="expected a token"):
            read_token(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path)
    if os.geteuid() == 0:
        path.write_text(TOKEN)
        os.chown(path, 12345, -1)
        with pytest.raises(InputError, match="must be owned"):
            read_token(path)


def test_signals_load_nothing_heavy() -> None:
    """Neither numpy nor polars nor numba nor prometheus_client comes with signals and watches."""
    code = (
        "import json, pkgutil, importlib, sys, wattline.live.signals as s, wattline.live.watch as w\n"
        "for package in (s, w):\n"
        "    for found in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(found.name)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {"wattline.live.signals.http", "wattline.live.watch.metrics"} <= loaded
    assert not {"numpy", "numba", "polars", "scipy", "pydantic", "prometheus_client", "rich"} & loaded
