"""``wattline keys``: key pairs for the bus of a site, and what a broker needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError

if TYPE_CHECKING:
    from wattline.live.bus.names import Role


def keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the keys; made if it is not there.")],
    site: Annotated[str, typer.Option("--site", metavar="NAME", help="Name of the site, as in the configurations.")],
    nodes: Annotated[
        list[str] | None,
        typer.Option("--node", "--nodes", metavar="NAMES", help="A node, or many: n[001-032]. May be repeated."),
    ] = None,
    controllers: Annotated[
        list[str] | None, typer.Option("--controller", metavar="NAME", help="A controller. May be repeated.")
    ] = None,
    gateways: Annotated[
        list[str] | None, typer.Option("--gateway", metavar="NAME", help="Who brings signals. May be repeated.")
    ] = None,
    operators: Annotated[
        list[str] | None,
        typer.Option("--operator", metavar="NAME", help="Who looks and switches off. May be repeated."),
    ] = None,
    *,
    mqtt: Annotated[
        bool, typer.Option("--mqtt", help="Make passwords and mosquitto's files instead of ZeroMQ's keys.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Make new keys for names that have some.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make the keys by which agents, controllers and others of a site know each other.

    Everybody gets DIR/secret/NAME.key (mode 600), to be copied to where NAME
    runs and nowhere else, and all get a copy of DIR/public.keys. With --mqtt
    it is DIR/secret/NAME.password, and for the broker mosquitto.acl and
    mosquitto.passwords. Nodes can be added later: names that have keys keep
    them.

    For example:

      wattline keys keys --site demo --controller controller --nodes n[001-032]
    """
    from wattline.live.bus.keys import make_keys
    from wattline.live.bus.mosquitto import make_broker
    from wattline.live.bus.names import nodes_of

    terminal = Terminal(as_json, quiet)
    wanted: list[tuple[Role, str]] = [("agent", name) for text in nodes or [] for name in nodes_of(text)]
    wanted += [("controller", name) for name in controllers or []]
    wanted += [("gateway", name) for name in gateways or []]
    wanted += [("operator", name) for name in operators or []]
    if not wanted:
        raise InputError("keys: whom for? give --node, --controller, --gateway or --operator")
    made = (make_broker if mqtt else make_keys)(folder, site, wanted, force=force)
    ending = "password" if mqtt else "key"
    few = made if len(made) <= 3 else [made[0], "…", made[-1]]
    terminal.line(f"{len(made)} made in {folder / 'secret'}: {', '.join(few)} (NAME.{ending}, mode 600)")
    terminal.line(
        f"for the broker: {folder / 'mosquitto.acl'}, {folder / 'mosquitto.passwords'}"
        if mqtt
        else f"for everybody: {folder / 'public.keys'}"
    )
    terminal.data({"folder": str(folder), "site": site, "names": made})
