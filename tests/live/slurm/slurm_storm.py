"""A real Slurm that goes wrong on demand under a controller, with agents that have leases; what is drawn is what runs.

Each node has an agent with a lease and a safe cap, all of them in a thread of their own. A node draws what the
processes of its job may draw under the cap in force: processes are looked for on the computer, so that neither Slurm
nor the controller has to be believed. What must hold is in ``Storm.account``.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pwd
import re
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from slurm_run import MAX_W, SlurmRun

from live.staff import Agent, hire, longest_over_s
from wattline.control.facts import PAUSED, RESUMED
from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.agent.local import SlurmProcesses
from wattline.live.bus.base import Arrived
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.controller.controller import Controller, Tick
from wattline.live.controller.journal.folder import Keeping, LiveJournal
from wattline.live.controller.journal.setup import describe, rebuild
from wattline.live.controller.leading.lease import Lease as Reign
from wattline.live.controller.leading.lease import LeaseLost
from wattline.live.controller.seen.mirror import Mirror
from wattline.live.machine.slurm.text import JobRow, hosts
from wattline.live.signals.base import Sample
from wattline.live.signals.open import SignalsNow
from wattline.live.signals.stale import Now, Trusted
from wattline.model import codes

PERIOD_S, AGENTS_S = 0.25, 0.1
SAFE_W, FLOOR_W = 200.0, 150.0
NOBODY = 65534
PATIENCE_S = 60.0


@dataclass
class Storm(SlurmRun):
    """A controller on a Slurm to which things happen."""

    limit: float = 0.6
    floor_w: float = FLOOR_W
    timeout_s: float = 2.0
    staffed: dict[str, Agent] = field(default_factory=dict)
    powers: list[tuple[float, float]] = field(default_factory=list)
    """What the machine drew, and when."""
    loose_s: list[float] = field(default_factory=list)
    """When jobs were started behind the controller's back: for a moment the limit may be broken."""
    hub: Hub | None = None
    folder: Path | None = None
    """Where the controller keeps its journal (none: one that is started again knows what Slurm tells)."""
    journal: LiveJournal | None = None
    said_y: Callable[[float], Sample | None] = lambda _: None
    """What the grid says of the signal, at a time."""
    y: Trusted | None = None
    """The signal, while one is followed."""
    targets: list[tuple[float, float]] = field(default_factory=list)
    """Targets, and when."""
    set_s: float = 0.0
    """By how much the wall's clock is set."""
    forgotten: set[str] = field(default_factory=set)
    """Jobs that are over, and that Slurm shows no more (its MinJobAge has passed)."""
    _old: set[str] = field(default_factory=set)
    """Jobs that Slurm knew when it was: they keep their times."""

    # ------------------------------------------------------------------ controllers

    def start(self) -> Controller:
        """Start a controller (again): from its log where there is one; it leads with a term above those before."""
        made = super().start()
        known = max((agent.lease.term for agent in self.staffed.values()), default=0)
        made.term = lambda term=known + 1: term  # type: ignore[misc]
        made.on_tick = self._tick
        commands = made.manager.commands  # type: ignore[attr-defined]
        commands.jobs = lambda ask=commands.jobs: [self._as_set(row) for row in ask() if row.id not in self.forgotten]
        if self.folder is None:
            return made
        if self.journal is not None:
            self.journal.abandon()
        start = {"name": "storm", "site": "", "seed": 0, "setup": describe(made.ledger.bound)}
        keeping = Keeping(checkpoint_s=5.0, seal_s=50.0)
        self.journal = LiveJournal(self.folder, start, rebuild, keeping=keeping, say=self.said.append)
        ledger, old = self.journal.ledger, made.mirror
        mirror = Mirror(ledger, old.nodes, old.desk, made.clock.now_s() - float(ledger.state.now[0]))
        made.ledger, made.mirror = ledger, mirror
        made.reconciler.ledger, made.reconciler.mirror = ledger, mirror
        return made

    def _tick(self, tick: Tick) -> None:
        self.targets.append((tick.now_s, tick.target_w))
        if self.journal is not None:
            self.journal.tick()

    def made_clock(self) -> Clock:
        """Return a clock whose wall can be set."""
        return Clock(wall=lambda: time.time() + self.set_s)

    def _as_set(self, row: JobRow) -> JobRow:
        """Return a job as a Slurm shows it whose clock is set: what came after that has the new times."""
        if self.set_s == 0.0 or row.number in self._old:
            return row
        times = ("submit_s", "eligible_s", "start_s", "end_s")
        return replace(row, **{name: getattr(row, name) + self.set_s for name in times})  # type: ignore[arg-type]

    def now(self, now_s: float) -> SignalsNow:
        """Return what is asked of the site: its limit, and a signal while one is followed."""
        y = None if self.y is None else self.y.now(now_s)
        return SignalsNow(y, self.limit_w, Now(self.limit_w, 0.0, "fresh"), self.limit_w)

    # ------------------------------------------------------------------ agents

    def staff(self, clock: Clock, topics: Topics) -> Hub:
        """Return the one bus of the site; its agents outlive controllers."""
        if self.hub is None:
            self.hub, self.topics, self._ends = Hub("here", clock), topics, threading.Event()
            for name in self.slurm.names:
                self.hire(name, clock)
            self._thread = threading.Thread(target=self._agents, daemon=True)
        return self.hub

    def hire(self, name: str, clock: Clock) -> None:
        """Start the agent of a node (again): its safe cap holds, and stopped jobs go on."""
        assert self.hub is not None
        SlurmProcesses().continue_all(name)
        self.staffed[name] = hire(self.hub, clock, name, safe_w=SAFE_W, min_w=FLOOR_W, max_w=MAX_W)

    def _agents(self) -> None:
        told_s = dict.fromkeys(self.slurm.names, -math.inf)
        while not self._ends.wait(AGENTS_S):
            now_s, busy = self.controller.clock.now_s(), self.busy()
            total_w = 0.0
            for name, agent in list(self.staffed.items()):
                if agent.alive and agent.hear(now_s):
                    SlurmProcesses().continue_all(name)
                cap_w = agent.obeys(agent.lease.cap_w())
                watts = max(FLOOR_W, min(MAX_W, cap_w)) if name in busy else self.idle_w
                total_w += watts
                if agent.alive and now_s - told_s[name] >= 1.0:
                    told_s[name] = now_s
                    agent.tell(watts, now_s)
            self.powers.append((now_s, total_w))

    def _agents_turn(self) -> None:
        """Nothing: agents have a thread of their own."""

    def busy(self) -> set[str]:
        """Return the nodes of jobs of which a process runs, stopped ones left out."""
        conf, found = f"SLURM_CONF={self.slurm.conf}".encode(), set()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError, IndexError):
                pairs = path.read_bytes().split(b"\0")
                if conf in pairs and any(pair.startswith(b"SLURM_JOB_ID=") for pair in pairs):
                    state = (path.parent / "stat").read_bytes().rpartition(b")")[2].split()[0]
                    on = next(pair for pair in pairs if pair.startswith(b"SLURM_JOB_NODELIST="))
                    if state not in b"TZX":
                        found |= set(hosts(on.partition(b"=")[2].decode()))
        return found

    def led(self) -> bool:
        """Tell whether all agents are led by the present controller."""
        return all(agent.alive and agent.lease.mode == "led" for agent in self.staffed.values())

    # ------------------------------------------------------------------ time

    def go(self, until: Callable[[], bool], most_s: float = PATIENCE_S) -> None:
        """Let the controller turn until something is so."""
        end = time.monotonic() + most_s
        while not until():
            assert time.monotonic() < end, (self.phases(), self.said[-5:], self.told[-8:])
            began = time.monotonic()
            self.turn()
            time.sleep(max(0.0, began + PERIOD_S - time.monotonic()))

    def pass_s(self, seconds: float) -> None:
        """Let the controller turn for some seconds."""
        end = time.monotonic() + seconds
        self.go(lambda: time.monotonic() >= end, seconds + PATIENCE_S)

    def phase(self, job: str) -> str:
        """Return the phase of a job, by the last look."""
        seen = self.controller.mirror.seen
        return seen[job].phase if job in seen else "gone"

    def running_one(self, seconds: float = 5.0) -> str:
        """Return a job of one node that runs, submitted for the purpose."""
        (job,) = self.submit(seconds, 1)
        self.go(lambda: self.phase(job) == "running")
        return job

    def as_user(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a user without rights (where we are root; otherwise as ourselves)."""
        who = {"user": NOBODY} if os.getuid() == 0 else {}
        return subprocess.run(words, env=self.slurm.environment, cwd="/", capture_output=True, text=True, **who)

    def submit_as_user(self, seconds: float) -> str:
        """Submit a job of that user that notes when it runs."""
        line = f"$SLURM_JOB_NODELIST $(date +%s.%N) >> {self.marks}/$SLURM_JOB_ID\\_0"
        script = f"echo begin {line}; sleep {seconds}; echo end {line}"
        done = self.as_user("sbatch", "--parsable", "-t", "5", "-N", "1", "-o", "/dev/null", "--wrap", script)
        job = done.stdout.strip()
        assert job, done.stderr
        self.jobs[job] = 1
        return job

    # ------------------------------------------------------------------ what must hold

    def longest_over_s(self) -> float:
        """Return the longest time in which more than the limit was drawn, starts by others left out."""

        def excused(t: float) -> bool:
            return any(0.0 <= t - at_s <= 4.0 for at_s in self.loose_s)

        drawn = [(t, math.nan if excused(t) else watts) for t, watts in self.powers]
        return longest_over_s(drawn, self.limit_w + 1.0)

    def account(self) -> dict[str, list[object]]:
        """Return what is wrong with jobs, and power above the limit."""
        over_s = self.longest_over_s()
        return super().account() | {"over the limit": [round(over_s, 2)] if over_s > 1.0 else []}

    def forget(self) -> None:
        """Begin the account anew."""
        books = (self.jobs, self.told, self.said, self.powers, self.targets, self.loose_s, self.again, self.theirs)
        for book in books:
            book.clear()  # type: ignore[attr-defined]
        for path in self.marks.iterdir():
            path.unlink()

    def close(self) -> None:
        """End the agents."""
        self._ends.set()
        self._thread.join()
        if self.journal is not None:
            self.journal.close()

    # ------------------------------------------------------------------ what happens

    def slurmctld_is_gone(self, seconds: float = 2.0) -> None:
        """Slurm's controller is ended, and started again: it is said, caps go on, nothing is started meanwhile."""
        self.slurm.end("slurmctld")
        told, end = len(self.told), time.monotonic() + seconds
        self.go(
            lambda: time.monotonic() >= end and any("does not answer" in line for line in self.said), seconds + 20.0
        )
        assert [one for one in self.told[told + 1 :] if one.what == "release"] == []
        assert self.led()
        self.slurm.start_controller()
        self.pass_s(1.0)

    def slurmctld_hangs(self, seconds: float = 2.0) -> None:
        """It takes requests and does not answer them until it goes on: then it does what nobody waits for any more."""
        process = self.slurm.daemons["slurmctld"]
        some(self, 3)
        commands = self.controller.manager.commands  # type: ignore[attr-defined]
        real = commands.release

        def release(jobs: str) -> str | None:
            process.send_signal(signal.SIGSTOP)
            return real(jobs)

        commands.release = release
        try:
            self.go(lambda: any(one.what == "unanswered" for one in self.told[-3:]))
            commands.release = real
            self.pass_s(seconds)
            assert self.led()
        finally:
            commands.release = real
            process.send_signal(signal.SIGCONT)
        self.pass_s(1.0)

    def munge_is_down(self, seconds: float = 2.0) -> None:
        """Munge ends, and comes back: as if slurmctld were gone."""
        self.slurm.end("munged")
        self.pass_s(seconds)
        assert self.led()
        self.slurm.start_munge()
        self.pass_s(1.0)

    def slurmd_is_killed(self, seconds: float = 2.0) -> None:
        """The slurmd of a node with a job is killed, and started again: its job goes on."""
        job = self.running_one()
        (node,) = self.controller.mirror.seen[job].on
        self.slurm.end(node, signal.SIGKILL)
        if seconds > self.slurm.slurmd_timeout_s:
            self.again.add(job)  # Slurm puts it back into the queue
            self.theirs.add(job)
        self.pass_s(seconds)
        self.slurm.start_node(node)
        self.go(lambda: node not in self.controller.mirror.down)

    def names_change_their_order(self) -> None:
        """slurm.conf names the nodes in another order when slurmctld and a node come back: jobs stay where they are."""
        job = self.running_one()
        on = self.controller.mirror.seen[job].on
        text = self.slurm.conf.read_text()
        found = re.findall(r"^NodeName=n.*$", text, re.MULTILINE)
        if len(found) == 1:
            first = int(re.search(r"Port=\[?(\d+)", found[0])[1])  # type: ignore[index]
            rest = re.sub(r"^NodeName=\S+|Port=\S+", "", found[0]).strip()
            lines = [f"NodeName={name} {rest} Port={first + k}" for k, name in enumerate(self.slurm.names)]
        else:
            lines = self.random.sample(found, len(found))
        self.slurm.end("slurmctld")
        other = next(name for name in self.slurm.names if name not in on)
        self.slurm.end(other)
        self.slurm.conf.write_text(text.replace("\n".join(found), "\n".join(reversed(lines))))
        self.slurm.start_controller()
        self.slurm.start_node(other)
        seen = self.controller.mirror.seen
        self.go(lambda: job not in seen or (seen[job].phase == "running" and other not in self.controller.mirror.down))
        assert job not in seen or seen[job].on == on

    def a_release_is_requeued(self) -> None:
        """Slurm requeues a job in the moment in which it is released: it is started once more, and ends once."""
        (job,) = self.submit(1.0, 1)
        commands = self.controller.manager.commands  # type: ignore[attr-defined]
        real, tries = commands.release, []

        def release(jobs: str) -> str | None:
            why = real(jobs)
            while jobs == job and not tries:
                if self.slurm.command("scontrol", "requeue", job, check=False).returncode == 0:
                    tries.append(job)
                time.sleep(0.02)
            return why

        commands.release = release
        self.again.add(job)
        self.go(lambda: bool(tries))
        commands.release = real

    def users_act(self) -> None:
        """A user may release, cancel, hold and change his held job as far as Slurm lets him; all of it is followed."""
        self.go(lambda: not self.phases().keys() - {"gone"})
        limit, self.limit = self.limit, 1.01 * self.idle_w / MAX_W  # all have to wait
        released, cancelled, held, changed, nice, out = (self.submit_as_user(1.0) for _ in range(6))
        self.go(lambda: all(self.phase(job) == "waiting" for job in (released, held, changed, nice, out)))
        shown = ("scontrol", "show", "job", changed)
        self.go(lambda: "AdminComment=wattline=held draws" in self.as_user(*shown).stdout)  # their users can read why
        root = os.getuid() == 0
        acts = [
            (released, ["scontrol", "release", released], not root),
            (cancelled, ["scancel", cancelled], True),
            (held, ["scontrol", "hold", held], False),
            (changed, ["scontrol", "update", f"jobid={changed}", "numnodes=2-2", "timelimit=3"], True),
            (nice, ["scontrol", "update", f"jobid={nice}", "nice=10"], False),
            (out, ["scontrol", "update", f"jobid={out}", "comment=wattline=off"], True),
        ]
        for job, words, works in acts:
            done = self.as_user(*words)
            assert (done.returncode == 0) is works, (words, done.stderr)
            if job == changed:
                self.jobs[job] = 2
            elif job == cancelled:
                del self.jobs[job]
            elif job == out or (job == released and not root):
                self.theirs.add(job)
        self.go(lambda: self.phase(out) in ("running", "gone"))
        self.loose_s.append(self.controller.clock.now_s() - 2.0)
        self.limit = limit

    def nonsense_arrives(self) -> None:
        """A thousand malformed messages and a thousand forged ones on the bus: all are dropped and counted."""
        inbox, waiting = self.controller.inbox, self.controller.bus.waiting  # type: ignore[attr-defined]
        before = sum(inbox.counts().values()) - inbox.counts()["accepted"]
        victim = next(iter(self.staffed.values()))
        n = 0
        for _ in range(20):
            for _ in range(50):
                n += 1
                junk = secrets.token_bytes(n % 200)
                waiting.append((0.0, Arrived(self.topics.status("n02"), junk, "n02")))
                body = {"v": 1, "kind": "status", "from": "n03", "boot": secrets.token_hex(8), "n": n}
                body |= {"at": self.controller.clock.now_s(), "w": 0.0, "mode": "free"}
                forged = json.dumps(body).encode()
                waiting.append((0.0, Arrived(self.topics.status("n03"), forged, "n02")))
            self.turn()
        after = sum(inbox.counts().values()) - inbox.counts()["accepted"]
        assert after - before == 2000, inbox.counts()
        assert victim.wire.dropped == {}

    def an_agent_lies(self, seconds: float = 2.4) -> None:
        """The agent of a node says that it draws next to nothing, then far too much."""
        agent = self.staffed[self.slurm.names[4]]
        for told_w in (0.5 * self.idle_w, 1.19 * MAX_W, 1e6):
            agent.reads = lambda _, told_w=told_w: told_w
            self.pass_s(seconds / 3.0)
        agent.reads = lambda watts: watts

    def an_agent_is_started_anew(self) -> None:
        """It lets a stopped job go on, which Slurm does not know: it is stopped again, until it is to go on."""
        job = self.running_one(60.0)
        (node,) = self.controller.mirror.seen[job].on
        ledger = self.controller.ledger
        ledger.tell_of(PAUSED, job)
        self.go(lambda: self.phase(job) == "paused" and node not in self.busy())
        self.hire(node, self.controller.clock)
        until = time.monotonic() + 5.0  # the controller has no turn meanwhile
        while node not in self.busy():
            assert time.monotonic() < until
            time.sleep(0.05)
        self.go(lambda: node not in self.busy(), 10.0)
        assert int(ledger.state.status[ledger.row[job]]) == codes.PAUSED
        ledger.tell_of(RESUMED, job)
        self.go(lambda: self.phase(job) != "paused" and node in self.busy())
        self.slurm.command("scancel", job)
        del self.jobs[job]

    def two_controllers(self, folder: Path, lease_s: float = 2.0) -> None:
        """The leader hangs, another takes over, the first one goes on: it finds that it leads no more."""
        known = max(agent.lease.term for agent in self.staffed.values())
        reigns = [Reign(folder / "lease.json", f"c{k}", lease_s=lease_s, margin_s=0.5, at_least=known) for k in (1, 2)]
        assert reigns[0].try_to_lead()
        first = self.controller
        first.term = lambda: self._term(reigns[0])
        self.submit(2.0, 2)
        self.pass_s(1.2)
        assert not reigns[1].try_to_lead()
        end = time.monotonic() + 20.0
        while not reigns[1].try_to_lead():  # the first one hangs
            assert time.monotonic() < end
            time.sleep(0.1)
        self.controller = self.start()
        self.controller.term = lambda: self._term(reigns[1])
        self.submit(1.0, 3)
        self.pass_s(1.2)
        told = len(self.told)
        with contextlib.suppress(LeaseLost):
            first.turn(first.clock.now_s())
            raise AssertionError("it leads still")
        assert len(self.told) == told
        first.bus.close()
        self.go(lambda: all(agent.lease.term == reigns[1].term for agent in self.staffed.values()))
        term = reigns[1].term
        self.controller.term = lambda: term

    @staticmethod
    def _term(reign: Reign) -> int:
        reign.renew()
        return reign.check()


@contextlib.contextmanager
def storm(slurm: SlurmCluster, **how: object) -> Iterator[Storm]:
    """Lead a Slurm to which things happen; its jobs, agents and slurm.conf are as before at the end."""
    text = slurm.conf.read_text()
    run = Storm(slurm, **how)  # type: ignore[arg-type]
    run._thread.start()
    try:
        yield run
    finally:
        run.close()
        for name in ("munged", "slurmctld", *slurm.names):
            if name not in slurm.daemons:
                {"munged": slurm.start_munge, "slurmctld": slurm.start_controller}.get(
                    name, lambda name=name: slurm.start_node(name)
                )()
        if slurm.conf.read_text() != text:
            slurm.end("slurmctld")
            slurm.conf.write_text(text)
            slurm.start_controller()
        slurm.cancel_all()
        slurm.command("scancel", "-u", pwd.getpwuid(NOBODY).pw_name, check=False)
        slurm._wait(lambda: slurm._idle() >= slurm.nodes, "all nodes")  # others use it after us


def ends_well(run: Storm) -> None:
    """Wait for all jobs: none is lost, doubled, elsewhere or left stopped, and the limit was kept."""
    run.go(lambda: not run.phases().keys() - {"gone"} and run.over())
    run.go(lambda: not run.controller.ledger.row, 15.0)  # nothing is held for jobs that are over
    wrong = {key: value for key, value in run.account().items() if value}
    bad = {str(job) for jobs in wrong.values() for job in jobs}
    assert wrong == {}, (wrong, run.said[-5:], [one for one in run.told if one.job in bad])


def some(run: Storm, count: int = 8) -> None:
    """Submit jobs of one to three nodes."""
    for _ in range(count):
        run.submit(round(run.random.uniform(0.5, 4.0), 1), run.random.randint(1, 3))
