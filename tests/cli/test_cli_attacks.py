"""Input that was made to do harm: names that are HTML, bytes that are no text, numbers without end, too little room, a
mixed-up clock.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from calling import SCENARIO, Call

from wattline.journal import journal

EVIL = "</script><img src=x onerror=alert(1)>"


def outside_scripts(page: Path) -> str:
    """Return what a browser takes for markup."""
    return re.sub(r"(?is)<script\b[^>]*>.*?</script\s*>", "", page.read_text(encoding="utf-8"))


def test_names_never_become_markup(folder: Path, wattline: Call) -> None:
    """Names of jobs, users, groups, kinds, classes, files, scenarios and applications are text on every page."""
    evil = EVIL.replace("</script>", "")
    rows = [f'{60 * i},{300 + i},{1 + i % 4},"{EVIL}{i % 3}","{EVIL}","{EVIL}{i % 2}"' for i in range(30)]
    (folder / f"jobs{evil}.csv").write_text("\n".join(["submit_s,work_s,nodes,user,group,kind", *rows]) + "\n")
    for name in ("a", "b"):
        text = f"name = '{name}{evil}'\n[trace]\nfile = 'jobs{evil}.csv'\n[cluster]\nnodes = 8\nname = '{EVIL}'\n"
        (folder / f"{name}.toml").write_text(text)
    plan = (Path(__file__).parents[2] / "examples/plans/purchase.toml").read_text()
    (folder / "plan.toml").write_text(re.sub(r'(?m)^name = "(.*)"$', rf"name = '{EVIL}\1'", plan))
    assert wattline("run", "a.toml", "--out", "run", "--quiet").code == 0
    assert wattline("compare", "a.toml", "b.toml", "--out", f"cmp{evil}", "--quiet").code == 0
    assert wattline("plan", "plan.toml", "--out", "plan.html", "--quiet").code == 0
    for page in (folder / "run" / "report.html", folder / f"cmp{evil}" / "comparison.html", folder / "plan.html"):
        markup = outside_scripts(page)
        assert "&lt;img src=x" in markup, page
        assert "<img src=x" not in markup, page


def test_names_that_are_no_text_are_refused_first(folder: Path) -> None:
    """Bytes that are no UTF-8 could not be written into a journal: they are refused before anything is simulated."""
    done = subprocess.run(
        [sys.executable, "-m", "wattline", "run", "small.toml", "--out", b"out\xff"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "is not UTF-8 text" in done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["small.swf", "small.toml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "small.swf", "--seed", "1" * 100_000),
        ("replay", "small.swf", f"--seed={'1' * 400}"),
        ("compare", "small.toml", "--seeds", "1" * 5000),
        ("trace", "generate", "lublin", "x.swf", "--users", "9" * 30),
        ("replay", "small.swf", "--nodes", "1" * 400),
        ("run", "small.toml", "--set", f"seed={'1' * 100_000}"),
        ("compare", "small.toml", "--seeds", "1000000000"),
        ("compare", "small.toml", "--seeds", "2", "--threads", "1000000"),
        ("run", "small.toml", "--set", "cluster.nodes=" + "[" * 3000),
        ("bid", "small.toml", "--hours", "1000000000"),
    ],
)
def test_numbers_without_end(wattline: Call, arguments: tuple[str, ...]) -> None:
    """A number of many digits, or one that stands for too much work, is refused in a line that names the flag and fits
    a screen.
    """
    answer = wattline(*arguments)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err[:500]
    assert len(answer.err) < 500
    assert arguments[-1].partition("=")[0][:20] in answer.err or arguments[-2] in answer.err


def test_a_second_line_of_a_setting_is_not_dropped(wattline: Call) -> None:
    """One --set sets one key: what stood on another line was left out without a word."""
    for command in (("run", "small.toml", "--set"), ("sweep", "small.toml", "--vary")):
        answer = wattline(*command, "cluster.nodes=[8]\ncluster.idle=9")
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert "expected one value, and another line follows it" in answer.err
    assert wattline("run", "small.toml", "--set", "cluster.nodes=\n8\n").code == 2  # TOML has no such value
    assert wattline("run", "small.toml", "--set", 'policy.order="""\nfcfs"""').code == 0


def test_too_little_address_space(folder: Path) -> None:
    """Where libraries could not even be loaded (ulimit -v), that is said instead of a crash in one of them."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (900_000_000, 900_000_000))

    done = subprocess.run(
        [sys.executable, "-m", "wattline", "run", "small.toml"],
        cwd=folder,
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("wattline: this process may have 900 MB of address space only, Wattline needs 2")


@pytest.mark.parametrize("year", [1970, 2100])
def test_a_clock_that_is_wrong(folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch, year: int) -> None:
    """A machine that takes today for 1970 or 2100, and files from the future, change nothing but what is said of the
    date.
    """

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(year, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(journal, "datetime", Clock)
    os.utime(folder / "small.toml", (4.2e9, 4.2e9))
    for _ in range(2):
        assert wattline("run", "small.toml", "--out", "here", "--quiet", "--no-report").code == 0
    assert json.loads((folder / "here" / "manifest.json").read_text())["created"].startswith(str(year))
    assert wattline("report", "here", "--quiet").code == 0


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else")
@pytest.mark.parametrize("home", ["closed", "unknown"])
def test_without_permission(home: str) -> None:
    """For a user who may neither read nor write, each is one line with the name, before anything is computed.

    Whose home is closed to them, as after ``su`` without its environment, or unknown, as in many containers, changes
    nothing.
    """
    uid = {"closed": "65534", "unknown": "54321"}[home]
    nobody = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", sys.executable]
    plain = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("WATTLINE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        plain.pop(name, None)
    if subprocess.run([*nobody, "-c", "import wattline.cli.app"], cwd="/", capture_output=True, env=plain).returncode:
        pytest.skip("another user cannot read this installation")
    with tempfile.TemporaryDirectory() as made:  # the folders of pytest are closed to others
        folder = Path(made)
        folder.chmod(0o755)
        if home == "closed":
            (folder / "home").mkdir(mode=0o700)
            plain["HOME"] = str(folder / "home")
        (folder / "small.toml").write_text(SCENARIO)
        (folder / "secret.toml").write_text(SCENARIO)
        (folder / "secret.toml").chmod(0)
        for arguments, said in (
            (("run", "secret.toml"), "secret.toml"),
            (("run", "small.toml", "--out", "new/here"), "new/here: cannot be written"),
            (("compare", "small.toml", "--seeds", "2", "--out", "new"), "new: cannot be made"),
            (("examples", "new"), "new"),
            (("bid", "small.toml", "--write", "new.toml"), "new.toml"),
        ):
            done = subprocess.run(
                [*nobody, "-m", "wattline", *arguments], cwd=folder, capture_output=True, text=True, env=plain
            )
            lines = [line for line in done.stderr.splitlines() if "no writable cache" not in line]
            assert (done.returncode, len(lines)) == (2, 1), done.stderr
            assert lines[0].startswith("wattline: ")
            assert said in lines[0]


def test_ctrl_c_while_compiling(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever interrupts the first compilation gets 130 and one line; what is in the cache by then is whole."""
    monkeypatch.setenv("WATTLINE_CACHE_DIR", str(folder / "cache"))
    process = subprocess.Popen(
        [sys.executable, "-m", "wattline", "run", "small.toml", "--no-report"],
        cwd=folder,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (ignored in the background)
    )
    assert process.stderr is not None
    said = ""
    while "compiling the core and" not in said:
        line = process.stderr.readline()
        assert line
        said += line
    process.send_signal(signal.SIGINT)
    _, left = process.communicate(timeout=60)
    assert process.returncode == 130, left
    assert left.splitlines()[-1] == "wattline: interrupted"
    assert "Traceback" not in left
    from wattline.kernel.cache import read_or_say

    for path in [*(folder / "cache").rglob("*.nbi"), *(folder / "cache").rglob("*.nbc")]:
        assert read_or_say(path)  # damage is a warning, which fails a test
