"""Power of jobs over time, what is believed of it, and nodes that are not alike."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class PowerFields:
    """Power of jobs over time, what is believed of it, and nodes that are not alike."""

    # -- power over time, and what is believed of it
    now_w: Annotated[Floats, Field("J", "W", "power per node now, uncapped", block="moving")]
    seen_w: Annotated[Floats, Field("J", "W", "greatest sample of its power per node (0: none yet)", block="beliefs")]
    profile_w: Annotated[
        Floats,
        Field(
            "J",
            "W",
            "power per node that admission counts with; the profile learner writes it",
            block="beliefs",
            writers="profile",
        ),
    ]
    spread_w: Annotated[
        Floats,
        Field(
            "J",
            "W",
            "its standard deviation, which admission pools over running jobs",
            block="beliefs",
            writers="profile",
        ),
    ]
    profile_from: Annotated[
        Ints,
        Field(
            "J",
            "",
            "level of the profile that profile_w comes from (the number of "
            "levels: nothing known, the maximum; one more: known but doubted, the maximum)",
            block="beliefs",
            writers="profile",
        ),
    ]
    submit_profile_from: Annotated[Ints, Field("J", "", "that level when it entered the queue", block="beliefs")]
    start_profile_w: Annotated[
        Floats, Field("J", "W", "profile_w when it first started (NaN: not yet)", block="beliefs", nothing=np.nan)
    ]
    start_profile_from: Annotated[Ints, Field("J", "", "profile_from when it first started", block="beliefs")]
    profile: Annotated[Ints, Field("J,V", "", "its row among the profiles, at every level", fixed=True, entered=True)]
    series_first: Annotated[Ints, Field("J", "", "first value of its power series", fixed=True, entered=True)]
    series_count: Annotated[
        Ints, Field("J", "", "values of its power series (0: its power is constant)", fixed=True, entered=True)
    ]
    series_w: Annotated[Floats, Field("S", "W", "power per node of all series, uncapped", fixed=True)]
    series_step_s: Annotated[
        Floats, Field("1", "s", "work that each value of a series stands for", fixed=True, nothing=1.0)
    ]
    sample_s: Annotated[
        Floats, Field("1", "s", "period at which power is sampled and changes (inf: never)", fixed=True, nothing=np.inf)
    ]
    sample_k: Annotated[Ints, Field("1", "", "number of the next sample")]
    believed_w: Annotated[Floats, Field("1", "W", "power of running jobs by their profiles, without the margin")]
    believed_var: Annotated[Floats, Field("1", "W²", "variance of the sum over those that share the margin")]
    margin_w: Annotated[Floats, Field("1", "W", "margin on that sum, and on what jobs that are starting will draw")]
    doubtful: Annotated[Ints, Field("R", "", "jobs that the margin is on; the first ones share it")]
    doubtful_w: Annotated[Floats, Field("R", "W", "what they can draw at most, above what is believed of them")]
    doubtful_var: Annotated[Floats, Field("R", "W²", "their variances")]
    n_doubtful: Annotated[Ints, Field("1", "", "their number")]
    n_sharing: Annotated[Ints, Field("1", "", "how many share it; the others are counted with the most they can draw")]
    doubtful_sum: Annotated[
        Floats, Field("2", "", "the variance of all [W²], and their least room over variance [1/W]")
    ]
    margin: Annotated[
        Floats,
        Field(
            "1", "", "standard deviations of the sum that admission leaves free; the learner sets it", writers="profile"
        ),
    ]

    # -- nodes that are not alike (empty where they are)
    node_factor: Annotated[
        Floats, Field("F", "", "power of a node over that of a typical one at the same work and speed", fixed=True)
    ]
    varied: Annotated[
        Floats,
        Field(
            "2",
            "",
            "part of a node's power that is alike in all [W]; 1: caps of equal speed, 0: equal caps",
            fixed=True,
        ),
    ]
    re_first: Annotated[Ints, Field("U", "", "first point of a configuration's response to power", fixed=True)]
    re_count: Annotated[Ints, Field("U", "", "its points (0: no cap holds it back)", fixed=True)]
    re_w: Annotated[Floats, Field("U", "W", "power of a typical node at a point, growing", fixed=True)]
    re_speed: Annotated[Floats, Field("U", "1/s", "speed there: work of one job per second", fixed=True)]
