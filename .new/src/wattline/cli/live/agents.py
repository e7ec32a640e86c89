"""``wattline agent``, ``meters``, ``calibrate``, ``tune-pid``: what runs on a node, and what is measured for it."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.complaints import FAILED
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError
from wattline.units import duration_s, in_full, power_w

if TYPE_CHECKING:
    from wattline.live.agent.config import AgentSettings
    from wattline.live.power.server.tune import Record


def agent(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="TOML file of the node; docs/live/agent.md has its keys.")
    ],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Show what would be used, hardware included; change nothing.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Keep the power of a node under the caps that a controller lends it.

    Reads power, turns server caps into limits of the processors, and tells
    how it is once a second. When the lease of a cap ends, the safe cap of
    the file is in force. SIGTERM puts back what was found.

    For example:

      wattline agent node.toml --check
    """
    from wattline.live.agent.agent import run
    from wattline.live.agent.config import read_settings

    terminal = Terminal(as_json, quiet)
    settings = read_settings(file)
    if check:
        told = _checked(settings)
        for line in _lines(told):
            terminal.line(line)
        terminal.data(told)
        return
    restored = run(settings, log=(lambda *_, **__: None) if quiet else None)
    if not restored:
        raise typer.Exit(FAILED)


def _checked(settings: AgentSettings) -> dict[str, Any]:
    """Return what an agent would use; hardware that cannot be used is an error."""
    from wattline.live.agent.look import look
    from wattline.live.agent.node import phase_s
    from wattline.live.agent.saved import Saved
    from wattline.live.agent.wires import bus_form

    nodes = []
    for node in settings.nodes:
        if settings.bus is not None:
            bus_form(settings, node.name)
        seen = look(node)
        least_w = seen["limit_bounds_w"][0]
        nodes.append(
            {
                **seen,
                "least_kept_w": least_w if seen["whole_server"] else node.model.server_w(least_w, node.memory_w),
                "safe_w": node.safe_w,
                "min_w": node.min_w,
                "max_w": node.max_w,
                "model": asdict(node.model),
                "pid": asdict(node.gains) | {"reach_w": node.reach_w, "lag_s": node.lag_s},
                "period_s": node.period_s,
                "phase_s": round(phase_s(node.name, node.period_s), 3),
                "longest_lease_s": node.longest_lease_s,
                "start": "free" if node.starts_free else "safe",
                "run_dir": str(node.run_dir),
                "to_restore": Saved(node.run_dir, node.name).load(),
            }
        )
    return {
        "file": settings.file,
        "site": settings.site,
        "controllers": list(settings.controllers),
        "operators": list(settings.operators),
        "jobs": None if settings.jobs is None else str(settings.jobs),
        "bus": None if settings.bus is None else str(settings.bus.get("kind", "zeromq")),
        "nodes": nodes,
    }


def _lines(told: dict[str, Any]) -> list[str]:
    bus = told["bus"] if told["bus"] is not None else "none: nobody is heard, the safe cap stays"
    heard = ", ".join(told["controllers"]) or "all whom the bus lets write"
    lines = [f"{told['file']}: site {told['site']}, bus {bus}, caps from {heard}"]
    for node in told["nodes"]:
        model, pid = node["model"], node["pid"]
        limit = "none in force" if node["limit_w"] is None else f"{node['limit_w']:g} W"
        least_w, most_w = node["limit_bounds_w"]
        lines += [
            f"{node['name']}:",
            *_hardware_lines(node),
            f"  limit    {limit} now; the hardware takes {least_w:g} to {most_w:g} W",
            f"  cap      {node['min_w']:g} to {node['max_w']:g} W, safe {node['safe_w']:g} W; starts {node['start']}",
        ]
        if not node["whole_server"]:
            phi = f"{model['phi_1']:g} CPU + {model['phi_2']:g} memory + {model['phi_3_w']:g} W"
            lines += [
                f"  model    {model['name']}: {phi}",
                f"  pid      kp {pid['kp']:g}, ki {pid['ki']:g}/s, kd {pid['kd']:g} s, reach {pid['reach_w']:g} W",
            ]
        lines += [
            f"  turn     every {node['period_s']:g} s, {node['phase_s']:g} s after its beginning",
            f"  lease    {node['longest_lease_s']:g} s at most",
            f"  files    {node['run_dir']}",
        ]
        if node["least_kept_w"] > node["min_w"]:
            lines.append(f"  note     caps below {node['least_kept_w']:.0f} W cannot be kept: no lower limit is taken")
        if node["to_restore"] is not None:
            lines.append("  restore  an agent before left limits to put back; this one would begin with the safe cap")
    return lines


def _hardware_lines(node: dict[str, Any]) -> list[str]:
    """Return what keeps the cap of a node and what is beside it."""
    hardware = node["hardware"]
    parts = ", ".join([*hardware.get("packages", []), *hardware.get("memory", [])])
    told = f": {parts}" if parts else ": the BMC keeps the cap of the whole server"
    lines = [f"  {hardware['kind']:<8} {hardware['where']}{told}"]
    lines += [f"           {note}" for note in hardware.get("left_out", [])]
    for gpu in node["gpus"]:
        bounds = gpu["limit_bounds_w"]
        taken = f"takes limits of {bounds[0]:g} to {bounds[1]:g} W" if bounds else "takes no limits"
        lines.append(f"  gpu      {gpu['name']} ({gpu['uuid']}): {_watts(gpu['power_w'])}; {taken}")
    if node["server_w"] is not None:
        lines.append(f"  power    {_watts(node['server_w'])} now")
    if node["second"] is not None:
        second = node["second"]
        lines.append(f"  meter    {second['kind']} {second['where']}: {_watts(second['server_w'])} now")
    if node["problems"]:
        lines.append(f"  faults   {', '.join(sorted(node['problems']))}")
    return lines


def _watts(watts: float | None) -> str:
    return "unknown" if watts is None else f"{watts:g} W"


def meters(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="TOML file of a node; without one: this machine's own meters."),
    ] = None,
    seconds: Annotated[
        int, typer.Option("--seconds", metavar="N", min=1, max=86400, help="Read so often, once a second.")
    ] = 1,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="CSV", help="Write packages, memory and second meter, for wattline calibrate."),
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what the power meters of a node say; nothing is changed.

    Without a file: the powercap tree and the GPUs of this machine. With the
    file of an agent: the hardware that it names, GPUs and second meter too.
    --write keeps pairs of both meters, from which calibrate fits a model.

    For example:

      wattline meters --seconds 5
    """
    from wattline.live.agent.config import read_settings
    from wattline.live.agent.look import watch, watch_here, write_pairs

    terminal = Terminal(as_json, quiet)
    if write is not None and file is None:
        raise InputError("--write: needs the file of a node with a second meter ([meter])")
    told = []
    for one in watch_here(seconds) if file is None else watch(read_settings(file), seconds):
        told.append(one)
        parts = [f"{key.removesuffix('_w')} {value:g} W" for key, value in one["power"].items() if value is not None]
        faults = f"   ({', '.join(sorted(one['problems']))})" if one["problems"] else ""
        terminal.line(f"{one['name']}: {', '.join(parts) or 'no reading'}{faults}")
        if one["note"]:
            terminal.say(f"{one['name']}: {one['note']}")
    if write is not None:
        terminal.line(f"{write_pairs(told, write)} pairs of readings written to {write}")
    terminal.data({"readings": told})


def calibrate(
    file: Annotated[
        Path, typer.Argument(metavar="READINGS", help="CSV with the columns cpu_w, server_w and, if known, memory_w.")
    ],
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write the model as a TOML profile for agents.")
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit the server power model to paired readings, and tell its error.

    server = phi_1 * processors + phi_2 * memory + phi_3, by least squares.
    Take readings of an idle server and of programs that load processors and
    memory differently. The error on held-out readings is that of each fifth
    of them by a model of the other four.

    For example:

      wattline calibrate readings.csv --write node.model.toml
    """
    from wattline.live.power.server.calibrate import calibrate as fit
    from wattline.live.power.server.model import write as write_profile

    terminal = Terminal(as_json, quiet)
    found = fit(file)
    model = found.model
    if not found.has_memory:
        terminal.say(f"{file}: has no column memory_w; phi_2 is 0 and phi_3 holds the mean power of the memory")
    terminal.line(
        f"phi_1 {in_full(model.phi_1, 4)}   phi_2 {in_full(model.phi_2, 4)}   phi_3 {in_full(model.phi_3_w, 4)} W"
    )
    for name, error in (("fit", found.fit), ("held out", found.held_out)):
        terminal.line(
            f"{name:<9} mean error {error.mean_percent:.2f} %, largest {error.max_percent:.2f} %, R² {error.r2:.5f}"
        )
    if write is not None:
        error = found.held_out
        errors = f"mean error {error.mean_percent:.2f} %, largest {error.max_percent:.2f} %"
        comment = f"Fitted by wattline calibrate to {found.readings} readings; held out: {errors}"
        write_profile(model, write, comment)
        terminal.line(f"written to {write}")
    terminal.data(asdict(found))


def tune_pid(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="RECORD", help="CSV of a step response: time_s, limit_w (packages), power_w (server)."),
    ] = None,
    period: Annotated[str, typer.Option("--period", metavar="TIME", help="Period of the agent.")] = "1 s",
    lag: Annotated[
        str, typer.Option("--lag", metavar="TIME", help="Lag of the emulated node, if no record is given.")
    ] = "0.3 s",
    noise: Annotated[str, typer.Option("--noise", metavar="POWER", help="Noise of the emulated node.")] = "2 W",
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="Server model of the emulated node.")
    ] = "gold-6132",
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find gains of the agent's PID from a step response.

    The response is a record of a busy server whose package limit was
    changed, or without one that of an emulated node. The nearest first-order
    plant gives the gains; rise, overshoot and settling are those of the
    closed loop with these gains and with the published ones.

    For example:

      wattline tune-pid step.csv --period "1 s"
    """
    from wattline.live.power.server.pid import Gains
    from wattline.live.power.server.tune import figures, gains_for, identify, read_record, respond

    terminal = Terminal(as_json, quiet)
    period_s = duration_s(period)
    if not 0.05 <= period_s <= 60.0:
        raise InputError(f"--period {period}: must be 0.05 s to 60 s")
    record = read_record(file) if file is not None else _emulated(duration_s(lag), power_w(noise), profile)
    plant = identify(record)
    gains = gains_for(plant, period_s)
    lasting_s = 60.0 * (period_s + plant.delay_s) + 20.0 * plant.lag_s
    terminal.line(
        f"plant: {in_full(plant.gain, 3)} W of server for 1 W of limit, time constant "
        f"{in_full(plant.lag_s, 2)} s, dead time "
        f"{in_full(plant.delay_s, 2)} s (left over: {in_full(plant.error_w, 2)} W)"
    )
    told = {}
    for name, tried in (("tuned", gains), ("published", Gains())):
        got = figures(*respond(plant, tried, period_s, lasting_s))
        told[name] = asdict(got) | asdict(tried)
        settled = f"{in_full(got.settle_s, 2)} s" if math.isfinite(got.settle_s) else "never"
        terminal.line(
            f"{name:<10} kp {in_full(tried.kp, 3)}, ki {in_full(tried.ki, 3)}/s, kd {in_full(tried.kd, 3)} s: "
            f"rise {in_full(got.rise_s, 2)} s, "
            f"overshoot {in_full(got.overshoot_percent, 2)} %, settles in {settled}"
        )
    terminal.line(f"[pid]\nkp = {gains.kp:.3g}\nki = {gains.ki:.3g}\nkd = 0.0\nlag = {plant.lag_s:.2g}")
    terminal.data({"plant": asdict(plant), "period_s": period_s, **told})


def _emulated(lag_s: float, noise_w: float, profile: str) -> Record:
    """Return the step response of an emulated node, read as an agent reads it, ten times a second."""
    import tempfile

    from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree
    from wattline.live.power.powercap import Powercap
    from wattline.live.power.server.model import profile as model_of
    from wattline.live.power.server.tune import Record, checked

    model = model_of(profile)
    if not 0.0 <= lag_s <= 60.0:
        raise InputError(f"--lag: must be 0 s to 60 s, not {lag_s:g} s")
    if not 0.0 <= noise_w <= 1000.0:
        raise InputError(f"--noise: must be 0 W to 1 kW, not {noise_w:g} W")
    times: list[float] = []
    limits: list[float] = []
    powers: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(folder)
        with Plant([FakeNode("n", root)], model=model, lag_s=lag_s, noise_w=noise_w) as plant:
            hardware = Powercap(root)
            plant.busy("n", 400.0, 100.0)
            half = 50 + round(100.0 * lag_s)  # samples until it has settled
            for i in range(4 * half):
                limit_w = 120.0 if (i // half) % 2 == 0 else 200.0
                plant.step(i / 10.0)
                reading = hardware.read(i / 10.0)
                hardware.set_limit(limit_w)
                if reading is not None and i >= half - 10:
                    times.append(i / 10.0)
                    limits.append(limit_w)
                    powers.append(model.server_w(reading.cpu_w, reading.memory_w))
    return checked(Record(times, limits, powers))
