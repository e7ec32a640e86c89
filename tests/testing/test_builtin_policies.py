"""Every built-in mechanism passes every check that applies to it."""

from __future__ import annotations

import pytest

from wattline.control.catalog import catalog
from wattline.model.mechanism import Mechanism
from wattline.testing import checks_for
from wattline.testing.checks import Check, title

PARAMS: dict[str, dict[str, float]] = {
    "randomized": {"p_low": 0.4, "p_high": 0.6},
    "count-hysteresis": {"k_low": 2, "k_high": 5},
    "workload-hysteresis": {"k_low": 20, "k_high": 60},
    "day-budget": {"mean_w": 1000.0, "reserve_w": 200.0, "day": 0.1},
}
"""Values for parameters that have no default."""

CASES = [(m, check) for slot in catalog().values() for m in slot.values() for check in checks_for(m)]


@pytest.mark.parametrize(("mechanism", "check"), CASES, ids=[f"{m.name}:{title(c)}" for m, c in CASES])
def test_conforms(mechanism: Mechanism, check: Check) -> None:
    """A built-in mechanism satisfies what is asked of a user's."""
    check(mechanism, PARAMS.get(mechanism.name))
