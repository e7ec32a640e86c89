"""Operations of which LLVM may assume anything have a result in what users compile; assumed away, they took the check
of an index with them, and the process ended.
"""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from programs import python
from wattline.kernel.compiled import JIT
from wattline.kernel.indices import checking_indices, for_users, of_users

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled code")

EDGES = [2.0**bits + add for bits in (7, 8, 15, 16, 31, 32, 63, 64) for add in (-1, -0.5, 0, 0.5)]
FLOATS = [*EDGES, *(-one for one in EDGES), 0.0, -0.0, 0.5, -0.5, -0.99, 3.7, -3.7, 1e19, 1e300, -1e300]
FLOATS += [math.inf, -math.inf, math.nan]
KINDS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def plain(value: float, kind: type[np.integer[Any]]) -> int:
    """Return what a float becomes: its whole part, or the least number where the kind (or, of an unsigned one that is
    below 0, the signed kind of the same width) cannot hold it.
    """
    info = np.iinfo(kind)
    least = -(2 ** (info.bits - 1))
    if not math.isfinite(value):
        found = least
    elif info.min <= (whole := math.trunc(value)) <= info.max or (info.min == 0 and least <= whole < 0):
        found = whole
    else:
        found = least
    return found if info.min < 0 else found % 2**info.bits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [np.float64, np.float32])
def test_every_float_becomes_a_whole_number(kind: type[np.integer[Any]], wide: type[np.floating[Any]]) -> None:
    """Also one that the kind cannot hold, whether it is known while it is compiled or not."""
    with checking_indices():
        convert = numba.njit(lambda value: kind(value))  # noqa: PLW0108 - numba compiles no class
        with np.errstate(over="ignore"):
            values = [wide(one) for one in FLOATS]
        for value in values:
            assert int(convert(value)) == plain(float(value), kind), value
        known = numba.njit(
            lambda: (kind(wide(1.5 * 2.0**63)), kind(wide(-1e30)), kind(wide(np.inf)), kind(wide(np.nan)))
        )
        assert [int(one) for one in known()] == [plain(one, kind) for one in (1.5 * 2.0**63, -1e30, np.inf, np.nan)]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
def test_shifts_beyond_all_bits_shift_everything_out(kind: type[np.integer[Any]]) -> None:
    """As those of numpy's arrays do; a shift by fewer than no bits, too."""
    with checking_indices():
        left, right = numba.njit(lambda a, b: a << b), numba.njit(lambda a, b: a >> b)
        for value in (kind(1), kind(77), np.iinfo(kind).max, np.iinfo(kind).min):
            for count in (0, 1, 5, 63, 64, 65, 200, -1):
                a, b = kind(value), np.int64(count)
                inside = 0 <= count < 64
                assert int(left(a, b)) % 2**64 == ((int(a) << count) % 2**64 if inside else 0)
                assert int(right(a, b)) == (int(a) >> count if inside else -1 if a < 0 else 0)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("function", [np.mod, np.remainder, np.floor_divide], ids=lambda f: f.__name__)
def test_divisions_of_the_least_number_end_no_process(function: Any, kind: type[np.integer[Any]]) -> None:
    """By -1 and by 0, of arrays, for which numba asks less than for numbers; others are divided as numpy does."""
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    values = np.array([least, most, 77, 0, most - 1] + ([-77, least + 1] if least else []), dtype=kind)
    with checking_indices():
        divide = numba.njit(lambda a, b: function(a, b))  # noqa: PLW0108 - numba compiles functions only
        for by in (1, 3, most, 0, *((-1, -3, least) if least else ())):
            divisors = np.full(values.size, by, dtype=kind)
            with np.errstate(all="ignore"):
                found, expected = divide(values, divisors), function(values, divisors)
            if by == -1 and function is np.floor_divide:  # numba says 0 of the least number
                found, expected = found[1:], expected[1:]
            assert found.tolist() == expected.tolist(), by


@pytest.mark.parametrize("index", ["int(1e300)", "round(1e19 * n)", "int(np.inf)", "np.int64(-1e19)"])
@pytest.mark.parametrize("compiled", ["", ", compiled=True"], ids=["plain", "compiled"])
def test_what_no_whole_number_holds_is_no_index(tmp_path: Path, index: str, compiled: str) -> None:
    """In a policy of a user, and in what it compiles itself."""
    far = f"@numba.njit\ndef far(queue, n):\n    return queue[{index}]\n\n\n"
    mine = f"@policy('select'{compiled})\ndef mine(s, arg, param, memory):\n    return far(s.queue, 1)\n"
    (tmp_path / "mine.py").write_text(
        "import numba\nimport numpy as np\nfrom wattline import policy\n\n\n" + far + mine
    )
    done = python(
        "import wattline as wl\nt = wl.from_frame({'submit_s': [0.0], 'work_s': [60.0], 'nodes': [1]})\n"
        "try:\n    wl.simulate(t, wl.Machine(nodes=4), select='mine.py')\n"
        "except wl.PolicyError as problem:\n    print(problem)\n",
        tmp_path,
    )
    assert done.code == 0, done.err
    assert "policy 'mine'" in done.out
    assert "out of bounds" in done.out


def test_other_threads_and_the_engine_compile_as_ever() -> None:
    """What is fast because it is undefined stays so where we know what we do."""
    found: list[bool] = []
    with for_users():
        thread = threading.Thread(target=lambda: found.append(of_users()))
        thread.start()
        thread.join()
        assert of_users()
    assert found == [False]
    assert not of_users()
