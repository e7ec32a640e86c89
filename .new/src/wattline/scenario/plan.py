"""Plan file or flags → the question of the cost model and its applications, every problem with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from wattline.errors import InputError, ScenarioError
from wattline.formats.tables.configuration_rows import Socketed
from wattline.formats.tables.configurations import read_configurations
from wattline.market.machine_cost import Life, Racks
from wattline.market.overprovisioning import Application, Line, Measured, Prices, Question, fit_line
from wattline.scenario.read.base import KeyPath, Section
from wattline.scenario.read.files import read_toml
from wattline.scenario.read.quantities import Count, Finite, Name, Power
from wattline.scenario.read.source import Source
from wattline.scenario.read.validation import validate_as
from wattline.units import in_full

FLAGS = "the flags"
"""What stands in the place of a file's name where there is none."""

Share = Annotated[float, Field(gt=0.0, le=1.0)]
Money = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class HighEndSpec(Section):
    """The fast node, of which the power budget feeds only so many at their most."""

    max: Power = Field(description="what a node draws at most, by the TDP of its parts (P_n_max)")
    faster: Finite = Field(ge=0.0, description="advantage over the older node, 0.27 for 27 % (r_p)")
    price: Money | None = Field(None, description="price of a node")
    use: Share = Field(1.0, description="mean power of the machine over the most that it may draw, for its electricity")


class OlderSpec(Section):
    """The cheaper node, of which more share the same power."""

    min: Power = Field(description="what a node draws at least, idle (P_n_min)")
    price: Money | None = Field(None, description="price of a node")
    use: Share = Field(1.0, description="mean power of the machine over the budget, for its electricity")


class RackSpec(Section):
    """Racks and switches; both machines use the same ones."""

    nodes: Count = Field(description="nodes that a rack holds")
    price: Amount = Field(description="price of an empty rack with its switch and power supplies")
    top_racks: int = Field(
        0, ge=0, description="racks that one more switch joins, from the second rack on (0: none is needed)"
    )
    top_price: Amount = Field(0.0, description="price of such a switch")


class LifeSpec(Section):
    """What the machines cost after they are bought."""

    years: Money = Field(description="years in use")
    electricity: Amount = Field(0.0, description="price of a kWh")
    pue: float = Field(1.0, ge=1.0, le=5.0, description="power of the site, with cooling, over that of the nodes")
    maintenance: Amount = Field(0.0, description="yearly maintenance and support, as a share of the purchase")


class ApplicationSpec(Section):
    """An application: a line in the number of older nodes, or a measured table."""

    name: Name = Field(description="name")
    weight: Amount = Field(1.0, description="share of the high-end machine's time; any unit")
    slope: Finite | None = Field(None, description="seconds that one more node adds; negative: it saves (m)")
    intercept: Finite | None = Field(None, description="seconds at no nodes (c)")
    most_nodes: int = Field(
        0,
        ge=0,
        description="nodes up to which the line holds; more nodes gain nothing (0: no end, of a table: its last)",
    )
    table: str | None = Field(None, description="measured configurations, relative to the plan file")
    app: str | None = Field(None, description="application in the table (default: the only one, or the name)")
    law: Literal["measured", "line"] = Field(
        "measured", description="of a table: its times themselves, or a line fitted through the best by nodes"
    )
    least_nodes: Count = Field(1, description="of a table: leave out smaller node counts")
    base: Power = Field(0.0, description="what a node draws beside the power in the table")
    reduce: Literal["median", "min"] = Field("median", description="of a table: time over trials")
    sockets: Count = Field(2, description="of a table: sockets of a node, to check its powers")
    memory: Power = Field(30.0, description="of a table: what the memory of a socket draws at most, beside its cap")


class PlanSpec(Section):
    """A plan."""

    name: Name = Field("plan", description="name")
    power: Power = Field(description="power budget of the computing nodes (P_sys)")
    cost_ratio: Money | None = Field(
        None, description="price of a high-end node over that of an older one (r_c), instead of prices"
    )
    reading: Literal["time", "speed"] = Field(
        "time", description='`"time"`: 27 % faster is 0.73 of the time, as published; `"speed"`: 1/1.27 of it'
    )
    high_end: HighEndSpec = Field(description="the fast node")
    older: OlderSpec = Field(description="the cheaper node")
    rack: RackSpec | None = Field(None, description="racks")
    life: LifeSpec | None = Field(None, description="life")
    application: list[ApplicationSpec] = Field(min_length=1, description="applications")


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
    flags: Mapping[KeyPath, tuple[str, Any]] | None = None,
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
    spec = validate_as(PlanSpec, data, source)
    notes: list[str] = []
    question = _question(spec, source)
    base = path.parent if path is not None else Path()
    applications = tuple(
        _application(item, ("application", i), source, base, question.power_w, notes)
        for i, item in enumerate(spec.application)
    )
    return PlanInput(spec.name, question, applications, tuple(notes))


def _put(data: dict[str, Any], keys: KeyPath, value: Any) -> None:
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
    dear, cheap = spec.high_end.price, spec.older.price
    if spec.cost_ratio is not None and (dear is not None or cheap is not None or spec.rack or spec.life):
        raise source.error(("cost_ratio",), "prices, racks and life say it already; give one or the other")
    if spec.cost_ratio is None and (dear is None or cheap is None):
        missing = "older" if cheap is None else "high_end"
        raise source.error((missing, "price"), "is missing; give the prices of both nodes, or cost_ratio")
    if spec.cost_ratio is not None and spec.cost_ratio < 1:
        raise source.error(
            ("cost_ratio",), f"must be 1 or more, the older node is the cheaper one, got {in_full(spec.cost_ratio)}"
        )
    prices = None
    if dear is not None and cheap is not None:
        if cheap > dear:
            raise source.error(("older", "price"), f"is above that of a high-end node, {in_full(dear)}; swap them?")
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
    spec: ApplicationSpec, where: KeyPath, source: Source, base: Path, power_w: float, notes: list[str]
) -> Application:
    if spec.table is None:
        for key in ("slope", "intercept"):
            if getattr(spec, key) is None:
                raise source.error((*where, key), "is missing; give slope and intercept, or a table")
        line = Line(float(spec.slope or 0.0), float(spec.intercept or 0.0), spec.most_nodes)
        return Application(spec.name, line, spec.weight)
    if spec.slope is not None or spec.intercept is not None:
        raise source.error((*where, "table"), "slope and intercept are given already; give one or the other")
    for key in ("least_nodes", "most_nodes"):
        if spec.law == "measured" and key in spec.model_fields_set:
            raise source.error((*where, key), 'goes with law = "line"; measured times are taken as they are')
    table = _table(spec, where, source, base, notes)
    try:
        if spec.law == "measured":
            return Application(spec.name, Measured(table, spec.base), spec.weight)
        line, error = fit_line(table, power_w, spec.least_nodes, spec.most_nodes)
    except InputError as problem:
        raise source.error((*where, "table"), str(problem)) from None
    notes.append(
        f"{spec.name}: a line of {in_full(line.slope_s, 4)} s a node and {in_full(line.intercept_s, 4)} s was "
        "fitted up to "
        f"{line.most_nodes} nodes; "
        f"it is {error:.1%} off on average" + ('; use the table itself (law = "measured")' if error > 0.07 else "")
    )
    return Application(spec.name, line, spec.weight)


def _table(spec: ApplicationSpec, where: KeyPath, source: Source, base: Path, notes: list[str]) -> Any:
    try:
        read = read_configurations(base / str(spec.table), reduce=spec.reduce, node=Socketed(spec.sockets, spec.memory))
        named = spec.app or (spec.name if spec.name in read.tables else None)
        table = read.table(named)
        keep = (table.nodes >= spec.least_nodes).nonzero()[0]
        table = table.take(keep)
    except InputError as problem:
        raise source.error((*where, "table"), str(problem)) from None
    notes.append(
        f"{spec.name}: {len(table)} measured configurations on {int(table.nodes.min())} to {int(table.nodes.max())} "
        f"nodes, times {read.reduced}"
    )
    return table
