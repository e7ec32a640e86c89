"""Jobs of Slurm that are given back (``wattline off``): each is tried, whatever becomes of the others."""

from __future__ import annotations

from slurm_fake import look, manager, slurm

from wattline.live.machine.base import ManagerError


def test_a_job_without_an_answer_keeps_no_other_from_being_given_back() -> None:
    """A command that is not answered is told for its job, which whoever says off the next time knows by its mark."""
    fake = slurm()
    for name in ("7", "8", "9", "10", "11"):
        fake.job(name)
    made = manager(fake)
    look(made)
    release, deaf = fake.release, {"8"}

    def sometimes(job: str) -> str | None:
        if deaf & set(job.split(",")):
            raise ManagerError("no answer")
        return release(job)

    fake.release = sometimes  # type: ignore[method-assign]
    assert made.give_back() == {"7": None, "8": "no answer", "9": None, "10": None, "11": None}
    deaf.clear()
    assert manager(fake, act=False).give_back() == {"8": None}
    assert fake.comments["8"] == "wattline=free"


def test_a_slurm_that_does_not_answer_is_not_asked_for_every_job() -> None:
    """After three commands in a row without an answer the others are named, and wait for the next round."""
    fake = slurm()
    for name in range(10, 20):
        fake.job(str(name))
    made = manager(fake)
    look(made)

    def deaf(job: str) -> str | None:
        raise ManagerError("no answer")

    fake.release = deaf  # type: ignore[method-assign]
    assert list(made.give_back().values()) == 2 * ["no answer"] + 8 * ["not tried: Slurm does not answer"]


def test_a_job_that_slurm_keeps_itself_is_told_once() -> None:
    """One that suits no nodes is held again by Slurm (BadConstraints) once it is given back: that is no hold of ours,
    the next off does not name it, nor does the next controller take it.
    """
    fake = slurm()
    for name in ("7", "8"):
        fake.job(name)
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.job("7", priority=0.0, reason="BadConstraints")
    look(made)
    assert made.give_back() == {"7": None, "8": None}
    for name in ("7", "8"):
        fake.job(name, priority=0.0, reason="BadConstraints")
    for _ in range(2):
        assert manager(fake, act=False).give_back() == {}
    anew = manager(fake)
    assert {(job.phase, job.reason) for job in look(anew).values()} == {("ineligible", "BadConstraints")}
    assert anew.give_back() == {}
