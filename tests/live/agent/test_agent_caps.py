"""Caps that are lent: in force at once, within local bounds, for their time, by the highest term."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from agent_kit import World

from wattline.live.agent.node import phase_s
from wattline.live.power.server.model import PROFILES

Make = Callable[..., World]
MODEL = PROFILES["gold-6132"]
PERIOD_S = 1.0


def _cpu_w(server_w: float) -> float:
    return MODEL.cpu_w(server_w, 12.0)


def test_a_cap_is_in_force_when_it_comes(world: Make) -> None:
    """A cap becomes a limit of the packages on arrival, not at the next turn, and the server follows."""
    w = world()
    w.plant.busy("n1", 320.0, 120.0)
    w.run(5.0)
    w.cap(250.0)
    w.agent.step()
    assert w.limit_w() == pytest.approx(_cpu_w(250.0), abs=1.0)
    w.run(4.0)
    assert w.server_w() == pytest.approx(250.0, abs=1.0)
    assert w.last()["mode"] == "led"
    assert w.last()["cap_w"] == 250.0
    assert w.last()["limit_w"] == pytest.approx(w.limit_w(), abs=1e-3)


@pytest.mark.parametrize("lease_s", [1.0, 3.0, 7.5])
def test_the_safe_cap_is_in_force_within_a_period_of_the_leases_end(world: Make, lease_s: float) -> None:
    """When a lease ends without a new one, the safe cap is in force within one period, and the status says it."""
    w = world()
    w.plant.busy("n1", 320.0, 120.0)
    w.cap(300.0, lease=lease_s)
    w.run(lease_s - 0.2)
    assert w.limit_w() == pytest.approx(_cpu_w(300.0), abs=2.0)
    w.run(0.2 + PERIOD_S)
    assert w.limit_w() == pytest.approx(_cpu_w(180.0), abs=2.0)
    w.run(PERIOD_S)
    assert w.last()["mode"] == "safe"
    assert w.last()["cap_w"] == 180.0
    assert w.last()["lease"] == 0.0
    assert "lease-ended" in w.events()
    w.run(30.0)
    assert w.server_w() == pytest.approx(180.0, abs=1.0)
    w.cap(300.0, lease=lease_s)
    w.run(0.1)
    assert w.limit_w() == pytest.approx(_cpu_w(300.0), abs=2.0)


def test_renewed_leases_last(world: Make) -> None:
    """Caps that are sent again in time keep the node led, without writing anything anew."""
    w = world()
    for _ in range(10):
        w.cap(300.0, lease=3.0)
        w.run(2.0)
        assert w.agent.node.lease.mode == "led"
    assert w.events().count("led") == 1


@pytest.mark.parametrize(
    ("cap_w", "in_force_w", "word"),
    [
        (50.0, 120.0, "cap-clipped"),
        (5000.0, 350.0, "cap-clipped"),
        (200.0, 200.0, ""),
        (None, 350.0, ""),
        (0, 120.0, "cap-clipped"),
    ],
)
def test_local_bounds_hold_whatever_the_network_says(world: Make, cap_w: Any, in_force_w: float, word: str) -> None:
    """A cap outside the node's bounds is cut to them, and the status tells it; no cap is the upper bound."""
    w = world()
    w.cap(cap_w)
    w.run(1.2)
    assert w.last()["cap_w"] == in_force_w
    assert w.last()["faults"] == ([word] if word else [])
    assert w.limit_w() == pytest.approx(_cpu_w(in_force_w), abs=1.0)


@pytest.mark.parametrize(
    "body",
    [
        {"cap_w": math.nan}, {"cap_w": math.inf}, {"cap_w": -1.0}, {"cap_w": "300"}, {"cap_w": True}, {"cap_w": [300]},
        {"lease": math.nan}, {"lease": -5.0}, {"lease": None}, {"term": -1}, {"term": 1.5}, {"term": None},
        {"at": "now"}, {"v": 2}, {"v": None}, {"kind": "caps"}, {"from": 7}, {"boot": 7}, {"n": "9"}, {"at": -1},
        {"x": "y" * 5000},
    ],
    ids=str,
)  # fmt: skip
def test_caps_that_make_no_sense_are_dropped_and_counted(world: Make, body: dict[str, Any]) -> None:
    """A cap with a wrong field changes nothing and is counted."""
    w = world()
    w.send("wattline/s/cap/n1", {"kind": "cap", "cap_w": 300.0, "lease": 5.0, "term": 1, **body})
    w.run(1.2)
    assert w.last()["mode"] == "safe"
    assert w.limit_w() == pytest.approx(_cpu_w(180.0), abs=1.0)
    assert sum(n for word, n in w.agent.problems().items() if word.startswith("message-")) == 1


def test_missing_fields_are_no_cap(world: Make) -> None:
    """A cap message without a cap does not mean that there is none."""
    w = world()
    w.send("wattline/s/cap/n1", {"kind": "cap", "lease": 5.0, "term": 1})
    w.run(1.2)
    assert w.last()["mode"] == "safe"


def test_lower_terms_are_ignored(world: Make) -> None:
    """Once a controller of a higher term has led, caps of lower terms are ignored, also after its lease."""
    w = world()
    w.cap(300.0, term=5)
    w.run(1.2)
    w.cap(200.0, term=4)
    w.run(1.2)
    assert w.last()["cap_w"] == 300.0
    assert w.last()["term"] == 5
    assert "cap-old-term" in w.last()["faults"]
    w.run(5.0)
    w.cap(200.0, term=4)
    w.run(1.2)
    assert w.last()["mode"] == "safe"


@pytest.mark.parametrize(
    ("sent_s", "led"), [(0.0, True), (-3.0, True), (-6.0, False), (-3600.0, False), (4.0, True), (3600.0, False)]
)
def test_a_lease_counts_from_when_it_was_sent(world: Make, sent_s: float, led: bool) -> None:
    """A cap that a broker kept is valid for what is left of its lease; old ones and such of the future are not."""
    w = world()
    w.cap(300.0, lease=5.0, at=w.clock.at_s + sent_s)
    w.run(1.2)
    assert (w.last()["mode"] == "led") == led
    if led:
        assert w.last()["lease"] == pytest.approx(5.0 + min(sent_s, 0.0) - 1.0, abs=1.1)
        w.run(5.0 + PERIOD_S)
        assert w.last()["mode"] == "safe"


def test_no_lease_is_longer_than_the_file_allows(world: Make) -> None:
    """A lease of an hour ends after the file's longest."""
    w = world()
    w.cap(300.0, lease=3600.0)
    w.run(29.0)
    assert w.last()["mode"] == "led"
    w.run(3.0)
    assert w.last()["mode"] == "safe"


def test_replayed_caps_are_dropped(world: Make) -> None:
    """The same message twice, or an older one of the same start, is dropped."""
    w = world()
    w.cap(300.0)
    old = list(w.buses["n1"].waiting)
    w.run(0.5)
    w.cap(200.0)
    w.run(0.5)
    w.buses["n1"].waiting += old
    w.run(1.0)
    assert w.last()["cap_w"] == 200.0
    assert w.agent.problems()["message-replayed"] == 1


@pytest.mark.parametrize(
    ("sender", "name", "led"),
    [("", "boss", True), ("boss", "boss", True), ("mallory", "boss", False), ("mallory", "mallory", False)],
)
def test_caps_come_from_named_controllers_only(world: Make, sender: str, name: str, led: bool) -> None:
    """With names in the file, caps of others are dropped, and so are those whose key is another's."""
    w = world(more='controllers = ["boss"]')
    w.send("wattline/s/cap/n1", {"kind": "cap", "cap_w": 300.0, "lease": 5.0, "term": 1, "from": name}, sender)
    w.run(1.2)
    assert (w.last()["mode"] == "led") == led


@pytest.mark.parametrize(("name", "mode"), [("boss", "free"), ("me", "free"), ("mallory", "safe")])
def test_off_comes_from_controllers_and_operators(world: Make, name: str, mode: str) -> None:
    """With names in the file, ``off`` of controllers and operators counts; an operator's cap does not."""
    w = world(more='controllers = ["boss"]\noperators = ["me"]')
    w.send("wattline/s/cap/n1", {"kind": "cap", "cap_w": 300.0, "lease": 5.0, "term": 1, "from": "me"})
    w.run(1.2)
    assert w.last()["mode"] == "safe"
    w.send("wattline/s/off", {"kind": "off", "from": name})
    w.run(1.2)
    assert w.last()["mode"] == mode


def test_off_puts_back_what_was_found(world: Make) -> None:
    """After ``off`` limits are as they were found; only a higher term leads again."""
    w = world()
    w.cap(200.0, term=3)
    w.run(1.0)
    w.send("wattline/s/off", {"kind": "off"})
    w.run(1.2)
    assert w.limit_w() == 410.0
    assert (w.last()["mode"], w.last()["cap_w"], w.last()["limit_w"]) == ("free", None, 410.0)
    assert not list(w.folder.glob("run/*.json"))
    w.cap(200.0, term=3)
    w.run(1.2)
    assert w.limit_w() == 410.0
    assert "cap-after-off" in w.last()["faults"]
    w.cap(200.0, term=4)
    w.run(1.2)
    assert w.limit_w() == pytest.approx(_cpu_w(200.0), abs=1.0)
    assert list(w.folder.glob("run/*.json"))


def test_a_status_a_second_at_the_nodes_own_phase(world: Make) -> None:
    """Every node tells its status once a second, at a time within the second that its name gives."""
    names = tuple(f"node{i:02d}" for i in range(8))
    w = world(names)
    w.run(10.0, every=0.02)
    for name in names:
        times = [m["at"] for m in w.sent if m["from"] == name]
        assert 10 <= len(times) <= 11
        assert all((t - phase_s(name, 1.0)) % 1.0 < 0.03 for t in times)
    phases = sorted(phase_s(f"node{i}", 1.0) for i in range(1000))
    assert all(abs(p - i / 1000) < 0.05 for i, p in enumerate(phases))


def test_a_status_has_what_the_plan_says(world: Make) -> None:
    """A status has all fields, as JSON can have them."""
    w = world()
    w.run(2.2)
    status = w.last()
    assert status["v"] == 1
    assert (status["kind"], status["from"], status["mode"], status["term"]) == ("status", "n1", "safe", 0)
    assert status["w"] == pytest.approx(90.0, abs=0.5)
    assert status["age"] == 0.0
    assert status["mem_w"] == pytest.approx(12.0, abs=0.1)
    assert (status["safe_w"], status["min_w"], status["max_w"]) == (180.0, 120.0, 350.0)
    assert {"cpu_w", "limit_w", "lease", "faults", "boot", "n", "at"} <= set(status)


def test_many_nodes_share_a_process(world: Make) -> None:
    """Caps go to the node they are for, ``off`` to all."""
    w = world(("a", "b"))
    w.cap(300.0, name="a")
    w.cap(200.0, name="b")
    w.cap(200.0, name="c")
    w.run(1.2)
    assert w.last("a")["cap_w"] == 300.0
    assert w.last("b")["cap_w"] == 200.0
    w.send("wattline/s/off", {"kind": "off"})
    w.run(1.2)
    assert w.limit_w("a") == w.limit_w("b") == 410.0


def test_a_server_cap_is_kept_where_processors_miss_their_limit(world: Make) -> None:
    """With caps that change four times a second and processors that exceed their limit by 6 %, the mean of the server
    is within 1 % of the caps' and no status is 5 % above the cap.
    """
    w = world(noise_w=1.5, held_at=1.06)
    w.plant.busy("n1", 340.0, 120.0)
    caps, drawn, told = [], [], []
    for i in range(200):
        cap_w = 230.0 + 20.0 * math.sin(i / 25.0)
        w.cap(cap_w)
        w.run(0.25, every=0.05)
        if i > 40:
            caps.append(cap_w)
            drawn.append(w.server_w())
            told.append(w.last()["w"] / cap_w)
    assert sum(drawn) / len(drawn) == pytest.approx(sum(caps) / len(caps), rel=0.01)
    assert max(told) < 1.05


def test_an_idle_node_keeps_its_limit_for_the_job_that_comes(world: Make) -> None:
    """A node that draws less than its cap for a while does not exceed it when a job starts."""
    w = world()
    for _ in range(30):
        w.cap(200.0)
        w.run(2.0)
    w.plant.busy("n1", 330.0, 120.0)
    peak_w = 0.0
    for _ in range(5):
        w.cap(200.0)
        for _ in range(20):
            w.run(0.1)
            peak_w = max(peak_w, w.server_w())
    assert peak_w <= 201.0


def test_counters_that_jump_do_not_pull_a_server_below_its_cap(world: Make) -> None:
    """Counters that are brought up to date at uneven times show too much in one period and too little in the next: a
    server whose cap changes every two seconds still draws it, to 1 W on average (it was 7 W below).
    """
    w = world(held_at=0.99, noise_w=2.0)
    w.plant.busy("n1", 320.0, 120.0)
    drawn = random.Random(5)
    next_s, gaps = 0.0, []
    for k in range(6000):
        w.clock.at_s += 0.05 + 0.07 * drawn.random()
        if k % 25 == 0:
            cap_w = drawn.uniform(200.0, 290.0)
            w.cap(cap_w, lease=30.0)
        if w.clock.at_s >= next_s:
            w.plant.step(w.clock.at_s)
            next_s = w.clock.at_s + 0.1 * drawn.uniform(0.8, 1.4)
        w.agent.step()
        if k > 600:
            gaps.append(w.server_w() - cap_w)
    assert abs(sum(gaps) / len(gaps)) < 1.0
