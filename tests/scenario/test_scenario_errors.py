"""A mistake in a scenario file is said with file, line, key, value, and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.errors import InputError, ScenarioError
from wattline.scenario import read_scenario, variants, wire

GOOD = """\
seed = 2
[trace]
generator = "poisson"
jobs = 20
rate = "30/h"
[[trace.type]]
name = "a"
nodes = 2
mean = "1 h"
[cluster]
nodes = 8
"""

MISTAKES = {
    "unknown key": (GOOD + "nods = 3\n", "s.toml:12: unknown key 'nods' in [cluster]; did you mean 'nodes'?"),
    "unknown top-level key": ("sed = 1\n" + GOOD, "s.toml:1: unknown key 'sed' in the top level; did you mean 'seed'?"),
    "unknown section": (GOOD + "[polcy]\n", "s.toml:12: unknown key 'polcy' in the top level; did you mean 'policy'?"),
    "unknown key in a list of tables": (
        GOOD.replace('mean = "1 h"', 'mean = "1 h"\nshares = 2'),
        "s.toml:10: unknown key 'shares' in [trace.type]; did you mean 'share'?",
    ),
    "unknown inline key": (
        GOOD + 'sleep = {power = "1 W", afer = 3}\n', "s.toml:12: unknown key 'afer' in [cluster.sleep]; did you mean 'after'?"
    ),
    "unknown dotted key": (GOOD + "[run]\n[output]\n", None),
    "wrong type": (GOOD.replace("jobs = 20", 'jobs = "many"'), "s.toml:4: [trace] jobs: expected a whole number, got 'many'"),
    "float for a count": (GOOD.replace("nodes = 8", "nodes = 8.5"), "s.toml:11: [cluster] nodes: expected a whole number, got 8.5"),
    "true for a count": (GOOD.replace("nodes = 8", "nodes = true"), "s.toml:11: [cluster] nodes: expected a whole number, got True"),
    "number for text": (GOOD + "name = 3\n", "s.toml:12: [cluster] name: expected text in \"quotes\", got 3"),
    "text for a switch": (GOOD + '[run]\nkill = "yes"\n', "s.toml:13: [run] kill: expected true or false, got 'yes'"),
    "value for a section": ("run = 3\n" + GOOD, "s.toml:1: run: expected a table, got 3"),
    "bad unit": (GOOD + 'idle = "3 XW"\n', "s.toml:12: [cluster] idle: unknown unit 'XW' in '3 XW': expected a power"),
    "time for a power": (GOOD + 'idle = "3 h"\n', "s.toml:12: [cluster] idle: unknown unit 'h'"),
    "negative power": (GOOD + 'idle = "-3 W"\n', "s.toml:12: [cluster] idle: must not be negative, got '-3 W'"),
    "idle above max": (GOOD + 'idle = "3 kW"\n', "s.toml:12: [cluster] idle: a busy node (max = 300 W, the default) cannot draw less"),
    "bad rate": (GOOD.replace("30/h", "30 per hour"), "s.toml:5: [trace] rate: expected a rate like '30/h'"),
    "bad choice": (GOOD + '[run]\nties = "instnt"\n', "s.toml:13: [run] ties: expected 'instant' or 'event', got 'instnt'; did you mean 'instant'?"),
    "missing key": (GOOD.replace("nodes = 2\n", ""), "s.toml:6: key 'nodes' is missing in [trace.type]"),
    "missing section": ("seed = 1\n", "s.toml: key 'trace' is missing in the top level"),
    "neither file nor generator": ("[trace]\n", "s.toml:1: trace: needs exactly one of 'file' and 'generator'"),
    "key of another generator": (GOOD.replace("jobs", 'mix = "typed"\njobs'), 's.toml:4: [trace] mix: goes with generator = "lublin"'),
    "generator without types": ('[trace]\ngenerator = "poisson"\nrate = 1\n', 's.toml:1: trace: generator = "poisson" needs at least one'),
    "no way to set the rate": (GOOD.replace('rate = "30/h"\n', ""), "s.toml:2: trace: poisson: give exactly one of"),
    "nodes beside classes": (GOOD + '[[cluster.class]]\nname = "x"\ncount = 2\n', "s.toml:11: [cluster] nodes: belongs into [[cluster.class]]"),
    "outage outside": (GOOD + '[[cluster.outage]]\nstart = 0\nend = 9\nnodes = "4-8"\n', "s.toml:15: [cluster.outage] nodes: the cluster has nodes 0-7, got 4-8"),
    "outage backwards": (GOOD + '[[cluster.outage]]\nstart = 9\nend = 9\nnodes = "4"\n', "s.toml:14: [cluster.outage] end: must be after start"),
    "bad range": (GOOD + '[[cluster.outage]]\nstart = 0\nend = 9\nnodes = "4..7"\n', "s.toml:15: [cluster.outage] nodes: expected a range of nodes"),
    "bad step": (GOOD + '[limit]\nsteps = [["1 h", "3 kW"],\n  ["2 h"]]\n', "s.toml:14: [limit] steps: expected [time, power]"),
    "steps backwards": (GOOD + '[limit]\nsteps = [["2 h", "3 kW"],\n  ["1 h", "off"]]\n', "s.toml:14: [limit] steps: times must increase"),
    "power and steps": (GOOD + '[limit]\npower = 3\nsteps = [[1, 2]]\n', "s.toml:14: [limit] steps: give either power"),
    "repeat without steps": (GOOD + '[limit]\npower = 3\nrepeat = "1 d"\n', "s.toml:14: [limit] repeat: goes with steps"),
    "step after the repeat": (GOOD + '[limit]\nrepeat = "1 h"\nsteps = [["2 h", "3 kW"]]\n', "s.toml:14: [limit] steps: comes after the steps begin anew"),
    "repeat too often": (GOOD + '[limit]\nsteps = [["0 s", "3 kW"]]\nrepeat = "1 ms"\n', "s.toml:14: that would be "),
    "unknown policy": (GOOD + '[policy]\nselect = "esy"\n', "s.toml:13: unknown select policy 'esy'; did you mean 'easy'?"),
    "unknown parameter": (GOOD + '[policy]\nselect = {name = "easy", dpth = 3}\n', "s.toml:13: select policy 'easy' has no parameter 'dpth'; did you mean 'depth'?"),
    "parameter without a policy": (GOOD + "[policy]\nselect = {depth = 3}\n", "s.toml:13: [policy] select: expected a policy's name"),
    "empty list of policies": (GOOD + "[policy]\nselect = []\n", "s.toml:13: [policy] select: expected at least one policy"),
    "missing policy file": (GOOD + '[policy]\nselect = "mine.py"\n', "mine.py: no such policy file"),
    "not TOML": (GOOD + "nodes == 3\n", "s.toml:12: not valid TOML: "),
    "key given twice": (GOOD + "nodes = 3\n", "s.toml:12: not valid TOML: "),
    "newer layout": ("schema = 99\n" + GOOD, "s.toml:1: schema: written for a newer Wattline (99)"),
    "bad layout": ('schema = "one"\n' + GOOD, "s.toml:1: schema: expected a version number"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_file_line_and_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mistake is one line with the place and what to do."""
    text, expected = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(text)
    if expected is None:  # empty sections are fine
        wire(variants(read_scenario("s.toml"))[0])
        return
    with pytest.raises(InputError) as caught:
        wire(variants(read_scenario("s.toml"))[0])
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("cluster.nodes", "--set cluster.nodes: expected key=value"),
        ("cluster.nodes=x", "--set cluster.nodes=x: [cluster] nodes: expected a whole number, got 'x'"),
        ("cluster.nods=4", "--set cluster.nods=4: unknown key 'nods' in [cluster]; did you mean 'nodes'?"),
        ("trace.type.3.nodes=4", "'3' is not a position in a list of 1"),
        ("seed.deep=4", "'deep' is inside 2, which has no keys"),
    ],
)
def test_an_override_has_the_same_errors(override: str, expected: str, tmp_path: Path) -> None:
    """A wrong ``--set`` is named as it was typed."""
    (tmp_path / "s.toml").write_text(GOOD)
    with pytest.raises(ScenarioError) as caught:
        read_scenario(tmp_path / "s.toml", [override])
    assert expected in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    """A binary file is refused by name."""
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        read_scenario(tmp_path / "s.toml")
