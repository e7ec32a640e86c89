"""Numbers as people read them: one way to write a duration, a power, an energy, a share or a count."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from wattline.units import show_duration, show_energy, show_power

MISSING = "–"
SMALLEST = 1e-4
"""Numbers closer to 0 than this are written as that."""


class Scale(NamedTuple):
    """Divide by ``factor`` to get numbers in ``unit``."""

    factor: float
    unit: str


class Shown(str):
    """A number as text, which still knows its value in the SI unit (a share as a share)."""

    value: float
    unit: str

    def __new__(cls, text: str, value: float = math.nan, unit: str = "") -> Shown:
        """Return the text with its value (copies get theirs afterwards)."""
        shown = super().__new__(cls, text)
        shown.value, shown.unit = float(value), unit
        return shown


_STEPS: dict[str, tuple[Scale, ...]] = {
    "s": (Scale(86400.0, "d"), Scale(3600.0, "h"), Scale(60.0, "min"), Scale(1.0, "s")),
    "W": (Scale(1e9, "GW"), Scale(1e6, "MW"), Scale(1e3, "kW"), Scale(1.0, "W")),
    "J": (Scale(3.6e12, "GWh"), Scale(3.6e9, "MWh"), Scale(3.6e6, "kWh"), Scale(3.6e3, "Wh"), Scale(1.0, "J")),
    "share": (Scale(0.01, "%"),),
}


def scale_of(values: Iterable[float], unit: str) -> Scale:
    """Return one scale for numbers shown side by side: the largest unit that the largest number fills.

    >>> scale_of([120.0, 7200.0], "s")
    Scale(factor=3600.0, unit='h')
    """
    top = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    steps = _STEPS.get(unit, (Scale(1.0, unit),))
    return next((step for step in steps if top >= step.factor * 0.9995), steps[-1])


def number(value: float, digits: int = 3) -> Shown:
    """Return a plain number: whole numbers in full with thin groups, others with so many significant digits.

    >>> number(1234567.0), number(0.0123456), number(float("nan")), number(12.5), number(8.6e-5), number(999.7)
    ('1,234,567', '0.0123', '–', '12.5', '<0.0001', '1,000')
    """
    return Shown(_digits(value, digits), value)


def _digits(value: float, digits: int = 3) -> str:
    if not math.isfinite(value):
        return MISSING if math.isnan(value) else ("∞" if value > 0 else "-∞")
    if value == int(value) or abs(value) >= 1000.0:
        return f"{value:,.0f}"
    if abs(value) < SMALLEST:  # nobody compares powers of ten in a column
        return f"<{SMALLEST:g}" if value > 0 else f">-{SMALLEST:g}"
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e" in text else text  # 257 with two digits, and 999.7, which three round up


def show(value: float, unit: str = "") -> Shown:
    """Return a number with its unit; NaN, which means *there is none*, as a dash.

    >>> show(5400, "s"), show(0.5469, "share"), show(2300.0, "W"), show(7.2e6, "J")
    ('1 h 30 min', '54.7 %', '2.3 kW', '2 kWh')
    """
    return Shown(_with_unit(value, unit), value, unit)


def _with_unit(value: float, unit: str) -> str:
    if math.isnan(value):
        return MISSING
    if unit == "share":
        return f"{_digits(100 * value)} %"
    writers = {"s": show_duration, "W": show_power, "J": show_energy}
    if unit in writers:
        return writers[unit](value)
    return f"{_digits(value)} {unit}".strip()


def printable(text: str) -> str:
    r"""Return a name of somebody's log as it may be shown on a terminal, whatever is in it.

    >>> printable("lu\t@4")
    'lu�@4'
    """
    return "".join(c if c.isprintable() else "�" for c in text)


def dollars(value: float) -> Shown:
    """Return an amount of money: small ones to a hundredth of a cent, large ones to the cent.

    >>> dollars(0.53), dollars(-1234.567), dollars(float("nan"))
    ('$0.5300', '-$1,234.57', '–')
    """
    digits = 4 if abs(value) < 100 else 2
    text = MISSING if math.isnan(value) else f"{'-' if value < 0 else ''}${abs(value):,.{digits}f}"
    return Shown(text, value, "$")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "job"), plural(2000, "job")
    ('1 job', '2,000 jobs')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def compact(value: float, unit: str = "") -> Shown:
    """Return a number with one unit, at most nine characters for anything that occurs: for columns of tables.

    >>> compact(5400, "s"), compact(1.29e6, "s"), compact(1234.5)
    ('1.5 h', '14.9 d', '1,234')
    """
    scale = scale_of([value], unit)
    text = f"{_digits(value / scale.factor)} {scale.unit}".strip() if not math.isnan(value) else MISSING
    return Shown(text, value, unit)


def show_interval(mean: float, half_width: float, scale: Scale) -> str:
    """Return ``mean ± half width`` in a scale, the mean to the digit that the interval leaves meaningful.

    >>> show_interval(7384.2, 120.0, Scale(3600.0, "h"))
    '2.051 ± 0.033'
    """
    if math.isnan(mean):
        return MISSING
    mean, half_width = mean / scale.factor, half_width / scale.factor
    if not math.isfinite(half_width) or half_width == 0:
        return number(mean, 4)
    digits = max(0, 1 - math.floor(math.log10(half_width)))
    if digits > 9:  # an interval as narrow as rounding says nothing about digits
        return f"{number(mean, 4)} ± {number(half_width, 1)}"
    return f"{mean:,.{digits}f} ± {half_width:,.{digits}f}"


def show_within(mean: float, half_width: float, ends: tuple[float, float], scale: Scale) -> str:
    """Return ``mean ± half width`` in a scale, or both ends of an interval that was cut, as that of a share at 0.

    >>> show_within(0.34, 1.08, (0.0, 1.0), Scale(0.01, "%"))
    '34 (0–100)'
    """
    cut = ends[0] > mean - half_width or ends[1] < mean + half_width
    if not math.isfinite(half_width) or not cut:
        return show_interval(mean, half_width, scale)
    shown, low, high = (number(value / scale.factor) for value in (mean, *ends))
    return f"{shown} ({low}–{high})"


def show_estimate(mean: float, half_width: float, unit: str, ends: tuple[float, float] | None = None) -> Shown:
    """Return a mean and its interval in the unit that fits it: ``mean ± half width``, or both ends of an interval that
    was cut (``ends``), as that of a share at 0.

    >>> show_estimate(7384.2, 120.0, "s"), show_estimate(0.002, 0.009, "share", (0.0, 0.011))
    ('2.051 ± 0.033 h', '0.2 % (0 to 1.1 %)')
    """
    if math.isnan(mean):
        return Shown(MISSING, mean, unit)
    scale = scale_of([mean] if mean else [half_width], unit)
    if ends is not None and math.isfinite(half_width):
        whole = (mean - half_width, mean + half_width)
        if any(abs(cut - end) > 1e-12 * abs(end) for cut, end in zip(ends, whole, strict=True)):
            low, high = (_digits(end / scale.factor) for end in ends)
            return Shown(f"{_digits(mean / scale.factor)} {scale.unit} ({low} to {high} {scale.unit})", mean, unit)
    shown = scale.unit if scale.unit != "jobs" else ""
    return Shown(f"{show_interval(mean, half_width, scale)} {shown}".strip(), mean, unit)
