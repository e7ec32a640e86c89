"""Code of helpers that processes share: translated once, the same bits whoever translated it, and damage noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import wattline
from wattline.kernel.cache import FAST
from wattline.kernel.compiled import JIT

pytestmark = pytest.mark.skipif(not JIT or not FAST, reason="about compiled code of a version of numba that we know")

HELPERS = """from __future__ import annotations
from wattline.kernel.compiled import kernel, outlined

@outlined
def halved(x: float) -> float:
    if x > 1e9:
        raise ValueError("too much")
    return max(x, 0.1) / 2.0

@kernel
def mixed(x: float, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += halved(x + i)
    return total
"""

PROBE = """
import importlib.util, sys
from numba import types
from wattline.kernel.compiled import entry, write_ahead
from wattline.kernel import speed as numba_speed

written = []
plain = numba_speed._LowerHelper.run_pass
def run_pass(self, state):
    written.append(state.func_id.func_qualname)
    return plain(self, state)
numba_speed._LowerHelper.run_pass = run_pass

spec = importlib.util.spec_from_file_location("wattline.a_room_of_this_test", {helpers!r})
room = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = room
spec.loader.exec_module(room)
halved, mixed = room.halved, room.mixed
if {ahead!r}:
    write_ahead(mixed)
else:
    @entry(types.float64(types.float64, types.int64))
    def {name}(x, n):
        return mixed(x, n) + {number}
    print({name}(0.3, 7).hex(), end=" ")
    try:
        {name}(1e10, 1)
    except ValueError as problem:
        print(str(problem).replace(" ", "-"), end=" ")
print(*written)
"""


def run_probe(folder: Path, name: str, *, number: float = 0.0, ahead: bool = False) -> tuple[list[str], str]:
    """Return what a process says that compiles an entry point: its result, its error, the helpers it translated;
    and its warnings.
    """
    helpers = folder / "helpers.py"
    helpers.write_text(HELPERS)
    file = folder / f"{name}.py"
    file.write_text(PROBE.format(helpers=str(helpers), name=name, number=number, ahead=ahead))
    place = {"WATTLINE_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(Path(wattline.__file__).parents[1])}
    done = subprocess.run([sys.executable, file], env=os.environ | place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_a_helper_is_translated_once(tmp_path: Path) -> None:
    """What one process has translated another only links, to the same bits and with the same errors."""
    first, _ = run_probe(tmp_path, "first")
    second, _ = run_probe(tmp_path, "second")
    assert first[1:] == ["too-much", "mixed", "halved"] or first[1:] == ["too-much", "halved", "mixed"]
    assert second == first[:2]


def test_helpers_can_be_translated_before_anybody_calls_them(tmp_path: Path) -> None:
    """A process that has nothing else to do translates helpers of others ahead of them."""
    ahead, _ = run_probe(tmp_path, "ahead", ahead=True)
    assert sorted(ahead) == ["halved", "mixed"]
    assert run_probe(tmp_path, "first")[0][1:] == ["too-much"]


def test_a_damaged_helper_is_said_and_translated_again(tmp_path: Path) -> None:
    """A flipped byte of a helper's code is noticed, said, and cured."""
    first, _ = run_probe(tmp_path, "first")
    kept = list((tmp_path / "cache").rglob("*.bc"))
    assert len(kept) == 2
    for path in kept:
        text = bytearray(path.read_bytes())
        text[-5] ^= 1
        path.write_bytes(bytes(text))
    second, said = run_probe(tmp_path, "second")
    assert second[:2] == first[:2]
    assert sorted(second[2:]) == ["halved", "mixed"]
    assert "compiled code is damaged (its checksum differs)" in said
    assert run_probe(tmp_path, "third")[0] == first[:2]


def test_an_address_of_another_process_is_an_error() -> None:
    """Code that was written elsewhere and still holds an address from there is refused: it would read anything."""
    from wattline.kernel.link import refuse_addresses

    refuse_addresses("fine", [SimpleNamespace(name=".const.pickledata")])
    with pytest.raises(RuntimeError, match="broken: compiled code holds an address of the process that compiled it"):
        refuse_addresses("broken", [SimpleNamespace(name="numba.dynamic.globals.7f00")])
