"""Plan file or flags → the question of the cost model and its applications, every problem with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.errors import InputError, ScenarioError
from wattline.scenario.read import Source, read_toml, validate_as

if TYPE_CHECKING:
    from wattline.market.overprovisioning import Application, Question
    from wattline.scenario.spec_plan import ApplicationSpec, PlanSpec

FLAGS = "the flags"
"""What stands in the place of a file's name where there is none."""


@dataclass(frozen=True)
class PlanInput:
    """A question, its applications, and what has to be said about where they come from."""

    name: str
    question: Question
    applications: tuple[Application, ...]
    notes: tuple[str, ...]


def read_plan(
    path: Path | None,
    overrides: Sequence[str] = (),
    flags: Mapping[tuple[str | int, ...], tuple[str, Any]] | None = None,
) -> PlanInput:
    """Read a plan; ``flags`` are key path → (flag as typed, value) and stand above the file."""
    data: dict[str, Any] = {}
    source = Source(FLAGS)
    if path is not None:
        data, source, _ = read_toml(path, overrides, "plan")
        if "trace" in data or "cluster" in data:
            raise ScenarioError(f"{path}: is a scenario, expected a plan; a scenario is run by: wattline run {path}")
        data.setdefault("name", path.stem)
    typed = dict(source.overrides)
    for keys, (flag, value) in (flags or {}).items():
        _put(data, keys, value)
        typed[keys] = flag
    source = Source(source.file, source.lines, typed)
    from wattline.scenario.spec_plan import PlanSpec

    spec = validate_as(PlanSpec, data, source)
    notes: list[str] = []
    question = _question(spec, source)
    base = path.parent if path is not None else Path()
    applications = tuple(
        _application(item, ("application", i), source, base, question.power_w, notes)
        for i, item in enumerate(spec.application)
    )
    return PlanInput(spec.name, question, applications, tuple(notes))


def _put(data: dict[str, Any], keys: tuple[str | int, ...], value: Any) -> None:
    table: Any = data
    for key, following in zip(keys, (*keys[1:], None), strict=True):
        if following is None:
            table[key] = value
        elif isinstance(key, int):
            while len(table) <= key:
                table.append({})
            table = table[key]
        else:
            table = table.setdefault(key, [] if isinstance(following, int) else {})


def _question(spec: PlanSpec, source: Source) -> Question:
    from wattline.market.machine_cost import Life, Racks
    from wattline.market.overprovisioning import Prices, Question

    dear, cheap = spec.high_end.price, spec.older.price
    if spec.cost_ratio is not None and (dear is not None or cheap is not None or spec.rack or spec.life):
        raise source.error(("cost_ratio",), "prices, racks and life say it already; give one or the other")
    if spec.cost_ratio is None and (dear is None or cheap is None):
        missing = "older" if cheap is None else "high_end"
        raise source.error((missing, "price"), "is missing; give the prices of both nodes, or cost_ratio")
    if spec.cost_ratio is not None and spec.cost_ratio < 1:
        raise source.error(
            ("cost_ratio",), f"must be 1 or more, the older node is the cheaper one, got {spec.cost_ratio:g}"
        )
    prices = None
    if dear is not None and cheap is not None:
        if cheap > dear:
            raise source.error(("older", "price"), f"is above that of a high-end node, {dear:g}; swap them?")
        r, f = spec.rack, spec.life
        racks = Racks(r.nodes, r.price, r.top_racks, r.top_price) if r else Racks()
        life = Life(f.years, f.electricity, f.pue, f.maintenance) if f else Life()
        prices = Prices(dear, cheap, racks, life, spec.high_end.use, spec.older.use)
    try:
        return Question(
            spec.power, spec.high_end.max, spec.older.min, spec.high_end.faster, spec.cost_ratio, prices, spec.reading
        )
    except InputError as problem:
        raise source.error((), str(problem)) from None


def _application(
    spec: ApplicationSpec, where: tuple[str | int, ...], source: Source, base: Path, power_w: float, notes: list[str]
) -> Application:
    from wattline.market.overprovisioning import Application, Line, Measured, fit_line

    if spec.table is None:
        for key in ("slope", "intercept"):
            if getattr(spec, key) is None:
                raise source.error((*where, key), "is missing; give slope and intercept, or a table")
        line = Line(float(spec.slope or 0.0), float(spec.intercept or 0.0), spec.most_nodes)
        return Application(spec.name, line, spec.weight)
    if spec.slope is not None or spec.intercept is not None:
        raise source.error((*where, "table"), "slope and intercept are given already; give one or the other")
    table = _table(spec, where, source, base, notes)
    try:
        if spec.law == "measured":
            return Application(spec.name, Measured(table, spec.base), spec.weight)
        line, error = fit_line(table, power_w, spec.least_nodes, spec.most_nodes)
    except InputError as problem:
        raise source.error((*where, "table"), str(problem)) from None
    notes.append(
        f"{spec.name}: a line of {line.slope_s:.4g} s a node and {line.intercept_s:.4g} s was fitted up to {line.most_nodes} nodes; "
        f"it is {error:.1%} off on average" + ('; use the table itself (law = "measured")' if error > 0.07 else "")
    )
    return Application(spec.name, line, spec.weight)


def _table(spec: ApplicationSpec, where: tuple[str | int, ...], source: Source, base: Path, notes: list[str]) -> Any:
    from wattline.formats.tables.configuration_rows import Socketed
    from wattline.formats.tables.configurations import read_configurations

    try:
        read = read_configurations(base / str(spec.table), reduce=spec.reduce, node=Socketed(spec.sockets, spec.memory))
        named = spec.app or (spec.name if spec.name in read.tables else None)
        table = read.table(named)
        keep = (table.nodes >= spec.least_nodes).nonzero()[0]
        table = table.take(keep)
    except InputError as problem:
        raise source.error((*where, "table"), str(problem)) from None
    notes.append(
        f"{spec.name}: {len(table)} measured configurations on {int(table.nodes.min())} to {int(table.nodes.max())} nodes, times {read.reduced}"
    )
    return table
