"""Conformance: what every policy must satisfy, as checks that outsiders run on their own.

``check_policy_file(path)`` is what ``wattline check-policy FILE`` calls. In a test-suite of your own::

    from wattline.control.catalog import find
    from wattline.testing import checks_for

    @pytest.mark.parametrize("check", checks_for(mine := find("select", "mine.py")), ids=lambda c: c.__name__)
    def test_my_policy(check):
        check(mine)
"""

from __future__ import annotations

from wattline.testing.checks import COMPANIONS
from wattline.testing.report import CheckError, Report
from wattline.testing.suite import check_policy, check_policy_file, checks_for

__all__ = ["COMPANIONS", "CheckError", "Report", "check_policy", "check_policy_file", "checks_for"]
