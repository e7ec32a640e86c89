"""Type the install guide on a real Slurm, step by step: the test of that page runs it as root, in namespaces.

    unshare --mount --net --pid --fork --mount-proc --kill-child python tests/docs/guide/typed.py FOLDER

/etc, /opt, /run, /var, /root and /usr/local are laid over, so that nothing of this computer is changed, and every
process ends with this one. Between the guide's commands stands what its text asks for. What stands in for something is
named in ``STANDS_IN``. The last line on standard output is an object with what was said and seen at each step.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from wattline.demo.slurm_cluster import LUA, SlurmCluster
from wattline.errors import InputError
from wattline.kernel.sources import cache_root
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree
from wattline.live.watch.document import Document
from wattline.live.watch.socket import fetch

ROOT = Path(__file__).parents[3]
STANDS_IN = {
    "systemctl": "tests/docs/guide/systemd_like.py, which leaves hardening out",
    "pip install": "a script that calls the Wattline of the tests",
    "scp": "n001 is this computer; the files of other nodes go to /nodes/NAME",
    "powercap": "emulated trees",
}
BLOCK = re.compile(r"```(bash|console)\n(.*?)```", re.DOTALL)
NODES, STOCK = 32, "default_queue_depth=1000"


def lay_over(folder: Path) -> None:
    """Let changes of the system's folders go to memory."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder)], check=True)
    for name in ("etc", "var", "root", "usr/local"):
        upper, work = folder / "over" / name, folder / "work" / name
        for path in (upper, work):
            path.mkdir(parents=True)
        how = f"lowerdir=/{name},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", how, f"/{name}"], check=True)
    for name in ("opt", "run"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", f"/{name}"], check=True)
    Path("/root").chmod(0o755)  # Python may live there


class Guide:
    """The guide as it is typed: each of its blocks once, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen = folder, dict[str, Any]()
        text = (ROOT / "docs" / "live" / "install-slurm.md").read_text()
        parts = re.split(r"^## (\d+)\. .*$", text.split("## When you upgrade")[0], flags=re.MULTILINE)
        self.left = {
            int(n): [body for _, body in BLOCK.findall(part)] for n, part in zip(parts[1::2], parts[2::2], strict=True)
        }
        self.times: list[tuple[str, float]] = []

    def type(self, step: int, has: str, *, codes: tuple[int, ...] = (0,), strict: bool = True) -> str:
        """Type the next block of a step, which has these words; return what was said (strict: each line works)."""
        body = self.left[step].pop(0)
        assert has in body, (step, has, body)
        body = re.sub(r"^(wattline status .*)$", r"timeout -s INT 15 \1", body, flags=re.MULTILINE)
        began = time.monotonic()
        done = subprocess.run(
            ["bash", *(["-e"] if strict else []), "-o", "pipefail", "-c", body],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=150.0,
        )
        self.times.append((f"{step} {has}", round(time.monotonic() - began, 1)))
        if done.returncode not in codes:
            sys.stderr.write(json.dumps(self.seen, indent=1).replace("\\n", "\n"))
            raise SystemExit(f"step {step}: exit code {done.returncode}\n{body}\n{done.stdout}{done.stderr}{_logs()}")
        return done.stdout + done.stderr


def _logs() -> str:
    return "".join(f"--- {path}\n{path.read_text()[-3000:]}" for path in Path("/run/systemd-like").glob("*/log"))


def stand_ins(folder: Path) -> None:
    """Put what stands in for systemd, pip and scp on the path."""
    tools = Path("/usr/local/sbin")
    tools.mkdir(parents=True, exist_ok=True)
    like = Path(__file__).with_name("systemd_like.py")
    scripts = {
        "systemctl": f'exec {sys.executable} {like} systemctl "$@"',
        "journalctl": f'exec {sys.executable} {like} journalctl "$@"',
        "scp": 'to=${3#*:}; host=${3%%:*}; [ $host = n001 ] || to=/run/nodes/$host$to; install -D -m 600 "$2" "$to"',
    }
    for name, line in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    os.environ["PATH"] = f"/usr/local/bin:{tools}:{os.environ['PATH']}"
    program = Path("/opt/wattline/bin/wattline")
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m wattline "$@"\n')
    program.chmod(0o755)
    Path("/usr/local/bin/wattline").unlink(missing_ok=True)
    shutil.copytree(cache_root(), "/var/cache/wattline")  # compiled already


def change(path: str, *pairs: tuple[str, str]) -> None:
    """Edit a file as the guide's text asks for."""
    text = Path(path).read_text()
    for old, new in pairs:
        assert old in text, (path, old)
        text = text.replace(old, new)
    Path(path).write_text(text)


@contextlib.contextmanager
def nature(names: tuple[str, ...]) -> Any:
    """Let emulated counters go on."""
    trees = Path("/run/trees")
    for name in names:
        make_tree(trees / name)
    subprocess.run(["chmod", "-R", "a+rX", str(trees)], check=True)
    plant, over = Plant([FakeNode(name, trees / name) for name in names], seed=1), threading.Event()

    def go_on() -> None:
        while not over.wait(0.2):
            plant.step(time.time())

    plant.step(time.time())
    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        plant.close()


def until(what: str, ready: Any, most_s: float = 30.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + most_s
    while not ready():
        if time.monotonic() > end:
            raise SystemExit(f"not within {most_s:g} s: {what}\n{_logs()}")
        time.sleep(0.1)


def install(guide: Guide, slurm: SlurmCluster) -> None:
    """Type steps 1 to 5: files of its own, and Slurm's parameters."""
    guide.left[1].clear()  # pip, see STANDS_IN
    Path("/usr/local/bin/wattline").symlink_to("/opt/wattline/bin/wattline")
    guide.type(2, "wattline units")
    guide.type(2, "systemd-sysusers")
    change("units/site.toml", ('kind = "launcher"', 'kind = "slurm"\npartitions = ["main"]'))
    change("units/site.toml", ('run_dir = "/run/wattline-launcher"\n', ""), ("controller.key", "{name}.key"))
    both = '{ controller = "tcp://10.0.0.1:7411", standby = "tcp://10.0.0.2:7411" }'
    change("units/site.toml", ('"tcp://10.0.0.1:7411"', both))
    change("units/node.toml", ('safe = "180 W"', 'powercap = "/run/trees/n001"\nsafe = "180 W"'))
    for name in ("site.toml", "node.toml"):
        shutil.copy(f"units/{name}", f"/etc/wattline/{name}")
    guide.seen["check"] = guide.type(3, "--check")
    guide.type(4, "wattline keys")
    guide.type(4, "scp -p")
    guide.seen["doctor"] = guide.type(5, "wattline doctor", strict=False)  # a busy computer is not written to
    guide.left[5].insert(0, "wattline doctor /etc/wattline/site.toml")
    conf = slurm.conf.read_text()
    Path("slurm.conf.before").write_text(conf)
    asked = (ROOT / "docs" / "live" / "install-slurm.md").read_text().split("```text\n")[1].split("```")[0]
    lines = [line.split("   #")[0] for line in asked.splitlines() if re.match("SchedulerP|MinJobAge|PrologF", line)]
    for line in lines:  # not ProctrackType: there are no control groups here; partitions are exclusive already
        key = line.split("=")[0]
        conf = re.sub(rf"^{key}=.*\n", "", conf, flags=re.MULTILINE)
        conf = conf.replace("NodeName=DEFAULT", f"{line}\nNodeName=DEFAULT", 1)
    slurm.conf.write_text(conf)
    slurm.command("scontrol", "reconfigure")
    guide.seen["doctor again"] = guide.type(5, "wattline doctor", codes=(0, 1))
    guide.type(5, "slurm-user.conf")


def others(names: tuple[str, ...]) -> None:
    """Start the agents of all other nodes, in one process: each with its own key."""
    text = Path("/etc/wattline/node.toml").read_text()
    one = text[text.index("[node]") : text.index("[model]")].replace("[node]", "[[node]]")
    tables = "".join(one.replace("n001", name) for name in names[1:])
    text = text[: text.index("[node]")] + tables + text[text.index("[model]") :]
    text = text.replace('"node.key"', '"/run/nodes/{node}/etc/wattline/node.key"').replace(
        "/run/wattline", "/run/others"
    )
    Path("/run/others").mkdir()
    Path("/etc/wattline/others.toml").write_text(text)
    with Path("others.log").open("wb") as log:
        subprocess.Popen(["wattline", "agent", "/etc/wattline/others.toml"], stdout=log, stderr=log)


def stand_by(guide: Guide) -> None:
    """Do what step 9 says on a host that is this one, too: its unit has another name, and the folder of the socket."""
    text = (ROOT / "docs" / "live" / "install-slurm.md").read_text()
    drop_in = text.split("## 9.")[1].split("```ini\n")[1].split("```")[0]
    units = Path("/etc/systemd/system")
    shutil.copy(units / "wattline-controller.service", units / "wattline-standby.service")
    shutil.copytree(units / "wattline-controller.service.d", units / "wattline-standby.service.d")
    (units / "wattline-standby.service.d" / "standby.conf").write_text(drop_in)
    shutil.copy("/root/wattline-keys/secret/standby.key", "/etc/wattline/keys/secret/standby.key")
    subprocess.run(["systemctl", "start", "wattline-standby"], check=True)
    guide.seen["standby"] = Path("/run/systemd-like/wattline-standby/log").read_text()


def status() -> Document:
    """Return what the controller that leads shows; nothing while nobody does."""
    try:
        return fetch("/run/wattline-controller/status.sock")
    except InputError:
        return Document("nobody", 0.0)


def limit_files() -> list[Path]:
    """Return the files of all limits."""
    return list(Path("/run/trees").glob("*/intel-rapl:?/constraint_0_power_limit_uw"))


def lead(guide: Guide, slurm: SlurmCluster) -> None:
    """Type steps 6 to 8: agents, the dry run, and a led partition."""
    seen, like = guide.seen, Path("/run/systemd-like")
    seen["agent"] = guide.type(6, "enable --now wattline-agent")
    others(slurm.names)
    seen["bus"] = guide.type(6, "--bus")
    job = slurm.submit("sleep 240", "--comment=kind=post", "-H")  # it runs on to the end of all this
    slurm.command("scontrol", "release", job)
    seen["dry run"] = guide.type(7, "dry-run.conf", codes=(0, 1))  # 1: nothing to do for it
    seen["state in the dry run"] = slurm.shown(job, "State")
    change("/etc/wattline/node.toml", ('start = "free"', 'start = "safe"'))
    kept = Path("/etc/systemd/system/wattline-controller.service.d/kept.conf")
    kept.write_text("[Service]\nRuntimeDirectoryPreserve=yes\n")  # the standby's socket will be in the same folder
    seen["status"] = guide.type(8, "restart wattline-controller")
    seen["users"] = [
        Path(f"/proc/{(like / name / 'pid').read_text()}").owner() for name in ("wattline-controller", "wattline-agent")
    ]
    (slurm.base / "job_submit.lua").write_text(LUA)
    conf = slurm.conf.read_text()
    slurm.conf.write_text(conf.replace("MinJobAge", "JobSubmitPlugins=lua\nMinJobAge", 1))
    slurm.command("scontrol", "reconfigure")
    jobs = [slurm.submit("sleep 60", "--comment=kind=post", "-t", "2") for _ in range(3)]
    until("jobs start", lambda: all(slurm.shown(one, "State") == "RUNNING" for one in jobs))
    waits = [slurm.submit("true", "--comment=kind=solver", "-t", "60", nodes=30)]
    until("a job is held", lambda: slurm.shown(waits[0], "Reason") == "JobHeldAdmin")
    until("led", lambda: status().nodes.get("led") == NODES)
    stand_by(guide)
    subprocess.run(["systemctl", "stop", "wattline-controller"], check=True)
    until("the standby leads", lambda: (status().term, status().nodes.get("led")) == (2, NODES))
    seen["held meanwhile"] = slurm.shown(waits[0], "Reason")
    slurm.conf.write_text(conf)
    seen["back"] = guide.type(8, "wattline off", codes=(0, 1))  # of grep: nothing is held
    seen["codes"] = [
        (like / name / "codes").read_text().split() for name in ("wattline-controller", "wattline-standby")
    ]
    seen["reason"] = slurm.shown(waits[0], "Reason")
    limits = {path.read_text().strip() for path in limit_files()}
    seen["limits"] = sorted(limits)


def _ours(name: str) -> list[Path]:
    return [path for path in Path("/", name).rglob("*wattline*") if path.parts[2] not in ("systemd-like", "nodes")]


def network() -> None:
    """Give this namespace a loopback, and on it the addresses of the guide's controllers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, 0x8914, struct.pack("16sH14s", b"lo", 0x1 | 0x40, b""))  # SIOCSIFFLAGS: up, running
        for number, address in enumerate(("10.0.0.1", "10.0.0.2"), 1):
            where = struct.pack("HH4s8s", socket.AF_INET, 0, socket.inet_aton(address), b"")
            fcntl.ioctl(any_one, 0x8916, struct.pack("16s16s", f"lo:{number}".encode(), where))  # SIOCSIFADDR


def main() -> None:
    """Type all of it."""
    folder = Path(sys.argv[1])
    network()
    lay_over(folder)
    os.chdir(folder)
    stand_ins(folder)
    guide, slurm = (
        Guide(folder),
        SlurmCluster(folder / "slurm", NODES, digits=3, user="slurm", held_at_entry=False, scheduler=STOCK),
    )
    Path("/etc/slurm/slurm.conf").unlink(missing_ok=True)
    Path("/etc/slurm").mkdir(exist_ok=True)
    Path("/etc/slurm/slurm.conf").symlink_to(slurm.conf)
    with slurm.running(), nature(slurm.names):
        before = {path.read_text() for path in limit_files()}
        guide.seen["limits before"] = sorted(text.strip() for text in before)
        install(guide, slurm)
        lead(guide, slurm)
        guide.type(10, "userdel")
        shutil.rmtree("/run/wattline-controller")  # systemd removes it where no other unit on the host has it
        guide.seen["files"] = [
            str(path) for name in ("etc", "opt", "var", "usr/local/bin", "run") for path in _ours(name)
        ]
    guide.seen["left"] = {step: blocks for step, blocks in guide.left.items() if blocks and step != 9}
    guide.seen["times"] = guide.times
    sys.stdout.write(json.dumps(guide.seen) + "\n")


if __name__ == "__main__":
    main()
