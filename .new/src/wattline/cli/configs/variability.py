"""``wattline configs variability``: what nodes that are not alike do to a job under a bound, and caps that make up for
it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.configs.commands import AppFlag, TableArg, TurboFlag
from wattline.cli.telemetry.flags import asked, bounded
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError, ScenarioError
from wattline.units import in_full, power_w

if TYPE_CHECKING:
    from wattline.model.variability import NodeFactors
    from wattline.physics.cap_response import SpeedCurve
    from wattline.physics.variability import Hardware


def variability(
    table: TableArg,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the job, as measured.")],
    cores: Annotated[int, typer.Option(min=1, help="Cores of a node, as measured.")],
    bound: Annotated[str, typer.Option(metavar="POWER", help='Power bound of the job, e.g. "3500 W".')],
    app_name: AppFlag = None,
    spread: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=10.0,
            help="How much more the thirstiest node draws than the most frugal one (0.23: as on Cab).",
        ),
    ] = 0.23,
    draws: Annotated[int, typer.Option(min=1, max=100_000, help="Machines that are drawn.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first machine.")] = 1,
    factors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measured nodes instead (.csv: node, and factor or power_w).")
    ] = None,
    frugal: Annotated[  # noqa: FBT002  (a flag)
        bool, typer.Option("--frugal", help="With --factors: take the nodes that draw least, not the first.")
    ] = False,
    least: Annotated[str | None, typer.Option(metavar="POWER", help="The least cap that a node takes.")] = None,
    fixed: Annotated[
        str | None,
        typer.Option(metavar="POWER", help="The part of a node's power that is alike in all (memory, board)."),
    ] = None,
    turbo: TurboFlag = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare equal caps with caps of equal speed, for a job on nodes that are not alike.

    Under equal caps thirsty nodes are slower, and the slowest decides.

    For example:

      wattline configs variability measured.csv --app bt-mz.C --nodes 32 --cores 16 --bound "4000 W"

      wattline configs variability measured.csv --app bt-mz.C --nodes 32 --cores 16 --bound "4000 W" --factors nodes.csv
    """
    from wattline.formats.tables.configurations import read_configurations
    from wattline.model.jobs import MOST_W
    from wattline.physics.cap_response import MeasuredResponse
    from wattline.physics.variability import Hardware

    terminal = Terminal(as_json, quiet)
    bound_w = asked("--bound", power_w, bound) or 0.0
    bounded("--bound", bound_w, 0.0, MOST_W, "W")
    hardware = Hardware(
        least_w=asked("--least", power_w, least) or 0.0, fixed_w=asked("--fixed", power_w, fixed) or 0.0
    )
    measured = read_configurations(table, turbo_w=asked("--turbo", power_w, turbo)).table(app_name)
    response = MeasuredResponse.of(measured, nodes, cores)
    if not response.draw_w > response.floor_w:
        raise ScenarioError(
            f"{measured.application}: no cap was measured that slows {nodes} × {cores}; nothing can be said"
        )
    if hardware.fixed_w >= response.floor_w:
        raise ScenarioError(
            f"--fixed: must be below the {in_full(response.floor_w, 4)} W that a node draws at its lowest speed"
        )
    if factors is None:
        if frugal:
            raise ScenarioError("--frugal: needs --factors, nodes to choose among")
        found = _drawn(response, nodes, spread, draws, seed, bound_w, hardware)
    else:
        found = _given(response, nodes, factors, bound_w, hardware, frugal=frugal)
    _say(found, terminal, measured.application, f"{nodes} × {cores} under {bound_w:,.0f} W")
    terminal.data({"application": measured.application, "nodes": nodes, "cores": cores, "bound_w": bound_w, **found})


def _drawn(
    response: SpeedCurve, nodes: int, spread: float, draws: int, seed: int, bound_w: float, hardware: Hardware
) -> dict[str, Any]:
    import numpy as np

    from wattline.model.variability import NodeFactors

    machines = [_speeds(response, NodeFactors.drawn(nodes, spread, seed + k), bound_w, hardware) for k in range(draws)]
    speeds = np.array([pair for pair in machines if pair[0] is not None], dtype=np.float64)
    if not speeds.size:
        raise ScenarioError(
            f"--bound: equal shares of {bound_w:,.0f} W leave some node below the {in_full(response.floor_w, 4)} W at "
            "which it was "
            "measured slowest, on every machine drawn; give more"
        )
    gains = 1.0 - speeds[:, 0] / speeds[:, 1]
    low, high = np.quantile(gains, [0.05, 0.95])
    return {
        "spread": spread,
        "machines": draws,
        "too_low": draws - len(speeds),
        "slower_equal_caps": float(1.0 / speeds[:, 0].mean()),
        "slower_equal_speed": float(1.0 / speeds[:, 1].mean()),
        "gain": float(gains.mean()),
        "gain_low": float(low),
        "gain_high": float(high),
    }


def _given(
    response: SpeedCurve, nodes: int, path: Path, bound_w: float, hardware: Hardware, *, frugal: bool
) -> dict[str, Any]:
    import numpy as np

    from wattline.formats.tables.node_factors import read_factors
    from wattline.model.variability import NodeFactors
    from wattline.physics.variability import equal_speed_caps
    from wattline.physics.variability import frugal as most_frugal

    names, known = read_factors(path)
    if len(known) < nodes:
        raise ScenarioError(f"--factors: {path} has {len(known)} nodes, the job needs {nodes}")
    rows = most_frugal(known, nodes) if frugal else np.arange(nodes)
    used = NodeFactors(known.factors[rows])
    equal, better = _speeds(response, used, bound_w, hardware)
    caps_w = equal_speed_caps(response, used, bound_w, hardware).caps_w
    return {
        "spread": used.spread,
        "machines": 1,
        "slower_equal_caps": None if equal is None else 1.0 / equal,
        "slower_equal_speed": 1.0 / better,
        "gain": None if equal is None else 1.0 - equal / better,
        "caps_w": {names[row]: float(cap) for row, cap in zip(rows.tolist(), caps_w, strict=True)},
    }


def _speeds(response: SpeedCurve, nodes: NodeFactors, bound_w: float, hardware: Hardware) -> tuple[float | None, float]:
    """Return the job's speed under equal caps (None: below what some node needs to run at all) and under caps of equal
    speed.
    """
    from wattline.physics.variability import equal_caps, equal_speed_caps

    better = equal_speed_caps(response, nodes, bound_w, hardware).speed
    try:
        return equal_caps(response, nodes, bound_w, hardware).speed, better
    except InputError:
        return None, better


def _say(found: dict[str, Any], terminal: Terminal, application: str, what: str) -> None:
    who = "these nodes" if found["machines"] == 1 else f"{found['machines']:,} machines, mean"
    terminal.line(f"{application}, {what}; nodes differ by {found['spread']:.0%} ({who})")
    equal = found["slower_equal_caps"]
    told = "below what a node was measured at" if equal is None else f"× {equal:.3f} (1: uncapped, without turbo)"
    terminal.line(f"  time under equal caps          {told}")
    terminal.line(f"  time under caps of equal speed × {found['slower_equal_speed']:.3f}")
    if equal is not None:
        between = (
            f" ({found['gain_low']:.1%} to {found['gain_high']:.1%} in nine of ten)" if "gain_low" in found else ""
        )
        terminal.line(f"  saved                          {found['gain']:.1%}{between}")
    if found.get("too_low"):
        terminal.line(
            f"  left out: {found['too_low']:,} machines where an equal cap is below what a node was measured at"
        )
    for name, cap_w in found.get("caps_w", {}).items():
        terminal.line(f"  node {name}: cap {cap_w:.1f} W")
