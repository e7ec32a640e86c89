"""``wattline examples``: the examples that ship with Wattline, copied to where a user can run and change them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError

FIRST = "power-limit.toml"
"""The example that all instructions begin with."""


def shipped() -> Path:
    """Return the folder of examples: inside the package where it was installed from a wheel, else beside its
    sources.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / FIRST).is_file():
            return folder
    raise ScenarioError("this installation has no examples; install Wattline again")


def examples(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder to copy them to.")] = Path("examples"),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files there that differ.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy the examples that ship with Wattline into a folder: scenarios, a plan, tables, a policy.

    For example:

      wattline examples

      wattline run examples/power-limit.toml
    """
    terminal = Terminal(as_json, quiet)
    source = shipped()
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
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
        target.chmod(0o644)
    for name in files:
        terminal.line(f"{folder / name}{_about(source / name)}")
    terminal.line(f"\ntry: wattline run {folder / FIRST}")
    terminal.data({"folder": str(folder), "files": [str(name) for name in files]})


def _same(source: Path, target: Path) -> bool:
    return target.is_file() and target.read_bytes() == source.read_bytes()


def _about(path: Path) -> str:
    """Return what an example says of itself in its first line."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return f"  {first.lstrip('# ')}" if first.startswith("#") else ""
