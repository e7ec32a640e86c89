"""GPUs and a second meter beside the packages: what they do to a server's power, its cap, and trust in it."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_kit import T0, World

from wattline.cli import call
from wattline.errors import InputError
from wattline.live.agent.agent import open_power
from wattline.live.agent.beside import Beside
from wattline.live.agent.config import read_settings
from wattline.live.agent.look import write_pairs
from wattline.live.clock import Clock
from wattline.live.power.agreement import Agreement, Trust
from wattline.live.power.base import HardwareError, Reading
from wattline.live.power.fakes.bmc import OUTLET, PASSWORD, USER, FakeBmc, FakeServer
from wattline.live.power.fakes.nvml import FakeGpu, FakeNvml
from wattline.live.power.fakes.powercap import make_tree
from wattline.live.power.nvml import Gpus
from wattline.live.power.powercap import Powercap
from wattline.live.power.second import Second
from wattline.live.power.server.calibrate import calibrate
from wattline.live.power.server.model import PROFILES
from wattline.live.watch.table import BY_NAME


class Meter:
    """A meter of the whole server that says what it is told."""

    whole_server, every_s, step_w = True, 1.0, 1.0

    def __init__(self) -> None:
        self.factor = 1.0
        self.there = True
        self.true_w: Callable[[], float] = lambda: math.nan

    def read(self, now_s: float) -> Reading | None:
        """Tell a part of the true power."""
        return Reading(now_s, math.nan, math.nan, self.factor * self.true_w()) if self.there else None

    def problems(self) -> dict[str, int]:
        """Tell none."""
        return {}

    def close(self) -> None:
        """Do nothing."""


class Parts:
    """Opens packages, GPUs and a second meter for a world."""

    def __init__(self, *gpus: FakeGpu, limits: bool = False, meter: Meter | None = None) -> None:
        self.nvml, self.limits, self.meter = FakeNvml(*gpus), limits, meter
        self.second: Second | None = None

    def __call__(self, node: Any, clock: Clock) -> tuple[Powercap, Beside]:
        """Open them."""
        gpus = Gpus(limits=self.limits, nvml=self.nvml) if self.nvml.gpus else None
        if self.meter is not None:
            meter = self.meter

            def opens() -> Any:
                if not meter.there:
                    raise HardwareError("it is not there")
                return meter

            self.second = Second(opens, lambda r: r.server_w, 1.0, clock, start=False)
        trust = Trust(share=0.1, lasting_s=5.0)
        return Powercap(node.powercap), Beside(gpus=gpus, phi=1.1, second=self.second, trust=trust)

    def run(self, one: World, seconds: float) -> None:
        """Let time pass; the meter is asked every second."""
        for _ in range(round(seconds)):
            if self.second is not None:
                self.second.turn()
            one.run(1.0)


def test_gpus_are_part_of_the_server(world: Callable[..., World]) -> None:
    """The power told is that of the model and the GPUs; processors have what the GPUs leave of the cap, more and less
    as these draw less and more.
    """
    gpu = FakeGpu(demand_mw=100_000, limit_mw=150_000, least_mw=50_000, most_mw=150_000)
    parts = Parts(gpu)
    one = world(power=parts)
    one.plant.busy("n1", 400.0, 100.0)
    one.cap(340.0, lease=60.0)
    parts.run(one, 12)
    assert one.last()["w"] == pytest.approx(340.0, abs=4.0)
    assert one.server_w() == pytest.approx(340.0 - 110.0, abs=4.0)
    gpu.demand_mw = 150_000
    parts.run(one, 6)
    assert one.last()["w"] == pytest.approx(340.0, abs=4.0)
    assert one.server_w() == pytest.approx(340.0 - 165.0, abs=4.0)
    assert gpu.limit_mw == 150_000
    assert one.last()["faults"] == []


def test_gpus_that_leave_nothing_of_a_cap_are_told(world: Callable[..., World]) -> None:
    """GPUs that are not limited may draw more than a cap leaves: the processors get their least limit, and it is
    said.
    """
    gpu = FakeGpu(demand_mw=140_000, limit_mw=150_000, least_mw=50_000, most_mw=150_000)
    parts = Parts(gpu)
    one = world(power=parts)
    one.plant.busy("n1", 400.0, 100.0)
    one.cap(200.0, lease=60.0)
    parts.run(one, 6)
    assert one.limit_w() == pytest.approx(41.0)
    assert "gpu-over-cap" in one.last()["faults"]


def test_gpus_count_though_the_processors_are_blind(world: Callable[..., World]) -> None:
    """Where counters of the packages stand still, what GPUs draw is still taken from the cap."""
    gpu = FakeGpu(demand_mw=50_000, limit_mw=150_000, least_mw=50_000, most_mw=150_000)
    parts = Parts(gpu)
    one = world(power=parts)
    one.plant.busy("n1", 400.0, 100.0)
    one.cap(300.0, lease=60.0)
    parts.run(one, 6)
    one.plant.fault("n1", "stick")
    parts.run(one, 6)
    before_w = one.limit_w()
    gpu.demand_mw = 100_000
    parts.run(one, 3)
    assert one.limit_w() == pytest.approx(before_w - 55.0 / one.plant.model.phi_1, abs=2.0)


def test_limited_gpus_and_processors_share_a_cap(world: Callable[..., World]) -> None:
    """The limits of GPUs and processors together are the cap by the model; what was found comes back, also after a
    crash; ``found`` is on disk before a limit changes.
    """
    gpu = FakeGpu(demand_mw=150_000, limit_mw=140_000, least_mw=50_000, most_mw=150_000)
    parts = Parts(gpu, limits=True)
    one = world(power=parts)
    one.plant.busy("n1", 400.0, 100.0)
    one.cap(300.0, lease=60.0)
    parts.run(one, 8)
    found = json.loads((one.folder / "run" / "n1.found.json").read_text())["found"]
    assert found["gpu/GPU-0000"] == 140.0
    model, memory_w = one.plant.model, 12.0
    part = (300.0 - model.server_w(41.0, memory_w) - 1.1 * 50.0) / (model.phi_1 * 369.0 + 1.1 * 100.0)
    assert gpu.limit_mw / 1e3 == pytest.approx(50.0 + 100.0 * part, abs=1.0)
    assert one.last()["w"] == pytest.approx(300.0, abs=4.0)
    one.crash()
    one.start()
    assert one.agent.end()
    assert gpu.limit_mw == 140_000
    assert one.limit_w() == 410.0


def test_meters_that_disagree_make_the_larger_count(world: Callable[..., World]) -> None:
    """A second meter that shows a quarter more than the first for five seconds: its reading is told and kept under the
    cap, with a word for it, until the two have agreed for as long.
    """
    meter = Meter()
    parts = Parts(meter=meter)
    one = world(power=parts)
    meter.true_w = one.server_w
    one.plant.busy("n1", 400.0, 100.0)
    one.cap(250.0, lease=100.0)
    parts.run(one, 10)
    assert one.last()["faults"] == []
    meter.factor = 1.25
    parts.run(one, 3)
    assert one.last()["w"] == pytest.approx(250.0, abs=4.0)
    assert one.last()["faults"] == []
    parts.run(one, 15)
    assert "meters-disagree" in one.last()["faults"]
    assert one.last()["w"] == pytest.approx(250.0, abs=6.0)
    assert one.server_w() == pytest.approx(200.0, abs=6.0)  # the larger is kept under the cap
    assert len(json.dumps(one.last())) < 4096
    meter.factor = 1.0
    one.cap(250.0, lease=100.0)
    parts.run(one, 25)
    assert one.last()["faults"] == []
    assert one.server_w() == pytest.approx(250.0, abs=6.0)


def test_a_second_meter_that_shows_less_is_not_believed(world: Callable[..., World]) -> None:
    """The larger reading counts, whichever it is; both are told to Prometheus."""
    meter = Meter()
    parts = Parts(meter=meter)
    one = world(power=parts)
    meter.true_w, meter.factor = one.server_w, 0.6
    one.plant.busy("n1", 400.0, 100.0)
    one.cap(250.0, lease=100.0)
    parts.run(one, 12)
    assert "meters-disagree" in one.last()["faults"]
    assert one.last()["w"] == pytest.approx(250.0, abs=4.0)
    assert one.agent.node.more(one.clock.at_s)["second_w"] == pytest.approx(150.0, abs=4.0)
    assert {"wattline_node_second_power_watts", "wattline_node_gpu_watts"} <= set(BY_NAME)


def test_a_second_meter_that_is_gone_changes_nothing_but_is_told(world: Callable[..., World]) -> None:
    """The first meter counts; the word is there while the other is missing, and it is opened when it is there."""
    meter = Meter()
    meter.there = False
    parts = Parts(meter=meter)
    one = world(power=parts)
    meter.true_w = one.server_w
    one.plant.busy("n1", 300.0, 100.0)
    one.cap(250.0, lease=100.0)
    parts.run(one, 8)
    assert one.last()["faults"] == ["meter-missing"]
    assert one.last()["w"] == pytest.approx(250.0, abs=4.0)
    meter.there = True
    parts.run(one, 8)
    assert one.last()["faults"] == []


def test_the_second_meter_stands_in_for_a_first_that_is_blind(world: Callable[..., World]) -> None:
    """Where the counters stand still, the other meter's reading is told instead of none, and the fault stays said."""
    meter = Meter()
    parts = Parts(meter=meter)
    one = world(power=parts)
    meter.true_w = one.server_w
    one.plant.busy("n1", 300.0, 100.0)
    one.cap(250.0, lease=100.0)
    parts.run(one, 8)
    one.plant.fault("n1", "stick")
    parts.run(one, 20)
    assert one.last()["w"] == pytest.approx(one.server_w(), abs=4.0)
    assert one.last()["age"] < 1.5
    assert "blind" in one.last()["faults"]


def test_a_short_difference_is_no_disagreement() -> None:
    """A BMC that is some seconds behind a job that starts does not lower trust; unknown readings say nothing; small
    differences in watts are none.
    """
    agreement = Agreement(Trust(0.1, 30.0))
    for second in range(29):
        assert not agreement.take(T0 + second, 300.0, 100.0)
    assert not agreement.take(T0 + 29.0, 300.0, 300.0)
    for second in range(30, 60):
        assert not agreement.take(T0 + second, 300.0, math.nan if second % 2 else 100.0)
    assert agreement.take(T0 + 60.0, 300.0, 100.0)
    assert agreement.believed_w(300.0, 400.0) == 400.0
    assert agreement.believed_w(300.0, math.nan) == 300.0
    quiet = Agreement(Trust(0.1, 1.0))
    assert not any(quiet.take(T0 + second, 50.0, 59.0) for second in range(10))


NODE = """site = "s"
run_dir = "run"
[node]
name = "n1"
powercap = "tree"
safe = "180 W"
min = "120 W"
max = "900 W"
[model]
profile = "gold-6132"
[gpus]
limit = true
phi = 1.05
[meter]
kind = "redfish"
[meter.redfish]
url = "{url}"
login = "pdu.login"
resource = "{outlet}"
every = "0.2 s"
"""


def test_a_file_opens_gpus_and_a_second_meter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a file names is opened as it says: GPUs by NVIDIA's module, the meter by a thread that ends with the agent;
    ``--check`` tells of both, and ``wattline meters`` reads them, with the file and without one.
    """
    gpu = FakeGpu(demand_mw=300_000)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(gpu))
    make_tree(tmp_path / "tree")
    path = tmp_path / "node.toml"
    with FakeBmc(FakeServer(demand_w=444.0), serves=()) as fake:
        path.write_text(NODE.format(url=fake.url, outlet=OUTLET))
        (tmp_path / "pdu.login").write_text(f"{USER}:{PASSWORD}\n")
        (tmp_path / "pdu.login").chmod(0o600)
        hardware, beside = open_power(read_settings(path).nodes[0], Clock())
        assert isinstance(hardware, Powercap)
        assert beside.gpus is not None
        assert (beside.gpus.limits, beside.phi) == (True, 1.05)
        end_s = time.monotonic() + 20.0
        while math.isnan(beside.second_w(Clock().now_s())):
            assert time.monotonic() < end_s
            time.sleep(0.02)
        assert beside.second_w(Clock().now_s()) == 444.0
        beside.close()
        assert "second-meter" not in [thread.name for thread in threading.enumerate()]
        assert call(["agent", str(path), "--check"]) == 0
        told = capfd.readouterr().out
        assert "Fake H200 (GPU-0000): 300 W; takes limits of 200 to 700 W" in told
        assert f"redfish {fake.url}{OUTLET}: 444 W now" in told
        assert call(["meters", str(path), "--json"]) == 0
        power = json.loads(capfd.readouterr().out)["readings"][0]["power"]
        assert (power["gpu_w"], power["second_w"]) == (300.0, 444.0)
        assert gpu.limit_mw == 700_000
        assert fake.changes == []
    assert call(["meters"]) == 0
    assert "gpu 300 W" in capfd.readouterr().out


def test_gpus_need_their_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without NVIDIA's module the agent says which extra is missing."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    make_tree(tmp_path / "tree")
    path = tmp_path / "node.toml"
    path.write_text(NODE.partition("[meter]")[0])
    assert call(["agent", str(path)]) == 2
    told = capfd.readouterr().err
    assert "n1: GPUs need the extra nvml: pip install 'wattline[nvml]'" in told
    assert told.count("\n") == 1


def test_pairs_of_both_meters_are_written_for_a_fit(tmp_path: Path) -> None:
    """Readings that both meters gave are rows that ``wattline calibrate`` reads back; memory is left out where it is
    not told, and GPUs are refused.
    """
    model = PROFILES["gold-6132"]
    loads = [(40.0 + 7.0 * (i % 23), 5.0 + i % 11) for i in range(60)]
    readings = [
        {"power": {"cpu_w": c, "memory_w": m, "gpu_w": None, "second_w": model.server_w(c, m)}} for c, m in loads
    ]
    silent = [{"power": {"cpu_w": 50.0, "memory_w": 5.0, "gpu_w": None, "second_w": None}}]
    path = tmp_path / "readings.csv"
    assert write_pairs(silent + readings, path) == 60
    fitted = calibrate(path).model
    assert (fitted.phi_1, fitted.phi_2) == (pytest.approx(1.29, abs=1e-3), pytest.approx(1.63, abs=1e-3))
    readings[0]["power"]["memory_w"] = None
    write_pairs(readings, path)
    assert path.read_text().startswith("cpu_w,server_w\n")
    with pytest.raises(InputError, match="no reading has both"):
        write_pairs(silent, path)
    readings[0]["power"]["gpu_w"] = 30.0
    with pytest.raises(InputError, match="fitted without GPUs"):
        write_pairs(readings, path)
