"""``wattline budget``: the budgets of a scenario over time, shared out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.paths import refuse_log
from wattline.cli.runs import Sets
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.units import show_duration

if TYPE_CHECKING:
    from rich.table import Table

    from wattline.model.budget import BudgetTree

SHOWN = 24
"""Instants that are printed; JSON has them all."""


def budget(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario file with tables of budgets.")],
    sets: Sets = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what every budget of a scenario is granted over time, down to the machine.

    Nothing is simulated. The budget of the machine is the power limit of a run. In JSON null stands for no limit.

    For example:

      wattline budget examples/site-budget.toml

      wattline budget site.toml --set "budget.0.limit=1 MW"
    """
    from wattline.policies.budget import grants
    from wattline.scenario import TraceCache, read_scenario, variants
    from wattline.scenario.machine import build_cluster, build_tree
    from wattline.scenario.sections.budget import system_name

    terminal = Terminal(as_json, quiet)
    refuse_log(scenario)
    document = variants(read_scenario(scenario, sets or ()))[0].document
    if not document.spec.budget:
        raise ScenarioError(f"{scenario}: has no [[budget]] tables")
    swept = document.spec.sweep
    varied = [] if swept is None else [key for key in swept.keys if key.startswith("budget.")]
    if varied:
        raise document.source.error(("sweep",), f"{varied[0]} takes several values in turn, and one tree is shown")
    trace, _ = TraceCache().get(document)
    tree = build_tree(document, trace.jobs, build_cluster(document, trace))
    found = grants(tree)
    system = system_name(document.spec.budget)
    if terminal.for_people:
        terminal.show(_table(tree, system))
    terminal.data(
        {
            "system": system,
            "budgets": {
                b.name: {"parent": b.parent or None, "shares": b.rule, "granted": found[b.name]} for b in tree.budgets
            },
        }
    )


def _table(tree: BudgetTree, system: str) -> Table:
    """Return a row an instant at which something changes, a column a budget."""
    from rich.table import Table
    from rich.text import Text

    from wattline.policies.budget import grants_at
    from wattline.report.show import compact, printable

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("from", no_wrap=True)
    order = _depth_first(tree)
    for name, depth in order:
        table.add_column(Text(f"{'· ' * depth}{printable(name)}{' *' if name == system else ''}"), justify="right")
    times = tree.times_s()
    for time_s in times[:SHOWN]:
        granted = grants_at(tree, time_s)
        table.add_row(show_duration(time_s), *(compact(granted[name], "W") for name, _ in order))
    left = f"; {len(times) - SHOWN:,} later changes are left out" if len(times) > SHOWN else ""
    table.caption = f"* this machine; · a part of the one before{left}"
    table.caption_justify = "left"
    return table


def _depth_first(tree: BudgetTree) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    waiting = [(tree.whole.name, 0)]
    while waiting:
        name, depth = waiting.pop()
        found.append((name, depth))
        waiting += [(part.name, depth + 1) for part in reversed(tree.parts[name])]
    return found
