"""What Wattline takes Slurm's jobs for, and what it does to them."""

from __future__ import annotations

import math

import pytest
from slurm_fake import NOW_S, look, manager, slurm

from wattline.live.machine.base import Form, ManagerError

RELEASED = ["update 7", "release 7"]


def test_jobs_that_come_are_held_with_one_command() -> None:
    """All jobs that came since the last look are put under an administrator's hold, and wait."""
    fake = slurm()
    fake.job("7")
    fake.job("8_1")
    fake.job("8_2", reason="Resources")
    seen = look(made := manager(fake))
    assert {job.phase for job in seen.values()} == {"waiting"}
    assert {row.reason for row in fake.rows.values()} == {"JobHeldAdmin"}
    look(made)
    assert fake.names() == ["update 7,8_1,8_2"]


def test_one_job_that_cannot_be_held_does_not_keep_the_others() -> None:
    """A job that Slurm refuses to hold is not ours to start, and is named; the others wait."""
    fake = slurm()
    for name in ("7", "8"):
        fake.job(name)
    fake.refuses = {"7", "7,8"}
    seen = look(made := manager(fake))
    assert (seen["7"].phase, seen["8"].phase) == ("ineligible", "waiting")
    assert made.problems == {"7": "could not be held: refused"}


def test_jobs_that_cannot_be_led_are_said_once() -> None:
    """A job that Wattline cannot place is a line in the log, once."""
    fake = slurm()
    fake.job("7", het=True)
    made = manager(fake)
    assert [made.snapshot().notes for _ in range(2)] == [["job 7: heterogeneous jobs are not placed by Wattline"], []]


def test_a_flood_of_jobs_is_held_piece_by_piece() -> None:
    """Of very many jobs that come at once some hundred are held in a look, the others in the next ones."""
    fake = slurm()
    for k in range(1200):
        fake.job(str(k + 1))
    made = manager(fake)
    counts = [sum(job.phase == "waiting" for job in look(made).values()) for _ in range(3)]
    assert counts == [500, 1000, 1200]


def test_a_dry_run_holds_nothing() -> None:
    """Without leave to act, jobs are looked at and shown as waiting, and no command is given."""
    fake = slurm()
    fake.job("7")
    assert look(manager(fake, act=False))["7"].phase == "waiting"
    assert fake.done == []


@pytest.mark.parametrize(
    ("state", "phase", "reason"),
    [
        ({"reason": "JobHeldUser", "priority": 0.0}, "ineligible", "JobHeldUser"),
        ({"reason": "JobHeldUser", "priority": 0.0, "comment": "a held_for=wattline"}, "waiting", ""),
        ({"reason": "JobHeldAdmin", "priority": 0.0}, "ineligible", "JobHeldAdmin"),
        ({"dependency": "afterok:3(unfulfilled)"}, "ineligible", "Dependency"),
        ({"dependency": "afterok:3(unfulfilled),afterany:9(unfulfilled)"}, "ineligible", "Dependency"),
        ({"dependency": "afterok:3(unfulfilled)?afterany:9(unfulfilled)"}, "waiting", ""),
        ({"dependency": "afterok:9(unfulfilled)"}, "waiting", ""),
        ({"dependency": "after:4(unfulfilled)"}, "waiting", ""),
        ({"dependency": "after:3(unfulfilled)"}, "ineligible", "Dependency"),
        ({"dependency": "afterany:5_*(unfulfilled)"}, "ineligible", "Dependency"),
        ({"dependency": "afterany:5_1(unfulfilled)"}, "waiting", ""),
        ({"dependency": "singleton(unfulfilled)"}, "waiting", ""),
        ({"eligible_s": NOW_S + 60.0}, "ineligible", "BeginTime"),
        ({"comment": "wattline=off"}, "ineligible", "opted out (comment wattline=off)"),
        ({"het": True}, "ineligible", "heterogeneous jobs are not placed by Wattline"),
        ({"batch": False}, "ineligible", "interactive (salloc, srun)"),
        ({"wanted": ("n3",)}, "ineligible", "asks for nodes by name (n3)"),
        ({"features": "gpu"}, "ineligible", "asks for features (gpu)"),
        ({"reservation": "week"}, "ineligible", "in reservation week"),
    ],
)
def test_reasons_are_mirrored(state: dict[str, object], phase: str, reason: str) -> None:
    """A job that its user holds, that may not start yet or that is left alone does not wait for us."""
    fake = slurm()
    fake.job("3")
    for name, other in (("4", "RUNNING"), ("5_1", "COMPLETED"), ("5_2", "RUNNING"), ("9", "COMPLETED")):
        fake.job(name, state=other, on=("n1",), start_s=NOW_S, end_s=NOW_S)
    fake.job("7", **state)
    seen = look(manager(fake))["7"]
    assert seen.phase == phase
    assert reason in ("", seen.reason)


@pytest.mark.parametrize(
    "rules",
    [
        {"partitions": frozenset({"other"})},
        {"leave_partitions": frozenset({"main"})},
        {"leave_accounts": frozenset({"physics"})},
        {"leave_users": frozenset({"ada"})},
    ],
)
def test_whoever_is_left_alone_is_never_held(rules: dict[str, object]) -> None:
    """Jobs of a partition, account or user that is left alone are not touched, and count as others' when they run."""
    fake = slurm()
    fake.job("7")
    made = manager(fake, **rules)
    look(made)
    fake.starts("7", "n2")
    seen = look(made)["7"]
    assert (fake.done, seen.phase, seen.ours, seen.on) == ([], "running", False, ("n2",))


def test_jobs_held_at_entry_that_are_left_alone_are_given_back() -> None:
    """What was held at submission and is not ours to lead is released to Slurm."""
    fake = slurm()
    fake.job("7", reason="JobHeldUser", priority=0.0, comment="held_for=wattline")
    look(manager(fake, leave_users=frozenset({"ada"})))
    assert fake.done == [("release", "7"), ("update", "7", "admincomment=wattline=free")]


def test_a_release_names_the_nodes_and_is_starting_until_it_runs() -> None:
    """A released job is pinned, is starting on its nodes, then runs, and is ours."""
    fake = slurm()
    fake.job("7", nodes=2, cpus=2)
    made = manager(fake)
    look(made)
    fake.done.clear()
    assert made.release("7", ["n2", "n4"]) is None
    assert fake.names() == RELEASED
    assert "reqnodelist=n2,n4" in fake.done[0]
    seen = look(made)["7"]
    assert (seen.phase, seen.on, seen.ours) == ("starting", ("n2", "n4"), True)
    fake.starts("7", "n2", "n4")
    seen = look(made)["7"]
    assert (seen.phase, seen.on, seen.ours, seen.start_s >= seen.submit_s) == ("running", ("n2", "n4"), True, True)


@pytest.mark.parametrize("limit_s", [600.0, math.inf])
def test_a_moldable_job_that_did_not_start_is_as_it_was(limit_s: float) -> None:
    """Released in a configuration, it has that one's nodes and time; held again, or given back, those it asked for, and
    so it has for a controller that starts anew.
    """
    for undo in ("hold", "give back"):
        fake = slurm()
        fake.job("7", nodes=2, cpus=8, limit_s=limit_s)
        made = manager(fake)
        look(made)
        assert made.release("7", ["n1", "n2", "n4"], Form(cores=3, cap_w=65.4, limit_s=1801.0)) is None
        assert (fake.rows["7"].nodes, fake.rows["7"].cpus, fake.rows["7"].limit_s) == (3, 12, 1860.0)
        minutes = 10 if limit_s == 600.0 else 0
        assert fake.comments["7"] == f"wattline=run,asked=2,limit={minutes},cores=3,cap=65"
        anew = look(manager(fake))["7"]
        assert (anew.phase, anew.on) == ("starting", ("n1", "n2", "n4"))
        assert (made.hold("7") if undo == "hold" else made.give_back()) is not False
        assert (fake.rows["7"].nodes, fake.rows["7"].cpus, fake.rows["7"].limit_s) == (2, 8, limit_s)
        if undo == "hold":
            again = look(manager(fake))["7"]
            assert (again.phase, again.nodes, again.request_s) == ("waiting", 2, limit_s)
            assert made.release("7", ["n3", "n4"]) is None
            assert fake.comments["7"] == f"wattline=run,asked=2,limit={minutes}"


def test_a_job_that_is_held_again_is_not_ours_when_an_administrator_releases_it() -> None:
    """Held again, a job has no nodes named any more; its release by others is theirs, whatever we named before."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    assert made.release("7", ["n2"]) is None
    assert made.hold("7") is None
    assert fake.rows["7"].wanted == ()
    fake.job("7", priority=100.0, reason="Priority", wanted=("n2",))
    assert look(made)["7"].ours is False


def test_a_job_of_many_cpus_needs_the_nodes_that_they_take() -> None:
    """Eight CPUs are two nodes of four, whatever Slurm shows before the start."""
    fake = slurm()
    fake.job("7", nodes=1, cpus=8, tasks=8)
    made = manager(fake)
    assert look(made)["7"].nodes == 2
    assert made.release("7", ["n1"]) == "it asks for 2 nodes, not 1"


def test_nodes_must_be_of_the_partition() -> None:
    """A job is not pinned to nodes that its partition does not have."""
    fake = slurm()
    fake.job("7", partitions=("small",))
    made = manager(fake)
    look(made)
    assert made.release("7", ["n1"]) == "nodes n1 are not in partition small"


def test_a_release_that_is_cut_off_leaves_the_job_waiting() -> None:
    """If the hold cannot be ended after the nodes were named, the job waits, also for a controller started anew."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    fake.refuses = {"release"}
    assert made.release("7", ["n1"]) == "refused"
    assert look(made)["7"].phase == "waiting"
    assert look(manager(fake))["7"].phase == "waiting"


@pytest.mark.parametrize("runs", [False, True])
def test_a_release_whose_answer_got_lost_was_ours(runs: bool) -> None:
    """A job that was released though nobody answered is starting, or runs, and is ours."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    fake.loses_answers = True
    with pytest.raises(ManagerError):
        made.release("7", ["n2"])
    if runs:
        fake.starts("7", "n2")
    seen = look(made)["7"]
    assert (seen.phase, seen.on, seen.ours) == ("running" if runs else "starting", ("n2",), True)


def test_a_held_job_that_runs_was_started_by_others() -> None:
    """An administrator who releases a job need not be seen to do it: it runs, and is not ours."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    fake.starts("7", "n2")
    assert (look(made)["7"].phase, look(made)["7"].ours) == ("running", False)


def test_pending_but_not_held_is_starting_after_a_restart() -> None:
    """A controller that starts anew takes a job that was released before for starting on its nodes, not for waiting."""
    fake = slurm()
    for name in ("7", "8"):
        fake.job(name)
    made = manager(fake)
    look(made)
    made.release("7", ["n3"])
    seen = look(manager(fake))
    assert (seen["7"].phase, seen["7"].on, seen["7"].ours) == ("starting", ("n3",), True)
    assert seen["8"].phase == "waiting"


def test_a_requeued_job_is_no_phantom() -> None:
    """A job that Slurm put back (BeginTime) is held, may not start before its time, and then waits like a new one."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.starts("7", "n1")
    look(made)
    fake.requeue("7")
    for one in (manager(fake), made):  # a controller started anew sees it the same way
        seen = look(one)["7"]
        assert (seen.phase, seen.reason, seen.on) == ("ineligible", "BeginTime", ())
        assert fake.rows["7"].reason == "JobHeldAdmin"
    fake.at_s = 121.0
    assert look(made)["7"].phase == "waiting"


def test_a_limit_of_slurm_lets_the_job_wait_outside() -> None:
    """A released job that a limit keeps is held again, is not ours to start for a while, and then waits."""
    fake = slurm()
    fake.job("7")
    made = manager(fake, limit_again_s=60.0)
    look(made)
    made.release("7", ["n1"])
    fake.job("7", reason="AssocGrpNodeLimit")
    for _ in range(2):
        seen = look(made)["7"]
        assert (seen.phase, seen.reason) == ("ineligible", "AssocGrpNodeLimit")
    assert fake.rows["7"].priority == 0.0
    fake.at_s = 61.0
    assert look(made)["7"].phase == "waiting"


def test_administrators_are_not_fought() -> None:
    """What an administrator releases or holds himself is left so."""
    fake = slurm()
    for name in ("7", "8"):
        fake.job(name)
    made = manager(fake)
    look(made)
    made.release("8", ["n1"])
    fake.done.clear()
    fake.job("7", priority=100.0, reason="Priority")
    fake.job("8", priority=0.0, reason="JobHeldAdmin")
    for _ in range(2):
        seen = look(made)
        assert (seen["7"].phase, seen["8"].phase) == ("ineligible", "ineligible")
    fake.starts("7", "n4")
    assert (look(made)["7"].ours, fake.done) == (False, [])


def test_ends_are_told_with_exit_codes() -> None:
    """An ended job has its exit code and reason; one that Slurm forgot between two looks has ended too, told once."""
    fake = slurm()
    for name in ("7", "8", "9"):
        fake.job(name)
    made = manager(fake)
    look(made)
    fake.job("7", state="COMPLETED", end_s=NOW_S + 5.0)
    fake.job("8", state="TIMEOUT", end_s=NOW_S + 5.0)
    del fake.rows["9"]
    seen = look(made)
    assert {job.phase for job in seen.values()} == {"ended"}
    assert [(seen[n].exit, seen[n].reason) for n in ("7", "8", "9")] == [(0, ""), (1, "TimeLimit"), (None, "vanished")]
    assert "9" not in look(made)


def test_a_completing_job_holds_all_its_nodes() -> None:
    """Slurm shows fewer and fewer nodes of a job that ends; they count as its own until it has ended."""
    fake = slurm()
    fake.job("7", nodes=2, cpus=2)
    made = manager(fake)
    look(made)
    made.release("7", ["n1", "n2"])
    fake.starts("7", "n1", "n2")
    look(made)
    fake.job("7", state="COMPLETING", on=("n2",))
    assert (look(made)["7"].phase, look(made)["7"].on) == ("completing", ("n1", "n2"))


@pytest.mark.parametrize(("state", "up"), [("mixed", True), ("idle+drain", False), ("down+not_responding", False)])
def test_nodes_that_are_drained_or_down_are_not_up(state: str, up: bool) -> None:
    """Nothing may be started on a node that is drained, down or does not respond."""
    nodes = {node.name: node.up for node in manager(slurm(n2=state)).snapshot().nodes}
    assert nodes == {"n1": True, "n2": up, "n3": True, "n4": True}


def test_power_is_the_jobs_or_its_accounts() -> None:
    """A job's comment says its power and kind; without one its account's counts; nonsense is none."""
    fake = slurm()
    fake.job("1", comment="power_w=350, kind=solver")
    fake.job("2")
    fake.job("3", comment="power_w=lots", account="other")
    fake.job("4", comment="power_w=1e12", account="other")
    seen = look(manager(fake, power_w={"physics": 220.0}))
    assert [seen["1"].draw_w, seen["2"].draw_w, seen["1"].kind] == [350.0, 220.0, "solver"]
    assert math.isnan(seen["3"].draw_w)
    assert math.isnan(seen["4"].draw_w)


def test_jobs_that_have_not_changed_cost_nothing() -> None:
    """A long queue is judged once: what neither Slurm nor we changed is told again as it was."""
    fake = slurm()
    fake.job("7")
    fake.job("8", eligible_s=NOW_S + 60.0)
    made = manager(fake)
    look(made)
    first, second = look(made), look(made)
    assert first["7"] is second["7"]
    made.release("7", ["n1"])
    assert look(made)["7"].phase == "starting"
    fake.at_s = 61.0
    assert look(made)["8"].phase == "waiting"


def test_jobs_of_a_second_keep_their_order() -> None:
    """Job 10 was submitted after job 9, also where both have the same second."""
    fake = slurm()
    fake.job("10")
    fake.job("9")
    seen = look(manager(fake))
    assert sorted(seen, key=lambda name: (seen[name].submit_s, name)) == ["9", "10"]


def test_switched_off_jobs_are_slurms_again() -> None:
    """When Wattline is switched off, all jobs under its hold are released to Slurm without named nodes."""
    fake = slurm()
    fake.job("7")
    fake.job("8", priority=0.0, reason="JobHeldUser")
    made = manager(fake)
    look(made)
    assert list(made.give_back().values()) == [None]
    assert fake.names()[-3:] == [*RELEASED, "update 7"]
    assert fake.comments["7"] == "wattline=free"
    assert (fake.rows["7"].priority, fake.rows["8"].priority) == (100.0, 0.0)
    assert look(made)["7"].phase == "ineligible"


def test_switching_off_touches_no_job_that_was_not_held_for_us() -> None:
    """Jobs that nobody held stay as they are; those held at submission are released, also if they may not start yet,
    are left alone, or name their nodes.
    """
    fake = slurm()
    fake.job("7")
    fake.job("8", priority=0.0, reason="JobHeldUser", comment="held_for=wattline", dependency="afterok:7(unfulfilled)")
    fake.job("9", batch=False, priority=0.0, reason="JobHeldUser", comment="held_for=wattline", wanted=("n1",))
    fake.job("10", state="CANCELLED", priority=0.0, reason="JobHeldUser", comment="held_for=wattline")
    assert list(manager(fake, act=False).give_back().values()) == [None, None]
    assert fake.names() == ["release 8,9", "update 8,9"]
    assert (fake.comments["8"], fake.comments["9"]) == ("wattline=free", "wattline=free")
    assert fake.rows["9"].wanted == ("n1",)


def test_what_this_slurm_cannot_do_is_said() -> None:
    """A stock scheduler, jobs that nobody holds at entry and a short memory are named with their cure."""
    fake = slurm()
    fake.said |= {"SchedulerParameters": "(null)", "JobSubmitPlugins": "(null)", "MinJobAge": "5 sec"}
    fake.shares = ["main", "debug"]
    told = "\n".join(manager(fake, leave_partitions=frozenset({"debug"})).look_at_site().notes)
    for word in ("batch_sched_delay=0", "JobSubmitPlugins", "MinJobAge", "share nodes in main: set OverSubscribe"):
        assert word in told
    tuned = "\n".join(manager(slurm()).look_at_site().notes)
    assert "batch_sched_delay" not in tuned
    assert "OverSubscribe" not in tuned


def test_a_slurm_that_does_not_answer_loses_nothing() -> None:
    """While Slurm is silent a look says so; afterwards all is known as before."""
    fake = slurm()
    fake.job("7")
    made = manager(fake)
    look(made)
    made.release("7", ["n1"])
    fake.answers = False
    with pytest.raises(ManagerError):
        look(made)
    fake.answers = True
    assert (look(made)["7"].phase, look(made)["7"].on) == ("starting", ("n1",))
