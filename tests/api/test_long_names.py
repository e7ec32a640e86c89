"""Names that no file can have are an error of Wattline's, in one short line, whoever is given them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import wattline as wl

LONG = "x" * 5000
JOBS = wl.from_frame({"submit_s": [0], "work_s": [1], "nodes": [1]})


def _load(folder: Path) -> object:
    (folder / "long.toml").write_text(f'[trace]\nfile = "{LONG}"\n[cluster]\nnodes = 4\n')
    return wl.load(folder / "long.toml").simulate(progress=False)


def _select(folder: Path) -> object:
    return wl.simulate(JOBS, wl.Machine(nodes=2), select=str(folder / f"{LONG}.py"), progress=False)


CALLS: dict[str, Callable[[Path], object]] = {
    "read_trace": lambda folder: wl.read_trace(folder / LONG),
    "read_run": lambda folder: wl.read_run(folder / LONG),
    "simulate": lambda folder: wl.simulate(folder / LONG, progress=False),
    "check": lambda folder: wl.check(folder / f"{LONG}.py"),
    "check no file": lambda folder: wl.check(LONG),
    "whatif": lambda _: wl.whatif(JOBS, wl.Machine(nodes=2, idle=90, max=350), price=LONG),
    "load": _load,
    "select": _select,
}


@pytest.mark.parametrize("who", CALLS)
def test_too_long_a_name_is_refused(tmp_path: Path, who: str) -> None:
    """A name that the system finds too long raises a WattlineError of one line."""
    with pytest.raises(wl.WattlineError) as caught:
        CALLS[who](tmp_path)
    assert "\n" not in str(caught.value)
