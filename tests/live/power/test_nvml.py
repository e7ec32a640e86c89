"""GPUs by NVML: milliwatts become watts, limits stay within what each takes, and come back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wattline.live.power.base import HardwareError
from wattline.live.power.fakes.nvml import FakeGpu, FakeNvml
from wattline.live.power.nvml import Gpus


def test_gpus_are_read_and_limited_within_their_ranges() -> None:
    """Watts are the sum; a limit for all is shared out by the ranges of each, and what was found comes back."""
    small, large = FakeGpu(150_000, 300_000, 100_000, 300_000), FakeGpu(650_000, 700_000, 200_000, 700_000)
    nvml = FakeNvml(small, large)
    gpus = Gpus(limits=True, nvml=nvml)
    assert gpus.watts() == 800.0
    assert gpus.bounds_w() == (300.0, 1000.0)
    assert gpus.limits_w() == 1000.0
    found = gpus.found()
    assert gpus.set_limit(650.0) == 650.0
    assert (small.limit_mw, large.limit_mw) == (200_000, 450_000)
    assert gpus.watts() == 600.0
    assert gpus.set_limit(10.0) == 300.0
    gpus.restore(found)
    assert (small.limit_mw, large.limit_mw) == (300_000, 700_000)
    assert gpus.problems() == {}
    gpus.close()
    gpus.close()
    assert nvml.begun == 0


def test_a_gpu_that_is_lost_counts_as_its_greatest_power() -> None:
    """Nobody knows what it draws: the most is assumed, and said."""
    gpu = FakeGpu(150_000, 300_000, 100_000, 300_000)
    gpus = Gpus(nvml=FakeNvml(gpu, FakeGpu(demand_mw=200_000)))
    gpu.faults = {"lost"}
    assert gpus.watts() == 500.0
    assert gpus.problems() == {"gpu-missing": 1}
    gpu.faults, gpu.demand_mw, gpu.limit_mw = set(), 4_000_000_000, 4_000_000_000
    assert gpus.watts() == 500.0
    assert gpus.problems()["gpu-garbage"] == 1


@pytest.mark.parametrize(
    ("fault", "word", "in_force_w"), [("refuse", "gpu-write-refused", 700.0), ("clamp", "gpu-clamped", 400.0)]
)
def test_limits_that_are_not_taken_are_told(fault: str, word: str, in_force_w: float) -> None:
    """A process that may not set limits, or a GPU that keeps another one, is told; what is returned is in force."""
    gpu = FakeGpu()
    gpus = Gpus(limits=True, nvml=FakeNvml(gpu))
    gpu.faults = {fault}
    assert gpus.set_limit(300.0) == in_force_w
    assert gpus.problems() == {word: 1}
    if fault == "refuse":
        with pytest.raises(HardwareError, match=r"gpu/GPU-0000 is 700 W, not 300 W"):
            gpus.restore({"gpu/GPU-0000": 300.0})


def test_without_driver_or_gpus_it_is_one_line() -> None:
    """No driver, no GPU, one that takes no limit where limits are wanted; without that wish it is read."""
    with pytest.raises(HardwareError, match=r"NVML does not answer .*Driver Not Loaded"):
        Gpus(nvml=FakeNvml(driver=False))
    with pytest.raises(HardwareError, match="GPUs: there are none"):
        Gpus(nvml=FakeNvml())
    fixed = FakeNvml(FakeGpu(faults={"fixed"}))
    with pytest.raises(HardwareError, match=r"Fake H200 \(GPU-0000\) takes no limit; set limit = false"):
        Gpus(limits=True, nvml=fixed)
    assert fixed.begun == 0
    gpus = Gpus(nvml=fixed)
    assert gpus.watts() == 250.0
    assert gpus.found() == {}


def test_the_emulated_library_has_nvidias_names() -> None:
    """Every name that the emulated library has is one of nvidia-ml-py, so that nothing is called that is not there."""
    nvml = pytest.importorskip("pynvml", reason="needs the extra nvml (nvidia-ml-py)")
    names = [name for name in dir(FakeNvml) if name.lower().startswith("nvml")]
    assert len(names) >= 12
    assert [name for name in names if not hasattr(nvml, name)] == []


def test_a_reading_needs_neither_numba_nor_pydantic(tmp_path: Path) -> None:
    """``python -m wattline.live.power.nvml`` runs with NVIDIA's module and the standard library alone, and prints a
    JSON object a second.
    """
    (tmp_path / "pynvml.py").write_text(
        "from wattline.live.power.fakes.nvml import *\n_all = FakeNvml(FakeGpu(demand_mw=123_456))\n"
        "globals().update({n: getattr(_all, n) for n in dir(_all) if n.lower().startswith('nvml')})\n"
    )
    source = Path(__file__).resolve().parents[3] / "src"
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(source)!r}]\n"
        "from wattline.live.power.nvml import main\ncode = main(['1'])\n"
        "heavy = {'numba', 'numpy', 'pydantic', 'typer'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["gpu_w"] == 123.456
    assert told["gpus"][0]["limit_bounds_w"] == [200.0, 700.0]
    assert told["gpus"][0]["energy_j"] is None
