"""A bus is opened as its settings say, and never more openly than they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bus_parts import TOPICS, Time, sent, until
from pydantic import ValidationError

from wattline.errors import InputError
from wattline.live.bus.keys import make_keys
from wattline.live.bus.open import forget_hubs, hub_of, open_bus
from wattline.live.bus.settings import BusSettings

NEAR = "tcp://127.0.0.1:7411"
KEYS = {"key": "a.key", "known": "public.keys"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({**KEYS, "listen": "tcp://0.0.0.0:7411"}, "listen_beyond_loopback = true"),
        ({**KEYS, "listen": "tcp://*:7411"}, "listen_beyond_loopback = true"),
        ({**KEYS, "listen": "tcp://head1:7411"}, "listen_beyond_loopback = true"),
        ({**KEYS, "listen": "tcp://[::]:7411"}, "listen_beyond_loopback = true"),
        ({**KEYS, "listen": "ipc:///tmp/x"}, "expected an address"),
        ({**KEYS, "listen": "tcp://0.0.0.0:7411", "listen_beyond_loopback": True, "insecure": True}, "loopback only"),
        ({"controllers": {"c": "tcp://10.0.0.1:7411"}, "insecure": True}, "loopback only"),
        ({**KEYS, "controllers": {"c": "10.0.0.1"}}, "expected an address"),
        ({**KEYS, "controllers": {"a/b": NEAR}}, "no name"),
        ({"listen": NEAR}, "give the files key and known"),
        (KEYS, "give controllers"),
        ({**KEYS, "listen": NEAR, "sight": 1}, "Extra inputs"),
        ({**KEYS, "listen": NEAR, "site": "a/b"}, "expected letters"),
        ({"kind": "mqtt", "host": "broker", "password": "p"}, "give authority"),
        ({"kind": "mqtt", "host": "broker", "insecure": True, "authority": "ca.pem"}, "loopback only"),
        ({"kind": "mqtt"}, "give the file password"),
    ],
)
def test_refusals(given: dict[str, Any], told: str) -> None:
    """Nothing listens beyond loopback and nothing goes without keys unless the settings say so."""
    with pytest.raises(ValidationError) as problem:
        BusSettings(**{"site": "demo", **given})
    assert told in problem.value.errors()[0]["msg"]


def test_what_is_meant_is_taken() -> None:
    """Beyond loopback with keys and with a word, and a broker elsewhere with TLS."""
    beyond = {"listen": "tcp://0.0.0.0:7411", "listen_beyond_loopback": True, "key": Path("k"), "known": Path("p")}
    broker = {"kind": "mqtt", "host": "broker", "password": Path("p"), "authority": Path("ca.pem")}
    for given in (beyond, broker):
        taken = BusSettings(**{"site": "demo", **given})
        assert {name: getattr(taken, name) for name in given} == given


@pytest.fixture
def _clean() -> Iterator[None]:
    forget_hubs()
    yield
    forget_hubs()


@pytest.mark.usefixtures("_clean")
def test_a_bus_of_each_kind_is_opened(tmp_path: Path) -> None:
    """Agents and controllers that open a bus by the same settings hear each other."""
    clock = Time().clock
    make_keys(tmp_path, "demo", [("controller", "controller"), ("agent", "n001")])
    near = BusSettings(site="demo", kind="inprocess")
    secret, known = tmp_path / "secret", tmp_path / "public.keys"
    wired = BusSettings(site="demo", listen="tcp://127.0.0.1:*", key=secret / "controller.key", known=known)
    for given in (near, wired):
        settings, controller = given, open_bus(given, "controller", "controller", clock)
        if given is wired:
            at = {"controller": controller.endpoint}  # type: ignore[attr-defined]
            settings = BusSettings(site="demo", controllers=at, key=secret / "n001.key", known=known)
        agent = open_bus(settings, "agent", "n001", clock)
        controller.subscribe(TOPICS.status())
        sent(agent, TOPICS.status("n001"), b"s")
        assert until(controller, bool) == [(TOPICS.status("n001"), b"s", "n001")]
        agent.close()
        controller.close()
    assert hub_of("demo", clock) is hub_of("demo", clock)
    with pytest.raises(InputError, match="only a controller listens"):
        open_bus(wired, "agent", "n001", clock)
    with pytest.raises(InputError, match="needs an address"):
        open_bus(settings, "controller", "controller", clock)
