"""Slurm's commands are run as they are meant, and their answers read as they are."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from wattline.live.machine.base import ManagerError
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.marks import Mark, read_mark
from wattline.live.machine.slurm.text import JOB_FIELDS, hosts, job_rows, limit_s, node_rows

ROW = (
    "12_3|12|RUNNING|None|4294901757|2|8|8|1794840006|1794840087|1794840087|1794840387|5:00|ada|(null)|main,long|(null)"
    "|1|0|n[3-4]|n[3-4]|N/A|(null)|(null)|1000M|4|0|cpu=8,mem=8000M,node=2,billing=8|gres:gpu:a100:2|N/A|N/A|N/A"
    "|power_w=350"
)
"""A line of squeue of Slurm 22.05."""

FAKE = """#!/usr/bin/python3
import os, sys
fields = next(word for word in sys.argv if word.startswith("--Format="))[9:].split(",")
for line in open(os.path.join(os.path.dirname(sys.argv[0]), "rows"), newline="").read().split("@"):
    values = line.split("|")
    sys.stdout.write("".join(value + field.partition(":")[2] for value, field in zip(values, fields)) + chr(10))
"""


def script(folder: Path, name: str, text: str) -> Commands:
    """Put a command of our own on the path."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return Commands(folder=folder, timeout_s=5.0)


def test_a_row_of_squeue_is_read(tmp_path: Path) -> None:
    """Numbers, times, nodes and missing values of a row are what squeue meant."""
    (tmp_path / "rows").write_text(ROW)
    (row,) = script(tmp_path, "squeue", FAKE).jobs()
    assert (row.id, row.state, row.reason, row.nodes, row.cpus, row.tasks) == ("12_3", "RUNNING", "", 2, 8, 8)
    assert (row.submit_s, row.end_s, row.limit_s) == (1794840006.0, 1794840387.0, 300.0)
    assert (row.on, row.wanted, row.partitions) == (("n3", "n4"), ("n3", "n4"), ("main", "long"))
    assert (row.account, row.dependency, row.het, row.batch, row.comment) == ("", "", False, True, "power_w=350")
    assert (row.memory_mb, row.least_cpus, row.contiguous, row.gres) == (4000.0, 4, False, (("gpu:a100", 2),))


def test_comments_cannot_forge_rows(tmp_path: Path) -> None:
    """Line ends and separators that a user writes into a comment stay in the comment."""
    evil = ROW.replace("power_w=350", "x\n99!1!PENDING~~ \n").replace("!", "~")
    (tmp_path / "rows").write_text(evil + "@" + ROW)
    rows = script(tmp_path, "squeue", FAKE).jobs()
    assert [row.id for row in rows] == ["12_3", "12_3"]
    assert rows[0].comment == "x\n99~1~PENDING~~ \n"


def test_words_of_our_environment_do_not_reach_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQUEUE_STATES, SLURM_CLUSTERS and the like would change what commands do; times come as seconds."""
    monkeypatch.setenv("SQUEUE_STATES", "RUNNING")
    monkeypatch.setenv("SLURM_CLUSTERS", "elsewhere")
    made = script(tmp_path, "scontrol", "#!/bin/sh\nenv\n")
    told = made.config()
    assert "SQUEUE_STATES" not in told
    assert "SLURM_CLUSTERS" not in told
    assert (told["SLURM_TIME_FORMAT"], told["LC_ALL"]) == ("%s", "C")


def test_no_shell_reads_the_words(tmp_path: Path) -> None:
    """What stands in a job's name or nodes is a word of a command and nothing else."""
    made = script(
        tmp_path, "scontrol", '#!/bin/sh\nfor word in "$@"; do echo "$word" >> "$(dirname "$0")/words"; done\n'
    )
    assert made.update("7; touch /tmp/x", reqnodelist="$(id) n1") is None
    words = (tmp_path / "words").read_text().splitlines()
    assert words == ["update", "jobid=7; touch /tmp/x", "reqnodelist=$(id) n1"]


@pytest.mark.parametrize(
    "said",
    [
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        "slurm_update error: Socket timed out on send/recv operation",
        "scontrol: error: If munged is up, restart with --num-threads=10",
        "slurm_update error: Zero Bytes were transmitted or received",
    ],
)
def test_a_slurm_that_is_not_there_is_no_refusal(tmp_path: Path, said: str) -> None:
    """Who cannot be reached has not refused the job: the command is to be tried again."""
    made = script(tmp_path, "scontrol", f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    with pytest.raises(ManagerError, match="scontrol: "):
        made.release("7")


def test_a_refusal_is_a_line(tmp_path: Path) -> None:
    """What Slurm says against a command comes back in one line."""
    made = script(tmp_path, "scontrol", "#!/bin/sh\necho 'Invalid job id\n specified for job 7' >&2\nexit 1\n")
    assert made.release("7") == "Invalid job id specified for job 7"


def test_a_job_that_is_just_changing_is_tried_again(tmp_path: Path) -> None:
    """Slurm says so while it starts or ends a job; what it says of nothing else is taken for its word."""
    count, again = tmp_path / "count", "echo 'Job can not be altered now, try again later' >&2; exit 1"
    said = f"#!/bin/sh\necho x >> {count}\n[ $(wc -l < {count}) -ge 2 ] && exit 0\n{again}\n"
    assert script(tmp_path, "scontrol", said).update("7", comment="x") is None
    assert count.read_text() == "x\nx\n"
    told = script(tmp_path, "scontrol", f"#!/bin/sh\necho x >> {count}\n{again}\n").update("7", comment="x")
    assert told is not None
    assert "try again later" in told
    assert count.read_text() == 6 * "x\n"


def test_a_command_that_hangs_is_given_up(tmp_path: Path) -> None:
    """After the time-out the command is ended, and Slurm has not answered."""
    made = script(tmp_path, "squeue", f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    made.timeout_s = 0.5
    with pytest.raises(ManagerError, match=r"squeue: no answer within 0.5 s"):
        made.jobs()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_several_commands_share_a_time_out(tmp_path: Path) -> None:
    """A look takes several commands; together they end within the time-out, or the controller might lose its lease."""
    made = script(tmp_path, "scontrol", "#!/bin/sh\nsleep 0.6\n")
    made.timeout_s = 1.0
    made.begin()
    assert made.hold("7") is None
    began = time.monotonic()
    with pytest.raises(ManagerError, match="no answer"):
        made.hold("7")
    assert time.monotonic() - began < 0.6
    made.begin()
    assert made.hold("7") is None


def test_missing_commands_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Slurm's commands the line says what to do."""
    made = Commands(folder=tmp_path)
    made.environment["PATH"] = str(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ManagerError, match=r"squeue: not found; install Slurm's commands"):
        made.jobs()


def test_answers_that_are_cut_off_are_refused() -> None:
    """Half a row is no row."""
    whole = "".join(f"{value}~~" for value in ROW.split("|"))
    rows, known = job_rows(whole + "\n", "~~", {})
    assert len(rows) == 1
    again, _ = job_rows(whole.replace("~~", "~!") + "\n", "~!", known)
    assert again[0] is rows[0]
    assert job_rows("", "~~", known) == ([], {})
    for cut in ("\n12_4~~", "\n12_4~~\n"):
        with pytest.raises(ManagerError, match="not understood"):
            job_rows(whole + cut, "~~", {})
    with pytest.raises(ManagerError, match="'x' is not understood"):
        job_rows("x~~" + "y~~" * (len(JOB_FIELDS) - 1) + "\n", "~~", {})


def test_excluded_nodes_are_read(tmp_path: Path) -> None:
    """Nodes that jobs exclude come by name; a list that nobody can mean is no answer."""
    made = script(tmp_path, "squeue", "#!/bin/sh\nprintf '7_1|n[1-2]\\n8|\\n9|n3\\n'\n")
    assert made.excluded() == {"7_1": ("n1", "n2"), "9": ("n3",)}
    made = script(tmp_path, "squeue", "#!/bin/sh\necho '7|n[1-9999999]'\n")
    with pytest.raises(ManagerError, match="is too long"):
        made.excluded()


def test_admin_comments_of_old_and_new_versions(tmp_path: Path) -> None:
    """Slurm 22.05 writes plain numbers, later versions objects; tasks of arrays have the names that squeue gives."""
    old = '{"jobs": [{"job_id": 9, "array_job_id": 7, "array_task_id": 2, "admin_comment": "wattline=run"}]}'
    new = (
        '{"jobs": [{"job_id": 9, "array_job_id": {"set": true, "infinite": false, "number": 0}, '
        '"array_task_id": {"set": false, "infinite": false, "number": 0}, "admin_comment": "a"}]}'
    )
    for text, told in ((old, {"7_2": "wattline=run"}), (new, {"9": "a"})):
        assert script(tmp_path, "squeue", f"#!/bin/sh\necho '{text}'\n").admin_comments() == told


def test_nodes_of_several_partitions(tmp_path: Path) -> None:
    """A node is shown once for each partition, with all its states."""
    (row,) = node_rows("n1~idle+drain~main*~4~8000~gpu:2(S:0-1)~broken fan~", "~")
    assert (row.name, row.states, row.partition, row.cpus, row.reason) == (
        "n1",
        ("idle", "drain"),
        "main",
        4,
        "broken fan",
    )
    assert (row.memory_mb, row.gres) == (8000.0, (("gpu", 2),))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[1-3,07]", ("n1", "n2", "n3", "n07")),
        ("r[1-2]n[08-09],m4", ("r1n08", "r1n09", "r2n08", "r2n09", "m4")),
        ("(null)", ()),
        ("n1", ("n1",)),
    ],
)
def test_lists_of_hosts(text: str, names: tuple[str, ...]) -> None:
    """Lists of hosts are spelled out with their leading zeros."""
    assert hosts(text) == names


def test_limits() -> None:
    """Time limits of all forms; a year is what Slurm gives who asks for none."""
    assert [limit_s(t) for t in ("5:00", "1:00:00", "2-00:00:00")] == [300.0, 3600.0, 172800.0]
    assert [limit_s(t) for t in ("UNLIMITED", "365-00:00:00", "INVALID")] == [math.inf] * 3


def test_marks_are_read_as_they_are_written() -> None:
    """What is noted at a job is read back; other people's words are no marks."""
    for mark in (Mark("held"), Mark("run", paused_s=61.0, given_min=2), Mark("stopped", 1794840006.0, 5.0, 1)):
        assert read_mark(str(mark)) == mark
    assert read_mark("mywattline=run") == read_mark("wattline=evil") == read_mark("") == Mark()
