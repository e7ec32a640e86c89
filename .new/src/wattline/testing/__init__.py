"""Conformance: what policies, formats of job logs, networks, products, responses, resources and managers must satisfy.

``check_policy_file(path)`` is what ``wattline check-policy FILE`` calls. In a test-suite of your own::

    from wattline.control.catalog import find
    from wattline.testing import checks_for

    @pytest.mark.parametrize("check", checks_for(mine := find("select", "mine.py")), ids=lambda c: c.__name__)
    def test_my_policy(check):
        check(mine)

A failure names its world; ``play(mine, worlds.busy(seed=7, count=40))`` runs one alone.

``check_format(format, content)`` does the same for a reader of job logs: ``assert (report := check_format(mine,
content)).ok, report``; ``check_network(network)`` does it for a kind of network; ``check_product(product)``
does it for a market product, ``check_response(response)`` for a response to caps, ``check_resource(resource)`` for
a way in which jobs take a resource, ``check_manager(manager, submit)`` for a resource manager of a real machine.
"""

from __future__ import annotations

from wattline.testing import worlds
from wattline.testing.checks import COMPANIONS, play
from wattline.testing.formats import check_format
from wattline.testing.managers import check_manager
from wattline.testing.networks import check_network
from wattline.testing.products import check_product
from wattline.testing.report import CheckError, Report
from wattline.testing.resources import check_resource
from wattline.testing.responses import check_response
from wattline.testing.suite import check_policy, check_policy_file, checks_for

__all__ = [
    "COMPANIONS",
    "CheckError",
    "Report",
    "check_format",
    "check_manager",
    "check_network",
    "check_policy",
    "check_policy_file",
    "check_product",
    "check_resource",
    "check_response",
    "checks_for",
    "play",
    "worlds",
]
