"""``wattline configs``: look at measured configurations of applications (nodes × cores, cap)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.paths import refuse_same
from wattline.cli.telemetry.flags import asked, bounded
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.units import power_w

if TYPE_CHECKING:
    from wattline.model.configurations import Configurations

app = typer.Typer(no_args_is_help=True, help="Configurations: time and power of applications by nodes, cores and cap.")


class Reduction(StrEnum):
    """What stands for several trials."""

    MEDIAN = "median"
    MIN = "min"


TableArg = Annotated[Path, typer.Argument(metavar="TABLE", help="Measured configurations: .csv, .csv.gz or .parquet.")]
AppFlag = Annotated[str | None, typer.Option("--app", metavar="NAME", help="Only this application.")]
ReduceFlag = Annotated[Reduction, typer.Option("--reduce", help="Time over trials: their median, or the fastest.")]
SocketsFlag = Annotated[int, typer.Option("--sockets", min=1, help="Sockets of a node.")]
TdpFlag = Annotated[
    str, typer.Option("--tdp", metavar="POWER", help="What a socket draws at most, for the absolute worst case.")
]
MemoryFlag = Annotated[
    str, typer.Option("--memory", metavar="POWER", help="What the memory of a socket draws at most, beside its cap.")
]
TurboFlag = Annotated[
    str | None,
    typer.Option("--turbo", metavar="POWER", help="The cap that means: none, and turbo (default: as the table says)."),
]


@app.callback()
def _group() -> None:
    """Keep ``show`` a command of its own while it is the only one."""


@app.command()
def show(
    table: TableArg,
    app_name: AppFlag = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            "--bound", metavar="POWER", help='Power bound of the job, e.g. "3500 W"; may be given several times.'
        ),
    ] = None,
    least_nodes: Annotated[
        int, typer.Option(min=1, help="Leave out smaller node counts, e.g. of another problem size.")
    ] = 1,
    reduce: ReduceFlag = Reduction.MEDIAN,
    sockets: SocketsFlag = 2,
    tdp: TdpFlag = "115 W",
    memory: MemoryFlag = "30 W",
    turbo: TurboFlag = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with figures here.")
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what is best under a power bound, and why.

    Without a bound: how each application scales with nodes and cores, what
    caps cost it, and the configurations that nothing beats in time and power.

    For example:

      wattline configs show measured.csv

      wattline configs show measured.csv --app bt-mz.C --bound "3500 W"
    """
    from wattline.formats.tables.configuration_rows import Socketed
    from wattline.formats.tables.configurations import read_configurations
    from wattline.model.jobs import MOST_W
    from wattline.report.count import configurations as facts
    from wattline.report.tables import configurations as tables

    terminal = Terminal(as_json, quiet)
    memory_w, socket_w = asked("--memory", power_w, memory) or 0.0, asked("--tdp", power_w, tdp) or 0.0
    bounded("--memory", memory_w, 0.0, MOST_W, "W")
    bounded("--tdp", socket_w, 0.0, MOST_W, "W")
    node = Socketed(sockets, memory_w)
    bounds = [_bound(text) for text in bound or []]
    node_max_w = node.most_w(socket_w)
    read = read_configurations(table, reduce=reduce.value, node=node, turbo_w=asked("--turbo", power_w, turbo))
    wanted = [read.table(app_name)] if app_name or len(read.tables) == 1 else list(read.tables.values())
    shown = [t for t in (_from(t, least_nodes) for t in wanted) if t is not None]
    if not shown:
        raise ScenarioError(f"--least-nodes {least_nodes}: {table} has no configuration on so many nodes")
    about = tuple(
        f"{t.application}:" for t in read.tables.values() if t.application not in {s.application for s in shown}
    )
    notes = [n for n in read.notes if not n.reason.startswith(about)] if about else list(read.notes)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in notes)
    terminal.say(f"times: {read.reduced}")
    if terminal.for_people:
        if len(shown) > 1:
            terminal.show(tables.overview_table(shown))
            terminal.line(f"\n{LEGEND}")
        elif not bounds:
            terminal.show(tables.front_table(shown[0]))
        for t in shown:
            for bound_w in bounds:
                terminal.show("", tables.bound_table(t, bound_w, node_max_w))
    if out is not None:
        refuse_same(table, out)
        page = tables.configurations_page(shown, bounds, node_max_w, table.name, read.reduced).write(out)
        terminal.line(f"\npage   {page}")
    terminal.data(
        {
            "source": read.source,
            "times": read.reduced,
            "notes": [n.__dict__ for n in notes],
            "applications": [
                {**facts.table_facts(t), "bounds": [facts.bounded_facts(t, bound_w, node_max_w) for bound_w in bounds]}
                for t in shown
            ],
        }
    )


LEGEND = """\
eff n, eff c  parallel efficiency from the fewest to the most nodes, cores
sens.         how time answers to the lowest cap: 0 not at all (memory,
              network), 1 as power falls (processors)
turbo         time that turbo saves; --app and --bound show more"""


def _bound(text: str) -> float:
    bound_w = asked("--bound", power_w, text) or 0.0
    if not bound_w > 0:
        raise ScenarioError(f"--bound {text}: must be above 0")
    return bound_w


def _from(t: Configurations, least: int) -> Configurations | None:
    """Return a table without the smaller node counts; None if nothing is left."""
    keep = t.nodes >= least
    return t.take(keep.nonzero()[0]) if keep.any() else None
