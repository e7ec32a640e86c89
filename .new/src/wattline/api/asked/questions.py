"""What an operator asks, as keys of a scenario: a limit, sleep, more nodes, another policy, growth.

A question is checked as far as that goes without the log when it is read; what is relative to the log becomes a change
of the scenario once the log is known.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.files import is_file
from wattline.units import duration_s, in_full, power_w, show_duration, show_power

AS_IT_IS = "as it is"
"""The log without any change."""

ASLEEP, WAKE_S = 0.1, 180.0
"""Assumed of nodes that sleep: the part of their idle power that they draw, and the seconds that waking takes."""

MOST_GROWTH = 1e6
"""Times the load that may be asked for."""

Words = Callable[[str, Any], str]
"""How an argument was typed, by its name and value."""


@dataclass(frozen=True)
class Change:
    """One thing that is asked: what it is about, in words and in short, and the keys that it sets.

    ``closing`` ends the words within a sentence: a comma where they hold an aside, or would run into what follows.
    """

    about: str
    words: str
    short: str
    keys: Mapping[str, Any]
    closing: str = ""


@dataclass(frozen=True)
class Setting:
    """A run to make: what it is called, in a table, on its own and within a sentence; and its keys."""

    label: str
    short: str
    phrase: str
    keys: Mapping[str, Any]


@dataclass(frozen=True)
class Ground:
    """The log as it is: what relative questions are relative to."""

    nodes: int
    idle_w: float
    load_on: Callable[[int], float]
    """The load of the jobs on so many nodes."""
    unit: str = "node"
    peak_w: float = math.nan
    """What the machine drew at most (NaN: no watts, or not run yet)."""


@dataclass(frozen=True)
class Question:
    """A question that was checked: how it was typed, and the change that it is on a machine.

    ``of_peak``: the machine's peak power must be known, so the log must have been run.
    """

    told: str
    change: Callable[[Ground], Change]
    of_peak: bool = False


@dataclass(frozen=True)
class Asked:
    """All that is asked of a log."""

    questions: tuple[Question, ...]
    price: Mapping[str, Any] | None
    """As ``[prices] energy`` has it."""
    needs_watts: bool


def read_questions(
    *,
    words: Words,
    limit: str | float | None = None,
    sleep: str | float | None = None,
    nodes: str | int | None = None,
    policy: Any = None,
    growth: str | float | None = None,
    price: Path | str | Mapping[str, Any] | None = None,
    sleep_power: str | float | None = None,
    wake: str | float | None = None,
) -> Asked:
    """Check what is asked, as far as that goes without the log; ``words`` begin the complaints."""
    for name, value in (("sleep_power", sleep_power), ("wake", wake)):
        if value is not None and sleep is None:
            raise InputError(f"{words(name, value)}: says how nodes sleep, but not when; ask for sleep too")
    found: list[Question] = []
    if limit is not None:
        found.append(ask_limit(limit, words("limit", limit)))
    if sleep is not None:
        found.append(ask_sleep(sleep, sleep_power, wake, words))
    if nodes is not None:
        found.append(ask_nodes(nodes, words("nodes", nodes)))
    if growth is not None:
        found.append(ask_growth(growth, words("growth", growth)))
    if policy is not None:
        found += ask_policies(policy, words("policy", policy))
    needs_watts = any(value is not None for value in (limit, sleep, price))
    return Asked(tuple(found), None if price is None else ask_price(price, words("price", price)), needs_watts)


def ask_price(price: Path | str | Mapping[str, Any], told: str) -> dict[str, Any]:
    """Return prices as ``[prices] energy`` has them: of a file, or of a table of its keys that names one."""
    found: dict[str, Any] = {"file": price}
    if isinstance(price, Mapping):
        found = dict(price)
    elif isinstance(price, str) and price.lstrip().startswith("{"):
        try:
            found = tomllib.loads(f"price = {price.strip()}")["price"]
        except ValueError as problem:  # also of numbers of thousands of digits
            raise InputError(f'{told}: expected a file, or {{ file = "…", unit = "$/kWh" }} ({problem})') from None
    file = found.get("file")
    if not isinstance(file, (str, Path)) or not is_file(file):
        raise InputError(f"{told}: no such file; prices come from a file (for one price: a table with one row)")
    return found | {"file": str(Path(file).absolute())}


def percent(text: str | float) -> float | None:
    """Return the part that ``+20%`` or ``-20 %`` adds; None for what is no percentage.

    >>> percent("+20%"), percent("-5 %"), percent("30 kW")
    (0.2, -0.05, None)
    """
    found = re.fullmatch(r"\s*([+-]?\d+(?:\.\d+)?)\s*%\s*", text) if isinstance(text, str) else None
    return float(found.group(1)) / 100.0 if found else None


def quantity(read: Callable[[str | float], float], value: str | float, told: str) -> float:
    """Return a power or a duration in SI units; ``told`` is how it was typed, for the complaint about one that is none,
    or below 0.
    """
    try:
        found = read(value)
    except InputError as problem:
        raise problem.preceded(f"{told}: ") from None
    if not (found >= 0.0 and math.isfinite(found)):
        raise InputError(f"{told}: must be a number, and not below 0")
    return found


def ask_limit(given: str | float, told: str) -> Question:
    """Return the question for a power limit: watts, or a part of the peak, like ``-20%``."""
    part = percent(given)
    if part is not None and not -1.0 < part < 0.0:
        raise InputError(f"{told}: expected a power above 0, or a part below the peak like -20%")
    watts = 0.0 if part is not None else quantity(power_w, given, told)
    if part is None and not watts > 0.0:
        raise InputError(f"{told}: expected a power above 0, or a part below the peak like -20%")

    def change(ground: Ground) -> Change:
        if part is None:
            shown = show_power(watts)
            return Change("limit", f"a limit of {shown}", f"limit {shown}", {"limit.power": watts})
        if math.isnan(ground.peak_w):
            raise InputError(f"{told}: the machine draws nothing that could be limited; give watts")
        if not ground.peak_w > 0.0:
            raise InputError(f"{told}: no job ever draws power, so there is no peak; say the limit in watts")
        below_w = ground.peak_w * (1.0 + part)
        keys = {"limit.power": float(round(below_w)) or below_w}
        of = f", {in_full(-100 * part, 3)}% below the {show_power(ground.peak_w)} that it draws at most"
        shown = show_power(below_w)
        return Change("limit", f"a limit of {shown}{of}", f"limit {shown}", keys, ",")

    return Question(told, change, of_peak=part is not None)


def ask_sleep(after: str | float, power: str | float | None, wake: str | float | None, words: Words) -> Question:
    """Return the question for nodes that sleep when they were idle for a time."""
    told = words("sleep", after)
    idle_s = quantity(duration_s, after, told)
    given_w = None if power is None else quantity(power_w, power, words("sleep_power", power))
    wake_s = WAKE_S if wake is None else quantity(duration_s, wake, words("wake", wake))

    def change(ground: Ground) -> Change:
        asleep_w = ASLEEP * ground.idle_w if given_w is None else given_w
        keys = {"power": asleep_w, "after": idle_s, "exit": wake_s}
        shown = show_duration(idle_s)
        how = f"(at {show_power(asleep_w)}, {show_duration(wake_s)} to wake)"
        text = f"{ground.unit}s that sleep after {shown} idle {how}"
        return Change("sleep", text, f"sleep after {shown}", {"cluster.sleep": keys})

    return Question(told, change)


def ask_nodes(given: str | int, told: str) -> Question:
    """Return the question for another number of nodes: a count, ``+16`` or ``+20%``."""
    part = percent(given)
    wrong = InputError(f"{told}: expected a count like 128, a number more or less like +16, or a part like +20%")
    if part is None:
        if isinstance(given, bool) or re.fullmatch(r"\s*[+-]?\d{1,15}\s*", str(given)) is None:
            raise wrong
        number = int(given)
        added = isinstance(given, str) and given.strip()[:1] in "+-"
        if not added and number < 1:
            raise InputError(f"{told}: a machine has at least one node")
    elif not part > -1.0:
        raise InputError(f"{told}: a machine has at least one node")

    def change(ground: Ground) -> Change:
        if part is not None:
            count = math.ceil(ground.nodes * (1.0 + part) - 1e-9)
        else:
            count = ground.nodes + number if added else number
        if count < 1:
            raise InputError(f"{told}: a machine of {ground.nodes:,} cannot have so many less")
        more = count - ground.nodes
        size = (
            f"{_counted(abs(more), ground.unit)} {'more' if more > 0 else 'less'}"
            if more
            else f"as many {ground.unit}s as now"
        )
        text = f"{size} ({count:,})"
        return Change("nodes", text, _counted(count, ground.unit), {"cluster.nodes": count})

    return Question(told, change)


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def ask_growth(given: str | float, told: str) -> Question:
    """Return the question for more work: the same jobs, submitted in a shorter time."""
    try:
        by = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        by = math.nan
    if not 0.0 < by <= MOST_GROWTH:
        raise InputError(f"{told}: expected a factor like 1.3, above 0 and at most {in_full(MOST_GROWTH)}")
    made = Change("growth", f"{in_full(by)} times the load", f"load × {in_full(by)}", {"trace.load": by})
    return Question(told, lambda _ground: made)


def ask_policies(given: Any, told: str) -> list[Question]:
    """Return the questions for other policies that say which waiting jobs start: names, files, or objects."""
    from wattline.control.catalog import find

    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    policies = list(given) if isinstance(given, (list, tuple)) else [given]
    names = [os.fspath(one) if isinstance(one, os.PathLike) else getattr(one, "name", one) for one in policies]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"{told}: expected names of policies, like easy,conservative")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{told}: {twice} is given twice")
    for name, one in zip(names, policies, strict=True):
        if not hasattr(one, "slot"):
            try:
                find("select", name)
            except InputError as problem:
                raise problem.preceded(f"{told}: ") from None
    return [_policy(name, one, told) for name, one in zip(names, policies, strict=True)]


def _policy(name: str, policy: Any, told: str) -> Question:
    made = Change("policy", name, name, {"policy.select": policy}, ",")
    return Question(told, lambda _ground: made)


def rows(changes: Sequence[Change], ground: Ground) -> list[Setting]:
    """Return the runs to make: each change alone, and all of them together."""
    groups: dict[str, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.about, []).append(change)
    alone = [(change,) for change in changes]
    together = list(itertools.product(*groups.values())) if len(groups) > 1 else []
    return [_setting(parts, ground) for parts in (*alone, *together)]


def _setting(parts: Sequence[Change], ground: Ground) -> Setting:
    """Return the run of some changes; all but the last bring their punctuation into its label."""
    keys: dict[str, Any] = {}
    for part in parts:
        keys |= part.keys
    *before, last = parts
    label = "".join(f"{part.words}{part.closing} and " for part in before) + last.words
    return Setting(label, " + ".join(part.short for part in parts), label + last.closing, _tied(keys, ground))


def _tied(keys: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    """Return keys with growth as a load, which is a part of the machine: gaps shrink alike on machines of all sizes."""
    found = dict(keys)
    if "trace.load" in found:
        load = ground.load_on(found.get("cluster.nodes", ground.nodes))
        if not load > 0.0:
            raise InputError("the jobs offer no load that could grow: all are submitted at once, or do no work")
        found["trace.load"] *= load
    return found
