"""[sweep]: values that keys of the scenario take in turn; every combination is a run."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from wattline.errors import InputError, cut, shorten
from wattline.scenario.read.quantities import Words
from wattline.scenario.read.toml_read import check_size, value_of

MOST_VALUES = 100_000
"""Values of one key."""

MOST_RUNS = 1_000_000
"""Runs of a sweep: a row each."""

OFF = "off"
"""A value that takes the key away, with all that only goes with it."""

_NUMBER = r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*:\s*({_NUMBER})\s*")

_TWO = re.compile(rf"\s*{_NUMBER}\s*:\s*{_NUMBER}\s*")

SEEDS, ZIPPED = "seeds", "zipped"

_LIMITS = ("limit.power", "limit.warmup", "limit.steps", "limit.repeat", "limit.file")
REPLACES: dict[str, tuple[str, ...]] = {
    "limit.power": ("limit.steps", "limit.repeat", "limit.file", "budget"),
    "limit.steps": ("limit.power", "limit.warmup", "limit.file", "budget"),
    "limit.file": ("limit.power", "limit.warmup", "limit.steps", "limit.repeat", "budget"),
    "budget": _LIMITS,
    "trace.file": ("trace.generator",),
    "trace.generator": (
        "trace.file",
        "trace.format",
        "trace.cores_per_node",
        "trace.zone",
        "trace.columns",
        "trace.strict",
    ),
    "trace.load": ("trace.rate",),
    "trace.rate": ("trace.load",),
    "kinds": ("kind",),
    "kind": ("kinds",),
    "regulation.bids": ("regulation.mean", "regulation.reserve"),
    "regulation.mean": ("regulation.bids",),
    "regulation.reserve": ("regulation.bids",),
}
"""Keys that a varied key takes away, because a scenario has one or the other."""

GOES_WITH: dict[str, tuple[str, ...]] = dict.fromkeys(("limit.power", "limit.steps", "limit.file"), ("limit", "budget"))
"""What goes with a key that is taken away by ``off``."""


@dataclass(frozen=True)
class Varied:
    """Keys and the values that they take in turn."""

    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values by the dotted names of keys."""
    zipped: tuple[tuple[str, ...], ...] = ()
    """Keys that go through their values together."""
    seeds: int = 1
    """Runs of each combination, each with a seed of its own."""

    def groups(self) -> list[tuple[str, ...]]:
        """Return the keys that move together, in the order of the first of each."""
        found: list[tuple[str, ...]] = []
        for key in self.keys:
            group = next((some for some in self.zipped if key in some), (key,))
            if group not in found:
                found.append(group)
        return found

    @property
    def count(self) -> int:
        """How many settings there are."""
        return math.prod(len(self.keys[group[0]]) for group in self.groups())

    def settings(self) -> Iterator[dict[str, Any]]:
        """Yield every setting: values by keys, the last key changing first."""
        columns = [[dict(zip(group, row, strict=True)) for row in self._rows(group)] for group in self.groups()]
        for parts in itertools.product(*columns):
            setting: dict[str, Any] = {}
            for part in parts:
                setting |= part
            yield {key: setting[key] for key in self.keys}

    def _rows(self, group: tuple[str, ...]) -> Iterable[tuple[Any, ...]]:
        return zip(*(self.keys[key] for key in group), strict=True)

    def one_by_one(self) -> Iterator[dict[str, Any]]:
        """Yield settings in which every value of every key occurs, the other keys having their first values."""
        groups = self.groups()
        firsts = [next(iter(self._rows(group))) for group in groups]
        for i, group in enumerate(groups):
            for n, row in enumerate(self._rows(group)):
                if n == 0 and i > 0:
                    continue  # all firsts: that was the first of all
                rows = [*firsts[:i], row, *firsts[i + 1 :]]
                setting: dict[str, Any] = {}
                for keys, values in zip(groups, rows, strict=True):
                    setting |= dict(zip(keys, values, strict=True))
                yield {key: setting[key] for key in self.keys}


def vary(
    keys: Mapping[str, Any],
    zipped: Iterable[Sequence[str]] = (),
    seeds: int = 1,
    *,
    words: str = "",
    read: Callable[[str, Any], float | None] | None = None,
) -> Varied:
    """Check what is varied; ``words`` begins the complaints.

    ``read`` returns the power or duration that a value of a key is, in SI units, and None for all others: "30 kW" and
    30000 are one value of a limit.
    """
    _check_apart(keys, words)
    found = {key: values_of(given, f"{words}{key}") for key, given in keys.items()}
    groups = tuple(tuple(group) for group in zipped)
    _check_zipped(found, groups, words)
    if read is not None:
        _check_steps(found, words, read)
    _check_once(found, groups, words, read)
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"{words}seeds is how many there are of each, a whole number from 1 on, got {shorten(seeds)}")
    if seeds > 1 and "seed" in found:
        raise InputError(f"{words}seeds = {seeds} counts on from the scenario's seed, and 'seed' is varied; give one")
    varied = Varied(found, groups, seeds)
    runs = varied.count * seeds
    if runs > MOST_RUNS:
        raise InputError(
            f"{words}that would be {runs:,} runs, at most {MOST_RUNS:,} are made; give fewer values or seeds"
        )
    return varied


def _check_apart(keys: Iterable[str], words: str) -> None:
    """Refuse a key within another one that is varied too, and keys that are none of a run in a sweep."""
    known = set(keys)
    for key in keys:
        parts = key.split(".")
        if parts[0] == "sweep":
            raise InputError(
                f"{words}{key} says what is varied and is no key of a run; seeds and zipped keys are given beside it"
            )
        if parts[0] == "output":
            raise InputError(
                f"{words}{key} says what a run writes; runs of a sweep are rows of one table, and all the same"
            )
        for n in range(1, len(parts)):
            if (outer := ".".join(parts[:n])) in known:
                raise InputError(f"{words}{key} is a part of {outer}, which is varied too; vary one of them")


def _check_zipped(keys: Mapping[str, Sequence[Any]], groups: Sequence[tuple[str, ...]], words: str) -> None:
    seen: set[str] = set()
    for group in groups:
        unknown = next((key for key in group if key not in keys), None)
        if unknown is not None:
            raise InputError(f"{words}zipped: {shorten(unknown)} is not varied; give it values")
        if len(group) < 2:
            raise InputError(f"{words}zipped: expected several keys that move together, got {shorten(list(group))}")
        twice = next((key for key in group if key in seen or group.count(key) > 1), None)
        if twice is not None:
            raise InputError(f"{words}zipped: {twice} is named twice")
        seen |= set(group)
        counts = {key: len(keys[key]) for key in group}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{key} has {n}" for key, n in counts.items())
            raise InputError(f"{words}zipped: keys that move together have as many values each, but {told}")


def _check_steps(keys: Mapping[str, Sequence[Any]], words: str, read: Callable[[str, Any], float | None]) -> None:
    """Refuse a range without its step; two numbers may be a time of day where a key takes durations."""
    for key, values in keys.items():
        for value in values:
            if isinstance(value, str) and _TWO.fullmatch(value) and read(key, value) is None:
                raise InputError(
                    f"{words}{key}: {value.strip()} has no step; a range is first:last:step, like 0.6:1.0:0.1"
                )


def _check_once(
    keys: Mapping[str, Sequence[Any]],
    groups: Sequence[tuple[str, ...]],
    words: str,
    read: Callable[[str, Any], float | None] | None,
) -> None:
    """Refuse a value, or a row of values that move together, that comes twice: its runs would be the same."""
    together = {key for group in groups for key in group}
    for group in (*groups, *((key,) for key in keys if key not in together)):
        seen: dict[tuple[Any, ...], str] = {}
        for row in zip(*(keys[key] for key in group), strict=True):
            numbers = [None if read is None else read(key, value) for key, value in zip(group, row, strict=True)]
            known = tuple(
                _hashable(value if number is None else number) for value, number in zip(row, numbers, strict=True)
            )
            told = " with ".join(shorten(value) for value in row)
            if known in seen:
                twice = "is given twice" if seen[known] == told else f"is {seen[known]} again"
                raise InputError(f"{words}{', '.join(group)}: {told} {twice}, and its runs would be the same")
            seen[known] = told


def _hashable(value: Any) -> Any:
    """Return what tells a value from others; true and 1 are two."""
    if isinstance(value, (list, dict)):
        return repr(value)
    if isinstance(value, bool) or value is None:
        return repr(value), "a word"
    return value if isinstance(value, (str, int, float)) else ("an object", id(value))


def values_of(given: Any, what: str) -> list[Any]:
    """Return the values of a key: those of a list, or those of a range like ``"0.6:1.0:0.1"``."""
    if isinstance(given, str):
        found = _range(given, what)
        if found is None:
            raise InputError(f"{what}: takes a list of values, or a range like '0.6:1.0:0.1', got {shorten(given)}")
        return found
    if isinstance(given, (bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise InputError(f"{what}: takes a list of values, or a range like '0.6:1.0:0.1', got {shorten(given)}")
    values = list(itertools.islice(given, MOST_VALUES + 1))  # some never end
    if not values:
        raise InputError(f"{what}: has no values")
    if len(values) > MOST_VALUES:
        raise InputError(f"{what}: has more than {MOST_VALUES:,} values; give fewer")
    return values


def _range(text: str, what: str) -> list[float] | None:
    """Return the numbers of ``first:last:step``, both ends included; None for what is no range."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    first, last, step = (Decimal(part) for part in found.groups())
    if step == 0 or (last - first) / step < 0:
        raise InputError(f"{what}: the range {text.strip()} never ends: its step leads away from its end")
    if first != last and abs(step) > abs(last - first):
        raise InputError(
            f'{what}: {text.strip()} is a range with a step beyond its end; write a time in a list: ["{text.strip()}"]'
        )
    if (last - first) % step != 0:
        end = first + int((last - first) / step) * step
        told = f"steps of {step} from {first} do not meet {last}"
        raise InputError(f"{what}: {told}; end the range at {end}, or give a list")
    count = int((last - first) / step) + 1
    if count > MOST_VALUES:
        raise InputError(f"{what}: the range {text.strip()} has {count:,} values, more than {MOST_VALUES:,}")
    numbers = [first + i * step for i in range(count)]
    whole = all("." not in part and "e" not in part.lower() for part in found.groups())
    return [int(n) if whole else float(n) for n in numbers]


def read_vary(text: str, flag: str = "--vary") -> tuple[str, list[Any]]:
    """Return key and values of ``key=a,b,c``, ``key=first:last:step`` or ``key=[…]`` as it is typed."""
    dotted, equals, raw = text.partition("=")
    shown = f"{flag} {cut(text)}: "
    check_size(dotted, shown)
    if not equals or not dotted.strip() or not raw.strip():
        raise InputError(f"{flag} {cut(text)}: expected key=values, like {flag} trace.load=0.6,0.8 or 0.6:1.0:0.1")
    key, raw = dotted.strip(), raw.strip()
    if raw.startswith("["):
        try:
            return key, values_of(value_of(raw, shown), shown.rstrip(": "))
        except tomllib.TOMLDecodeError as problem:
            raise InputError(f"{shown}not a list of TOML values ({problem})") from None
    span = _range(raw, shown.rstrip(": "))
    return key, span if span is not None else [_value(part, shown) for part in _parts(raw)]


def _value(text: str, shown: str) -> Any:
    try:
        return value_of(text, shown)
    except tomllib.TOMLDecodeError:
        return text.strip()


def _parts(text: str) -> list[str]:
    """Split at commas outside of quotes and brackets."""
    parts, depth, quote, start = [], 0, "", 0
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in (*parts, text[start:])]


def drop(data: dict[str, Any], dotted: str) -> None:
    """Take a key out of plain data, if it is there; a number is a position in a list of tables."""
    *parents, last = dotted.split(".")
    table: Any = data
    for part in parents:
        table = table.get(part) if isinstance(table, dict) else _at(table, part, dotted)
    if isinstance(table, dict):
        table.pop(last, None)
    elif isinstance(table, list):
        _at(table, last, dotted)
        table.pop(int(last))


def _at(table: Any, part: str, dotted: str) -> Any:
    """Return what stands at a position of a list; nothing where there is no list."""
    if not isinstance(table, list):
        return None
    if not (part.isdigit() and int(part) < len(table)):
        raise InputError(f"{dotted}: {part!r} is not a position in a list of {len(table)} (they count from 0)")
    return table[int(part)]


def make_room(data: dict[str, Any], setting: Mapping[str, Any]) -> dict[str, Any]:
    """Take out of plain data what the keys of a setting replace; return the setting without keys that are off."""
    for key, value in setting.items():
        gone = [*REPLACES.get(key, ())]
        if isinstance(value, str) and value == OFF:
            _refuse_shift(key, setting)
            gone += [*GOES_WITH.get(key, ()), key]
        for other in gone:
            if other == key or other not in setting:
                drop(data, other)
    return {key: value for key, value in setting.items() if not (isinstance(value, str) and value == OFF)}


def _refuse_shift(key: str, setting: Mapping[str, Any]) -> None:
    """Refuse to take a table out of a list while another key counts positions of that list."""
    before, _, last = key.rpartition(".")
    if not last.isdigit():
        return
    other = next((one for one in setting if one != key and one.startswith(f"{before}.")), None)
    if other is not None:
        raise InputError(f"{key}: off would move the table that {other} means; vary one of them alone")


def _check(given: Any) -> Varied | None:
    """Take [sweep] as a file has it: tables within tables, or dotted names in quotes."""
    if given is None or isinstance(given, Varied):
        return given
    if not isinstance(given, Mapping):
        raise PydanticCustomError("quantity", "{text}", {"text": f"expected a table, got {shorten(given)}"})
    try:
        rest = {key: value for key, value in given.items() if key not in (SEEDS, ZIPPED)}
        return vary(dict(_flat(rest)), groups_of(given.get(ZIPPED, [])), given.get(SEEDS, 1))
    except InputError as problem:
        raise PydanticCustomError("quantity", "{text}", {"text": str(problem)}) from None


def groups_of(zipped: object, words: str = "") -> list[list[str]]:
    """Return groups of keys that go together; ``words`` begins the complaint about anything else."""
    told = f'{words}zipped: expected lists of keys, like [["limit.power", "cluster.nodes"]]'
    single = getattr(zipped, "shape", None) == ()  # an array without dimensions calls itself iterable
    if isinstance(zipped, (str, bytes, Mapping)) or not isinstance(zipped, Iterable) or single:
        raise InputError(f"{told}, got {shorten(zipped)}")
    groups = list(zipped)
    for group in groups:
        if not isinstance(group, (list, tuple)) or not all(isinstance(key, str) for key in group):
            raise InputError(f"{told}, got {shorten(group)}")
    return [list(group) for group in groups]


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        dotted = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{dotted}.")
        else:
            yield dotted, value


Swept = Annotated[
    Varied | None,
    BeforeValidator(_check),
    Words('table of keys and their values, like `limit.power = ["off", "30 kW"]` or `trace.load = "0.6:1.0:0.1"`'),
]
