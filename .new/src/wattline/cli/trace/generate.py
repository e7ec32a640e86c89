"""``wattline trace generate``: draw a synthetic workload and write it to a file."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import write_jobs
from wattline.cli.trace.kinds import generate_days
from wattline.cli.trace.power import generate_year
from wattline.errors import InputError, ScenarioError, cut


class Generator(StrEnum):
    """Workloads that can be drawn."""

    POISSON = "poisson"
    LUBLIN = "lublin"
    BURSTY = "bursty"
    MEGGIE = "meggie-like"
    EMMY = "emmy-like"
    MIRA = "mira-like"


class Mix(StrEnum):
    """Streams of the Lublin–Feitelson model."""

    COMBINED = "combined"
    TYPED = "typed"


LIKE_CLUSTERS = (Generator.MEGGIE, Generator.EMMY)
"""Workloads of kinds of job, as on clusters whose logs are public."""
LIKE_MACHINES = (*LIKE_CLUSTERS, Generator.MIRA)
"""Workloads that resemble a machine: they have days, and no types of job that a user gives."""


GeneratorArg = Annotated[
    Generator,
    typer.Argument(metavar="GENERATOR", help="poisson, lublin, bursty, meggie-like, emmy-like or mira-like."),
]
TargetArg = Annotated[
    Path, typer.Argument(metavar="TARGET", help="File to write: .swf, .swf.gz, .parquet, .csv or .csv.gz.")
]
NodesFlag = Annotated[
    int | None, typer.Option(min=1, help="Nodes of the machine the jobs are for (default: 128, or the cluster's).")
]
JobsFlag = Annotated[int | None, typer.Option(min=1, help="Jobs to draw (default: 1000).")]
LoadFlag = Annotated[float | None, typer.Option(help="Offered load (poisson, bursty: in the long run).")]
SeedFlag = Annotated[int, typer.Option(min=0, help="Seed.")]
RateFlag = Annotated[str | None, typer.Option(help='Arrivals of all types together, e.g. "30/h" (poisson).')]
MixFlag = Annotated[Mix | None, typer.Option(help="One stream, or batch and interactive (lublin).")]
UsersFlag = Annotated[int | None, typer.Option(min=1, help="Users of each type.")]
RequestsFlag = Annotated[str | None, typer.Option(help="Time limits: none, exact, factor or rounded.")]
JobTypeFlag = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TOML", help="A type of job, keys as in a scenario. May be repeated."),
]
PhaseFlag = Annotated[
    list[str] | None, typer.Option(metavar="TOML", help="A phase of bursty arrivals. May be repeated.")
]
DaysFlag = Annotated[float | None, typer.Option(help="Days of arrivals (meggie-like, emmy-like: 5; mira-like: 365).")]
PopulationFlag = Annotated[
    int | None,
    typer.Option(min=0, help="Which set of kinds or projects (meggie-like, emmy-like, mira-like; default: 1)."),
]
FullMachineFlag = Annotated[
    float | None, typer.Option(help="Share of jobs that take the whole machine (mira-like; default: 0.001).")
]
OwnPowerFlag = Annotated[
    bool, typer.Option("--own-power", help="Every job has a measured power of its own (meggie-like, emmy-like).")
]


def generate(
    generator: GeneratorArg,
    target: TargetArg,
    nodes: NodesFlag = None,
    jobs: JobsFlag = None,
    load: LoadFlag = None,
    seed: SeedFlag = 1,
    rate: RateFlag = None,
    mix: MixFlag = None,
    users: UsersFlag = None,
    requests: RequestsFlag = None,
    job_type: JobTypeFlag = None,
    phase: PhaseFlag = None,
    days: DaysFlag = None,
    population: PopulationFlag = None,
    full_machine: FullMachineFlag = None,
    *,
    own_power: OwnPowerFlag = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a synthetic workload and write it to a file.

    For example:

      wattline trace generate lublin week.swf --nodes 256 --jobs 5000 --load 0.8

      wattline trace generate poisson p.swf --load 0.7 --type '{name="a", nodes=4, mean="1 h"}'

      wattline trace generate bursty b.parquet --load 0.7 --type '{name="a", nodes=4, mean="1 h"}'
      --phase '{rate="200/h", dwell="1 h"}' --phase '{rate="10/h", dwell="5 h"}'

      wattline trace generate meggie-like days.parquet --days 5 --seed 2

      wattline trace generate mira-like year.parquet
    """
    terminal = Terminal(as_json, quiet)
    cluster = {"--days": days, "--population": population}
    others = {
        "--jobs": jobs,
        "--rate": rate,
        "--mix": mix,
        "--users": users,
        "--requests": requests,
        "--type": job_type,
        "--phase": phase,
    }
    _refuse_flags_of_others(
        generator, cluster, others, {"--own-power": own_power or None}, {"--full-machine": full_machine}
    )
    if generator in LIKE_MACHINES:
        given = {"days": days, "load": load, "nodes": nodes, "seed": seed, "population": population}
        law = {key: value for key, value in given.items() if value is not None}
        own = full_machine if generator == Generator.MIRA else own_power
        _generate_like(generator.value, law, own, target, terminal)
        return
    section = {
        "generator": generator.value,
        "jobs": jobs,
        "load": load,
        "rate": rate,
        "mix": mix.value if mix else None,
        "users": users,
        "requests": {"model": requests} if requests else None,
        "type": [_inline("--type", text) for text in job_type or ()] or None,
        "phase": [_inline("--phase", text) for text in phase or ()] or None,
    }
    write_jobs(_draw(section, nodes or 128, seed), target, terminal)


def _refuse_flags_of_others(
    generator: Generator,
    cluster: dict[str, Any],
    others: dict[str, Any],
    kinds: dict[str, Any],
    year: dict[str, Any],
) -> None:
    """Refuse a flag that only another kind of generator has: one like a machine, one of kinds, one of a year, a law."""
    wrong = others if generator in LIKE_MACHINES else cluster
    wrong = wrong | ({} if generator in LIKE_CLUSTERS else kinds) | ({} if generator == Generator.MIRA else year)
    for flag, value in wrong.items():
        if value is not None:
            raise InputError(f"{flag} does not go with {generator.value}")


def _draw(section: dict[str, Any], nodes: int, seed: int) -> Any:
    """Draw the jobs of a ``[trace]`` section for a machine of so many nodes."""
    from wattline.scenario import Source, TraceCache, document

    data = {
        "name": section["generator"],
        "seed": seed,
        "cluster": {"nodes": nodes},
        "trace": {key: value for key, value in section.items() if value is not None},
    }
    drawn, _ = TraceCache().get(document(data, Source("trace generate")))
    return drawn


def _generate_like(name: str, law: dict[str, Any], own: float | None, target: Path, terminal: Terminal) -> None:
    """Draw what resembles a machine; ``own`` is the parameter that only its kind of generator has."""
    if name == Generator.MIRA:
        generate_year(law if own is None else law | {"full_machine": own}, target, terminal)
    else:
        generate_days(name, law | {"own_power": bool(own)}, target, terminal)


def _inline(flag: str, text: str) -> Any:
    from wattline.scenario.read.toml_read import loads

    try:
        return loads(f"v = {text}", f"{flag} {cut(text)}: ")["v"]
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"{flag} {cut(text)}: not a TOML table like '{{name=\"a\", nodes=4}}': {problem}") from None
