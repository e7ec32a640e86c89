"""``wattline configs fit``: time and power of configurations that nobody measured, and which to measure next."""

from __future__ import annotations

import functools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.configs.commands import AppFlag, Reduction, TableArg, TurboFlag
from wattline.cli.paths import refuse_same
from wattline.cli.telemetry.flags import asked
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError, ScenarioError
from wattline.units import in_full, power_w

if TYPE_CHECKING:
    from wattline.learn.configs.errors import Errors
    from wattline.learn.configs.fitted import Fitted
    from wattline.learn.configs.grid import Predicted
    from wattline.model.configurations import Configurations


class Model(StrEnum):
    """Models of time and power."""

    MIXED = "mixed"
    PHYSICAL = "physical"
    LOG_QUADRATIC = "log-quadratic"


class Cost(StrEnum):
    """What a measurement costs."""

    RUN = "run"
    NODE_TIME = "node-time"
    ENERGY = "energy"


ModelFlag = Annotated[Model, typer.Option(help="mixed (ours), physical, or log-quadratic (as published).")]
ShareFlag = Annotated[
    float | None,
    typer.Option(
        help="Fit to this share of the rows, drawn at random, and judge by the rest (at least 35 rows; without: "
        "fit to all, judge by cross-validation)."
    ),
]
DrawsFlag = Annotated[
    int, typer.Option(min=1, max=10_000, help="Random draws over which errors with --share are taken.")
]
SeedFlag = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]
NodesFlag = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Node counts to predict, e.g. 8,16 or 8-64/8 (default: those of the table)."),
]
CoresFlag = Annotated[str | None, typer.Option(metavar="LIST", help="Core counts to predict.")]
CapsFlag = Annotated[str | None, typer.Option(metavar="LIST", help="Caps to predict, in watts of a socket.")]
MissFlag = Annotated[float, typer.Option(help="Probability of leaving the bounds of time, and those of power.")]
NextCountFlag = Annotated[
    int, typer.Option("--next", min=0, metavar="K", help="Name the next K configurations of the grid to measure.")
]
CostFlag = Annotated[Cost, typer.Option(help="What --next saves: runs, node-time or energy.")]
OutFlag = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the predicted table here (.parquet).")]
ReduceFlag = Annotated[Reduction, typer.Option("--reduce", help="Time over trials: their median, or the fastest.")]
ChosenFlag = Annotated[
    bool,
    typer.Option(
        "--chosen", help="With --share: draw 14 rows only, and choose the others by what the model does not know."
    ),
]


def fit(
    table: TableArg,
    app_name: AppFlag = None,
    model: ModelFlag = Model.MIXED,
    share: ShareFlag = None,
    draws: DrawsFlag = 50,
    seed: SeedFlag = 1,
    nodes: NodesFlag = None,
    cores: CoresFlag = None,
    caps: CapsFlag = None,
    miss: MissFlag = 0.1,
    next_count: NextCountFlag = 0,
    cost: CostFlag = Cost.RUN,
    out: OutFlag = None,
    reduce: ReduceFlag = Reduction.MEDIAN,
    turbo: TurboFlag = None,
    *,
    chosen: ChosenFlag = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a model of time and power, and say how wrong it is: power that it promises too low first.

    For example:

      wattline configs fit measured.csv --app bt-mz.C --share 0.1

      wattline configs fit measured.csv --app bt-mz.C --next 5

      wattline configs fit measured.csv --nodes 8-64/8 --out predicted.parquet
    """
    from wattline.formats.tables.configurations import read_configurations

    terminal = Terminal(as_json, quiet)
    _refuse_share(share, chosen=chosen)
    if out is not None:
        refuse_same(table, out)
    if not 0.0 < miss < 1.0:
        raise InputError(f"--miss {miss:g}: must be a probability between 0 and 1")
    axes = {"nodes": _counts("--nodes", nodes), "cores": _counts("--cores", cores), "caps_w": _numbers("--caps", caps)}
    for flag, given in (("--nodes", nodes), ("--cores", cores), ("--caps", caps)):
        if given is not None and out is None and not next_count:
            raise ScenarioError(f"{flag} {given}: goes with --out or --next, which look beyond the measured rows")
    turbo_w = asked("--turbo", power_w, turbo)
    read = read_configurations(table, reduce=reduce.value, turbo_w=turbo_w)
    if app_name is None and len(read.tables) > 1 and out is None and not next_count:
        _show_all(terminal, list(read.tables.values()), model.value, share, draws, seed, chosen=chosen)
        return
    measured = read.table(app_name)
    fitted, errors, spread, told = _judge(measured, model.value, share, draws, seed, chosen=chosen)
    if terminal.for_people:
        terminal.show(_table(errors, f"{measured.application} by {model}: {told}"))
        if spread is not None:
            terminal.line(f"largest time error of the worst draw: {100 * spread[1]:.1f} %")
    found = _predict(fitted, measured, axes, miss) if out is not None or next_count else None
    named = None if found is None or not next_count else _choose(fitted, found, next_count, cost)
    if named is not None:
        _say_next(terminal, named)
    if found is not None and out is not None:
        _write_predicted(terminal, out, fitted, found)
    terminal.data(
        {
            "application": measured.application,
            "model": fitted.model,
            "measurements": int(fitted.rows.size),
            "errors": errors._asdict(),
            "time_max_below_a_third": None if spread is None else spread[0],
            "time_max_of_the_worst_draw": None if spread is None else spread[1],
            "judged": told,
            "next": named,
            "file": None if out is None else str(out),
        }
    )


def _refuse_share(share: float | None, *, chosen: bool) -> None:
    """Refuse a share that is none, and a choice of rows without a share."""
    if share is not None and not 0.0 < share < 1.0:
        raise ScenarioError(f"--share: must lie between 0 and 1, got {in_full(share)}")
    if chosen and share is None:
        raise ScenarioError("--chosen: goes with --share, which says how many rows to choose")


def _say_next(terminal: Terminal, named: list[dict[str, Any]]) -> None:
    """Say which configurations to measure next, in order."""
    terminal.line("")
    for rank, row in enumerate(named, 1):
        terminal.line(f"{rank}. measure {_named(row)}")


def _write_predicted(terminal: Terminal, out: Path, fitted: Fitted, found: Predicted) -> None:
    """Write the predicted table; say how much of it lies beyond what was measured."""
    from wattline.formats.tables.predicted import write_predicted

    write_predicted(out, fitted, found)
    beyond = int(found.beyond.sum())
    if beyond:
        terminal.say(
            f"{beyond:,} configurations lie beyond what was measured: bounds promise nothing there (column 'beyond')"
        )
    terminal.line(f"\n{len(found.table):,} configurations in {out}, {found.measured.size:,} of them measured")


def _show_all(
    terminal: Terminal,
    tables: list[Configurations],
    model: str,
    share: float | None,
    draws: int,
    seed: int,
    *,
    chosen: bool,
) -> None:
    """Judge a model on every application of a table; those with too few rows are named."""
    from rich.table import Table
    from rich.text import Text

    from wattline.report.show import printable

    found: dict[str, Any] = {}
    lines = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for name in ("application", "fitted to", "low>10 %", "lowest", "power", "time", "largest"):
        lines.add_column(name, justify="left" if name == "application" else "right", no_wrap=True, overflow="ellipsis")
    for table in tables:
        try:
            fitted, errors, _, _ = _judge(table, model, share, draws, seed, chosen=chosen)
        except InputError as problem:
            terminal.say(f"left out: {problem}")
            continue
        found[table.application] = {"measurements": int(fitted.rows.size), "errors": errors._asdict()}
        values = (errors.power_too_low, errors.power_lowest, errors.power_mean, errors.time_mean, errors.time_max)
        lines.add_row(
            printable(table.application), f"{fitted.rows.size} of {len(table)}", *(f"{100 * v:.1f} %" for v in values)
        )
    legend = "low>10 %: share of points with power more than 10 % too low; lowest: the worst"
    legend += "\npower, time: mean errors; largest: of time"
    if terminal.for_people:
        terminal.show(lines, Text(legend, style="dim"))
    terminal.data({"model": model, "applications": found})


def _judge(
    measured: Configurations, model: str, share: float | None, draws: int, seed: int, *, chosen: bool
) -> tuple[Fitted, Errors, tuple[float, float] | None, str]:
    """Return the model, its errors, how they were found; and of draws: the share with a largest time error below 33 %,
    and that of the worst one.
    """
    import numpy as np

    from wattline.learn.configs import errors as judge
    from wattline.learn.configs import fit as fit_model
    from wattline.learn.configs import models
    from wattline.learn.configs.choice import chosen_rows

    if share is None:
        folds = min(10, len(measured))
        fitted = fit_model(measured, model=model)
        errors = judge.cross_validate(models()[model], measured, folds=folds, seed=seed)
        return fitted, errors, None, f"{len(measured)} measurements, {folds} folds"
    count = judge.sample_size(len(measured), share)
    pick: judge.Pick = functools.partial(chosen_rows, models()[model]) if chosen else judge.draw
    found = judge.errors_over_draws(models()[model], measured, share=share, draws=draws, seed=seed, pick=pick)
    fitted = fit_model(measured, pick(measured, count, next(judge.generators(seed, 1))), model)
    told = f"{count} {'chosen ' if chosen else ''}of {len(measured)} measurements, median of {draws} draws"
    largest = np.array([e.time_max for e in found])
    return fitted, judge.median_errors(found), (float(np.mean(largest < 0.33)), float(largest.max())), told


def _predict(fitted: Fitted, measured: Configurations, axes: dict[str, Any], miss: float) -> Predicted:
    from wattline.learn.configs.grid import predict_grid

    try:
        return predict_grid(fitted, measured, **axes, miss=miss)
    except InputError as problem:
        raise InputError(str(problem).replace("miss: ", "--miss: ")) from None


def _choose(fitted: Fitted, found: Predicted, count: int, cost: Cost) -> list[dict[str, Any]]:
    from wattline.learn.configs.choice import next_rows

    t = found.table
    price = {Cost.RUN: None, Cost.NODE_TIME: t.nodes * t.time_s, Cost.ENERGY: t.power_w * t.time_s}[cost]
    rows = next_rows(fitted, t, count, measured=found.measured, cost=price)
    return [
        {
            "nodes": int(t.nodes[i]),
            "cores": int(t.cores[i]),
            "cap_w": float(t.cap_w[i]),
            "turbo": bool(t.cap_w[i] == t.turbo_w),
            "time_s": float(t.time_s[i]),
            "time_most_s": float(found.bounds.most_s[i]),
            "power_w": float(t.power_w[i]),
        }
        for i in rows
    ]


def _named(row: dict[str, Any]) -> str:
    cap = f"{in_full(row['cap_w'])} W" + (" (turbo)" if row["turbo"] else "")
    return f"{row['nodes']} × {row['cores']} at {cap}: about {in_full(row['time_s'], 3)} s, {row['power_w']:,.0f} W"


def _table(errors: Errors, title: str) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    def percent(value: float) -> str:
        return f"{100.0 * value:.1f} %"

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("", "mean", "median", "3rd quartile", "largest"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for name in ("power", "time"):
        values = (getattr(errors, f"{name}_{what}") for what in ("mean", "median", "third_quartile", "max"))
        table.add_row(f"{name} error", *(percent(value) for value in values))
    low = (
        f"power predicted more than 10 % too low: {percent(errors.power_too_low)} of points; at most "
        f"{percent(errors.power_lowest)} too low"
    )
    return Group(Text(title, style="bold"), Text(low), table)


def _numbers(flag: str, text: str | None) -> list[float]:
    """Return numbers from ``8,16`` or ``8-64/8`` (from, to, step)."""
    found: list[float] = []
    for part in (text or "").split(",") if text else ():
        ends, _, step = part.partition("/")
        first, _, last = ends.partition("-")
        try:
            low, high, by = float(first), float(last or first), float(step or 1)
        except ValueError:
            raise ScenarioError(f"{flag}: expected numbers like 8,16 or 8-64/8, got {part.strip()!r}") from None
        if not (0 < low <= high and by > 0 and (high - low) / by < 1e5):
            raise ScenarioError(f"{flag}: expected numbers above 0 that grow, got {part.strip()!r}")
        found += [low + k * by for k in range(int((high - low) / by + 1e-9) + 1)]
    return found


def _counts(flag: str, text: str | None) -> list[int]:
    found = _numbers(flag, text)
    for value in found:
        if value != int(value):
            raise ScenarioError(f"{flag}: expected whole numbers, got {in_full(value)}")
    return [int(value) for value in found]
