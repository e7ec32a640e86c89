"""A job takes what was said of it for each of its nodes: memory that nodes borrow, space on a burst buffer."""

from __future__ import annotations

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.resources.base import MOST, Resource


class PerNode(Resource):
    """A job takes what was said of it for each of its nodes."""

    name = "node"
    about = "a job takes the amount for each of its nodes: memory that nodes borrow, space on a burst buffer"

    @staticmethod
    def wants(jobs: JobTable, amounts: Ints) -> Ints:
        """Return the amounts times the nodes."""
        far = amounts.astype(np.float64) * jobs.nodes > MOST
        if np.any(far):
            j = int(np.argmax(far))
            raise InputError(f"job {jobs.job_id[j]} would take {amounts[j]} on each of {jobs.nodes[j]} nodes: too much")
        return amounts * np.maximum(jobs.nodes, 0)


RESOURCE = PerNode
