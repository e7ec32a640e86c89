"""Opening the bus that a configuration asks for."""

from __future__ import annotations

from wattline.errors import InputError
from wattline.live.bus.base import Bus
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.names import Role, Topics
from wattline.live.bus.settings import BusSettings
from wattline.live.clock import Clock

_HUBS: dict[str, Hub] = {}


def hub_of(site: str, clock: Clock) -> Hub:
    """Return the hub that all of this process share who open a bus ``inprocess`` for a site; tests cut its wires."""
    return _HUBS.setdefault(site, Hub(site, clock))


def forget_hubs() -> None:
    """Let the next who opens a bus ``inprocess`` begin with a new hub."""
    _HUBS.clear()


def open_bus(
    settings: BusSettings,
    role: Role,
    name: str,
    clock: Clock,
    *,
    will: tuple[str, bytes] | None = None,
    beside: bool = False,
) -> Bus:
    """Return the bus of somebody; what cannot be is said in one line.

    ``will`` (``Outbox.will``) is what a broker sends when the connection dies; other wires know no wills. ``beside``: a
    controller that listens nowhere, and hears what the one hears that leads.
    """
    topics = Topics(settings.site)
    if settings.kind == "inprocess":
        return hub_of(settings.site, clock).attach(role, name)
    if settings.kind == "mqtt":
        from wattline.live.bus.mqtt import MqttBus

        return MqttBus(
            role,
            name,
            topics,
            host=settings.host,
            port=settings.port,
            password=settings.password,
            authority=settings.authority,
            will=will,
            beside=beside,
        )
    from wattline.live.bus.zeromq import ZmqBus

    if settings.listen is not None and role != "controller":
        raise InputError(f"bus.listen: only a controller listens, and {name} is an {role}; give controllers instead")
    if settings.listen is None and role == "controller" and not beside:
        raise InputError("bus.listen: a controller needs an address to listen on, like tcp://127.0.0.1:7411")
    return ZmqBus(
        role,
        name,
        topics,
        listen=None if beside else settings.listen,
        controllers=settings.controllers if beside or settings.listen is None else None,
        key=None if settings.insecure else settings.key,
        known=None if settings.insecure else settings.known,
    )
