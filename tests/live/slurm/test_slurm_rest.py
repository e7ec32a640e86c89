"""Slurm by its REST interface: the same checks as by commands, and tokens that expire, are renewed or lie open."""

from __future__ import annotations

import base64
import json
import re
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_site_faults import the_token_expires
from slurm_storm import ends_well, storm

from wattline.demo.slurm_cluster import SlurmCluster, why_no_rest, why_not
from wattline.errors import InputError
from wattline.live.clock import Clock
from wattline.live.controller.config import read_site
from wattline.live.controller.managers import open_manager
from wattline.live.machine.base import ManagerError
from wattline.live.machine.settings import ManagerSpec
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.manager import SlurmManager
from wattline.live.machine.slurm.rest import RestCommands, Token, check_address, rows_of
from wattline.live.machine.slurm.rules import Rules
from wattline.testing.managers import CHECKS, check_manager, requeues

PATIENCE_S = 20.0
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def served() -> Iterator[SlurmCluster]:
    """Run a Slurm with slurmrestd; munge is not to be seen by whoever has a token."""
    why = why_not() or why_no_rest()
    if why:
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="wattline-rest-") as folder:
        made = SlurmCluster(Path(folder), nodes=6, rest=True)
        with made.running():
            yield made
        assert made.left() == []


def by_rest(cluster: SlurmCluster, folder: Path, lasts_s: int = 3600) -> RestCommands:
    """Return commands under a token of so many seconds."""
    path = folder / "slurm.token"
    path.touch(mode=0o600)
    path.write_text(cluster.token(lasts_s))
    return RestCommands(cluster.conf, None, 10.0, rest=f"http://127.0.0.1:{cluster.rest_port}", token=Token(path))


def test_slurm_conforms_by_rest(served: SlurmCluster, tmp_path: Path) -> None:
    """Slurm by REST passes the checks that every resource manager must pass."""
    manager = SlurmManager(by_rest(served, tmp_path), Rules(stop_again_s=0.0))
    checks = [check for check in CHECKS if check is not requeues]
    made = lambda nodes, seconds: served.submit(f"sleep {seconds}", nodes=nodes)  # noqa: E731
    report = check_manager(manager, made, patience_s=PATIENCE_S, moment_s=1.6, checks=checks)
    served.cancel_all()
    assert [row for row in report.rows if not row.passed] == []


def test_jobs_and_nodes_are_those_of_the_commands(served: SlurmCluster, tmp_path: Path) -> None:
    """REST shows jobs, tasks of arrays, limits, dependencies and drained nodes as squeue and sinfo do."""
    plain, rest = Commands(served.conf, timeout_s=10.0), by_rest(served, tmp_path)
    first = served.submit("sleep 30", "-t", "5", "--comment=kind=x power_w=3", nodes=2)
    SlurmManager(rest).snapshot()  # which notes what it holds
    served.command("scontrol", "release", first)
    served.submit("true", "--array=1-3,7%2", "-t", "1-00:00:00", "-p", "main")
    served.submit("true", f"--dependency=afterok:{first}", "--begin=now+1hour", nodes=3)
    served.submit("exit 3", "-w", "n6")
    served.command("scontrol", "update", "nodename=n5", "state=drain", "reason=test")
    end = time.monotonic() + PATIENCE_S
    while served.shown(first, "State") != "RUNNING":
        assert time.monotonic() < end
        time.sleep(0.1)

    def alike() -> bool:
        by = [{row.id: {**vars(row), "priority": row.priority > 0} for row in one.jobs()} for one in (plain, rest)]
        for rows in by:
            for row in rows.values():  # estimates of Slurm's that change while we look
                for name in ("start_s", "end_s", "eligible_s"):
                    row[name] = str(row[name]) if row["state"] == "RUNNING" else ""
        return by[0] == by[1] and len(by[0]) >= 7

    while not alike():
        assert time.monotonic() < end, (plain.jobs(), rest.jobs())
        time.sleep(0.2)
    assert {row.name: set(row.states) >= {"drain"} for row in rest.nodes()} == {f"n{i}": i == 5 for i in range(1, 7)}
    before = {row.id: row for row in rest.jobs()}
    assert all(row is before[row.id] for row in rest.jobs() if row == before[row.id])
    noted = [{job: text for job, text in one.admin_comments().items() if text} for one in (plain, rest)]
    assert noted[0] == noted[1] != {}
    served.command("scontrol", "update", "nodename=n5", "state=resume")
    served.cancel_all()


def test_refusals_are_those_of_the_job(served: SlurmCluster, tmp_path: Path) -> None:
    """A job that there is not is refused in a line; that is an answer."""
    rest = by_rest(served, tmp_path)
    assert "Invalid job id" in (rest.release("99999") or "")
    assert "Invalid job id" in (rest.signal("99999", "STOP") or "")


def test_a_token_that_expires_is_said_and_renewed(served: SlurmCluster, tmp_path: Path) -> None:
    """An expired token is no answer of Slurm's, and the line says what to do; a new one in the file is taken."""
    rest = by_rest(served, tmp_path, lasts_s=1)
    rest.nodes()
    time.sleep(1.5)
    for ask in (rest.jobs, lambda: rest.release("1"), rest.config):
        with pytest.raises(ManagerError, match=r"token in \S+slurm.token has expired, on \d{4}-.* UTC; renew it: "):
            ask()
    (tmp_path / "slurm.token").write_text(served.token())
    assert len(rest.nodes()) == 6
    assert "SLURM_VERSION" in rest.config()


def test_a_token_expires_under_a_controller(served: SlurmCluster, tmp_path: Path) -> None:
    """It is said with what to do, nothing is started meanwhile, caps go on; a new token is taken from the file by
    itself, and no job is lost.
    """
    with storm(served) as run:
        run.go(run.led)
        the_token_expires(run, served, tmp_path)
        ends_well(run)


def test_a_rest_that_is_away_is_a_manager_that_does_not_answer(served: SlurmCluster, tmp_path: Path) -> None:
    """Nothing is asked of it again and again; when it is back it is taken up."""
    rest = by_rest(served, tmp_path)
    served.end("slurmrestd")
    with pytest.raises(ManagerError, match="slurmrestd does not answer"):
        rest.jobs()
    served.start_rest()
    assert len(rest.nodes()) == 6


def test_a_connection_that_is_dropped_is_tried_once_more(tmp_path: Path) -> None:
    """A slurmrestd that is busy drops connections now and then; one that drops two in a row does not answer."""
    said = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + json.dumps({"nodes": [], "errors": []}).encode()
    with socket.create_server(("127.0.0.1", 0)) as server:
        drops = [True, False, True, True]
        served = threading.Thread(target=_drop_or_say, args=(server, drops, said))
        served.start()
        path = tmp_path / "slurm.token"
        path.touch(mode=0o600)
        path.write_text(_token(time.time() + 3600))
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        rest = RestCommands(None, None, 5.0, rest=address, token=Token(path))
        assert rest.nodes() == []
        with pytest.raises(ManagerError, match=r"slurmrestd does not answer"):
            rest.nodes()
        served.join(5.0)
        assert not served.is_alive()  # it was asked four times


def _drop_or_say(server: socket.socket, drops: list[bool], said: bytes) -> None:
    """Take a connection for each, and drop it or answer."""
    for drop in drops:
        caller, _ = server.accept()
        with caller:
            caller.recv(65536)
            if drop:
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                caller.sendall(said)


def _token(until_s: float) -> str:
    """Return what reads like a token of Slurm."""
    told = [{"alg": "HS256"}, {"exp": int(until_s), "sun": "root"}]
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in told]
    return f"SLURM_JWT={'.'.join([*parts, 'c2lnbmVk'])}"


def test_tokens_that_lie_open_or_are_none(tmp_path: Path) -> None:
    """A token that others can read is refused, and so is what is no token."""
    path = tmp_path / "slurm.token"
    with pytest.raises(ManagerError, match="cannot be read"):
        Token(path).fresh()
    path.write_text("SLURM_JWT=a.b.c")
    path.chmod(0o644)
    with pytest.raises(ManagerError, match="others can read it"):
        Token(path).fresh()
    path.chmod(0o600)
    with pytest.raises(ManagerError, match="holds no token of Slurm"):
        Token(path).fresh()


def test_the_file_of_a_controller_names_rest(tmp_path: Path) -> None:
    """Address and token come together, and reach the manager; a token beyond the file's folder counts from there."""
    made = open_manager(
        ManagerSpec.model_validate({"kind": "slurm", "rest": "http://127.0.0.1:6820", "token": "slurm.token"}),
        tmp_path,
        Clock(),
    )
    assert isinstance(made, SlurmManager)
    assert isinstance(made.commands, RestCommands)
    assert made.commands.token.path == tmp_path / "slurm.token"
    text = (ROOT / "examples" / "live" / "site.toml").read_text()
    text = re.sub(r"^run_dir = .*$", "", text, flags=re.MULTILINE)
    for line, said in (('rest = "http://127.0.0.1:1"', "token: is missing"), ('token = "t"', "rest: is missing")):
        (tmp_path / "site.toml").write_text(text.replace('kind = "launcher"', f'kind = "slurm"\n{line}'))
        with pytest.raises(InputError, match=said):
            read_site(tmp_path / "site.toml")
    line = 'rest = "http://far.example:1"\ntoken = "t"'
    (tmp_path / "site.toml").write_text(text.replace('kind = "launcher"', f'kind = "slurm"\n{line}'))
    with pytest.raises(InputError, match=r"\[manager\] rest: .*plain http is for loopback"):
        read_site(tmp_path / "site.toml")


@pytest.mark.parametrize("text", ["127.0.0.1:6820", "http://slurm.example:6820", "ftp://127.0.0.1", "http://[", ""])
def test_addresses_that_are_refused(text: str) -> None:
    """Plain HTTP is for loopback; what is no address is one line."""
    with pytest.raises(InputError, match=r"^rest: "):
        check_address(text)
    assert check_address("https://slurm.example") == (True, "slurm.example", 443)


def test_jobs_that_are_not_understood_are_no_answer() -> None:
    """A record without what is needed is a manager that does not answer, not a crash."""
    with pytest.raises(ManagerError, match="a job is not understood"):
        rows_of({"job_id": 7})
