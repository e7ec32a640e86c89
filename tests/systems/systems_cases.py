"""Systems that several tests share: rates, switching rules by name, customers without ties."""

from __future__ import annotations

import numpy as np

from reference.recursion import Rates

SERVERS = 8
RATES = Rates(low=2.0, high=2.66, busy_low=0.034, busy_high=0.041, idle_low=0.014, idle_high=0.018)
SWITCHING = {
    "coins": ("randomized", {"p_low": 0.3, "p_high": 0.6}),
    "count": ("count-hysteresis", {"k_low": 2, "k_high": 5}),
    "count-single": ("count-hysteresis", {"k_low": 3, "k_high": 3}),
    "work": ("workload-hysteresis", {"k_low": 6.0, "k_high": 25.0}),
    "work-single": ("workload-hysteresis", {"k_low": 12.5, "k_high": 12.5}),
    "work-as-printed": ("workload-hysteresis", {"k_low": 12.5, "k_high": 20.0, "as_printed": 1}),
    "work-weighted": ("workload-hysteresis", {"k_low": 20.0, "k_high": 60.0, "node_weighted": 1}),
}


def customers(seed: int, n: int, servers: int) -> tuple[list[float], list[float], list[int]]:
    """Customers with idle spells and queues, no ties."""
    rng = np.random.default_rng(seed)
    arrival = 5.0 + np.cumsum(rng.exponential(1.0, n) * rng.choice([0.2, 3.0], n))
    return arrival.tolist(), rng.exponential(8.0, n).tolist(), rng.integers(1, servers // 2 + 1, n).tolist()
