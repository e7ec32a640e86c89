"""The bus over MQTT, where a broker exists: QoS 0, TLS, passwords, retained caps, a last will.

No thread reads or writes behind the caller's back; one lives only as long as a connection is being made, since that may
take seconds. The broker's access list says who may write what (``mosquitto.py``), so messages carry no sender's name.
"""

from __future__ import annotations

import random
import select
import ssl
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from wattline.errors import InputError, TraceError
from wattline.live.bus.base import Arrived
from wattline.live.bus.keys import read_secret
from wattline.live.bus.messages import LARGEST
from wattline.live.bus.names import Role, Topics, checked_name

ROOM, UNSENT = 50_000, 2_000
"""Messages that wait to be read, and to be written; more are dropped."""
KEEPALIVE_S = 15
_CONNECT_S, _FIRST_S, _LAST_S = 5.0, 0.25, 30.0
_COUNTS = ("sent", "received", "unsent", "full", "oversized", "refused", "connected", "lost", "unreachable")


class MqttBus:
    """Somebody's connection to a broker; for one thread.

    Parameters
    ----------
    role, name, topics
        Who this is.
    host, port
        Where the broker is.
    password
        File of mode 600 with ``NAME:PASSWORD``; None: none is asked for.
    authority
        File of the certificate authority (PEM) by which the broker's certificate is checked; None: no TLS.
    will
        Topic and message that the broker is to send when this connection dies.
    beside
        Somebody of the same name may be connected already, and stays so: a broker takes two of one name for one.
    """

    def __init__(
        self,
        role: Role,
        name: str,
        topics: Topics,
        *,
        host: str,
        port: int,
        password: Path | None = None,
        authority: Path | None = None,
        will: tuple[str, bytes] | None = None,
        beside: bool = False,
    ) -> None:
        mqtt = need_paho()
        self.role, self.name, self.topics = role, checked_name(name), topics
        self._mqtt = mqtt
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._prefixes: list[str] = []
        self._tls: _Trust | None = None
        self._found: deque[Arrived] = deque()
        self._ready, self._queued, self._closed = False, 0, False
        self._connecting: threading.Thread | None = None
        self._failed, self._wait_s, self._next_s = False, _FIRST_S, 0.0
        several = f"-{random.getrandbits(32):08x}" if role == "operator" or beside else ""
        client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, f"wattline-{topics.site}-{name}{several}", reconnect_on_failure=False
        )
        if password is not None:
            client.username_pw_set(*read_password(password, name))
        if authority is not None:
            self._tls = _trusting(authority)
            client.tls_set_context(self._tls)
        if will is not None:
            client.will_set(will[0], will[1], qos=0)
        client.connect_timeout = _CONNECT_S
        client.on_connect, client.on_disconnect, client.on_message = (
            self._on_connect,
            self._on_disconnect,
            self._on_message,
        )
        client.connect_async(host, port, KEEPALIVE_S)
        self._client = client
        self._connect()

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:
        """Hand a message to the broker; return False when it was dropped."""
        if len(payload) > LARGEST:
            self._counts["oversized"] += 1
            return False
        if not self._ready:
            self._turn()
            if not self._ready:
                self._counts["unsent"] += 1
                return False
        client = self._client
        if client.want_write():
            client.loop_write()
            if client.want_write() and self._queued >= UNSENT:
                self._counts["full"] += 1
                return False
        told = client.publish(topic, payload, qos=0, retain=keep)
        self._queued = self._queued + 1 if client.want_write() else 0
        if told.rc != self._mqtt.MQTT_ERR_SUCCESS:
            self._counts["unsent"] += 1
            return False
        self._counts["sent"] += 1
        return True

    def subscribe(self, prefix: str) -> None:
        """Ask for all topics that begin with these whole words; an agent asks for its topics by their full names."""
        if prefix not in self._prefixes:
            self._prefixes.append(prefix)
            if self._ready:
                self._client.subscribe(self._filter(prefix), qos=0)

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Return what has come in, waiting up to some seconds of the wall for the first message."""
        until_s = time.monotonic() + timeout_s
        while True:
            self._turn()
            left_s = until_s - time.monotonic()
            if self._found or left_s <= 0.0 or self._closed:
                break
            self._wait(left_s)
        found = list(self._found)
        self._found.clear()
        self._counts["received"] += len(found)
        return found

    def counts(self) -> dict[str, int]:
        """Return how many messages were sent, received and dropped, by reason, and how connections fared."""
        return dict(self._counts)

    def fileno(self) -> int:
        """Return the connection's file number, to be waited for by others; -1 without a connection."""
        socket = self._client.socket() if self._connecting is None else None
        return int(socket.fileno()) if socket is not None else -1

    def close(self) -> None:
        """Say goodbye, so that the broker does not send the will; twice is as good as once."""
        if self._closed:
            return
        self._closed = True
        if self._connecting is not None:
            self._connecting.join(2.0 * _CONNECT_S)
        self._client.on_disconnect = None
        self._client.disconnect()
        until_s = time.monotonic() + 0.5
        while self._client.want_write() and time.monotonic() < until_s and self._client.socket() is not None:
            self._client.loop_write()
        socket = self._client.socket()
        if socket is not None:
            socket.close()
        self._client._reset_sockets()  # (paho lets go of its sockets when the broker does, not before)

    def _turn(self) -> None:
        """Do what is to be done on the wire, without waiting."""
        if self._connecting is not None:
            if self._connecting.is_alive():
                return
            self._connecting = None
            if self._failed:
                self._counts["unreachable"] += 1
                self._later()
        client = self._client
        if client.socket() is None:
            self._ready = False
            if not self._closed and time.monotonic() >= self._next_s:
                self._connect()
            return
        idle = 0
        while idle < 2 and len(self._found) < ROOM and client.socket() is not None:
            before = len(self._found)
            client.loop_read()
            idle = 0 if len(self._found) > before else idle + 1
        if client.want_write():
            client.loop_write()
        client.loop_misc()

    def _connect(self) -> None:
        def work() -> None:
            try:
                self._client.reconnect()
                self._failed = False
            except (OSError, ValueError, ssl.SSLError):
                self._failed = True
                if self._tls is not None and self._tls.last is not None:
                    self._tls.last.close()  # paho forgets a socket whose other side it does not trust

        self._connecting = threading.Thread(target=work, name="wattline-mqtt-connect", daemon=True)
        self._connecting.start()

    def _later(self) -> None:
        self._next_s = time.monotonic() + self._wait_s * (0.5 + random.random())
        self._wait_s = min(2.0 * self._wait_s, _LAST_S)

    def _wait(self, left_s: float) -> None:
        if self._connecting is not None:
            self._connecting.join(min(left_s, 0.5))
            return
        number = self.fileno()
        if number < 0:
            time.sleep(min(left_s, 0.05))
            return
        poller = select.poll()
        poller.register(number, select.POLLIN | (select.POLLOUT if self._client.want_write() else 0))
        poller.poll(max(1.0, min(left_s, 0.5) * 1000.0))

    def _filter(self, prefix: str) -> str:
        return prefix if self.role == "agent" else f"{prefix}/#"

    def _on_connect(self, client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self._counts["refused"] += 1
            return
        self._ready, self._wait_s = True, _FIRST_S
        self._counts["connected"] += 1
        if self._prefixes:
            client.subscribe([(self._filter(prefix), 0) for prefix in self._prefixes])

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, _reason: Any, _more: Any) -> None:
        self._counts["lost"] += self._ready
        self._ready = False
        self._later()

    def _on_message(self, _client: Any, _data: Any, message: Any) -> None:
        if len(message.payload) > LARGEST:
            self._counts["oversized"] += 1
        else:
            self._found.append(Arrived(message.topic, message.payload, ""))


def need_paho() -> Any:
    """Return paho's module; say in one line what is missing."""
    try:
        import paho.mqtt.client as mqtt
    except ImportError as problem:
        raise InputError(f"the bus mqtt needs the extra live ({problem.name}): pip install 'wattline[live]'") from None
    return mqtt


def read_password(path: Path, name: str) -> tuple[str, str]:
    """Return user and password of a file that only we can read; the user is who the bus says it is."""
    user, colon, password = read_secret(path).strip("\r\n").partition(":")
    if not colon or not password or "\n" in password:
        raise TraceError.at(path, "expected one line NAME:PASSWORD")
    if user != name:
        raise TraceError.at(path, f"is the password of {user}, not of {name}")
    return user, password


class _Trust(ssl.SSLContext):
    """What is needed to check a broker's certificate; knows the last connection that was begun."""

    last: ssl.SSLSocket | None = None

    def wrap_socket(self, *words: Any, **named: Any) -> ssl.SSLSocket:
        """Begin TLS on a connection."""
        self.last = super().wrap_socket(*words, **named)
        return self.last


def _trusting(authority: Path) -> _Trust:
    context = _Trust(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(str(authority))
    except (OSError, ssl.SSLError) as problem:
        raise TraceError.at(authority, f"is no certificate authority in PEM form ({problem})") from None
    return context
