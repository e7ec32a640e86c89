"""Events of a real VTN become limits: within a poll, changed and cancelled, over TLS, and when the VTN is gone."""

from __future__ import annotations

import contextlib
import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from vtn import PATH, Vtn, certificates, free_port, soon

from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.signals.adr_events import AdrRules, Judged
from wattline.live.signals.open import Signals, SignalSettings
from wattline.live.signals.openadr import AdrSettings
from wattline.live.signals.stale import Change

CAPACITY, SIMPLE = ("LOAD_CONTROL", "x-loadControlCapacity"), ("SIMPLE", "level")
POLL_S = 0.2
RULES = AdrRules(10_000.0, 3_000.0, {1: 8_500.0})


@pytest.fixture
def vtn() -> Iterator[Vtn]:
    """Serve events on loopback."""
    server = Vtn(free_port())
    yield server
    server.close()


class Followed:
    """The signals of a site that has a VTN, and what they said."""

    def __init__(self, port: int, *, silent_s: float = 1.0, **tls: object) -> None:
        self.clock = Clock()
        self.changes: list[tuple[str, Change]] = []
        self.events: list[Judged] = []
        scheme = "https" if tls else "http"
        adr = AdrSettings(f"{scheme}://127.0.0.1:{port}{PATH}", "site", poll_s=POLL_S, silent_s=silent_s, **tls)  # type: ignore[arg-type]
        settings = SignalSettings(10_000.0, 3_000.0, openadr=(adr, RULES))
        self.signals = Signals(settings, self.clock, lambda *told: self.changes.append(told), self.events.append)

    def limit_w(self) -> float:
        """Return the limit now."""
        return self.signals.now(self.clock.now_s()).limit_w

    def states(self) -> list[str]:
        """Return the states of the VTN so far."""
        self.limit_w()
        return [change.after for what, change in self.changes if what == "openadr"]


@pytest.fixture
def site(vtn: Vtn) -> Iterator[Followed]:
    """Follow the VTN."""
    followed = Followed(vtn.port)
    assert soon(lambda: followed.states() == ["fresh"])
    yield followed
    followed.signals.close()


def test_an_event_is_a_limit_within_a_poll(vtn: Vtn, site: Followed) -> None:
    """An event that holds now is in force within the poll, changed within another, and lifted when cancelled."""
    vtn.add("dr-1", CAPACITY, 0.7)
    began = time.monotonic()
    assert soon(lambda: site.limit_w() == 7_000.0)
    assert time.monotonic() - began < POLL_S + 3.0  # and some, for a busy machine
    assert soon(lambda: vtn.opts == [("dr-1", "optIn")])
    vtn.change("dr-1", 0.5)
    assert soon(lambda: site.limit_w() == 5_000.0)
    assert soon(lambda: vtn.opts[-1] == ("dr-1", "optIn") and len(vtn.opts) == 2)
    vtn.cancel("dr-1")
    assert soon(lambda: site.limit_w() == 10_000.0)
    assert [(found.modification, found.why) for found in site.events] == [(0, ""), (1, ""), (2, "cancelled")]


def test_below_what_the_machine_needs(vtn: Vtn, site: Followed) -> None:
    """The site opts out, follows nothing of the event, counts and says it; another event is not touched."""
    vtn.add("dr-1", SIMPLE, 1.0)
    vtn.add("dr-2", CAPACITY, 0.5, 0.1)
    assert soon(lambda: sorted(vtn.opts) == [("dr-1", "optIn"), ("dr-2", "optOut")])
    assert site.limit_w() == 8_500.0
    assert site.signals.problems()["adr-below-least"] == 1
    assert {(found.event, found.why) for found in site.events} == {("dr-1", ""), ("dr-2", "below-least")}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_one_event_that_is_no_number_spoils_no_other(vtn: Vtn, site: Followed, value: float) -> None:
    """The site opts out of it, counts it and says which; the others of the list are followed. What it followed of that
    event before is lifted.
    """
    vtn.add("dr-1", CAPACITY, 0.5)
    assert soon(lambda: site.limit_w() == 5_000.0)
    vtn.add("dr-2", CAPACITY, 0.7)
    vtn.change("dr-1", value)
    assert soon(lambda: site.limit_w() == 7_000.0)
    assert soon(lambda: ("dr-1", "optOut") in vtn.opts and ("dr-2", "optIn") in vtn.opts)
    assert site.signals.problems()["adr-bad-value"] == 1
    assert [(found.opt, found.why) for found in site.events if found.event == "dr-1"] == [
        ("optIn", ""),
        ("optOut", "bad-value"),
    ]
    assert site.signals.vtn() == ""
    vtn.change("dr-1", 0.4)
    assert soon(lambda: site.limit_w() == 4_000.0)


def test_an_event_that_is_left_out_is_cancelled(vtn: Vtn, site: Followed) -> None:
    """A list of the VTN is the whole list."""
    vtn.add("dr-1", CAPACITY, 0.5)
    vtn.add("dr-2", CAPACITY, 0.7)
    assert soon(lambda: site.limit_w() == 5_000.0)
    vtn.forget("dr-1")
    assert soon(lambda: site.limit_w() == 7_000.0)
    assert site.signals.problems()["adr-implied-cancel"] == 1


def test_a_vtn_that_is_gone() -> None:
    """What is known stays in force and is said to be held; when the VTN is back it is asked for all events."""
    port = free_port()
    vtn = Vtn(port)
    site = Followed(port)
    try:
        vtn.add("dr-1", CAPACITY, 0.7)
        assert soon(lambda: site.limit_w() == 7_000.0)
        vtn.close()
        assert soon(lambda: site.states() == ["fresh", "held"])
        assert site.limit_w() == 7_000.0
        assert 1.0 < site.signals.vtn_age_s(site.clock.now_s()) < 10.0
        assert site.signals.problems()["adr-unanswered"] > 0
        assert "onnect" in site.signals.vtn()
        vtn = Vtn(port)
        vtn.add("dr-2", CAPACITY, 0.6)
        assert soon(lambda: site.states() == ["fresh", "held", "fresh"])
        assert soon(lambda: site.limit_w() == 6_000.0)
    finally:
        site.signals.close()
        vtn.close()


def test_load_targets_of_events_survive_a_restart(vtn: Vtn, site: Followed) -> None:
    """A controller that is started again holds the limit before it has reached the VTN."""
    vtn.add("dr-1", CAPACITY, 0.7)
    assert soon(lambda: site.limit_w() == 7_000.0)
    again = Followed(free_port())  # nobody is there
    again.signals.restore(site.signals.to_data(), again.clock.now_s())
    assert again.limit_w() == 7_000.0
    again.signals.close()


def test_tls_with_certificates_of_both_sides(tmp_path: Path) -> None:
    """Over TLS with signed messages an event arrives; of another authority or signed by another, none does."""
    from openleadr.utils import certificate_fingerprint

    files = certificates(tmp_path)
    ours = certificate_fingerprint(files["ven.cert"].read_text())
    theirs = certificate_fingerprint(files["vtn.cert"].read_text())
    tls = {f"http_{key}": str(files[f"vtn.{key}"]) for key in ("cert", "key")}
    tls |= {"cert": tls["http_cert"], "key": tls["http_key"], "http_ca_file": str(files["ca.cert"])}

    def lookup(ven_id: str) -> dict[str, str]:
        return {"ven_id": ven_id, "ven_name": "site", "fingerprint": ours, "registration_id": "REG1"}

    vtn = Vtn(free_port(), {**tls, "ven_lookup": lookup, "show_fingerprint": False})
    good = {"cert": files["ven.cert"], "key": files["ven.key"], "authority": files["ca.cert"], "fingerprint": theirs}
    (tmp_path / "other").mkdir()
    stranger = certificates(tmp_path / "other")["ca.cert"]
    vtn.add("dr-1", CAPACITY, 0.7)
    site = Followed(vtn.port, **good)
    try:
        assert soon(lambda: site.limit_w() == 7_000.0)
        vtn.add("dr-2", CAPACITY, math.nan)
        vtn.change("dr-1", 0.6)
        assert soon(lambda: site.limit_w() == 6_000.0 and ("dr-2", "optOut") in vtn.opts)
        for wrong, word in (({"authority": stranger}, "certificate"), ({"fingerprint": ours}, "fingerprint")):
            wary = Followed(vtn.port, **{**good, **wrong})
            try:
                assert soon(lambda: wary.signals.problems().get("adr-unanswered", 0) > 1)  # noqa: B023
                assert wary.limit_w() == 10_000.0
                assert word in wary.signals.vtn().lower()
            finally:
                wary.signals.close()
    finally:
        site.signals.close()
        vtn.close()


class Rogue(BaseHTTPRequestHandler):
    """A VTN that answers with what its server was told to: bytes without end, or nonsense."""

    def do_POST(self) -> None:
        """Answer."""
        body: bytes = self.server.body  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(1_000 if body else 1):
                self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("body", "word"), [(b"x" * 100_000, "longer than"), (b"<a>", ""), (b"", "")])
def test_a_vtn_that_answers_nonsense(body: bytes, word: str) -> None:
    """Answers without end are cut off, and what is no message is an answer that did not come; the limit stays."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rogue)
    server.body = body  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    site = Followed(server.server_address[1])
    try:
        assert soon(lambda: site.signals.problems().get("adr-unanswered", 0) > 2)
        assert word in site.signals.vtn()
        assert site.limit_w() == 10_000.0
        assert "adr-ended" not in site.signals.problems()
    finally:
        site.signals.close()
        server.shutdown()
        server.server_close()
        thread.join()


def test_closing_does_not_wait_for_a_vtn_that_hangs() -> None:
    """A controller that ends is not held up by an answer that does not come."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        site = Followed(deaf.getsockname()[1])
        with deaf.accept()[0]:  # it has asked, and nobody answers
            began = time.monotonic()
            site.signals.close()
            assert time.monotonic() - began < 2.0


def test_what_is_wrong_with_a_vtn_is_said_before_the_start(tmp_path: Path) -> None:
    """No plain HTTP beyond this machine, certificates over TLS, a key that only we can read."""
    with pytest.raises(InputError, match="use https"):
        AdrSettings("http://10.0.0.1/OpenADR2/Simple/2.0b", "site")
    with pytest.raises(InputError, match="expected like https"):
        AdrSettings("vtn.site", "site")
    with pytest.raises(InputError, match=r"cert: is missing"):
        AdrSettings("https://vtn.site/", "site")
    for name in ("cert", "key", "ca"):
        (tmp_path / name).touch(mode=0o644)
    with pytest.raises(InputError, match="others can read it"):
        AdrSettings("https://vtn.site/", "site", None, tmp_path / "cert", tmp_path / "key", tmp_path / "ca")


def test_openleadr_is_loaded_by_its_users_alone() -> None:
    """Neither the form of a site nor its signals load it, or anything heavy, without a VTN."""
    code = (
        "import sys, wattline.live.controller.config, wattline.live.signals.open, wattline.live.signals.openadr;"
        "print([m for m in ('openleadr', 'aiohttp', 'numpy', 'lxml') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
