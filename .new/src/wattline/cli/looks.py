"""``wattline policies``, ``report``, ``reproduce`` and ``check-policy``: look at what is there, again or more
closely.
"""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.complaints import BAD_INPUT, INTERRUPTED, complain
from wattline.cli.folders import REPRODUCTION, RESULT, Force, check_writable, keep_reproduction, refuse_other
from wattline.cli.paths import refuse_two, refuse_what_it_was_made_from, say_cut
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError, did_you_mean
from wattline.units import in_full

if TYPE_CHECKING:
    from wattline.journal.journal import Journal
    from wattline.journal.kept import Kept
    from wattline.model.mechanism import Mechanism


def policies(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Details of a policy (a name, package:name or FILE.py[:NAME]), or of all of a slot: order, select, "
            "place, cap, learn, profile or bid.",
        ),
    ] = None,
    *,
    state: Annotated[bool, typer.Option("--state", help="Show the fields that a policy sees instead.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the policies by slot: built-in ones and those of installed packages.

    With a name, show what it does and its parameters; with --state, the
    fields that a policy sees. --json has all details.

    For example:

      wattline policies

      wattline policies easy

      wattline policies select

      wattline policies --state
    """
    terminal = Terminal(as_json, quiet)
    if state:
        _show_state(terminal)
        return
    from wattline.control.installed import installed

    rows = _policies(which)
    terminal.show(_short_table(rows) if which is None else _policy_table(rows))
    if which is None:
        terminal.line("\nwattline policies NAME shows what one does, and its parameters")
    for line in installed().broken:
        terminal.loud(line)
    terminal.data(
        [
            {
                "slot": m.slot,
                "name": m.name,
                "package": m.package or None,
                "summary": m.summary,
                "source": m.source,
                "parameters": {k: {"default": _in_json(p.default), "meaning": p.meaning} for k, p in m.params.items()},
            }
            for m in rows
        ]
    )


def _policies(which: str | None) -> list[Mechanism]:
    """Return all policies, or those that a name, a slot or a file means."""
    from wattline.control.catalog import catalog, load, named
    from wattline.control.installed import broken_words, installed

    table = catalog()
    rows = [m for slot in table for m in (*table[slot].values(), *(i for i in installed().policies if i.slot == slot))]
    if which is None:
        return rows
    file, wanted = named(which)
    if file.endswith(".py"):
        rows, which = load(Path(file)), wanted
        if which is None:
            return rows
    if which in table:
        return [m for m in rows if m.slot == which]
    found = [m for m in rows if which in (m.name, f"{m.package}:{m.name}")]
    if not found:
        names = {*table, *(m.name for m in rows)}
        raise ScenarioError(f"unknown policy or slot {which!r}{did_you_mean(which, names)}{broken_words()}")
    return found


def _in_json(value: float | None) -> float | str | None:
    """Return a default as JSON can have it: endless ones as TOML writes them."""
    return str(value) if value is not None and math.isinf(value) else value


def report(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="Folder that a run or a comparison left.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="HTML file (default: in the journal).")
    ] = None,
    bids: Annotated[
        Path | None,
        typer.Option("--bids", metavar="FILE.csv", help="Also write the bids of the run, as a scenario reads them."),
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count and draw a run again from its journal alone, or a comparison from its journals.

    The journal of a run that was cut off is made first, up to the last full
    simulated hour that was kept.

    For example:

      wattline report out/power-limit

      wattline report out/power-limit --json

      wattline report out/days --bids bids.csv
    """
    from wattline.api.runs import Run
    from wattline.cli.runs import show_summary
    from wattline.journal.journal import REPORT

    terminal = Terminal(as_json, quiet)
    if (journal / RESULT).exists():
        from wattline.cli.compares import show_again

        if bids is not None:
            raise ScenarioError(
                f"{journal}: is a comparison; --bids takes the journal of one of its runs, under {journal / 'runs'}"
            )
        show_again(journal, out, terminal)
        return
    refuse_two(("--out" if out is not None else "the report", out or journal / REPORT), ("--bids", bids))
    for target in (out, bids):
        if target is not None:
            refuse_what_it_was_made_from(journal, target)
    _refuse_cut_comparison(journal)
    say_cut(journal, terminal)
    run = Run(folder=journal)
    told = _write_bids(run.journal, bids)
    page = run.report(out or journal / REPORT)
    show_summary(run, terminal)
    terminal.line(f"\nreport   {page}" + (f"\nbids     {told}" if told else ""))
    terminal.data(
        {
            "journal": str(journal),
            "report": str(page),
            "bids": None if bids is None else str(bids),
            "summary": run.summary.to_dict(),
            "baseline": None if run.baseline is None else run.baseline.to_dict(),
        }
    )


def _refuse_cut_comparison(folder: Path) -> None:
    """Say of a comparison that was cut off what it is: it has runs, and nothing that tells of all of them."""
    from wattline.journal.journal import MANIFEST, is_journal

    runs = folder / "runs"
    if (folder / MANIFEST).exists() or not runs.is_dir():
        return
    found = sorted(path.parent for path in runs.glob(f"*/*/{MANIFEST}") if is_journal(path.parent))
    one = f"; a run by itself: wattline report {found[0]}" if found else ""
    raise ScenarioError(
        f"{folder}: holds a comparison that was cut off ({len(found)} of its runs are done); compare again with "
        f"wattline compare{one}"
    )


def _write_bids(journal: Journal, path: Path | None) -> str:
    """Write the bids of a run to a file, if one is asked for; return what there is in it."""
    if path is None:
        return ""
    from wattline.formats.series.bids import journal_bids, write_bids
    from wattline.report.show import plural

    steps, clock = journal_bids(journal)
    write_bids(path, steps, clock)
    return f"{path}: {plural(sum(bid is not None for _, bid in steps), 'bid')}"


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which one, or all (without a name: list them).")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder (default: out/ and the name).")
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller version, in seconds.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with one that was cut off: pieces that are done are not done again.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce the claims of a published system and say which hold.

    The folder gets a page and reproduction.json: every statement, its
    verdict (held, not held, untestable), the reason, and all numbers. With
    "all" every system is run, and one page and one file hold all statements.

    Pieces of the study (workloads, hours, seeds) are kept as they are done: a
    command that was stopped, killed, or whose machine went down goes on with
    --resume and the same flags, and finds the same.

    For example:

      wattline reproduce recursion --quick

      wattline reproduce all --quick
    """
    from wattline.journal.folder_lock import held

    terminal = Terminal(as_json, quiet)
    systems = _lazily("wattline.systems", "reproductions")
    known = systems.known()
    if name is None:
        for item in known:
            terminal.line(item)
        terminal.data(known)
        return
    if name not in (*known, systems.ALL):
        raise ScenarioError(f"unknown reproduction {name!r}{did_you_mean(name, (*known, systems.ALL))}")
    if resume and name != systems.ALL and not systems.keeps_pieces(name):
        raise ScenarioError(f"{name}: it takes seconds and keeps no pieces to go on with; give it without --resume")
    folder = out or Path("out") / name
    with held(folder):
        refuse_other(folder, REPRODUCTION, name, force=force)
        check_writable(folder)
        if name == systems.ALL or systems.runs_engine(name):
            terminal.warm_up()
        stores = Stores(name, folder, terminal, quick=quick, resume=resume)
        try:
            result = _reproduced(name, folder, stores, terminal, quick=quick)
            data = result.to_dict()
            keep_reproduction(folder, name, data)
        except BaseException as problem:
            stores.leave()
            if isinstance(problem, KeyboardInterrupt) and stores.opened:
                told = f"interrupted; pieces that are done are kept in {folder}, and --resume goes on with the others"
                raise typer.Exit(complain(told, INTERRUPTED)) from None
            raise
        stores.forget()
    terminal.show(result.table)
    terminal.line(f"\nreport   {result.path}\ndata     {folder / REPRODUCTION}")
    terminal.data({"name": name, "report": str(result.path), **data})


class Stores:
    """Where the pieces of one system, or of all, are kept until the reproduction is over."""

    def __init__(self, name: str, folder: Path, terminal: Terminal, *, quick: bool, resume: bool) -> None:
        from wattline.journal.kept import KEPT
        from wattline.systems.at_hand import data_identity

        self.folder, self.terminal, self.resume = folder, terminal, resume
        self.about = {"name": name, "quick": quick, "data": data_identity()}
        self.opened: list[Kept] = []
        if resume and (folder / REPRODUCTION).exists() and not any(folder.glob(f"**/{KEPT}")):
            raise ScenarioError(f"{folder}: this reproduction is over, nothing is left to resume")

    def open(self, system: str) -> Kept:
        """Open the place for a system, in its folder; say what is there."""
        from wattline.journal.kept import KEPT, Kept

        within = self.folder if system == self.about["name"] else self.folder / system
        kept = Kept(within / KEPT, {**self.about, "system": system}, resume=self.resume)
        self.opened.append(kept)
        if kept.words:
            self.terminal.say(kept.words)
        return kept

    def leave(self) -> None:
        """Close all: the reproduction is not over."""
        for kept in self.opened:
            kept.leave()

    def forget(self) -> None:
        """Remove all: it is over."""
        for kept in self.opened:
            kept.forget()


def _reproduced(name: str, folder: Path, stores: Stores, terminal: Terminal, *, quick: bool) -> Any:
    from wattline.systems import ALL, keeps_pieces, reproduce
    from wattline.systems.work import Work

    with terminal.meter("pieces") as progress:
        if name == ALL:
            from wattline.systems.together import reproduce_all

            return reproduce_all(folder, terminal.say, quick=quick, progress=progress, kept=stores.open)
        kept = stores.open(name) if keeps_pieces(name) else None
        return reproduce(name, folder, Work(terminal.say, progress, kept), quick=quick)


def check_policy(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.py[:NAME]",
            help="File with one or more policies, or one of them; or the name of one that a package brings.",
        ),
    ],
    time_limit: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long one call of a policy may take.")
    ] = 30.0,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a policy of your own: deterministic, legal actions only, survives hard cases.

    A compiled policy that passes runs without checks of its indices from then
    on, until its source changes. A failure names the world in which it came.

    For example:

      wattline check-policy examples/widest_first.py

      wattline check-policy examples/widest_first.py:widest_first
    """
    from wattline.api.checks import check_table, look

    terminal = Terminal(as_json, quiet)
    found = look(file, terminal, time_limit=time_limit)
    terminal.show(check_table(found))
    terminal.data({"file": str(file), "ok": found.ok, "checks": [list(row) for row in found.rows]})
    if found.ok:
        terminal.line(f"\nall {len(found.rows)} checks pass")
    else:
        failed = [str(row[0]) for row in found.rows if not row[1]]
        raise typer.Exit(
            complain(
                f"{file}: {len(failed)} of the {len(found.rows)} checks that were run fail: {', '.join(failed)}",
                BAD_INPUT,
            )
        )


def _lazily(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name != module:
            raise
        raise ScenarioError(f"this installation has no {what}: {module} is missing; install Wattline again") from None


def _short_table(rows: list[Mechanism]) -> Any:
    """Return one line a policy, cut where it is too long."""
    from rich.table import Table
    from rich.text import Text

    from wattline.control.catalog import MODULES

    names = [f"{m.package}:{m.name}" if m.package and m.name in MODULES[m.slot] else m.name for m in rows]
    wide = min(max(map(len, names)), 30)
    table = Table(box=None, pad_edge=False, header_style="bold", width=80)
    for title, width in (("slot", 7), ("name", wide), ("what it does", 80 - 7 - wide - 2)):
        cyan = "cyan" if title == "slot" else None
        table.add_column(title, width=width, min_width=width, no_wrap=True, overflow="ellipsis", style=cyan)
    last = ""
    for m, name in zip(rows, names, strict=True):
        text = f"[{m.package}] {m.summary}" if m.package else m.summary
        table.add_row("" if m.slot == last else m.slot, Text(name, style="bold"), Text(text))
        last = m.slot
    return table


def _policy_table(rows: list[Mechanism]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", width=80)
    table.add_column("slot", style="cyan", width=7)
    table.add_column("name", width=20)
    table.add_column("what it does, and its parameters", overflow="fold")
    last = ""
    for m in rows:
        text = Text(m.summary)
        for key, param in m.params.items():
            default = "required" if param.default is None else f"default {in_full(param.default)}"
            text.append(
                f"\n{key}: {param.meaning} ({default})" if param.meaning else f"\n{key} ({default})", style="dim"
            )
        if m.source:
            text.append(f"\n{m.source}", style="dim italic")
        if m.package:
            text.append(f"\nof package {m.package}", style="dim italic")
        table.add_row("" if m.slot == last else m.slot, Text(m.name, style="bold"), text)
        last = m.slot
    return table


def _show_state(terminal: Terminal) -> None:
    from rich.table import Table
    from rich.text import Text

    from wattline.model.state.record import FIELDS, PROPOSALS

    table = Table(box=None, pad_edge=False, header_style="bold", width=80)
    for title, width in (("field", 16), ("type", 8), ("size", 5), ("unit", 5), ("write", 5)):
        table.add_column(title, width=width, style="cyan" if title == "field" else None, no_wrap=True)
    table.add_column("meaning", overflow="fold")
    rows = []
    for name, (dtype, field) in FIELDS.items():
        rows.append(
            {
                "field": name,
                "type": dtype.__name__,
                "shape": field.shape,
                "unit": field.unit,
                "writable": name in PROPOSALS,
                "meaning": field.meaning,
            }
        )
        table.add_row(
            name, dtype.__name__, field.shape, field.unit, "yes" if name in PROPOSALS else "", Text(field.meaning)
        )
    terminal.show(table)
    terminal.line(
        "\nsizes: J jobs, N nodes, P node classes, C rate classes, R running jobs,"
        "\nQ queue slots; 1 is a scalar: s.now[0]"
    )
    terminal.data(rows)
