"""``wattline whatif``: an operator's question about a log, answered in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.folders import Force, check_writable
from wattline.cli.paths import refuse_scenario
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import ColumnFlags, Format, TraceFile, Zone, columns_of
from wattline.errors import ScenarioError

if TYPE_CHECKING:
    from wattline.api.asked.whatif import WhatIf

PAGE = "whatif.html"
NAMED = 3
"""Losers and gainers that the terminal names."""

FLAGS = {
    "limit": "--limit",
    "sleep": "--sleep",
    "nodes": "--nodes",
    "policy": "--policy",
    "growth": "--growth",
    "price": "--price",
    "sleep_power": "--sleep-power",
    "wake": "--wake",
}
"""Flags of the questions, by the names of their arguments."""

GROUND = {
    "idle": "--idle-power",
    "max": "--max-power",
    "nodes": "--machine",
    "select": "--select",
    "seed": "--seed",
    "zone": "--zone",
    "format": "--format",
    "cores_per_node": "--cores-per-node",
    "jobs": "--jobs",
    "columns": "--column",
}
"""Flags of the log as it is, by what they set."""


def whatif(
    trace: TraceFile,
    limit: Annotated[
        str | None, typer.Option(metavar="POWER", help='A power limit: "30 kW", or -20% of the peak that it draws.')
    ] = None,
    sleep: Annotated[str | None, typer.Option(metavar="TIME", help="Idle nodes sleep after this time: 10min.")] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Another number of nodes: 128, +16, or +20%.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Other policies that say which jobs start: conservative.")
    ] = None,
    growth: Annotated[str | None, typer.Option(metavar="FACTOR", help="So many times the load: 1.3.")] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help='Prices of energy over time (CSV), or { file = "…", unit = "$/kWh", repeat = true }.'
        ),
    ] = None,
    idle_power: Annotated[str | None, typer.Option(metavar="POWER", help='Power of an idle node, e.g. "90 W".')] = None,
    max_power: Annotated[str | None, typer.Option(metavar="POWER", help='Power of a busy node, e.g. "350 W".')] = None,
    sleep_power: Annotated[
        str | None, typer.Option(metavar="POWER", help="Power of a node asleep (default: a tenth of idle).")
    ] = None,
    wake: Annotated[str | None, typer.Option(metavar="TIME", help="Time that waking takes (default: 3 min).")] = None,
    machine_nodes: Annotated[
        int | None, typer.Option("--machine", min=1, help="Nodes of the machine as it is (default: as the log says).")
    ] = None,
    cores_per_node: Annotated[int | None, typer.Option(min=1, help="Processors of the log that make one node.")] = None,
    zone: Zone = None,
    column: ColumnFlags = None,
    select: Annotated[str, typer.Option(help="Which waiting jobs start as it is.")] = "easy",
    jobs: Annotated[int | None, typer.Option(min=1, help="Use only this many jobs from the start.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of policies that draw at random.")] = 1,
    trace_format: Format = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the page and the journals.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write the study as a scenario with a sweep.")
    ] = None,
    *,
    no_cause: Annotated[bool, typer.Option("--no-cause", help="Do not look for the cause of longer waits.")] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask what would have been if a log's machine had a limit, slept or grew.

    Each question is answered against the log as it is, all together too: in
    a sentence, with the cause where one dominates (it is found by runs without
    the suspect), and with those who lose and gain most.

    Watts are --idle-power and --max-power of a node; where a question needs
    watts and none are given, 100 W and 300 W are assumed, and that is said.

    For example:

      wattline whatif KTH-SP2-1996-2.1-cln.swf.gz --limit -20% --idle-power "90 W" --max-power "350 W"

      wattline whatif log.swf --limit "30 kW" --nodes +20% --out out/whatif --write study.toml

      wattline whatif log.swf --growth 1.3 --policy easy,conservative --sleep 10min
    """
    from wattline.api.asked.questions import read_questions
    from wattline.api.asked.whatif import answer
    from wattline.api.machine import Machine
    from wattline.api.trace import log_at

    refuse_scenario(trace)
    terminal = Terminal(as_json, quiet)
    given: dict[str, Any] = {"limit": limit, "sleep": sleep, "nodes": nodes, "policy": policy, "growth": growth}
    given["price"] = price
    if all(value is None for value in given.values()):
        raise ScenarioError(f"ask something: {', '.join(FLAGS[name] for name in given)}")
    asked = read_questions(
        **given, sleep_power=sleep_power, wake=wake, words=lambda name, value: f"{FLAGS[name]} {value}"
    )
    if out is not None:
        _check_out(out, force=force)
    if write is not None and write.exists() and not force:
        raise ScenarioError(f"{write}: is there already; --force overwrites it, or give another --write")
    found = answer(
        asked,
        log_at(
            trace, format=trace_format, cores_per_node=cores_per_node, jobs=jobs, zone=zone, columns=columns_of(column)
        ),
        Machine(machine_nodes, idle=idle_power, max=max_power),
        select=select,
        seed=seed,
        causes=not no_cause,
        listener=terminal,
        words=lambda name, value: f"{GROUND[name]} {value}" if name in GROUND else str(value),
    )
    for line in found.warnings:
        terminal.loud(line)
    _show(found, terminal)
    if write is not None:
        write.write_text(found.scenario(), encoding="utf-8")
    page = None
    if out is not None:
        for i, one in enumerate(found.answers):
            one.after.write(out / f"answer-{i + 1}", force=True)
        found.base.write(out / "as-it-is", force=True)
        page = found.write(out / PAGE)
    lines = [f"report   {page}"] if page else []
    lines += [f"study    {write}"] if write else []
    if lines:
        terminal.line("\n" + "\n".join(lines))
    terminal.data(_data(found, page, write))


def _check_out(folder: Path, *, force: bool) -> None:
    check_writable(folder)
    if any(folder.iterdir()) and not (folder / PAGE).exists() and not force:
        raise ScenarioError(
            f"{folder}: is not empty, and holds no answers; --force writes there anyway, or give another --out"
        )


def _show(found: WhatIf, terminal: Terminal) -> None:
    if not terminal.for_people:
        return
    from rich.table import Table

    from wattline.report.pages.whatif import felt_rows

    for one in found.answers:
        terminal.show(f"{one.sentence} {one.why}".strip())
    last = found.answers[-1]
    rows = felt_rows(last.felt, NAMED)
    if rows:
        table = Table(box=None, pad_edge=False, header_style="bold")
        if len(found.answers) > 1:
            terminal.show("", f"Who feels it most, of {last.short}:")
        for i, name in enumerate(("who feels it most", "jobs", "wait as it is", "wait with it", "change")):
            table.add_column(name, justify="left" if i == 0 else "right")
        for row in rows:
            table.add_row(*row)
        terminal.show("", table)


def _data(found: WhatIf, page: Path | None, write: Path | None) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "report": str(page) if page else None,
        "study": str(write) if write else None,
        "warnings": found.warnings,
        "base": found.base.summary.to_dict(),
        "answers": [
            {
                "label": one.label,
                "setting": dict(one.setting),
                "sentence": one.sentence,
                "cause": None if one.cause is None else {"words": one.cause.words, "part": one.cause.part},
                "felt": [
                    {"about": f.about, "name": f.name, "jobs": f.jobs, "before_s": f.before_s, "after_s": f.after_s}
                    for f in one.felt
                ],
                "summary": one.after.summary.to_dict(),
            }
            for one in found.answers
        ],
    }
