"""Compiled code: no reference counts, cached, never stale, and usable where nothing can be written."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import wattline
from engine.worlds import cluster, run, table
from wattline.kernel.cache import cache_dir
from wattline.kernel.compiled import JIT
from wattline.kernel.sources import KERNEL_ROOMS
from wattline.learn.student import differs, two_sided_p
from wattline.sim.simulate import Simulation
from wattline.testing.plain import plain

PACKAGE = Path(wattline.__file__).parent
DECORATORS = {"kernel", "outlined", "entry", "library", "plugin"}
PROBE = """
from numba import types
from wattline.kernel.compiled import entry
from wattline.physics.cap_rates import capped_rate

@entry(types.float64(types.float64))
def probe(cap_w):
    return capped_rate(300.0, 150.0, 2.0, cap_w)

print(probe(225.0), sum(probe.stats.cache_hits.values()))
"""
LISTENING = """
import sys
from numba.core import event

class Compilations(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compilations())
sys.path.insert(0, {tests!r})
from engine.worlds import *
run(table({{"submit": 0, "work": 1, "nodes": 1}}), cluster(1))
print("compiled", Compilations.names)
"""
"""A run that tells what its process compiles; what lies in the cache may be another process's at the same time."""
needs_jit = pytest.mark.skipif(not JIT, reason="about compiled code")


def python(*arguments: str, cache: Path | str, source: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with a cache root and, if given, another copy of the package."""
    place = {"WATTLINE_CACHE_DIR": str(cache), "PYTHONPATH": str(source or PACKAGE.parent)}
    return subprocess.run([sys.executable, *arguments], env=os.environ | place, capture_output=True, text=True)


@needs_jit
def test_no_reference_counts_in_the_loop() -> None:
    """The compiled loop, the step and the chores never count references: that cost twelve times their speed."""
    run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1))
    found = {name: list(cache_dir().rglob(f"*.{name}-*.nbc")) for name in ("run", "easy", "in_order")}
    assert found["run"]
    for files in found.values():
        for file in files:
            code = file.read_bytes()
            assert b"NRT_incref" not in code, file
            assert b"NRT_MemInfo_call_dtor" not in code, file


@needs_jit
def test_a_kernel_called_from_python_says_what_to_do() -> None:
    """A kernel that Python calls, whatever its arguments, raises an error that names it and its callable twin; it
    returned None.
    """
    for call in (lambda: differs(20.0, 1.0, 1.0, 20.0, 3.0, 1.0), lambda: two_sided_p(2.0, 38.0), lambda: differs(1)):
        with pytest.raises(TypeError, match=r"learn\.student\..* is a kernel: only compiled code can call it.*plain"):
            call()
    assert plain(differs)(20.0, 1.0, 1.0, 20.0, 3.0, 1.0) is True


@needs_jit
def test_every_kernel_refuses_python() -> None:
    """There is no helper without a wrapper for Python that Python can call."""
    found = 0
    for room in KERNEL_ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            module = importlib.import_module(
                ".".join(("wattline", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
            )
            for value in vars(module).values():
                if isinstance(value, Dispatcher) and value.targetoptions.get("no_cpython_wrapper"):
                    found += 1
                    with pytest.raises(TypeError, match="is a kernel"):
                        value()
    assert found > 300


@needs_jit
def test_another_checkout_knows_that_it_has_to_compile(tmp_path: Path) -> None:
    """A second copy of the same sources that shares the cache is not warm: numba keeps compiled code by source path."""
    run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1))
    shutil.copytree(PACKAGE, tmp_path / "wattline", ignore=shutil.ignore_patterns("__pycache__"))
    ask = "from wattline.kernel.cache import is_warm; print(is_warm('wattline.sim.engine', 'run'))"
    here, there = (python("-c", ask, cache=cache_dir().parent, source=s) for s in (None, tmp_path))
    assert (here.stdout.strip(), there.stdout.strip()) == ("True", "False")


def test_the_time_to_compile_is_no_part_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's wall time begins when its compiled code is there."""
    load, pauses = Simulation._loop, [0.5]

    def slowly(self: Simulation) -> tuple[Any, Any]:
        time.sleep(pauses.pop() if pauses else 0.0)
        return load(self)

    run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1))
    monkeypatch.setattr(Simulation, "_loop", slowly)
    assert run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1)).wall_s < 0.4


@needs_jit
def test_a_second_process_compiles_nothing() -> None:
    """What one process compiled the next one loads."""
    run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1))
    done = python("-c", LISTENING.format(tests=str(Path(__file__).parents[1])), cache=cache_dir().parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "compiled []\n"


@needs_jit
def test_editing_a_kernel_never_runs_stale_code(tmp_path: Path) -> None:
    """A formula edited in one file is seen by a cached function of another one; unchanged, the cache is hit."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "wattline", ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "probe.py"
    script.write_text(PROBE)

    def probe() -> list[float]:
        done = python(str(script), cache=tmp_path / "cache", source=tmp_path / "src")
        assert done.returncode == 0, done.stderr
        return [float(word) for word in done.stdout.split()]

    assert probe() == [1 / 1.5, 0]
    assert probe() == [1 / 1.5, 1]
    power = tmp_path / "src" / "wattline" / "physics" / "cap_rates.py"
    text = power.read_text()
    assert "(stretch - 1.0) * depth" in text
    power.write_text(text.replace("(stretch - 1.0) * depth", "(stretch - 1.0) * depth * depth"))
    assert probe() == [1 / 1.25, 0]
    codes = tmp_path / "src" / "wattline" / "model" / "codes.py"
    codes.write_text(codes.read_text() + "\n")
    assert probe() == [1 / 1.25, 0]


@needs_jit
def test_without_a_writable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cache can be written everything works, and one warning says that every process will compile."""
    (tmp_path / "file").write_text("")
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    done = python("-W", "always", str(script), cache=tmp_path / "file" / "below")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(1 / 1.5)
    assert done.stderr.count("no writable cache for compiled code") == 1
    assert list((tmp_path / "tmp").iterdir()) == []  # what one process compiled for itself goes with it


def test_only_fingerprinted_rooms_hold_compiled_code() -> None:
    """Every module that uses a compiling decorator, or numba itself, lies in a room whose sources are fingerprinted."""
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            names: set[str] = set()
            if isinstance(node, ast.ImportFrom):
                used = {alias.name for alias in node.names}
                names = used & DECORATORS if node.module == "wattline.kernel.compiled" else set()
                names |= {node.module} if (node.module or "").split(".")[0] == "numba" else set()
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names if alias.name.split(".")[0] == "numba"}
            if names and "numba" in names and room not in KERNEL_ROOMS:
                # versions for a manifest are no compiled code
                names = set() if "njit" not in file.read_text() else names
            assert not names or room in KERNEL_ROOMS, f"{file}: {names}"


def test_importing_the_package_imports_no_numba(tmp_path: Path) -> None:
    """`import wattline`, its errors, units and policy door cost no compiler."""
    code = "import sys, wattline, wattline.errors, wattline.units, wattline.policies; sys.exit('numba' in sys.modules)"
    assert python("-c", code, cache=tmp_path).returncode == 0
