"""The synthetic workloads by name: parameters in, trace out, the same for the same seed.

===========  ==============  =================================================================
name         parameters      what
===========  ==============  =================================================================
poisson      ``Poisson``     types of jobs with given laws of run time, Poisson arrivals
lublin       ``Lublin``      the Lublin–Feitelson model of supercomputer workloads
bursty       ``Bursty``      types of jobs, arrivals of a Markov-modulated Poisson process
meggie-like  ``MeggieLike``  days of a 728-node cluster: kinds of job with power, in campaigns
emmy-like    ``EmmyLike``    the same for 560 nodes
===========  ==============  =================================================================
"""

from __future__ import annotations

from wattline.errors import InputError
from wattline.traces.generate_bursty import Bursty, Phase, generate_bursty
from wattline.traces.generate_laws import JobType, Requests
from wattline.traces.generate_lublin import Lublin, generate_lublin
from wattline.traces.generate_poisson import Poisson, generate_poisson
from wattline.traces.generate_rrze import EmmyLike, MeggieLike, RrzeLike, generate_rrze
from wattline.traces.notes import Trace

__all__ = [
    "GENERATORS", "Bursty", "EmmyLike", "JobType", "Lublin", "MeggieLike", "Phase", "Poisson", "Requests", "RrzeLike", "generate",
]  # fmt: skip

GENERATORS: dict[str, type[Poisson] | type[Lublin] | type[Bursty] | type[RrzeLike]] = {
    "poisson": Poisson, "lublin": Lublin, "bursty": Bursty, "meggie-like": MeggieLike, "emmy-like": EmmyLike,
}  # fmt: skip
"""Name of a generator → its parameters."""


def generate(law: Poisson | Lublin | Bursty | RrzeLike) -> Trace:
    """Draw the workload that the parameters describe."""
    if isinstance(law, Poisson):
        return generate_poisson(law)
    if isinstance(law, Lublin):
        return generate_lublin(law)
    if isinstance(law, Bursty):
        return generate_bursty(law)
    if isinstance(law, RrzeLike):
        return generate_rrze(law)
    raise InputError(f"not the parameters of a generator: {type(law).__name__}; known: {', '.join(GENERATORS)}")
