"""What a scenario may say about moldable jobs: tables of configurations, bounds of jobs and nodes, nodes that differ."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wattline.scenario.quantities import Count, Finite, Name, Power, Seed, Words
from wattline.scenario.section import Section

MODELS = ("mixed", "physical", "log-quadratic")


class ConfigurationsSpec(Section):
    """Configurations (nodes × cores, cap) among which jobs of an application may choose.

    Jobs of other kinds run as they ask.
    """

    file: str = Field(
        description="table of one or several applications, relative to the scenario (.csv, .csv.gz, .parquet, or a job_details_table)"
    )
    application: Name | None = Field(None, description="only this application of the file (default: all of them)")
    kind: Name | None = Field(
        None, description="kind of the jobs that it is the table of (default: the application's name)"
    )
    names: str | None = Field(
        None, description="names of the applications of a job_details_table: CSV file with `job_id` and `application`"
    )
    reduce: Literal["median", "min"] = Field("median", description="time over trials")
    sockets: Count = Field(2, description="sockets of a node, to check its powers")
    memory: Power = Field(30.0, description="what the memory of a socket draws at most, beside its cap")
    turbo: Power | None = Field(None, description="the cap that means: none, and turbo (default: as the table says)")
    least_nodes: Count = Field(1, description="leave out smaller node counts, e.g. of another problem size")
    times: Literal["table", "scaled"] = Field(
        "table",
        description="every job takes the table's time, or the table says how its own run time changes with the configuration: "
        "as asked for, it takes what the trace says",
    )
    source: Literal["measured", "mixed", "physical", "log-quadratic"] = Field(
        "measured",
        description="what policies are told: the table itself, or what a model fitted to a sample of it says",
    )
    sample: Finite = Field(
        0.1, gt=0, lt=1, description="share of the table that a model is fitted to (at least 35 rows)"
    )
    power: Literal["mean", "upper"] = Field(
        "mean", description="power that a model tells: the expected one, or the upper bound of its interval"
    )
    miss: Finite = Field(
        0.1, gt=0, lt=1, description="probability that the interval is missed, on either side half of it"
    )
    seed: Seed | None = Field(None, description="seed of the sample (default: the scenario's)")


class BoundsSpec(Section):
    """The last two levels of nested budgets: what one job and one node may draw, and who gets more than a fair share."""

    job: Power | None = Field(None, description="configurations of a job that draw more are left out")
    node: Power | None = Field(None, description="configurations with more power a node are left out")
    by: Literal["user", "group", "kind", "partition"] | None = Field(
        None, description="the column whose names `weight` gives"
    )
    weight: Annotated[
        dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]],
        Words("table of names and numbers, like `{alice = 1.5}`"),
    ] = Field(default_factory=dict, description="factors of the fair share of power (1: as all others)")
    priorities: Literal["weigh", "ignore"] = Field(
        "weigh",
        description="where no `weight` is given: priorities in the trace weigh the share of power, or say nothing about it",
    )


class VariabilitySpec(Section):
    """Nodes that draw more or less than others for the same work; all jobs need configurations then."""

    spread: Finite | None = Field(
        None,
        ge=0,
        le=10,
        description="how much more the thirstiest node draws than the most frugal one, drawn by chance",
    )
    file: str | None = Field(None, description="measured nodes instead: CSV with `node`, and `factor` or `power_w`")
    caps: Literal["equal", "equal-speed"] = Field(
        "equal",
        description="all nodes of a job get the cap of its configuration, or shares of the same sum that make them equally fast",
    )
    fixed: Power = Field(0.0, description="part of a node's power that is alike in all (memory, board)")
    seed: Seed | None = Field(None, description="seed of the draw (default: the scenario's)")
