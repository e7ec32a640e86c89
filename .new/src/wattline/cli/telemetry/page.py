"""What ``wattline telemetry`` shows: the samples, their faults by class of sensor, and the jobs that got power."""

from __future__ import annotations

from typing import Any

from wattline.units import in_full

SHOWN = 4
"""Classes of sensors that fit beside each other; JSON has them all."""


def page(facts: dict[str, Any]) -> Any:
    """Return the table of a source of samples."""
    from rich.console import Group
    from rich.text import Text

    from wattline.report.show import printable
    from wattline.telemetry.cleaning.faults import WHAT, Fault

    parts: list[Any] = [Text(printable(str(facts["source"])), style="bold"), _about(facts)]
    found = [fault for fault in Fault if facts["faults"][fault.word]]
    if found:
        table = _table("fault", "count", "share", "what was done")
        for fault in found:
            count = facts["faults"][fault.word]
            done, meaning = WHAT[fault]
            table.add_row(
                fault.word,
                f"{count:,}",
                f"{in_full(100 * count / max(facts['samples'], 1), 3)} %",
                Text(f"{done}: {meaning}"),
            )
        parts.append(table)
        parts.extend(_classes(facts, [fault.word for fault in found]))
        worst = ", ".join(f"{printable(w['sensor'])} ({w['faults']:,}, {w['most']})" for w in facts["worst"])
        parts.append(Text(f"most faults: {worst}"))
    else:
        parts.append(Text("no fault found"))
    for name, counts in facts["components"].items():
        if any(counts.values()):
            parts.append(
                Text(f"component {printable(name)}: {counts['nan']:,} not a number, {counts['negative']:,} negative")
            )
    parts.extend(Text(f"note: {remark}") for remark in facts["remarks"])
    return Group(*parts)


def joined_page(facts: dict[str, Any]) -> Any:
    """Return the table of a join: the samples, then the jobs."""
    from rich.console import Group
    from rich.text import Text

    from wattline.report.show import show

    share = facts["coverage"]
    shared = ""
    if facts["shared_jobs"]:
        shared = f"; {facts['shared_jobs']:,} jobs shared a sensor, whose power was split in proportion to nodes"
    lines = [
        f"measured share of a run: median {100 * share['median']:.1f} %, 5 % of jobs below {100 * share['p5']:.1f} %",
        f"energy of the jobs: {show(facts['energy_j'], 'J')}{shared}",
    ]
    return Group(page(facts["telemetry"]), *(Text(line) for line in lines))


def _about(facts: dict[str, Any]) -> Any:
    from rich.text import Text

    from wattline.report.show import show

    rules = facts["rules"]
    span = "" if facts["first_s"] is None else f" over {show(facts['last_s'] - facts['first_s'], 's')}"
    missing = f", {show(facts['missing_s'], 's')} of sensors without power" if facts["missing_s"] else ""
    stuck = "not looked for" if rules["stuck_s"] is None else f"after {show(rules['stuck_s'], 's')}"
    most = "none given" if rules["max_w"] is None else show(rules["max_w"], "W")
    period = "unknown" if facts["period_s"] is None else show(facts["period_s"], "s")
    patience = "unknown" if rules["patience_s"] is None else show(rules["patience_s"], "s")
    lines = (
        (
            f"{facts['samples']:,} samples of {facts['sensors']:,} {facts['by']}s{span}; {facts['good']:,} are "
            f"good{missing}"
        ),
        f"columns: {facts['sensor']}, {facts['time']}, {' + '.join(facts['power'])} in {facts['unit']}",
        (
            f"rules: period {period}, held for {in_full(rules['hold'])} of them, patience {patience}, stuck {stuck}, "
            f"maximum {most}"
        ),
    )
    return Text("\n".join(lines))


def _classes(facts: dict[str, Any], words: list[str]) -> list[Any]:
    """Return the counts by class of sensor, if there is more than one."""
    from wattline.report.show import printable

    known = {name: counts for name, counts in facts["by_class"].items() if name != "unknown"}
    if len(known) < 2:
        return []
    shown = list(known.items())[:SHOWN]
    table = _table("fault", *(printable(name)[:14] for name, _ in shown))
    for word in words:
        table.add_row(word, *(f"{counts[word]:,}" for _, counts in shown))
    return [table]


def _table(*names: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for i, name in enumerate(names):
        table.add_column(
            name, justify="left" if i == 0 or name.startswith("what") else "right", style="cyan" if i == 0 else None
        )
    return table
