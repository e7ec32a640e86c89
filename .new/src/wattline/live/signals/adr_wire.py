"""The wire to a VTN: a client of openleadr whose answers are bounded in size and time, and what it complains of."""

from __future__ import annotations

import importlib
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wattline.errors import InputError
from wattline.live.bus.names import host_is_loopback
from wattline.live.secret import check_private
from wattline.live.signals.adr_salvage import salvage

LARGEST = 1_000_000
"""Bytes of an answer: hundreds of events."""
ANSWER_S = 15.0


@dataclass(frozen=True)
class AdrWire:
    """Where the VTN is, and who we are."""

    vtn: str
    """Address, like https://vtn.example:8443/OpenADR2/Simple/2.0b."""
    ven: str
    """Our name."""
    ven_id: str | None = None
    cert: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    fingerprint: str | None = None
    """Of the VTN's certificate: messages that it did not sign are refused."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.vtn)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"[openadr] vtn: expected like https://vtn.site/OpenADR2/Simple/2.0b, got {self.vtn!r}")
        if parts.scheme == "http" and not host_is_loopback(parts.hostname):
            raise InputError(f"[openadr] vtn: {parts.hostname} is another machine: use https, cert, key and authority")
        files = {"cert": self.cert, "key": self.key, "authority": self.authority}
        absent = [name for name, path in files.items() if path is None]
        if parts.scheme == "https" and absent:
            raise InputError(f"[openadr] {absent[0]}: is missing, OpenADR over TLS needs certificates of both sides")
        for name, path in files.items():
            if path is not None and not path.is_file():
                raise InputError(f"[openadr] {name}: {path}: no such file")
        if self.key is not None:
            check_private(self.key)

    @property
    def secure(self) -> bool:
        """Whether it is TLS."""
        return urlsplit(self.vtn).scheme == "https"


class Why(logging.Handler):
    """Keeps the last complaint of openleadr instead of writing it: it would come with every poll."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its first line."""
        self.text = record.getMessage().partition("\n")[0][:200]


def need_openleadr() -> Any:
    """Return the library."""
    try:
        return importlib.import_module("openleadr")
    except ModuleNotFoundError as problem:
        raise InputError(f"OpenADR needs the extra openadr ({problem.name}): pip install 'wattline[openadr]'") from None


def open_client(wire: AdrWire) -> Any:
    """Return a client; to be called inside a loop of asyncio."""
    client = need_openleadr().OpenADRClient(
        ven_name=wire.ven,
        vtn_url=wire.vtn,
        ven_id=wire.ven_id,
        cert=None if wire.cert is None else str(wire.cert),
        key=None if wire.key is None else str(wire.key),
        ca_file=None if wire.authority is None else str(wire.authority),
        vtn_fingerprint=wire.fingerprint,
        show_fingerprint=False,
    )
    client.client_session = _session(wire, client)
    client.bad_events = []  # of the last list: those that openleadr would refuse it for
    return client


def _session(wire: AdrWire, client: Any) -> Any:
    """Return a session as openleadr would open it, but for bounds on what an answer may cost, and on what one event may
    spoil.
    """
    aiohttp: Any = importlib.import_module("aiohttp")

    class Bounded(aiohttp.ClientResponse):  # type: ignore[misc]
        """An answer of bounded size."""

        async def read(self) -> bytes:
            """Read it, or give up."""
            data = bytearray()
            async for part in self.content.iter_chunked(65536):
                data += part
                if len(data) > LARGEST:
                    self.close()
                    raise aiohttp.ClientPayloadError(f"the answer is longer than {LARGEST} bytes")
            content = bytes(data)
            found = salvage(content, wire.fingerprint)
            client.bad_events = [] if found is None else list(found.bad)
            client.vtn_fingerprint = wire.fingerprint if found is None else None  # the list was looked at as it came
            return content if found is None else found.content

    connector = None
    if wire.secure and wire.cert is not None:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=wire.authority)
        context.load_cert_chain(wire.cert, wire.key)
        connector = aiohttp.TCPConnector(ssl=context)
    return aiohttp.ClientSession(
        connector=connector,
        headers={"content-type": "application/xml"},
        timeout=aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=5.0),
        response_class=Bounded,
    )
