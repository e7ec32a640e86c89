"""No policy of a user can crash the process or damage a run: what it does wrong is told in one line with its name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.worlds import check_structure, cluster, policies, run, table
from wattline.control.catalog import find
from wattline.control.users import witness
from wattline.control.users.guard import time_limit
from wattline.control.users.witness import LOGS, Witness
from wattline.errors import EndlessError, PolicyError
from wattline.kernel.compiled import JIT
from wattline.model.codes import SLOT_NAMES
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import WRITES
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

NEEDS_JIT = pytest.mark.skipif(not JIT, reason="about compiled policies")
TIERS = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=NEEDS_JIT)], ids=["python", "compiled"])
HEAD = (
    "import numpy as np\nfrom wattline import policy\nfrom wattline.policies.helpers import estimated_wall_s, "
    "headroom_w, propose, "
    "router_traffic, start_increase_w\n\n"
)
ROWS = [{"submit": i, "work": 3, "nodes": 1} for i in range(6)]


def written(folder: Path, body: str, slot: str = "select", *, compiled: bool = False, more: str = "") -> Mechanism:
    """Return a policy whose body is given; line 7 of its file is the first of it."""
    file = folder / "mine.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(f"{HEAD}@policy({slot!r}, compiled={compiled}{more})\ndef mine(s, arg, param, memory):\n{lines}")
    return find(slot, str(file))


def refusal(mechanism: Mechanism, **more: Any) -> str:
    """Return the line in which a run with the policy is refused."""
    with pytest.raises(PolicyError) as caught:
        run(table(*ROWS), cluster(4), **({mechanism.slot: mechanism} | more))
    text = str(caught.value)
    assert "\n" not in text
    assert "policy 'mine'" in text
    assert "mine.py:" in text
    return text


@TIERS
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("propose(s, 0, 1 << 40)", "no such job"),
        ("propose(s, 0, -1)", "no such job"),
        ("propose(s, 1 << 33, 0)", "no room"),
        ("start_increase_w(s, 1 << 40)", "no such job"),
        ("estimated_wall_s(s, -(1 << 40))", "no such job"),
    ],
)
def test_helpers_look_at_their_arguments(tmp_path: Path, call: str, said: str, compiled: bool) -> None:
    """A helper that is given a job or a number of a proposal that is not there says so, in plain Python and in compiled
    code.
    """
    assert said in refusal(written(tmp_path, f"x = {call}\nreturn 0", compiled=compiled))


@TIERS
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x = s.key[-100000]", "s.key"),
        ("x = s.key[s.key.shape[0] + 3]", "s.key"),
        ("x = memory[10**7]", "memory"),
        ("x = param[5]", "param"),
        ("x = s.node_j[7, 1]", "s.node_j"),
        ("s.p_job[1 << 40] = 1", "s.p_job"),
    ],
)
def test_indices_out_of_bounds(tmp_path: Path, line: str, said: str, compiled: bool) -> None:
    """An index that an array does not have is told with the line of the policy, and when compiled with the array's
    name.
    """
    text = refusal(written(tmp_path, f"{line}\nreturn 0", compiled=compiled))
    assert text.startswith(f"{tmp_path}/mine.py:7 ({line})")
    assert "out of bounds" in text
    assert said in text or not compiled


@TIERS
@pytest.mark.parametrize(
    ("slot", "line"),
    [
        ("select", "s.q_tail[0] = 1 << 40"),
        ("select", "s.free[0] = 1 << 30"),
        ("select", "s.key[s.key.shape[0] + 3] = 1"),
        ("select", "s.want_cap_w[0] = 100.0"),
        ("order", "s.p_job[0] = 1"),
        ("place", "s.held[0] = 5"),
        ("select", "param[0] = 1.0"),
    ],
)
def test_fields_of_others_are_read_only(tmp_path: Path, slot: str, line: str, compiled: bool) -> None:
    """A policy cannot write what the engine or a policy of another slot writes; compiled code that would is not even
    compiled.
    """
    text = refusal(written(tmp_path, f"{line}\nreturn 0", slot, compiled=compiled))
    assert "only the engine writes that" in text
    assert text.startswith(f"{tmp_path}/mine.py:7")
    assert not compiled or line.split("[")[0] in text or "param" in line


@pytest.mark.parametrize(
    "line", ["s.free.setflags(write=True)", "s.free.flags.writeable = True", "s.free.base[...] = 0"]
)
def test_plain_python_cannot_unlock_a_field(tmp_path: Path, line: str) -> None:
    """Read-only arrays do not let themselves be made writable, and do not lead to the writable ones behind them."""
    assert refusal(written(tmp_path, f"{line}\nreturn 0")).startswith(f"{tmp_path}/mine.py:7")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("s.key = None", "write s.key[0]"),
        ("s.words = memory", "write s.words"),
        ("memory.resize(0, refcheck=False)", "resize"),
        ("s.words[9] = 1", "only"),
    ],
)
def test_plain_python_cannot_take_memory_away(tmp_path: Path, line: str, said: str) -> None:
    """What compiled code reaches by address stays where it is: fields cannot be replaced, nor arrays resized."""
    assert said in refusal(written(tmp_path, f"{line}\nreturn 0"))


@NEEDS_JIT
def test_functions_of_the_user_are_checked_too(tmp_path: Path) -> None:
    """A compiled function that a policy calls checks its indices with it; one that calls itself is refused."""
    file = tmp_path / "mine.py"
    helper = "import numba\nfrom wattline import policy\n\n\n@numba.njit\ndef look(a, i):\n    return {0}\n\n\n"
    body = (
        "@policy('select', compiled=True)\ndef mine(s, arg, param, memory):\n    more = s.nodes.copy()\n    return "
        "look(more, 1 << 40)\n"
    )
    file.write_text(helper.format("a[i]") + body)
    assert "out of bounds" in refusal(find("select", str(file)))
    file.write_text(helper.format("a[0] if i == 0 else look(a, i + 1)") + body)
    assert "calls itself" in refusal(find("select", str(file)))


@TIERS
@pytest.mark.parametrize(
    ("slot", "body", "said"),
    [
        ("select", "return 10000", "returned 10000 proposals; there is room for 0 … 5"),
        ("select", "return -1", "returned -1 proposals"),
        ("select", "s.n_stop[0] = 1 << 40\nreturn 0", "1099511627776 jobs on the stop list"),
        ("order", "return 2", "returned 2; 0 is right, or 1 after writing the keys of all waiting jobs"),
        ("order", "return -1", "returned -1; 0 is right"),
        ("place", "return 10**9", "returned 1000000000 extents of nodes"),
        ("place", "return -3", "returned -3 extents of nodes"),
        ("select", "s.n_resume[0] = -3\nreturn 0", "-3 jobs resumed"),
        ("select", "s.p_job[0] = 0\ns.p_nodes[0] = 1\ns.p_why[0] = 77\nreturn 1", "77 as reason"),
        ("cap", "s.n_recap[0] = 99\nreturn 1", "wants 99 jobs capped"),
        ("cap", "return -1", "returned -1; 1 is right where it wants something changed, else 0"),
        ("cap", "return 1 << 40", "returned 1099511627776; 1 is right"),
        ("learn", "return 1", "returned 1; 0 is right"),
        ("profile", "return -1", "returned -1; 0 is right"),
        ("learn", "s.estimate_s[max(arg, 0)] = np.nan\nreturn 0", "gave job 1 s.estimate_s = nan"),
        ("learn", "s.estimate_s[5] = -1.0\nreturn 0", "gave job 6 s.estimate_s = -1"),
        ("profile", "s.profile_w[max(arg, 0)] = np.inf\nreturn 0", "gave job 1 s.profile_w = inf"),
        ("profile", "s.margin[0] = np.nan\nreturn 0", "s.margin[0] to nan"),
        ("profile", "s.profile_from[max(arg, 0)] = 99\nreturn 0", "s.profile_from = 99"),
    ],
)
def test_numbers_that_nobody_can_use(tmp_path: Path, slot: str, body: str, said: str, compiled: bool) -> None:
    """Proposals beyond their room, and estimates and powers that are no numbers, are errors with the policy's name."""
    assert said in refusal(written(tmp_path, body, slot, compiled=compiled))


@TIERS
@pytest.mark.parametrize(
    "body", ["s.p_job[0], s.p_nodes[0], s.p_shape[0] = 1 << 40, 1, 1 << 40", "s.stop_job[0] = -9\ns.n_stop[0] = 1"]
)
def test_wishes_that_make_no_sense_are_refused_by_the_guard(tmp_path: Path, body: str, compiled: bool) -> None:
    """Jobs and configurations that are not there are counted as refused; the run goes on and its nodes add up."""
    first_fit = (
        "\nn = 1\nfor i in range(s.q_head[0], s.q_tail[0]):\n    j = s.queue[i]\n    if j >= 0 and n <= "
        "s.free[0]:\n        n = propose(s, n, j)\nreturn n"
    )
    result = run(table(*ROWS), cluster(4), select=written(tmp_path, body + first_fit, compiled=compiled))
    assert result.stopped == "done"
    assert result.state.counter[2] > 0
    check_structure(result.state)


@TIERS
def test_full_lists_do_not_overflow_the_log(tmp_path: Path, compiled: bool) -> None:
    """A policy may fill all its lists in every pass: the log of what became of them is emptied in time."""
    body = (
        "for i in range(s.p_job.shape[0]):\n    s.stop_job[i] = -1\n    s.resume_job[i] = -1\n    s.p_job[i] = -1\n   "
        " s.p_why[i] = 4\n"
        "s.n_stop[0] = s.stop_job.shape[0]\ns.n_resume[0] = s.stop_job.shape[0]\n"
        "if s.n_running[0] == 0 and s.q_len[0] > 0:\n    n = propose(s, 0, s.queue[s.q_head[0]])\nreturn "
        "s.p_job.shape[0]"
    )
    jobs = table(*[{"submit": i, "work": 1, "nodes": 1} for i in range(60)])
    select = written(tmp_path, body, compiled=compiled, more=", wake='end arrival tick'")
    sim = Simulation(jobs, cluster(40), policies(select=select), Options(tick_s=0.5, log_rows=1))
    with sim:
        for _ in range(150):
            sim.advance(1)
            assert sim.state.a_n[0] <= sim.state.a_time_s.size


@pytest.mark.parametrize("line", ["raise KeyboardInterrupt", "raise SystemExit(0)", "raise GeneratorExit"])
@pytest.mark.parametrize("slot", ["select", "order"])
def test_exits_are_the_policys_own(tmp_path: Path, line: str, slot: str) -> None:
    """A policy that raises KeyboardInterrupt or exits is told as a mistake of its own, not as somebody at the
    keyboard.
    """
    assert line.split()[1].split("(")[0] in refusal(written(tmp_path, line, slot))


def test_an_endless_policy_is_ended_and_named(tmp_path: Path) -> None:
    """A plain-Python policy that does not come back is ended when its time is over."""
    mechanism = written(tmp_path, "while True:\n    pass")
    with (
        time_limit(0.3),
        pytest.raises(EndlessError, match=r"mine\.py:5: policy 'mine' did not come back within 0.3 s"),
    ):
        run(table(*ROWS), cluster(4), select=mechanism)


def test_a_bid_policy_is_named_too(tmp_path: Path) -> None:
    """What a bid policy raises, outside the loop, has its name as well."""
    from dataclasses import replace

    from wattline.testing import worlds

    mechanism = written(tmp_path, "raise ValueError('no bid')", "bid")
    world = worlds.suited(worlds.busy(), mechanism)
    sim = Simulation(world.jobs, world.cluster, policies(bid=mechanism), replace(world.options))
    with pytest.raises(PolicyError, match=r"mine\.py:7 .*policy 'mine': ValueError: no bid"):
        sim.run()


def test_an_exception_that_cannot_be_told(tmp_path: Path) -> None:
    """An exception whose text cannot be made is told by its class."""
    body = "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd"
    assert "Odd" in refusal(written(tmp_path, body))


def test_a_long_exception_is_cut(tmp_path: Path) -> None:
    """An exception that has much to say is cut: one line stays one that can be read."""
    assert len(refusal(written(tmp_path, "s.__init__()"))) < 500


@TIERS
def test_a_good_policy_is_let_alone(tmp_path: Path, compiled: bool) -> None:
    """The edge changes nothing of what a right policy does: first fit gives the built-in's schedule."""
    body = (
        "n = 0\nfree = s.free[0]\nfor i in range(s.q_head[0], s.q_tail[0]):\n    j = s.queue[i]\n"
        "    if j >= 0 and s.nodes[j] <= free:\n        n = propose(s, n, j)\n        free -= s.nodes[j]\nreturn n"
    )
    jobs = table(*[{"submit": i, "work": 3 + i % 5, "nodes": 1 + i % 4} for i in range(60)])
    mine = run(jobs, cluster(4), select=written(tmp_path, body, compiled=compiled))
    np.testing.assert_array_equal(mine.state.started_s, run(jobs, cluster(4), select="first-fit").state.started_s)


@NEEDS_JIT
def test_memory_must_be_a_number(tmp_path: Path) -> None:
    """A declaration of memory that is no number of floats is told at the line of the declaration."""
    with pytest.raises(PolicyError, match=r"mine\.py:5: memory is a number of floats"):
        written(tmp_path, "return 0", more=", memory=1.5")


COMPILES = """
import time
import numba
from wattline.wiring.watched import _Worker

def compile_and_go_on():
    n = 0
    while True:
        n += 1
        if n < 7:
            numba.njit(eval(f"lambda x: x * {n} + {n}.5 if x > {n} else x - {n}"))(1.0)

for i in range(4):
    worker = _Worker(compile_and_go_on)
    time.sleep(0.2 + 0.2 * i)
    worker.stop()
    worker.thread.join(30.0)
    print(type(worker.problem).__name__)
print(numba.njit(lambda x: x + 1)(2))
"""


@NEEDS_JIT
def test_who_is_stopped_in_the_compiler_takes_nobody_along() -> None:
    """A policy in plain Python that is given up while a helper of it is compiled ends, the process and the compiler do
    not.
    """
    done = subprocess.run([sys.executable, "-c", COMPILES], capture_output=True, text=True, timeout=120.0)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["_StoppedError"] * 4 + ["3"]


PLACE = """\
{0}
n, left = 0, s.nodes[arg]
for a, b in free_extents(s, s.pool[arg]):
    if left > 0:
        take = min(left, b - a)
        s.place_a[n], s.place_b[n] = a, a + take
        n, left = n + 1, left - take
return n"""


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("np.add.at(s.nodes, arg, 1)", "s.nodes"),
        ("np.add.at(s.energy_j, 0, 1e9)", "s.energy_j"),
        ("np.multiply.at(np.asarray(s.idle_w), 0, 0.0)", "s.idle_w"),
        ("np.add.at(s.profile_w, 0, 1.0)", "s.profile_w"),
        ("np.add.at(s.started_s, [0], 3.0)", "s.started_s"),
        ("s.wake_at_s[wl.codes.CAP] = s.now[0] + 5.0", "s.wake_at_s"),
        ("np.add.at(param, [0], 1.0)", "param"),
    ],
)
def test_what_numpy_writes_to_read_only_arrays_is_found(tmp_path: Path, line: str, field: str) -> None:
    """``ufunc.at`` does not ask whether it may: the state is compared before and after calls."""
    written(tmp_path, PLACE.format(line).replace("free_extents", "wl.free_extents"), "place")
    file = tmp_path / "mine.py"
    file.write_text(file.read_text().replace("import numpy as np\n", "import numpy as np, wattline as wl\n"))
    assert f"wrote to {field}: only the engine writes that" in refusal(find("place", str(file)))


@pytest.mark.parametrize("slot", SLOT_NAMES)
def test_every_number_that_is_not_theirs_is_watched(monkeypatch: pytest.MonkeyPatch, slot: str) -> None:
    """Whatever array a policy changes at whatever place is told by its name, but for those that are its own."""
    s = Simulation(table(*ROWS), cluster(4), policies(), Options()).state
    monkeypatch.setattr(witness, "FREE_S", 1e9)
    s.a_n[0], s.ev_n[0], s.tl_n[0], s.px_n[0] = 3, 3, 3, 3
    param, rng = np.zeros(2), np.random.default_rng(7)
    watched, told = Witness(s, slot, param), 0
    for name, array in s.arrays().items():
        logged = name in LOGGED
        for _ in range(min(array.size, 12)):
            place = tuple(
                rng.integers(3 if logged and axis == 0 else length) for axis, length in enumerate(array.shape)
            )
            assert watched.begin()
            kept = array[place]
            np.add.at(array, place, 1)  # also where it is read-only
            mine = name in WRITES[slot] and (name != "wake_at_s" or place[0] == SLOT_NAMES.index(slot))
            unchanged = np.isinf(kept) or np.isnan(kept)
            found = watched.changed()
            assert found == ("" if mine or unchanged else f"s.{name}"), (name, place)
            told += bool(found)
            array.flags.writeable = True
            array[place] = kept
    assert told > 500


LOGGED = {name for several in LOGS.values() for names in several for name in names}


@NEEDS_JIT
@pytest.mark.parametrize("slot", ["order", "place", "cap", "learn", "profile"])
def test_the_timer_of_another_slot_is_not_theirs(tmp_path: Path, slot: str) -> None:
    """Compiled code is asked after its call: which of the six numbers it writes shows only then."""
    own, answer = SLOT_NAMES.index(slot), 0
    body = "s.wake_at_s[int(param[0])] = s.now[0] + 5.0\n"
    if slot == "place":
        body, answer = body + "s.place_a[0], s.place_b[0] = 0, 1\n", 1
    body += f"return {answer}"
    other = written(tmp_path, body, slot, compiled=True, more=", wake='arrival end', params={'at': 1}")
    told = f"set the timer of select policies (wake_at_s[1]); its own is wake_at_s[{own}]"
    assert told in refusal(other)
    mine = body.replace("int(param[0])", str(own))
    run(table(*ROWS), cluster(4), **{slot: written(tmp_path, mine, slot, compiled=True, more=", wake='arrival end'")})


def test_a_long_run_is_watched_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is compared part by part, all of it in turn, and only as long as there is time; what a policy may write
    is no harm.
    """
    s = Simulation(table(*ROWS), cluster(4), policies(), Options()).state
    monkeypatch.setattr(witness, "MOST", 64)
    watched = Witness(s, "select", np.zeros(2))
    s.p_job[0] = 3
    found = set()
    for _ in range(2 * s.whole.size // 64):
        assert watched.begin()
        s.p_job[0] += 1
        s.energy_j[2] += 1.0
        found.add(watched.changed())
    assert found == {"", "s.energy_j"}
    monkeypatch.setattr(witness, "FREE_S", -1e9)
    assert not watched.begin()


@NEEDS_JIT
def test_what_a_plain_policy_compiles_itself_may_write_no_more(tmp_path: Path) -> None:
    """A function of the user's own that numba compiles sees the state as the policy does."""
    mechanism = written(tmp_path, "return helper(s)", "place")
    file = tmp_path / "mine.py"
    for line, ends in (("s.energy_j[0] += 1e9", True), ("x = s.energy_j[0]", False)):
        body = f"    {line}\n    s.place_a[0], s.place_b[0] = 0, 1\n    return 1\n\n"
        helper = f"import numba\n\n@numba.njit\ndef helper(s):\n{body}"
        file.write_text(f"{helper}{HEAD}@policy('place')\ndef mine(s, arg, param, memory):\n    return helper(s)\n")
        mechanism = find("place", str(file))
        if ends:
            assert "only the engine writes that" in refusal(mechanism)
        else:
            run(table({"submit": 0, "work": 3, "nodes": 1}), cluster(4), place=mechanism)
