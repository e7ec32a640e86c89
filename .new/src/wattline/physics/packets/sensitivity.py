"""Is a type of job sensitive to congestion? Judged by where its MPI time goes, as thesis-DR §3.6.2 does."""

from __future__ import annotations

from dataclasses import dataclass

from wattline.errors import InputError

INTENSIVE = 0.05
"""A part of the run time above which collectives, or waiting for messages, make a type sensitive."""


@dataclass(frozen=True)
class MpiProfile:
    """Parts of a type's run time spent in MPI, measured without congestion."""

    mpi: float
    allreduce: float = 0.0
    send: float = 0.0  # MPI_Sendrecv, Send, Isend
    broadcast: float = 0.0
    test: float = 0.0  # MPI_Test, Testany: asking without waiting
    wait: float = 0.0  # MPI_Wait, Waitall
    barrier: float = 0.0

    def __post_init__(self) -> None:
        parts = (self.allreduce, self.send, self.broadcast, self.test, self.wait, self.barrier)
        if min(parts) < 0 or not 0 <= self.mpi <= 1 or sum(parts) > self.mpi + 0.005:
            raise InputError(
                f"profile: parts of MPI are not negative and add up to at most MPI's {self.mpi:.1%} of the time, got "
                f"{sum(parts):.1%}"
            )

    @property
    def collective(self) -> float:
        """Part of the time in collectives."""
        return self.allreduce + self.broadcast + self.barrier

    @property
    def coupled(self) -> float:
        """Part of the time in messages that somebody waits for."""
        return self.send + self.wait

    @property
    def sensitive(self) -> bool:
        """Whether congestion will be felt: collectives, or messages waited for, take more than 5 % of the time.

        Where MPI is mostly ``MPI_Test``, messages do not depend on each other and it is not. Message sizes and data
        rates say nothing.

        >>> MpiProfile(0.06, allreduce=0.054).sensitive
        True
        >>> MpiProfile(0.314, allreduce=0.023, barrier=0.044, test=0.213).sensitive
        False
        """
        if self.test > 0.5 * self.mpi:
            return False
        return self.collective > INTENSIVE or (self.coupled > INTENSIVE and self.coupled > 0.5 * self.mpi)
