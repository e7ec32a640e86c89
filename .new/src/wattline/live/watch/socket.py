"""The socket of the status: a controller hands out its latest document there, and ``wattline status`` asks for it.

It speaks HTTP over a Unix socket of mode 600, so that other programs can ask, too:
``curl --unix-socket PATH http://wattline/status``.
"""

from __future__ import annotations

import http.client
import os
import socket
import tomllib
from http import HTTPStatus
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.files import open_trace
from wattline.live.watch.document import Document
from wattline.live.web import LONGEST_PATH, Answer, Request, Web

LARGEST = 1 << 20
"""Bytes of a document that are read."""


class StatusServer:
    """Hands out the document that was published last; 503 before the first.

    ``replace``: whoever has the socket has lost the lease to us, so it is taken from him.
    """

    def __init__(self, path: Path | str, *, replace: bool = False) -> None:
        self._text = ""
        self._web = Web(self._answer, path=path, largest=0, most=16, replace=replace)

    def publish(self, document: Document) -> None:
        """Hand out this document from now on."""
        self._text = document.to_json()

    def close(self) -> None:
        """Remove the socket."""
        self._web.close()

    def _answer(self, request: Request) -> Answer:
        if request.method != "GET" or request.path != "/status":
            return Answer(HTTPStatus.NOT_FOUND, "GET /status\n")
        if not self._text:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "nothing is known yet\n")
        return Answer(HTTPStatus.OK, self._text + "\n", kind="application/json")


class _Caller(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("wattline", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def fetch(path: Path | str, timeout_s: float = 5.0) -> Document:
    """Return the latest document of the controller that listens on a socket."""
    where = Path(path)
    if len(os.fsencode(where)) > LONGEST_PATH:
        raise InputError(f"{where}: the name of a socket has at most {LONGEST_PATH} bytes")
    caller = _Caller(where, timeout_s)
    try:
        caller.request("GET", "/status")
        answer = caller.getresponse()
        text = answer.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"{where}: no controller listens there (no such socket); is it running?") from None
    except ConnectionRefusedError:
        raise InputError(f"{where}: no controller listens there any more") from None
    except PermissionError:
        raise InputError(f"{where}: only the user who runs the controller may ask it") from None
    except (OSError, http.client.HTTPException) as problem:
        told = getattr(problem, "strerror", None) or type(problem).__name__
        raise InputError(f"{where}: the controller does not answer ({told})") from None
    finally:
        caller.close()
    if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
        raise InputError(f"{where}: the controller has just begun; ask again in a second")
    if answer.status != HTTPStatus.OK or len(text) > LARGEST:
        raise InputError(f"{where}: what answers there is no controller")
    return Document.from_json(text)


def default_socket(site: str) -> Path:
    """Return where a site's controller listens if its file does not say: a folder that others cannot write."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if folder:
        return Path(folder, f"wattline-{site}.sock")
    return (
        Path(f"/run/wattline/{site}.sock") if Path("/run/wattline").is_dir() else Path.home() / f".wattline-{site}.sock"
    )


def socket_of(site_file: Path | str) -> Path:
    """Return the socket of a site's file: ``[status] socket``, from the file's folder on, or the usual place."""
    with open_trace(site_file) as file:
        try:
            data: dict[str, Any] = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise InputError(f"{site_file}: is not TOML ({problem})") from None
    status = data.get("status", {})
    given = status.get("socket") if isinstance(status, dict) else None
    if given is not None:
        if not isinstance(given, str) or not given:
            raise InputError(f"{site_file}: status.socket: expected the name of a socket (got {given!r})")
        return Path(site_file).parent / given
    site = data.get("site")
    if not isinstance(site, str) or not site or "/" in site:
        raise InputError(f"{site_file}: site: expected the site's name, to find its socket; or give --socket")
    return default_socket(site)
