"""The file of an agent: what is wrong with it is one line, and ``--check`` changes nothing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from wattline.errors import InputError
from wattline.live.agent.config import read_settings
from wattline.live.power.fakes.powercap import make_tree

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "live" / "node.toml"


def test_the_example_says_all_defaults(tmp_path: Path) -> None:
    """The example file is sound, and every key in it that is not about this node has the default's value."""
    for name in ("example.toml", "least.toml"):
        text = 'site = "demo"\nrun_dir = "run"\n[node]\nname = "n001"\npowercap = "tree"\nsafe = 180\nmin = 120\n'
        text += 'max = 350\n[model]\nprofile = "gold-6132"\n'
        (tmp_path / name).write_text(text if name == "least.toml" else EXAMPLE.read_text())
    settings, least = read_settings(tmp_path / "example.toml"), read_settings(tmp_path / "least.toml")
    assert settings.nodes == least.nodes
    assert (settings.controllers, settings.jobs, settings.bus) == (least.controllers, least.jobs, least.bus)
    assert math.isnan(settings.origin_s)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('site = "demo"', "", "site: is missing"),
        ('site = "demo"', 'site = "a/b"', "site: must be letters, digits"),
        ('safe = "180 W"', 'safe = "180 J"', "[node.1] safe: unknown unit 'J'"),
        ('safe = "180 W"', 'safe = "100 W"', "expected 0 < min <= safe <= max"),
        ('safe = "180 W"', "safe = nan", "[node.1] safe: must be a number"),
        ('safe = "180 W"', "saef = 180", "[node.1] saef: unknown key; did you mean 'safe'"),
        ('min = "120 W"', 'min = "40 W"', "min: a server without processor power draws 44 W"),
        ('max = "350 W"', "max = -1", "[node.1] max: must be a number of at least 0"),
        ('period = "1 s"', 'period = "0 s"', "period: must be 0.05 s to 60 s"),
        ('longest_lease = "60 s"', 'longest_lease = "0.5 s"', "longest_lease: must be a period"),
        ('start = "safe"', 'start = "off"', "start: must be 'safe' or 'free'"),
        ('profile = "gold-6132"', 'profile = "gold-6123"', "did you mean 'gold-6132'"),
        ('profile = "gold-6132"', 'profile = "no.toml"', "no.toml: cannot be read"),
        ('profile = "gold-6132"', "phi_1 = 1.3", "[model]: expected a profile, or phi_1, phi_2 and phi_3"),
        ('profile = "gold-6132"', "phi_1 = 1.3\nphi_2 = 1.0\nphi_3 = -4", "[model] phi_3"),
        ("ki = 0.4", "ki = -0.4", "[pid] ki: must be greater than or equal to 0"),
        ("ki = 0.4", 'ki = "fast"', "[pid] ki: must be a valid number"),
        ("[node]", "[nodes]", "nodes: unknown key; did you mean 'node'"),
        ("[pid]", "[pid", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    """What is wrong is said with file and key, in one line."""
    text = EXAMPLE.read_text()
    assert text.count(old) >= 1
    path = tmp_path / "node.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as found:
        read_settings(path)
    assert told in str(found.value)
    assert str(found.value).startswith(f"{path}: ")
    assert "\n" not in str(found.value)


def test_several_nodes_have_names_of_their_own(tmp_path: Path) -> None:
    """[[node]] tables are several nodes; none may be there twice."""
    node = '[[node]]\nname = "{}"\nsafe = 180\nmin = 120\nmax = 350\nprofile = "e5-2650v2"\n'
    path = tmp_path / "node.toml"
    path.write_text('site = "s"\n' + node.format("a") + node.format("b"))
    assert [n.name for n in read_settings(path).nodes] == ["a", "b"]
    assert read_settings(path).nodes[0].model.phi_1 == 1.35
    path.write_text('site = "s"\n' + node.format("a") * 2)
    with pytest.raises(InputError, match="'a' is there twice"):
        read_settings(path)


def _call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wattline", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_check_shows_what_would_be_used_and_changes_nothing(tmp_path: Path) -> None:
    """``--check`` reads the tree and shows it; limits, lock and save file stay as they are. An agent loads no numba,
    numpy or polars.
    """
    (tmp_path / "node.toml").write_text(EXAMPLE.read_text())
    missing = _call(tmp_path, "agent", "node.toml", "--check")
    assert missing.returncode == 2
    assert "no powercap tree" in missing.stderr
    assert missing.stderr.count("\n") == 1
    make_tree(tmp_path / "tree", decoys=True)
    done = _call(tmp_path, "agent", "node.toml", "--check")
    assert done.returncode == 0, done.stderr
    assert "package-0, package-1, package-0/dram" in done.stdout
    assert "psys: left out" in done.stdout
    code = (
        "import sys; from wattline.cli import call; code = call(['agent', 'node.toml', '--check', '--json'])\n"
        "heavy = {'numba', 'numpy', 'polars', 'scipy', 'rich.table'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    light = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert light.returncode == 0, light.stderr
    assert json.loads(light.stdout)["nodes"][0]["limit_bounds_w"] == [41.0, 410.0]
    assert {p.name for p in tmp_path.iterdir()} == {"node.toml", "tree"}


def test_check_tells_a_bound_that_the_hardware_cannot_keep(tmp_path: Path) -> None:
    """A least cap for which the processors would need a lower limit than they take is told."""
    make_tree(tmp_path / "tree")
    (tmp_path / "node.toml").write_text(EXAMPLE.read_text().replace('min = "120 W"', 'min = "80 W"'))
    done = _call(tmp_path, "agent", "node.toml", "--check")
    assert done.returncode == 0
    assert "caps below 129 W cannot be kept" in done.stdout


def test_calibrate_and_tune_pid_tell_figures(tmp_path: Path) -> None:
    """``calibrate`` writes a profile that an agent takes, ``tune-pid`` tells gains from a record and without one."""
    rows = [f"{30 + i % 37 * 5},{5 + i % 11},{1.29 * (30 + i % 37 * 5) + 1.63 * (5 + i % 11) + 44}" for i in range(100)]
    (tmp_path / "r.csv").write_text("\n".join(["cpu_w,memory_w,server_w", *rows]))
    done = _call(tmp_path, "calibrate", "r.csv", "--write", "mine.toml")
    assert done.returncode == 0, done.stderr
    assert "phi_1 1.29   phi_2 1.63   phi_3 44 W" in done.stdout
    (tmp_path / "node.toml").write_text(EXAMPLE.read_text().replace('"gold-6132"', '"mine.toml"'))
    assert read_settings(tmp_path / "node.toml").nodes[0].model.phi_2 == pytest.approx(1.63)
    steps = [f"{i / 10},{100 if i < 50 else 150},{150 if i < 51 else 215}" for i in range(100)]
    (tmp_path / "s.csv").write_text("\n".join(["time_s,limit_w,power_w", *steps]))
    found = json.loads(_call(tmp_path, "tune-pid", "s.csv", "--json").stdout)
    assert found["plant"]["gain"] == pytest.approx(1.3, rel=0.01)
    assert found["tuned"]["settle_s"] < 8.0
    plain = _call(tmp_path, "tune-pid")
    assert plain.returncode == 0, plain.stderr
    assert "overshoot" in plain.stdout
