"""What a run leaves behind, pretended or real; ``wiring.tables`` makes the tables of a journal of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.state.record import State
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

if TYPE_CHECKING:
    from wattline.formats.tables.profiles import Profiles


@dataclass
class Result:
    """What a run leaves behind: the state at its end and the logs."""

    jobs: JobTable
    cluster: Cluster
    policies: Policies
    options: Options
    state: State
    logs: dict[str, npt.NDArray[Any]]
    notes: tuple[tuple[str, str, int, str], ...]
    stopped: str
    wall_s: float
    seed: int = 0
    profiles: Profiles | None = None
    """What was learned of the power of jobs, where a learner keeps it."""
    pressed: bool = False
    """Whether Ctrl-C came while the last instants were simulated: the run is whole, and who began it is to stop."""
