"""A machine that is well, for the doctor to look at, and the file of a node with a powercap tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wattline.demo.slurm_cluster import LUA
from wattline.live.doctor.findings import Finding, Machine

SLURM = """Configuration data as of 2026-11-16T12:00:00
JobSubmitPlugins        = lua
MinJobAge               = 300 sec
PreemptMode             = OFF
ProctrackType           = proctrack/cgroup
PrologFlags             = Alloc,Contain
SchedulerParameters     = sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SLURM_VERSION           = 22.05.8
SuspendProgram          = (null)

Slurmctld(primary) at here is UP
"""

NODE = """site = "demo"
run_dir = "run"
controllers = ["controller"]

[node]
name = "n001"
powercap = "tree"
safe = "180 W"
min = "120 W"
max = "350 W"

[model]
profile = "gold-6132"
"""


class Fake(Machine):
    """A machine that is well; ``says`` is what its commands answer."""

    def __init__(self, tmp_path: Path, **says: str | None) -> None:
        self.says: dict[str, str | None] = {"chronyc": "Leap status     : Normal\n", "scontrol": SLURM, **says}
        (tmp_path / "job_submit.lua").write_text(LUA, encoding="utf-8")
        if self.says["scontrol"]:  # as slurmctld says where its file is
            self.says["scontrol"] += f"SLURM_CONF              = {tmp_path / 'slurm.conf'}\n"
        self.at_s = 0.0
        (tmp_path / "proc" / "net").mkdir(parents=True, exist_ok=True)
        super().__init__(
            run=lambda command: self.says.get("partitions" if command[-1] == "partition" else command[0]),
            version_of=lambda package: "99.0",
            free_bytes=lambda path: 10**12,
            load=lambda: 0.0,
            has_address=lambda host: True,
            wall=lambda: 1e9 + self.at_s,
            monotonic=lambda: self.at_s,
            rest=self.pass_time,
            python=(3, 12),
            proc=tmp_path / "proc",
        )

    def pass_time(self, seconds: float) -> None:
        """Wait."""
        self.at_s += seconds


def bad(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return what is not well: level and subject; each says what to change, in one line."""
    for one in findings:
        assert "\n" not in one.line()
        assert bool(one.change) == (one.level != "ok")
    return [(one.level, one.what) for one in findings if one.level != "ok"]
