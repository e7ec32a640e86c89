"""What Slurm's commands print: rows of jobs and nodes, times, lists of hosts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from wattline.live.machine.base import ManagerError

JOB_FIELDS = (
    "JobArrayID",
    "JobID",
    "State",
    "Reason",
    "PriorityLong",
    "NumNodes",
    "NumCPUs",
    "NumTasks",
    "SubmitTime",
    "EligibleTime",
    "StartTime",
    "EndTime",
    "TimeLimit",
    "UserName",
    "Account",
    "Partition",
    "Dependency",
    "BatchFlag",
    "exit_code",
    "ReqNodes",
    "NodeList",
    "HetJobID",
    "Feature",
    "Reservation",
    "MinMemory",
    "MinCpus",
    "Contiguous",
    "tres-alloc",
    "tres-per-node",
    "tres-per-job",
    "tres-per-task",
    "tres-per-socket",
    "Comment",
)
NODE_FIELDS = ("NodeList", "StateComplete", "Partition", "CPUs", "Memory", "Gres", "Reason")
NOTHING = ("", "(null)", "N/A", "NONE", "None", "Unknown", "none")
BETWEEN = "\x1f"
MOST_HOSTS = 100_000
ENDLESS_S = 365 * 86400.0
"""A limit of a year is what Slurm gives a job without one when it starts."""


@dataclass(frozen=True)
class JobRow:
    """A job as squeue shows it. Times in seconds since 1970, NaN: none."""

    id: str
    number: str
    state: str
    reason: str
    priority: float
    nodes: int
    cpus: int
    tasks: int
    submit_s: float
    eligible_s: float
    start_s: float
    end_s: float
    limit_s: float
    user: str
    account: str
    partitions: tuple[str, ...]
    dependency: str
    batch: bool
    exit: int
    wanted: tuple[str, ...]
    """Nodes that it asks for by name, or that we named."""
    on: tuple[str, ...]
    het: bool
    features: str
    reservation: str
    comment: str
    memory_mb: float = 0.0
    """Of a node, at least."""
    least_cpus: int = 1
    """Of a node."""
    contiguous: bool = False
    gres: tuple[tuple[str, int], ...] = ()
    """Generic resources of a node (GPUs): name, with its type where it says one, and how many at least."""


@dataclass(frozen=True)
class NodeRow:
    """A node in one of its partitions, as sinfo shows it."""

    name: str
    states: tuple[str, ...]
    partition: str
    cpus: int
    reason: str
    memory_mb: float = math.inf
    gres: tuple[tuple[str, int], ...] = ()


def job_rows(text: str, mark: str, before: Mapping[str, JobRow]) -> tuple[list[JobRow], dict[str, JobRow]]:
    """Return the jobs of an answer of squeue, and each by its text; what is known from before is not read again."""
    if text and not text.endswith(f"{mark}\n"):
        raise ManagerError(f"squeue: an answer of {len(text)} letters is not understood")
    found: dict[str, JobRow] = {}
    for record in text.removesuffix(f"{mark}\n").split(f"{mark}\n") if text else ():
        raw = record.replace(mark, BETWEEN)  # only the last value is a user's, so that no two jobs look alike
        row = before.get(raw)
        found[raw] = _job(record.split(mark)) if row is None else row
    return list(found.values()), found


def node_rows(text: str, mark: str) -> list[NodeRow]:
    """Return the nodes of an answer of sinfo."""
    rows = []
    for name, states, partition, cpus, memory, gres, reason in _records(text, mark, len(NODE_FIELDS), "sinfo"):
        words = tuple(re.split(r"[+ ]", states.lower()))
        has = (partition.rstrip("*"), int(_number(cpus)), _or_empty(reason), _number(memory), gres_of(gres))
        rows.append(NodeRow(name, words, *has))
    return rows


def _records(text: str, mark: str, width: int, who: str) -> list[list[str]]:
    values = text.split(mark)
    if values[-1].strip() or (len(values) - 1) % width:
        raise ManagerError(f"{who}: an answer of {len(text)} letters is not understood")
    return [
        [value.removeprefix("\n") if k == 0 else value for k, value in enumerate(values[at : at + width])]
        for at in range(0, len(values) - 1, width)
    ]


def _job(values: list[str]) -> JobRow:
    if len(values) != len(JOB_FIELDS):
        raise ManagerError(f"squeue: a row of {len(values)} values is not understood")
    told = dict(zip(JOB_FIELDS, values, strict=True))
    try:
        return JobRow(
            id=told["JobArrayID"],
            number=told["JobID"],
            state=told["State"],
            reason=_or_empty(told["Reason"]),
            priority=_number(told["PriorityLong"]),
            nodes=int(_number(told["NumNodes"].partition("-")[0])),
            cpus=int(_number(told["NumCPUs"])),
            tasks=int(_number(told["NumTasks"])),
            submit_s=_time_s(told["SubmitTime"]),
            eligible_s=_time_s(told["EligibleTime"]),
            start_s=_time_s(told["StartTime"]),
            end_s=_time_s(told["EndTime"]),
            limit_s=limit_s(told["TimeLimit"]),
            user=told["UserName"],
            account=_or_empty(told["Account"]),
            partitions=tuple(told["Partition"].split(",")),
            dependency=_or_empty(told["Dependency"]),
            batch=told["BatchFlag"] == "1",
            exit=_exit(told["exit_code"]),
            wanted=hosts(told["ReqNodes"]),
            on=hosts(told["NodeList"]),
            het=told["HetJobID"] not in (*NOTHING, "0"),
            features=_or_empty(told["Feature"]),
            memory_mb=_memory_mb(told),
            least_cpus=int(_number(told["MinCpus"])),
            contiguous=told["Contiguous"] == "1",
            gres=_all_gres(told),
            reservation=_or_empty(told["Reservation"]),
            comment=_or_empty(told["Comment"]),
        )
    except ValueError as problem:
        raise ManagerError(f"squeue: job {told['JobArrayID']!r} is not understood ({problem})") from None


def _or_empty(text: str) -> str:
    return "" if text in NOTHING else text


def _number(text: str) -> float:
    """Return a count; Slurm shortens large ones (12K)."""
    if text in NOTHING:
        return 0.0
    factor = {"K": 1024.0, "M": 1024.0**2}.get(text[-1])
    return float(text) if factor is None else float(text[:-1]) * factor


def _time_s(text: str) -> float:
    return math.nan if text in NOTHING else float(text)


def _exit(text: str) -> int:
    """Return an exit code: what waitpid returns, or code:signal; signals count from 128 as in a shell."""
    code, colon, number = text.partition(":")
    if not colon:
        status = int(_number(text))
        return 128 + (status & 127) if status & 127 else (status >> 8) & 255
    return 128 + int(number) if int(number) else int(code)


def limit_s(text: str) -> float:
    """Return a time limit (days-hours:minutes:seconds, hours:minutes:seconds, minutes:seconds).

    >>> limit_s("1-02:00:00"), limit_s("5:00"), limit_s("UNLIMITED")
    (93600.0, 300.0, inf)
    """
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)
    if found is None:
        return math.inf
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    asked_s = 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds
    return asked_s if asked_s < ENDLESS_S else math.inf


def _memory_mb(told: Mapping[str, str]) -> float:
    """Return what a job needs of a node's memory; 0: it did not say.

    MinMemory is that of a node or of a CPU, and does not say which; the whole is what the job would be given.
    """
    least_mb = megabytes(told["MinMemory"])
    if least_mb == 0.0:
        return 0.0
    found = re.search(r"\bmem=([\d.]+[KMGTP]?)", told["tres-alloc"])
    nodes = max(1, int(_number(told["NumNodes"].partition("-")[0])))
    return max(least_mb, megabytes(found[1]) / nodes if found else 0.0)


def megabytes(text: str) -> float:
    """Return an amount of memory as Slurm writes it in MB; 0 for what is none.

    >>> megabytes("2G"), megabytes("6000M"), megabytes("0")
    (2048.0, 6000.0, 0.0)
    """
    found = re.fullmatch(r"([\d.]+)([KMGTP]?)c?n?", text)
    return float(found[1]) * 1024.0 ** ("KMGTP".index(found[2] or "M") - 1) if found else 0.0


def _all_gres(told: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Return the resources that a job needs on each node; of those counted by job, task or socket, one at least."""
    found = dict(gres_of(told["tres-per-node"]))
    for key in ("tres-per-job", "tres-per-task", "tres-per-socket"):
        for name, _ in gres_of(told[key]):
            found.setdefault(name, 1)
    return tuple(found.items())


def gres_of(text: str) -> tuple[tuple[str, int], ...]:
    """Return generic resources by name and type, and how many of each.

    >>> gres_of("gpu:a100:4(S:0-1),fpga:2"), gres_of("gres:gpu:2"), gres_of("gres/gpu=2"), gres_of("(null)")
    ((('gpu:a100', 4), ('fpga', 2)), (('gpu', 2),), (('gpu', 2),), ())
    """
    found = []
    for part in re.sub(r"\([^)]*\)", "", "" if text in NOTHING else text).split(","):
        name, _, count = part.strip().removeprefix("gres:").removeprefix("gres/").replace("=", ":").rpartition(":")
        if not count.isdigit():
            name, count = f"{name}:{count}".strip(":"), "1"
        if name:
            found.append((name, int(count)))
    return tuple(found)


def hosts(text: str) -> tuple[str, ...]:
    """Return the names of a list of hosts.

    >>> hosts("r[1-2]n[08-09],m4")
    ('r1n08', 'r1n09', 'r2n08', 'r2n09', 'm4')
    """
    if text in NOTHING:
        return ()
    names: list[str] = []
    for part in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text):
        pieces = [_numbers(piece) if piece.startswith("[") else [piece] for piece in re.split(r"(\[[^\]]*\])", part)]
        if math.prod(len(piece) for piece in pieces) > MOST_HOSTS:
            raise ValueError(f"list of hosts {text[:60]!r} is too long")
        names += ["".join(pair) for pair in itertools.product(*pieces)]
    return tuple(names)


def _numbers(piece: str) -> list[str]:
    found: list[str] = []
    for part in piece[1:-1].split(","):
        first, dash, last = part.partition("-")
        if not dash:
            found.append(first)
            continue
        if int(last) - int(first) > MOST_HOSTS:
            raise ValueError(f"list of hosts {piece[:60]!r} is too long")
        found += [f"{k:0{len(first)}d}" for k in range(int(first), int(last) + 1)]
    return found
