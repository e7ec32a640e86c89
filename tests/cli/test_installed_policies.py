"""Policies that installed packages bring by entry points, by name wherever a built-in one is."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from calling import Call

import wattline as wl
from wattline.control.catalog import find
from wattline.control.installed import GROUP, installed
from wattline.errors import PolicyError

POLICY = '''\
import wattline as wl
from {module}.helper import SIGN


@wl.policy(slot="order", name="{name}", params={{"bias": wl.Param(0.0, "nodes to add")}})
def {function}(s, arg, param, memory):
    """Widest job first, as {module} has it."""
    for job in wl.waiting(s, new=True):
        s.key[job] = SIGN * (s.nodes[job] + param[0])
    return 0
'''


def install(where: Path, package: str, points: str, **files: str) -> None:
    """Put a package and what pip would write beside it into a folder."""
    (where / package).mkdir(parents=True)
    (where / package / "__init__.py").write_text("")
    for name, text in files.items():
        (where / package / f"{name}.py").write_text(text)
    info = where / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
    (info / "RECORD").write_text("")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path with a package of two policies, one given as object and one in a module."""
    where = tmp_path / "site"
    where.mkdir()
    one = POLICY.format(module="queuepack", name="widest", function="widest")
    two = POLICY.format(module="queuepack", name="fcfs", function="shadow")
    points = "widest = queuepack.widest:widest\nmore = queuepack.more"
    install(where, "queuepack", points, helper="SIGN = -1.0\n", widest=one, more=two)
    monkeypatch.syspath_prepend(str(where))
    yield where
    for name in [name for name in sys.modules if name.partition(".")[0] in ("queuepack", "otherpack", "sickpack")]:
        del sys.modules[name]


def test_a_policy_of_a_package_is_used_by_its_name(wattline: Call, folder: Path, site: Path) -> None:
    """Command, scenario and Python take the name of a package's policy as they take a built-in one's."""
    done = wattline("replay", "small.swf", "--order", "widest", "--out", "o", "--no-report")
    assert done.code == 0, done.err
    assert json.loads((folder / "o/manifest.json").read_text())["policies"]["order"] == "widest"
    (folder / "p.toml").write_text(
        'name = "p"\n[trace]\nfile = "small.swf"\n[policy]\norder = {name = "queuepack:widest", bias = 2}\n'
    )
    assert wattline("run", "p.toml", "--out", "p", "--no-report").code == 0
    run = wl.simulate(wl.read_trace("small.swf"), wl.Machine(nodes=8), order="widest", progress=False)
    assert run.summary.policies["order"] == "widest"


def test_a_package_does_not_replace_a_built_in_policy(site: Path) -> None:
    """A built-in name stays what it is; a package's policy of the same name is ``package:name``."""
    assert find("order", "fcfs").builtin
    other = find("order", "queuepack:fcfs")
    assert (other.builtin, other.package, other.name) == (False, "queuepack", "fcfs")


def test_messages_name_the_policy_of_the_package(wattline: Call, folder: Path, site: Path) -> None:
    """What is wrong with a package's policy that is called like a built-in one is said of it, not of that."""
    (folder / "p.toml").write_text(
        'name = "p"\n[trace]\nfile = "small.swf"\n[policy]\norder = {name = "queuepack:fcfs", depth = 2}\n'
    )
    refused = wattline("run", "p.toml", "--out", "p")
    assert refused.code == 2
    assert "order policy 'queuepack:fcfs' has no parameter 'depth'" in refused.err
    (folder / "q.toml").write_text(
        'name = "q"\n[trace]\nfile = "small.swf"\n[policy]\norder = ["fcfs", "queuepack:fcfs"]\n'
    )
    both = wattline("compare", "q.toml", "--out", "q", "--json")
    assert both.code == 0, both.err
    assert list(json.loads(both.out)["journals"]) == ["fcfs", "queuepack:fcfs"]


def test_a_policy_of_a_package_can_be_sent_to_another_process(site: Path) -> None:
    """It is pickled by its package and name, so that modules of the package that it imports are found."""
    again = pickle.loads(pickle.dumps(find("order", "widest")))  # noqa: S301  (of our own making)
    assert (again.package, again.name, again.function) == ("queuepack", "widest", find("order", "widest").function)


def test_a_broken_package_is_named_and_stops_nobody(wattline: Call, folder: Path, site: Path) -> None:
    """A package that fails, or holds no policy, is one line each; the others are there."""
    points = "bad = sickpack.bad:mine\nnothing = sickpack.nothing\ngone = sickpack.gone:mine"
    install(site, "sickpack", points, bad="raise RuntimeError('no\\nway')\n", nothing="x = 3\n")
    sys.path.insert(0, str(site / "elsewhere"))  # looked for again
    try:
        assert find("order", "widest").package == "queuepack"
        broken = installed().broken
        assert [line.partition(": ")[0] for line in broken] == [
            f"package sickpack, entry point '{name}'" for name in ("bad", "gone", "nothing")
        ]
        assert "importing sickpack.bad:mine failed: RuntimeError: no" in broken[0]
        assert "expected an object of wl.policy or a module that holds some" in broken[2]
        assert not any("\n" in line for line in broken)
        listed = wattline("policies")
        assert listed.code == 0
        assert "widest" in listed.out
        assert listed.err.count("sickpack, entry point") == 3
        with pytest.raises(PolicyError, match=r"unknown order policy 'nonesuch'.*package sickpack"):
            find("order", "nonesuch")
    finally:
        sys.path.remove(str(site / "elsewhere"))


def test_one_name_of_two_packages_is_refused(site: Path) -> None:
    """A name that two packages have is refused with both full names, which work."""
    text = POLICY.format(module="otherpack", name="widest", function="widest")
    install(site, "otherpack", "widest = otherpack.widest:widest", helper="SIGN = 1.0\n", widest=text)
    sys.path.insert(0, str(site / "elsewhere"))
    try:
        with pytest.raises(PolicyError, match=r"name one as otherpack:widest or queuepack:widest"):
            find("order", "widest")
        assert find("order", "otherpack:widest").package == "otherpack"
    finally:
        sys.path.remove(str(site / "elsewhere"))


def test_the_list_is_short_and_details_come_on_demand(wattline: Call, folder: Path, site: Path) -> None:
    """``policies`` has one line a policy; a name, a slot or a file shows parameters; ``--json`` has all."""
    from wattline.control.catalog import MODULES

    count = sum(map(len, MODULES.values())) + 2
    lines = wattline("policies").out.rstrip().splitlines()
    assert len(lines) == count + 3  # the header, a blank line and how to see more
    assert max(map(len, lines)) <= 80
    assert sum("[queuepack]" in line for line in lines) == 2
    assert any(" queuepack:fcfs " in line for line in lines)
    details = " ".join(wattline("policies", "widest").out.split())
    assert "as queuepack has it. bias: nodes to add (default 0) of package queuepack" in details
    assert len(wattline("policies", "quantile", "--json").out) > 0
    assert {p["slot"] for p in json.loads(wattline("policies", "quantile", "--json").out)} == {"profile", "bid"}
    assert {p["slot"] for p in json.loads(wattline("policies", "cap", "--json").out)} == {"cap"}
    packages = {p["name"]: p["package"] for p in json.loads(wattline("policies", "order", "--json").out)}
    assert packages["widest"] == "queuepack"
    assert packages["lcfs"] is None
    (folder / "mine.py").write_text((site / "queuepack/widest.py").read_text().replace("widest", "mine"))
    assert "as queuepack has it" in " ".join(wattline("policies", "mine.py:mine").out.split())
    wrong = wattline("policies", "esy")
    assert wrong.code == 2
    assert "unknown policy or slot 'esy'; did you mean 'easy'?" in wrong.err


def test_a_policy_of_a_package_is_checked_by_its_name(wattline: Call, folder: Path, site: Path) -> None:
    """``check-policy`` and ``wl.check`` take the name of a package's policy."""
    done = wattline("check-policy", "queuepack:widest")
    assert done.out.splitlines()[-1] == "all 16 checks pass", done.err
    assert wl.check("widest", progress=False).ok


def test_a_failure_names_a_world_that_can_be_run_again(folder: Path) -> None:
    """The message has the world's call, its size, the seed and the policy; ``play`` of that call fails likewise."""
    from wattline.testing import CheckError, play, worlds

    (folder / "mine.py").write_text(
        "import wattline as wl\n\n\n@wl.policy('order')\ndef mine(s, arg, param, memory):\n"
        "    if s.now[0] > 50.0 and s.q_head[0] < s.q_tail[0]:\n        raise ValueError('late')\n    return 0\n"
    )
    failed = [row for row in wl.check("mine.py:mine", progress=False).rows if not row.passed]
    assert failed
    for row in failed:
        assert "in the world" in row.detail, row
        assert "seed 1, order 'mine': " in row.detail
    (busy,) = (row.detail for row in failed if row.check == "indices")
    assert "busy(seed=7, count=20, machine=5): 20 jobs on 5 nodes), seed 1, order 'mine': " in busy
    with pytest.raises((CheckError, PolicyError), match=r"busy\(seed=7, count=20, machine=5\)"):
        play(find("order", "mine.py"), worlds.busy(seed=7, count=20, machine=5))


SELECT = '''\
import wattline as wl


@wl.policy("select", name="one-by-one")
def one_by_one(s, happened, param, memory):
    """Start the first in line, as long as it fits."""
    free, n = s.free[0], 0
    for job in wl.waiting(s):
        if s.nodes[job] > free:
            break
        n = wl.propose(s, n, job)
        free -= s.nodes[job]
    return n
'''

MARKET = """\
name = "sold"
kinds = "W14"
[trace]
generator = "kinds"
duration = "2 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "8.5 kW"
reserve = "1.5 kW"
"""


def test_the_baseline_of_a_market_may_be_of_a_package(wattline: Call, folder: Path, site: Path) -> None:
    """``[regulation] baseline`` takes a select policy of a package, by its name or with the package's."""
    install(site, "otherpack", "o = otherpack.mine", mine=SELECT)
    (folder / "sold.toml").write_text(MARKET)
    for name in ("one-by-one", "otherpack:one-by-one"):
        found = wattline("compare", "sold.toml", "--set", f"regulation.baseline={name}", "--out", "o", "--json")
        assert found.code == 0, found.err
        assert len(json.loads(found.out)["comparison"]["labels"]) == 2
    wrong = wattline("compare", "sold.toml", "--set", "regulation.baseline=queuepack:widest")
    assert (wrong.code, "unknown select policy 'queuepack:widest'" in wrong.err) == (2, True)
