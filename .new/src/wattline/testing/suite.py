"""The suite: all checks that apply to a policy, one row each."""

from __future__ import annotations

import warnings
from pathlib import Path

from wattline.control.catalog import load, named
from wattline.control.users.guard import time_limit
from wattline.control.users.proven import remember
from wattline.errors import EndlessError, PolicyError
from wattline.model.mechanism import Mechanism
from wattline.testing.checks import CHECKS, SAFETY, Check, Params, applies, explain, title
from wattline.testing.report import Report, Row


def checks_for(mechanism: Mechanism) -> list[Check]:
    """Return the checks that apply to a mechanism."""
    return [check for check in CHECKS if applies(check, mechanism)]


CALL_LIMIT_S = 30.0
"""How long one call of a policy may take here."""


def check_policy(mechanism: Mechanism, params: Params = None, *, call_limit_s: float = CALL_LIMIT_S) -> Report:
    """Run every check that applies; ``params`` gives parameters that have no default.

    A policy that passes them all is remembered: compiled, this very source runs without checks of its indices from then
    on.
    """
    report = Report(f"{mechanism.slot} policy {mechanism.called!r}")
    with time_limit(call_limit_s):
        for check in checks_for(mechanism):
            row, go_on = _row(check, mechanism, params)
            report.rows.append(row)
            if not go_on or (check in SAFETY and not row.passed):
                break
    if report.ok:
        remember(mechanism)
    return report


def check_policy_file(path: Path | str, *, call_limit_s: float = CALL_LIMIT_S) -> Report:
    """Run the suite on every policy in a file, or on the one of ``file.py:name``.

    A file that cannot be read as policies is one failed row.
    """
    report = Report(str(path))
    file, wanted = named(str(path))
    try:
        with time_limit(call_limit_s):
            there = load(Path(file))
    except PolicyError as problem:
        return Report(str(path), [Row("file", passed=False, detail=str(problem))])
    found = [m for m in there if wanted in (None, m.name)]
    if not found:
        names = ", ".join(m.name for m in there)
        return Report(
            str(path), [Row("file", passed=False, detail=f"{file}: no policy called {wanted!r}, it has {names}")]
        )
    for mechanism in found:
        rows = check_policy(mechanism, call_limit_s=call_limit_s).rows
        several = f"{mechanism.name}: " if len(found) > 1 else ""
        report.rows += [Row(f"{several}{row.check}", row.passed, row.detail) for row in rows]
    return report


def _row(check: Check, mechanism: Mechanism, params: Params) -> tuple[Row, bool]:
    """Return the row of a check, and whether another can be tried."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's remarks on a policy that divides by zero come with its failure
            check(mechanism, params)
    except (Exception, SystemExit) as problem:  # whatever a user's code does is a row of the report
        return Row(title(check), passed=False, detail=explain(problem)), not isinstance(problem, EndlessError)
    return Row(title(check), passed=True), True
