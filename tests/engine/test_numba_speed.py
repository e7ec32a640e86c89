"""What makes numba compile our kernels faster: the same results, nothing lost on the way, and numba left as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from numba import types
from numba.core import base
from numba.core.imputils import builtin_registry
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction

import wattline
from wattline.kernel.cache import FAST, _unknown
from wattline.kernel.compiled import JIT, entry, kernel, outlined

pytestmark = pytest.mark.skipif(not JIT or not FAST, reason="about compiled code of a version of numba that we know")

PROBE = """
import sys, numba
if {version!r}:
    numba.version_info = numba.version_info._replace(short={version!r})
from numba import types
from wattline.kernel.compiled import FAST, entry, kernel, outlined

@outlined
def halved(x):
    return x / 2.0 if x > 0.0 else -1.0

@kernel
def mixed(x, n):
    total = 0.0
    for i in range(n):
        total += halved(x + i) * max(x, 0.1)
    return total

@entry(types.float64(types.float64, types.int64))
def probe(x, n):
    return mixed(x, n) + mixed(x, 3)

hits = sum(probe.stats.cache_hits.values())
print(probe(0.3, 7).hex(), FAST, hits, "numba.np.arraymath" in sys.modules)
"""


def run_probe(tmp_path: Path, version: tuple[int, int] | None) -> list[str]:
    """Return what a process says that compiles or loads the probe: the result, whether numba is known, hits, whether a
    compiler came.
    """
    file = tmp_path / "probe.py"
    file.write_text(PROBE.format(version=version))
    place = {"WATTLINE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(wattline.__file__).parents[1])}
    done = subprocess.run([sys.executable, file], env=os.environ | place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_unknown_numba_compiles_in_its_own_way_to_the_same_bits(tmp_path: Path) -> None:
    """A version of numba that was never tried is left as it is, and what it compiles computes the same."""
    for folder in ("known", "unknown"):
        (tmp_path / folder).mkdir()
    known, unknown = run_probe(tmp_path / "known", None), run_probe(tmp_path / "unknown", (9, 99))
    assert (known[1], unknown[1]) == ("True", "False")
    assert known[0] == unknown[0]


def test_loading_needs_no_compiler(tmp_path: Path) -> None:
    """A second process finds the code in the cache, with the same results, and never loads what only a compiler
    needs.
    """
    first, second = run_probe(tmp_path, None), run_probe(tmp_path, None)
    assert first[2:] == ["0", "True"]
    assert second == [first[0], "True", "1", "False"]


def test_a_name_that_no_linker_knows_is_found_before_it_ends_the_process() -> None:
    """Code that wants something of numba's compiler is not loaded before that is there."""
    assert _unknown(("malloc", "wattline_has_no_such_function")) == ["wattline_has_no_such_function"]


def test_a_lost_helper_is_an_error() -> None:
    """Code that calls a function which was not linked in is refused: it would jump to nowhere."""
    from wattline.kernel.link import refuse_lost

    def named(name: str, *, declared: bool) -> Any:
        return SimpleNamespace(name=name, is_declaration=declared)

    refuse_lost("fine", [named("_ZN8wattline1fE", declared=False), named("PyErr_Clear", declared=True)])
    with pytest.raises(RuntimeError, match=r"broken: compiled code calls _ZN8wattline1fE, which was not linked in"):
        refuse_lost("broken", [named("_ZN8wattline1fE", declared=True)])


@kernel
def _inner(x: float) -> float:
    return x + 1.0


@outlined
def _apart(x: float, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += _inner(x * i)
    return total


@kernel
def _outer(x: float) -> float:
    n = -1  # which numba takes for a constant until it has seen the loop
    for i in range(4):
        n = i
        x += _apart(x, n)
    return x + _apart(x, 2)


def _compile_outer() -> Any:
    """Return a function that numba itself compiles, never from the cache."""

    @numba.njit(types.float64(types.float64))
    def plain(x: float) -> float:
        return _outer(x)

    return plain


def test_plain_functions_of_users_call_kernels() -> None:
    """A function that a user compiles with numba itself, reference counts and all, is linked with all that a kernel
    calls.
    """
    wanted = 0.5
    for n in range(4):
        wanted += sum(wanted * i + 1.0 for i in range(n))
    assert _compile_outer()(0.5) == wanted + sum(wanted * i + 1.0 for i in range(2))


def test_a_kernel_is_compiled_once_for_all_constants() -> None:
    """Constants, and first guesses of the type of a variable, make no further versions of a helper."""
    _compile_outer()
    assert list(_apart.overloads) == [(types.float64, types.int64)]  # type: ignore[attr-defined]


def test_what_is_kept_apart_is_not_forced_into_its_callers() -> None:
    """A helper that may stay a call of its own does so under kernels as well, which numba would have it inherit
    from.
    """
    _compile_outer()
    forced = {}
    for helper in (_apart, _inner):
        (found,) = helper.overloads.values()  # type: ignore[attr-defined]
        forced[helper.py_func.__name__] = found.fndesc.inline  # type: ignore[attr-defined]
    assert forced == {"_apart": False, "_inner": True}


def test_numba_is_left_as_it_was() -> None:
    """After compiling, and after failing to, numba's own methods are back."""
    before = (BaseFunction.get_call_type, TargetConfig.__eq__, base.BaseContext.refresh, base._has_loc)
    entry(types.float64(types.float64))(lambda x: x + 1.0)
    with pytest.raises(numba.TypingError):
        entry(types.float64(types.float64))(lambda x: x.nothing)
    assert (BaseFunction.get_call_type, TargetConfig.__eq__, base.BaseContext.refresh, base._has_loc) == before


def test_what_is_registered_meanwhile_is_found() -> None:
    """Numba registers how to lower an intrinsic when it first meets its types, in the middle of a compilation and
    without a new module: it is found there.
    """
    from wattline.kernel.speed import remembering

    def own(_context: Any, _builder: Any, _signature: Any, args: Any) -> Any:
        return args[0]

    context = cpu_target.target_context
    with remembering():
        context.refresh()
        builtin_registry.lower(own, types.int64)(own)
        assert context.get_function(own, types.int64(types.int64)) is not None
