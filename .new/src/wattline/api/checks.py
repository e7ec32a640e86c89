"""``wl.check``: tell whether a policy of yours keeps the rules."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.listener import Listener
from wattline.api.runs import check_switches, path_of
from wattline.errors import LONGEST_NAME, InputError, cut, shorten
from wattline.files import is_file

if TYPE_CHECKING:
    from wattline.model.mechanism import Mechanism
    from wattline.testing.report import Report


def check(
    policy: Mechanism | Path | str,
    *,
    params: dict[str, float] | None = None,
    time_limit: float = 30.0,
    progress: bool = True,
) -> Report:
    """Check a policy: deterministic, legal actions only, survives hard cases. ``report.ok`` tells whether it passed.

    A compiled policy that passes runs without checks of its indices from then on, until its source changes.

    Parameters
    ----------
    policy
        An object of ``wl.policy``, a file (``"mine.py"`` or ``"mine.py:name"``), or the name of a policy that an
        installed package brings (``"name"`` or ``"package:name"``).
    params
        Values for parameters that have no default.
    time_limit
        Seconds that one call of the policy may take.
    progress
        Whether to show a bar.
    """
    check_switches("check", progress=progress)
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not 0 < time_limit < math.inf:
        raise InputError(f"check: time_limit is a number of seconds above 0, got {shorten(time_limit)}")
    return look(policy, Listener(progress=progress), params=params, time_limit=time_limit)


def look(
    policy: Mechanism | Path | str,
    listener: Listener,
    *,
    params: dict[str, float] | None = None,
    time_limit: float = 30.0,
) -> Report:
    """Check a policy, and tell a listener what is compiled for it."""
    from wattline.control.catalog import named
    from wattline.model.mechanism import Mechanism

    if isinstance(policy, Mechanism):
        from wattline.testing import check_policy

        _warm_up(listener)
        return check_policy(policy, params, call_limit_s=time_limit)
    if callable(policy):
        raise InputError(
            f"check: {getattr(policy, '__name__', policy)!r} is no policy yet; put @wl.policy(slot) above it"
        )
    given = str(path_of("check", policy))
    path = Path(named(given)[0])
    if not is_file(path):
        brought = _of_package(given) if path.suffix != ".py" else None
        if brought is not None:
            return look(brought, listener, params=params, time_limit=time_limit)
        hint = "; `wattline examples` copies those that ship with Wattline" if "examples" in path.parts else ""
        raise InputError(f"{cut(str(path), LONGEST_NAME)}: no such policy file{hint}")
    from wattline.testing import check_policy_file

    _warm_up(listener)
    return check_policy_file(policy, call_limit_s=time_limit)


def _of_package(name: str) -> Mechanism | None:
    """Return the policy that an installed package brings under a name; None if there is none."""
    from wattline.control.installed import broken_words, installed

    found = installed().named(name)
    if len(found) > 1:
        names = " or ".join(f"{m.package}:{m.name} ({m.slot})" for m in found)
        raise InputError(f"check: several policies are called {name!r}: {names}; give the object, or the file")
    if not found and broken_words():
        raise InputError(f"{cut(name)}: no such policy file, nor a policy of a package{broken_words()}")
    return found[0] if found else None


def _warm_up(listener: Listener) -> None:
    """Compile all that the worlds of the checks need beside the policy: in some of them nodes change."""
    from wattline.control.catalog import find
    from wattline.testing import COMPANIONS

    listener.warm_up([find(slot, name) for slot, name in COMPANIONS.items()], nodes_change=None)


def check_table(report: Report) -> Any:
    """Return the rows of a report as a table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", width=80)
    table.add_column("check", style="cyan", width=30)
    table.add_column("", width=6)
    table.add_column("", overflow="fold")
    for title, passed, detail in report.rows:
        table.add_row(str(title), Text("ok", "green") if passed else Text("FAILS", "bold red"), Text(str(detail)))
    return table
