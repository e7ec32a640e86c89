"""Measure everything the project promises about speed; print the table and write ``bench.json``."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import (
    capping,
    cases,
    days,
    demand_response,
    learning,
    moldable,
    packets,
    placing,
    startup,
    sweeping,
)
from benchmarks.live import agent, bus, launcher, passes
from benchmarks.rows import row

ENGINE = [
    *startup.CASES,
    *cases.CASES,
    *demand_response.CASES,
    *days.CASES,
    *capping.CASES,
    *moldable.CASES,
    *placing.CASES,
    *packets.CASES,
    *learning.CASES,
    *sweeping.CASES,
]
LIVE = [*launcher.CASES, *bus.CASES, *agent.CASES, *passes.CASES]


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", nargs="?", choices=("engine", "live"), help="that half alone (default: both)")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, no million-job runs")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write the numbers")
    args = parser.parse_args()
    console = Console()
    rows: list[dict[str, Any]] = []
    for case in [*(ENGINE if args.half != "live" else ()), *(LIVE if args.half != "engine" else ())]:
        if args.only in case.__name__:
            console.print(f"[dim]{case.__name__} …[/dim]")
            try:
                rows += case(args.quick)
            except (Exception, SystemExit) as problem:  # one that fails must not cost the others
                told = f"{problem}\n{getattr(problem, 'stderr', None) or ''}".strip().splitlines()[-1]
                console.print_exception()
                rows.append(row(case.__name__, f"failed: {told}", "", met=False, failed=True))
    table = Table(title="Wattline bench")
    for column in ("what", "reached", "goal", ""):
        table.add_column(column, overflow="fold")
    for line in rows:
        met = "" if line["met"] is None else "[green]met[/green]" if line["met"] else "[red]missed[/red]"
        table.add_row(line["what"], line["shown"], line["goal"], met)
    console.print(table)
    report = {"machine": platform.machine(), "python": platform.python_version(), "rows": rows}
    args.json.write_text(json.dumps(report, indent=1, default=float))
    console.print(f"numbers in {args.json}")
    if any(line.get("failed") for line in rows):
        sys.exit("some cases failed: see above")


if __name__ == "__main__":
    main()
