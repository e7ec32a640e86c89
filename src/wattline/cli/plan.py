"""``wattline plan``: few fast nodes or more that share the same watts, for the same money."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wattline.cli.paths import refuse_same
from wattline.cli.terminal import Json, Quiet, Terminal


class Reading(StrEnum):
    """What "27 % faster" means."""

    TIME = "time"
    SPEED = "speed"


def plan(
    file: Annotated[Path | None, typer.Argument(metavar="PLAN.toml", help="Plan file; flags stand above it.")] = None,
    power: Annotated[str | None, typer.Option(metavar="POWER", help="Power budget of the computing nodes.")] = None,
    high_max: Annotated[
        str | None, typer.Option(metavar="POWER", help="What a high-end node draws at most (TDP of its parts).")
    ] = None,
    older_min: Annotated[
        str | None, typer.Option(metavar="POWER", help="What an older node draws at least (idle).")
    ] = None,
    faster: Annotated[float | None, typer.Option(help="Advantage of a high-end node: 0.27 for 27 %.")] = None,
    cost_ratio: Annotated[
        float | None, typer.Option(help="Price of a high-end node over that of an older one, with racks.")
    ] = None,
    high_price: Annotated[float | None, typer.Option(help="Price of a high-end node (instead of a ratio).")] = None,
    older_price: Annotated[float | None, typer.Option(help="Price of an older node.")] = None,
    slope: Annotated[
        float | None, typer.Option(help="Seconds that one more node adds to the application (negative: saves).")
    ] = None,
    intercept: Annotated[float | None, typer.Option(help="Seconds of the application at no nodes.")] = None,
    most_nodes: Annotated[int | None, typer.Option(min=1, help="Nodes up to which that line holds.")] = None,
    table: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Measured configurations, instead of a line.")
    ] = None,
    app_name: Annotated[str | None, typer.Option("--app", metavar="NAME", help="Application in the table.")] = None,
    reading: Annotated[
        Reading | None, typer.Option(help="27 % faster: 0.73 of the time, or 1.27 times the speed.")
    ] = None,
    override: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the plan file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with break-even plots here.")
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plan a purchase: few nodes at full power, or more that share the same watts.

    Both machines have the same power budget and cost the same. The answer comes
    with what would turn it.

    For example:

      wattline plan --power "7 kW" --high-max "380 W" --older-min "180 W" --faster 0.27
      --cost-ratio 1.7 --slope -0.542 --intercept 25.93 --most-nodes 48

      wattline plan purchase.toml --set older.price=1900 --out plan.html
    """
    from wattline.errors import InputError, ScenarioError
    from wattline.report.count.plan import answer, plan_facts
    from wattline.report.pages.plan import plan_page, plan_table
    from wattline.scenario.plan import read_plan

    terminal = Terminal(as_json, quiet)
    for source in (file, table):
        if source is not None and out is not None:
            refuse_same(source, out)
    flags: dict[tuple[str | int, ...], tuple[str, Any]] = {}
    given = {
        ("power",): ("--power", power),
        ("high_end", "max"): ("--high-max", high_max),
        ("older", "min"): ("--older-min", older_min),
        ("high_end", "faster"): ("--faster", faster),
        ("cost_ratio",): ("--cost-ratio", cost_ratio),
        ("high_end", "price"): ("--high-price", high_price),
        ("older", "price"): ("--older-price", older_price),
        ("reading",): ("--reading", None if reading is None else reading.value),
        ("application", 0, "slope"): ("--slope", slope),
        ("application", 0, "intercept"): ("--intercept", intercept),
        ("application", 0, "most_nodes"): ("--most-nodes", most_nodes),
        ("application", 0, "app"): ("--app", app_name),
        ("application", 0, "table"): ("--table", None if table is None else str(table.resolve())),
    }
    for keys, (flag, value) in given.items():
        if value is not None:
            flags[keys] = (f"{flag} {value}", value)
    if file is None:
        if override:
            raise ScenarioError("--set changes a plan file; give one, or use the flags")
        for keys, flag in (
            (("power",), "--power"),
            (("high_end", "max"), "--high-max"),
            (("older", "min"), "--older-min"),
            (("high_end", "faster"), "--faster"),
        ):
            if keys not in flags:
                raise ScenarioError(f"{flag} is missing; give it, or a plan file")
        name = app_name or (table.name.split(".")[0] if table is not None else "application")
        flags[("application", 0, "name")] = ("", name)
    read = read_plan(file, override or (), flags)
    for note in read.notes:
        terminal.say(note)
    try:
        found = answer(read.question, read.applications)
    except InputError as problem:
        raise ScenarioError(f"{file}: {problem}" if file is not None else str(problem)) from None
    if terminal.for_people:
        terminal.show(plan_table(found, read.name))
    if out is not None:
        page = plan_page(found, read.name, read.notes).write(out)
        terminal.line(f"\npage   {page}")
    terminal.data(
        {"name": read.name, "notes": list(read.notes), **plan_facts(found), "page": None if out is None else str(out)}
    )
