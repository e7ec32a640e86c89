"""From the arguments of a call, or the flags of a command, to a checked scenario: one way, whoever asks."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wattline.api.plain import as_plain, in_python, require_names
from wattline.errors import InputError

if TYPE_CHECKING:
    from wattline.api.machine import Machine
    from wattline.api.trace import Trace
    from wattline.model.mechanism import Mechanism
    from wattline.scenario.documents import Document

Policy = Any
"""A policy: a built-in name, the path of a file (``"mine.py"``, ``"mine.py:name"``, a ``Path``), an object made by
``wl.policy``, or a mapping ``{"name": one of these, parameter: value, …}``.
"""

KeyPath = tuple[str | int, ...]

_OF_READ_JOBS = ("jobs", "load")
"""Keys of [trace] that change jobs which are read already; the others say how a log is read, or jobs are drawn."""


@dataclass
class Keys:
    """The keys of a scenario in the making, each with what was typed for it."""

    data: dict[str, Any]
    typed: dict[KeyPath, str] = field(default_factory=dict)
    policies: dict[tuple[str, str], Mechanism] = field(default_factory=dict)

    def put(self, section: str, key: str, value: Any, typed: str) -> None:
        """Set a key."""
        self.data.setdefault(section, {})[key] = value
        self.typed[section, key] = typed

    def put_policy(self, slot: str, given: Policy, typed: str) -> None:
        """Set the policy of a slot."""
        if given is not None:
            self.put("policy", slot, plain_policy(slot, given, self.policies), typed)


def plain_policy(slot: str, given: Policy, objects: dict[tuple[str, str], Mechanism]) -> Any:
    """Return a policy as a scenario names it; an object is noted under its slot and name."""
    from wattline.model.mechanism import Mechanism

    if isinstance(given, (list, tuple)):
        return [plain_policy(slot, one, objects) for one in given]
    if isinstance(given, Mapping):
        return {**given, "name": plain_policy(slot, given.get("name"), objects)}
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    if not isinstance(given, Mechanism):
        return given
    if given.slot != slot:
        raise InputError(f"{slot}: {given.name!r} is a policy for {given.slot}; give {given.slot}={given.name}")
    if given.builtin:
        return given.name
    known = objects.setdefault((slot, given.name), given)
    if known is not given and known.function is not given.function:
        raise InputError(
            f"{slot}: two policies are called {given.name!r}; give one another name: wl.policy({slot!r}, name=…)"
        )
    return given.name


def ask(
    trace: Trace,
    machine: Machine,
    *,
    policies: Mapping[str, Policy],
    ties: str | None = None,
    kill: bool = False,
    limit: Any = None,
    configurations: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    name: str | None = None,
    unsaid: Collection[KeyPath] = (),
    words: Callable[[str, Any], str] = in_python,
    source: str = "simulate",
) -> Document:
    """Return the scenario of one run. ``words`` tells how an argument was typed, for messages.

    ``settings`` are dotted keys of a scenario. They must not say again what an argument says, unless its key is
    ``unsaid``: nobody gave that argument.
    """
    from wattline.scenario.documents import Given, document
    from wattline.scenario.read.files import refuse_replaced, set_key
    from wattline.scenario.read.source import Source

    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"settings: expected a mapping of dotted keys to values, got {type(settings).__name__}")
    require_names("settings", settings or {})
    seed, limit = as_plain(seed), as_plain(limit)
    keys = Keys(
        {"schema": 1, "name": trace.name if name is None else as_plain(name), "seed": seed},
        {("seed",): words("seed", seed)},
    )
    if name is not None:
        keys.typed["name",] = words("name", name)
    for key, value in trace.section.items():
        keys.put("trace", key, value, words("trace" if key == "file" else key, value))
    for key, value in machine.cluster().items():
        keys.put("cluster", key, value, words(key, value))
    for slot in ("order", "select", "place"):
        keys.put_policy(slot, policies.get(slot), words(slot, policies.get(slot)))
    for key, value in machine.wires().items():
        keys.put("network", key, value, words("network" if key == "topology" else key, value))
    for slot in ("learn", "cap", "profile", "bid"):
        keys.put_policy(slot, policies.get(slot), words(slot, policies.get(slot)))
    if ties is not None:
        keys.put("run", "ties", ties, words("ties", ties))
    if kill is not False:
        keys.put("run", "kill", as_plain(kill), words("kill", kill))
    if limit is not None:
        keys.put("limit", "power", limit, words("limit", limit))
    for key, value in (configurations or {}).items():
        keys.data.setdefault("configurations", [{}])[0][key] = value
        keys.typed["configurations", 0, key] = words(f"configurations.{key}", value)
    said = {path: typed for path, typed in keys.typed.items() if path not in unsaid}
    set_here: dict[KeyPath, str] = {}
    for dotted, value in as_plain(settings or {}).items():
        was = copy.deepcopy(keys.data)
        path = set_key(keys.data, dotted, value, dotted)
        refuse_replaced(f"settings: {in_python(dotted, value)}", path, set_here)
        set_here[path] = in_python(dotted, value)
        twice = next((typed for one, typed in said.items() if _meet(one, path, was)), None)
        if twice is not None:
            raise InputError(f"settings: {in_python(dotted, value)} says again what {twice} says; leave one out")
        _refuse_unread(trace, path, in_python(dotted, value))
        keys.typed[path] = in_python(dotted, value)
    given = Given(trace.handed if trace.is_read else None, keys.policies)
    told = Source(source, overrides=keys.typed, is_program=words is in_python)
    return document(keys.data, told, given=given)


def _meet(said: KeyPath, path: KeyPath, data: Any) -> bool:
    """Tell whether a path says again what an argument said: all of it, or a part that its value held."""
    if path[: len(said)] != said:
        return said[: len(path)] == path
    for step in path:
        known: Any = data
        if not (isinstance(step, int) if isinstance(known, list) else isinstance(known, dict) and step in known):
            return False
        data = known[step]
    return True


def _refuse_unread(trace: Trace, path: KeyPath, typed: str) -> None:
    """Refuse a setting that says how jobs are read or drawn, where that is done."""
    if path[0] != "trace" or not trace.is_read:
        return
    if "file" not in trace.section:
        raise InputError(f"settings: {typed} comes too late for jobs that are drawn; give it to wl.draw_trace")
    if path[1] not in _OF_READ_JOBS:
        raise InputError(
            f"settings: {typed} comes too late for jobs that are read; give it to wl.read_trace, or simulate the path"
        )
