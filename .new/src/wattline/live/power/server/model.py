"""Power of a whole server by the power of its processors and memory: P = φ₁ P_proc + φ₂ P_mem + φ₃."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from wattline.errors import InputError, did_you_mean
from wattline.files import read_regular, write_whole
from wattline.units import power_w


@dataclass(frozen=True)
class ServerModel:
    """A calibration of the model, and where it comes from."""

    name: str
    phi_1: float
    phi_2: float
    phi_3_w: float
    source: str = ""

    def server_w(self, cpu_w: float, memory_w: float) -> float:
        """Return the power of the server; NaN where the memory counts and is not known."""
        return self.phi_1 * cpu_w + (self.phi_2 * memory_w if self.phi_2 else 0.0) + self.phi_3_w

    def cpu_w(self, server_w: float, memory_w: float) -> float:
        """Return the power of the processors at which the server has this power."""
        return (server_w - (self.phi_2 * memory_w if self.phi_2 else 0.0) - self.phi_3_w) / self.phi_1


PROFILES = {
    "e5-2650v2": ServerModel(
        "e5-2650v2",
        1.35,
        1.32,
        53.4,
        "Dell PowerEdge M620, two Intel Xeon E5-2650 v2: Zhang, Intelligent middleware for HPC systems "
        "(Boston University 2021), 2.5.1; error less than 2 %",
    ),
    "gold-6132": ServerModel(
        "gold-6132",
        1.29,
        1.63,
        44.0,
        "two Intel Xeon Gold 6132: Zhang, Wilson, Paschalidis and Coskun, HPC Data Center Participation in Demand "
        "Response: an Adaptive Policy with QoS Assurance, 4.1 (the same dissertation, 2.7.1)",
    ),
}
"""Published calibrations by the processors they were made on."""


def profile(name: str, folder: Path | str = ".") -> ServerModel:
    """Return a shipped calibration by its name, or one that ``wattline calibrate`` has written by its file."""
    if name in PROFILES:
        return PROFILES[name]
    if not name.endswith(".toml"):
        raise InputError(f"no server model is called {name!r}{did_you_mean(name, PROFILES)}; or give a .toml file")
    path = Path(folder) / name
    try:
        given = tomllib.loads(read_regular(path).decode("utf-8"))
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    except ValueError as problem:
        raise InputError(f"{path}: not valid TOML: {' '.join(str(problem).split())}") from None
    wanted = ("phi_1", "phi_2", "phi_3")
    unknown = sorted(set(given) - {"name", "source", *wanted})
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}; a server model has name, source, {', '.join(wanted)}")
    values = []
    for key in wanted:
        value = given.get(key)
        if value is None:
            raise InputError(f"{path}: key {key!r} is missing")
        if isinstance(value, bool) or not isinstance(value, int | float | (str if key == "phi_3" else float)):
            raise InputError(f"{path}: {key}: expected a number, got {value!r}")
        values.append(power_w(value))
    name, source = str(given.get("name", path.stem)), str(given.get("source", ""))
    return checked(ServerModel(name, values[0], values[1], values[2], source), str(path))


def checked(model: ServerModel, where: str) -> ServerModel:
    """Return a model, or say that no server behaves so."""
    for key, value, sound in (
        ("phi_1", model.phi_1, 0.1 <= model.phi_1 <= 10.0),
        ("phi_2", model.phi_2, 0.0 <= model.phi_2 <= 10.0),
        ("phi_3", model.phi_3_w, 0.0 <= model.phi_3_w <= 1e5),
    ):
        if not (sound and math.isfinite(value)):
            raise InputError(f"{where}: {key}: no server has {value:g} (φ₁ 0.1 to 10, φ₂ 0 to 10, φ₃ 0 to 100 kW)")
    return model


def write(model: ServerModel, path: Path | str, comment: str) -> None:
    """Write a calibration that ``[model] profile`` of an agent's file can name."""
    lines = (
        f"# {comment}",
        "# server = phi_1 * processors + phi_2 * memory + phi_3",
        f"name = {json.dumps(model.name)}",
        f"phi_1 = {model.phi_1:.9g}",
        f"phi_2 = {model.phi_2:.9g}",
        f'phi_3 = "{model.phi_3_w:.9g} W"',
        f"source = {json.dumps(model.source)}",
    )
    write_whole(path, "\n".join([*lines, ""]).encode())
