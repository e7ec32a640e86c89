"""Operations without a result in LLVM have one in what users compile.

A float that is converted to a whole number which cannot hold it, and a shift by more bits than there are: of what comes
out, LLVM may assume whatever suits it. It then leaves out the check of an index, and the process ends. Here

* such a float becomes the least number of the kind, as on the processors of most machines;
* such a shift shifts everything out, as numpy does;
* the least number divided by -1 is itself, with nothing left over, and anything divided by 0 is 0 where numba does not
  ask for it before: on processors, both end the process;
* sums, differences and products that overflow wrap around, else a test for a divisor of 0 may be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.cpython import numbers

from wattline.kernel.indices import of_users

_builder: Any = ir.IRBuilder
_PLAIN: dict[str, Callable[..., Any]] = {
    name: getattr(_builder, name)
    for name in ("fptosi", "fptoui", "shl", "ashr", "lshr", "sdiv", "srem", "udiv", "urem")
}
_plain_flags: Callable[..., Any] = numbers._int_arith_flags


def _where(builder: Any, name: str, value: Any, kind: Any, low: float, high: float, other: Any) -> Any:
    """Convert a float between two limits, both beyond what the kind holds; any other value is another one."""
    above = builder.fcmp_ordered(">", value, ir.Constant(value.type, low))
    inside = builder.and_(above, builder.fcmp_ordered("<", value, ir.Constant(value.type, high)))
    safe = builder.select(inside, value, ir.Constant(value.type, 0.0))
    return builder.select(inside, _PLAIN[name](builder, safe, kind), other)


def _signed(builder: Any, value: Any, kind: Any) -> Any:
    half = 2.0 ** (kind.width - 1)
    least = ir.Constant(kind, -(1 << (kind.width - 1)))
    return _where(builder, "fptosi", value, kind, -half - 1.0, half, least)


def _to_signed(builder: Any, value: Any, kind: Any, name: str = "") -> Any:
    if not of_users():
        return _PLAIN["fptosi"](builder, value, kind, name)
    return _signed(builder, value, kind)


def _to_unsigned(builder: Any, value: Any, kind: Any, name: str = "") -> Any:
    if not of_users():
        return _PLAIN["fptoui"](builder, value, kind, name)
    return _where(builder, "fptoui", value, kind, -1.0, 2.0**kind.width, _signed(builder, value, kind))


def _shift(name: str) -> Callable[..., Any]:
    """Return a shift that shifts everything out where it is told more bits than there are, or fewer than none."""

    def shifted(builder: Any, value: Any, bits: Any, label: str = "", flags: tuple[str, ...] = ()) -> Any:
        if not of_users():
            return _PLAIN[name](builder, value, bits, label, flags)
        width = value.type.width
        inside = builder.icmp_unsigned("<", bits, ir.Constant(bits.type, width))
        most = ir.Constant(bits.type, width - 1 if name == "ashr" else 0)
        found = _PLAIN[name](builder, value, builder.select(inside, bits, most))
        return found if name == "ashr" else builder.select(inside, found, ir.Constant(value.type, 0))

    return shifted


def _division(name: str) -> Callable[..., Any]:
    """Return a division, or what it leaves over, that the processor can carry out."""

    def divided(builder: Any, value: Any, by: Any, label: str = "", flags: tuple[str, ...] = ()) -> Any:
        if not of_users():
            return _PLAIN[name](builder, value, by, label, flags)
        kind = value.type
        one, nought = ir.Constant(kind, 1), ir.Constant(kind, 0)
        by_nought = builder.icmp_unsigned("==", by, nought)
        by_minus = builder.icmp_unsigned("==", by, ir.Constant(kind, -1))
        odd = builder.or_(by_nought, by_minus) if name[0] == "s" else by_nought
        found = _PLAIN[name](builder, value, builder.select(odd, one, by))
        if name == "sdiv":
            found = builder.select(by_minus, builder.sub(nought, value), found)
        elif name == "srem":
            found = builder.select(by_minus, nought, found)
        return builder.select(by_nought, nought, found)

    return divided


_builder.fptosi, _builder.fptoui = _to_signed, _to_unsigned
for _name in ("sdiv", "srem", "udiv", "urem"):
    setattr(_builder, _name, _division(_name))
for _name in ("shl", "ashr", "lshr"):
    setattr(_builder, _name, _shift(_name))
numbers._int_arith_flags = lambda kind: [] if of_users() else _plain_flags(kind)
