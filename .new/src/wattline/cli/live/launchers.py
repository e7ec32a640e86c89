"""``wattline launcher``, ``submit``, ``jobs`` and ``cancel``: the built-in resource manager and its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError
from wattline.units import duration_s, power_w

if TYPE_CHECKING:
    from wattline.live.machine.base import JobSeen, Snapshot
    from wattline.live.machine.launcher.client import LauncherClient

Where = Annotated[
    Path,
    typer.Option("--launcher", "-l", metavar="DIR", envvar="WATTLINE_LAUNCHER", help="Run directory of the launcher."),
]

STATES = {
    "ineligible": "PD",
    "waiting": "PD",
    "starting": "CF",
    "running": "R",
    "paused": "ST",
    "completing": "CG",
}
"""Phases in the letters of squeue: pending, configuring, running, stopped, completing."""
ENDS = {"Cancelled": "CA", "TimeLimit": "TO"}
"""Ends in the letters of squeue; the others are CD (completed), F (failed) and NF (its exit is not known)."""


def launcher(
    file: Annotated[Path, typer.Argument(metavar="LAUNCHER.toml", help="The launcher's file.")],
    *,
    check: Annotated[bool, typer.Option("--check", help="Show what would be used, and start nothing.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the launcher that serves this file.")] = False,
    jobs: Annotated[
        str, typer.Option("--jobs", metavar="WORD", help="With --stop: requeue, leave (running), or cancel its jobs.")
    ] = "requeue",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve as a small resource manager: start, stop and continue real processes on nodes, without root or Slurm.

    Jobs wait until a controller releases them. What happens is written to standard error, a JSON object a line. SIGTERM
    and Ctrl-C end the launcher and leave its jobs running; the next one finds them again.

    For example:

      wattline launcher examples/live/launcher.toml --check

      wattline launcher launcher.toml
    """
    from wattline.live.machine.launcher.config import read_launcher

    config = read_launcher(file)
    if jobs not in ("requeue", "leave", "cancel"):
        raise InputError(f"--jobs {jobs}: expected requeue, leave or cancel")
    if check:
        terminal = Terminal(as_json, quiet)
        for line in config.lines():
            terminal.line(line)
        terminal.data(config.model_dump(mode="json"))
    elif stop:
        with _client(config.run_dir) as client:
            client.shutdown(jobs)
    else:
        from wattline.live.machine.launcher.daemon import serve

        serve(config, quiet=quiet)


def submit(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The program and its arguments.")],
    launcher: Where,
    *,
    nodes: Annotated[int, typer.Option("--nodes", "-N", min=1, help="Nodes that the job needs.")] = 1,
    walltime: Annotated[
        str,
        typer.Option("--walltime", "--time", "-t", metavar="T", help="Longest time that it may run: 30 min, 1:00:00."),
    ] = "",
    kind: Annotated[str, typer.Option("--kind", help="Kind of job, as scenarios and controllers name it.")] = "",
    power: Annotated[str, typer.Option("--power", metavar="W", help="Power of each of its nodes: 350 W.")] = "",
    user: Annotated[str, typer.Option("--user", help="Whose job it is (default: you).")] = "",
    account: Annotated[str, typer.Option("--account", "-A", help="Account of the job.")] = "",
    partition: Annotated[str, typer.Option("--partition", "-p", help="Partition of the job.")] = "",
    priority: Annotated[float, typer.Option("--priority", help="Higher ones are more urgent.")] = 0.0,
    begin: Annotated[
        str,
        typer.Option("--begin", metavar="T", help="Not to start before: now+1h, or 2026-05-01T08:00."),
    ] = "",
    after: Annotated[
        list[str] | None,
        typer.Option("--after", metavar="ID", help="Not to start before this job has ended; repeatable."),
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Its output; %j is its number.")] = "",
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="A variable for the job; repeatable.")
    ] = None,
    no_stop: Annotated[bool, typer.Option("--no-stop", help="The job must not be stopped and continued.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Submit a job to a launcher; it waits until a controller releases it.

    For example:

      wattline submit --launcher launcher-run --nodes 2 --walltime 10min -- ./solve input.dat
    """
    import getpass

    what: dict[str, Any] = {"user": user or getpass.getuser()}
    labels = {"kind": kind, "account": account, "partition": partition, "output": output, "priority": priority}
    what |= {name: value for name, value in labels.items() if value}
    if walltime:
        what["request_s"] = _flag("--walltime", walltime, duration_s)
    if power:
        what["draw_w"] = _flag("--power", power, power_w)
    if no_stop:
        what["stoppable"] = False
    if after:
        what["after"] = after
    if env:
        wrong = next((pair for pair in env if "=" not in pair.lstrip("=")), None)
        if wrong is not None:
            raise InputError(f"--env {wrong}: expected NAME=VALUE")
        what["env"] = dict(pair.split("=", 1) for pair in env)
    with _client(launcher) as client:
        if begin:
            what["begin_s"] = _begin_s(begin, client)
        number = client.submit(command, nodes, **what)
    terminal = Terminal(as_json, quiet)
    terminal.line(f"Submitted job {number}")
    terminal.data({"id": number})


def jobs(
    launcher: Where,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Also jobs that ended and that the controller has seen.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the jobs of a launcher, in the letters of squeue.

    PD pending, CF starting, R running, ST stopped, CG completing, CD completed, F failed, CA cancelled, TO time limit.

    For example:

      wattline jobs --launcher launcher-run
    """
    with _client(launcher) as client:
        found = client.everything() if all_ else client.snapshot()
    terminal = Terminal(as_json, quiet)
    for line in _table(found):
        terminal.line(line)
    terminal.data([{k: v for k, v in asdict(job).items() if v == v and v != float("inf")} for job in found.jobs])


def cancel(
    launcher: Where,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Numbers of jobs.")],
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cancel jobs of a launcher, whether they wait, run or are stopped.

    For example:

      wattline cancel --launcher launcher-run 17
    """
    from wattline.live.machine.base import one_line

    with _client(launcher) as client:
        refused = {job: why for job in ids if (why := client.cancel(job)) is not None}
    Terminal(as_json, quiet).data({"cancelled": [job for job in ids if job not in refused], "refused": refused})
    if refused:
        raise InputError(one_line(refused))


@contextmanager
def _client(path: Path) -> Iterator[LauncherClient]:
    """Talk to a launcher; what it refuses is an error in one line."""
    from wattline.live.machine.base import ManagerError
    from wattline.live.machine.launcher.client import LauncherClient

    client = LauncherClient(path)
    try:
        yield client
    except ManagerError as problem:
        raise InputError(str(problem)) from None
    finally:
        client.close()


def _flag(flag: str, text: str, parse: Any) -> float:
    try:
        found = float(parse(text))
    except InputError as problem:
        raise InputError(f"{flag} {text}: {problem}") from None
    if not 0.0 < found < float("inf"):
        raise InputError(f"{flag} {text}: must be above 0")
    return found


def _begin_s(text: str, client: LauncherClient) -> float:
    """Return a time of the machine: one of the calendar, or so much later than its present time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return client.snapshot().time_s + _flag("--begin", text.removeprefix("now+"), duration_s)


def _table(found: Snapshot) -> list[str]:
    head = ("JOBID", "KIND", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)")
    rows = [head] + [
        (job.id, job.kind, job.user, _state(job), _time(job, found.time_s), str(job.nodes), _where(job))
        for job in sorted(found.jobs, key=lambda job: int(job.id))
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    right = (0, 4, 5)
    return [
        " ".join(
            c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _state(job: JobSeen) -> str:
    if job.phase != "ended":
        return STATES[job.phase]
    return ENDS.get(job.reason) or ("NF" if job.exit is None else "F" if job.exit else "CD")


def _time(job: JobSeen, now_s: float) -> str:
    """Return the time since its start, as squeue writes it."""
    begun, until_s = job.start_s == job.start_s, job.end_s if job.end_s == job.end_s else now_s
    whole = int(until_s - job.start_s) if begun else 0
    days, hours, minutes, seconds = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    short = f"{hours}:{minutes:02d}:{seconds:02d}" if days or hours else f"{minutes}:{seconds:02d}"
    return f"{days}-{short}" if days else short


def _where(job: JobSeen) -> str:
    if job.phase == "waiting":
        return f"({job.reason or 'waits for the controller'})"
    if job.on:
        return ",".join(job.on) if len(job.on) <= 8 else f"{job.on[0]},…,{job.on[-1]}"
    if job.phase == "ended" and job.exit:
        return f"({job.reason + ', ' if job.reason else ''}exit code {job.exit})"
    return f"({job.reason})" if job.reason else ""
