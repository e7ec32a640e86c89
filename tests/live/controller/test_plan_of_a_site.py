"""A controller takes, refuses or names as left out what its scenario says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wattline.api.site.plan import plan_site
from wattline.errors import InputError

ROOT = Path(__file__).parents[3]
MACHINE = (ROOT / "examples" / "live" / "machine.toml").read_text()
LIMIT = 'power = "9 kW"             # the site\'s own limit\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the example's file of a controller, on a bus without keys."""
    text = (ROOT / "examples" / "live" / "site.toml").read_text()
    text = re.sub(r"^key = .*$|^known = .*$", "", text, flags=re.MULTILINE) + "insecure = true\n"
    (tmp_path / "site.toml").write_text(text)
    (tmp_path / "machine.toml").write_text(MACHINE)
    return tmp_path / "site.toml"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (LIMIT, 'steps = [["0 s", "6 kW"], ["5 s", "9 kW"]]\n', "has a limit that changes over time"),
        (LIMIT, 'steps = [["5 s", "9 kW"]]\n', "has a limit that changes over time"),
        (LIMIT, LIMIT + 'warmup = "10 d"\n', "has a limit that changes over time"),
        (
            "[limit]\n" + LIMIT,
            '[[budget]]\nname = "site"\nsystem = true\nsteps = [["0 s", "6 kW"], ["1 h", "9 kW"]]\n',
            "has a limit that changes over time",
        ),
        (
            "[limit]\n",
            '[[resource]]\nname = "licences"\ntotal = 1\namount = 1\n[limit]\n',
            r"has \[\[resource\]\] 'licences'",
        ),
        ("[limit]\n", '[sweep]\n"limit.power" = ["6 kW", "9 kW"]\n[limit]\n', r"lists settings in \[sweep\]"),
    ],
)
def test_what_a_controller_cannot_keep_to_is_refused(site: Path, old: str, new: str, said: str) -> None:
    """Each in one line with both files, by --check and before it leads."""
    assert old in MACHINE
    (site.parent / "machine.toml").write_text(MACHINE.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"site\.toml: scenario: .*machine\.toml {said}"):
        plan_site(site)


@pytest.mark.parametrize(("section", "key"), [("signal", "limit"), ("guard", "hard")])
def test_a_limit_below_what_idle_nodes_draw_is_refused(site: Path, section: str, key: str) -> None:
    """Whichever file says it: under such a limit no job could ever start."""
    text = re.sub(rf"^{key} = .*$", "", site.read_text(), flags=re.MULTILINE)
    head = f"[{section}]\n"
    text = text if head in text else f"{text}\n{head}"
    site.write_text(text.replace(head, f'{head}{key} = "1 W"\n', 1))
    with pytest.raises(InputError, match=rf"\[{section}\] {key}: 1 W, but all nodes at rest draw"):
        plan_site(site)


def test_what_only_a_simulation_has_is_named(site: Path) -> None:
    """Nodes that are out in the scenario are not out on the machine, and --check says so; one step is a limit."""
    assert "left out" not in dict(plan_site(site).lines())
    outage = '[[cluster.outage]]\nstart = 0\nend = "1 d"\nnodes = "0-2"\n'
    more = f"{outage}[late]\n[prices]\nenergy = 0.1\n[run]\nkill = true\n"
    (site.parent / "machine.toml").write_text(MACHINE.replace(LIMIT, 'steps = [["0 s", "9 kW"]]\n') + more)
    told = dict(plan_site(site).lines())
    assert told["left out"] == "of machine.toml: [[cluster.outage]], [late], [prices], [run] kill"
    assert told["limit"].startswith("9 kW; all nodes together draw ")
