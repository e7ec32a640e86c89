"""What the overprovisioning study published as numbers, and where its measured configurations are, if they are at
hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from wattline.formats.tables.configurations import Measured, read_configurations
from wattline.market.overprovisioning import Line, Question
from wattline.systems.at_hand import data_file

FILE = "powercap/rzmerl_powercap_configs.csv.gz"
"""Measured configurations under WATTLINE_DATA."""
NODE_MAX_W = 290.0
"""Absolute worst case of a node: two sockets of 115 W with 30 W of memory each."""
BOUNDS_W = (2500.0, 3000.0, 3500.0, 4000.0)


@dataclass(frozen=True)
class Point:
    """A published configuration with its time and power."""

    nodes: int
    cores: int
    cap_w: float
    time_s: float
    power_w: float

    @property
    def name(self) -> str:
        """(n × c, p)."""
        return f"({self.nodes} × {self.cores}, {self.cap_w:g} W)"


TABLE_4_2: dict[str, dict[str, Point]] = {
    "SPhot": {
        "worst case": Point(12, 16, 115, 74.3, 2183),
        "packed-max": Point(18, 16, 115, 49.5, 3264),
        "best": Point(32, 16, 51, 39.8, 3478),
    },
    "SP-MZ": {
        "worst case": Point(12, 16, 115, 13.9, 1975),
        "packed-max": Point(20, 16, 115, 9.1, 3240),
        "best": Point(26, 12, 80, 3.6, 3497),
    },
    "BT-MZ": {
        "worst case": Point(12, 16, 115, 9.9, 2398),
        "packed-max": Point(16, 16, 115, 7.3, 3232),
        "best": Point(30, 14, 51, 6.1, 3418),
    },
    "LU-MZ": {
        "worst case": Point(12, 16, 115, 25.3, 2228),
        "packed-max": Point(18, 16, 115, 16.5, 3308),
        "best": Point(32, 8, 95, 9.4, 3497),
    },
}
"""Table 4.2: 3,500 W."""

TABLE_4_7 = Question(power_w=7000.0, node_max_w=380.0, node_min_w=180.0, faster=0.27, cost_ratio=1.7)
MOST_NODES = 48
TABLE_4_8 = {
    "SPhot": Line(-1.114, 73.07, MOST_NODES),
    "SP-MZ": Line(-0.112, 7.00, MOST_NODES),
    "BT-MZ": Line(-0.069, 8.50, MOST_NODES),
    "LU-MZ": Line(-0.542, 25.93, MOST_NODES),
}


@dataclass(frozen=True)
class Printed:
    """A row of table 4.9 as printed."""

    node_limit: int
    nodes: int
    overprovisioned_s: float
    worst_case_s: float
    speedup: float


TABLE_4_9 = {
    "SPhot": Printed(50, 30, 39.64, 38.70, 0.98), "SP-MZ": Printed(50, 30, 3.51, 3.61, 1.02),
    "BT-MZ": Printed(50, 30, 6.41, 5.29, 0.83), "LU-MZ": Printed(50, 30, 9.66, 11.80, 1.22),
}  # fmt: skip

HOPPER = {
    "acquisition": 52e6,
    "years": 4.0,
    "maintenance": 5.2e6,
    "power": 2.6e6,
    "staff": 0.3e6,
    "total": 21.1e6,
    "cores": 153_408.0,
    "utilization": 0.85,
    "core_hours": 1_142_275_968.0,
    "per_core_hour": 0.018,
    "drawn_w": 2.6e6,
    "budget_w": 3e6,
}
"""Table 4.1."""

KINDS = {
    "bt-mz.C": "BT-MZ",
    "sphot": "SPhot",
    "synth-scalable-cpu": "SC",
    "synth-nonscalable-cpu-comm": "NSC",
    "synth-scalable-mem": "SM",
    "synth-nonscalable-mem-comm": "NSM",
}
"""Applications of the measured data → names of the study; SP-MZ and LU-MZ are not in the data."""

RESTS_ON = {
    "Fig. 1.2": "not here: the job trace behind it is not published (wattline reproduce rmap draws its own)",
    "Fig. 3.1": "measured data (packages and memory together) and two published numbers",
    "Fig. 3.2": "measured data for SPhot; SP-MZ is not in the data",
    "Fig. 3.3": "measured data: frequency inferred from times of a kernel that only computes",
    "Fig. 3.4": "measured data: BT-MZ on the full grid, SPhot and kernels on 8, 16 and 32 nodes; published points of "
    "table 4.2",
    "Fig. 3.5": "measured data, as Fig. 3.4",
    "Fig. 3.6": "measured data: BT-MZ in the place of SP-MZ, which is not in the data",
    "Fig. 3.7": "measured data for SPhot; LU-MZ is not in the data",
    "Fig. 4.1": "measured data for BT-MZ; published points and lines for the others",
    "Fig. 4.2": "measured data for BT-MZ; the others have no published points at 4,500 W",
    "Figs. 4.3–4.6": "the cost model with the published lines",
    "Table 4.1": "arithmetic on the published numbers",
    "Table 4.2": "measured data for BT-MZ and one row of SPhot; published points for the rest",
    "Tables 4.7–4.9": "the cost model with the published parameters",
}
"""Each figure and table, and what stands behind ours."""


def load_measured() -> Measured | None:
    """Return the measured tables, medians over trials, if they are at hand."""
    path = data_file(FILE)
    return None if path is None else read_configurations(path)
