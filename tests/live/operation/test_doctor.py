"""The doctor finds each thing that is wrong, says what to change, and leaves everything as it was."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wattline.cli.app import app
from wattline.errors import InputError
from wattline.live.agent.config import read_settings
from wattline.live.agent.saved import Lock
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.doctor import clocks, files, hardware, ports, slurm, software
from wattline.live.doctor.examine import examine
from wattline.live.doctor.findings import Finding, Machine, worst
from wattline.live.power.fake import make_tree

SLURM = """Configuration data as of 2026-11-16T12:00:00
JobSubmitPlugins        = lua
MinJobAge               = 300 sec
PreemptMode             = OFF
ProctrackType           = proctrack/cgroup
PrologFlags             = Alloc,Contain
SchedulerParameters     = sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SLURM_VERSION           = 22.05.8
SuspendProgram          = (null)

Slurmctld(primary) at here is UP
"""

NODE = """site = "demo"
run_dir = "run"
controllers = ["controller"]

[node]
name = "n001"
powercap = "tree"
safe = "180 W"
min = "120 W"
max = "350 W"

[model]
profile = "gold-6132"
"""

SITE = """site = "demo"
scenario = "machine.toml"
nodes = ["n[1-2]"]

[manager]
run_dir = "run"

[journal]
dir = "journal"

[bus]
listen = "tcp://127.0.0.1:{port}"
key = "controller.key"
known = "public.keys"
"""


class Fake(Machine):
    """A machine that is well; ``says`` is what its commands answer."""

    def __init__(self, tmp_path: Path, **says: str | None) -> None:
        self.says: dict[str, str | None] = {"chronyc": "Leap status     : Normal\n", "scontrol": SLURM, **says}
        self.at_s = 0.0
        (tmp_path / "proc" / "net").mkdir(parents=True, exist_ok=True)
        super().__init__(
            run=lambda command: self.says.get("partitions" if command[-1] == "partition" else command[0]),
            version_of=lambda package: "99.0",
            free_bytes=lambda path: 10**12,
            load=lambda: 0.0,
            wall=lambda: 1e9 + self.at_s,
            monotonic=lambda: self.at_s,
            rest=self.pass_time,
            python=(3, 12),
            proc=tmp_path / "proc",
        )

    def pass_time(self, seconds: float) -> None:
        """Wait."""
        self.at_s += seconds


def bad(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return what is not well: level and subject; each says what to change, in one line."""
    for one in findings:
        assert "\n" not in one.line()
        assert bool(one.change) == (one.level != "ok")
    return [(one.level, one.what) for one in findings if one.level != "ok"]


def test_versions(tmp_path: Path) -> None:
    """Python, and the packages that the file needs; what it does not need may be missing."""
    machine = Fake(tmp_path)
    assert bad(list(software.look(machine, frozenset({"pyzmq"})))) == []
    machine.python, machine.version_of = (3, 10), lambda package: None
    assert bad(list(software.look(machine, frozenset({"pyzmq"})))) == [("fail", "python"), ("fail", "extras")]
    machine.version_of = lambda package: "0.1"
    found = [one.level for one in software.look(machine, frozenset({"pyzmq"})) if one.what == "extras"]
    assert found == ["fail", "warn", "warn", "warn"]


def test_bounds_of_versions_are_those_of_the_package() -> None:
    """The doctor asks for what pip would install."""
    import tomllib

    told = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    for package, (bound, extra) in software.PACKAGES.items():
        assert f"{package}>={bound}" in told["optional-dependencies"][extra]
    least, most = software.PYTHON
    assert told["requires-python"] == f">={least[0]}.{least[1]},<{most[0]}.{most[1] + 1}"


def test_files_that_others_can_write(tmp_path: Path) -> None:
    """The file of local bounds, or its folder, in the hands of others is no bound."""
    tmp_path.chmod(0o755)
    path = tmp_path / "node.toml"
    path.touch(0o644)
    assert bad(list(files.configuration(path))) == []
    path.chmod(0o666)
    assert bad(list(files.configuration(path))) == [("fail", "file")]
    path.chmod(0o644)
    tmp_path.chmod(0o777)
    assert bad(list(files.configuration(path))) == [("fail", "file")]
    tmp_path.chmod(0o755)


def test_keys(tmp_path: Path) -> None:
    """A key that others can read, one that is not there, one of another user."""
    machine, key = Fake(tmp_path), tmp_path / "a.key"
    key.touch(0o600)
    assert bad(list(files.secrets([key, None], machine))) == []
    key.chmod(0o640)
    (found,) = files.secrets([key], machine)
    assert (found.level, found.change) == ("fail", f"chmod 600 {key}")
    assert bad(list(files.secrets([key], machine, 0o022))) == []
    assert bad(list(files.secrets([tmp_path / "none"], machine))) == [("fail", "key")]
    machine.user = 12345
    if key.stat().st_uid != 0:
        assert bad(list(files.secrets([key], machine, 0o022))) == [("fail", "key")]


@pytest.mark.parametrize(("from_now_s", "level"), [(0.0, ["warn"]), (-90 * 86400.0, []), (2 * 86400.0, ["fail"])])
def test_certificates(tmp_path: Path, from_now_s: float, level: list[str]) -> None:
    """One that ends soon, or has ended, is told; one that is none too."""
    from live.signals.vtn import certificates

    made, machine = certificates(tmp_path)["ven.cert"], Fake(tmp_path)
    machine.wall = lambda: time.time() + from_now_s
    assert [one for one, _ in bad(list(files.certificate(made, machine)))] == level
    made.write_text("nothing")
    assert bad(list(files.certificate(made, machine))) == [("fail", "certificate")]


@pytest.mark.parametrize(("free", "level"), [(10**12, []), (10**9, ["warn"]), (10**7, ["fail"])])
def test_room_for_the_journal(tmp_path: Path, free: int, level: list[str]) -> None:
    """Little room is told before it is used up."""
    machine = Fake(tmp_path)
    machine.free_bytes = lambda path: free
    assert [one for one, _ in bad(list(files.room(tmp_path, machine, 1000, 600.0)))] == level


def test_folders(tmp_path: Path) -> None:
    """A folder that everybody can write, or that is a file, is none for a journal."""
    assert bad(list(files.folder(tmp_path / "new", "journal"))) == []
    (tmp_path / "file").touch()
    assert bad(list(files.folder(tmp_path / "file", "journal"))) == [("fail", "journal")]
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert bad(list(files.folder(tmp_path / "open", "journal"))) == [("fail", "journal")]


@pytest.mark.parametrize(
    ("says", "level"),
    [
        ({}, []),
        ({"chronyc": "Leap status     : Not synchronised\n"}, ["fail"]),
        ({"chronyc": None, "timedatectl": "yes\n"}, []),
        ({"chronyc": None, "timedatectl": "no\n"}, ["fail"]),
        ({"chronyc": None, "ntpq": "leap=00\n"}, []),
        ({"chronyc": None}, ["warn"]),
    ],
)
def test_a_clock_that_nobody_keeps(tmp_path: Path, says: dict[str, str | None], level: list[str]) -> None:
    """chrony, systemd or ntpd say whether the clock is synchronised; if nobody does, that is told."""
    assert [one for one, _ in bad(list(clocks.own(Fake(tmp_path, **says))))] == level


def test_a_clock_that_is_being_set(tmp_path: Path) -> None:
    """A wall clock that jumps while the doctor looks is told."""
    machine = Fake(tmp_path)
    machine.wall = lambda: 1e9 + 3.0 * machine.at_s
    assert bad(list(clocks.own(machine))) == [("warn", "clock")]


@pytest.mark.parametrize(("ahead_s", "level"), [(0.0, []), (2.0, ["warn"]), (7.0, ["fail"]), (-15.0, ["fail"])])
def test_clocks_of_agents(tmp_path: Path, ahead_s: float, level: list[str]) -> None:
    """What agents say over the bus tells how far their clocks are from ours."""
    machine, topics = Fake(tmp_path), Topics("here")
    clock = Clock(wall=machine.wall, monotonic=machine.monotonic, rest=machine.rest)
    hub = Hub("here", clock)
    bus = hub.attach("controller", "controller")
    bus.subscribe(topics.status(""))
    status = {
        "w": 200.0, "age": 0.1, "cpu_w": 90.0, "mem_w": 10.0, "cap_w": None, "limit_w": 500.0, "lease": 0.0, "term": 1,
        "safe_w": 200.0, "min_w": 100.0, "max_w": 400.0, "faults": [], "mode": "safe",
    }  # fmt: skip
    for name, off_s in (("n1", 0.0), ("n2", ahead_s)):
        box = Outbox(name, Clock(wall=lambda off_s=off_s: machine.wall() + off_s, monotonic=machine.monotonic))  # type: ignore[misc]
        hub.attach("agent", name).publish(topics.status(name), box.encode("status", status))
    polls = bus.poll

    def poll(timeout_s: float) -> Any:
        machine.pass_time(timeout_s)
        return polls(0.0)

    bus.poll = poll  # type: ignore[method-assign]
    heard = clocks.heard(bus, machine.wall, machine, 1.0)
    assert set(heard) == {"n1", "n2"}
    assert [one for one, _ in bad(list(clocks.agents(heard, 2)))] == level
    assert bad(list(clocks.agents(heard, 3)))[0] == ("warn", "agents")
    assert bad(list(clocks.agents({}, 2))) == [("warn", "agents")]


def changed(old: str, new: str) -> str:
    """Return Slurm's answer with a line that differs."""
    assert old in SLURM
    return SLURM.replace(old, new)


@pytest.mark.parametrize(
    ("answer", "level", "word"),
    [
        (changed("batch_sched_delay=0,", ""), "warn", "batch_sched_delay=3"),
        (changed("sched_interval=1,batch", "sched_interval=60,batch"), "warn", "sched_interval=60"),
        (changed("sched_min_interval=0", "sched_min_interval=2000000"), "warn", "sched_min_interval"),
        (changed("bf_interval=1", "bf_interval=30"), "warn", "bf_interval=30"),
        (changed("= OFF", "= SUSPEND,GANG"), "warn", "PreemptMode"),
        (changed("300 sec", "2 sec"), "fail", "MinJobAge=2"),
        (changed("300 sec", "30 sec"), "warn", "MinJobAge=30"),
        (changed("proctrack/cgroup", "proctrack/linuxproc"), "warn", "ProctrackType"),
        (changed("proctrack/cgroup", "proctrack/pgid"), "fail", "ProctrackType"),
        (changed("Alloc,Contain", "(null)"), "warn", "PrologFlags"),
        (changed("= lua", "= (null)"), "warn", "JobSubmitPlugins"),
        (changed("22.05.8", "20.11.9"), "warn", "20.11.9"),
        ("nonsense", "warn", "version"),
    ],
)
def test_slurm(tmp_path: Path, answer: str, level: str, word: str) -> None:
    """Each parameter that makes releases late or jobs unseen is named, with what to set."""
    found = [one for one in slurm.look(Fake(tmp_path, scontrol=answer), needed=True) if one.level != "ok"]
    bad(found)
    assert (level, True) in {(one.level, word in one.text) for one in found}
    if answer != "nonsense":
        assert len(found) == 1


def test_partitions_that_share_nodes(tmp_path: Path) -> None:
    """A partition whose nodes several jobs may share is named."""
    rows = "PartitionName=main AllowGroups=ALL OverSubscribe=EXCLUSIVE State=UP\n"
    assert bad(list(slurm.look(Fake(tmp_path, partitions=rows), needed=True))) == []
    rows += "PartitionName=debug AllowGroups=ALL OverSubscribe=NO State=UP\n"
    found = [one for one in slurm.look(Fake(tmp_path, partitions=rows), needed=True) if one.level != "ok"]
    assert [(one.level, "debug" in one.text, "main" in one.text) for one in found] == [("warn", True, False)]


def test_slurm_that_is_well_or_not_there(tmp_path: Path) -> None:
    """Nothing is said against a tuned Slurm; one that does not answer fails only where it is needed."""
    assert bad(list(slurm.look(Fake(tmp_path), needed=True))) == []
    assert list(slurm.look(Fake(tmp_path, scontrol=None), needed=False)) == []
    assert bad(list(slurm.look(Fake(tmp_path, scontrol=None), needed=True))) == [("fail", "slurm")]


def test_ports(tmp_path: Path) -> None:
    """Plain text beyond this machine is told; who has the port already is told too."""
    machine = Fake(tmp_path)
    assert bad(list(ports.look("[metrics] listen", "127.0.0.1:9470", machine, keyed=False))) == []
    assert bad(list(ports.look("[metrics] listen", "0.0.0.0:9470", machine, keyed=False))) == [("warn", "port")]
    assert bad(list(ports.look("[bus] listen", "tcp://10.0.0.1:7411", machine, keyed=True))) == []
    (machine.proc / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st\n   0: 00000000:24FE 00000000:0000 0A 0\n   1: 0100007F:24FF 0:0 0A 0\n"
    )
    told = [one.text for one in ports.look("x", "127.0.0.1:9470", machine, keyed=False)]
    assert told[-1].startswith("port 9470 is open on all addresses")
    assert len(list(ports.look("x", "127.0.0.1:9471", machine, keyed=False))) == 2
    assert len(list(ports.look("x", "127.0.0.1:9472", machine, keyed=False))) == 1


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Return the file of a node with a powercap tree."""
    make_tree(tmp_path / "tree")
    (tmp_path / "node.toml").write_text(NODE)
    (tmp_path / "node.toml").chmod(0o644)
    tmp_path.chmod(0o755)
    return tmp_path / "node.toml"


def tree(path: Path) -> dict[str, str]:
    """Return every file of the power tree."""
    return {str(one): one.read_text() for one in sorted((path.parent / "tree").rglob("*")) if one.is_file()}


def tried(path: Path, machine: Machine, *, write_test: bool = True) -> list[Finding]:
    """Return what is found of the power hardware."""
    settings = read_settings(path)
    return list(hardware.look(settings.nodes[0], machine, write_test=write_test))


def test_a_limit_is_written_and_put_back(tmp_path: Path, node: Path) -> None:
    """On an idle node one limit is written and read back; afterwards the tree and the folder are as before."""
    before = tree(node)
    found = tried(node, Fake(tmp_path))
    assert found[-1].what == "write"
    assert "in force" in found[-1].text
    assert worst(found) in ("ok", "warn")
    assert tree(node) == before
    assert not (tmp_path / "run" / "n001.found.json").exists()


def test_without_the_flag_nothing_is_written(tmp_path: Path, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only --write-test writes."""

    def refuse(*_: object) -> None:
        raise AssertionError("written")

    monkeypatch.setattr("wattline.live.power.zones.Files.write", refuse)
    assert [one for one in tried(node, Fake(tmp_path), write_test=False) if one.what == "write"] == []


def test_a_node_that_is_busy_or_led_is_left_alone(tmp_path: Path, node: Path) -> None:
    """A busy node, one that an agent leads, and one whose limits are still to be put back are not tried."""
    before, machine = tree(node), Fake(tmp_path)
    machine.load = lambda: 1000.0
    assert "busy" in tried(node, machine)[-1].text
    settings = read_settings(node).nodes[0]
    lock = Lock(settings.run_dir, settings.name, settings.powercap)
    assert "another agent leads" in tried(node, Fake(tmp_path))[-1].text
    lock.release()
    (tmp_path / "run" / "n001.found.json").write_text("{}")
    assert "left limits to put back" in tried(node, Fake(tmp_path))[-1].text
    assert all(one.level == "fail" for one in (tried(node, Fake(tmp_path))[-1],))
    assert tree(node) == before


def patched(monkeypatch: pytest.MonkeyPatch, write: Callable[..., None]) -> None:
    """Let writes to the tree go another way."""
    monkeypatch.setattr("wattline.live.power.zones.Files.write", write)


def test_a_bios_that_locks_limits(tmp_path: Path, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is written and not in force, and one that may not be written, are told apart."""
    patched(monkeypatch, lambda *_: None)
    found = tried(node, Fake(tmp_path))[-1]
    assert (found.level, "locked or clamped" in found.text, "BIOS" in found.change) == ("fail", True, True)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    patched(monkeypatch, refuse)
    found = tried(node, Fake(tmp_path))[-1]
    assert (found.level, "may not be written" in found.text) == ("fail", True)


def test_zones_that_are_switched_off_or_missing(tmp_path: Path, node: Path) -> None:
    """Enabled = 0 is a warning, no zones at all are a failure."""
    for switch in (tmp_path / "tree").rglob("enabled"):
        switch.write_text("0\n")
    found = tried(node, Fake(tmp_path), write_test=False)
    assert ("warn", "power") in bad(found)
    assert any("enabled = 0" in one.text for one in found)
    (tmp_path / "node.toml").write_text(NODE.replace('"tree"', '"nowhere"'))
    assert bad(tried(node, Fake(tmp_path), write_test=False)) == [("fail", "power")]


def test_a_controllers_file(tmp_path: Path) -> None:
    """Keys, journal, ports, clock and Slurm are looked at; a file that makes no sense is a finding."""
    tmp_path.chmod(0o755)
    path = tmp_path / "site.toml"
    path.write_text(SITE.format(port=7411))
    path.chmod(0o644)
    found = list(examine(path, Fake(tmp_path)))
    assert {(one.level, one.text.partition(":")[0]) for one in found if one.level == "fail"} == {
        ("fail", str(tmp_path / "controller.key")),
        ("fail", str(tmp_path / "public.keys")),
    }
    assert {"python", "file", "journal", "disk", "port", "clock", "slurm"} <= {one.what for one in found}
    path.write_text(SITE.format(port=7411) + "\n[signals]\n")
    assert bad(list(examine(path, Fake(tmp_path)))) == [("fail", "file")]


def test_agents_are_listened_to_over_a_real_bus(tmp_path: Path) -> None:
    """``--bus`` opens the bus where no controller leads, hears nobody here, and says so."""
    tmp_path.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = tmp_path / "site.toml"
    plain = SITE.format(port=port).replace('key = "controller.key"\nknown = "public.keys"', "insecure = true")
    path.write_text(plain)
    path.chmod(0o644)
    machine = Fake(tmp_path)
    machine.monotonic = iter(range(1000)).__next__  # type: ignore[assignment]
    assert ("warn", "agents") in bad(list(examine(path, machine, listen=True)))


def test_flags_that_do_not_fit(tmp_path: Path, node: Path) -> None:
    """A write test without a node and a bus without a controller are refused; so is a file of neither."""
    machine = Fake(tmp_path)
    for path, flags in ((None, {"write_test": True}), (node, {"listen": True})):
        with pytest.raises(InputError, match="--"):
            list(examine(path, machine, **flags))
    (tmp_path / "other.toml").write_text("a = 1\n")
    with pytest.raises(InputError, match="expected the file of a controller"):
        list(examine(tmp_path / "other.toml", machine))


def test_the_command(tmp_path: Path, node: Path) -> None:
    """A line each, a sum, JSON, and exit code 1 where something fails."""
    node.chmod(0o666)
    answer = CliRunner().invoke(app, ["doctor", str(node)])
    assert answer.exit_code == 1
    assert f"fail file: {node}: others can write it (mode 666) — chmod go-w {node}" in answer.stdout
    node.chmod(0o644)
    answer = CliRunner().invoke(app, ["doctor", str(node), "--json"])
    told = json.loads(answer.stdout)
    assert {"level", "what", "text", "change"} == set(told["findings"][0])
    assert answer.exit_code == (1 if told["fail"] else 0)
