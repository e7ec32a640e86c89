"""A controller's file that names Slurm: checked, asked, and switched off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wattline.api.controlling import switch_off
from wattline.api.site.plan import manager_notes, missing, plan_site
from wattline.demo.slurm_cluster import LUA, SlurmCluster
from wattline.live.clock import Clock
from wattline.live.controller.managers import open_manager
from wattline.live.doctor.examine import examine
from wattline.live.doctor.findings import Machine
from wattline.live.machine.settings import ManagerSpec
from wattline.live.machine.slurm.manager import SlurmManager

ROOT = Path(__file__).parents[3]


def site(folder: Path, manager: str) -> Path:
    """Write the example's file with another resource manager, without keys."""
    text = (ROOT / "examples" / "live" / "site.toml").read_text().replace('kind = "launcher"', manager)
    text = re.sub(r"^run_dir = .*$|^key = .*$|^known = .*$", "", text, flags=re.MULTILINE) + "insecure = true\n"
    text = text.replace("n[001-032]", "n[01-12]").replace("7411", "0")
    machine = (ROOT / "examples" / "live" / "machine.toml").read_text()
    (folder / "machine.toml").write_text(machine.replace("nodes = 32", "nodes = 12"))
    (folder / "site.toml").write_text(text)
    return folder / "site.toml"


def test_slurm_molds_jobs_before_it_is_asked(tmp_path: Path) -> None:
    """A controller whose scenario has moldable jobs looks for that when it opens Slurm, before any answer of it."""
    made = open_manager(ManagerSpec.model_validate({"kind": "slurm"}), tmp_path, Clock())
    assert made.abilities.molds


def test_every_key_reaches_the_manager(tmp_path: Path) -> None:
    """What the file says is what the manager goes by."""
    spec = ManagerSpec.model_validate(
        {
            "kind": "slurm",
            "conf": "slurm.conf",
            "bin": "bin",
            "timeout": "2 s",
            "partitions": ["a"],
            "leave_partitions": ["b"],
            "leave_accounts": ["c"],
            "leave_users": ["d"],
            "stop": "never",
            "stop_again": "3 s",
            "limit_again": "4 s",
            "most_per_second": 7,
            "power": {"physics": "0.35 kW"},
        }
    )
    made = open_manager(spec, tmp_path, Clock(), act=False)
    assert isinstance(made, SlurmManager)
    assert (made.commands.conf, made.commands.folder) == (tmp_path / "slurm.conf", tmp_path / "bin")
    assert (made.commands.timeout_s, made.act, made.rules.stop) == (2.0, False, "never")
    assert [set(made.rules.partitions), set(made.rules.leave_partitions)] == [{"a"}, {"b"}]
    assert [set(made.rules.leave_accounts), set(made.rules.leave_users)] == [{"c"}, {"d"}]
    assert (made.rules.stop_again_s, made.rules.limit_again_s, made.rules.most_per_s) == (3.0, 4.0, 7.0)
    assert made.rules.power_w == {"physics": 350.0}


def test_a_slurm_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A check without Slurm's commands says what to do, and does not fail."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    (tmp_path / "bin" / "scontrol").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    for name in ("squeue", "scontrol"):
        (tmp_path / "bin" / name).chmod(0o755)
    planned = plan_site(site(tmp_path, 'kind = "slurm"\nbin = "bin"'))
    assert manager_notes(planned) == []
    assert any("Unable to contact slurm controller" in line for line in missing(planned))


def test_a_real_slurm_is_asked_and_let_go(cluster: SlurmCluster, tmp_path: Path) -> None:
    """Check and doctor look and hold nothing; off lets Slurm run the jobs that were held, on nodes of its choice."""
    planned = plan_site(site(tmp_path, f'kind = "slurm"\nconf = "{cluster.conf}"'))
    assert "partitions all" in dict(planned.lines())["resource manager"]
    job = cluster.submit("true", "-H", "--comment=held_for=wattline")
    assert any(note.startswith("Slurm ") for note in manager_notes(planned))
    assert missing(planned) == []
    seen = [one.text for one in examine(tmp_path / "site.toml", Machine()) if one.what == "slurm"]
    assert f"{cluster.conf.with_name('job_submit.lua')} holds jobs at entry" in seen
    assert cluster.shown(job, "Reason") == "JobHeldUser"
    made = open_manager(planned.spec.manager, tmp_path, Clock())
    made.snapshot()
    assert cluster.shown(job, "Reason") == "JobHeldAdmin"
    done = switch_off(planned)
    assert done.released == [f"job {job} (held)"]
    assert set(done.kept) == {f"node {name}" for name in planned.names}
    made.snapshot()
    assert cluster.shown(job, "State") in ("PENDING", "RUNNING", "COMPLETING", "COMPLETED")
    assert cluster.shown(job, "PriorityLong") != "0"
    cluster.cancel_all()


@pytest.mark.parametrize("line", [line for line in LUA.splitlines() if line and not line.startswith("--")])
def test_the_page_has_the_script_of_the_test_cluster(line: str) -> None:
    """What sites are told to install is what was tried."""
    assert line in (ROOT / "docs" / "live" / "slurm.md").read_text()
