"""The page on the controller has every key of its file, and its example can be checked."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from test_docs_commands import ROOT, follow

from wattline.api.site.plan import plan_site
from wattline.errors import InputError
from wattline.live.controller.config import SiteSpec, read_site

PAGE = (ROOT / "docs" / "live" / "controller.md").read_text()
SMALL = ("status", "metrics", "logs", "clock")
"""Sections that share a table."""


def rows(section: str) -> dict[str, str]:
    """Return key and default of the rows below a heading."""
    text = PAGE.partition(f"\n### {section}\n")[2].partition("\n### ")[0]
    found = re.findall(r"^\| `(\w+)` \| (?:[^|]*) \| ?([^|]*) ?\| ([^|]*) \|$", text, re.MULTILINE)
    return {key: default.strip() for key, default, _ in found}


def default(model: type[BaseModel], key: str) -> str:
    """Return how the page should write a default."""
    value: Any = model.model_fields[key].default
    unit = {"hard": "W", "margin": "W", "least": "W", "ramp_up": "W", "ramp_down": "W", "speed": ""}.get(key, "s")
    if value is PydanticUndefined:
        return "*required*"
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{value}`" if isinstance(value, int | list | dict) else f"`{value:g} {unit}".rstrip() + "`"


def section(name: str) -> type[BaseModel]:
    """Return the form of a section."""
    inner: Any = SiteSpec.model_fields[name].annotation
    return next(a for a in (inner, *getattr(inner, "__args__", ())) if hasattr(a, "model_fields"))


TABLES = ["control", "guard", "signal", "openadr", "bid", "manager", "journal"]


@pytest.mark.parametrize("name", TABLES)
def test_every_key_of_a_section_has_a_row_with_its_default(name: str) -> None:
    """Keys, their order and their defaults are those of the form."""
    model = section(name)
    assert rows(f"`[{name}]`") == {key: default(model, key) for key in model.model_fields}


def test_every_section_and_key_of_the_site_is_there() -> None:
    """The keys before the first section, the small sections, and no section is left out."""
    own = [key for key in SiteSpec.model_fields if key not in (*TABLES, *SMALL, "bus")]
    assert rows("The site") == {key: default(SiteSpec, key) for key in own}
    expected = {key: default(section(name), key) for name in SMALL for key in section(name).model_fields}
    assert rows("`[status]`, `[metrics]`, `[logs]`, `[clock]`") == expected
    assert "### `[bus]`" in PAGE


def test_the_example_is_sound(tmp_path: Path) -> None:
    """The page's command works on the example, which says what is not there yet."""
    shutil.copytree(ROOT / "examples" / "live", tmp_path / "examples" / "live")
    (checked,) = follow("live/controller.md", tmp_path)
    assert re.search(r"nodes +32: n001 … n032", checked.out)
    assert re.search(r"limit +9 kW", checked.out)
    assert sum(line.startswith("not there yet") for line in checked.out.splitlines()) == 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('listen = "tcp', 'lisen = "tcp', "[bus] lisen: unknown key; did you mean 'listen'?"),
        ('listen = "tcp://127.0.0.1:7411"', "", "[bus] give controllers = "),
        ("tcp://127.0.0.1", "tcp://0.0.0.0", "can be reached from other machines"),
        ('lease = "10 s"', 'lease = "2 s"', "[control] lease: must be three periods"),
        ('lease = "10 s"', 'lease = "2 h"', "[control] lease: must be three periods (3 s) at least and at most 3600 s"),
        ('lease = "10 s"', 'lease = "10 s"\nsilent = "1e9 s"', "[control] silent: must be 3600 s at most"),
        ('caps = "250 ms"', 'caps = "1e-6 s"', "[control] caps: must be 0.01 s at least"),
        ("[manager]", '[signal]\nlisten = "nowhere"\n[manager]', "[signal] listen: expected an address like"),
        ('site = "demo"', 'site = "demo"\nstandby = true', "standby: unknown key"),
        ('kind = "launcher"', 'kind = "slurm"', '[manager] run_dir: is a key of kind = "launcher"'),
        ('run_dir = "launcher-run"', "", "[manager] run_dir: is missing"),
        ('run_dir = "launcher-run"', 'run_dir = "r"\nstop = "all"', '[manager] stop: is a key of kind = "slurm"'),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    """File, section, key and what to do, before anything is started."""
    text = (ROOT / "examples" / "live" / "site.toml").read_text()
    assert old in text
    (tmp_path / "site.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_site(tmp_path / "site.toml")
    assert str(caught.value).startswith(f"{tmp_path / 'site.toml'}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('margin = "200 W"', 'margin = "9 kW"', "[guard] margin: 9 kW leave nothing of the limit, 9 kW"),
        ("[guard]", '[signal]\nleast = "9.2 kW"\n[guard]', "[signal] least: 9.2 kW are above the limit, 9 kW"),
        ('hard = "9.5 kW"', 'hard = "150 W"', "[guard] hard: 150 W, but all nodes at rest draw 3.2 kW"),
    ],
)
def test_rules_under_which_nothing_runs_are_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    """Margins and least limits are held against the limit of the scenario and the hard one."""
    shutil.copytree(ROOT / "examples" / "live", tmp_path / "live")
    site = tmp_path / "live" / "site.toml"
    assert plan_site(site).spec.guard.margin == 200.0
    site.write_text(site.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(told)):
        plan_site(site)
