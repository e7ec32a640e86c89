"""``wattline network``: facts of a machine's network, and a picture of it with the jobs that are on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.paths import say_cut
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError, shorten
from wattline.model.networks import KINDS
from wattline.units import bandwidth_bps, duration_s, show_duration

if TYPE_CHECKING:
    from wattline.model.networks.base import Network
    from wattline.report.figures.network import Placed

app = typer.Typer(no_args_is_help=True, help="Networks: what a machine can carry, and where jobs are on it.")

MOST_JOBS = 100_000

Topology = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY",
        help=f"Kind and sizes, like dragonfly:4x4x17 ({', '.join(KINDS)}: see wattline network kinds).",
    ),
]
Links = Annotated[
    list[str] | None,
    typer.Option(
        "--links",
        metavar="KIND=BANDWIDTH",
        help='Bandwidth of a kind of link, e.g. global="2 Gbit/s" (default 8 Gbit/s). May be repeated.',
    ),
]


@app.command()
def show(topology: Topology, links: Links = None, *, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what a network is made of, how far its nodes are apart, and when its links are full.

    For example:

      wattline network show dragonfly:4x8x33

      wattline network show dragonfly:4x4x17:circulant --links global="2 Gbit/s"
    """
    from wattline.report.pages.network import fact_data, fact_table

    terminal = Terminal(as_json, quiet)
    network = _network(topology, links)
    if terminal.for_people:
        terminal.show(fact_table(network))
    terminal.data(fact_data(network))


@app.command()
def kinds(*, as_json: Json = False, quiet: Quiet = False) -> None:
    """List the kinds of network, how each is written, and which bandwidths it has.

    For example:

      wattline network kinds
    """
    from rich.table import Table

    from wattline.model.networks import find_network

    terminal = Terminal(as_json, quiet)
    found = [find_network(kind) for kind in KINDS]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("how it is written", "a word that may follow", "--links"):
        table.add_column(title, overflow="fold")
    for one in found:
        links = ", ".join(name.removesuffix("_bps") for name in one.bandwidths)
        table.add_row(one.form(), ", ".join(one.variants[1:]), links)
    terminal.show(table)
    terminal.data(
        [
            {"kind": one.kind, "form": one.form(), "variants": one.variants, "bandwidths": one.bandwidths}
            for one in found
        ]
    )


@app.command()
def draw(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TOPOLOGY|JOURNAL", help="A network, on which --job places jobs, or the journal of a run."
        ),
    ],
    job: Annotated[
        list[str] | None,
        typer.Option("--job", metavar="NODES", help="Place a job of so many nodes; 4x16: four of 16. May be repeated."),
    ] = None,
    place: Annotated[str | None, typer.Option(help="Place policy for --job (default: level-spread).")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of place policies that draw at random (default: 1).")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Time in the journal since its run began, e.g. "2 h" (default: its middle).'),
    ] = None,
    network: Annotated[
        str | None, typer.Option(metavar="TOPOLOGY", help="Network of a journal whose scenario named none.")
    ] = None,
    links: Links = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="HTML file to write.")] = Path("network.html"),
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a network: its groups, routers and nodes, coloured by the jobs on them.

    For example:

      wattline network draw dragonfly:4x4x17 --job 64 --job 4x16 --place rrn

      wattline network draw out/net --at "1 h" --out placed.html
    """
    terminal = Terminal(as_json, quiet)
    if ":" not in what and Path(what).exists():
        for flag, given in (("--job", job and job[0]), ("--place", place), ("--seed", seed)):
            if given is not None:
                raise ScenarioError(f"{flag} {given}: a journal has jobs of its own; {flag} goes with a network")
        if links and network is None:
            raise ScenarioError(f"--links {links[0]}: goes with --network; the journal tells its own links")
        _draw_journal(Path(what), at, network, links, out, terminal)
        return
    if at is not None or network is not None:
        flag = f"--at {at}" if at is not None else f"--network {network}"
        raise ScenarioError(f"{flag}: goes with a journal, and there is no folder {shorten(what)}")
    wired = _network(what, links)
    place, seed = place or "level-spread", 1 if seed is None else seed
    placed = _place(wired, job or [], place, seed)
    about = [("network", what), ("placed by", place if placed else None), ("seed", seed if placed else None)]
    _write(wired, placed, wired.nodes, None, f"{what}, placed by {place}" if placed else what, about, out, terminal)


@app.command()
def check(
    journal: Annotated[
        Path,
        typer.Argument(metavar="JOURNAL", help="Journal of a run in which the speed of jobs depends on the network."),
    ],
    instants: Annotated[int, typer.Option(min=1, max=1000, help="Instants of the run to look at, evenly spread.")] = 5,
    routing: Annotated[
        str, typer.Option(help="Routing of packets: minimal, valiant, adaptive-local or ugal.")
    ] = "minimal",
    crossbar: Annotated[float, typer.Option(min=1, help="Speed of crossbars over that of links.")] = 4.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of task mappings and phases.")] = 1,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hold the slowdowns of a run against the packet engine: all jobs of an instant, side by side.

    For example:

      wattline network check out/placed --instants 3
    """
    from wattline.journal.journal import open_journal
    from wattline.model.networks import from_entry
    from wattline.model.networks.dragonfly import Dragonfly
    from wattline.report.pages.neighbours import check_data, check_table, judge

    terminal = Terminal(as_json, quiet)
    say_cut(journal, terminal)
    run = open_journal(journal)
    network = from_entry(run.manifest["cluster"].get("network"))
    if not isinstance(network, Dragonfly):
        raise ScenarioError(f"{journal}: packets are simulated on dragonflies only, and its machine has none")
    rows = judge(run, network, instants, routing=routing, crossbar=crossbar, seed=seed)
    if terminal.for_people:
        terminal.show(check_table(rows))
    terminal.data(check_data(rows))


def _network(text: str, links: list[str] | None) -> Network:
    from wattline.model.networks import parse_network

    given = {}
    for pair in links or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise ScenarioError(f'--links {pair}: expected a kind of link and its bandwidth, like global="2 Gbit/s"')
        if f"{name.strip()}_bps" in given:
            raise ScenarioError(f"--links {pair}: {name.strip()} is given already; give it once")
        given[f"{name.strip()}_bps"] = bandwidth_bps(value)
    return parse_network(text, given)


def _place(network: Network, texts: list[str], policy: str, seed: int) -> list[Placed]:
    """Place jobs one after another."""
    from wattline.policies.place.allocate import allocate_all
    from wattline.report.figures.network import Placed

    sizes: list[int] = []
    for text in texts:
        match = re.fullmatch(r"\s*(?:(\d+)\s*[x×]\s*)?(\d+)\s*", text)
        if match is None or int(match[1] or 1) == 0:
            raise ScenarioError(f"--job {text}: expected a number of nodes, or how many jobs of how many, like 4x16")
        sizes += [int(match[2])] * min(int(match[1] or 1), MOST_JOBS)
        if len(sizes) > MOST_JOBS:
            raise ScenarioError(f"--job {text}: at most {MOST_JOBS:,} jobs are drawn")
    return [Placed(f"job {number}", nodes) for number, nodes in enumerate(allocate_all(policy, network, sizes, seed))]


def _draw_journal(
    folder: Path, at: str | None, text: str | None, links: list[str] | None, out: Path, terminal: Terminal
) -> None:
    from wattline.journal.journal import open_journal
    from wattline.journal.occupancy import occupancy
    from wattline.model.networks import from_entry
    from wattline.report.figures.network import Placed

    say_cut(folder, terminal)
    journal = open_journal(folder)
    about = journal.manifest
    nodes = int(about["cluster"]["nodes"])
    wired = _network(text, links) if text is not None else from_entry(about["cluster"].get("network"))
    if wired is None:
        raise ScenarioError(
            f"{folder}: its machine has no network; say which to draw it on, e.g. --network flat:{nodes}"
        )
    if wired.nodes < nodes:
        raise ScenarioError(f"--network {text}: has room for {wired.nodes} nodes, the run had {nodes}")
    after_s = (about["end_s"] - about["start_s"]) / 2 if at is None else duration_s(at)
    there = occupancy(journal, after_s)
    placed = [
        Placed(f"job {number}" + (f" ({kind})" if kind else ""), held)
        for number, kind, held in zip(there.job_id, there.kind, there.nodes, strict=True)
    ]
    when = show_duration(after_s)
    said = [("run", about["name"]), ("at", f"{when} after its beginning"), ("placed by", about["policies"]["place"])]
    _write(wired, placed, nodes, there.out, f"{about['name']} after {when}", said, out, terminal)


def _write(
    network: Network,
    placed: list[Placed],
    nodes: int,
    off: object,
    title: str,
    said: Sequence[tuple[str, object]],
    out: Path,
    terminal: Terminal,
) -> None:
    import numpy as np

    from wattline.report.pages.network import job_rows, network_page

    gone = np.empty(0, dtype=np.int64) if off is None else np.asarray(off)
    page = network_page(network, placed, nodes, gone, title, said).write(out)
    terminal.line(f"drawing  {page}")
    terminal.data({"drawing": str(page), "jobs": job_rows(network, placed)})
