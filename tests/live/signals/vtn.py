"""A VTN of openleadr on loopback, in a thread of its own, and certificates for it and for us."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import warnings
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

PATH = "/OpenADR2/Simple/2.0b"


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Vtn:
    """A server of events; ``opts`` tells what was answered to each."""

    def __init__(self, port: int, tls: dict[str, Any] | None = None) -> None:
        self.port, self._tls = port, tls or {}
        self.opts: list[tuple[str, str]] = []
        self.server: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self._start())

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10.0)

    async def _start(self) -> None:
        from openleadr import OpenADRServer

        async def register(info: Any) -> tuple[str, str]:
            return "VEN1", "REG1"

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.server = OpenADRServer(
                vtn_id="VTN1", http_port=self.port, requested_poll_freq=timedelta(seconds=1), **self._tls
            )
            self.server.add_handler("on_create_party_registration", register)
            await self.server.run()

    def add(self, event_id: str, kind: tuple[str, str], *values: float, lasts_s: float = 600.0, **periods: Any) -> None:
        """Offer an event that starts now, with intervals of the same length."""

        async def work() -> None:
            now, step = datetime.now(UTC), timedelta(seconds=lasts_s)
            rows = [{"dtstart": now + k * step, "duration": step, "signal_payload": v} for k, v in enumerate(values)]
            self.server.add_event("VEN1", *kind, rows, event_id=event_id, callback=self._answered)
            self._find(event_id).active_period.update(periods)

        self._do(work())

    def _find(self, event_id: str) -> Any:
        return next(e for e in self.server.events["VEN1"] if e.event_descriptor.event_id == event_id)

    def change(self, event_id: str, value: float) -> None:
        """Change the value of an event."""

        async def work() -> None:
            event = self._find(event_id)
            for row in event.event_signals[0].intervals:
                row["signal_payload"] = value
            event.event_descriptor.modification_number += 1
            self.server.event_callbacks[event_id] = (event, self._answered)
            self.server.events_updated["VEN1"] = True

        self._do(work())

    def cancel(self, event_id: str) -> None:
        """Cancel an event."""

        async def work() -> None:
            self.server.cancel_event("VEN1", event_id)

        self._do(work())

    def forget(self, event_id: str) -> None:
        """Leave an event out of the lists from now on."""

        async def work() -> None:
            self.server.events["VEN1"].remove(self._find(event_id))
            self.server.events_updated["VEN1"] = True

        self._do(work())

    def _answered(self, ven_id: str, event_id: str, opt_type: str) -> None:
        self.opts.append((event_id, opt_type))

    async def _end(self) -> None:
        for site in self.server.app_runner.sites:
            for listening in site._server.sockets:
                self._loop.remove_reader(listening)  # nobody else is let in
        for _ in range(5):
            await asyncio.sleep(0)  # who was just let in is known: asyncio leaves his socket open otherwise
        await self.server.stop()

    def close(self) -> None:
        """Stop serving."""
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        self._loop.close()


def soon(found: Callable[[], bool], within_s: float = 5.0) -> bool:
    """Wait until something is so."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if found():
            return True
        time.sleep(0.02)
    return found()


def certificates(folder: Path) -> dict[str, Path]:
    """Make an authority and two certificates that it signed, ``vtn`` (for 127.0.0.1) and ``ven``."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    files: dict[str, Path] = {}
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "vtn", "ven")}
    for name, key in keys.items():
        made = (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named("ca"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(keys["ca"].public_key()), critical=False)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
            )
            .sign(keys["ca"], hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        plain, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        for what, data in (("cert", made.public_bytes(pem)), ("key", key.private_bytes(pem, plain, none))):
            path = folder / f"{name}.{what}"
            path.write_bytes(data)
            path.chmod(0o600)
            files[path.name] = path
    return files
