"""A Redfish service over HTTP: JSON resources read and changed, with time-outs, and a word for whatever goes wrong."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from wattline.errors import shorten
from wattline.live.power.base import HardwareError

SESSIONS = "/redfish/v1/SessionService/Sessions"
MOVED = (301, 302, 307, 308)
LATE_S = 0.1
"""So much later than the socket's time-out would, the alarm rings."""
LARGEST = 1 << 20
"""Bytes of an answer that are read."""
_WORDS = {401: "bmc-auth", 403: "bmc-auth", 404: "bmc-missing", 412: "bmc-changed", 428: "bmc-changed"}
"""By HTTP status; others are bmc-refused, and bmc-error from 500 on."""


class BmcError(HardwareError):
    """A request that failed; ``word`` is what it is counted under."""

    def __init__(self, word: str, told: str) -> None:
        super().__init__(told)
        self.word = word


class Bmc:
    """One service, for one thread at a time.

    Parameters
    ----------
    url
        Like ``https://bmc-n001``; a path in it is refused.
    user, password
        Of an account that may read power and, if limits are to be set, configure components.
    auth
        "session": one is opened and closed again; "basic": name and password go with every request.
    authority
        PEM file of who signed the certificate (or the certificate itself, if it signed itself); empty: those of the
        system.
    verify
        Whether the certificate must be right. Without, whoever answers at this address is given the password.
    timeout_s
        Seconds of the wall that a request may take.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str,
        password: str,
        auth: Literal["session", "basic"] = "session",
        authority: str = "",
        verify: bool = True,
        timeout_s: float = 3.0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"https", "http"} or not parts.hostname or parts.path.strip("/"):
            raise HardwareError(f"{shorten(url)}: expected the address of a BMC like https://bmc-n001")
        self.url, self.timeout_s = url.rstrip("/"), timeout_s
        self._user, self._password, self._auth = user, password, auth
        self._host, self._port, self._tls = parts.hostname, parts.port, None
        if parts.scheme == "https":
            self._tls = _context(authority, verify=verify)
        self._line: http.client.HTTPConnection | None = None
        self._token = self._session = ""

    def get(self, path: str) -> tuple[dict[str, Any], str]:
        """Return a resource and its ETag ("": it has none)."""
        status, headers, body = self._ask("GET", path)
        _require(status, path, body)
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            raise BmcError("bmc-garbage", f"{self.url}{path}: the answer is no JSON") from None
        if not isinstance(data, dict):
            raise BmcError("bmc-garbage", f"{self.url}{path}: the answer is no JSON object")
        told = headers.get("etag") or data.get("@odata.etag")
        return data, told if isinstance(told, str) else ""

    def _elsewhere(self, path: str, location: str) -> str:
        """Return where a resource is said to be; only on this service, which alone is told who we are."""
        there = urlsplit(location)
        if not there.path.startswith("/redfish/") or there.hostname not in {None, self._host}:
            raise BmcError("bmc-refused", f"{self.url}{path}: leads to {shorten(location)}, which is not followed")
        return there.path

    def patch(self, path: str, body: dict[str, Any], etag: str = "") -> None:
        """Change a resource, if it still has this ETag."""
        status, _, answer = self._ask("PATCH", path, body, {"If-Match": etag} if etag else {})
        _require(status, path, answer)

    def close(self) -> None:
        """End the session and hang up."""
        if self._session:
            with contextlib.suppress(BmcError):
                self._send("DELETE", self._session, None, self._who())
        self._token = self._session = ""
        self._hang_up()

    # ------------------------------------------------------------------ requests

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        if self._auth == "session" and not self._token:
            self._log_in()
        answer = self._send(method, path, body, self._who() | (headers or {}))
        if answer[0] == 401 and self._auth == "session":  # sessions end after a while without requests
            self._log_in()
            answer = self._send(method, path, body, self._who() | (headers or {}))
        if answer[0] in MOVED:  # some BMCs want a slash at the end
            there = self._elsewhere(path, answer[1].get("location", ""))
            answer = self._send(method, there, body, self._who() | (headers or {}))
        return answer

    def _who(self) -> dict[str, str]:
        if self._auth == "session":
            return {"X-Auth-Token": self._token}
        pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}

    def _log_in(self) -> None:
        self._token = self._session = ""
        status, headers, body = self._send("POST", SESSIONS, {"UserName": self._user, "Password": self._password}, {})
        _require(status, SESSIONS, body)
        token = headers.get("x-auth-token", "")
        if not token or not token.isascii() or not token.isprintable():
            raise BmcError("bmc-garbage", f'{self.url}{SESSIONS}: gave no token; try auth = "basic"')
        self._token, self._session = token, urlsplit(headers.get("location") or _own_path(body)).path

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request; once more on a new connection where a kept one turns out to be closed."""
        kept = self._line is not None
        try:
            return self._send_once(method, path, body, headers)
        except BmcError as problem:
            if not kept or problem.word != "bmc-unreachable":
                raise
        return self._send_once(method, path, body, headers)

    def _send_once(
        self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        where, until_s = f"{self.url}{path}", time.monotonic() + self.timeout_s
        payload = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "OData-Version": "4.0"} | headers
        if payload is not None:
            headers["Content-Type"] = "application/json"
        try:
            line = self._line or self._connect()
            self._line, line.timeout = line, self.timeout_s
            if line.sock is not None:
                line.sock.settimeout(self.timeout_s)
            line.request(method, path, payload, headers)
            with _within(line.sock, until_s):
                response = line.getresponse()
                text = _read(response, where, until_s)
            if response.will_close:
                self._hang_up()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, text
        except BmcError:
            self._hang_up()
            raise
        except TimeoutError:
            self._hang_up()
            raise BmcError("bmc-timeout", f"{where}: no answer within {self.timeout_s:g} s") from None
        except ssl.SSLCertVerificationError as problem:
            self._hang_up()
            raise BmcError(
                "bmc-certificate", f"{where}: its certificate is not trusted ({problem.verify_message}); set authority"
            ) from None
        except (http.client.RemoteDisconnected, OSError) as problem:
            self._hang_up()
            told = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
            raise BmcError("bmc-unreachable", f"{where}: cannot be reached ({told})") from None
        except (http.client.HTTPException, ValueError) as problem:
            self._hang_up()
            raise BmcError("bmc-garbage", f"{where}: the answer is no HTTP ({type(problem).__name__})") from None

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self.timeout_s, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self.timeout_s)

    def _hang_up(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.close()
        self._line = None


@contextlib.contextmanager
def _within(sock: socket.socket | None, until_s: float) -> Iterator[None]:
    """Hang up at a time: a socket's own time-out begins anew with every byte that drips in."""

    def hang_up() -> None:
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    alarm = threading.Timer(max(0.0, until_s - time.monotonic()) + LATE_S, hang_up)
    alarm.daemon = True
    alarm.start()
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError):
        if time.monotonic() > until_s:
            raise TimeoutError from None
        raise
    finally:
        alarm.cancel()


def _read(response: http.client.HTTPResponse, where: str, until_s: float) -> bytes:
    """Return an answer that is neither too long nor too slow."""
    text = bytearray()
    while part := response.read1(65536):
        text += part
        if len(text) > LARGEST:
            raise BmcError("bmc-garbage", f"{where}: the answer is longer than {LARGEST} bytes")
        if time.monotonic() > until_s:
            raise TimeoutError
    response.close()
    return bytes(text)


def _context(authority: str, *, verify: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=authority or None)
    except (OSError, ssl.SSLError) as problem:
        told = getattr(problem, "strerror", None) or str(problem)
        raise HardwareError(f"{authority}: is no file of certificates in PEM ({told})") from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _require(status: int, path: str, body: bytes) -> None:
    if 200 <= status < 300:
        return
    word = _WORDS.get(status, "bmc-error" if status >= 500 else "bmc-refused")
    raise BmcError(word, f"{path}: answered {status}{_message(body)}")


def _own_path(body: bytes) -> str:
    """Return where a resource says that it is."""
    try:
        path = json.loads(body)["@odata.id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return path if isinstance(path, str) and path.startswith("/redfish/") else ""


def _message(body: bytes) -> str:
    """Return what a Redfish error says, in a few words."""
    try:
        error = json.loads(body)["error"]
        more = error.get("@Message.ExtendedInfo") or [error]
        text = str(more[0].get("Message") or more[0].get("message") or error.get("message") or "")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return ""
    return f": {shorten(' '.join(text.split()))}" if text else ""


def read_login(text: str, path: Path | str) -> tuple[str, str]:
    """Return name and password of a file's only line NAME:PASSWORD."""
    lines = [line for line in text.splitlines() if line.strip()]
    name, colon, password = lines[0].partition(":") if len(lines) == 1 else ("", "", "")
    if not (name and colon and password):
        raise HardwareError(f"{path}: expected one line NAME:PASSWORD")
    return name, password
