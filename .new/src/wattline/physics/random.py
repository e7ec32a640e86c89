"""Random numbers without a state: a counter-based generator, the same in compiled code, in plain Python and on arrays.

Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The n-th number of a stream is a
function of (seed, stream, n) alone, so that nobody's draws depend on who else draws, nor on threads. Products of 32-bit
words are taken in halves: nothing ever leaves 63 bits, so signed integers of any kind give the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.kernel.compiled import kernel

CAP_COINS = 1
"""Stream of the coins that a cap policy throws. Each use of random numbers has a stream of its own."""
PLACES = 2
"""Stream of those that place policies draw."""
LATE_STARTS = 3
"""Stream of the times that jobs take to be there after they were told to start."""
LATE_CAPS = 4
"""Stream of the times that caps take to get into force."""
NOISE = 5
"""Stream of the deviations of a machine's power."""

_WORD = 0xFFFFFFFF
_HALF = 0xFFFF
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_SCALE = 1.0 / (1 << 53)


def _high_low(a: Any, b: Any) -> Any:
    """Return the upper and the lower word of a product of two 32-bit words."""
    low = a * (b & _HALF)
    middle = a * (b >> 16) + (low >> 16)
    return middle >> 16, ((middle & _HALF) << 16) | (low & _HALF)


_product = kernel(_high_low)


def _rounds(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, product: Any) -> Any:
    for _ in range(_ROUNDS):
        high_0, low_0 = product(_MULTIPLIER_0, c0)
        high_1, low_1 = product(_MULTIPLIER_1, c2)
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0 = (k0 + _WEYL_0) & _WORD
        k1 = (k1 + _WEYL_1) & _WORD
    return c0, c1, c2, c3


_compiled_rounds = kernel(_rounds)


@kernel
def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return four random 32-bit words from a counter and a key of 32-bit words."""
    return _compiled_rounds(c0, c1, c2, c3, k0, k1, _product)


@kernel
def uniform(seed: int, stream: int, counter: int) -> float:
    """Return number ``counter`` of a stream, uniform in [0, 1), with 53 random bits."""
    x0, x1, _, _ = philox(
        counter & _WORD,
        (counter >> 32) & _WORD,
        stream & _WORD,
        (stream >> 32) & _WORD,
        seed & _WORD,
        (seed >> 32) & _WORD,
    )
    return ((x0 >> 5) * 67108864.0 + (x1 >> 6)) * _SCALE


@kernel
def words(seed: int, stream: int, block: int, number: int) -> tuple[int, int, int, int]:
    """Return block ``number`` of four random 32-bit words out of many that belong to ``block`` (a job, a start, …)
    of a stream.
    """
    return philox(number & _WORD, block & _WORD, stream & _WORD, 0, seed & _WORD, (seed >> 32) & _WORD)


@kernel
def bell(seed: int, stream: int, counter: int) -> float:
    """Return number ``counter`` of a stream of mean 0 and standard deviation 1, between -6 and 6.

    It is a sum of twelve uniform numbers, which is close to a normal one, and exact: no logarithm and no cosine, whose
    last digits differ between libraries.
    """
    total = 0
    for i in range(3):
        a, b, c, d = words(seed, stream, counter, i)
        total += a + b + c + d
    return (total + 6) / 4294967296.0 - 6.0


@kernel
def below(word: int, limit: int) -> int:
    """Return a number in 0 … limit - 1 out of a random 32-bit word; chances differ by less than limit / 2³²."""
    return (word * limit) >> 32


def uniforms(seed: int, stream: int, n: int, *, first: int = 0) -> Floats:
    """Return numbers ``first … first + n - 1`` of a stream as an array: what ``uniform`` returns, one by one.

    >>> uniforms(1, 0, 3)[1:].tolist() == uniforms(1, 0, 2, first=1).tolist()
    True
    """
    counter = np.arange(first, first + n, dtype=np.int64)
    zero = np.zeros_like(counter)
    x0, x1, _, _ = _rounds(
        counter & _WORD,
        (counter >> 32) & _WORD,
        zero + (stream & _WORD),
        zero + ((stream >> 32) & _WORD),
        seed & _WORD,
        (seed >> 32) & _WORD,
        _high_low,
    )
    values: Floats = ((x0 >> 5) * 67108864.0 + (x1 >> 6)) * _SCALE
    return values
