"""How Slurm's jobs are stopped and let go on, and which of them never are."""

from __future__ import annotations

import pytest
from slurm_fake import NOW_S, look, manager, slurm

from wattline.live.machine.base import ManagerError


def test_a_stop_keeps_the_nodes_and_the_limit_grows_by_the_pause() -> None:
    """A stopped job is paused on its nodes; when it goes on, its limit grows by the pause, in whole minutes."""
    fake = slurm()
    fake.job("7", limit_s=600.0)
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    assert made.stop("7") is None
    assert (look(made)["7"].phase, look(made)["7"].on) == ("paused", ("n1",))
    fake.at_s = 130.0
    assert made.cont("7") is None
    assert look(made)["7"].phase == "running"
    assert fake.rows["7"].limit_s == 600.0 + 180.0
    fake.at_s = 150.0
    assert made.stop("7") is None
    fake.at_s = 190.0  # 170 s in all: the three minutes suffice
    made.cont("7")
    assert fake.rows["7"].limit_s == 600.0 + 180.0


def test_slurm_shows_signals_late() -> None:
    """A stop or continue that squeue does not show yet is neither taken for somebody else's nor undone."""
    fake = slurm()
    fake.job("7")
    made = manager(fake, stop_again_s=0.0)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    fake.job("7", state="RUNNING")  # not yet shown
    look(made)
    assert made.cont("7") is None
    assert fake.done[-2] == ("signal", "7", "CONT")
    fake.job("7", state="STOPPED")
    assert (look(made)["7"].phase, look(made)["7"].ours) == ("running", True)
    fake.at_s = 6.0  # it was lost: we are asked once more
    assert (look(made)["7"].phase, look(made)["7"].ours) == ("paused", True)
    assert made.cont("7") is None
    assert look(made)["7"].phase == "running"


def test_a_job_that_ended_as_it_was_stopped_is_over() -> None:
    """Slurm goes on to show such a job as stopped and knows no such job when it is told to go on: it has ended."""
    fake = slurm()
    for name, on in (("7", "n1"), ("8", "n2")):
        fake.job(name)
        look(made := manager(fake))
        made.release(name, [on])
        fake.starts(name, on)
    made = manager(fake)
    look(made)
    fake.at_s = 10.0
    for name in ("7", "8"):
        made.stop(name)
        fake.job(name, end_s=NOW_S + 10.0)
    fake.gone |= {"7", "8"}
    assert made.cont("7") == "Invalid job id specified"
    seen = look(made)
    assert [(seen[n].phase, seen[n].exit, seen[n].on) for n in ("7", "8")] == [("ended", 0, ())] * 2
    assert look(made)["8"].phase == "ended"


def test_a_stop_that_slurm_forgot_is_undone() -> None:
    """Where Slurm shows a job as running that we stopped, its processes may stand still: they are told to go on."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    fake.job("7", state="RUNNING")  # after a restart of slurmctld
    fake.at_s = 6.0
    assert look(made)["7"].phase == "running"
    assert fake.done[-1] == ("signal", "7", "CONT")
    fake.done.clear()
    look(made)
    assert fake.done == []


def test_a_pause_is_known_after_a_restart() -> None:
    """A controller that starts anew knows since when a job is stopped, lets it go on and extends its limit."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    fake.at_s = 61.0
    anew = manager(fake)
    seen = look(anew)["7"]
    assert (seen.phase, seen.ours) == ("paused", True)
    assert anew.cont("7") is None
    assert fake.rows["7"].limit_s == 600.0 + 120.0


def test_a_stopped_job_does_not_run_into_its_limit() -> None:
    """Slurm's clock runs on for stopped jobs: the limit is extended before it is reached."""
    fake = slurm()
    fake.job("7", limit_s=120.0)
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    for at_s in range(0, 600, 10):
        fake.at_s = float(at_s)
        look(made)
        assert fake.rows["7"].end_s > NOW_S + at_s + 30.0


@pytest.mark.parametrize(
    ("state", "rules", "stops"),
    [
        ({}, {}, True),
        ({}, {"stop": "never"}, False),
        ({"tasks": 4}, {}, False),
        ({"tasks": 4}, {"stop": "all"}, True),
        ({"tasks": 4, "comment": "stop=yes"}, {}, True),
        ({"comment": "stop=no"}, {"stop": "all"}, False),
    ],
)
def test_mpi_jobs_are_not_stopped_unless_told(state: dict[str, object], rules: dict[str, object], stops: bool) -> None:
    """A job of several tasks is stopped only where the site or the job says so."""
    fake = slurm()
    fake.job("7", **state)
    made = manager(fake, **rules)
    look(made)
    assert made.release("7", ["n1"]) is None
    fake.starts("7", "n1")
    assert look(made)["7"].stoppable is stops
    assert (made.stop("7") is None) is stops


def test_jobs_with_steps_are_not_stopped() -> None:
    """A job that has begun a step with srun may be MPI, whatever it asked for."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    fake.running_steps["7"] = ["7.0"]
    assert made.stop("7") == "it has job steps (srun), which may be MPI"


def test_what_others_stopped_is_left_alone() -> None:
    """A job that its user or an administrator stopped or suspended is not ours, and not continued."""
    fake = slurm()
    for name, state in (("7", "STOPPED"), ("8", "SUSPENDED")):
        fake.job(name)
        made = manager(fake)
        look(made)
        made.release(name, ["n1"])
        fake.starts(name, "n1")
        fake.job(name, state=state)
        assert (look(made)[name].phase, look(made)[name].ours) == ("paused", False)
        assert made.cont(name) == "it was stopped by others"


def test_commands_a_second_are_bounded() -> None:
    """Beyond so many commands in a second the others wait for the next."""
    fake = slurm()
    for k in range(4):
        fake.job(f"{k + 1}")
    made = manager(fake, most_per_s=4.0)  # a start is two
    look(made)
    assert made.release("1", ["n1"]) is None
    assert made.release("2", ["n2"]) is None
    with pytest.raises(ManagerError, match="more than 4 commands in a second"):
        made.release("3", ["n3"])
    fake.at_s = 1.1
    assert made.release("3", ["n3"]) is None


def test_a_job_is_not_stopped_again_at_once() -> None:
    """Between two stops of a job lies a while."""
    fake = slurm()
    fake.job("7")
    made = manager(fake, stop_again_s=10.0)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    made.cont("7")
    fake.at_s = 4.0
    assert made.stop("7") == "it went on 4 s ago, stops are 10 s apart"
    fake.at_s = 11.0
    assert made.stop("7") is None
