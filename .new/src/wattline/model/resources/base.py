"""What a resource of the whole machine is: something of which there is so much, beside nodes and watts.

Licences, memory that all nodes share, space on a burst buffer. A job takes its part when it takes its nodes and gives
it back with them. Parts are whole numbers: a resource is counted in units so small that no job takes half of one.
How a job's part follows from what is known of it is one file of this folder: a class, called ``RESOURCE`` there, that
inherits ``Resource``. ``wattline.testing.check_resource`` tells whether it keeps the rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.jobs import JobTable

MOST = 1 << 53
"""More units than this cannot be counted exactly by all who read them."""


class Resource(ABC):
    """How much of a resource a job takes while it holds its nodes."""

    name: ClassVar[str]
    """what ``per`` of a ``[[resource]]`` says; its file has the same name, with underscores"""
    about: ClassVar[str]
    """how much a job takes, in a line"""

    @staticmethod
    @abstractmethod
    def wants(jobs: JobTable, amounts: Ints) -> Ints:
        """Return how much every job takes, a whole number from 0 on; ``amounts`` is what was said of each."""


@dataclass(frozen=True)
class Supply:
    """A resource of a machine, and what its jobs want of it.

    Parameters
    ----------
    name
        What messages and the journal call it.
    total
        How much there is.
    wants
        How much every job of the run takes, in the order of the job table.
    per
        How that follows from what was said of jobs.
    """

    name: str
    total: int
    wants: Ints
    per: str = "job"

    def __post_init__(self) -> None:
        wants = np.asarray(self.wants)
        if not np.issubdtype(wants.dtype, np.integer):
            raise InputError(f"resource {self.name!r}: jobs take whole numbers of it, got {wants.dtype}")
        if wants.size and not 0 <= int(wants.min()) <= int(wants.max()) <= MOST:
            far = int(wants.min()) if int(wants.min()) < 0 else int(wants.max())
            raise InputError(f"resource {self.name!r}: jobs take between 0 and 2**53 of it, got {far}")
        if not 0 <= self.total <= MOST:
            raise InputError(f"resource {self.name!r}: there is between 0 and 2**53 of it, got {self.total}")

    def take(self, rows: Any) -> Supply:
        """Return it for some of the jobs."""
        return Supply(self.name, self.total, self.wants[rows], self.per)

    def told(self) -> dict[str, Any]:
        """Return what a journal says of it."""
        wanted = np.asarray(self.wants)
        return {
            "name": self.name,
            "total": self.total,
            "per": self.per,
            "jobs": int(np.count_nonzero(wanted)),
            "most": int(wanted.max(initial=0)),
        }
