"""What Prometheus is told of a node."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_kit import NODE, ONE, World

from wattline.errors import InputError
from wattline.live.agent.config import read_settings
from wattline.live.watch.table import BY_NAME


class Told:
    """Remembers what was told; names that the table does not have are refused."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.words: dict[str, str] = {}

    def set(self, name: str, value: float, word: str = "") -> None:
        """Note a number."""
        assert "agent" in BY_NAME[name].who
        assert not word
        self.values[name] = value

    def state(self, name: str, word: str) -> None:
        """Note a word."""
        assert word in BY_NAME[name].words
        self.words[name] = word

    def totals(self, name: str, counts: dict[str, int]) -> None:
        """Note a sum."""
        self.values[name] = sum(counts.values())


def test_a_status_is_told_to_prometheus_too(world: Callable[..., World]) -> None:
    """Power, cap, limit, lease, mode and the PID's error are those of the status that goes over the bus."""
    one, told = world(), Told()
    one.agent.metrics = told  # type: ignore[assignment]
    one.cap(200.0)
    one.run(3.0)
    last = one.last()
    assert told.words["wattline_node_mode"] == last["mode"] == "led"
    assert told.values["wattline_node_cap_watts"] == last["cap_w"] == 200.0
    assert told.values["wattline_node_power_watts"] == last["w"]
    assert told.values["wattline_node_pid_error_watts"] == pytest.approx(200.0 - last["w"])
    assert told.values["wattline_node_lease_seconds"] == last["lease"]
    assert math.isfinite(told.values["wattline_node_limit_watts"])
    named = {*told.values, *told.words, "wattline_build_info"}  # the last is set where metrics are opened
    assert named == {name for name, metric in BY_NAME.items() if "agent" in metric.who}


def test_metrics_are_of_one_node(tmp_path: Path) -> None:
    """A file of several nodes with an address for metrics is refused in a line."""
    path = tmp_path / "agents.toml"
    nodes = ONE.format(name="a") + ONE.format(name="b")
    path.write_text(NODE.format(more="", nodes=nodes) + '[metrics]\nlisten = "127.0.0.1:0"\n')
    with pytest.raises(InputError, match=r"\[metrics\] listen: metrics are of one node, and this file has 2"):
        read_settings(path)
