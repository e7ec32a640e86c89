"""Metrics for Prometheus: set by name, checked against the table, served on loopback; or switched off."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

from wattline.errors import InputError, did_you_mean
from wattline.live.watch.table import BY_NAME, TABLE, Metric, Who
from wattline.live.web import Answer, Request, Web
from wattline.version import __version__

MOST_WORDS = 64
"""Values of a label; more are counted as ``other``, so that nobody can fill the memory with words."""
OTHER = "other"


class Metrics(Protocol):
    """What controller and agents tell; where metrics are off nothing happens."""

    def set(self, name: str, value: float, word: str = "") -> None:
        """Set a gauge."""

    def add(self, name: str, amount: float = 1.0, word: str = "") -> None:
        """Raise a counter."""

    def total(self, name: str, value: float, word: str = "") -> None:
        """Raise a counter to what another counter of this process shows; one that went back began anew."""

    def totals(self, name: str, counts: dict[str, int]) -> None:
        """Raise a counter for each of its words."""

    def counts(self, name: str, counts: dict[str, int]) -> None:
        """Set a gauge for each of its words; words that are not told are 0."""

    def state(self, name: str, word: str) -> None:
        """Set a gauge to 1 for one of its words and to 0 for the others."""

    def observe(self, name: str, value: float, word: str = "") -> None:
        """Add to a histogram."""

    def close(self) -> None:
        """Stop serving."""


class NoMetrics:
    """Metrics that are off."""

    port = 0

    def set(self, name: str, value: float, word: str = "") -> None:
        """Do nothing."""

    def add(self, name: str, amount: float = 1.0, word: str = "") -> None:
        """Do nothing."""

    def total(self, name: str, value: float, word: str = "") -> None:
        """Do nothing."""

    def totals(self, name: str, counts: dict[str, int]) -> None:
        """Do nothing."""

    def counts(self, name: str, counts: dict[str, int]) -> None:
        """Do nothing."""

    def state(self, name: str, word: str) -> None:
        """Do nothing."""

    def observe(self, name: str, value: float, word: str = "") -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Prometheus:
    """The metrics of a controller or an agent in a registry of their own, at ``http://HOST:PORT/metrics``."""

    def __init__(
        self, who: Who, *, host: str = "127.0.0.1", port: int = 0, patient: Callable[[str], None] | None = None
    ) -> None:
        self._client = _client()
        self._registry = self._client.CollectorRegistry(auto_describe=False)
        self._client.ProcessCollector(registry=self._registry)
        self._made = {metric.name: self._make(metric) for metric in TABLE if who in metric.who}
        self._words: dict[str, set[str]] = {name: set(BY_NAME[name].words) for name in self._made}
        self._totals: dict[tuple[str, str], float] = {}
        for name in self._made:  # what has not happened yet is there as 0
            for word in BY_NAME[name].words:
                self._made[name].labels(word)
        self.set("wattline_build_info", 1.0, __version__)
        self._web = Web(self._answer, host=host, port=port, largest=0, most=16, patient=patient)

    @property
    def port(self) -> int:
        """Where it is served (0: the address is waited for)."""
        return self._web.port

    def set(self, name: str, value: float, word: str = "") -> None:
        """Set a gauge."""
        self._one(name, "gauge", word).set(value)

    def add(self, name: str, amount: float = 1.0, word: str = "") -> None:
        """Raise a counter."""
        self._one(name, "counter", word).inc(amount)

    def total(self, name: str, value: float, word: str = "") -> None:
        """Raise a counter to what another counter of this process shows; one that went back began anew."""
        before = self._totals.get((name, word), 0.0)
        self._totals[(name, word)] = value
        self._one(name, "counter", word).inc(value - before if value >= before else value)

    def totals(self, name: str, counts: dict[str, int]) -> None:
        """Raise a counter for each of its words."""
        for word, count in counts.items():
            self.total(name, float(count), word)

    def counts(self, name: str, counts: dict[str, int]) -> None:
        """Set a gauge for each of its words; words that are not told are 0."""
        for word in self._words[name] | set(counts):
            self.set(name, float(counts.get(word, 0)), word)

    def state(self, name: str, word: str) -> None:
        """Set a gauge to 1 for one of its words and to 0 for the others."""
        self.counts(name, {word: 1})

    def observe(self, name: str, value: float, word: str = "") -> None:
        """Add to a histogram."""
        self._one(name, "histogram", word).observe(value)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text form."""
        found: bytes = self._client.generate_latest(self._registry)
        return found

    def close(self) -> None:
        """Stop serving."""
        self._web.close()

    def _make(self, metric: Metric) -> Any:
        made = {"gauge": self._client.Gauge, "counter": self._client.Counter, "histogram": self._client.Histogram}
        labels = (metric.label,) if metric.label else ()
        more = {"buckets": metric.buckets} if metric.buckets else {}
        return made[metric.kind](metric.name, metric.meaning, labels, registry=self._registry, **more)

    def _one(self, name: str, kind: str, word: str) -> Any:
        metric = BY_NAME.get(name)
        if metric is None or name not in self._made:
            raise InputError(f"metric {name!r}: there is none of this name{did_you_mean(name, self._made)}")
        if metric.kind != kind or bool(metric.label) != bool(word):
            told = f"with the label {metric.label!r}" if metric.label else "without a label"
            raise InputError(f"metric {name!r}: is a {metric.kind} {told}")
        if not word:
            return self._made[name]
        words = self._words[name]
        if word not in words:
            word = word if len(words) < MOST_WORDS else OTHER
            words.add(word)
        return self._made[name].labels(word)

    def _answer(self, request: Request) -> Answer:
        if request.path.partition("?")[0] != "/metrics":
            return Answer(HTTPStatus.NOT_FOUND, "see /metrics\n")
        if request.method not in ("GET", "HEAD"):
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, "GET /metrics\n", headers={"Allow": "GET"})
        body = self.text() if request.method == "GET" else b""
        return Answer(HTTPStatus.OK, body, kind="text/plain; version=0.0.4; charset=utf-8")


def open_metrics(who: Who, listen: str | None, patient: Callable[[str], None] | None = None) -> Prometheus | NoMetrics:
    """Return metrics that are served at ``HOST:PORT``, or switched off (None).

    ``patient`` is told that another program has the address; it is then waited for.
    """
    if listen is None:
        return NoMetrics()
    host, colon, port = listen.rpartition(":")
    if not (colon and port.isascii() and port.isdigit()):
        raise InputError(f"metrics {listen!r}: expected an address and a port like 127.0.0.1:9470")
    return Prometheus(who, host=host.strip("[]"), port=int(port), patient=patient)


def _client() -> Any:
    try:
        client: Any = importlib.import_module("prometheus_client")
    except ModuleNotFoundError:
        raise InputError("metrics need the extra live: pip install 'wattline[live]'") from None
    client.disable_created_metrics()  # times at which counters began; nobody asks for them
    return client
