"""The synthetic workloads by name: parameters in, trace out, the same for the same seed.

===========  ==============  ======================================================================
name         parameters      what
===========  ==============  ======================================================================
poisson      ``Poisson``     types of jobs with given laws of run time, Poisson arrivals
lublin       ``Lublin``      the Lublin–Feitelson model of supercomputer workloads
bursty       ``Bursty``      types of jobs, arrivals of a Markov-modulated Poisson process
meggie-like  ``MeggieLike``  days of a 728-node cluster: kinds of job with power, in campaigns
emmy-like    ``EmmyLike``    the same for 560 nodes
mira-like    ``MiraLike``    a year of 49,152 nodes: projects, and power over the run of each job
===========  ==============  ======================================================================
"""

from __future__ import annotations

from wattline.errors import InputError
from wattline.generate.bursty import Bursty, Phase, generate_bursty
from wattline.generate.laws import JobType, Requests
from wattline.generate.lublin import Lublin, generate_lublin
from wattline.generate.mira import MiraLike, generate_mira
from wattline.generate.poisson import Poisson, generate_poisson
from wattline.generate.rrze import EmmyLike, MeggieLike, RrzeLike, generate_rrze
from wattline.reading.notes import Trace

__all__ = [
    "GENERATORS",
    "Bursty",
    "EmmyLike",
    "JobType",
    "Lublin",
    "MeggieLike",
    "MiraLike",
    "Phase",
    "Poisson",
    "Requests",
    "RrzeLike",
    "generate",
]

GENERATORS: dict[str, type[Poisson] | type[Lublin] | type[Bursty] | type[RrzeLike] | type[MiraLike]] = {
    "poisson": Poisson,
    "lublin": Lublin,
    "bursty": Bursty,
    "meggie-like": MeggieLike,
    "emmy-like": EmmyLike,
    "mira-like": MiraLike,
}
"""Name of a generator → its parameters."""


def generate(law: Poisson | Lublin | Bursty | RrzeLike | MiraLike) -> Trace:
    """Draw the workload that the parameters describe."""
    if isinstance(law, Poisson):
        return generate_poisson(law)
    if isinstance(law, Lublin):
        return generate_lublin(law)
    if isinstance(law, Bursty):
        return generate_bursty(law)
    if isinstance(law, RrzeLike):
        return generate_rrze(law)
    if isinstance(law, MiraLike):
        return generate_mira(law)
    raise InputError(f"not the parameters of a generator: {type(law).__name__}; known: {', '.join(GENERATORS)}")
