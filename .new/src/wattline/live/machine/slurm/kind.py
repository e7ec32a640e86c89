"""Slurm as a kind of resource manager: its keys of ``[manager]``, and how it is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import InputError

if TYPE_CHECKING:
    from wattline.live.clock import Clock
    from wattline.live.machine.base import ResourceManager
    from wattline.live.machine.settings import ManagerSpec
    from wattline.live.machine.slurm.commands import Commands
    from wattline.live.machine.slurm.rules import Rules


class Slurm:
    """A Slurm of the site, by its commands or by REST."""

    name = "slurm"
    words = "Slurm"
    one = "Slurm"
    by_the_wall = True
    needs: Mapping[str, str] = {}
    keys = frozenset(
        {
            "conf",
            "bin",
            "rest",
            "token",
            "partitions",
            "leave_partitions",
            "leave_accounts",
            "leave_users",
            "stop",
            "stop_again",
            "limit_again",
            "most_per_second",
            "power",
        }
    )

    def problems(self, spec: ManagerSpec) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the address of REST and its token."""
        from wattline.live.machine.slurm.rest import check_address

        if (spec.rest is None) != (spec.token is None):
            absent = "token" if spec.token is None else "rest"
            yield absent, "is missing, Slurm's REST interface needs an address and a token"
        if spec.rest is not None:
            try:
                check_address(spec.rest)
            except InputError as problem:
                yield "rest", str(problem).removeprefix("rest: ")

    def open(self, spec: ManagerSpec, base: Path, clock: Clock, *, timeout_s: float, act: bool) -> ResourceManager:
        """Open it; its jobs are held only by one that acts."""
        from wattline.live.machine.slurm.manager import SlurmManager

        return SlurmManager(commands_of(spec, base, timeout_s), _rules(spec), clock, act)

    def where(self, spec: ManagerSpec, base: Path) -> str:
        """Return which Slurm it is, and what of it is left alone."""
        left = [*spec.leave_partitions, *spec.leave_accounts, *spec.leave_users]
        return "; ".join(
            [
                "slurm of " + ("its own slurm.conf" if spec.conf is None else str((base / spec.conf).resolve())),
                *([] if spec.rest is None else [f"REST at {spec.rest}"]),
                "partitions " + (", ".join(spec.partitions) or "all"),
                "left alone " + (", ".join(left) or "nobody"),
                f"stops {spec.stop}",
            ]
        )


def commands_of(spec: ManagerSpec, base: Path, timeout_s: float) -> Commands:
    """Return how Slurm is talked to: by its commands, or by REST as far as that goes."""
    from wattline.live.machine.slurm.commands import Commands

    conf = None if spec.conf is None else (base / spec.conf).resolve()
    folder = None if spec.bin is None else (base / spec.bin).resolve()
    if spec.rest is None or spec.token is None:
        return Commands(conf, folder, timeout_s)
    from wattline.live.machine.slurm.rest import RestCommands, Token

    # not a credential of systemd: that would be the token of the service's start, which expires
    return RestCommands(conf, folder, timeout_s, rest=spec.rest, token=Token((base / spec.token).resolve()))


def _rules(spec: ManagerSpec) -> Rules:
    """Return which jobs are ours, and how they are treated."""
    from wattline.live.machine.slurm.rules import Rules

    return Rules(
        partitions=frozenset(spec.partitions),
        leave_partitions=frozenset(spec.leave_partitions),
        leave_accounts=frozenset(spec.leave_accounts),
        leave_users=frozenset(spec.leave_users),
        stop=spec.stop,
        power_w=dict(spec.power),
        most_per_s=float(spec.most_per_second),
        stop_again_s=spec.stop_again,
        limit_again_s=spec.limit_again,
    )


MANAGER = Slurm()
