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
NO_CLOCK = "is no duration: minutes and seconds go to 59, hours beside days to 23"

MISTAKES = {
    "unknown key": (GOOD + "nods = 3\n", "s.toml:12: unknown key 'nods' in [cluster]; did you mean 'nodes'?"),
    "unknown top-level key": ("sed = 1\n" + GOOD, "s.toml:1: unknown key 'sed' in the top level; did you mean 'seed'?"),
    "unknown section": (GOOD + "[polcy]\n", "s.toml:12: unknown key 'polcy' in the top level; did you mean 'policy'?"),
    "unknown key in a list of tables": (
        GOOD.replace('mean = "1 h"', 'mean = "1 h"\nshares = 2'),
        "s.toml:10: unknown key 'shares' in [trace.type]; did you mean 'share'?",
    ),
    "a class that the machine does not have": (
        GOOD.replace('mean = "1 h"', 'mean = "1 h"\nclass = "fat"'),
        "s.toml:10: [trace.type] class: there is no node class 'fat'; known: node",
    ),
    "a class that is written otherwise": (
        GOOD.replace('mean = "1 h"', 'mean = "1 h"\nclass = "Fat"').replace("[cluster]\nnodes = 8\n", "")
        + '[[cluster.class]]\nname = "fat"\ncount = 4\n[[cluster.class]]\nname = "thin"\ncount = 4\n',
        "s.toml:10: [trace.type] class: there is no node class 'Fat'; did you mean 'fat'?",
    ),
    "a floor above the power of a type": (
        GOOD.replace('mean = "1 h"', 'mean = "1 h"\npower = 200\nfloor = 290'),
        "s.toml:11: [trace.type] floor: a cap cannot raise power: it is above power = 200 W",
    ),
    "unknown inline key": (
        GOOD + 'sleep = {power = "1 W", afer = 3}\n',
        "s.toml:12: unknown key 'afer' in [cluster.sleep]; did you mean 'after'?",
    ),
    "unknown dotted key": (GOOD + "[run]\n[output]\n", None),
    "wrong type": (
        GOOD.replace("jobs = 20", 'jobs = "many"'),
        "s.toml:4: [trace] jobs: expected a whole number, got 'many'",
    ),
    "a minute of 61 seconds": (
        GOOD.replace('"1 h"', '"25:61:61"'),
        f"s.toml:9: [trace.type] mean: '25:61:61' {NO_CLOCK}",
    ),
    "a day of 25 hours": (
        GOOD.replace('"1 h"', '"1-25:00:00"'),
        f"s.toml:9: [trace.type] mean: '1-25:00:00' {NO_CLOCK}",
    ),
    "float for a count": (
        GOOD.replace("nodes = 8", "nodes = 8.5"),
        "s.toml:11: [cluster] nodes: expected a whole number, got 8.5",
    ),
    "true for a count": (
        GOOD.replace("nodes = 8", "nodes = true"),
        "s.toml:11: [cluster] nodes: expected a whole number, got True",
    ),
    "number for text": (GOOD + "name = 3\n", 's.toml:12: [cluster] name: expected text in "quotes", got 3'),
    "text for a switch": (GOOD + '[run]\nkill = "yes"\n', "s.toml:13: [run] kill: expected true or false, got 'yes'"),
    "value for a section": ("run = 3\n" + GOOD, "s.toml:1: run: expected a table, got 3"),
    "bad unit": (GOOD + 'idle = "3 XW"\n', "s.toml:12: [cluster] idle: unknown unit 'XW' in '3 XW': expected a power"),
    "power beyond all": (
        GOOD + 'idle = "1e400 W"\n',
        "s.toml:12: [cluster] idle: '1e400 W' is more than can be counted: expected a power",
    ),
    "time for a power": (GOOD + 'idle = "3 h"\n', "s.toml:12: [cluster] idle: unknown unit 'h'"),
    "negative power": (GOOD + 'idle = "-3 W"\n', "s.toml:12: [cluster] idle: must not be negative, got '-3 W'"),
    "idle above max": (
        GOOD + 'idle = "3 kW"\n',
        "s.toml:12: [cluster] idle: a busy node (max = 300 W, the default) cannot draw less",
    ),
    "bad rate": (GOOD.replace("30/h", "30 per hour"), "s.toml:5: [trace] rate: expected a rate like '30/h'"),
    "bad choice": (
        GOOD + '[run]\nties = "instnt"\n',
        "s.toml:13: [run] ties: expected 'instant' or 'event', got 'instnt'; did you mean 'instant'?",
    ),
    "missing key": (GOOD.replace("nodes = 2\n", ""), "s.toml:6: key 'nodes' is missing in [trace.type]"),
    "missing section": ("seed = 1\n", "s.toml: key 'trace' is missing in the top level"),
    "neither file nor generator": ("[trace]\n", "s.toml:1: trace: needs exactly one of 'file' and 'generator'"),
    "key of another generator": (
        GOOD.replace("jobs", 'mix = "typed"\njobs'),
        's.toml:4: [trace] mix: goes with generator = "lublin"',
    ),
    "generator without types": (
        '[trace]\ngenerator = "poisson"\nrate = 1\n',
        's.toml:1: trace: generator = "poisson" needs at least one',
    ),
    "no way to set the rate": (
        GOOD.replace('rate = "30/h"\n', ""),
        's.toml:2: trace: arrivals of generator = "poisson" are said by a rate, by a rate of every type, or by a load',
    ),
    "a rate and a load": (GOOD.replace("jobs", "load = 0.5\njobs"), "s.toml:4: [trace] load: arrivals of generator ="),
    "a rate for all and one for each": (
        GOOD.replace('"1 h"', '"1 h"\nrate = 1'),
        "s.toml:5: [trace] rate: arrivals of",
    ),
    "a rate for one type alone": (
        GOOD.replace('rate = "30/h"\n', "").replace(
            "[cluster]", 'rate = 1\n[[trace.type]]\nname = "b"\nnodes = 2\nmean = 60\n[cluster]'
        ),
        "s.toml:10: [trace] type: 'b' has no rate, and other types have one: give all or none",
    ),
    "a rate of no arrivals": (GOOD.replace('"30/h"', "0"), "s.toml:5: [trace] rate: must be greater than 0"),
    "a share beside a rate": (
        GOOD.replace('rate = "30/h"\n', "").replace('"1 h"', '"1 h"\nrate = 1\nshare = 2'),
        "s.toml:10: [trace.type] share: the type has a rate of its own: give shares or rates",
    ),
    "shares of nothing": (
        GOOD.replace('"1 h"', '"1 h"\nshare = 0'),
        "s.toml:10: [trace.type] share: the shares of all types add up to zero",
    ),
    "two types of one name": (
        GOOD.replace("[cluster]", '[[trace.type]]\nname = "a"\nnodes = 2\nmean = 60\n[cluster]'),
        "s.toml:11: [trace.type] name: 'a' is the name of another type",
    ),
    "a least run time above the mean": (
        GOOD.replace('"1 h"', '"1 h"\nmin = "2 h"'),
        "s.toml:10: [trace.type] min: the least run time is above the mean = 1 h",
    ),
    "a variation of another law": (
        GOOD.replace('"1 h"', '"1 h"\ncv = 0.5'),
        's.toml:10: [trace.type] cv: goes with law = "lognormal", not with law = "exponential"',
    ),
    "an overestimate of exact requests": (
        GOOD.replace("jobs", 'requests = {model = "exact", max_factor = 3}\njobs'),
        's.toml:4: [trace.requests] max_factor: goes with model = "factor" or model = "rounded", not with model = "exa',
    ),
    "rates of types beside phases": (
        GOOD.replace("poisson", "bursty").replace('rate = "30/h"\n', "").replace('"1 h"', '"1 h"\nrate = 1')
        + '[[trace.phase]]\nrate = "1/h"\ndwell = "1 h"\n' * 2,
        "s.toml:9: [trace.type] rate: arrivals are those of the phases; give the types shares",
    ),
    "progress of jobs that are not queued again": (
        GOOD + "[run]\nrequeue = false\nkeep_progress = true\n",
        "s.toml:14: [run] keep_progress: goes with requeue = true",
    ),
    "nodes beside classes": (
        GOOD + '[[cluster.class]]\nname = "x"\ncount = 2\n',
        "s.toml:11: [cluster] nodes: belongs into [[cluster.class]]",
    ),
    "outage outside": (
        GOOD + '[[cluster.outage]]\nstart = 0\nend = 9\nnodes = "4-8"\n',
        "s.toml:15: [cluster.outage] nodes: the cluster has nodes 0-7, got 4-8",
    ),
    "outage backwards": (
        GOOD + '[[cluster.outage]]\nstart = 9\nend = 9\nnodes = "4"\n',
        "s.toml:14: [cluster.outage] end: must be after start",
    ),
    "outage without end": (
        GOOD + '[[cluster.outage]]\nstart = 0\nend = 1e300\nnodes = "4"\n',
        "at most 1,000,000,000,000 s can be counted",
    ),
    "step beyond all clocks": (
        GOOD + '[limit]\nsteps = [[0, "3 kW"],\n  [1e13, "off"]]\n',
        "s.toml:14: [limit] steps: at most 1,000,000,000,000 s can be counted, got [10000000000000.0, 'off']",
    ),
    "tick beyond all clocks": (
        GOOD + "[run]\ntick = 1e17\n",
        "s.toml:13: [run] tick: at most 1,000,000,000,000 s can be counted, got 1e+17",
    ),
    "bad range": (
        GOOD + '[[cluster.outage]]\nstart = 0\nend = 9\nnodes = "4..7"\n',
        "s.toml:15: [cluster.outage] nodes: expected a range of nodes",
    ),
    "bad step": (
        GOOD + '[limit]\nsteps = [["1 h", "3 kW"],\n  ["2 h"]]\n',
        "s.toml:14: [limit] steps: expected [time, power]",
    ),
    "steps backwards": (
        GOOD + '[limit]\nsteps = [["2 h", "3 kW"],\n  ["1 h", "off"]]\n',
        "s.toml:14: [limit] steps: times must increase",
    ),
    "power and steps": (GOOD + "[limit]\npower = 3\nsteps = [[1, 2]]\n", "s.toml:14: [limit] steps: give either power"),
    "repeat without steps": (
        GOOD + '[limit]\npower = 3\nrepeat = "1 d"\n',
        "s.toml:14: [limit] repeat: goes with steps",
    ),
    "repeat beside a file": (
        GOOD + '[limit]\nfile = "limits.csv"\nrepeat = "1 d"\n',
        "s.toml:14: [limit] repeat: goes without file",
    ),
    "step after the repeat": (
        GOOD + '[limit]\nrepeat = "1 h"\nsteps = [["2 h", "3 kW"]]\n',
        "s.toml:14: [limit] steps: comes after the steps begin anew",
    ),
    "repeat too often": (GOOD + '[limit]\nsteps = [["0 s", "3 kW"]]\nrepeat = "1 ms"\n', "s.toml:14: that would be "),
    "unknown policy": (
        GOOD + '[policy]\nselect = "esy"\n',
        "s.toml:13: unknown select policy 'esy'; did you mean 'easy'?",
    ),
    "unknown parameter": (
        GOOD + '[policy]\nselect = {name = "easy", dpth = 3}\n',
        "s.toml:13: select policy 'easy' has no parameter 'dpth'; did you mean 'depth'?",
    ),
    "parameter without a policy": (
        GOOD + "[policy]\nselect = {depth = 3}\n",
        "s.toml:13: [policy] select: expected a policy's name",
    ),
    "empty list of policies": (
        GOOD + "[policy]\nselect = []\n",
        "s.toml:13: [policy] select: expected at least one policy",
    ),
    "missing policy file": (GOOD + '[policy]\nselect = "mine.py"\n', "mine.py: no such policy file"),
    "not TOML": (GOOD + "nodes == 3\n", "s.toml:12: not valid TOML: "),
    "key given twice": (GOOD + "nodes = 3\n", "s.toml:12: not valid TOML: "),
    "asleep above idle": (
        GOOD + 'sleep = {power = "1 kW", after = 60}\n',
        "s.toml:12: [cluster.sleep] power: a node asleep (1 kW) cannot draw more than an idle one (100 W)",
    ),
    "asleep above the idle of levels": (
        GOOD + "levels = [{rate = 1, busy = 300, idle = 40}]\nsleep = {power = 60, after = 60}\n",
        "s.toml:13: [cluster.sleep] power: a node asleep (60 W) cannot draw more than an idle one (40 W)",
    ),
    "waking for ever": (
        GOOD + "sleep = {power = 1, after = 60, exit = inf}\n",
        "s.toml:12: [cluster.sleep] exit: must be a finite number, got inf",
    ),
    "fastest level first": (
        GOOD + "levels = [{rate = 1, busy = 300, idle = 90},\n  {rate = 0.5, busy = 200, idle = 90}]\n",
        "s.toml:13: [cluster.levels] rate: levels come slowest first: rate = 0.5 follows 1",
    ),
    "an idle power beside slower levels": (
        GOOD + "idle = 10\nlevels = [{rate = 0.5, busy = 100, idle = 9}, {rate = 0.8, busy = 200, idle = 9}]\n",
        "s.toml:12: [cluster] idle: 10 W, but the level of rate 0.8 says 9 W; leave idle out",
    ),
    "a warmup of no limit": (
        GOOD + '[limit]\nwarmup = "1 h"\n',
        "s.toml:13: [limit] warmup: goes with power, and there is none",
    ),
    "an outage of no node": (
        GOOD + '[[cluster.outage]]\nstart = 0\nend = "1 h"\nnodes = []\n',
        "s.toml:15: [cluster.outage] nodes: expected at least one node, got an empty list",
    ),
    "a level that contradicts max": (
        GOOD + "max = 300\nlevels = [{rate = 0.5, busy = 100, idle = 9}, {rate = 1, busy = 200, idle = 9}]\n",
        "s.toml:12: [cluster] max: 300 W, but the level of rate 1 says 200 W; leave max out",
    ),
    "a level that contradicts idle": (
        GOOD + "idle = 10\nlevels = [{rate = 1, busy = 200, idle = 9}]\n",
        "s.toml:12: [cluster] idle: 10 W, but the level of rate 1 says 9 W; leave idle out",
    ),
    "idle level above busy": (
        GOOD + "levels = [{rate = 1, busy = 80, idle = 90}]\n",
        "s.toml:12: [cluster.levels] busy: a busy node (80 W) cannot draw less",
    ),
    "endless speed": (
        GOOD + "levels = [{rate = inf, busy = 80, idle = 9}]\n",
        "s.toml:12: [cluster.levels] rate: must be a finite number, got inf",
    ),
    "lowest cap above max": (
        GOOD + 'min_cap = "400 W"\n',
        "s.toml:12: [cluster] min_cap: the lowest cap (400 W) is above max = 300 W, the default",
    ),
    "idle above max in a class": (
        GOOD.replace("nodes = 8\n", '[[cluster.class]]\nname = "x"\ncount = 8\nidle = 9\nmax = 8\n'),
        "s.toml:15: [cluster.class] max: a busy node (max = 8 W) cannot draw less",
    ),
    "no steps": (
        GOOD + "[limit]\nsteps = []\n",
        "s.toml:13: [limit] steps: expected at least one [time, power], got an empty list",
    ),
    "negative step": (
        GOOD + '[limit]\nsteps = [[0, "-3 kW"]]\n',
        "s.toml:13: [limit] steps: time and power must be numbers that are not negative, got [0, '-3 kW']",
    ),
    "step at no time": (
        GOOD + "[limit]\nsteps = [[nan, 3]]\n",
        "s.toml:13: [limit] steps: time and power must be numbers that are not negative, got [nan, 3]",
    ),
    "class without a name": (
        GOOD.replace("nodes = 8\n", '[[cluster.class]]\nname = " "\ncount = 8\n'),
        "s.toml:12: [cluster.class] name: must not be empty",
    ),
    "type of two lines": (
        GOOD.replace('"a"', '"a\\nb"'),
        "s.toml:7: [trace.type] name: must be printable text in one line, got 'a\\nb'",
    ),
    "name that leads away": (
        'name = "../../x"\n' + GOOD,
        "s.toml:1: name: must be a name, not a path, got '../../x'; [output] folder says where results go",
    ),
    "name of this folder": ('name = "."\n' + GOOD, "s.toml:1: name: must be a name, not a path, got '.'"),
    "no name": ('name = ""\n' + GOOD, "s.toml:1: name: must not be empty"),
    "name too long": (f'name = "{"x" * 300}"\n' + GOOD, "s.toml:1: name: must have at most 100 characters, got 300"),
    "seed too large": (
        GOOD.replace("seed = 2", f"seed = {2**53}"),
        "s.toml:1: seed: must be less than 9007199254740992, got 9007199254740992",
    ),
    "seed of failures": (
        GOOD + f'failures = {{mtbf = "9 d", repair = 9, seed = {2**70}}}\n',
        "s.toml:12: [cluster.failures] seed: must be less than 9007199254740992",
    ),
    "too many failures": (GOOD + 'failures = {mtbf = "1 ms", repair = "1 ms"}\n', "s.toml:12: that would be about "),
    "tick too short": (GOOD + "[run]\ntick = 1e-9\n", "s.toml:13: [run] tick: must be at least 0.001 s, got 1e-09"),
    "too many nodes": (
        GOOD.replace("nodes = 8", "nodes = 2000000000"),
        "s.toml:11: [cluster] nodes: must be at most 1000000000, got 2000000000",
    ),
    "too many jobs": (
        GOOD.replace("jobs = 20", "jobs = 20000000000"),
        "s.toml:4: [trace] jobs: must be at most 1000000000",
    ),
    "too many users": (
        GOOD.replace("jobs = 20", "jobs = 20\nusers = 2000000"),
        "s.toml:5: [trace] users: must be at most 1000000, got 2000000",
    ),
    "run time of nothing": (
        GOOD.replace('"1 h"', '"0 h"'),
        "s.toml:9: [trace.type] mean: must be greater than 0, got 0.0",
    ),
    "nested without end": (
        "a = " + "[" * 5000 + "]" * 5000 + "\n" + GOOD,
        "s.toml:1: more than 12 brackets are open at once; no scenario needs that",
    ),
    "newer layout": ("schema = 99\n" + GOOD, "s.toml:1: schema: written for a newer Wattline (99)"),
    "bad layout": ('schema = "one"\n' + GOOD, "s.toml:1: schema: expected a version number"),
}


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


def test_a_table_does_not_take_back_what_was_set_before(tmp_path: Path) -> None:
    """The other way round a key is set in the table."""
    (tmp_path / "s.toml").write_text(GOOD)
    with pytest.raises(
        ScenarioError, match=r"--set run=\{kill=true\}: replaces the whole table, and with it --set run.u"
    ):
        read_scenario(tmp_path / "s.toml", ["run.until=500", "run={kill=true}"])
    assert read_scenario(tmp_path / "s.toml", ["run={kill=true}", "run.until=500"]).spec.run.until == 500.0


def test_files_that_are_no_text(tmp_path: Path) -> None:
    """A binary file is refused by name."""
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        read_scenario(tmp_path / "s.toml")


def test_files_that_never_end(tmp_path: Path) -> None:
    """A device is refused at once, a huge file after its first megabyte."""
    with pytest.raises(ScenarioError, match="/dev/zero: cannot be read \\(is a device, expected a file\\)"):
        read_scenario("/dev/zero")
    (tmp_path / "s.toml").write_bytes(b"# all is well\n" * 400_000)
    with pytest.raises(ScenarioError, match="larger than 1 MB"):
        read_scenario(tmp_path / "s.toml")
