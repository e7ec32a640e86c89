"""A controller leads a real Slurm while parts of it fail and users act: the bounds of docs/live/faults.md hold."""

from __future__ import annotations

from pathlib import Path

from slurm_storm import ends_well, some, storm

from wattline.demo.slurm_cluster import SlurmCluster


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
