"""``wattline plan``: few fast nodes or more that share the same watts, for the same money."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.paths import refuse_same
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from wattline.report.count.plan import Answered
    from wattline.scenario.plan import PlanInput

Keys = tuple[str | int, ...]
"""Where a value stands in a plan file."""


class Reading(StrEnum):
    """What "27 % faster" means."""

    TIME = "time"
    SPEED = "speed"


FileArg = Annotated[Path | None, typer.Argument(metavar="PLAN.toml", help="Plan file; flags stand above it.")]
PowerFlag = Annotated[str | None, typer.Option(metavar="POWER", help="Power budget of the computing nodes.")]
HighMaxFlag = Annotated[
    str | None, typer.Option(metavar="POWER", help="What a high-end node draws at most (TDP of its parts).")
]
OlderMinFlag = Annotated[str | None, typer.Option(metavar="POWER", help="What an older node draws at least (idle).")]
FasterFlag = Annotated[float | None, typer.Option(help="Advantage of a high-end node: 0.27 for 27 %.")]
CostRatioFlag = Annotated[
    float | None, typer.Option(help="Price of a high-end node over that of an older one, with racks.")
]
HighPriceFlag = Annotated[float | None, typer.Option(help="Price of a high-end node (instead of a ratio).")]
OlderPriceFlag = Annotated[float | None, typer.Option(help="Price of an older node.")]
SlopeFlag = Annotated[
    float | None, typer.Option(help="Seconds that one more node adds to the application (negative: saves).")
]
InterceptFlag = Annotated[float | None, typer.Option(help="Seconds of the application at no nodes.")]
MostNodesFlag = Annotated[int | None, typer.Option(min=1, help="Nodes up to which that line holds.")]
TableFlag = Annotated[Path | None, typer.Option(metavar="TABLE", help="Measured configurations, instead of a line.")]
AppNameFlag = Annotated[str | None, typer.Option("--app", metavar="NAME", help="Application in the table.")]
ReadingFlag = Annotated[Reading | None, typer.Option(help="27 % faster: 0.73 of the time, or 1.27 times the speed.")]
OverrideFlag = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the plan file.")
]
OutFlag = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with break-even plots here.")
]


def plan(
    file: FileArg = None,
    power: PowerFlag = None,
    high_max: HighMaxFlag = None,
    older_min: OlderMinFlag = None,
    faster: FasterFlag = None,
    cost_ratio: CostRatioFlag = None,
    high_price: HighPriceFlag = None,
    older_price: OlderPriceFlag = None,
    slope: SlopeFlag = None,
    intercept: InterceptFlag = None,
    most_nodes: MostNodesFlag = None,
    table: TableFlag = None,
    app_name: AppNameFlag = None,
    reading: ReadingFlag = None,
    override: OverrideFlag = None,
    out: OutFlag = None,
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
    from wattline.report.count.plan import plan_facts
    from wattline.report.pages.plan import plan_page, plan_table
    from wattline.scenario.plan import read_plan

    terminal = Terminal(as_json, quiet)
    for source in (file, table):
        if source is not None and out is not None:
            refuse_same(source, out)
    flags = _given(
        {
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
    )
    if file is None:
        _refuse_half_a_plan(flags, override)
        name = app_name or (table.name.split(".")[0] if table is not None else "application")
        flags[("application", 0, "name")] = ("", name)
    read = read_plan(file, override or (), flags)
    for note in read.notes:
        terminal.say(note)
    found = _answer(read, file)
    if terminal.for_people:
        terminal.show(plan_table(found, read.name))
    if out is not None:
        page = plan_page(found, read.name, read.notes).write(out)
        terminal.line(f"\npage   {page}")
    terminal.data(
        {"name": read.name, "notes": list(read.notes), **plan_facts(found), "page": None if out is None else str(out)}
    )


def _given(flags: dict[Keys, tuple[str, Any]]) -> dict[Keys, tuple[str, Any]]:
    """Return the keys of a plan whose flag was given, each with what was typed and its value."""
    return {keys: (f"{flag} {value}", value) for keys, (flag, value) in flags.items() if value is not None}


def _refuse_half_a_plan(flags: dict[Keys, tuple[str, Any]], override: list[str] | None) -> None:
    """Refuse flags that do not make a plan by themselves, where there is no plan file."""
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


def _answer(read: PlanInput, file: Path | None) -> Answered:
    """Answer the question of a plan; where it has no answer, the plan file is named."""
    from wattline.report.count.plan import answer

    try:
        return answer(read.question, read.applications)
    except InputError as problem:
        raise ScenarioError(f"{file}: {problem}" if file is not None else str(problem)) from None
