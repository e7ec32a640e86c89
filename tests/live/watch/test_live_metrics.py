"""Metrics: one table, served for Prometheus, documented, and used by the dashboard."""

from __future__ import annotations

import http.client
import json
import math
import re
import sys
import time
from collections.abc import Iterator
from importlib import resources

import pytest
from metrics_doc import PAGE, generated

from wattline.errors import InputError
from wattline.live.watch.document import SignalStatus
from wattline.live.watch.metrics import MOST_WORDS, NoMetrics, Prometheus, open_metrics
from wattline.live.watch.table import BY_NAME, TABLE, series_names

UNITS = ("_watts", "_seconds", "_total", "_ratio", "_info")
PLAIN = {"wattline_signal_value", "wattline_signal_state", "wattline_jobs", "wattline_nodes", "wattline_lease_term"}
PLAIN |= {"wattline_leader", "wattline_node_mode", "wattline_nodes_distrusted"}
"""Metrics that have no unit."""


@pytest.fixture
def metrics() -> Iterator[Prometheus]:
    """Metrics of a controller."""
    made = Prometheus("controller")
    yield made
    made.close()


def served(metrics: Prometheus, path: str = "/metrics", method: str = "GET") -> tuple[int, str]:
    """Return what Prometheus gets."""
    caller = http.client.HTTPConnection("127.0.0.1", metrics.port, timeout=10)
    try:
        caller.request(method, path)
        got = caller.getresponse()
        return got.status, got.read().decode()
    finally:
        caller.close()


@pytest.mark.parametrize(
    ("signal", "fires"),
    [
        (SignalStatus(), False),
        (SignalStatus(0.3, "fresh", 1.0), False),
        (SignalStatus(0.3, "held", 20.0), True),
        (SignalStatus(0.0, "baseline", math.inf), True),
    ],
)
def test_the_alarm_of_a_signal_that_stopped(metrics: Prometheus, signal: SignalStatus, *, fires: bool) -> None:
    """It fires where a signal is followed and is not fresh; a site that follows none has no value."""
    alarm = r'`wattline_signal_state{state="fresh"} == 0 and ignoring(state) wattline_signal_value >= -1`'
    assert alarm in PAGE.read_text(encoding="utf-8")
    metrics.set("wattline_signal_value", signal.value)
    metrics.state("wattline_signal_state", signal.state)
    text = served(metrics)[1]
    fresh, value = (
        float(re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[0])
        for name in ('wattline_signal_state{state="fresh"}', "wattline_signal_value")
    )
    assert (fresh == 0.0 and value >= -1.0) == fires


def test_an_address_that_another_has_is_waited_for_where_that_is_meant(metrics: Prometheus) -> None:
    """Whoever takes over from a controller that hangs serves its metrics as soon as the address is free."""
    at = f"127.0.0.1:{metrics.port}"
    with pytest.raises(InputError, match="cannot listen"):
        open_metrics("controller", at)
    said: list[str] = []
    second = open_metrics("controller", at, said.append)
    assert isinstance(second, Prometheus)
    assert (len(said), second.port) == (1, 0)
    metrics.close()
    deadline_s = time.monotonic() + 10.0
    while not second.port and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert served(second)[0] == 200
    third = open_metrics("controller", at, said.append)
    third.close()  # it need not get the address
    second.close()


def test_names_are_in_the_style_of_prometheus() -> None:
    """Each begins with wattline_, ends with its unit, counters with _total; each has a sentence; none is twice."""
    assert len(BY_NAME) == len(TABLE)
    for metric in TABLE:
        assert re.fullmatch(r"wattline_[a-z_]+", metric.name)
        assert metric.name.endswith(UNITS) != (metric.name in PLAIN)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.meaning.endswith(".")


def test_the_page_lists_all_metrics() -> None:
    """docs/live/metrics.md is printed from the table: scripts/update-golden."""
    assert PAGE.read_text(encoding="utf-8") == generated()
    assert all(f"`{metric.name}`" in generated() for metric in TABLE)


def test_what_is_told_is_served(metrics: Prometheus) -> None:
    """Gauges, counters, states and histograms under the names of the table; what has not happened is there as 0."""
    metrics.set("wattline_target_watts", 1234.5)
    metrics.add("wattline_caps_sent_total", 3)
    metrics.add("wattline_caps_sent_total")
    metrics.state("wattline_signal_state", "fresh")
    metrics.state("wattline_signal_state", "held")
    metrics.counts("wattline_nodes", {"led": 30, "silent": 2})
    metrics.observe("wattline_pass_seconds", 0.0007, "full")
    metrics.totals("wattline_messages_dropped_total", {"forged": 2})
    metrics.totals("wattline_messages_dropped_total", {"forged": 5})
    metrics.totals("wattline_messages_dropped_total", {"forged": 1})  # whoever counts has begun anew
    status, text = served(metrics)
    assert status == 200
    lines = set(text.splitlines())
    assert {
        "wattline_target_watts 1234.5",
        "wattline_caps_sent_total 4.0",
        'wattline_signal_state{state="fresh"} 0.0',
        'wattline_signal_state{state="held"} 1.0',
        'wattline_nodes{mode="led"} 30.0',
        'wattline_nodes{mode="safe"} 0.0',
        'wattline_pass_seconds_bucket{le="0.001",pass="full"} 1.0',
        'wattline_pass_seconds_count{pass="cap"} 0.0',
        'wattline_messages_dropped_total{reason="forged"} 6.0',
    } <= lines
    names = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    table = {name for metric in TABLE for name in series_names(metric)}
    assert {name for name in names if not name.startswith("process_")} <= table
    assert not any(name.startswith("wattline_node_") for name in names)  # those are the agents'


def test_other_paths_and_methods_are_refused(metrics: Prometheus) -> None:
    """There is only GET /metrics."""
    assert served(metrics, "/")[0] == 404
    assert served(metrics, method="POST")[0] == 405
    assert served(metrics, "/metrics?x=1")[0] == 200


def test_words_of_a_label_are_bounded(metrics: Prometheus) -> None:
    """Whoever invents words cannot fill the memory."""
    for k in range(10 * MOST_WORDS):
        metrics.add("wattline_faults_total", word=f"fault-{k}")
    lines = [line for line in metrics.text().decode().splitlines() if line.startswith("wattline_faults_total{")]
    assert len(lines) == MOST_WORDS + 1
    assert f'wattline_faults_total{{fault="other"}} {9.0 * MOST_WORDS}' in lines


def test_a_name_that_is_not_in_the_table_is_refused(metrics: Prometheus) -> None:
    """So is a gauge that is added to, a label that is missing, an agent's metric in a controller."""
    with pytest.raises(InputError, match="did you mean 'wattline_target_watts'"):
        metrics.set("wattline_target_watt", 1.0)
    with pytest.raises(InputError, match="is a gauge without a label"):
        metrics.add("wattline_target_watts")
    with pytest.raises(InputError, match="with the label 'fault'"):
        metrics.add("wattline_faults_total")
    with pytest.raises(InputError, match="there is none"):
        metrics.set("wattline_node_power_watts", 1.0)


def test_an_agent_has_its_own_metrics() -> None:
    """A cap that is not there is +Inf."""
    made = open_metrics("agent", "127.0.0.1:0")
    try:
        made.set("wattline_node_cap_watts", math.inf)
        made.state("wattline_node_mode", "led")
        assert isinstance(made, Prometheus)
        lines = made.text().decode().splitlines()
        assert "wattline_node_cap_watts +Inf" in lines
        assert 'wattline_node_mode{mode="free"} 0.0' in lines
    finally:
        made.close()


def test_metrics_are_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Off, they need no package; on, a missing one is a line that names the extra."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    off = open_metrics("agent", None)
    assert isinstance(off, NoMetrics)
    off.set("wattline_node_power_watts", 1.0)
    off.close()
    with pytest.raises(InputError, match=r"^metrics need the extra live: pip install 'wattline\[live\]'$"):
        open_metrics("agent", "127.0.0.1:0")
    with pytest.raises(InputError, match="expected an address and a port"):
        open_metrics("agent", "9470")


def test_the_dashboard_asks_only_for_metrics_that_exist() -> None:
    """Each query names metrics and labels of the table, and all metrics of the table but the version are shown."""
    text = resources.files("wattline.live.watch").joinpath("dashboards/wattline.json").read_text(encoding="utf-8")
    dashboard = json.loads(text)
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [one["definition"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    known = {name: metric for metric in TABLE for name in series_names(metric)}
    asked = {name for query in queries for name in re.findall(r"\bwattline_\w+", query)}
    assert asked <= set(known)
    assert {known[name].name for name in asked} == set(BY_NAME) - {"wattline_build_info"}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            labels = {known[name].label for name in re.findall(r"\bwattline_\w+", target["expr"])} | {"instance"}
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(places)
