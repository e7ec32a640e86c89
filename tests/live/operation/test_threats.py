"""What an attacker cannot do (docs/live/threat-model.md): agents, doors and limits under a thousand malformed and a
thousand forged messages, and users who lie or flood.
"""

from __future__ import annotations

import copy
import http.client
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.worlds import cluster, policies
from live.agent.agent_kit import World as Nodes
from live.controller.emulated import World
from wattline.live.bus.base import Arrived
from wattline.live.clock import Clock
from wattline.live.controller.wanted.reconcile import Patience
from wattline.live.signals.adr_events import AdrRules, judge, prefix_of
from wattline.live.signals.http import Door
from wattline.live.signals.open import Signals, SignalSettings
from wattline.live.signals.pushed import Pushed
from wattline.live.signals.schedule import Schedule
from wattline.model.kinds import Kind

TOKEN = "a-token-of-some-length"  # noqa: S105
NOW_S = 1_800_000_000.0


def broken(draw: random.Random, good: bytes) -> bytes:
    """Return a message with something wrong: cut, mixed with other bytes, or nothing but those."""
    k = draw.randrange(1, len(good))
    return draw.choice([good[:k], good[k:], good[:k] + draw.randbytes(3) + b'"' + good[k:], draw.randbytes(k)])


def test_an_agent_under_a_thousand_malformed_and_a_thousand_forged_caps(tmp_path: Path) -> None:
    """Its safe cap stays in force in every turn, all are counted, and a controller's cap still counts at once."""
    draw, world = random.Random(3), Nodes(tmp_path, more='controllers = ["boss"]')
    try:
        safe_w = world.limit_w()
        bus = world.buses["n1"]
        good = {"v": 1, "kind": "cap", "from": "boss", "boot": "0123456789abcdef", "cap_w": 350.0, "lease": 30.0}
        for k in range(1_000):
            body = {**good, "n": k + 1, "at": world.clock.at_s, "term": 1}
            bus.waiting.append(Arrived("wattline/s/cap/n1", broken(draw, json.dumps(body).encode()), "boss"))
            name, wire = draw.choice([("boss", "n2"), ("mallory", "mallory"), ("n1", "n1"), ("boss", "mallory")])
            forged = json.dumps({**body, "from": name, "term": 10**6}).encode()
            bus.waiting.append(Arrived("wattline/s/cap/n1", forged, wire))
            if k % 50 == 49:
                world.run(0.1)
                assert world.limit_w() == pytest.approx(safe_w, abs=1.0)
        world.run(1.2)
        assert world.last()["mode"] == "safe"
        assert world.last()["term"] == 0
        assert sum(n for word, n in world.agent.problems().items() if word.startswith("message-")) == 2_000
        world.cap(300.0)
        world.run(1.2)
        assert (world.last()["mode"], world.last()["cap_w"]) == ("led", 300.0)
    finally:
        world.close()


def test_the_door_under_a_thousand_malformed_and_a_thousand_forged_signals() -> None:
    """Without the token nothing is taken, with it nothing malformed is; all are counted, and a good one is taken."""
    clock = Clock(wall=lambda: NOW_S, monotonic=lambda: 0.0)
    pushed = Pushed(Schedule(1000.0))
    door = Door(pushed, clock, TOKEN, port=0)
    draw = random.Random(4)

    def post(body: bytes, token: str) -> int:
        caller = http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)
        try:
            caller.request("POST", "/signal", body, {"Authorization": f"Bearer {token}"})
            return caller.getresponse().status
        finally:
            caller.close()

    try:
        for k in range(1_000):
            forged = "".join(draw.sample(TOKEN, len(TOKEN))) if k % 2 else TOKEN[: k % len(TOKEN)]
            assert post(b'{"limit_w": 1}', forged) == 401
            assert post(broken(draw, b'{"limit_w": 100.0, "at": 1800000000}'), TOKEN) == 400
        assert pushed.limit.last(NOW_S) is None
        assert sum(pushed.counts().values()) == 2_000
        assert post(b'{"limit_w": 500}', TOKEN) == 204
        assert pushed.limit.last(NOW_S) is not None
    finally:
        door.close()


def test_who_may_push_stays_within_the_sites_bounds() -> None:
    """Whatever a gateway sends, the limit lies between what the machine needs and the site's own, y from -1 to 1."""
    at = [NOW_S]
    clock = Clock(wall=lambda: NOW_S, monotonic=lambda: at[0] - NOW_S)
    signals = Signals(SignalSettings(1000.0, 300.0, y="pushed"), clock)
    draw = random.Random(5)
    for k in range(1_000):
        at[0] += 1.0
        wild = draw.choice([-1e9, -1.0, 0.0, 0.5, 299.0, 300.0, 700.0, 1000.0, 1001.0, 1e300])
        target = {"id": f"t{k % 300}", "start": at[0] + draw.uniform(-50, 50), "end": at[0] + 60.0, "limit_w": wild}
        signals.take_message(draw.choice([{"y": wild}, {"limit_w": wild}, {"targets": [target]}]), at[0], at[0])
        now = signals.now(at[0])
        assert 300.0 <= now.limit_w <= 1000.0
        assert now.y is not None
        assert -1.0 <= now.y.value <= 1.0
    assert len(signals.targets()) <= 256
    signals.close()


def test_a_thousand_events_with_something_wrong() -> None:
    """Whatever a VTN sends, the limit lies between what the machine needs and the site's own; others' targets stay."""
    rules = AdrRules(1000.0, 300.0, {1: 800.0})
    pushed = Pushed(Schedule(1000.0, least_w=300.0))
    assert pushed.take({"targets": [{"id": "ours", "start": NOW_S, "end": NOW_S + 1e6, "limit_w": 900}]}, NOW_S) is None
    start = datetime.fromtimestamp(NOW_S, UTC)
    interval = {"dtstart": start, "duration": timedelta(seconds=600), "signal_payload": 0.5}
    good: dict[str, Any] = {
        "event_descriptor": {"event_id": "e", "modification_number": 0, "event_status": "active"},
        "active_period": {"dtstart": start, "duration": timedelta(seconds=600), "ramp_up": timedelta(seconds=10)},
        "event_signals": [
            {"signal_name": "LOAD_CONTROL", "signal_type": "x-loadControlCapacity", "intervals": [interval]}
        ],
    }
    draw = random.Random(6)
    wrong = [None, "", "0", -1, 1e300, float("nan"), True, [], {}, start, timedelta(days=-9), timedelta(days=10**6)]
    opted_out = 0
    for k in range(1_000):
        event = copy.deepcopy(good)
        event["event_descriptor"]["event_id"] = f"e{k % 7}"
        place: Any = event
        while True:  # go down to somewhere, and put something wrong there
            key = draw.choice(list(place)) if isinstance(place, dict) else draw.randrange(len(place))
            if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.2:
                place[key] = draw.choice(wrong)
                break
            place = place[key]
        found = judge(event, rules, NOW_S + k)
        opted_out += found.opt == "optOut"
        pushed.replace_targets(prefix_of(found.event), found.targets, NOW_S + k)
        assert 300.0 <= pushed.limit_at(NOW_S + k) <= 900.0
    assert opted_out > 500
    assert "ours" in [one.id for one in pushed.targets()]


def test_a_user_who_lies_about_power_gains_less_than_a_period() -> None:
    """Jobs that draw twice what they say: the meter is right, and the machine is above its limit for less than a period
    after each start.
    """
    modest = Kind("modest", 1, 30.0, 150.0, 100.0, 1.5)
    world = World(
        cluster(8, min_cap_w=100.0), policies(select="easy", cap="under-limit"), limit_w=1300.0, kinds=(modest,)
    )
    for k in range(60):
        world.submit(f"j{k}", 1, 30.0, float(k % 20), request_s=60.0, kind="modest")
    for job in world.machine.coming:
        job.draw_w = 300.0
    world.run(120.0)
    longest_s, above_s = 0.0, 0.0
    for _, watts, _ in world.samples:  # four in a second
        above_s = above_s + 0.25 if watts > 1300.0 + 1.0 else 0.0
        longest_s = max(longest_s, above_s)
    assert 0.0 < longest_s < world.periods.full_s


def test_a_user_who_floods_the_queue_does_not_flood_the_manager() -> None:
    """However many jobs wait, no more commands are given in a period than the file allows; all are run in the end."""
    world = World(cluster(64), policies(select="easy"), patience=Patience(30.0, 2.0, 5), rows=512)
    for k in range(300):
        world.submit(f"j{k}", 1, 2.0, 0.0, request_s=10.0)
    released: list[int] = []
    real = world.machine.release

    def release(job: str, on: Any) -> str | None:
        released[-1] += 1
        return real(job, on)

    world.machine.release = release  # type: ignore[method-assign]
    for _ in range(90):
        released.append(0)
        world.run(1.0)
    assert max(released) == 5
    assert all(job.seen.phase == "ended" for job in world.machine.jobs.values())
