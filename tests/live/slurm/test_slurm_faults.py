"""A controller leads a real Slurm while parts of it fail and users act: the bounds of docs/live/faults.md hold."""

from __future__ import annotations

from pathlib import Path

import slurm_site_faults as site
from slurm_process import led_slurm
from slurm_run import MAX_W
from slurm_storm import ends_well, some, storm

from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.controller.journal.replay import replay
from wattline.live.controller.journal.setup import rebuild


def test_daemons_fail_agents_lie_and_nonsense_arrives(cluster: SlurmCluster) -> None:
    """Slurm's controller is gone, or hangs, for seconds, munge is down, a slurmd is killed, an agent lies about its
    power, one is started anew and lets a stopped job go on, two thousand messages are malformed or forged: jobs end
    once, where they were placed, and the machine stays under its limit.
    """
    with storm(cluster) as run:
        some(run, 6)
        run.go(run.led)
        run.slurmctld_is_gone()
        run.slurmctld_hangs()
        run.nonsense_arrives()
        run.munge_is_down()
        some(run, 3)
        run.an_agent_lies()
        run.slurmd_is_killed()
        run.an_agent_is_started_anew()
        ends_well(run)


def test_others_act_while_a_controller_leads(cluster: SlurmCluster, tmp_path: Path) -> None:
    """A job is requeued as it is released, users act on their held jobs, a leader hangs and is replaced, nodes come
    back in another order of names: the same holds.
    """
    with storm(cluster) as run:
        run.go(run.led)
        run.a_release_is_requeued()
        run.two_controllers(tmp_path)
        some(run, 2)
        run.users_act()
        run.names_change_their_order()
        ends_well(run)


def test_wires_sensors_caps_signal_clock_disk_and_controller_fail(cluster: SlurmCluster, tmp_path: Path) -> None:
    """Nodes do not obey their caps, sensors fail, the signal goes wrong, wires are cut, agents are killed, the clock is
    set, the disk is full, the controller is killed and starts from its log (which knows who ended and who stands
    still): each within its bound, the same holds, and the log is replayed identically.
    """
    names = cluster.names
    with storm(cluster, cap="match-target", lease_s=3.0, silent_s=2.0, folder=tmp_path / "journal") as run:
        run.go(run.led)
        site.press(run, 10.0)
        site.caps_are_not_obeyed(run, names[:3], MAX_W, 5.0)
        site.sensors_fail(run, names[3:6], "wild", 2.0)
        site.sensors_fail(run, names[3:6], "nothing", 2.0)
        site.the_signal_goes_wrong(run, 0.25)
        site.the_bus_is_cut(run, names[:5], 0.0)
        site.agents_are_killed(run, names[:2], 0.0)
        site.the_clock_is_set(run, 3600.0)
        site.the_controller_is_killed(run, 5.5)
        site.a_stop_outlives_the_controller(run)
        site.the_disk_is_full(run, 1.5)
        ends_well(run)
    found = replay(tmp_path / "journal", rebuild)
    assert found.identical, found.difference
    assert found.starts == 3


def test_a_controllers_process_is_killed_and_started_again(cluster: SlurmCluster, tmp_path: Path) -> None:
    """A real controller, killed (-9) and started again from its log, and once more with its log gone: jobs that stood
    still go on, caps are on the nodes of the jobs and nowhere else, what ended meanwhile is known, what waited under
    its hold is started, each job once.
    """
    low_w = 2700.0  # two jobs more than idle, without caps
    with led_slurm(tmp_path, cluster, 6000.0) as rig:
        first = rig.submit(7)
        rig.until(lambda: rig.count()["RUNNING"] == len(first), 20.0, "the jobs")
        rig.push(low_w)
        rig.let_end(*rig.submit(3))
        rig.until(lambda: rig.capped() == rig.busy() and len(rig.busy()) == len(first), 10.0, "the caps")
        for stopped, ends, lost in ((first[0], first[1], False), (first[2], first[3], True)):
            rig.kill(log_is_lost=lost)
            rig.stop(stopped)
            rig.let_end(ends)
            rig.until(lambda ends=ends: rig.states()[ends][0] == "COMPLETED", 10.0, "a job's end")
            rig.lead_anew(stopped, low_w)
            assert rig.count()["PENDING"] == 3 or lost  # the limit that was pushed is in the log's folder
        rig.let_end(*first)
        rig.push(6000.0)
        rig.until(lambda: rig.count()["COMPLETED"] == len(rig.jobs), 30.0, "all jobs")
        rig.until(lambda: not rig.capped(), 10.0, "no caps")
    assert [job for job in rig.jobs if rig.noted(job) != ["begin", "end"]] == []
    assert rig.released() == dict.fromkeys(rig.jobs, 1)
    assert "the state is built anew" not in rig.log()
