"""A check that cannot fail says nothing: each is shown a policy that breaks its rule, and one that breaks none."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.control.catalog import load
from wattline.errors import WattlineError
from wattline.kernel.compiled import JIT
from wattline.model.mechanism import Mechanism
from wattline.testing import Report, check_policy, check_policy_file, checks_for
from wattline.testing.checks import CHECKS, Check, title
from wattline.testing.report import Row

BAD: dict[str, Mechanism] = {m.name: m for m in load(Path(__file__).with_name("bad_policies.py"))}
EXPECTED = {
    "callable": "takes exactly",
    "indices": "negative",
    "indices-beyond": "out of bounds",
    "indices-user": "negative",
    "proposes-only": "s.status",
    "proposes-only-python": "only the engine writes",
    "legal": "refused",
    "legal-count": "10000 proposals",
    "legal-key": "NaN",
    "legal-place": "on 1",
    "legal-estimate": "-1",
    "legal-cap": "no such level",
    "timer": "timer",
    "deterministic": "two equal runs differ",
    "no-hidden-state": "disturb each other",
    "same-in-plain-python": "plain Python",
    "empty-queue": "empty queue",
    "all-nodes-down": "ZeroDivisionError",
    "one-node": "wait",
    "ties": "IndexError",
    "wide-jobs": "wait",
    "zero-length": "wait",
    "zero-length-request": "wait",
    "power-limit": "wait",
    "node-classes": "wait",
    "finishes": "wait",
    "finishes-request": "wait",
    "finishes-user": "wait",
}
BY_TITLE = {title(check): check for check in CHECKS}


def check_of(name: str) -> Check:
    """Return the check that a bad policy is named after."""
    return next(BY_TITLE[known] for known in sorted(BY_TITLE, key=len, reverse=True) if name.startswith(known))


def test_every_check_has_a_policy_that_fails_it() -> None:
    """No check is left without a counterexample, and each says what it asks for in one sentence."""
    assert {check_of(name) for name in EXPECTED} == set(CHECKS)
    assert set(EXPECTED) == set(BAD) - {"good"}
    for check in CHECKS:
        assert check.__doc__ is not None
        assert len(check.__doc__.splitlines()) == 1


@pytest.mark.parametrize("name", EXPECTED)
def test_notices(name: str) -> None:
    """The check notices the policy that breaks its rule, and says in one line what it did."""
    if not JIT and name in ("proposes-only", "same-in-plain-python"):
        pytest.skip("about compiled policies")
    with pytest.raises(WattlineError, match=EXPECTED[name]) as caught:
        check_of(name)(BAD[name])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("check", checks_for(BAD["good"]), ids=title)
def test_accepts(check: Check) -> None:
    """A policy that breaks no rule passes."""
    check(BAD["good"])


def test_report_of_a_policy() -> None:
    """A report has one row a check; an unsafe policy is not run any further."""
    report = check_policy(BAD["good"])
    assert report.ok
    assert [row.check for row in report.rows] == [title(check) for check in checks_for(BAD["good"])]
    unsafe = check_policy(BAD["indices"])
    assert not unsafe.ok
    assert [row.check for row in unsafe.rows] == ["callable", "indices"]
    assert "FAIL indices" in str(unsafe)


def test_report_of_a_file(tmp_path: Path) -> None:
    """Every policy of a file is checked; a file without one is a failed row, not an exception."""
    file = tmp_path / "two.py"
    file.write_text(
        "from wattline import policy\n\n"
        "@policy('order')\ndef a(s, arg, param, memory):\n    return 0\n\n"
        "@policy('cap', compiled=True)\ndef b(s, arg, param, memory):\n    return 0\n"
    )
    report = check_policy_file(file)
    assert report.ok, str(report)
    assert {row.check.split(":")[0] for row in report.rows} == {"a", "b"}
    broken = check_policy_file(tmp_path / "missing.py")
    assert not broken.ok
    assert broken.rows == [Row("file", passed=False, detail=f"{tmp_path / 'missing.py'}: no such policy file")]
    assert not Report("nothing").ok


def test_parameters_without_a_default_must_be_given() -> None:
    """A missing parameter is a failed row that names it."""
    from wattline.control.catalog import find

    report = check_policy(find("cap", "count-hysteresis"))
    assert [row.check for row in report.rows] == ["callable"]
    assert "k_low" in report.rows[0].detail
