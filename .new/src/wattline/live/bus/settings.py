"""The ``[bus]`` section that configurations of agents and controllers share: which wire, where, and which keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from wattline.live.bus.names import NAME, host_is_loopback

_ENDPOINT = re.compile(r"tcp://(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._*-]+):(?P<port>\d{1,5}|\*)")


class BusSettings(BaseModel):
    """How somebody is connected to the others of a site."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["zeromq", "mqtt", "inprocess"] = "zeromq"
    site: str
    """Part of every topic; keys belong to one site."""
    listen: str | None = None
    """zeromq, controllers only: where the others connect to, like "tcp://127.0.0.1:7411"."""
    listen_beyond_loopback: bool = False
    """Listen on an address that other machines can reach."""
    controllers: dict[str, str] = Field(default_factory=dict)
    """zeromq: name and address of each controller, the one that stands by too."""
    key: Path | None = None
    """zeromq: file of our own keys, mode 600."""
    known: Path | None = None
    """zeromq: file of everybody's public keys."""
    insecure: bool = False
    """No keys, no passwords, no TLS: for benchmarks, on loopback only."""
    host: str = "127.0.0.1"
    """mqtt: where the broker is."""
    port: int = Field(8883, ge=1, le=65535)
    password: Path | None = None
    """mqtt: file with NAME:PASSWORD, mode 600."""
    authority: Path | None = None
    """mqtt: certificate authority (PEM) that signed the broker's certificate; needed where the broker is elsewhere."""

    @field_validator("site")
    @classmethod
    def _site(cls, value: str) -> str:
        if NAME.fullmatch(value) is None:
            raise ValueError("expected letters, digits, '.', '_' and '-' (63 at most), first a letter or digit")
        return value

    @field_validator("listen")
    @classmethod
    def _listen(cls, value: str | None) -> str | None:
        if value is not None and _ENDPOINT.fullmatch(value) is None:
            raise ValueError("expected an address like tcp://127.0.0.1:7411")
        return value

    @field_validator("controllers")
    @classmethod
    def _controllers(cls, value: dict[str, str]) -> dict[str, str]:
        for name, endpoint in value.items():
            if NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} is no name of a controller")
            if _ENDPOINT.fullmatch(endpoint) is None or "*" in endpoint:
                raise ValueError(f"{name}: expected an address like tcp://127.0.0.1:7411 (got {endpoint!r})")
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.kind == "zeromq":
            self._zeromq()
        elif self.kind == "mqtt":
            self._mqtt()
        return self

    def _zeromq(self) -> None:
        if self.listen is None and not self.controllers:
            raise ValueError("give controllers = {NAME = 'tcp://HOST:PORT'}, or listen for a controller")
        if self.listen is not None and not is_loopback(self.listen) and not self.listen_beyond_loopback:
            raise ValueError(
                f"listen = {self.listen!r} can be reached from other machines; "
                "set listen_beyond_loopback = true if that is meant"
            )
        if self.insecure:
            far = [e for e in (self.listen, *self.controllers.values()) if e is not None and not is_loopback(e)]
            if far:
                raise ValueError(f"insecure = true is for loopback only, not for {far[0]!r}")
        elif self.key is None or self.known is None:
            raise ValueError("give the files key and known (make them with: wattline keys)")

    def _mqtt(self) -> None:
        near = host_is_loopback(self.host)
        if self.insecure and not near:
            raise ValueError(f"insecure = true is for loopback only, not for {self.host!r}")
        if not self.insecure and self.password is None:
            raise ValueError("give the file password (one line NAME:PASSWORD, mode 600)")
        if self.authority is None and not near:
            raise ValueError(f"the broker {self.host!r} is another machine: give authority, so that TLS is used")


def is_loopback(endpoint: str) -> bool:
    """Tell whether an address like ``tcp://127.0.0.1:7411`` stays inside this machine."""
    found = _ENDPOINT.fullmatch(endpoint)
    return found is not None and host_is_loopback(found["host"])
