"""Server power by a linear model: the published calibrations, fits of one's own, and data that cannot be fitted."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from wattline.errors import InputError
from wattline.live.power.server.calibrate import calibrate, fit
from wattline.live.power.server.model import PROFILES, ServerModel, profile, write


@pytest.mark.parametrize(("name", "phi"), [("e5-2650v2", (1.35, 1.32, 53.4)), ("gold-6132", (1.29, 1.63, 44.0))])
def test_published_calibrations_ship(name: str, phi: tuple[float, float, float]) -> None:
    """Both published calibrations are there by name, with their source, and work both ways."""
    model = profile(name)
    assert (model.phi_1, model.phi_2, model.phi_3_w) == phi
    assert "Zhang" in model.source
    assert model.server_w(100.0, 20.0) == pytest.approx(phi[0] * 100.0 + phi[1] * 20.0 + phi[2])
    assert model.cpu_w(model.server_w(100.0, 20.0), 20.0) == pytest.approx(100.0)


def _readings(noise_w: float = 0.0, count: int = 200) -> tuple[list[float], list[float], list[float]]:
    draw = random.Random(5)
    cpu = [draw.uniform(30.0, 250.0) for _ in range(count)]
    memory = [draw.uniform(5.0, 40.0) for _ in range(count)]
    model = PROFILES["gold-6132"]
    server = [model.server_w(c, m) + draw.gauss(0.0, noise_w) for c, m in zip(cpu, memory, strict=True)]
    return cpu, memory, server


def test_readings_without_error_give_the_model_back() -> None:
    """Least squares finds φ to nine digits where readings have no error, and R² is 1."""
    found = fit(*_readings())
    assert (found.model.phi_1, found.model.phi_2, found.model.phi_3_w) == pytest.approx((1.29, 1.63, 44.0), rel=1e-9)
    assert found.fit.max_percent < 1e-6
    assert found.held_out.r2 == pytest.approx(1.0)


def test_the_error_is_told_on_readings_held_out(tmp_path: Path) -> None:
    """With readings in steps of 4 W, as the papers had, φ is near and the error below 2 %, on readings held out too."""
    cpu, memory, server = _readings()
    path = tmp_path / "readings.csv"
    rows = [f"{c},{4 * round(s / 4)},{m},x" for c, m, s in zip(cpu, memory, server, strict=True)]
    path.write_text("\n".join(["cpu_w,server_w,memory_w,note", *rows, ""]))
    found = calibrate(path)
    assert (found.model.phi_1, found.model.phi_2) == pytest.approx((1.29, 1.63), rel=0.02)
    assert found.fit.mean_percent < found.held_out.mean_percent < 2.0
    assert found.readings == 200


def test_memory_may_be_left_out() -> None:
    """Without readings of memory φ₂ is 0 and φ₃ carries its mean."""
    cpu, memory, server = _readings()
    found = fit(cpu, None, server)
    assert found.model.phi_2 == 0.0
    assert found.model.phi_3_w == pytest.approx(44.0 + 1.63 * sum(memory) / len(memory), rel=0.1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cpu_w,server_w\n" + "100,200\n" * 5, "has 5 readings"),
        ("cpu_w,server_w\n" + "100,200\n" * 30, "cpu_w: hardly changes"),
        (
            "cpu_w,memory_w,server_w\n" + "".join(f"{i},{i / 10},{2 * i + 50}\n" for i in range(1, 40)),
            "memory_w: does not",
        ),
        ("cpu_w,memory_w,server_w\n" + "".join(f"{i},7,{2 * i + 50}\n" for i in range(1, 40)), "memory_w: does not"),
        ("cpu_w,server_w\n" + "".join(f"{i},{500 - i}\n" for i in range(1, 40)), "phi_1: no server has -1"),
        ("cpu_w,server_w\n" + "".join(f"{i},{i}\n" for i in range(-5, 40)), "negative"),
        ("cpu_w,server_w\n1,2\n1,nan\n", ":3: field 'server_w': expected a number"),
        ("cpu_w,server_w\n1,2\n1\n", ":3: has 1 fields"),
        ("cpu,server_w\n1,2\n", "no column is called 'cpu_w'; did you mean 'cpu'"),
        ("", "no column is called 'cpu_w'"),
    ],
)
def test_readings_that_cannot_be_fitted_are_refused(tmp_path: Path, text: str, told: str) -> None:
    """Degenerate data is refused in one line that names the file and says what to do."""
    path = tmp_path / "readings.csv"
    path.write_text(text)
    with pytest.raises(InputError) as found:
        calibrate(path)
    assert told in str(found.value)
    assert str(found.value).startswith(str(path))
    assert "\n" not in str(found.value)


def test_a_written_model_is_read_back(tmp_path: Path) -> None:
    """What calibration writes is a profile that an agent's file can name."""
    model = ServerModel('node "7"', 1.234567, 0.0, 61.5, "made here")
    write(model, tmp_path / "mine.toml", "by a test")
    assert profile("mine.toml", tmp_path) == model


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("phi_1 = 1.3\nphi_2 = 1\n", "'phi_3' is missing"),
        ("phi_1 = -1.3\nphi_2 = 1\nphi_3 = 4\n", "phi_1"),
        ("phi_1 = 1.3\nphi_2 = nan\nphi_3 = 4\n", "phi_2"),
        ("phi_1 = 1.3\nphi_2 = 1\nphi_3 = '4 J'\n", "unknown unit"),
        ("phi_1 = 1.3\nphi_2 = '1'\nphi_3 = 4\n", "phi_2: expected a number"),
        ("phi_1 = 1.3\nphi_2 = 1\nphi_3 = 4\nphi = 1\n", "unknown key 'phi'"),
        ("phi_1 =", "not valid TOML"),
    ],
)
def test_models_that_no_server_has_are_refused(tmp_path: Path, text: str, told: str) -> None:
    """A file with other keys, or with numbers that no server has, is refused."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError, match=told):
        profile("mine.toml", tmp_path)


def test_power_is_light() -> None:
    """Nothing in the room of power loads numpy, numba, polars, scipy or pydantic."""
    code = (
        "import sys, wattline.live.power.powercap, wattline.live.power.fakes.powercap\n"
        "import wattline.live.power.server.calibrate, wattline.live.power.server.tune\n"
        "heavy = {'numba', 'numpy', 'polars', 'scipy', 'pydantic', 'zmq'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
