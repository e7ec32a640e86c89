"""A job that the limit has no room for says so: in the log, the status, and at the job, where its user can read it."""

from __future__ import annotations

from dataclasses import replace

from emulated import World

from engine.worlds import cluster, policies
from wattline.live.controller.seen.waits import stays
from wattline.live.machine.base import Abilities
from wattline.live.watch.document import Document
from wattline.live.watch.view import lines
from wattline.model.kinds import Kind


def told_world(limit_w: float) -> tuple[World, list[tuple[str, str]], list[str]]:
    """Return a machine of four nodes (100 W idle, 300 W), what is noted at jobs, and what is said."""
    world = World(cluster(4), policies(select="easy"), limit_w=limit_w)
    noted: list[tuple[str, str]] = []
    said: list[str] = []
    world.machine.abilities = Abilities(explains=True)
    world.machine.explain = lambda job, why: noted.append((job, why))  # type: ignore[attr-defined]
    world.controller.on_say = said.append
    return world, noted, said


def test_a_job_that_never_fits_has_a_reason_until_it_does() -> None:
    """It is said once, noted at the job once, and shown; when the limit has room for it that is taken back, and it
    runs. Jobs that fit, and that wait for others alone, have none.
    """
    world, noted, said = told_world(900.0)
    world.submit("wide", 3, 5.0, 0.0)  # 3 x 300 W + 100 W
    world.submit("small", 2, 20.0, 0.0)
    world.submit("next", 2, 5.0, 0.0)
    world.run(6.0)
    why = "draws 1 kW with the idle nodes, the limit is 900 W"
    assert world.controller.mirror.waits == {"wide": why}
    assert noted == [("wide", why)]
    assert [line for line in said if "waits" in line] == [f"job wide waits: it {why}"]
    assert world.machine.jobs["small"].seen.phase == "running"
    world.limit_w = 1200.0
    world.run(3.0)
    assert noted[1:] == [("wide", "")]
    world.run(40.0)
    assert world.machine.jobs["wide"].starts == 1
    assert world.controller.reconciler.explained == set()
    assert len(noted) == 2


def test_many_jobs_without_room_are_told_in_few_words() -> None:
    """A limit that falls below what hundreds of jobs need takes neither the log nor the commands of a period."""
    world, noted, said = told_world(500.0)
    for k in range(40):
        world.submit(f"j{k}", 4, 5.0, 0.0)
    world.run(1.0)
    assert len(noted) == 10
    assert [line for line in said if "wait" in line][5:] == [
        "35 more jobs wait: the limit of 500 W has no room for any of them"
    ]
    world.run(4.0)
    assert sorted(job for job, _ in noted) == sorted(f"j{k}" for k in range(40))
    assert len([line for line in said if "wait" in line]) == 6


def test_a_manager_that_cannot_tell_users_is_not_asked_to() -> None:
    """The status has the reason all the same; a dry run says once that it would note it."""
    world, noted, _ = told_world(700.0)
    world.machine.abilities = Abilities()
    world.submit("wide", 4, 5.0, 0.0)
    world.run(3.0)
    assert noted == []
    assert list(world.controller.mirror.waits) == ["wide"]
    world, noted, _ = told_world(700.0)
    world.controller.reconciler.act = False
    would: list[str] = []
    world.controller.reconciler.tell = lambda what, *_: would.append(what)
    world.submit("wide", 4, 5.0, 0.0)
    world.run(5.0)
    assert (noted, would) == ([], ["explain"])


def test_jobs_that_cannot_be_placed_keep_their_reason_in_the_status() -> None:
    """Also after the line about giving them back has gone, as long as they wait."""
    world = World(cluster(4), policies(select="easy"), kinds=(Kind("k", 1, work_s=5.0, draw_w=300.0, floor_w=300.0),))
    world.submit("wide", 5, 5.0, 0.0, kind="k")
    world.run(30.0)
    assert stays(world.controller.mirror) == {"wide": "it asks for 5 nodes, class 'node' has 4"}
    job = world.machine.jobs["wide"]
    job.seen = replace(job.seen, phase="running", on=("n000", "n001", "n002", "n003"), start_s=1030.0, ours=False)
    world.run(2.0)
    assert stays(world.controller.mirror) == {}


def test_the_status_shows_some_reasons_and_has_more() -> None:
    """Four in the view, twenty in the document; one of before has none."""
    document = Document("s", 1.0, waits={f"{k}": f"draws {k} kW" for k in range(30)})
    read = Document.from_json(document.to_json())
    assert len(read.waits) == 20
    shown = [text for text, _ in lines(read)]
    assert [text for text in shown if "draws" in text] == ["waits    0: draws 0 kW"] + [
        f"         {k}: draws {k} kW" for k in (1, 2, 3)
    ]
    assert any("and 16 more" in text for text in shown)
    assert not any("waits" in text for text, _ in lines(Document("s", 1.0)))
