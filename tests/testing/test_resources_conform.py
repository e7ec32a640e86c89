"""The conformance check of ways to take a resource: ours pass it, and ways that break a rule are caught by its row."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.resources import NAMES, find_resource
from wattline.model.resources.base import Resource
from wattline.testing import check_resource


@pytest.mark.parametrize("name", NAMES)
def test_our_ways_conform(name: str) -> None:
    """Every way that is shipped passes every check."""
    report = check_resource(find_resource(name))
    assert report.ok, str(report)


def test_an_unknown_way_is_refused() -> None:
    """By its name, with one that is like it."""
    with pytest.raises(InputError, match=r"'nodes'.*did you mean 'node'"):
        find_resource("nodes")


class Way(Resource):
    """A way of somebody's own: an amount a node-hour of the request, rounded up."""

    name = "node-hour"
    about = "a job takes the amount for each node and hour that it asks for"

    @staticmethod
    def wants(jobs: JobTable, amounts: Ints) -> Ints:
        """Return it."""
        return amounts * np.ceil(jobs.nodes * jobs.request_s / 3600.0).astype(np.int64)


def test_a_way_of_a_users_own_conforms() -> None:
    """Nothing but the class is needed."""
    report = check_resource(Way)
    assert report.ok, str(report)


BROKEN = {
    "gives whole numbers ": {"wants": staticmethod(lambda jobs, amounts: amounts[:1])},
    "declares itself": {"about": ""},
    "gives whole numbers": {"wants": staticmethod(lambda jobs, amounts: amounts + 1)},
    "changes nothing": {"wants": staticmethod(lambda jobs, amounts: amounts)},
    "takes each job for itself": {
        "wants": staticmethod(lambda jobs, amounts: amounts * len(jobs)),
    },
    "takes each job for itself ": {
        "wants": staticmethod(lambda jobs, amounts: amounts * np.maximum.accumulate(jobs.nodes)),
    },
    " takes each job for itself": {
        "wants": staticmethod(lambda jobs, amounts: amounts * (np.arange(amounts.size) == 0)),
    },
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_way_that_breaks_a_rule_is_caught_by_its_row(rule: str) -> None:
    """The row of that rule fails."""
    report = check_resource(type("Broken", (Way,), BROKEN[rule]))
    failed = [row.check for row in report.rows if not row.passed]
    assert rule.strip() in failed, str(report)
