"""Who is stopped makes room, in the same pass: nodes, and watts as admission counts them."""

from __future__ import annotations

import pytest

import wattline as wl

PROFILES = ("known", "maximum", "measured", "oracle")


def run(profile: str, select: object, nodes: list[int], limit: float) -> list[float]:
    """Return the starts of jobs, the last of which comes at 10 s and goes before all others."""
    count = len(nodes)
    jobs = {
        "submit_s": [0.0] * (count - 1) + [10.0],
        "work_s": [100.0, 20.0, 7.0][-count:],
        "nodes": nodes,
        "priority": [9.0, 0.0, 1.0][-count:],
    }
    machine = wl.Machine(nodes=sum(nodes) - 1, idle=90, max=350)
    done = wl.simulate(wl.from_frame(jobs), machine, order="priority", select=select, profile=profile, limit=limit)
    starts: list[float] = done.jobs["start_s"].to_list()
    return starts


@pytest.mark.parametrize("profile", PROFILES)
def test_a_job_starts_on_the_watts_of_one_that_is_stopped_for_it(profile: str) -> None:
    """Whatever admission counts power with; such a run was stuck, or its machine stood idle."""
    assert run(profile, "reselect", [2, 3], 1174.0) == [0.0, 10.0]
    assert run(profile, "reselect", [1, 2, 3], 1500.0) == [0.0, 0.0, 10.0]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_policy_of_a_user_may_stop_and_start_in_one_pass(profile: str) -> None:
    """So may one that is written by a user."""

    @wl.policy("select")
    def swap(s, mask, param, memory):  # type: ignore[no-untyped-def]
        """Stop all who run for the one who came last."""
        waiting = list(wl.waiting(s))
        if not waiting:
            return 0
        for i in range(s.n_running[0]):
            s.stop_job[i] = s.running[i]
        s.n_stop[0] = s.n_running[0]
        return wl.propose(s, 0, max(waiting, key=lambda j: s.submit_s[j]))

    assert run(profile, swap, [2, 3], 1174.0) == [0.0, 10.0]


def test_jobs_that_go_on_in_one_pass_count_with_each_other() -> None:
    """Two paused jobs are not let go on together where the limit has room for one of them."""

    @wl.policy("select", wake="arrival tick end")
    def rest(s, mask, param, memory):  # type: ignore[no-untyped-def]
        """Start who comes first; at 10 s all rest on their nodes, at 20 s all shall go on."""
        n = 0
        for j in wl.waiting(s):
            n = wl.propose(s, n, j)
        for i in range(s.n_running[0]):
            if s.now[0] == 10.0:
                s.stop_job[i], s.stop_holds[i] = s.running[i], 1
                s.n_stop[0] = i + 1
            elif s.now[0] >= 20.0 and s.status[s.running[i]] == wl.codes.PAUSED:
                s.resume_job[s.n_resume[0]] = s.running[i]
                s.n_resume[0] += 1
        return n

    trace = wl.from_frame({"submit_s": [0.0, 0.0], "work_s": [30.0, 30.0], "nodes": [2, 2]})
    machine = wl.Machine(nodes=4, idle=100, max=300)
    settings = {"limit.steps": [[0.0, 1200.0], [15.0, 800.0]], "run.tick": 10.0}
    for profile in PROFILES:
        done = wl.simulate(trace, machine, select=rest, profile=profile, settings=settings)
        assert done.timeline.filter(done.timeline["time_s"] >= 20.0)["power_w"].max() == 800.0, profile
        assert sorted(done.jobs["end_s"].to_list()) == [40.0, 60.0], profile


@pytest.mark.parametrize("sorted_running", [True, False])
def test_estimates_that_have_run_out_are_renewed_for_policies_that_look_at_them(*, sorted_running: bool) -> None:
    """A policy of a user sees running jobs by estimated end, none of them past, unless it says that it need not."""
    seen: list[tuple[float, list[float]]] = []

    @wl.policy("select", **({} if sorted_running else {"sorted_running": False}))  # type: ignore[arg-type]
    def watch(s, mask, param, memory):  # type: ignore[no-untyped-def]
        """Start whatever fits, and note the estimated ends of who runs."""
        seen.append((s.now[0], [s.estimated_end_s[s.running[i]] for i in range(s.n_running[0])]))
        n, free = 0, s.free[0]
        for j in wl.waiting(s):
            if s.nodes[j] <= free:
                n, free = wl.propose(s, n, j), free - s.nodes[j]
        return n

    jobs = {"submit_s": [0.0, 1.0, 20.0, 30.0], "work_s": [200.0, 5.0, 7.0, 50.0], "nodes": [1, 4, 1, 1]}
    wl.simulate(wl.from_frame({**jobs, "request_s": [10.0, 5.0, 7.0, 50.0]}), wl.Machine(nodes=4), select=watch)
    fresh = all(ends == sorted(ends) and min(ends, default=now) >= now for now, ends in seen)
    assert fresh is sorted_running
