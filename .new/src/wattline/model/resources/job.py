"""A job takes what was said of it, however wide it is: licences of a program."""

from __future__ import annotations

from wattline.arrays import Ints
from wattline.model.jobs import JobTable
from wattline.model.resources.base import Resource


class PerJob(Resource):
    """A job takes what was said of it, however wide it is."""

    name = "job"
    about = "a job takes the amount once, however many nodes it has: licences of a program"

    @staticmethod
    def wants(jobs: JobTable, amounts: Ints) -> Ints:  # noqa: ARG004  # the one signature of all ways
        """Return the amounts."""
        return amounts.copy()


RESOURCE = PerJob
