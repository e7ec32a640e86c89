"""What a mechanism declares of itself: its slot, what wakes it, its parameters and the memory it needs."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.errors import PolicyError, did_you_mean, shorten, unfit_name
from wattline.model.codes import ANY_CHANGE, BIDDING, EVENT_BITS, SLOT_NAMES
from wattline.units import in_full


@dataclass(frozen=True)
class Param:
    """A parameter of a mechanism: its default (None: must be given), what it means, unit included, and its range."""

    default: float | None
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    tried: tuple[float, ...] = ()
    """Values that a search of a bid tries, the default first."""
    whole: bool = False
    """It counts something, or is a switch: fractions are refused."""

    def refuse(self, value: float) -> str:
        """Return what is wrong with a value (nothing: an empty text)."""
        if math.isnan(value):
            return "must be a number, got NaN"
        if self.low <= value <= self.high:
            fraction = self.whole and math.isfinite(value) and value != math.floor(value)
            return f"must be a whole number, got {value}" if fraction else ""
        if self.high == math.inf:
            return f"must be at least {in_full(self.low)}, got {in_full(value)}"
        return f"must be between {in_full(self.low)} and {in_full(self.high)}, got {in_full(value)}"


@dataclass(frozen=True)
class Memory:
    """Floats that a mechanism keeps between calls, zero at the start: a constant part and parts that scale.

    The columns of ``per_job`` come first, one after the other, and the engine looks after them: column ``c`` of the
    job in row ``j`` is ``memory[c * s.status.shape[0] + j]``. It is 0 when a job gets the row, also where another job
    had it before, and it stays with the job when the state gets more rows. What follows the columns is laid out by the
    mechanism; what depends on the number of jobs (``list_per_job``) or users must come last there, for that end grows.
    """

    fixed: int = 0
    per_job: int = 0
    """Columns with a number for each job."""
    list_per_job: int = 0
    """Numbers for each job that stand in no column: lists as long as there are jobs, scratch."""
    per_running: int = 0
    per_user: int = 0
    per_kind: int = 0
    per_class: int = 0
    per_profile: int = 0
    per_node: int = 0
    per_router: int = 0
    per_group: int = 0
    table: str = ""
    """Parameter whose value, plus one, is the number of rows of a table over node counts in units of their common
    divisor.
    """

    def size(
        self,
        *,
        jobs: int,
        running: int,
        users: int,
        kinds: int,
        classes: int,
        profiles: int = 0,
        units: int = 0,
        nodes: int = 0,
        routers: int = 0,
        groups: int = 0,
        values: Mapping[str, float] | None = None,
    ) -> int:
        """Return the number of floats for a given run (at least one).

        ``jobs`` are rows of the state, spare ones included; ``classes`` are node classes, ``groups`` those of routers.
        """
        scaled = (
            (self.per_job + self.list_per_job) * jobs
            + self.per_running * running
            + self.per_user * users
            + self.per_kind * kinds
        )
        scaled += self.per_class * classes + self.per_profile * profiles
        scaled += self.per_node * nodes + self.per_router * routers + self.per_group * groups
        if self.table:
            scaled += (int((values or {})[self.table]) + 1) * (units + 1)
        return max(1, self.fixed + scaled)


@dataclass(frozen=True)
class Mechanism:
    """One policy mechanism, built in or a user's.

    ``function(s, arg, param, memory) -> int``. ``compiled`` says whether it is translated to machine code or called as
    plain Python through the bridge. ``sorted_running`` asks the engine to keep ``s.running`` sorted by estimated
    end and the backfill index at hand; ``caps`` that rate classes be fine enough for continuous caps; ``solo_caps``
    that jobs may be capped one by one; ``recaps`` says that it gives running jobs that chose their configuration
    higher caps, which the engine takes back before those who wait are looked at; ``levels`` that some node class
    have two speeds to switch between; ``kinds`` that every job be of a declared kind; ``target`` that there be a
    bid to follow, looked at every control period; ``one_class`` that the nodes be all of one class; ``shapes`` that
    it shares out a power limit among jobs that may take several configurations; ``weights`` that every kind have a
    weight above 0; ``rates`` that kinds have arrival rates; ``network`` that the cluster have a network,
    ``traffic`` that the traffic of jobs on it be known, ``stalls`` that somebody count those of its routers,
    ``links`` that the loads of its links be kept up to date; ``resources`` says that a select policy counts resources
    of the whole machine beside nodes and watts. ``ordered`` names pairs of parameters of which the
    first must not exceed the second.
    """

    name: str
    slot: str
    function: Callable[..., int]
    summary: str = ""
    wake: int = ANY_CHANGE
    params: Mapping[str, Param] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    source: str = ""
    compiled: bool = True
    builtin: bool = True
    sorted_running: bool = False
    preempts: bool = False
    caps: bool = False
    solo_caps: bool = False
    recaps: bool = False
    levels: bool = False
    kinds: bool = False
    target: bool = False
    one_class: bool = False
    shapes: bool = False
    weights: bool = False
    rates: bool = False
    network: bool = False
    traffic: bool = False
    stalls: bool = False
    links: bool = False
    resources: bool = False
    ordered: tuple[tuple[str, str], ...] = ()
    file: Path | None = None
    package: str = ""
    """The installed package that brought it ("": none did)."""

    @property
    def called(self) -> str:
        """What messages call it: its name, behind that of its package, for that may have named it like a built-in."""
        return f"{self.package}:{self.name}" if self.package else self.name

    def values(self, given: Mapping[str, float]) -> list[float]:
        """Return the parameters in their declared order; unknown, missing and senseless ones are errors."""
        for name in given:
            if name not in self.params:
                hint = did_you_mean(name, self.params) if self.params else "; it takes none"
                raise PolicyError(f"{self.slot} policy {self.called!r} has no parameter {name!r}{hint}")
        chosen = {name: self._value(name, declared, given) for name, declared in self.params.items()}
        for small, large in self.ordered:
            if chosen[small] > chosen[large]:
                raise PolicyError(
                    f"{self.slot} policy {self.called!r}: parameter {small!r} must not exceed {large!r}, "
                    f"got {in_full(chosen[small])} and {in_full(chosen[large])}"
                )
        return list(chosen.values())

    def _value(self, name: str, declared: Param, given: Mapping[str, float]) -> float:
        value = given.get(name, declared.default)
        if value is None:
            raise PolicyError(f"{self.slot} policy {self.called!r} needs parameter {name!r}: {declared.meaning}")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise PolicyError(
                f"{self.slot} policy {self.called!r}: parameter {name!r} must be a number, got {value!r}"
            ) from None
        problem = declared.refuse(number)
        if problem:
            raise PolicyError(f"{self.slot} policy {self.called!r}: parameter {name!r} {problem}")
        return number


def summary_of(function: Callable[..., int]) -> str:
    """Return the first paragraph of a function's docstring in one line (nothing: an empty text)."""
    return " ".join((function.__doc__ or "").strip().partition("\n\n")[0].split())


def mechanism(slot: str, name: str, **declared: Any) -> Callable[[Callable[..., int]], Mechanism]:
    """Declare a built-in mechanism; its summary is the first paragraph of the function's docstring."""

    def wrap(function: Callable[..., int]) -> Mechanism:
        summary = summary_of(function)
        return Mechanism(name=name, slot=slot, function=function, summary=summary, **declared)

    return wrap


_MOST_FLOATS = 1 << 40
"""Far more floats than any machine has room for."""


def policy(
    slot: str,
    *,
    name: str | None = None,
    wake: str = "end node envelope arrival",
    params: Mapping[str, float | Param] | None = None,
    memory: int | Memory = 0,
    compiled: bool = False,
    sorted_running: bool = True,
    caps: bool = False,
    solo_caps: bool = False,
) -> Callable[[Callable[..., int]], Mechanism]:
    """Declare a policy of your own.

    Parameters
    ----------
    slot
        What it decides: order, select, place, cap, learn, profile or bid.
    name
        Its name, printable text in one line of at most 100 characters (default: the function's).
    wake
        What wakes it, out of: end, node, envelope, arrival, timer, tick. A ``bid`` policy is woken at bidding times
        whatever this says: it writes ``s.want_mean_w[0]`` and ``s.want_reserve_w[0]`` and returns 1, or 0 to stay out
        of the market.
    params
        Names and defaults of its parameters, or a ``Param`` each, which may have a range.
    memory
        Number of floats that it keeps between calls, or a ``Memory``, which grows with jobs or nodes.
        ``Memory(per_job=2)`` has two columns with a number for each job.
    compiled
        Whether numba translates it.
    sorted_running
        Whether ``s.running`` is kept sorted by estimated end, and these ends up to date. A policy that does not look
        at them is a little faster without.
    caps, solo_caps
        Whether a cap policy caps rate classes, and single jobs.
    """
    if not isinstance(slot, str) or slot not in SLOT_NAMES:
        raise PolicyError(f"unknown policy slot {shorten(slot)}{did_you_mean(slot, SLOT_NAMES)}")
    if not isinstance(wake, str):
        raise PolicyError(f"wake is a text that lists events, such as 'end arrival', got {shorten(wake)}")
    if params is not None and not isinstance(params, Mapping):
        raise PolicyError(f"params is a mapping of names to defaults, got {shorten(params)}")
    for key in params or ():
        problem = unfit_name(key) if isinstance(key, str) else "must be a text"
        if problem:
            raise PolicyError(f"the name of a parameter {problem}, got {shorten(key)}")
    bits = 0
    for word in wake.replace(",", " ").split():
        if word not in EVENT_BITS:
            raise PolicyError(f"unknown event {word!r} in wake{did_you_mean(word, EVENT_BITS)}")
        bits |= EVENT_BITS[word]

    if slot == "bid":
        bits = BIDDING  # nothing else wakes it
    floats = memory if isinstance(memory, Memory) else Memory(fixed=memory)
    for part, count in vars(floats).items():
        if part != "table" and (not isinstance(count, int) or not 0 <= count < _MOST_FLOATS):
            raise PolicyError(f"memory is a number of floats, a whole number from 0 on, got {shorten(count)}")

    def wrap(function: Callable[..., int]) -> Mechanism:
        if not isinstance(function, types.FunctionType):
            raise PolicyError(f"a policy is a function that def makes, got {type(function).__name__}")
        called = function.__name__ if name is None else name
        problem = unfit_name(called) if isinstance(called, str) else f"must be a text, got {shorten(called)}"
        if problem:
            raise PolicyError(f"the name of a policy ({slot}) {problem}")
        return Mechanism(
            name=called,
            slot=slot,
            function=function,
            summary=summary_of(function),
            wake=bits,
            params={
                key: value if isinstance(value, Param) else Param(value, "") for key, value in (params or {}).items()
            },
            memory=floats,
            compiled=compiled,
            builtin=False,
            sorted_running=sorted_running,
            caps=caps,
            solo_caps=solo_caps,
            file=Path(function.__code__.co_filename),
        )

    return wrap


@functools.cache
def compile_builtin(built: Callable[..., int]) -> Any:
    """Compile a built-in mechanism's function (once a process; loaded from the cache when it is there)."""
    from wattline.kernel.compiled import entry
    from wattline.model.state.record import POLICY

    return entry(POLICY)(built)
