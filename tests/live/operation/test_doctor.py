"""The doctor finds each thing that is wrong, says what to change, and leaves everything as it was."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from doctor_kit import SLURM, Fake, bad
from typer.testing import CliRunner

from wattline.cli.app import app
from wattline.cli.live.doctors import _plan
from wattline.errors import InputError
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.keys import make_keys
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.doctor import clocks, files, findings, ports, slurm, software
from wattline.live.doctor.examine import examine
from wattline.live.power.fakes.powercap import make_tree

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


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_root_leaves_in_a_folder_of_the_controller(tmp_path: Path) -> None:
    """A file that is root's would stop the controller's user; ``off``, which root says, does not."""
    os.chown(tmp_path, 65534, 65534)
    (tmp_path / "off").touch()
    assert bad(list(files.folder(tmp_path, "journal"))) == []
    (tmp_path / "lease.json").touch()
    assert bad(list(files.folder(tmp_path, "journal"))) == [("fail", "journal")]


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


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("job.priority = 0", "-- job.priority = 0", "does not hold jobs"),
        ("held_for=wattline", "held", "does not mark the jobs"),
        ("function slurm_job_modify", "function modify", "niceness"),
        ("record.comment", "job.comment", "does not keep its mark"),
        ("function slurm_job_submit", "--[[ function slurm_job_submit ]] function submit", "has no slurm_job_submit"),
    ],
)
def test_the_script_at_entry(tmp_path: Path, old: str, new: str, word: str) -> None:
    """A script that holds no jobs, does not mark them, lets users end a hold, or is not there, is named."""
    machine = Fake(tmp_path)
    script = tmp_path / "job_submit.lua"
    assert old in script.read_text()
    script.write_text(script.read_text().replace(old, new))
    (found,) = [one for one in slurm.look(machine, needed=True) if one.level != "ok"]
    assert (found.level, word in found.text) == ("warn", True)
    script.unlink()
    (found,) = [one for one in slurm.look(machine, needed=True) if one.level != "ok"]
    assert "cannot be read here" in found.text
    assert "slurmctld's host" in found.change


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


def test_the_slurm_that_the_file_names_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``conf`` and ``bin`` count for the doctor as for the controller; the host's own Slurm is not judged."""
    for folder, version in (("host", "21.08.0"), ("theirs", "22.05.8")):
        (tmp_path / folder).mkdir()
        told = SLURM.replace("22.05.8", version).replace("300 sec", "${SLURM_CONF##*/} sec")
        script = f"#!/bin/sh\ncase $2 in config) cat <<end\n{told}end\nesac\n"
        (tmp_path / folder / "scontrol").write_text(script)
        (tmp_path / folder / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'host'}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_CONF", "/etc/0")
    path = tmp_path / "site.toml"
    named = 'kind = "slurm"\nconf = "conf/77"\nbin = "theirs"'
    path.write_text(SITE.format(port=7411).replace('run_dir = "run"', named))
    found = [one.text for one in examine(path, Fake(tmp_path)) if one.what == "slurm"]
    assert found[0] == "version 22.05.8"
    assert any(text.startswith("MinJobAge=77:") for text in found)
    (tmp_path / "theirs" / "scontrol").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    (silent,) = [one for one in examine(path, Fake(tmp_path)) if one.what == "slurm"]
    assert (silent.level, "Unable to contact slurm controller" in silent.text) == ("fail", True)


def test_ports(tmp_path: Path) -> None:
    """Plain text beyond this machine is told; who has the port already is told too."""
    machine = Fake(tmp_path)
    assert bad(list(ports.look("[metrics] listen", "127.0.0.1:9470", machine, keyed=False))) == []
    assert bad(list(ports.look("[metrics] listen", "0.0.0.0:9470", machine, keyed=False))) == [("warn", "port")]
    assert bad(list(ports.look("[bus] listen", "tcp://10.0.0.1:7411", machine, keyed=True))) == []
    assert len(list(ports.look("[bus] listen", "tcp://*:*", machine, keyed=True))) == 1
    (machine.proc / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st\n   0: 00000000:24FE 00000000:0000 0A 0\n   1: 0100007F:24FF 0:0 0A 0\n"
    )
    told = [one.text for one in ports.look("x", "127.0.0.1:9470", machine, keyed=False)]
    assert told[-1].startswith("port 9470 is open on all addresses")
    assert len(list(ports.look("x", "127.0.0.1:9471", machine, keyed=False))) == 2
    assert len(list(ports.look("x", "127.0.0.1:9472", machine, keyed=False))) == 1


def test_addresses_of_other_computers(tmp_path: Path) -> None:
    """Nobody can listen on an address that is not this computer's; names that are not known may be interfaces."""
    machine = Fake(tmp_path)
    machine.has_address = findings.has_address
    for address, found in (("192.0.2.7:1", [("fail", "port")]), ("127.0.0.2:1", []), ("eth0:1", []), ("*:1", [])):
        assert bad(list(ports.look("[bus] listen", f"tcp://{address}", machine, keyed=True))) == found, address


SHIPPED = Path(__file__).parents[3] / "examples" / "live"


@pytest.mark.parametrize("kind", ["launcher", "slurm"])
def test_the_packaged_files_are_judged_line_by_line(tmp_path: Path, kind: str) -> None:
    """All is well with the files as they ship, once their keys are made and their lines in comments are put in; what is
    taken out or turned wrong in one of them is found, with what to do about it.
    """
    tmp_path.chmod(0o755)
    site = (SHIPPED / "systemd" / "site.toml").read_text().replace('# token = "', 'token = "')
    node = (SHIPPED / "systemd" / "node.toml").read_text().replace('# jobs = "', 'jobs = "')
    assert not re.search(
        r"^# ?\w+ = ", site + node, re.MULTILINE
    )  # no other lines wait for their comment to be taken away
    site = site.replace("/var/lib/wattline/site", str(tmp_path / "journal"))
    if kind == "slurm":
        site = site.replace('run_dir = "/run/wattline-launcher"', "").replace('"launcher"', '"slurm"\nbin = "bin"')
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "said").write_text(Fake(tmp_path).says["scontrol"] or "")
        for name in ("scontrol", "squeue", "sinfo"):
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n[ $2 = config ] && cat {tmp_path}/said\ntrue\n")
            (tmp_path / "bin" / name).chmod(0o755)
    node = node.replace("/run/wattline", str(tmp_path / "run")).replace(
        "[node]", f'[node]\npowercap = "{tmp_path}/tree"'
    )
    make_tree(tmp_path / "tree")
    (tmp_path / "machine.toml").write_text((SHIPPED / "machine.toml").read_text())
    make_keys(tmp_path / "keys", "cluster", [("controller", "controller"), ("agent", "n001")])
    (tmp_path / "node.key").write_bytes((tmp_path / "keys" / "secret" / "n001.key").read_bytes())
    (tmp_path / "public.keys").write_bytes((tmp_path / "keys" / "public.keys").read_bytes())
    (tmp_path / "signal.token").write_text(64 * "a")
    for name in ("node.key", "public.keys", "signal.token"):
        (tmp_path / name).chmod(0o600)
    paths = {"site": tmp_path / "site.toml", "node": tmp_path / "node.toml"}

    def judged(which: str, *pairs: tuple[str, str]) -> list[tuple[str, str]]:
        text = {"site": site, "node": node}[which]
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        paths[which].write_text(text)
        return bad(list(examine(paths[which], Fake(tmp_path), plan=_plan)))

    assert judged("site") == []
    assert judged("node") == [("warn", "power")]  # the emulated counter stands still
    wrong = {
        '"machine.toml"': '"other.toml"', "n[001-032]": "n[001-031]", '"solver"': '"unheard"', '"9.5 kW"': '"1 W"',
        '"10 s"': '"10 apples"', '"4 kW"': '"400 kW"', "listen_beyond_loopback = true": "", '"cluster"': "7",
    }  # fmt: skip
    for old, new in wrong.items():
        assert judged("site", (old, new)) == [("fail", "file")], old
    machine = Fake(tmp_path)
    machine.has_address = lambda host: False
    paths["site"].write_text(site)
    assert bad(list(examine(paths["site"], machine, plan=_plan))) == [("fail", "port")]
    (tmp_path / "signal.token").unlink()
    (lost,) = [one for one in examine(paths["site"], Fake(tmp_path), plan=_plan) if one.level == "fail"]
    assert "openssl rand" in lost.change
    plain = Fake(tmp_path, scontrol="ProctrackType           = proctrack/linuxproc\n")
    paths["node"].write_text(node)
    (warned,) = [one for one in examine(paths["node"], plain, plan=_plan) if one.level != "ok" and one.what != "power"]
    assert (warned.level, "CAP_SYS_PTRACE" in warned.change) == ("warn", True)


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


def test_the_doctor_is_light(node: Path) -> None:
    """It runs on nodes: nothing heavy is loaded to look at one."""
    code = (
        "import sys; from pathlib import Path; from wattline.live.doctor.examine import examine;"
        "from wattline.live.doctor.findings import Machine;"
        f"list(examine(Path({str(node)!r}), Machine()));"
        "print([m for m in ('numpy', 'numba', 'polars', 'scipy', 'openleadr') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
