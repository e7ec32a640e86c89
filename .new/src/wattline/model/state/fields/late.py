"""What a machine does later than it was told to, and how far its power is from what is known of it."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class LateFields:
    """What a machine does later than it was told to, and how far its power is from what is known of it."""

    # -- jobs that were told to start and are not there yet
    starting: Annotated[Ints, Field("R", "", "jobs that are starting, in the order in which they were told to")]
    n_starting: Annotated[Ints, Field("1", "", "how many")]
    late_s: Annotated[
        Floats,
        Field("2", "s", "a job is there between these times after it was told to start (0, 0: at once)", fixed=True),
    ]
    seed: Annotated[Floats, Field("1", "", "seed of what the world draws by itself", fixed=True)]
    outside: Annotated[Ints, Field("1", "", "1: the world says when jobs have started and ended", fixed=True)]

    # -- caps that were set and are not in force yet, in the order in which they will be
    late_cap_s: Annotated[
        Floats, Field("2", "s", "a cap is in force between these times after it was set (0, 0: at once)", fixed=True)
    ]
    fl_n: Annotated[Ints, Field("LC", "", "caps on their way to a rate class")]
    fl_s: Annotated[Floats, Field("LC,16", "s", "when they get into force, growing")]
    fl_w: Annotated[Floats, Field("LC,16", "W", "the caps per node (inf: none)")]
    land_s: Annotated[Floats, Field("1", "s", "when the next of all gets into force, or earlier", nothing=np.inf)]

    # -- what the machine draws beside what is known of it
    noise_share: Annotated[
        Floats, Field("1", "", "standard deviation of the machine's power over its power", fixed=True)
    ]
    noise_every_s: Annotated[Floats, Field("1", "s", "time that a deviation lasts", fixed=True, nothing=np.inf)]
    noise_k: Annotated[Ints, Field("1", "", "number of the next deviation")]
    noise: Annotated[Floats, Field("1", "", "deviation in force, over the machine's power")]
    noise_j: Annotated[Floats, Field("1", "J", "energy of all deviations so far")]
