"""``wattline bid``: choose what to promise the grid, test the promise on other hours, and say whether it is
certified.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.api.bid_words import days
from wattline.api.bids import CERTIFICATE, LEAST_SURE, MOST_HOURS, MOST_SURE, PAGE
from wattline.api.studies import only
from wattline.cli.complaints import complain
from wattline.cli.folders import Force, check_writable, refuse_other, refuse_own_scenario
from wattline.cli.paths import refuse_log, refuse_two
from wattline.cli.runs import Sets, pick_one
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.files import in_this_folder

if TYPE_CHECKING:
    from wattline.api.bids import BidResult

NOT_CERTIFIED = 3
"""Exit code of a bid that was chosen and tested, but is not certified."""


class Method(StrEnum):
    """How a bid is chosen."""

    SEARCH = "search"
    AQA = "aqa"
    QOSG = "qosg"
    GRID = "grid"
    GRID_TRACKING = "grid-tracking"
    GRID_LEAST = "grid-least"
    HEURISTIC = "heuristic"
    GIVEN = "given"


class ReachMode(StrEnum):
    """What a bid may ask of the cluster."""

    STRICT = "strict"
    PAPER = "paper"


def bid(
    context: typer.Context,
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario with kinds of job and a regulation section.")
    ],
    method: Annotated[
        Method | None, typer.Option(help="How to choose (default: what the scenario says, else search).")
    ] = None,
    reach: Annotated[ReachMode | None, typer.Option(help="May the target leave what the cluster can draw?")] = None,
    hours: Annotated[
        int | None, typer.Option(min=2, max=MOST_HOURS, help="Hours on which the bid is tested (default 200).")
    ] = None,
    confidence: Annotated[
        float, typer.Option(min=LEAST_SURE, max=MOST_SURE, help="How sure each promise is to be.")
    ] = 0.95,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write the scenario with the bid put in.")
    ] = None,
    sets: Sets = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help=f"Folder for {CERTIFICATE} and {PAGE} (default: none).")
    ] = None,
    *,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with a search that was cut off in --out: what is simulated is not simulated again."
        ),
    ] = False,
    across: Annotated[
        bool, typer.Option("--across-records", help="Leave every recorded day out in turn, and show each.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Look at fewer bids on recorded days.")] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose mean power and reserve to offer as regulation, and test them on other hours.

    With several recorded days as the signal of the regulation section, the bid
    is tested on days that its search has not seen; few days are left out in
    turn. A drawn signal is tested on new hours.

    The exit code is 0 if the bid is certified: every promise is kept with the
    stated confidence, tracking on the next day, service in the long run. It is
    3 if not: a promise is BROKEN or UNSURE, or one recorded day alone tells
    nothing of others. --write and --out write in both cases.

    With --out, every simulated hour and day is kept until the bid is found: a
    command that was stopped, killed, or whose machine went down goes on with
    --resume and the same flags, and finds the same bid.

    For example:

      wattline bid examples/aqa-w4.toml

      wattline bid examples/slackline-w4.toml --reach strict --write sold.toml

      wattline bid days.toml --across-records
    """
    from wattline.api.bids import find_bid, keeping
    from wattline.journal.folder_lock import held
    from wattline.scenario import read_scenario

    terminal = Terminal(as_json, quiet)
    refuse_log(scenario)
    document = read_scenario(scenario, [*(sets or ()), *([f"regulation.reach={reach.value}"] if reach else [])])
    document = only(document, f"pick one with {pick_one(document)}").document
    if write is not None:
        refuse_own_scenario(write, document, force=force)
    if resume and out is None:
        raise ScenarioError("--resume goes on in a folder: give the --out of the search that was cut off")
    if out is not None:
        for name in (CERTIFICATE, PAGE):
            refuse_two(("--out", out / name), ("--write", write))
        context.with_resource(held(out))  # let go when the command ends
        refuse_other(out, CERTIFICATE, document.spec.name, force=force)
        check_writable(out)
    chosen = method.value if method else None
    how: dict[str, Any] = {"method": chosen, "hours": hours, "confidence": confidence, "quick": quick, "across": across}
    with keeping(document, out, resume=resume) as kept:
        try:
            with in_this_folder():
                found = find_bid(document, terminal, **how, kept=kept)
        except KeyboardInterrupt:
            if kept is None:
                raise
            told = f"interrupted; what was simulated is in {out}, and --resume goes on with the rest"
            raise typer.Exit(complain(told, terminal.interrupted)) from None
        _show(found, out, write, terminal, across=across, force=force)
    if not found.certified:
        raise typer.Exit(NOT_CERTIFIED)


def _show(
    found: BidResult, out: Path | None, write: Path | None, terminal: Terminal, *, across: bool, force: bool
) -> None:
    """Print and write what was found."""
    if write is not None:
        found.write(write, force=force)
    if terminal.for_people:
        terminal.show(found)
        if across:
            terminal.show("", days(found.certificate))
        terminal.line("\n" + "\n".join(found.verdict))
    if out is not None:
        terminal.say("drawing its figures ...")
        found.save(out)
        terminal.line(f"\ncertificate  {out / CERTIFICATE}\nfigures      {out / PAGE}")
    if write is not None:
        terminal.line(f"\nscenario with this bid: {write}  (try: wattline run {write})")
    terminal.data(found.to_dict())
