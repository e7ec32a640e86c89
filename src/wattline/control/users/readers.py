"""What compiled policies may do with arrays that are read-only for them: the functions and methods that are known
to write nothing.

Each was tried on read-only arrays of every layout (``scripts/soak doors``). What is not named here is refused, so a
function that a later numba learns is refused until somebody has tried it.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Iterable
from typing import Any

import numba
import numpy as np
from numba.core.inline_closurecall import length_of_iterator
from numba.np.unsafe.ndarray import empty_inferred

_numba: Any = numba  # it does not tell its types

_FRESH = """
    all allclose angle any append argmax argmin argsort argwhere array_equal asarray average
    column_stack concatenate convolve copy corrcoef correlate count_nonzero cov cumprod cumsum delete diag
    diagflat diff digitize dstack ediff1d empty_like extract flatnonzero full_like hstack insert interp
    intersect1d isclose iscomplex iscomplexobj isin isneginf isposinf isreal isrealobj isscalar kron max mean
    min nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile
    nanstd nansum nanvar nonzero ones_like outer percentile prod ptp quantile ravel
    searchsorted select setdiff1d setxor1d shape size sort stack std sum take trace trapezoid tril
    tril_indices_from triu triu_indices_from union1d unique unwrap vander var vdot vstack where zeros_like
    linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv
    linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr linalg.slogdet
    linalg.svd
"""
"""Functions of numpy that only read and return numbers or new arrays, or the same memory if that is marked
read-only again.
"""

_VIEWS = """
    asarray_chkfinite ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d broadcast_arrays
    broadcast_to expand_dims flip fliplr flipud imag
    ndenumerate real reshape rot90 swapaxes transpose trim_zeros
"""
"""Functions of numpy that only read and may return the same memory: they may be called where numba marks that
read-only again.
"""

_OUT = {"around": 2, "dot": 2, "round": 2}
"""Functions of numpy that only read and return new arrays, unless they are given an array to write to: which
argument that is.
"""

_STRUCTURE = (
    enumerate,
    hasattr,
    isinstance,
    iter,
    len,
    list,
    max,
    min,
    next,
    print,
    sorted,
    sum,
    tuple,
    type,
    zip,
    abs,
    bool,
    range,
    slice,
    _numba.literally,
    _numba.literal_unroll,
    empty_inferred,
    length_of_iterator,
)
"""Functions of Python, and what numba puts in for loops and comprehensions: what they hand on is typed as it was."""

METHODS_FRESH = frozenset(
    (
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "astype",
        "conj",
        "conjugate",
        "copy",
        "cumprod",
        "cumsum",
        "flatten",
        "item",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "ravel",
        "std",
        "sum",
        "take",
        "var",
    )
)
"""Methods of arrays that only read and return numbers or new arrays."""

METHODS_VIEWS = frozenset(("reshape", "transpose", "view"))
"""Methods of arrays that may return the same memory."""

METHODS_OUT = {"dot": 1}
"""Methods of arrays that may be given an array to write to: which argument that is."""

ATTRIBUTES_NEVER = frozenset(("flat", "ctypes", "data"))
"""Attributes that reach an array's memory without its marks and bounds."""


def named(names: Iterable[str]) -> dict[Any, str]:
    """Return numpy's functions of these names, and the names; versions of numpy differ in which they have."""
    found = {}
    for name in names:
        inner: Any = np
        for part in name.split("."):
            inner = getattr(inner, part, None)
        if inner is not None:
            found[inner] = name
    return found


FRESH = frozenset(named(_FRESH.split()))
VIEWS = frozenset((*named(_VIEWS.split()), getattr))
OUT = {function: _OUT[name] for function, name in named(_OUT).items()}
STRUCTURE = frozenset(_STRUCTURE)
NEVER = frozenset((np.lib.stride_tricks.as_strided, _numba.carray, _numba.farray))
"""Functions that reach memory beyond an array, which no policy may call with any array."""


@functools.cache
def name_of(function: Any) -> str:
    """Return a function as a user writes it."""
    module = getattr(function, "__module__", None) or ("numpy" if isinstance(function, np.ufunc) else "")
    name = getattr(function, "__name__", None) or str(function)
    if module in ("", builtins.__name__):
        return name
    return f"np.{name}" if module == "numpy" else f"{module.replace('numpy.', 'np.')}.{name}"
