"""Measure everything the project promises about speed; print the table and write ``bench.json``."""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import (
    capping,
    cases,
    days,
    demand_response,
    launcher,
    live_agent,
    live_bus,
    live_pass,
    moldable,
    packets,
    placing,
    startup,
)


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, no million-job runs")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write the numbers")
    args = parser.parse_args()
    console = Console()
    rows: list[dict[str, Any]] = []
    for case in [
        *startup.CASES,
        *cases.CASES,
        *demand_response.CASES,
        *days.CASES,
        *capping.CASES,
        *moldable.CASES,
        *placing.CASES,
        *packets.CASES,
        *launcher.CASES,
        *live_bus.CASES,
        *live_agent.CASES,
        *live_pass.CASES,
    ]:
        if args.only in case.__name__:
            console.print(f"[dim]{case.__name__} …[/dim]")
            rows += case(args.quick)
    table = Table(title="Wattline bench")
    for column in ("what", "reached", "goal", ""):
        table.add_column(column, overflow="fold")
    for row in rows:
        met = "" if row["met"] is None else "[green]met[/green]" if row["met"] else "[red]missed[/red]"
        table.add_row(row["what"], row["shown"], row["goal"], met)
    console.print(table)
    report = {"machine": platform.machine(), "python": platform.python_version(), "rows": rows}
    args.json.write_text(json.dumps(report, indent=1, default=float))
    console.print(f"numbers in {args.json}")


if __name__ == "__main__":
    main()
