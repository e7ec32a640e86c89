"""The commands of ``wattline`` and their order in the help."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from wattline.cli import (
    bids,
    budgets,
    compares,
    examples,
    looks,
    networks,
    plan,
    replays,
    runs,
    signals,
    sweeps,
    whatif,
)
from wattline.cli.configs import chosen as config_chosen
from wattline.cli.configs import commands as configs
from wattline.cli.configs import models as config_models
from wattline.cli.configs import response as config_response
from wattline.cli.configs import tables as config_tables
from wattline.cli.configs import variability as config_variability
from wattline.cli.live import agents, controllers, doctors, keys, launchers, status
from wattline.cli.live import demos as live_demos
from wattline.cli.live import replays as live_replays
from wattline.cli.telemetry import commands as telemetry
from wattline.cli.telemetry import join as telemetry_join
from wattline.cli.trace import commands as traces
from wattline.cli.trace import generate, kinds, power, profiles

app = typer.Typer(
    name="wattline",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Decide when, where and at what power every job of an HPC cluster runs: simulate, compare, report.",
    epilog="Start with: wattline examples (which copies them here), then wattline run examples/power-limit.toml",
)


def _version(wanted: bool) -> None:  # noqa: FBT001  (typer calls it)
    if wanted:
        from wattline.version import __version__

        typer.echo(f"wattline {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command()(examples.examples)
app.command()(runs.run)
app.command()(replays.replay)
app.command()(whatif.whatif)
app.command("replay-live")(live_replays.replay_live)
app.command()(compares.compare)
app.command()(sweeps.sweep)
app.command()(bids.bid)
app.command()(signals.signal)
traces.app.command()(generate.generate)
traces.app.command()(kinds.kinds)
traces.app.command()(power.power)
app.add_typer(traces.app, name="trace")
telemetry.app.command()(telemetry_join.join)
telemetry.app.command()(telemetry.sample)
app.add_typer(telemetry.app, name="telemetry")
app.add_typer(profiles.app, name="profiles")
app.command()(plan.plan)
app.command()(budgets.budget)
configs.app.command()(config_models.fit)
configs.app.command()(config_variability.variability)
configs.app.command()(config_response.response)
configs.app.command()(config_chosen.chosen)
configs.app.command()(config_tables.export)
configs.app.command("import")(config_tables.import_)
app.add_typer(configs.app, name="configs")
app.add_typer(networks.app, name="network")
app.command()(launchers.launcher)
app.command()(launchers.submit)
app.command()(launchers.jobs)
app.command()(launchers.cancel)
app.command()(agents.agent)
app.command()(agents.meters)
app.command()(agents.calibrate)
app.command("tune-pid")(agents.tune_pid)
app.command()(looks.policies)
app.command()(looks.report)
app.command()(looks.reproduce)
app.command()(keys.keys)
app.command()(controllers.controller)
app.command()(controllers.off)
app.command()(doctors.doctor)
app.command()(examples.units)
app.command("live-demo")(live_demos.live_demo)
app.command("check-policy")(looks.check_policy)
app.command()(status.status)
app.command()(status.dashboard)


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return as much of the program as a call needs: typer looks at all flags of all commands that it is given.

    That is the command that is called, or names and summaries alone for the program's own help. Whoever calls what
    there is not gets the whole, for what is similar.
    """
    if list(arguments) in ([], ["--help"]):
        return _with([_bare(c) for c in app.registered_commands], [_empty(g) for g in app.registered_groups])
    called = arguments[0]
    commands = [c for c in app.registered_commands if called == (c.name or getattr(c.callback, "__name__", ""))]
    groups = [g for g in app.registered_groups if called == g.name]
    return _with(commands, groups) if commands or groups else app


def _with(commands: list[Any], groups: list[Any]) -> typer.Typer:
    small = copy.copy(app)
    small.registered_commands, small.registered_groups = commands, groups
    return small


def _bare(command: Any) -> Any:
    """Return a command without its flags."""

    def nothing() -> None:
        pass

    bare = copy.copy(command)
    bare.callback = functools.update_wrapper(nothing, command.callback, ("__name__", "__doc__"), ())
    del nothing.__wrapped__  # type: ignore[attr-defined]  # where its flags would be found
    return bare


def _empty(group: Any) -> Any:
    """Return a group without its commands."""
    empty = copy.copy(group)
    empty.typer_instance = copy.copy(group.typer_instance)
    empty.typer_instance.registered_commands = []
    return empty
