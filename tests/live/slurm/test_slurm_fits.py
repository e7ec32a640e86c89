"""Which nodes suit a job of Slurm, and what becomes of jobs that nothing suits; Slurm's times when clocks are set."""

from __future__ import annotations

import pytest
from slurm_fake import NOW_S, FakeSlurm, look, manager, slurm

from wattline.live.machine.base import ManagerError
from wattline.live.machine.slurm.manager import SlurmManager
from wattline.live.machine.slurm.marks import read_mark
from wattline.live.machine.slurm.text import NodeRow


def mixed() -> FakeSlurm:
    """Return a Slurm of two small nodes, and of two with more memory, CPUs and GPUs, which have a partition too."""
    fake = slurm()
    small = [NodeRow(f"n{k}", ("idle",), "main", 4, "", 4000.0) for k in (1, 2)]
    gpus = (("gpu:a100", 2), ("gpu:v100", 1))
    for partition in ("main", "fat"):
        small += [NodeRow(f"n{k}", ("idle",), partition, 8, "", 8000.0, gpus) for k in (3, 4)]
    fake.machine = small
    return fake


@pytest.mark.parametrize(
    ("asks", "fits"),
    [
        ({}, None),
        ({"partitions": ("fat",)}, {"n3", "n4"}),
        ({"partitions": ("fat", "main")}, {"n3", "n4"}),
        ({"partitions": ("fat", "main"), "nodes": 3}, None),
        ({"memory_mb": 4000.0}, None),
        ({"memory_mb": 6000.0}, {"n3", "n4"}),
        ({"least_cpus": 5}, {"n3", "n4"}),
        ({"gres": (("gpu", 3),)}, {"n3", "n4"}),
        ({"gres": (("gpu:v100", 2),)}, set()),
        ({"excludes": ("n2", "n4")}, {"n1", "n3"}),
        ({"excludes": ("n3",), "memory_mb": 6000.0}, {"n4"}),
    ],
)
def test_jobs_fit_on_nodes_that_have_what_they_ask_for(asks: dict[str, object], fits: set[str] | None) -> None:
    """Partition, memory, CPUs, GPUs and excluded nodes say where a job can be; what asks for nothing fits anywhere."""
    fake = mixed()
    excludes = asks.pop("excludes", ())
    fake.job("7", **asks)
    fake.excludes["7"] = excludes  # type: ignore[assignment]
    seen = look(manager(fake))["7"]
    assert seen.phase == "waiting"
    assert seen.fits == fits
    anew = manager(fake)
    assert look(anew)["7"].fits is look(anew)["7"].fits


def test_a_job_whose_user_excludes_a_node_later_is_looked_at_again() -> None:
    """What a user changes of a waiting job counts from the next look at it on."""
    fake = mixed()
    fake.job("7")
    made = manager(fake)
    assert look(made)["7"].fits is None
    fake.excludes["7"] = ("n1",)
    fake.job("7", limit_s=120.0)
    assert look(made)["7"].fits == {"n2", "n3", "n4"}


def test_no_job_is_released_to_nodes_that_do_not_suit_it() -> None:
    """Whoever names such nodes hears so at once, and Slurm is not asked."""
    fake = mixed()
    fake.job("7", memory_mb=6000.0)
    made = manager(fake)
    look(made)
    fake.done.clear()
    assert made.release("7", ["n2"]) == "nodes n2 do not suit it (memory, CPUs, generic resources, or excluded)"
    assert fake.done == []
    assert made.release("7", ["n3"]) is None


def released(fake: FakeSlurm, **more: object) -> SlurmManager:
    """Return a manager that has released a job to n1."""
    fake.job("7", **more)
    made = manager(fake)
    look(made)
    assert made.release("7", ["n1"]) is None
    return made


def test_nodes_that_do_not_suit_are_not_tried_for_ever() -> None:
    """Slurm takes the priority of a job whose named nodes do not suit it: it is held, tried again later, and after
    three times given back to Slurm without names.
    """
    fake = slurm()
    made = released(fake)
    for k in range(3):
        fake.job("7", priority=0.0, reason="BadConstraints")
        seen = look(made)["7"]
        assert (seen.phase, seen.reason) == ("ineligible", "BadConstraints")
        if k < 2:
            assert fake.rows["7"].reason == "JobHeldAdmin"
            assert fake.rows["7"].wanted == ()
            fake.at_s += 61.0
            assert look(made)["7"].phase == "waiting"
            assert made.release("7", [f"n{k + 2}"]) is None
    fake.job("7", priority=0.0, reason="BadConstraints")
    seen = look(made)["7"]
    assert (seen.phase, seen.ours) == ("ineligible", False)
    assert fake.rows["7"].priority > 0.0
    assert fake.rows["7"].wanted == ()
    assert "no suitable nodes" in made.problems["7"]


def test_nodes_that_an_earlier_controller_named_and_do_not_suit_are_forgotten() -> None:
    """A job that Slurm has put aside for them waits for the controller that starts anew."""
    fake = slurm()
    released(fake)
    fake.job("7", priority=0.0, reason="BadConstraints")
    anew = manager(fake)
    look(anew)
    assert fake.rows["7"].reason == "JobHeldAdmin"
    assert look(anew)["7"].phase == "waiting"


def test_what_cannot_be_placed_is_given_back_and_stays_so() -> None:
    """A job that is left is released without nodes and is not ours; a controller that starts anew leaves it, too."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    assert made.leave("7", "it asks for 9 nodes") is None
    assert (fake.rows["7"].priority, fake.rows["7"].wanted) == (100.0, ())
    assert made.leave("7", "again") is None
    assert read_mark(fake.comments["7"]).word == "left"
    done = len(fake.done)
    for one in (made, manager(fake)):
        seen = look(one)["7"]
        assert (seen.phase, seen.ours) == ("ineligible", False)
    fake.starts("7", "n2")
    assert look(made)["7"].ours is False
    assert len(fake.done) == done
    fake.job("8")
    look(made)
    made.release("8", ["n1"])
    fake.starts("8", "n1")
    look(made)
    assert made.leave("8", "x") == "it is running and cannot be given back"


def test_a_user_may_hold_a_job_that_was_given_back() -> None:
    """A job that was held at submission and given back is not released again when its user holds it himself."""
    fake = slurm()
    fake.job("7", features="gpu", comment="held_for=wattline", priority=0.0, reason="JobHeldUser")
    made = manager(fake)
    look(made)
    assert fake.rows["7"].priority > 0.0
    fake.job("7", priority=0.0, reason="JobHeldUser")
    look(made)
    assert fake.rows["7"].priority == 0.0


def test_many_jobs_are_given_back_with_two_commands() -> None:
    """Jobs that are left alone do not take a command each."""
    fake = slurm()
    for k in range(30):
        fake.job(f"{k}", features="gpu", comment="held_for=wattline", priority=0.0, reason="JobHeldUser")
    look(manager(fake))
    assert [command for command, *_ in fake.done] == ["release", "update"]


def test_all_waiting_jobs_are_given_back_with_few_commands() -> None:
    """When all is off, hundreds of jobs are Slurm's again after a few commands; one that Slurm refuses is named."""
    fake = slurm()
    for k in range(150):
        fake.job(f"{k}")
    made = manager(fake)
    look(made)
    fake.done.clear()
    fake.refuses = {"120"}
    fake.refuses |= {",".join(f"{k}" for k in range(100, 150))}
    found = made.give_back()
    assert {job: why for job, why in found.items() if why is not None} == {"120": "refused"}
    assert len(found) == 150
    assert len(fake.done) == 2 + 1 + 3 * 49 + 1
    assert [job for job, row in fake.rows.items() if row.priority == 0.0] == ["120"]


def test_a_look_gives_few_commands_for_single_jobs() -> None:
    """Where Slurm refuses to hold some of many jobs, they are held one by one over several looks."""
    fake = slurm()
    for k in range(60):
        fake.job(f"{k}")
    fake.refuses = {",".join(f"{k}" for k in range(60))}
    made = manager(fake)
    assert [job.phase for job in look(made).values()].count("waiting") == 20
    fake.refuses = set()
    assert [job.phase for job in look(made).values()].count("waiting") == 60


def test_commands_are_counted_not_actions() -> None:
    """A start is two commands and a stop three: so many of them in a second are too many."""
    fake = slurm()
    for k in range(4):
        fake.job(f"{k + 1}")
    made = manager(fake, most_per_s=5.0)
    look(made)
    assert made.release("1", ["n1"]) is None
    assert made.release("2", ["n2"]) is None
    with pytest.raises(ManagerError, match="more than 5 commands in a second"):
        made.release("3", ["n3"])
    fake.starts("1", "n1")
    fake.at_s = 1.1
    look(made)
    assert made.stop("1") is None
    with pytest.raises(ManagerError):
        made.release("4", ["n4"]) or made.hold("2") or made.hold("2")
    assert made.cont("1") is None  # going on waits for nobody


def test_a_stopped_job_can_be_stopped_once_more() -> None:
    """Its node's agent may have let it go on, which Slurm does not know; what others stopped is left alone."""
    fake = slurm()
    made = released(fake)
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    look(made)
    fake.done.clear()
    assert made.stop("7") is None
    assert fake.done == [("signal", "7", "STOP")]
    fake.gone.add("7")
    assert made.stop("7") == "Invalid job id specified"
    assert look(made)["7"].phase == "ended"


def test_jobs_that_have_their_nodes_are_not_given_back() -> None:
    """A job that Slurm configures its nodes for is on its way: nobody takes its nodes or its mark when all is off."""
    fake = slurm()
    made = released(fake)
    fake.starts("7", "n1")
    fake.job("7", state="CONFIGURING")
    fake.job("8")
    look(made)
    assert look(made)["7"].phase == "starting"
    fake.done.clear()
    assert made.give_back() == {"8": None}
    assert not [words for words in fake.done if words[1] == "7"]


@pytest.mark.parametrize("set_s", [3600.0, -3600.0])
def test_clocks_that_are_set_do_not_move_jobs(set_s: float) -> None:
    """Slurm's times are the wall's: after it was set, jobs keep the starts that were seen, new ones get theirs in
    machine time, begin times come when they come for Slurm, and no job is taken for one that ended as it was stopped.
    """
    fake = slurm()
    made = released(fake, limit_s=600.0)
    fake.at_s = 10.0
    fake.starts("7", "n1")
    before = look(made)["7"]
    fake.at_s, fake.set_s = 100.0, set_s
    assert look(made)["7"].start_s == before.start_s == NOW_S + 10.0
    fake.job("8", submit_s=NOW_S + set_s + 100.0)
    fake.job("9", submit_s=NOW_S + set_s + 100.0, eligible_s=NOW_S + set_s + 160.0, reason="BeginTime")
    seen = look(made)
    assert seen["8"].submit_s == pytest.approx(NOW_S + 100.0, abs=1.0)
    assert seen["9"].phase == "ineligible"
    assert made.release("8", ["n2"]) is None
    fake.starts("8", "n2")
    fake.job("8", start_s=NOW_S + set_s + 100.0, end_s=NOW_S + set_s + 700.0)
    assert look(made)["8"].start_s == pytest.approx(NOW_S + 100.0, abs=1.0)
    fake.at_s = 165.0
    assert look(made)["9"].phase == "waiting"
    assert made.stop("8") is None
    fake.job("8", end_s=NOW_S + set_s + 400.0)
    fake.done.clear()
    assert look(made)["8"].phase == "paused"
    assert fake.done == []


def test_a_stop_of_the_future_is_no_stop_of_this_moment() -> None:
    """A controller that is started after the clock was set back lets a job go on whose stop Slurm has forgotten."""
    fake = slurm()
    made = released(fake)
    fake.starts("7", "n1")
    look(made)
    made.stop("7")
    fake.job("7", state="RUNNING")
    fake.set_s = -3600.0
    fake.done.clear()
    assert look(manager(fake))["7"].phase == "running"
    assert fake.done == [("signal", "7", "CONT")]
