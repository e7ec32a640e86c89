"""Human quantities to SI floats and back: ``"12 MW"`` → ``12e6``, ``"15 min"`` → ``900.0``."""

from __future__ import annotations

import decimal
import math
import os
import re
from collections.abc import Callable

from wattline.errors import InputError, shorten

HOUR_S, DAY_S = 3600.0, 86400.0
"""An hour and a day in seconds."""

MOST_S = 1e12
"""Times and durations beyond this are refused: floats would lose seconds."""

_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
POWER_UNITS = {f"{p}W": f for p, f in _PREFIX.items()} | {"mW": 1e-3}
ENERGY_UNITS = {f"{p}J": f for p, f in _PREFIX.items()} | {f"{p}Wh": f * 3600.0 for p, f in _PREFIX.items()}
TIME_UNITS = {
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
    "week": 604800.0,
    "weeks": 604800.0,
}
BANDWIDTH_UNITS = {f"{p}bit/s": f for p, f in (_PREFIX | {"T": 1e12}).items()}
DATA_RATE_UNITS = {f"{p}B/s": f for p, f in (_PREFIX | {"T": 1e12}).items()}
_QUANTITY = re.compile(
    r"\s*([-+]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?inf)\s*([A-Za-z]*(?:/s)?)\s*"
)
_CLOCK = re.compile(r"\s*(?:([0-9]+)-)?([0-9]{1,3}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?\s*")


_EXACT = decimal.Context(prec=60, traps=[])


def times(number: str, factor: float) -> float:
    """Return a number as it is written, times a factor, to the nearest float: 2.2 h are 7,920 s, and not a hair more.

    >>> times("2.2", 3600.0), 2.2 * 3600.0
    (7920.0, 7920.000000000001)
    """
    found = float(_EXACT.multiply(_EXACT.create_decimal(number), _EXACT.create_decimal(repr(factor))))
    return float(number) * factor if math.isnan(found) else found


def _parse(text: str | float, units: dict[str, float], what: str, default: str, example: str) -> float:
    if isinstance(text, bool):
        raise InputError(f"expected {what} like {example!r}, got {shorten(text)}")
    if isinstance(text, (int, float)):
        try:
            return float(text)
        except OverflowError:
            raise InputError(
                f"expected {what} like {example!r}, got a number of {int(text).bit_length():,} bits"
            ) from None
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InputError(f"expected {what} like {example!r}, got {shorten(text)}")
    number, unit = match.groups()
    factor = units.get(unit or default)
    if factor is None:
        known = ", ".join(units)
        raise InputError(f"unknown unit {shorten(unit)} in {shorten(text)}: expected {what} in one of {known}")
    value = times(number, factor)
    if math.isinf(value) and "inf" not in number:
        raise InputError(f"{shorten(text)} is more than can be counted: expected {what} like {example!r}")
    return value


def power_w(text: str | float) -> float:
    """Return watts; a bare number is watts.

    >>> power_w("12 MW"), power_w("0.5kW"), power_w(90)
    (12000000.0, 500.0, 90.0)
    """
    return _parse(text, POWER_UNITS, "a power", "W", "12 MW")


def energy_j(text: str | float) -> float:
    """Return joules; a bare number is joules.

    >>> energy_j("2 kWh")
    7200000.0
    """
    return _parse(text, ENERGY_UNITS, "an energy", "J", "3 kWh")


def duration_s(text: str | float) -> float:
    """Return seconds; a bare number is seconds; ``D-HH:MM:SS`` and ``HH:MM:SS`` work too.

    >>> duration_s("15 min"), duration_s("1-02:00:00"), duration_s("1.5 h")
    (900.0, 93600.0, 5400.0)
    """
    if isinstance(text, str):
        clock = _CLOCK.fullmatch(text)
        if clock is not None:
            days, hours, minutes, seconds = clock.groups()
            if int(minutes) >= 60 or float(seconds or 0) >= 60 or (days is not None and int(hours) >= 24):
                raise InputError(
                    f"{text.strip()!r} is no duration: minutes and seconds go to 59, hours beside days to 23"
                )
            return int(days or 0) * 86400.0 + int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds or 0)
    return _parse(text, TIME_UNITS, "a duration", "s", "15 min")


def bandwidth_bps(text: str | float) -> float:
    """Return bits per second; a bare number is bits per second.

    >>> bandwidth_bps("8 Gbit/s"), bandwidth_bps(1e9)
    (8000000000.0, 1000000000.0)
    """
    return _parse(text, BANDWIDTH_UNITS, "a bandwidth", "bit/s", "8 Gbit/s")


def bytes_per_s(text: str | float) -> float:
    """Return bytes per second; a bare number is bytes per second.

    >>> bytes_per_s("500 MB/s")
    500000000.0
    """
    return _parse(text, DATA_RATE_UNITS, "a data rate", "B/s", "500 MB/s")


def show_bandwidth(bps: float) -> str:
    """Return bits per second with three significant digits and a prefix.

    >>> show_bandwidth(8e9)
    '8 Gbit/s'
    """
    return _scaled(bps, "bit/s")


def in_full(value: float, digits: int = 6) -> str:
    """Return a number with so many significant digits and without an exponent: large ones whole and in groups.

    (But for numbers that no machine has: a quadrillion, or its inverse.)

    >>> in_full(1234567.8), in_full(12345.6, 3), in_full(0.25), in_full(0.0000123), in_full(3.0), in_full(0.0)
    ('1,234,568', '12,346', '0.25', '0.0000123', '3', '0')
    """
    text = f"{value:.{digits}g}"
    if "e" not in text or not 1e-15 < abs(value) < 1e15:
        return text
    if abs(value) >= 1.0:
        return f"{value:,.0f}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{places}f}".rstrip("0")


def show_power(watts: float) -> str:
    """Return watts with three significant digits and a prefix.

    >>> show_power(12_345_678), show_power(0.041)
    ('12.3 MW', '0.041 W')
    """
    return _scaled(watts, "W")


def write_power(watts: float) -> str | float:
    """Return watts as a person writes them, if that reads back as the same number; else the number.

    >>> write_power(28000.0), write_power(17873.0), write_power(350.0), write_power(1.2e6), write_power(1 / 3)
    ('28 kW', '17.873 kW', '350 W', '1.2 MW', '0.3333333333333333 W')
    """
    for unit in ("GW", "MW", "kW", "W"):
        text = f"{watts / POWER_UNITS[unit]:.15g} {unit}" if unit != "W" else f"{repr(watts).removesuffix('.0')} W"
        fits = unit == "W" or abs(watts) >= POWER_UNITS[unit]
        if fits and "e" not in text and _reads_as(power_w, text, watts):
            return text
    return watts


def write_duration(seconds: float) -> str | float:
    """Return seconds in the largest unit of which there are whole ones; else the number.

    >>> write_duration(600.0), write_duration(5400.0), write_duration(86400.0), write_duration(2.5), write_duration(0.0)
    ('10 min', '90 min', '1 d', '2.5 s', '0 s')
    """
    for unit in ("d", "h", "min", "s"):
        if (seconds and seconds % TIME_UNITS[unit] == 0) or unit == "s":
            text = f"{repr(seconds / TIME_UNITS[unit]).removesuffix('.0')} {unit}"
            if "e" not in text and _reads_as(duration_s, text, seconds):
                return text
    return seconds


def write_quantity(value: float, unit: str) -> str | float:
    """Return a number of an SI unit as a person writes it, if that reads back as the same; else the number.

    >>> write_quantity(28000.0, "W"), write_quantity(600.0, "s"), write_quantity(0.8, "")
    ('28 kW', '10 min', 0.8)
    """
    write = {"W": write_power, "s": write_duration}.get(unit)
    return value if write is None else write(value)


def read_quantity(text: str | float, unit: str) -> float:
    """Return a number of an SI unit from what a person wrote.

    >>> read_quantity("28 kW", "W"), read_quantity("10 min", "s")
    (28000.0, 600.0)
    """
    return {"W": power_w, "s": duration_s}[unit](text)


def _reads_as(read: Callable[[str | float], float], text: str, value: float) -> bool:
    """Tell whether a text reads back as a value."""
    try:
        return read(text) == value
    except InputError:
        return False


def show_energy(joules: float) -> str:
    """Return an energy in (k, M, G)Wh, or in J when it is less than a watt-hour.

    >>> show_energy(7.2e6), show_energy(5.0), show_energy(1234.5)
    ('2 kWh', '5 J', '1,234 J')
    """
    if abs(joules) >= 3600.0:
        return _scaled(joules / 3600.0, "Wh")
    return f"{joules:,.0f} J" if abs(joules) >= 999.5 else f"{in_full(joules, 3)} J"


def _scaled(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "unlimited" if value > 0 else str(value)
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor * 0.9995:
            large = f"{value / factor:.0f}" if abs(value) < factor * 1e9 else f"{value / factor:.3g}"
            return f"{value / factor:.3g} {prefix}{unit}" if abs(value) < factor * 999.5 else f"{large} {prefix}{unit}"
    return f"{in_full(value, 3)} {unit}"


def show_duration(seconds: float) -> str:
    """Return a duration in the largest sensible unit.

    >>> show_duration(59), show_duration(5400), show_duration(2.5e6)
    ('59 s', '1 h 30 min', '28 d 22 h')
    """
    if not math.isfinite(seconds):
        return str(seconds)
    if seconds < 0:
        return f"-{show_duration(-seconds)}"
    if seconds < 60:
        return f"{in_full(seconds, 3)} s"
    whole = round(seconds)
    for name, size, minor, minor_size in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = (whole % size) // minor_size
            return f"{whole // size} {name}" + (f" {rest} {minor}" if rest else "")
    return f"{whole} s"


def environment_number(name: str, usual: float, meaning: str) -> float:
    """Return the number above 0 that an environment variable gives, or the usual one where it is not set."""
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else usual
    except ValueError:
        value = math.nan
    if not value > 0:
        raise InputError(f"environment variable {name}: expected {meaning}, above 0 (got {shorten(text)})")
    return value
