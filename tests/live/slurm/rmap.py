"""RMAP inside Slurm: a trace of thirty moldable jobs on a real Slurm and on the simulator, side by side.

    scripts/soak rmap [--policy rmap-adaptive] [--bound 3] [--seed 1] [--seconds 120]

Jobs are submitted with their application's name. The controller chooses nodes, cores and cap of each, updates the held
job, pins, caps and releases it; the job reads its cores and sleeps for as long as its application takes in that
configuration. The tables are those of ``wattline reproduce rmap``, their times shrunk so that the trace lasts some
minutes. Slurm knows walltimes in whole minutes, so the simulated jobs have the same ones.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from slurm_run import MAX_W, SlurmRun, leading

from engine.worlds import cluster, run
from wattline.arrays import Floats
from wattline.demo.slurm_cluster import SlurmCluster, why_not
from wattline.model.configurations import Moldable
from wattline.model.jobs import JobTable
from wattline.model.state.record import State
from wattline.systems.rmap.study import TRACES, draw_trace
from wattline.systems.rmap.tables import STAND_IN, machines
from wattline.wiring.options import Options

PROLOG = Path(__file__).parents[3] / "examples" / "live" / "task-prolog.sh"
PERIOD_S = 0.25


@dataclass
class Trace:
    """Jobs, their applications, and the limit they run under; times are shrunk."""

    jobs: JobTable
    tables: tuple[Moldable, ...]
    limit_w: float
    nodes: int

    def simulated(self, select: str, late_s: float = 0.0) -> State:
        """Return what the simulator makes of it, where jobs are there up to so many seconds late."""
        options = Options(
            limit_w=[(0.0, self.limit_w)], configurations=self.tables, late_start_s=(0.0, late_s), tick_s=1.0
        )
        return run(self.jobs, cluster(self.nodes, idle_w=0.0, max_w=MAX_W), select=select, options=options).state


def drawn(trace: str, bound: int, seed: int, seconds: float, select: str) -> Trace:
    """Return a trace that lasts for about so many seconds."""
    machine = machines()[STAND_IN]
    jobs, limit_w = draw_trace(STAND_IN, trace, seed), machine.bounds_w[bound]
    whole = Trace(jobs, tuple(Moldable(table) for table in machine.tables), limit_w, machine.nodes)
    shrunk = seconds / float(np.max(whole.simulated(select).end_s))
    tables = tuple(Moldable(replace(table, time_s=shrunk * table.time_s)) for table in machine.tables)
    short = replace(jobs, submit_s=shrunk * jobs.submit_s, work_s=shrunk * jobs.work_s)
    return Trace(
        replace(short, request_s=60.0 * np.ceil(shrunk * jobs.request_s / 60.0)), tables, limit_w, machine.nodes
    )


def play(site: SlurmRun, trace: Trace) -> tuple[list[str], float]:
    """Submit all jobs at their times and wait until they are over; return their names, and when it began."""
    table = site.slurm.base / "times.txt"
    rows = [(m.truth.application, c) for m in trace.tables for c in zip(*_columns(m), strict=True)]
    table.write_text("".join(f"{name} {n:g} {c:g} {round(p)} {t:.3f}\n" for name, (n, c, p, t) in rows))
    jobs, names = trace.jobs, list[str]()
    began, begin_s = time.monotonic(), time.time()
    most_s = 60.0 + 3.0 * float(jobs.submit_s.max() + jobs.work_s.max())
    while len(names) < len(jobs) or not site.over():
        turn = time.monotonic()
        while len(names) < len(jobs) and jobs.submit_s[len(names)] <= time.monotonic() - began:
            names.append(_submit(site, trace, len(names), table))
        site.turn()
        if turn - began > most_s:
            break
        time.sleep(max(0.0, turn + PERIOD_S - time.monotonic()))
    return names, begin_s


def _columns(m: Moldable) -> tuple[Floats, ...]:
    t = m.truth
    return t.nodes.astype(float), t.cores.astype(float), t.cap_w, t.time_s


def _submit(site: SlurmRun, trace: Trace, row: int, table: Path) -> str:
    jobs = trace.jobs
    name = jobs.kinds[int(jobs.kind[row])]
    line = (
        f"$SLURM_JOB_NUM_NODES $(date +%s.%N) $WATTLINE_CORES $WATTLINE_CPU_CAP_W >> {site.marks}/${{SLURM_JOB_ID}}_0"
    )
    find = (
        f"awk -v a={name} -v n=$SLURM_JOB_NUM_NODES -v c=$WATTLINE_CORES -v p=$WATTLINE_CPU_CAP_W "
        f"'$1==a && $2==n && $3==c && $4==p {{print $5}}' {table}"
    )
    script = f"echo begin {line}; sleep $({find}); echo end {line}"
    nodes, minutes = int(jobs.nodes[row]), round(float(jobs.request_s[row]) / 60.0)
    number = site.slurm.submit(script, "-t", str(minutes), f"--comment=kind={name}", nodes=nodes)
    site.jobs[number] = nodes
    return number


def table_of(site: SlurmRun, trace: Trace, names: list[str], begin_s: float, exact: State, late: State) -> list[str]:
    """Return the jobs side by side, and what they came to."""
    jobs = trace.jobs
    lines = [f"{'application':12}{'asks':>5}{'submitted':>11}{'Slurm':>22}{'simulated':>22}{'simulated late':>22}"]
    took: list[float] = []
    same = 0
    for row, name in enumerate(names):
        path = site.marks / f"{name}_0"
        words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        told = [f"{'never ran':>22}"]
        if len(words) == 2:
            start_s, end_s = (float(word[2]) - begin_s for word in words)
            took.append(end_s - float(jobs.submit_s[row]))
            form = f"{words[0][1]} x {words[0][3]}, {words[0][4]} W"
            told = [f"{start_s:6.1f} s {form:>13}"]
            same += form == _form(late, row)
        for s in (exact, late):
            told.append(f"{s.started_s[row]:6.1f} s {_form(s, row):>13}")
        kind = jobs.kinds[int(jobs.kind[row])]
        lines.append(
            f"{kind:12}{int(jobs.nodes[row]):5}{jobs.submit_s[row]:9.1f} s" + "".join(f"{t:>22}" for t in told)
        )
    means = [float(np.mean(s.end_s - jobs.submit_s)) for s in (exact, late)]
    lines += [
        f"mean turnaround: Slurm {np.mean(took):.1f} s, simulated {means[0]:.1f} s, simulated late {means[1]:.1f} s",
        f"{len(took)} of {len(names)} jobs ran, {same} of them in the configuration of the late simulation",
        f"highest power {site.most_w:.0f} W, limit {trace.limit_w:.0f} W",
    ]
    return lines


def _form(s: State, row: int) -> str:
    shape = int(s.shape[row])
    return f"{s.sh_nodes[shape]} x {s.sh_cores[shape]}, {s.sh_cap_w[shape]:.0f} W"


def main() -> int:
    """Run it; end with 1 where a job did not run once, or power was above the limit."""
    parser = argparse.ArgumentParser(prog="scripts/soak rmap", description=__doc__)
    parser.add_argument("--policy", default="rmap-adaptive")
    parser.add_argument("--trace", default="random 2", choices=list(TRACES))
    parser.add_argument("--bound", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    why = why_not()
    if why:
        sys.stderr.write(f"{why}\n")
        return 2
    trace = drawn(asked.trace, asked.bound, asked.seed, asked.seconds, asked.policy)
    exact, late = trace.simulated(asked.policy), trace.simulated(asked.policy, 1.0)
    with tempfile.TemporaryDirectory(prefix="wattline-rmap-") as folder:
        slurm = SlurmCluster(Path(folder), nodes=trace.nodes, task_prolog=PROLOG)
        how = {"limit": trace.limit_w / (MAX_W * trace.nodes), "idle_w": 0.0, "select": asked.policy}
        with slurm.running(), leading(slurm, configurations=trace.tables, **how) as site:
            names, begin_s = play(site, trace)
            lines = table_of(site, trace, names, begin_s, exact, late)
            ran = all(len(site.lines(name, "begin")) == 1 == len(site.lines(name, "end")) for name in names)
            fits = site.most_w <= trace.limit_w * (1.0 + 1e-6)
        left = slurm.left()
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if ran and fits and not left else 1


if __name__ == "__main__":
    sys.exit(main())
