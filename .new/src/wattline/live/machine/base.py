"""What a resource manager is to Wattline: whoever knows the jobs of a machine and starts, stops and continues them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Phase = Literal["ineligible", "waiting", "starting", "running", "paused", "completing", "ended"]
"""ineligible: not to be started yet (begin time, dependency, held by its user) · waiting: held for us · starting:
released, its nodes taken, no process yet · completing: its processes are gone, its nodes are not.
"""


@dataclass(frozen=True)
class JobSeen:
    """A job as the resource manager shows it."""

    id: str
    phase: Phase
    nodes: int
    """How many it asks for."""
    submit_s: float
    request_s: float = float("inf")
    """Walltime that it asks for."""
    start_s: float = float("nan")
    end_s: float = float("nan")
    on: tuple[str, ...] = ()
    """Names of the nodes that it holds."""
    ours: bool = True
    """False: started by others, or opted out; it is counted and left alone."""
    stoppable: bool = True
    user: str = ""
    account: str = ""
    partition: str = ""
    kind: str = ""
    priority: float = 0.0
    draw_w: float = float("nan")
    """Watts of a node without caps, where it says so."""
    exit: int | None = None
    reason: str = ""
    fits: frozenset[str] | None = None
    """Names of the nodes on which it can be started; None: all."""
    eligible_s: float = float("nan")
    """Since when it waits (NaN: not known)."""


@dataclass(frozen=True)
class NodeSeen:
    """A node as the resource manager shows it."""

    name: str
    up: bool
    """False: down, drained or draining: nothing may be started on it."""
    reason: str = ""


@dataclass(frozen=True)
class Snapshot:
    """All jobs and nodes at one moment; jobs that ended are in one snapshot at least, so that nobody misses the end."""

    time_s: float
    jobs: Sequence[JobSeen] = ()
    nodes: Sequence[NodeSeen] = ()
    notes: Sequence[str] = ()
    """What is worth a line in the log, each told once."""


@dataclass(frozen=True)
class Form:
    """The configuration that was chosen for a moldable job; its nodes are those that it is released to."""

    cores: int
    """Cores to be used on each node."""
    cap_w: float
    """Cap of a processor that the configuration was measured under; the nodes' own caps come by their agents."""
    limit_s: float
    """Walltime of the job in it."""


@dataclass(frozen=True)
class Abilities:
    """What a resource manager can do; the rest is said when the controller starts."""

    pins: bool = True
    """Jobs can be started on named nodes."""
    pauses: bool = True
    """Running jobs can be stopped and continued, their nodes kept."""
    requeues: bool = True
    molds: bool = False
    """Waiting jobs can be given another number of nodes, a walltime, and a word on their cores."""
    explains: bool = False
    """Waiting jobs can be given a word that their users read (``Explains``)."""
    quick: bool = False
    """A snapshot takes a millisecond or so: it may be asked for at every cap pass, not once a period alone."""
    notes: tuple[str, ...] = field(default=())


class ManagerError(Exception):
    """The resource manager cannot be reached or refused to answer: to be tried again. One line."""


class ResourceManager(Protocol):
    """Commands may be repeated: each asks for a state and does nothing where it is so already.

    A command returns None, or a line that says why this job cannot be brought there. ``ManagerError`` is for a manager
    that does not answer at all.
    """

    abilities: Abilities

    def snapshot(self) -> Snapshot:
        """Return all jobs and nodes as they are now."""

    def release(self, job: str, on: Sequence[str], form: Form | None = None) -> str | None:
        """Let a waiting job start on these nodes; with a form, on as many as they are, whatever it asked for."""

    def hold(self, job: str) -> str | None:
        """Let a job that was released and has not started wait again."""

    def stop(self, job: str) -> str | None:
        """Stop the processes of a running job; it keeps its nodes. One that is stopped is stopped once more: its
        node's agent may have let it go on, which the manager does not know.
        """

    def cont(self, job: str) -> str | None:
        """Let a stopped job go on."""

    def requeue(self, job: str) -> str | None:
        """Take a running job from its nodes and let it wait again."""

    def leave(self, job: str, why: str) -> str | None:
        """Let the manager start a waiting job when and where it likes: Wattline cannot place it."""

    def give_back(self) -> dict[str, str | None]:
        """Let jobs that wait for us start as if nobody led the machine (``wattline off``).

        All of them are tried. Return each with None, or with a line that says why it waits on.
        """

    def close(self) -> None:
        """Let go of whatever is open; jobs stay as they are."""


class Explains(Protocol):
    """A resource manager that can tell the user of a job why it waits."""

    def explain(self, job: str, why: str) -> str | None:
        """Note at a waiting job why it waits ("": it waits for its turn)."""


def one_line(refusals: Mapping[str, str]) -> str:
    """Return refusals of several jobs in a line."""
    return "; ".join(f"{job}: {why}" for job, why in sorted(refusals.items()))
