"""The pooled two-sample t-test: are the means of two samples the same? Compiled, and exact near the critical value."""

from __future__ import annotations

import math

import numpy as np

from wattline.kernel.compiled import kernel, outlined

NORMAL_995, LARGEST_995 = 2.575829303548901, 2.7116
"""Critical values of |t| at 99 %: of the normal law, and of 38 degrees of freedom, the fewest of two samples of 20."""

ROUNDING = 1e-9
"""Means that differ by less than this part of them are equal: moments are sums, and carry the rounding of thousands of
additions. Of a power that never changes both the difference of the means and the variance are nothing else.
"""


@kernel
def t_value(n1: float, mean1: float, m21: float, n2: float, mean2: float, m22: float) -> float:
    """Return Student's t of two samples by their moments, variances taken as equal (inf where there is none at all)."""
    variance = (m21 + m22) / (n1 + n2 - 2.0)
    difference = mean1 - mean2
    if variance <= 0.0:
        return 0.0 if difference == 0.0 else np.inf
    return difference / np.sqrt(variance * (1.0 / n1 + 1.0 / n2))


@kernel
def differs(n1: float, mean1: float, m21: float, n2: float, mean2: float, m22: float) -> bool:
    """Tell whether two samples of 20 or more have different means, at a significance of 1 %, two-sided."""
    if abs(mean1 - mean2) <= ROUNDING * max(abs(mean1), abs(mean2)):
        return False
    t = abs(t_value(n1, mean1, m21, n2, mean2, m22))
    if t <= NORMAL_995:
        return False
    if t >= LARGEST_995:
        return True
    return two_sided_p(t, n1 + n2 - 2.0) < 0.01


@outlined
def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of a |t| as large as this, or larger: I_x(ν/2, 1/2) at x = ν/(ν + t²)."""
    x = freedom / (freedom + t * t)
    a = 0.5 * freedom
    b = 0.5
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1.0 - x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1.0 - x) / b


@outlined
def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (modified Lentz)."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 + even * d
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = 1.0 + even / c
        c = c if abs(c) > tiny else tiny
        h *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 + odd * d
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = 1.0 + odd / c
        c = c if abs(c) > tiny else tiny
        step = d * c
        h *= step
        if abs(step - 1.0) < 1e-14:
            break
    return h
