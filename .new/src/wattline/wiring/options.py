"""Options of a run: all that is neither jobs, machine nor policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.model.communication import Communication
from wattline.model.configurations import Moldable
from wattline.model.kinds import Kind
from wattline.model.profiles import DEFAULT
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.model.resources.base import Supply
from wattline.model.state import switches
from wattline.model.variability import Variability


@dataclass(frozen=True)
class Options:
    """How a run is carried out. Times in seconds, powers in watts."""

    ties: str = "instant"
    kill: bool = False
    requeue: bool = True
    keep_progress: bool = False
    tick_s: float = np.inf
    limit_w: Sequence[tuple[float, float]] = ()
    """Power limit as (from time, watts) steps; none means unlimited."""
    limit_until_s: float = np.inf
    """Until when steps that are meant to be repeated are there; from then on the last one holds."""
    failures_until_s: float = np.inf
    """Until when nodes fail that are meant to fail at random."""
    kinds: Sequence[Kind] = ()
    """Kinds of job and what was promised to them; a job's kind is found by its name."""
    signal: Signal | None = None
    bids: Sequence[tuple[float, Bid | None]] = ()
    """Bids as (from time, bid) steps; with the signal they make the power target."""
    bidding: Bidding | None = None
    """When the bid policy is asked for further ones."""
    start_s: float | None = None
    """When the run begins, if before the first job."""
    configurations: Sequence[Moldable] = ()
    """What jobs of an application (their kind's name) may look like, in truth and as policies are told."""
    chooses: npt.NDArray[np.int64] | None = None
    """Which of them each job chooses among, -1 for none (None: by the name of its kind)."""
    resources: Sequence[Supply] = ()
    """Resources of the whole machine beside nodes and watts, and what the jobs take of each."""
    variability: Variability | None = None
    """How nodes differ in power, and how that is dealt with (None: they are alike)."""
    communication: Sequence[Communication] = ()
    """What jobs of a kind (by its name) send; those of other kinds send nothing that counts."""
    traffic_s: float = 60.0
    """Window that the traffic of routers is counted over."""
    router_stalls: Sequence[float] = ()
    """Stalls of every router, as somebody counted them before the run."""
    sample_s: float | None = None
    """Period at which power is sampled, and changes where jobs have a power series (none: the step of the series)."""
    profiles: Sequence[Sequence[str]] = DEFAULT
    """Levels of power profiles: the columns of each, from a job's own to the most general."""
    quantum: bool = False
    """Decide at ticks only."""
    exceed: bool = False
    """When nothing runs and nothing fits under the limit, the first job may exceed it."""
    shed: bool = False
    """Stop jobs when even the lowest caps leave the power above the limit."""
    stop_cost_s: float = 0.0
    """Work that a stop by a policy adds to a job."""
    late_start_s: tuple[float, float] = (0.0, 0.0)
    """How long a job takes to be there after it was told to start: drawn between these, each alike."""
    late_cap_s: tuple[float, float] = (0.0, 0.0)
    """How long the caps of a pass take to get into force: drawn between these, once a pass."""
    noise: float = 0.0
    """Standard deviation of the machine's power over its power (0: it draws what is known of it)."""
    noise_every_s: float = 1.0
    """How long a deviation lasts; each is drawn by itself."""
    outside: bool = False
    """The world is a real one: it says when jobs have started and ended (``control.facts``)."""
    log_rows: int = 65536
    """Rows a log holds before it is emptied; many small runs at once want fewer."""
    spare_rows: int = 0
    """Rows for jobs that are not known at the start, beside those of the jobs that are.

    No scenario has a key for it: jobs get such rows from whoever drives the control pass (``control.facts``), never
    from the simulator.
    """
    timeline: bool = True
    placements: bool = True
    decisions: bool = True
    backlog: bool = False
    until_s: float = np.inf
    go_on_s: float = -np.inf
    """The run goes on up to this time though no job is left: the machine idles, and follows what was sold."""

    def switched(self) -> dict[int, bool]:
        """Return the switches of the engine (places in ``s.option``) that options alone decide on."""
        return {
            switches.OPT_TIES_EVENT: self.ties == "event",
            switches.OPT_KILL: self.kill,
            switches.OPT_TIMELINE: self.timeline,
            switches.OPT_PLACEMENTS: self.placements,
            switches.OPT_DECISIONS: self.decisions,
            switches.OPT_REQUEUE: self.requeue,
            switches.OPT_BACKLOG: self.backlog,
            switches.OPT_KEEP_PROGRESS: self.keep_progress,
            switches.OPT_QUANTUM: self.quantum,
            switches.OPT_EXCEED: self.exceed,
            switches.OPT_SHED: self.shed,
            switches.OPT_LATE: self.outside or self.late_start_s[1] > 0.0,
        }
