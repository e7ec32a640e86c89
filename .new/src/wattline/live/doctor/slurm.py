"""Slurm's parameters: what makes releases late, lets jobs run past us, or takes what we need to see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wattline.live.doctor.findings import Finding, Machine
from wattline.live.machine.base import ManagerError
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.marks import ENTRY

COMMAND = ("scontrol", "show", "config")
PARTITIONS = ("scontrol", "--oneliner", "show", "partition")
SCHEDULER = {
    "batch_sched_delay": (0, 3, 0),
    "sched_interval": (5, 60, 1),
    "sched_min_interval": (100_000, 2, 0),
    "bf_interval": (5, 30, 1),
}
"""SchedulerParameters: the most that releases bear, Slurm's default, and what to set (microseconds in the third)."""
LEAST_AGE_S, FEW_AGE_S = 10, 60
TRIED = (22, 5)


def look(machine: Machine, *, needed: bool) -> Iterator[Finding]:
    """Look at what Slurm says of itself; ``needed`` where it must be there."""
    text = machine.run(COMMAND)
    if text is not None:
        yield from _judge(text, machine.run(PARTITIONS) or "")
    elif needed:
        yield _silent("")


def look_as_led(commands: Commands) -> Iterator[Finding]:
    """Look at the Slurm that a controller's file names, asked as the controller asks it."""
    try:
        text, partitions = commands.ask(*COMMAND), commands.ask(*PARTITIONS)
    except ManagerError as problem:
        yield _silent(f" ({problem})")
        return
    yield from _judge(text, partitions)


def _silent(why: str) -> Finding:
    text = f"{' '.join(COMMAND)} does not answer{why}"
    return Finding("fail", "slurm", text, "install slurm-client here, or name conf and bin; is slurmctld up?")


def _judge(text: str, partitions: str) -> Iterator[Finding]:
    told = parse(text)
    yield from _version(told)
    yield from _scheduler(told.get("SchedulerParameters", ""))
    yield from _jobs(told)
    yield from _nodes(told)
    yield from _partitions(partitions)


def parse(text: str) -> dict[str, str]:
    """Return the keys of ``scontrol show config``; (null) is nothing."""
    rows = re.findall(r"^(\S+)[ \t]*= ?(.*)$", text, re.MULTILINE)
    return {key: "" if value.strip() == "(null)" else value.strip() for key, value in rows}


def look_as_agent(machine: Machine) -> Iterator[Finding]:
    """Look whether an agent finds the processes of stopped jobs (``jobs = "slurm"``): by control groups, or by a right
    of its own.
    """
    told = parse(machine.run(["scontrol", "show", "config"]) or "")
    kind = told.get("ProctrackType", "")
    if kind == "proctrack/cgroup":
        yield Finding("ok", "slurm", 'jobs = "slurm": stopped jobs are found by their control groups')
        return
    why = f"ProctrackType={kind} gives jobs no control group" if kind else "Slurm does not say ProctrackType"
    yield Finding(
        "warn",
        "slurm",
        f'jobs = "slurm": {why}, and the unit sees no processes of users',
        "the drop-in with CAP_SYS_PTRACE (systemctl edit wattline-agent; the unit's comments), or proctrack/cgroup",
    )


def _version(told: dict[str, str]) -> Iterator[Finding]:
    found = told.get("SLURM_VERSION", "")
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if len(numbers) < 2:
        yield Finding("warn", "slurm", "does not tell its version", "is this scontrol show config of Slurm?")
    elif numbers < TRIED:
        yield Finding("warn", "slurm", f"version {found}: Wattline was tried with 22.05", "try it first")
    else:
        yield Finding("ok", "slurm", f"version {found}")


def _scheduler(parameters: str) -> Iterator[Finding]:
    given = dict(re.findall(r"(?:^|,)\s*([A-Za-z_]+)(?:=(\d+))?", parameters))
    late = []
    for name, (most, usual, _) in SCHEDULER.items():
        value = int(given.get(name) or usual)
        if value > most:
            late.append(f"{name}={value}")
    if not late:
        yield Finding("ok", "slurm", "SchedulerParameters: a released job starts within about a second")
        return
    wanted = ",".join(f"{name}={best}" for name, (_, _, best) in SCHEDULER.items())
    yield Finding(
        "warn",
        "slurm",
        f"SchedulerParameters: {', '.join(late)} make released jobs start 2 to 3 s late",
        f"set SchedulerParameters={wanted} (and what it has), then: scontrol reconfigure",
    )


def _jobs(told: dict[str, str]) -> Iterator[Finding]:
    preempts = told.get("PreemptMode", "OFF").upper()
    if any(word in preempts for word in ("SUSPEND", "GANG")):
        yield Finding(
            "warn",
            "slurm",
            f"PreemptMode={preempts}: Slurm suspends jobs itself and gives their nodes to others",
            "use PreemptMode=OFF or REQUEUE",
        )
    else:
        yield Finding("ok", "slurm", f"PreemptMode={preempts}")
    age_s = int((re.findall(r"\d+", told.get("MinJobAge", "")) or ["300"])[0])
    text = f"MinJobAge={age_s}: jobs that ended are forgotten after {age_s} s"
    if age_s == 0:
        yield Finding("ok", "slurm", "MinJobAge=0: jobs that ended are kept")
    elif age_s < LEAST_AGE_S:
        yield Finding("fail", "slurm", f"{text}, before a controller has seen them", "set MinJobAge=300")
    elif age_s < FEW_AGE_S:
        yield Finding("warn", "slurm", f"{text}; a controller that restarts misses them", "set MinJobAge=300")
    else:
        yield Finding("ok", "slurm", text)
    if "lua" in re.split(r"[,/\s]+", told.get("JobSubmitPlugins", "")):
        yield _at_entry(Path(told.get("SLURM_CONF") or "/etc/slurm/slurm.conf").with_name("job_submit.lua"))
    else:
        yield Finding(
            "warn",
            "slurm",
            "JobSubmitPlugins has no lua: a job may start before the controller has seen it",
            "set JobSubmitPlugins=lua and hold jobs in job_submit.lua (docs/live/slurm.md)",
        )


def _at_entry(file: Path) -> Finding:
    """Look whether the submit plug-in's script holds jobs at entry, says so in their comments, and keeps them held."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        there = f"{file} cannot be read here ({problem.strerror})"
        return Finding("warn", "slurm", there, "look on slurmctld's host that it holds jobs (docs/live/slurm.md)")
    code = re.sub(r"--\[\[.*?\]\]|--[^\n]*", "", text, flags=re.DOTALL)
    wanted = {
        "has no slurm_job_submit": r"function\s+slurm_job_submit\b",
        "does not hold jobs (priority = 0)": r"\.priority\s*=\s*0\b",
        "does not mark the jobs it holds (held_for=wattline)": re.escape("=".join(ENTRY)),
        "has no slurm_job_modify: a change of niceness ends a hold": r"function\s+slurm_job_modify\b",
        "does not keep its mark where a user writes another comment": r"\brecord\.comment\b",
    }
    missing = [what for what, pattern in wanted.items() if not re.search(pattern, code)]
    if missing:
        return Finding("warn", "slurm", f"{file} {'; '.join(missing)}", "take the script of docs/live/slurm.md")
    return Finding("ok", "slurm", f"{file} holds jobs at entry")


def _nodes(told: dict[str, str]) -> Iterator[Finding]:
    track = told.get("ProctrackType", "")
    if track == "proctrack/cgroup":
        yield Finding("ok", "slurm", "ProctrackType=proctrack/cgroup")
    else:
        yield Finding(
            "warn" if track == "proctrack/linuxproc" else "fail",
            "slurm",
            f"ProctrackType={track or 'unknown'}: processes may leave their job and not be stopped with it",
            "use proctrack/cgroup",
        )
    flags = told.get("PrologFlags", "")
    if "alloc" in flags.lower() or "contain" in flags.lower():
        yield Finding("ok", "slurm", f"PrologFlags={flags}")
    else:
        yield Finding(
            "warn",
            "slurm",
            "PrologFlags has no Alloc: the prolog runs with the first step, not when the nodes are given",
            "set PrologFlags=Alloc",
        )


def _partitions(text: str) -> Iterator[Finding]:
    rows = re.findall(r"^PartitionName=(\S+) .*?OverSubscribe=(\S+)", text, re.MULTILINE)
    shared = [name for name, how in rows if how != "EXCLUSIVE"]
    if shared:
        yield Finding(
            "warn",
            "slurm",
            f"partition {', '.join(shared[:5])}: Slurm may put several jobs on a node, and caps hit all of them",
            "set OverSubscribe=EXCLUSIVE for the partitions that are led",
        )
    elif rows:
        yield Finding("ok", "slurm", "OverSubscribe=EXCLUSIVE: a node has one job")
