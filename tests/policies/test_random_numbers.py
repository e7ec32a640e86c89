"""The counter-based generator: published answers, one sequence in every mode, no dependence on order."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from wattline.physics import random


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_answers(counter: list[int], key: list[int], answer: list[int]) -> None:
    """Philox 4x32-10 equals Random123's known answers, on Python integers and on arrays alike."""
    assert list(random._rounds(*counter, *key, random._high_low)) == answer
    arrays = [np.array([word], dtype=np.int64) for word in counter]
    assert [int(word[0]) for word in random._rounds(*arrays, *key, random._high_low)] == answer


PROGRAM = """
import numpy as np
from wattline.kernel.compiled import library
from wattline.physics.random import uniform
@library
def fill(out, seed, stream):
    for i in range(out.size):
        out[i] = uniform(seed, stream, i)
out = np.empty(200)
for seed, stream in ((0, 0), (2**52 + 12345, 7), (-3, 1)):
    fill(out, seed, stream)
    print(out.tobytes().hex())
"""


def lines(*, jit: bool) -> list[str]:
    """Numbers drawn in a process of its own, compiled or not; warnings are errors."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if jit else "1"}
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        PROGRAM.replace("@library", "@library" if not jit else "@__import__('numba').njit"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


def test_numbers_are_the_same_bytes_compiled_plain_and_on_arrays() -> None:
    """Compiled code, plain Python and arrays draw the same bytes for any seed, without a warning."""
    arrays = [
        random.uniforms(seed, stream, 200).tobytes().hex() for seed, stream in ((0, 0), (2**52 + 12345, 7), (-3, 1))
    ]
    assert lines(jit=True) == arrays
    assert lines(jit=False) == arrays


def test_a_number_depends_on_its_place_alone() -> None:
    """Drawing from the middle gives what drawing from the start gives there, beyond 32 bits as well."""
    assert random.uniforms(5, 1, 100)[40:].tolist() == random.uniforms(5, 1, 60, first=40).tolist()
    far = random.uniforms(5, 1, 4, first=2**32 - 2)
    assert np.unique(np.concatenate([far, random.uniforms(5, 1, 4)])).size == 8


def test_numbers_are_uniform_and_streams_unrelated() -> None:
    """Means, variances and correlations of 100,000 numbers lie within four standard errors of the uniform law's."""
    first, second, other = (
        random.uniforms(1, 0, 100_000),
        random.uniforms(1, 1, 100_000),
        random.uniforms(2, 0, 100_000),
    )
    for drawn in (first, second, other):
        assert 0.0 <= drawn.min() < 1e-3
        assert 1 - 1e-3 < drawn.max() < 1.0
        assert abs(drawn.mean() - 0.5) < 4 * np.sqrt(1 / 12 / drawn.size)
        counts, _ = np.histogram(drawn, 100, (0.0, 1.0))
        assert float(np.sum((counts - 1000.0) ** 2 / 1000.0)) < 99 + 4 * np.sqrt(2 * 99)
    for a, b in ((first, second), (first, other), (first[1:], first[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(a.size)
