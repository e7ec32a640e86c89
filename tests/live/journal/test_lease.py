"""The leader's lease: terms rise, and never do two controllers believe that they lead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import TraceError
from wattline.live.controller.leading.lease import PLACE, Lease, LeaseLost


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def pair(path: Path, clock: Callable[[], float], count: int = 2, **more: float) -> list[Lease]:
    """Return controllers that share a file, with a lease of 5 s and a margin of 1 s."""
    return [Lease(path / "lease", f"c{i}", now=clock, **more) for i in range(count)]  # type: ignore[arg-type]


def test_a_standby_waits_for_the_lease_and_the_margin_since_it_saw_a_change(tmp_path: Path) -> None:
    """The first one leads at once; the other begins only when nothing has changed for lease and margin."""
    clock = Time()
    a, b = pair(tmp_path, clock)
    assert a.try_to_lead()
    assert (a.check(), b.try_to_lead()) == (1, False)
    clock.now_s += 4.0
    assert a.renew()
    clock.now_s += 4.9
    assert not b.try_to_lead()  # it sees the change only now, and counts from here
    assert a.leads()
    clock.now_s += 0.2
    assert not a.leads()
    with pytest.raises(LeaseLost, match="not renewed within 5 s"):
        a.check()
    clock.now_s += 5.7
    assert not b.try_to_lead()
    clock.now_s += 0.2
    assert b.try_to_lead()
    assert b.check() == 2


def test_a_leader_that_was_replaced_notices_before_it_acts(tmp_path: Path) -> None:
    """Its lease is over by its own clock; and where that stood still, the file says so at the next renewal."""
    clock, asleep = Time(), Time()
    a, b = Lease(tmp_path / "lease", "a", now=asleep), Lease(tmp_path / "lease", "b", now=clock)
    assert a.try_to_lead()
    assert not b.try_to_lead()
    clock.now_s += 6.1
    assert b.try_to_lead()
    with pytest.raises(LeaseLost, match="taken over: term 2 of b"):
        a.renew()
    assert not a.leads()
    with pytest.raises(LeaseLost, match="do not hold"):
        a.check()


def test_an_orderly_stop_lets_the_next_one_begin_at_once(tmp_path: Path) -> None:
    """Nobody waits for a leader that has said that it stops."""
    a, b = pair(tmp_path, Time())
    assert a.try_to_lead()
    a.give_up()
    assert b.try_to_lead()
    assert (b.term, a.leads()) == (2, False)
    a.give_up()
    assert b.renew()


def test_who_only_looks_sees_whether_somebody_leads(tmp_path: Path) -> None:
    """It makes no file; a leader that has not renewed for lease and margin leads no more; whoever took over knows from
    whom.
    """
    clock = Time()
    a, b, looks = pair(tmp_path, clock, 3)
    assert not looks.is_held()
    assert list(tmp_path.iterdir()) == []
    assert a.try_to_lead()
    assert (looks.is_held(), b.try_to_lead(), a.after) == (True, False, "")
    clock.now_s += 6.1
    assert not looks.is_held()
    assert (b.try_to_lead(), b.after, looks.is_held()) == (True, "c0", True)
    b.give_up()
    assert not looks.is_held()
    assert (a.try_to_lead(), a.after) == (True, "")


def test_of_two_standbys_one_wins(tmp_path: Path) -> None:
    """The second one to look finds the first one's term."""
    clock = Time()
    a, b, c = pair(tmp_path, clock, 3)
    assert a.try_to_lead()
    assert not b.try_to_lead()
    assert not c.try_to_lead()
    clock.now_s += 7.0
    assert [c.try_to_lead(), b.try_to_lead()] == [True, False]
    assert c.check() == 2


def test_a_term_is_higher_than_any_that_was_met(tmp_path: Path) -> None:
    """A controller that knows of a term, from its log or from agents, takes a higher one though the file is new."""
    (a,) = pair(tmp_path, Time(), 1, at_least=41)
    assert a.try_to_lead()
    assert a.term == 42


def test_a_write_that_was_cut_off_leaves_the_one_before(tmp_path: Path) -> None:
    """The two places of the file are written in turn; one that is damaged does not count, both are an error."""
    clock = Time()
    a, b = pair(tmp_path, clock)
    assert a.try_to_lead()
    assert a.renew()
    path = tmp_path / "lease"
    data = bytearray(path.read_bytes())
    assert len(data) == 2 * PLACE
    data[12] ^= 1  # of the newer one, in the first place
    path.write_bytes(data)
    held = b.holder()
    assert held is not None
    assert (held.term, held.beat, held.owner) == (1, 1, "c0")
    data[PLACE + 12] ^= 1
    path.write_bytes(data)
    with pytest.raises(TraceError, match="is no lease of Wattline"):
        b.try_to_lead()


def test_a_folder_that_is_gone_ends_the_lease_in_time(tmp_path: Path) -> None:
    """A leader that cannot reach the file goes on until its lease is over, and then stops; it says why."""
    clock = Time()
    folder = tmp_path / "shared"
    folder.mkdir()
    (a,) = pair(folder, clock, 1)
    assert a.try_to_lead()
    folder.rename(tmp_path / "away")
    clock.now_s += 3.0
    assert not a.renew()
    assert "No such file" in a.problem
    assert a.check() == 1
    clock.now_s += 2.1
    with pytest.raises(LeaseLost, match="No such file"):
        a.check()


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["act", "act", "renew", "try", "give up"]),
        st.sampled_from([0.0, 0.3, 1.0, 2.5, 4.0, 6.5]),
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.7, 3.0, 6.5])), max_size=3),
    ),
    max_size=60,
)


@given(steps=STEPS)
@settings(max_examples=150, deadline=None)
def test_no_two_lead_at_once_and_terms_rise(steps: list[tuple[int, str, float, list[tuple[int, float]]]]) -> None:
    """Whatever three controllers do in whatever order, stopped anywhere for any time: whenever one reads its clock
    others may go first. At no instant do two believe that they lead, and each takeover has a higher term.
    """
    now = [100.0]
    between: list[tuple[int, float]] = []
    terms: list[int] = []

    def clock() -> float:
        if between:
            who, rest_s = between.pop()
            now[0] += rest_s
            attempt(who)
        return now[0]

    def attempt(who: int) -> None:
        lease = leases[who]
        try:
            if lease.term:
                lease.renew()
            elif lease.try_to_lead():
                terms.append(lease.term)
        except LeaseLost:
            pass

    def believers() -> int:
        return sum(one.term > 0 and now[0] < one._until_s for one in leases)

    with tempfile.TemporaryDirectory() as folder:
        leases = pair(Path(folder), clock, 3)
        for who, what, rest_s, others in steps:
            now[0] += rest_s
            between[:] = others
            if what == "give up":
                leases[who].give_up()
            elif what == "act":
                try:
                    term = leases[who].check()
                except LeaseLost:
                    continue
                assert term == max(terms)
            else:
                attempt(who)
            between.clear()
            assert believers() <= 1
    assert terms == sorted(set(terms))


PROCESS = """
import sys, time
from pathlib import Path
from wattline.live.controller.leading.lease import Lease, LeaseLost
lease = Lease(Path(sys.argv[1]) / "lease", sys.argv[2], lease_s=0.6, margin_s=0.2)
acts = open(Path(sys.argv[1]) / "acts", "a")
while True:
    try:
        if lease.term or lease.try_to_lead():
            lease.renew()
            acts.write(f"{lease.check()} {sys.argv[2]}\\n")
            acts.flush()
    except LeaseLost:
        acts.write(f"lost {sys.argv[2]}\\n")
        acts.flush()
    time.sleep(0.05)
"""


def wait_for(found: Callable[[], bool], most_s: float = 20.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + most_s
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_real_processes_take_turns_when_one_is_killed_or_stopped(tmp_path: Path) -> None:
    """Kill -9 of the leader: a standby takes over. SIGSTOP of that one: the other does; the one that wakes up does
    nothing before it has noticed.
    """
    acts = tmp_path / "acts"
    acts.touch()

    def told() -> list[list[str]]:
        return [line.split() for line in acts.read_text().splitlines()]

    def term(number: int) -> bool:
        return any(line[0] == str(number) for line in told())

    processes = {}
    try:
        for name in ("a", "b", "c"):
            processes[name] = subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path), name])
        wait_for(lambda: term(1), 60.0)
        first = told()[0][1]
        processes[first].send_signal(signal.SIGKILL)
        wait_for(lambda: term(2), 60.0)
        second = next(line[1] for line in told() if line[0] == "2")
        assert second != first
        processes[second].send_signal(signal.SIGSTOP)
        wait_for(lambda: term(3), 60.0)
        os.kill(processes[second].pid, signal.SIGCONT)
        wait_for(lambda: ["lost", second] in told())
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    third = next(i for i, line in enumerate(told()) if line[0] == "3")
    assert all(line[0] in ("3", "lost") for line in told()[third:])
