"""What the launcher answers to right and wrong requests of several clients."""

from __future__ import annotations

import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import FOREVER, becomes, seen, served

from wattline.live.machine.base import ManagerError
from wattline.live.machine.launcher.changes import Changes
from wattline.live.machine.launcher.client import LauncherClient, RefusedError
from wattline.live.machine.launcher.wire import LONGEST_REQUEST


@pytest.fixture
def client(tmp_path: Path) -> Iterator[LauncherClient]:
    """Serve four nodes."""
    with served(tmp_path / "run", most_jobs=50, most_clients=8) as made:
        yield made


def raw(client: LauncherClient, content: bytes, answers: int = 1) -> list[dict[str, object]]:
    """Send bytes and return so many answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(Path(client.path) / "launcher.sock"))
        connection.sendall(content)
        lines = connection.makefile("rb")
        return [json.loads(lines.readline()) for _ in range(answers)]


WRONG = [
    (b"nonsense", "request is not a JSON object"),
    (b"[]", 'request is not a JSON object with a word "do"'),
    (b'{"do": 3}', 'request is not a JSON object with a word "do"'),
    (b'{"do": "fly"}', "request do 'fly': expected one of submit, snapshot"),
    (b'{"do": "stop"}', "request stop: field 'job' is missing"),
    (b'{"do": "stop", "job": 3}', "request stop: field 'job': expected the number of a job, as text (got 3)"),
    (b'{"do": "stop", "job": "3", "x": 1}', "request stop: field 'x' is not known"),
    (b'{"do": "release", "job": "3", "nodes": "n1"}', "request release: field 'nodes': expected a list of names"),
    (b'{"do": "submit", "argv": ["a"], "cwd": "/", "count": NaN}', "request is not a JSON object"),
    (b'{"do": "submit", "argv": ["a"], "cwd": "/", "count": 0}', "request submit: field 'count': expected a whole"),
    (
        b'{"do": "submit", "argv": ["a"], "cwd": "/", "count": 1, "request_s": 1e999}',
        "request submit: field 'request_s'",
    ),
    (b'{"do": "submit", "argv": [], "cwd": "/", "count": 1}', "request submit: field 'argv': expected a list of words"),
    (b'{"do": "submit", "argv": ["a\\u0000"], "cwd": "/", "count": 1}', "request submit: field 'argv'"),
    (b'{"do": "submit", "argv": ["a"], "cwd": "x", "count": 1}', "request submit: field 'cwd': expected a folder's"),
    (b'{"do": "submit", "argv": ["a"], "cwd": "/", "count": 5}', "asks for 5 nodes, there are 4"),
    (b"[" * 100_000, "request is not a JSON object"),
    (b"\xff\xfe", "request is not a JSON object"),
    (b'{"do": "stop", "job": "' + b"9" * LONGEST_REQUEST + b'"}', f"request is longer than {LONGEST_REQUEST} bytes"),
]


def test_wrong_requests_are_answered_in_a_line_and_counted(client: LauncherClient) -> None:
    """Whatever is wrong with a request is said in one short line, on the same connection, and changes nothing."""
    answers = raw(client, b"".join(line + b"\n" for line, _ in WRONG), len(WRONG))
    for said, (line, expected) in zip(answers, WRONG, strict=True):
        assert said["ok"] is False
        assert str(said["why"]).startswith(expected), line[:80]
        assert len(str(said["why"])) <= 200
    assert client.counts()["counts"]["requests_bad"] == len(WRONG) - 1
    assert client.snapshot().jobs == ()


def test_a_line_without_end_is_refused_once(client: LauncherClient) -> None:
    """A request that never ends is refused when it is too long, its rest is skipped, and the next one is answered."""
    answers = raw(client, b"x" * (3 * LONGEST_REQUEST) + b"\n" + b'{"do": "counts"}\n', 2)
    assert [said["ok"] for said in answers] == [False, True]


def test_the_socket_is_its_owners(client: LauncherClient) -> None:
    """Nobody else can read or write the socket or the run directory."""
    folder = Path(client.path)
    assert stat.S_IMODE((folder / "launcher.sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_clients_race_for_a_node_and_one_gets_it(client: LauncherClient) -> None:
    """Of many releases at once of two jobs to one node exactly one job starts; repeats change nothing."""
    jobs = [client.submit(FOREVER) for _ in range(2)]
    said: dict[str, set[str | None]] = {job: set() for job in jobs}

    def race(job: str) -> None:
        own = LauncherClient(client.path)
        said[job] = {own.release(job, ["n1"]) for _ in range(20)}
        own.close()

    threads = [threading.Thread(target=race, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner, loser = sorted(jobs, key=lambda job: said[job] != {None})
    assert said[winner] == {None}
    assert said[loser] == {f"job {loser} node n1 is held by job {winner}"}
    becomes(client, winner, "running")
    assert seen(client, loser).phase == "waiting"


def test_a_submission_that_is_sent_again_is_one_job(client: LauncherClient) -> None:
    """The submitter's token makes a repeated submission the same job."""
    token = {"token": "mine"}
    assert client.submit(["true"], **token) == client.submit(["true"], **token)
    assert len(client.snapshot().jobs) == 1


def test_too_many_jobs_and_clients_are_refused(client: LauncherClient) -> None:
    """The bounds of the launcher's file hold, and each refusal is a line."""
    for _ in range(50):
        client.submit(["true"])
    with pytest.raises(RefusedError, match="there are 50 jobs already"):
        client.submit(["true"])
    others = [LauncherClient(client.path) for _ in range(8)]
    for other in others[:7]:
        other.counts()
    with pytest.raises(RefusedError, match="there are 8 clients already"):
        others[7].counts()
    for other in others:
        other.close()


def test_a_snapshot_of_what_changed_is_the_whole_one(client: LauncherClient) -> None:
    """A client that asks for changes alone sees at all times what a new one sees."""
    for step in range(12):
        job = client.submit(["true"])
        if step % 3 == 0:
            client.release(job, ["n1"])
            becomes(client, job, "ended")
        if step % 4 == 0:
            client.cancel(job)
        if step == 6:
            client.drain("n2")
        fresh = LauncherClient(client.path)
        whole, changed = fresh.snapshot(), client.snapshot()
        assert sorted(map(str, whole.jobs)) == sorted(map(str, changed.jobs))
        assert whole.nodes == changed.nodes
        fresh.close()


def test_changes_that_were_forgotten_are_told_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that are gone are remembered in bounded number; who asks later, or from another life, is told everything."""
    monkeypatch.setattr("wattline.live.machine.launcher.changes.REMEMBERED", 3)
    changes = Changes()
    for number in range(10):
        changes.show(str(number), {"id": number})
    at = changes.number
    for number in range(3):
        changes.drop(str(number))
    assert changes.since(changes.epoch, at) == (b"", ["2", "1", "0"])
    changes.drop("3")
    assert changes.since(changes.epoch, at) is None
    assert changes.since("another", changes.number) is None
    assert changes.since(changes.epoch, changes.number) == (b"", [])


def test_silence_is_an_error_in_time(tmp_path: Path) -> None:
    """A launcher that does not answer, or is not there, is a ManagerError of one line within the time-out."""
    with pytest.raises(ManagerError, match="no launcher is there"):
        LauncherClient(tmp_path / "nowhere").snapshot()
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "launcher.sock"))
        with pytest.raises(ManagerError, match="the launcher does not answer"):
            LauncherClient(tmp_path).snapshot()
        deaf.listen()
        began = time.monotonic()
        with pytest.raises(ManagerError, match=r"no answer within 0\.1 s"):
            LauncherClient(tmp_path, timeout_s=0.1).snapshot()
        assert time.monotonic() - began < 5.0
