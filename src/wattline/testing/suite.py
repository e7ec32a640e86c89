"""The suite: all checks that apply to a policy, one row each."""

from __future__ import annotations

import warnings
from pathlib import Path

from wattline.control.catalog import load
from wattline.errors import PolicyError
from wattline.model.mechanism import Mechanism
from wattline.testing.checks import CHECKS, SAFETY, Check, Params, applies, explain, title
from wattline.testing.report import Report, Row


def checks_for(mechanism: Mechanism) -> list[Check]:
    """Return the checks that apply to a mechanism."""
    return [check for check in CHECKS if applies(check, mechanism)]


def check_policy(mechanism: Mechanism, params: Params = None) -> Report:
    """Run every check that applies; ``params`` gives parameters that have no default."""
    report = Report(f"{mechanism.slot} policy {mechanism.name!r}")
    for check in checks_for(mechanism):
        row = _row(check, mechanism, params)
        report.rows.append(row)
        if check in SAFETY and not row.passed:
            break
    return report


def check_policy_file(path: Path | str) -> Report:
    """Run the suite on every policy in a file; a file that cannot be read as policies is one failed row."""
    report = Report(str(path))
    try:
        found = load(Path(path))
    except PolicyError as problem:
        return Report(str(path), [Row("file", passed=False, detail=str(problem))])
    for mechanism in found:
        rows = check_policy(mechanism).rows
        several = f"{mechanism.name}: " if len(found) > 1 else ""
        report.rows += [Row(f"{several}{row.check}", row.passed, row.detail) for row in rows]
    return report


def _row(check: Check, mechanism: Mechanism, params: Params) -> Row:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's remarks on a policy that divides by zero come with its failure
            check(mechanism, params)
    except (Exception, SystemExit) as problem:  # whatever a user's code does is a row of the report
        return Row(title(check), passed=False, detail=explain(problem))
    return Row(title(check), passed=True)
