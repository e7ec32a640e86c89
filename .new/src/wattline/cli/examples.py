"""``wattline examples`` and ``units``: files that ship with Wattline, copied to where a user can change them."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.files import shipped_examples

FIRST = "power-limit.toml"
"""The example that all instructions begin with."""
UNITS = Path("live") / "systemd"
"""Where among the examples the units of systemd and their configuration are."""
Force = Annotated[bool, typer.Option("--force", help="Overwrite files there that differ.")]


def shipped() -> Path:
    """Return the folder of examples: inside the package where it was installed from a wheel, else beside its
    sources.
    """
    found = shipped_examples(FIRST)
    if found is None:
        raise ScenarioError("this installation has no examples; install Wattline again")
    return found


def examples(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder to copy them to.")] = Path("examples"),
    *,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy the examples that ship with Wattline into a folder: scenarios, a plan, tables, a policy.

    For example:

      wattline examples

      wattline run examples/power-limit.toml
    """
    terminal = Terminal(as_json, quiet)
    files = copy(shipped(), folder, terminal, force=force)
    terminal.line(f"\ntry: wattline run {folder / FIRST}")
    terminal.data({"folder": str(folder), "files": files})


def units(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder to copy them to.")] = Path("units"),
    *,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy the units of systemd for controller and agents into a folder, with configuration and users.

    Nothing is installed or started: docs/live/install-slurm.md says where
    each file goes.

    For example:

      wattline units

      cp units/wattline-agent.service /etc/systemd/system
    """
    terminal = Terminal(as_json, quiet)
    files = copy(shipped() / UNITS, folder, terminal, force=force)
    terminal.line("\nnext: docs/live/install-slurm.md; they expect Wattline in /opt/wattline")
    terminal.data({"folder": str(folder), "files": files})


def copy(source: Path, folder: Path, terminal: Terminal, *, force: bool) -> list[str]:
    """Copy files that ship into a folder, tell their names, and return them; those that a user changed stay."""
    files = sorted(p.relative_to(source) for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    differ = [name for name in files if (folder / name).exists() and not _same(source / name, folder / name)]
    if differ and not force:
        more = f" and {len(differ) - 1} more" if len(differ) > 1 else ""
        raise ScenarioError(
            f"{folder / differ[0]}{more}: differs from the example; --force overwrites it, or give another folder"
        )
    for name in files:
        target = folder / name
        if target.exists() and name not in differ:
            continue
        _copy_one(source / name, target)
    for name in files:
        terminal.line(f"{folder / name}{_about(source / name)}")
    return [str(name) for name in files]


def _copy_one(source: Path, target: Path) -> None:
    """Copy a file whole or not at all."""
    temporary = target.with_name(f".{target.name}.writing-{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, temporary)
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as problem:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise ScenarioError(
            f"{target}: cannot be written ({problem.strerror or problem}); give another folder"
        ) from None


def _same(source: Path, target: Path) -> bool:
    return target.is_file() and target.read_bytes() == source.read_bytes()


def _about(path: Path) -> str:
    """Return what an example says of itself in its first line."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return f"  {first.lstrip('# ')}" if first.startswith("#") else ""
