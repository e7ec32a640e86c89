"""Redfish: a BMC of either form is read and limited, what was found comes back, and each failure has its word."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.live.power.base import HardwareError
from wattline.live.power.fakes.bmc import OUTLET, PASSWORD, USER, FakeBmc, FakeServer
from wattline.live.power.redfish.hardware import FORMS, Redfish
from wattline.live.power.redfish.service import Bmc, BmcError, read_login

BOTH = [("Power",), ("EnvironmentMetrics",)]


_OPENED: list[Redfish] = []


@pytest.fixture
def bmc() -> Iterator[Callable[..., FakeBmc]]:
    """Makes BMCs; they and what was opened there are ended after the test."""
    made: list[FakeBmc] = []

    def make(server: FakeServer | None = None, **more: Any) -> FakeBmc:
        made.append(FakeBmc(server, **more))
        return made[-1]

    yield make
    for one in made:
        one.server.faults = {"error"}  # answers at once
    for hardware in _OPENED:
        hardware.close()
    _OPENED.clear()
    for one in made:
        one.close()


def _open(fake: FakeBmc, *, timeout_s: float = 5.0, auth: Any = "session", **more: Any) -> Redfish:
    service = Bmc(fake.url, user=USER, password=PASSWORD, auth=auth, timeout_s=timeout_s)
    _OPENED.append(Redfish(service, **({"settle_s": 0.4, "most_w": 800.0} | more)))
    return _OPENED[-1]


@pytest.mark.parametrize("serves", BOTH)
@pytest.mark.parametrize("etags", [False, True])
@pytest.mark.parametrize("auth", ["session", "basic"])
def test_either_form_is_read_limited_and_put_back(
    bmc: Callable[..., FakeBmc], serves: tuple[str, ...], etags: bool, auth: str
) -> None:
    """Whichever resource a BMC has is found among its chassis; power, limit and what was found are the server's, with
    and without ETags, and no session is left behind.
    """
    fake = bmc(FakeServer(demand_w=310.0), serves=serves, etags=etags, decoys=True)
    hardware = _open(fake, auth=auth)
    assert hardware.whole_server
    assert hardware.facts()["form"] == serves[0]
    reading = hardware.read(5.0)
    assert reading is not None
    assert (reading.time_s, reading.server_w) == (5.0, 310.0)
    assert math.isnan(reading.cpu_w)
    assert hardware.limits_w() == math.inf
    found = hardware.found()
    assert hardware.set_limit(250.9) == 250.0
    assert fake.server.limit_w == 250.0
    hardware.restore(found)
    assert fake.server.limit_w is None
    fake.server.limit(400.0)
    hardware.read(6.0)
    found = hardware.found()
    hardware.set_limit(200.0)
    hardware.restore(found)
    assert fake.server.limit_w == 400.0
    assert hardware.problems() == {}
    hardware.close()
    assert fake.sessions == {}


@pytest.mark.parametrize("serves", [("Power",), ("Power", "EnvironmentMetrics")])
def test_a_server_is_never_switched_off_for_a_cap(bmc: Callable[..., FakeBmc], serves: tuple[str, ...]) -> None:
    """LimitException is HardPowerOff at no time while a limit of ours is in force, nor after it was put back; a BMC
    that keeps it so gets no limit.
    """
    fake = bmc(FakeServer(exception="HardPowerOff"), serves=serves, etags=True)
    hardware = _open(fake)
    assert fake.changes == []
    assert hardware.set_limit(250.0) == 250.0
    armed = [body for path, body in fake.changes if path.endswith("/Power")]
    assert "LimitException" in str(armed[0])
    assert fake.server.exception == "LogEventOnly"
    hardware.restore({})
    assert fake.server.exception == "LogEventOnly"
    assert hardware.problems()["hard-power-off"] >= 1
    stubborn = bmc(FakeServer(exception="HardPowerOff", faults={"stubborn"}), serves=serves)
    hardware = _open(stubborn)
    assert hardware.set_limit(250.0) == math.inf
    assert stubborn.server.limit_w is None
    assert hardware.problems()["write-refused"] >= 1


@pytest.mark.parametrize("serves", BOTH)
@pytest.mark.parametrize(
    ("fault", "word", "in_force_w"),
    [("refuse", "write-refused", math.inf), ("clamp", "clamped", 280.0), ("ignore", "write-refused", math.inf)],
)
def test_a_limit_that_is_not_taken_is_told(
    bmc: Callable[..., FakeBmc], serves: tuple[str, ...], fault: str, word: str, in_force_w: float
) -> None:
    """What is returned is the limit that the BMC says is in force, not the one that was wanted."""
    fake = bmc(FakeServer(faults={fault}, clamp_w=280.0), serves=serves)
    hardware = _open(fake)
    assert hardware.set_limit(200.0) == in_force_w
    assert hardware.problems()[word] == 1


def test_a_correction_time_is_set_and_put_back(bmc: Callable[..., FakeBmc]) -> None:
    """CorrectionInMs is left alone unless the file gives one; then it goes with the limit and comes back with it."""
    fake = bmc(FakeServer(limit_w=300.0), serves=("Power",))
    _open(fake).set_limit(250.0)
    assert "CorrectionInMs" not in str(fake.changes)
    hardware = _open(fake, correction_ms=500.0)
    found = hardware.found()
    hardware.set_limit(250.0)
    assert fake.server.correction_ms == 500
    hardware.restore(found)
    assert (fake.server.correction_ms, fake.server.limit_w) == (1000, 250.0)


def test_a_limit_is_read_back_until_the_bmc_shows_it(bmc: Callable[..., FakeBmc]) -> None:
    """A BMC that shows a limit half a second later is waited for, and not said to clamp it."""
    fake = bmc(FakeServer(shown_after_s=0.5))
    hardware = _open(fake, settle_s=2.0)
    assert hardware.set_limit(200.0) == 200.0
    assert hardware.problems() == {}


def test_what_others_changed_meanwhile_is_read_again_before_it_is_changed(bmc: Callable[..., FakeBmc]) -> None:
    """An ETag that is old (412) makes it read and write once more; bounds of the BMC hold."""
    fake = bmc(FakeServer(faults={"changed"}, least_w=150.0, most_w=500.0), serves=("EnvironmentMetrics",), etags=True)
    hardware = _open(fake)
    assert hardware.bounds_w() == (150.0, 500.0)
    assert hardware.set_limit(20.0) == 150.0
    assert hardware.problems() == {"bmc-changed": 1}


def test_a_set_point_that_is_a_copy_is_changed_where_it_comes_from(bmc: Callable[..., FakeBmc]) -> None:
    """Where EnvironmentMetrics cannot be changed (405), the Control that it names is."""
    fake = bmc(serves=("EnvironmentMetrics",), control=True)
    hardware = _open(fake)
    assert hardware.set_limit(222.0) == 222.0
    hardware.set_limit(230.0)
    assert [path.rpartition("/")[2] for path, _ in fake.changes] == ["EnvironmentMetrics", "PowerLimit", "PowerLimit"]
    hardware.restore({})
    assert fake.server.limit_w is None


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("hang", "bmc-timeout"),
        ("auth", "bmc-auth"),
        ("gone", "bmc-missing"),
        ("error", "bmc-error"),
        ("garbage", "bmc-garbage"),
        ("empty", "bmc-garbage"),
        ("huge", "bmc-garbage"),
        ("null", "sensor-missing"),
    ],
)
def test_a_bmc_that_fails_is_counted_and_used_again(bmc: Callable[..., FakeBmc], fault: str, word: str) -> None:
    """A reading that fails is none, has its word, and the next one is sound when the BMC is."""
    fake = bmc()
    hardware = _open(fake, timeout_s=5.0)
    fake.server.faults = {fault}
    hardware.bmc.timeout_s = 0.3 if fault == "hang" else 5.0
    assert hardware.read(1.0) is None
    assert hardware.problems()[word] == 1
    if fault != "null":
        assert math.isnan(hardware.limits_w())
        with pytest.raises(HardwareError, match="cannot be put back"):
            hardware.restore({})
    fake.server.faults = set()
    hardware.bmc.timeout_s = 5.0
    assert hardware.read(2.0) is not None
    assert hardware.limits_w() == math.inf


def test_a_bmc_that_wants_slashes_gets_them_and_nobody_else_hears_of_it(bmc: Callable[..., FakeBmc]) -> None:
    """A resource that is said to be elsewhere on the same service is read and changed there; another host is told
    nothing.
    """
    fake = bmc(FakeServer(faults={"slash"}))
    hardware = _open(fake, auth="basic")
    assert hardware.set_limit(200.0) == 200.0
    fake.server.faults = {"away"}
    assert hardware.read(1.0) is None
    assert hardware.problems() == {"bmc-refused": 1}


NAMES = [
    "PowerControl",
    "PowerLimit",
    "LimitInWatts",
    "LimitException",
    "CorrectionInMs",
    "PowerConsumedWatts",
    "PowerWatts",
]
NAMES += ["PowerLimitWatts", "SetPoint", "ControlMode", "AllowableMin", "AllowableMax", "Reading", "PhysicalContext"]
_plain = st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | st.sampled_from(["", "Disabled"])
_bodies = st.recursive(
    _plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner), max_leaves=12
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), _bodies))
def test_no_answer_is_too_odd(body: dict[str, Any]) -> None:
    """Whatever JSON a BMC answers is understood or not known; limits to put back are numbers of at least 0."""
    for form in FORMS:
        assert form.watts(body) != math.inf
        form.bounds_w(body)
        form.limited(body)
        form.harmful(body)
        assert math.isnan(form.limit_w(body)) or form.limit_w(body) > 0.0
        found = form.found(body)
        assert all(math.isfinite(value) and value >= 0.0 for value in found.values())
        json.dumps([form.set(body, 200.0, math.nan), form.restored(body, found), form.restored(body, {})])


@pytest.mark.parametrize("off", [None, 0])
def test_a_limit_of_null_or_zero_is_none(off: int | None) -> None:
    """Some BMCs say 0 where there is no limit; it is put back as it was. One without reactions is not told any."""
    body = {"PowerControl": [{"PowerLimit": {"LimitInWatts": off, "LimitException": None}}]}
    form = FORMS[1]
    assert form.limit_w(body) == math.inf
    assert form.restored(body, form.found(body))["PowerControl"][0]["PowerLimit"] == {"LimitInWatts": off}
    assert form.set(body, 200.9, math.nan)["PowerControl"][0]["PowerLimit"] == {"LimitInWatts": 200}


def test_a_session_that_has_ended_is_opened_again(bmc: Callable[..., FakeBmc]) -> None:
    """A BMC forgets sessions: the next request logs in anew and nothing is a fault; the new one is closed at the end,
    wherever the BMC says that it is.
    """
    fake = bmc()
    hardware = _open(fake)
    fake.sessions.clear()
    fake.server.faults = {"no-location"}
    assert hardware.read(1.0) is not None
    assert hardware.problems() == {}
    assert len(fake.sessions) == 1
    hardware.close()
    assert fake.sessions == {}


def test_a_bmc_that_is_gone_is_unreachable(bmc: Callable[..., FakeBmc]) -> None:
    """A connection that is refused has a word of its own, and opening such a BMC is one line."""
    fake = bmc()
    hardware = _open(fake)
    url = fake.url
    fake.close()
    assert hardware.read(1.0) is None
    assert hardware.problems() == {"bmc-unreachable": 1}
    with pytest.raises(BmcError, match=r"cannot be reached") as found:
        Redfish(Bmc(url, user=USER, password=PASSWORD))
    assert "\n" not in str(found.value)


def test_a_bmc_whose_answer_drips_does_not_hold_anybody_up() -> None:
    """A byte now and then is no answer: the request ends at its time-out, whatever it has read."""
    listening = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        talking, _ = listening.accept()
        with talking, contextlib.suppress(OSError):
            for byte in b"HTTP/1.1 200 OK\r\nX-Header: " + b"x" * 200:
                talking.send(bytes([byte]))
                time.sleep(0.05)

    thread = threading.Thread(target=drip)
    thread.start()
    service = Bmc(f"http://127.0.0.1:{listening.getsockname()[1]}", user="u", password="p", auth="basic", timeout_s=0.4)  # noqa: S106
    began_s = time.monotonic()
    with pytest.raises(BmcError) as found:
        service.get("/redfish/v1/Chassis")
    assert found.value.word == "bmc-timeout"
    assert time.monotonic() - began_s < 5.0  # it would take 11 s
    service.close()
    thread.join()
    listening.close()


def test_what_is_no_server_or_not_clear_is_refused(bmc: Callable[..., FakeBmc]) -> None:
    """A BMC without either resource, a chassis that is not there, a wrong password: one line each."""
    with pytest.raises(HardwareError, match="no chassis tells power and takes a limit"):
        _open(bmc(serves=()))
    with pytest.raises(HardwareError, match="no such chassis"):
        _open(bmc(), chassis="2U")
    with pytest.raises(BmcError, match="answered 401: 'wrong name or password'"):
        Redfish(Bmc(bmc().url, user=USER, password="wrong"))  # noqa: S106
    with pytest.raises(HardwareError, match="expected one line NAME:PASSWORD"):
        read_login("just-a-word\n", "login")
    with pytest.raises(HardwareError, match="was found by another hardware than redfish"):
        _open(bmc()).restore({"package-0/long_term": 100.0})


def test_an_outlet_of_a_pdu_is_a_meter(bmc: Callable[..., FakeBmc]) -> None:
    """A resource that tells power and takes no limit can be read, and is refused where a limit is needed."""
    fake = bmc(FakeServer(demand_w=222.0), serves=())
    meter = _open(fake, resource=OUTLET, needs_limit=False)
    reading = meter.read(1.0)
    assert reading is not None
    assert reading.server_w == 222.0
    with pytest.raises(HardwareError, match="tells no power and limit"):
        _open(fake, resource=OUTLET)


def test_the_certificate_of_a_bmc_is_checked(bmc: Callable[..., FakeBmc], tmp_path: Path) -> None:
    """Nobody is told the password whose certificate is not trusted; its own certificate as authority, or no
    verification, if that is wanted, let it be read.
    """
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    key, cert, both = (tmp_path / name for name in ("key.pem", "cert.pem", "both.pem"))
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = [
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        str(key),
        "-out",
        str(cert),
    ]
    subprocess.run([*words, *names], check=True, capture_output=True)
    both.write_text(cert.read_text() + key.read_text())
    fake = bmc(certificate=str(both))
    with pytest.raises(BmcError, match="certificate is not trusted") as found:
        Redfish(Bmc(fake.url, user=USER, password=PASSWORD))
    assert found.value.word == "bmc-certificate"
    assert fake.requests == 0
    trusting = Redfish(Bmc(fake.url, user=USER, password=PASSWORD, authority=str(cert)))
    careless = Redfish(Bmc(fake.url, user=USER, password=PASSWORD, verify=False))
    for hardware in (trusting, careless):
        assert hardware.read(1.0) is not None
        hardware.close()


def test_the_emulated_bmc_takes_seconds() -> None:
    """A limit is met by the loop of a BMC with its time constant: a step of 100 W leaves 37 W of it after one."""
    now = [0.0]
    server = FakeServer(demand_w=300.0, lag_s=3.0, average_s=0.5, now=lambda: now[0])
    server.limit(200.0)
    now[0] = 3.0
    server.step()
    assert server.watts == pytest.approx(236.8, abs=0.1)
    now[0] = 30.0
    server.step()
    assert server.watts == pytest.approx(200.0, abs=0.1)
