"""A controller's file with everything that it names, read and checked: what would be used, and what is missing."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import InputError
from wattline.units import show_duration, show_power

if TYPE_CHECKING:
    from wattline.arrays import Floats
    from wattline.live.clock import Clock
    from wattline.live.controller.config import SiteSpec
    from wattline.scenario.documents import Document
    from wattline.scenario.study import Study


@dataclass(frozen=True)
class Planned:
    """A controller's file with everything that it names, read and checked; nothing is open yet."""

    path: Path
    spec: SiteSpec
    names: tuple[str, ...]
    study: Study
    left_out: tuple[str, ...] = ()
    """Parts of the scenario that tell how a simulation goes, and have no effect on a machine."""

    @property
    def base(self) -> Path:
        """Return the folder that relative paths count from."""
        return self.path.resolve().parent

    def lines(self) -> list[tuple[str, str]]:
        """Return what would be used, as (what, text)."""
        from wattline.live.controller.config import bus_settings
        from wattline.live.controller.managers import where
        from wattline.live.watch.socket import default_socket

        spec, study, guard = self.spec, self.study, self.spec.guard
        bus = bus_settings(self.path, spec)
        hard = "none" if guard.hard is None else show_power(guard.hard)
        classes = ", ".join(f"{c.count} × {c.name} ({c.idle_w:g} to {c.max_w:g} W)" for c in study.cluster.classes)
        policies = ", ".join(f"{m.slot} {m.name}" for m in study.policies.slots() if m.wake or m.slot == "place")
        return [
            ("site", f"{spec.site}, as {spec.name}"),
            ("nodes", f"{len(self.names)}: {self.names[0]} … {self.names[-1]}"),
            ("machine", classes),
            ("policies", policies),
            ("kinds", ", ".join(kind.name for kind in study.options.kinds) or "none"),
            ("moldable", ", ".join(m.truth.application for m in study.options.configurations) or "none"),
            *([("left out", f"of {spec.scenario}: {', '.join(self.left_out)}")] if self.left_out else []),
            ("resource manager", where(spec.manager, self.base)),
            ("signal", spec.signal.y + ("" if spec.signal.file is None else f" {self.base / spec.signal.file}")),
            ("pushes by HTTP", "no (no token)" if spec.signal.token is None else f"at {spec.signal.listen}"),
            *([] if spec.openadr is None else [("OpenADR", f"{spec.openadr.ven} at {spec.openadr.vtn}")]),
            ("bid", self._bid()),
            ("limit", _limit(self)),
            ("guard", f"hard limit {hard}, margin {show_power(guard.margin)}"),
            ("period", f"{spec.control.period:g} s, caps {spec.control.caps:g} s, lease {spec.control.lease:g} s"),
            ("bus", f"{bus.kind} " + (bus.listen or "" if bus.kind == "zeromq" else f"{bus.host}:{bus.port}")),
            ("journal", str(self.base / spec.journal.dir)),
            (
                "status",
                str(default_socket(spec.site) if spec.status.socket is None else self.base / spec.status.socket),
            ),
            ("metrics", spec.metrics.listen or "none"),
            ("logs", "standard error" if spec.logs.file is None else str(self.base / spec.logs.file)),
            ("clock", "the machine's own" if spec.clock.speed == 1.0 else f"{spec.clock.speed:g} times as fast"),
        ]

    def _bid(self) -> str:
        bid = self.spec.bid
        if bid is not None:
            return f"mean {show_power(bid.mean)}, reserve {show_power(bid.reserve)}"
        bidding = self.study.options.bidding
        if bidding is not None:
            return f"made by {self.study.policies.bid.name} every {show_duration(bidding.every_s)}"
        steps = [b for _, b in self.study.options.bids if b is not None]
        return f"{len(steps)} of the scenario" if steps else "none"


def plan_site(path: Path | str, name: str | None = None) -> Planned:
    """Read and check a controller's file and its scenario; ``name`` is that of another controller of the file."""
    from wattline.live.controller.config import node_names, read_site
    from wattline.scenario.choices import variants
    from wattline.scenario.documents import read_scenario
    from wattline.scenario.study import wire

    path = Path(path)
    spec = read_site(path, name)
    names = node_names(path, spec)
    document = read_scenario(path.resolve().parent / spec.scenario)
    found = variants(document)
    if len(found) != 1:
        raise InputError(f"{path}: scenario: {spec.scenario} stands for {len(found)} runs, a controller needs one")
    study = wire(found[0])
    _refuse_unled(path, document, study)
    if study.cluster.nodes != len(names):
        raise InputError(
            f"{path}: nodes: {len(names)} names, but the machine of {spec.scenario} has {study.cluster.nodes} nodes"
        )
    if study.options.kinds and spec.default_kind not in ("", *(kind.name for kind in study.options.kinds)):
        raise InputError(f"{path}: default_kind: {spec.default_kind!r} is no kind of {spec.scenario}")
    planned = Planned(path, spec, names, study, _left_out(document))
    _check_watts(planned)
    return planned


def _refuse_unled(path: Path, document: Document, study: Study) -> None:
    """Refuse what a controller would have to keep to and cannot: limits over time, counted resources, many settings."""
    from wattline.scenario.read.steps import parse_step

    spec = document.spec
    told = f"{path}: scenario: {document.source.file}"
    later = any(parse_step(step)[0] > 0 for step in spec.limit.steps) or spec.limit.warmup > 0
    if later or len({watts for _, watts in study.options.limit_w}) > 1:
        raise InputError(
            f"{told} has a limit that changes over time, and a controller takes one; it is changed while it runs "
            "([signal], OpenADR, pushes by HTTP)"
        )
    if spec.resource:
        raise InputError(f"{told} has [[resource]] {spec.resource[0].name!r}, which a controller does not count")
    if spec.sweep is not None:
        raise InputError(f"{told} lists settings in [sweep], a controller needs one")


def _left_out(document: Document) -> tuple[str, ...]:
    """Return the parts of a scenario that only a simulation has: the machine itself has the rest."""
    spec = document.spec
    cluster = spec.cluster
    only_simulated = {
        "[[cluster.outage]]": bool(cluster.outage),
        "[cluster.failures]": cluster.failures is not None,
        "sleep": cluster.sleep is not None or any(one.sleep is not None for one in cluster.class_),
        "[late]": spec.late is not None,
        "[prices]": spec.prices is not None,
        "share of [[network.job]]": spec.network is not None and any(job.share > 0 for job in spec.network.job),
        **{f"[run] {key}": True for key in sorted(spec.run.model_fields_set)},
    }
    return tuple(name for name, given in only_simulated.items() if given)


def _check_watts(planned: Planned) -> None:
    """Refuse rules under which nothing could run: each is told by its key."""
    from wattline.live.controller.config import or_infinite

    spec, limit_w = planned.spec, min(site_limit_w(planned), or_infinite(planned.spec.guard.hard))
    rest_w = sum(c.count * c.idle_w for c in planned.study.cluster.classes)
    for key, watts in (("[signal] limit", spec.signal.limit), ("[guard] hard", spec.guard.hard)):
        if or_infinite(watts) < rest_w:
            raise InputError(
                f"{planned.path}: {key}: {show_power(or_infinite(watts))}, but all nodes at rest draw "
                f"{show_power(rest_w)}: no job could ever start"
            )
    if spec.guard.margin >= limit_w:
        raise InputError(
            f"{planned.path}: [guard] margin: {show_power(spec.guard.margin)} leave nothing of the limit, "
            f"{show_power(limit_w)}"
        )
    if spec.signal.least > limit_w:
        raise InputError(
            f"{planned.path}: [signal] least: {show_power(spec.signal.least)} are above the limit, "
            f"{show_power(limit_w)}"
        )


def missing(planned: Planned) -> list[str]:
    """Return what a controller needs and is not there yet, a line each; raise where something there is wrong."""
    from wattline.live.bus.keys import load_known, load_pair
    from wattline.live.controller.config import bus_settings
    from wattline.live.controller.managers import look_at, open_manager
    from wattline.live.machine.base import ManagerError
    from wattline.live.machine.settings import find_manager
    from wattline.live.secret import handed_over, read_token
    from wattline.live.signals.adr_wire import need_openleadr
    from wattline.live.signals.file import read_replay

    spec, base, lines = planned.spec, planned.base, []
    bus = bus_settings(planned.path, spec)
    token = None if spec.signal.token is None else handed_over(base / spec.signal.token)
    for path, how in ((bus.key, "wattline keys"), (bus.known, "wattline keys"), (bus.password, "wattline keys --mqtt")):
        if path is not None and not path.exists():
            lines.append(f"{path}: no such file; {how} makes it")
    if bus.kind == "zeromq" and not bus.insecure and bus.key is not None and bus.known is not None and not lines:
        load_pair(bus.key)
        known = load_known(bus.known).roles
        if known.get(spec.name) != "controller":
            raise InputError(f"{bus.known}: has no controller of the name {spec.name!r} ({planned.path}: name)")
        strangers = [name for name in planned.names if known.get(name) != "agent"]
        if strangers:
            lines.append(f"{bus.known}: has no key of {len(strangers)} nodes, {strangers[0]} the first")
    if token is not None and not token.exists():
        lines.append(f"{token}: no such file, the token for pushes by HTTP")
    elif token is not None:
        read_token(token)
    if spec.openadr is not None:
        need_openleadr()
    if spec.signal.y == "file" and spec.signal.file is not None:
        read_replay(base / spec.signal.file, start_s=0.0, column=spec.signal.column, step_s=spec.signal.step)
    try:
        with closing(open_manager(spec.manager, base, make_clock(spec), act=False)) as manager:
            shown, _ = look_at(manager)
    except ManagerError as problem:
        return [*lines, str(problem)]
    unknown = [name for name in planned.names if name not in shown]
    if unknown:
        who = find_manager(spec.manager.kind).words
        lines.append(f"{who} does not have {len(unknown)} of the nodes, {unknown[0]} the first: they count as down")
    return lines


def manager_notes(planned: Planned) -> list[str]:
    """Return what the resource manager cannot do or does late, a line each; nothing where it does not answer."""
    from wattline.live.controller.managers import look_at, open_manager
    from wattline.live.machine.base import ManagerError

    try:
        with closing(open_manager(planned.spec.manager, planned.base, make_clock(planned.spec), act=False)) as manager:
            return list(look_at(manager)[1])
    except ManagerError:
        return []


def make_clock(spec: SiteSpec) -> Clock:
    """Return the clock of the machine."""
    from wattline.live.clock import Clock

    return Clock(spec.clock.speed, math.nan if spec.clock.origin is None else spec.clock.origin)


def most_w(planned: Planned) -> Floats:
    """Return what each node can draw at most."""
    import numpy as np

    return np.concatenate([np.full(c.count, c.max_w) for c in planned.study.cluster.classes])


def own_limit_w(planned: Planned) -> float:
    """Return the limit that the site has given itself, in its file or in its scenario at the begin (infinite: none)."""
    from wattline.live.controller.config import or_infinite

    steps = sorted(planned.study.options.limit_w)
    return min(or_infinite(planned.spec.signal.limit), float(steps[0][1]) if steps else math.inf)


def _limit(planned: Planned) -> str:
    """Say the site's own limit, beside what all nodes draw together: targets are parts of the lower one."""
    own_w, together_w = own_limit_w(planned), show_power(float(most_w(planned).sum()))
    own = show_power(own_w) if math.isfinite(own_w) else "none"
    return f"{own}; all nodes together draw {together_w} at most"


def site_limit_w(planned: Planned) -> float:
    """Return what load targets are parts of: the site's own limit, or what all nodes draw together if that is less."""
    return min(own_limit_w(planned), float(most_w(planned).sum()))
