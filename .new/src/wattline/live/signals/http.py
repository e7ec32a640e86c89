"""The signal's door for HTTP: ``POST /signal`` with a bearer token, on loopback unless told otherwise."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from http import HTTPStatus

from wattline.live.clock import Clock
from wattline.live.signals.pushed import LARGEST, Pushed
from wattline.live.web import Answer, Request, Web

PATH = "/signal"


class Door:
    """A server that hands bodies to ``Pushed``: 204 when one is taken, 400 and a line when it is refused."""

    def __init__(
        self,
        pushed: Pushed,
        clock: Clock,
        token: str,
        *,
        host: str = "127.0.0.1",
        port: int = 8470,
        most: int = 32,
        deadline_s: float = 5.0,
        patient: Callable[[str], None] | None = None,
    ) -> None:
        self._pushed, self._clock, self._expected = pushed, clock, f"Bearer {token}".encode()
        self._web = Web(
            self._answer,
            host=host,
            port=port,
            largest=LARGEST,
            most=most,
            deadline_s=deadline_s,
            count=pushed.count,
            patient=patient,
        )
        self.port = self._web.port

    def close(self) -> None:
        """Close the door."""
        self._web.close()

    def _answer(self, request: Request) -> Answer:
        given = request.headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(given, self._expected):
            self._pushed.count("unauthorized")
            asked = "send the token: Authorization: Bearer …\n"
            return Answer(HTTPStatus.UNAUTHORIZED, asked, headers={"WWW-Authenticate": "Bearer"})
        if request.path != PATH:
            self._pushed.count("malformed-request")
            return Answer(HTTPStatus.NOT_FOUND, f"there is only {PATH}\n")
        if request.method != "POST":
            self._pushed.count("malformed-request")
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, f"POST to {PATH}\n", headers={"Allow": "POST"})
        told = self._pushed.take_text(request.body, self._clock.now_s())
        return Answer(HTTPStatus.NO_CONTENT) if told is None else Answer(HTTPStatus.BAD_REQUEST, f"{told}\n")
