"""A real Slurm of its own on one computer, without systemd: munge, slurmctld and one slurmd a node, on loopback.

Longer than other files: its configuration is a page, and starting, looking at and ending the daemons belong together.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wattline.demo.ending import undisturbed
from wattline.errors import RunError

NEEDED = ("munged", "slurmctld", "slurmd", "slurmstepd", "squeue", "sinfo", "scontrol", "scancel", "sbatch")
SYSTEM_PATH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
FIRST_PORTS = range(20000, 30000)
"""Below the ports that systems give to whoever asks for any."""
LONGEST_SOCKET = 107
"""Bytes that the name of a socket may have."""
OWN = ("munged", "slurmctld", "slurmd", "slurmstepd", "slurmrestd", "srun", "salloc", "sbatch")
"""Programs of Slurm that do not outlive their cluster."""
READY_S = 30.0
ANSWERS_S = 20.0
"""Seconds within which a command of Slurm has its answer."""

FAST = "sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=1,default_queue_depth=1000"
"""Scheduler parameters with which a released job is there within a second; Slurm's own take two or three."""

MAIN = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE"
"""Wattline gives whole nodes to jobs, so Slurm must too."""

LUA = """-- Every job is held when it is submitted, and marked; jobs that users hold themselves stay theirs.
function slurm_job_submit(job, partitions, uid)
  local comment = job.comment or ""
  if job.priority ~= 0 and not string.find(comment, "wattline=off", 1, true) then
    job.priority = 0
    job.comment = comment .. " held_for=wattline"
  end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
  -- Slurm 22.05 ends an administrator's hold when a user changes the niceness of his job.
  if uid ~= 0 and record.priority == 0 and job.nice ~= nil and job.nice ~= slurm.NO_VAL then
    slurm.log_user("the niceness of a held job cannot be changed")
    return slurm.ERROR
  end
  -- A hold of his would be lost below the one that is there (who writes an AdminComment with it is Wattline).
  local his = uid ~= 0 and uid == record.user_id and job.admin_comment == nil
  if his and record.priority == 0 and job.priority == 0 then
    slurm.log_user("this job is held already; to hold it yourself, first set its comment to wattline=off")
    return slurm.ESLURM_ACCESS_DENIED
  end
  -- A user who writes another comment does not wipe out that his job is held for Wattline.
  local mark = "held_for=wattline"
  local marked = string.find(record.comment or "", mark, 1, true)
  if marked and job.comment ~= nil and not string.find(job.comment, mark, 1, true) then
    job.comment = job.comment .. " " .. mark
  end
  return slurm.SUCCESS
end
return slurm.SUCCESS
"""

CONF = """ClusterName=wattline
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={starter}
AuthType=auth/munge
AuthInfo=socket={munge},cred_expire={cred_expire}
{tokens}CryptoType=crypto/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={base}/state
SlurmctldPidFile={base}/run/slurmctld.pid
SlurmctldLogFile={base}/log/slurmctld.log
SlurmdSpoolDir={base}/spool/%n
SlurmdPidFile={base}/run/slurmd.%n.pid
SlurmdLogFile={base}/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters={scheduler}
PriorityType=priority/basic
PreemptType=preempt/none
PreemptMode=OFF
{submit}ReturnToService=2
SlurmdTimeout={slurmd_timeout}
InactiveLimit=0
KillWait=2
MinJobAge={min_job_age}
MaxJobCount=20000
MessageTimeout=10
TreeWidth=64
NodeName=DEFAULT CPUs={cpus} RealMemory=4000 State=UNKNOWN
{nodes}
{partitions}
"""

TOKENS = "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={base}/jwt.key\n"
NOBODY = 65534


def why_not_there(base: Path) -> str:
    """Return in a line why a Slurm cannot live in a folder ("": it can)."""
    where = str(base.absolute())
    if any(letter.isspace() or letter in "#=,[]" for letter in where):
        return f"{where}: Slurm's files take no folder whose name has a blank or one of # = , [ ]; give another"
    most = LONGEST_SOCKET - len(str(Path("run") / "munge.sock")) - 1
    if len(os.fsencode(where)) > most:
        return f"{where}: the name of the folder is too long for a socket in it ({len(where)} letters, {most} at most)"
    return ""


def why_no_rest() -> str:
    """Return in a line why slurmrestd cannot be started here; empty if it can."""
    missing = [name for name in ("slurmrestd", "setpriv") if _find(name) is None]
    if missing or not list(Path("/usr/lib").glob("*/slurm-wlm/auth_jwt.so")):
        return "slurmrestd and its tokens are not installed: apt-get install slurmrestd slurm-wlm-jwt-plugin"
    return "" if os.geteuid() == 0 else "slurmrestd must be another user's, which needs root"


def why_not() -> str:
    """Return in a line why no Slurm can be started here; empty if one can."""
    missing = [name for name in NEEDED if _find(name) is None]
    if missing:
        told = f"Slurm is not installed ({', '.join(missing)} not found)"
        return f"{told}: apt-get install slurmctld slurmd slurm-client munge"
    return ""


def _find(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":" + SYSTEM_PATH)


@dataclass
class SlurmCluster:
    """A Slurm that runs while ``running()`` is entered.

    Parameters
    ----------
    base
        An empty folder for everything that it writes.
    nodes
        How many, named n1 … (with leading zeros).
    held_at_entry
        Whether jobs are held when they are submitted (job_submit/lua), as a site would for Wattline.
    partitions
        Lines of further partitions; ``main`` has all nodes.
    classes
        How many nodes, in order, are of which class, and what it has (``(4, "RealMemory=8000 Gres=fpga:2")``); the
        others are plain.
    """

    base: Path
    nodes: int = 8
    cpus: int = 4
    held_at_entry: bool = True
    partitions: Sequence[str] = ()
    classes: Sequence[tuple[int, str]] = ()
    task_prolog: Path | None = None
    """A program that Slurm runs before each task and whose ``export`` lines it takes over."""
    scheduler: str = FAST
    cred_expire_s: int = 5
    """How long a requeued job waits before it may start again (Slurm's own: 120 s)."""
    min_job_age_s: int = 300
    slurmd_timeout_s: int = 10
    rest: bool = False
    """Whether slurmrestd is started too, with tokens (root only: it must be another user's)."""
    digits: int = 0
    """Digits of the nodes' names (0: as many as their number has)."""
    user: str = ""
    """Slurm's own user, where root starts the daemons ("": whoever starts them)."""
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base, self.rest_port = self.base.resolve(), 0

    @property
    def conf(self) -> Path:
        """Return the path of slurm.conf."""
        return self.base / "slurm.conf"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the nodes."""
        width = self.digits or len(str(self.nodes))
        return tuple(f"n{k:0{width}d}" for k in range(1, self.nodes + 1))

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which Slurm's commands find this cluster."""
        path = os.environ.get("PATH", "") + ":" + SYSTEM_PATH
        return {**os.environ, "SLURM_CONF": str(self.conf), "PATH": path}

    # ------------------------------------------------------------------ files

    def write(self) -> None:
        """Write slurm.conf, the key of munge and what jobs pass at entry."""
        for name in ("state", "spool", "log", "run", "bin", "munge"):
            (self.base / name).mkdir(parents=True, exist_ok=True)
        (self.base / "munge").chmod(0o700)
        key = self.base / "munge" / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        for name in ("slurmctld", "slurmd", "slurmstepd"):
            found = _find(name)
            link = self.base / "bin" / name  # Debian's own file names make daemons forget plug-ins
            if found is not None and not link.is_symlink():
                link.symlink_to(Path(found).resolve())
        (self.base / "job_submit.lua").write_text(LUA, encoding="utf-8")
        (self.base / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nConstrainCores=no\n", encoding="utf-8")
        first = _free_ports(self.nodes + 2)
        if self.rest:
            self.rest_port = first + self.nodes + 1
            secret = self.base / "jwt.key"
            secret.touch(mode=0o600)
            secret.write_bytes(os.urandom(32))
            if self.user:
                shutil.chown(secret, self.user)
        if self.user:
            for name in ("state", "log", "run"):
                shutil.chown(self.base / name, self.user)
        prolog = "" if self.task_prolog is None else f"TaskProlog={self.task_prolog.resolve()}\n"
        text = CONF.format(
            host=socket.gethostname().split(".")[0],
            user=self.user or pwd.getpwuid(os.getuid()).pw_name,
            starter=pwd.getpwuid(os.getuid()).pw_name,
            port=first,
            munge=self.base / "run" / "munge.sock",
            base=self.base,
            cred_expire=self.cred_expire_s,
            tokens=TOKENS.format(base=self.base) if self.rest else "",
            scheduler=self.scheduler,
            submit=("JobSubmitPlugins=lua\n" if self.held_at_entry else "") + prolog,
            slurmd_timeout=self.slurmd_timeout_s,
            min_job_age=self.min_job_age_s,
            cpus=self.cpus,
            nodes="\n".join(self._node_lines(first + 1)),
            partitions="\n".join([MAIN, *self.partitions]),
        )
        self.conf.write_text(text, encoding="utf-8")

    def _node_lines(self, port: int) -> list[str]:
        """Return the lines of slurm.conf that name the nodes, a class each, and write gres.conf for what they have.

        The first node listens on this port.
        """
        host, at, lines, has = socket.gethostname().split(".")[0], 0, [], [""]
        plain = self.nodes - sum(count for count, _ in self.classes)
        gres = sorted({name for _, more in self.classes for name in re.findall(r"Gres=(\w+)", more)})
        for count, more in [*self.classes, *([(plain, "")] if plain else [])]:
            names = ",".join(self.names[at : at + count])
            has += [f"NodeName={names} Name={name} Count={n}\n" for name, n in re.findall(r"Gres=(\w+):(\d+)", more)]
            ports = f"[{port + at}-{port + at + count - 1}]" if count > 1 else str(port + at)
            lines.append(f"NodeName={names} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports} {more}".rstrip())
            at += count
        if gres:
            (self.base / "gres.conf").write_text("".join(has), encoding="utf-8")
        return [*([f"GresTypes={','.join(gres)}"] if gres else []), *lines]

    # ------------------------------------------------------------------ daemons

    @contextlib.contextmanager
    def running(self) -> Iterator[SlurmCluster]:
        """Start everything, and end everything that was started, whatever happens."""
        why = why_not() or why_not_there(self.base)
        if why:
            raise RunError(why)
        try:
            self.write()
            self.start()
            yield self
        finally:
            with undisturbed():
                self.stop()

    def start(self) -> None:
        """Start munge, the controller and the nodes; return when all nodes are idle."""
        self.start_munge()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self._wait(lambda: self._idle() >= self.nodes, "all nodes")
        if self.rest:
            self.start_rest()

    def start_munge(self) -> None:
        """Start munge with a key and a socket of its own."""
        munge = self.base / "munge"
        self._spawn(
            "munged",
            [
                _find("munged") or "munged",
                "--foreground",
                "--force",
                f"--key-file={munge / 'munge.key'}",
                f"--socket={self.base / 'run' / 'munge.sock'}",
                f"--pid-file={self.base / 'run' / 'munged.pid'}",
                f"--seed-file={munge / 'seed'}",
            ],
        )
        self._wait((self.base / "run" / "munge.sock").exists, "munge")

    def start_controller(self) -> None:
        """Start slurmctld, and wait until it answers."""
        self._spawn("slurmctld", [str(self.base / "bin" / "slurmctld"), "-D", "-f", str(self.conf)])
        self._wait(lambda: self.command("scontrol", "ping", check=False).returncode == 0, "slurmctld")

    def start_rest(self) -> None:
        """Start slurmrestd as nobody, on loopback, and wait until it listens."""
        for folder in (self.base, self.base / "run"):
            folder.chmod(0o755)
        who = [_find("setpriv") or "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        how = ["-f", str(self.conf), "-a", "rest_auth/jwt", "-s", "openapi/v0.0.38", f"127.0.0.1:{self.rest_port}"]
        self._spawn("slurmrestd", [*who, _find("slurmrestd") or "slurmrestd", *how], {"SLURM_JWT": "daemon"})

        def listens() -> bool:
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", self.rest_port)) == 0

        self._wait(listens, "slurmrestd")

    def token(self, lasts_s: int = 3600) -> str:
        """Return a token of Slurm's user, as ``scontrol token`` prints it."""
        return self.command("scontrol", "token", f"lifespan={lasts_s}").stdout

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node."""
        (self.base / "spool" / name).mkdir(exist_ok=True)
        tools = self.base / "bin"
        self._spawn(
            name, [str(tools / "slurmd"), "-D", "-f", str(self.conf), "-N", name, "-d", str(tools / "slurmstepd")]
        )

    def end(self, name: str, how: int = signal.SIGTERM, most_s: float = 10.0) -> None:
        """End one daemon: ``slurmctld``, ``munged`` or that of a node."""
        process = self.daemons.pop(name)
        process.send_signal(how)
        try:
            process.wait(most_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """End all jobs and daemons."""
        if "slurmctld" in self.daemons:
            with contextlib.suppress(OSError, RunError):
                self.cancel_all()
        if "slurmrestd" in self.daemons:
            self.end("slurmrestd")
        nodes = [name for name in self.daemons if name not in ("slurmctld", "munged")]
        for name in nodes:
            self.daemons[name].terminate()
        for name in [*nodes, *(name for name in ("slurmctld", "munged") if name in self.daemons)]:
            self.end(name)
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cancel_all(self, most_s: float = 5.0) -> None:
        """End all jobs, stopped ones too, and wait until they are gone."""
        who = pwd.getpwuid(os.getuid()).pw_name
        self.command("scancel", "--full", "-s", "KILL", "-u", who, check=False)
        self.command("scancel", "-u", who, check=False)
        until = time.monotonic() + most_s
        while self.command("squeue", "-h", "-o", "%i", check=False).stdout.strip() and time.monotonic() < until:
            time.sleep(0.1)

    def left(self) -> list[int]:
        """Return the processes of this cluster that are still there: daemons, jobs, their keepers, Slurm's commands.

        Somebody's shell that has been told of the cluster is none of them.
        """
        word, found = f"SLURM_CONF={self.conf}".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            pid = int(path.parent.name)
            with contextlib.suppress(OSError):
                told = path.read_bytes().split(b"\0")
                if pid == os.getpid() or word not in told:
                    continue
                name = path.with_name("comm").read_text(encoding="utf-8", errors="replace").strip()
                if name in OWN or any(one.startswith(b"SLURM_JOB_ID=") for one in told):
                    found.append(pid)
        return found

    def _spawn(self, name: str, command: Sequence[str], more: Mapping[str, str] | None = None) -> None:
        with (self.base / "log" / f"{name}.out").open("ab") as log:
            self.daemons[name] = subprocess.Popen(  # noqa: S603
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self.environment, **(more or {})},
                cwd=self.base,
                start_new_session=True,
            )

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + READY_S
        while not ready():
            ended = [name for name, process in self.daemons.items() if process.poll() is not None]
            if ended or time.monotonic() > until:
                told = f"{ended[0]} has ended by itself" if ended else f"not within {READY_S:g} s"
                raise RunError(f"{what}: {told} (logs are in {self.base / 'log'})")
            time.sleep(0.05)

    def _idle(self) -> int:
        said = self.command("sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N", check=False).stdout
        return len(set(said.split()))

    # ------------------------------------------------------------------ use

    def command(
        self, *words: str, check: bool = True, more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands on this cluster; ``check``: one that fails is an error in a line."""
        try:
            done = subprocess.run(  # noqa: S603
                words,
                check=False,
                capture_output=True,
                text=True,
                timeout=ANSWERS_S,
                env={**self.environment, **(more or {})},
                cwd=self.base,
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"{words[0]}: Slurm did not answer within {ANSWERS_S:g} s (logs: {self.base}/log)") from None
        if check and done.returncode != 0:
            said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise RunError(f"{words[0]}: {said} (Slurm's logs: {self.base}/log)")
        return done

    def submit(self, script: str, *options: str, nodes: int = 1) -> str:
        """Submit a job of a shell script (0 nodes: as its options say); return its number."""
        wide = ["-N", str(nodes)] if nodes else []
        said = self.command("sbatch", "--parsable", *wide, "-o", "/dev/null", *options, "--wrap", script)
        return said.stdout.strip().split(";")[0]

    def shown(self, job: str, field: str) -> str:
        """Return what squeue shows of a job."""
        return self.command("squeue", "-h", "-r", "-t", "all", "-j", job, "-O", f"{field}:|").stdout.strip().rstrip("|")


def _free_ports(count: int) -> int:
    """Return the first of so many ports in a row that nobody listens on."""
    for _ in range(50):
        first = random.choice(FIRST_PORTS[:-count])
        with contextlib.ExitStack() as open_ones:
            try:
                for port in range(first, first + count):
                    made = open_ones.enter_context(socket.socket())
                    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    made.bind(("127.0.0.1", port))
            except OSError:
                continue
        return first
    raise RunError(f"no {count} ports in a row are free on 127.0.0.1")
