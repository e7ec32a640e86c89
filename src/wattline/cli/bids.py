"""``wattline bid``: choose what to promise the grid, test the promise on other hours, and say whether it is certified."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.bid_verdict import HOURS_FROM, percent, verdict_lines
from wattline.cli.folders import CERTIFICATE, Force, check_writable, refuse_other, refuse_other_scenario
from wattline.cli.paths import refuse_log
from wattline.cli.runs import Sets, pick_one
from wattline.cli.terminal import WIDTH, Json, Quiet, Terminal
from wattline.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from wattline.bid.certificate import Certificate
    from wattline.bid.choice import Choice
    from wattline.bid.setting import Setting
    from wattline.scenario import Document

PAGE = "bid.html"

NOT_CERTIFIED = 3
"""Exit code of a bid that was chosen and tested, but is not certified."""


class Method(StrEnum):
    """How a bid is chosen."""

    SEARCH = "search"
    AQA = "aqa"
    QOSG = "qosg"
    GRID = "grid"
    HEURISTIC = "heuristic"
    GIVEN = "given"


class ReachMode(StrEnum):
    """What a bid may ask of the cluster."""

    STRICT = "strict"
    PAPER = "paper"


def bid(
    context: typer.Context,
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario with kinds of job and a regulation section.")],
    method: Annotated[Method | None, typer.Option(help="How to choose (default: what the scenario says, else search).")] = None,
    reach: Annotated[ReachMode | None, typer.Option(help="May the target leave what the cluster can draw?")] = None,
    hours: Annotated[int | None, typer.Option(min=2, max=100_000, help="Hours on which the bid is tested (default 200).")] = None,
    write: Annotated[Path | None, typer.Option("--write", metavar="FILE", help="Write the scenario with the bid put in.")] = None,
    sets: Sets = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help=f"Folder for {CERTIFICATE} and {PAGE} (default: none).")] = None,
    *,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Choose mean power and reserve to offer as regulation, and test them on other hours.

    The exit code is 0 if the bid is certified: every constraint is kept with
    95 % confidence on new hours of a generated signal. It is 3 if the bid is
    not certified: a constraint is BROKEN or UNSURE, or the signal is a
    recorded one. All hours are then of one record, the one that was searched,
    and other days are unknown. --write and --out write in both cases.

    For example:

      wattline bid examples/aqa-w4.toml

      wattline bid examples/slackline-w4.toml --reach strict --write sold.toml
    """
    from wattline.bid.certificate import certify
    from wattline.bid.trial import policies_of
    from wattline.scenario import read_scenario
    from wattline.scenario.regulation import build_setting
    from wattline.traces.folder_lock import held

    terminal = Terminal(as_json, quiet)
    refuse_log(scenario)
    document = read_scenario(scenario, [*(sets or ()), *([f"regulation.reach={reach.value}"] if reach else [])])
    document = _single(document)
    if write is not None:
        refuse_other_scenario(write, document.spec.name, force=force)
    if out is not None:
        context.with_resource(held(out))  # let go when the command ends
        refuse_other(out, CERTIFICATE, document.spec.name, force=force)
        check_writable(out)
    setting = build_setting(document)
    how = method.value if method else document.spec.bid.method
    terminal.warm_up(policies_of(setting).slots(), nodes_change=False)
    choice = _choose(document, setting, how, terminal)
    seeds = range(hours or document.spec.bid.hours)
    terminal.say(f"testing on {len(seeds)} {'hours of the record' if setting.on_record else 'fresh hours'} ...")
    found = certify(setting, choice, seeds)
    if write is not None:
        from wattline.scenario.write_bid import write_bid

        write_bid(document, setting, choice, write, (_title(document, setting, choice), *verdict_lines(setting, found)))
    data = _plain({"scenario": str(scenario), "name": document.spec.name, "policy": setting.recipe.name, "protocol": document.spec.bid.protocol,
                   "reach": _mode(document), **found.to_json(), "feasible": choice.feasible, "history": choice.history})  # fmt: skip
    if terminal.for_people:
        _show(document, setting, found, terminal)
    if out is not None:
        _save(out, data)
        from wattline.cli.bid_page import write_page

        terminal.say("drawing its figures ...")
        facts = [(name or "or", text) for name, text in _facts(document, setting, found) + _money(found)]
        write_page(out / PAGE, _title(document, setting, choice), setting, found, facts)
        terminal.line(f"\ncertificate  {out / CERTIFICATE}\nfigures      {out / PAGE}")
    if write is not None:
        terminal.line(f"\nscenario with this bid: {write}  (try: wattline run {write})")
    terminal.data(data)
    if not found.certified:
        raise typer.Exit(NOT_CERTIFIED)


def _single(document: Document) -> Document:
    from wattline.scenario import variants

    choices = variants(document)
    if len(choices) > 1:
        raise ScenarioError(
            f"{document.source.where(('policy',))}: {len(choices)} combinations of policies are listed; "
            f"pick one with {pick_one(document)}"
        )
    return choices[0].document


def _mode(document: Document) -> str:
    market = document.spec.regulation
    return "paper" if market is None else market.reach


def _choose(document: Document, setting: Setting, method: str, terminal: Terminal) -> Choice:
    from wattline.bid.choose import choose
    from wattline.model.regulation import Bid

    market = document.spec.regulation
    given = (
        Bid(market.mean, market.reserve) if market and market.mean is not None and market.reserve is not None else None
    )
    if method == "given":
        if given is None:
            raise document.source.error(("regulation",), "there is no bid to test: give mean and reserve")
        from wattline.scenario.regulation import check_reach, reach_values

        check_reach(document, given, reach_values(setting.signal), setting.cluster)
    else:
        terminal.say(f"choosing a bid by {method} ...")
    try:
        with terminal.progress("bids tried", keeping="") as progress:
            return choose(setting, method, mode=_mode(document), given=given, progress=progress)
    except ScenarioError:
        raise
    except InputError as problem:
        raise ScenarioError(f"{document.source.where(('bid', 'method'))}: {problem}") from None


def _show(document: Document, setting: Setting, found: Certificate, terminal: Terminal) -> None:
    from rich.text import Text

    title, facts = _title(document, setting, found.choice), _facts(document, setting, found)
    terminal.show(Text(title, style="bold"), _table(facts), "", _promises(found), "", _table(_money(found)))
    terminal.line("\n" + "\n".join(verdict_lines(setting, found)))


def _title(document: Document, setting: Setting, choice: Choice) -> str:
    return f"{document.spec.name}: {choice.method} with {setting.recipe.name} on {setting.nodes:,} nodes"


def _facts(document: Document, setting: Setting, found: Certificate) -> list[tuple[str, str]]:
    from wattline.report.show import show

    choice = found.choice
    return [
        ("mean power", f"P̄ = {show(choice.bid.mean_w, 'W')}"),
        ("reserve", f"R = {show(choice.bid.reserve_w, 'W')}, reach {_mode(document)}"),
        *(_weights(setting, choice) if choice.weights is not None else ()),
        *_parameters(setting, choice),
        ("tested on", f"{len(found.outcome.hours)} {document.spec.bid.protocol} hours {HOURS_FROM[found.hours_from]}"),
    ]


def _weights(setting: Setting, choice: Choice) -> list[tuple[str, str]]:
    weights = choice.weights
    assert weights is not None  # noqa: S101 - the caller knows
    named = [f"{kind.name} {w:.3f}" for kind, w in zip(setting.kinds, weights, strict=True) if not kind.standby]
    return [("weights", ", ".join(named))]


def _parameters(setting: Setting, choice: Choice) -> list[tuple[str, str]]:
    from wattline.bid.trial import policies_of

    rows = []
    policies = policies_of(setting)
    for m in (policies.select, policies.cap):
        chosen = (choice.params or {}).get(m.slot) or m.values(policies.params.get(m.slot, {}))
        named = ", ".join(f"{name} {value:g}" for name, value in zip(m.params, chosen, strict=False))
        if named:
            rows.append((m.name, named))
    return rows


def _promises(found: Certificate) -> Any:
    from rich.table import Table
    from rich.text import Text

    from wattline.report.show import printable

    table = Table(box=None, pad_edge=False, header_style="bold", width=WIDTH)
    table.add_column("constraint", style="cyan", overflow="fold")
    for name in ("allowed", "found", "95 % interval", "of"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", width=8, no_wrap=True)
    limits = {kind.name: kind.limit for kind in found.outcome.kinds}
    for i, promise in enumerate(found.promises):
        about = "tracking, ε > 30 %" if i == 0 else f"{promise.about}, Q ≥ {limits[promise.about]:g}"
        rate = promise.rate
        count = f"{rate.count:,} {'hours' if i == 0 else 'jobs'}"
        state = Text(promise.state, "green" if promise.kept else "bold red")
        table.add_row(Text(printable(about)), percent(promise.limit), percent(rate.share),
                      f"{percent(rate.low)} – {percent(rate.high)}", count, state)  # fmt: skip
    return table


def _money(found: Certificate) -> list[tuple[str, str]]:
    data = found.to_json()
    cost, drawn, given = data["cost"], data["without_drawn"], data["without_bid"]
    broken, alone = percent(data["hours_beyond_tracking"]), percent(data["unreachable_exceed"])
    half = 0.5 * (data["cost_high"] - data["cost_low"])
    rows = [
        ("cost", f"${cost:.4g} an hour ± {half:.2g} (95 %); hours differ by {data['cost_sd']:.2g} (1 sd)"),
        ("without it", f"${drawn:.4g} for the power that was drawn: {_less(cost, drawn)}"),
        ("", f"${given:.4g} for the mean power that was bid: {_less(cost, given)}"),
        ("tracking", f"error {percent(data['error'])} of R on average; {broken} of hours break the limit"),
        ("out of reach", f"{percent(data['unreachable_share'])} of the signal, which alone exceeds 30 % for {alone} of time"),
    ]  # fmt: skip
    if data["standby_share"]:
        rows.append(("standby", f"{percent(data['standby_share'])} of the jobs' energy"))
    return [*rows, ("limits R", found.limits)]


def _less(cost: float, without: float) -> str:
    if not without > 0:
        return "–"
    part = 100 * (1 - cost / without)
    return f"{abs(part):.1f} % {'less' if part >= 0 else 'more'} with it"


def _table(rows: list[tuple[str, str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False, width=WIDTH)
    table.add_column(style="cyan", no_wrap=True, width=13)
    table.add_column(overflow="fold", ratio=1)
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def _save(folder: Path, data: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        (folder / CERTIFICATE).write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        raise ScenarioError(f"{folder}: cannot be written ({problem.strerror}); give another --out") from None


def _plain(value: Any) -> Any:
    """Return values as JSON knows them: null where there is no finite number."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
