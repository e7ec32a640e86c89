"""Compiling for the first time: in processes of its own, which Ctrl-C ends, and said as it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from wattline.control.catalog import find
from wattline.kernel.cache import FAST
from wattline.kernel.compiled import JIT
from wattline.sim import warm

AHEAD = warm.AHEAD["sim.engine"] if FAST else ()
NOTHING = lambda _done, _total: None  # noqa: E731  (nobody looks)
READER = "import sys\nfor line in sys.stdin:\n    part = line.strip()\n"


def test_ctrl_c_ends_those_who_compile(tmp_path: Path) -> None:
    """An impatient user waits for no compiler, and none goes on behind their back."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where tests run in the background
    began, go, late = (tmp_path / name for name in ("began", "go", "late"))

    def press() -> None:
        deadline = time.monotonic() + 30
        while not began.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    worker = (
        f"import time, pathlib; pathlib.Path({str(began)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)\n"
        f"pathlib.Path({str(late)!r}).touch()"
    )
    presses = threading.Thread(target=press)
    presses.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            warm.in_processes(["one", "two"], NOTHING, worker)
    finally:
        presses.join()
        signal.signal(signal.SIGINT, before)
    go.touch()
    time.sleep(0.5)
    assert not late.exists()


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_while_those_who_compile_are_started(begun: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that comes just before or after a thread has begun is Ctrl-C, and not an error of ours."""

    class Interrupted(threading.Thread):
        def start(self) -> None:
            if begun:
                super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(warm.threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        warm.in_processes(["one", "two"], NOTHING, "import time; time.sleep(600)")


def test_what_goes_wrong_elsewhere_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """A helper that fails says nothing: what it should have made is made, and failures said, by whoever needs it."""
    warm.in_processes(["one", "two", "three"], NOTHING, "raise SystemExit('no')")
    assert capfd.readouterr() == ("", "")


def test_every_part_is_made_once_and_progress_is_shown(tmp_path: Path) -> None:
    """Processes share the parts, the longest first, and what is done of all is shown until all is."""
    worker = f"{READER}    open({str(tmp_path)!r} + '/' + part, 'a').write('x')\n    print(part, flush=True)\n"
    shown: list[tuple[int, int]] = []
    warm.in_processes(["order=a", "sim.engine", "cap=b"], lambda *now: shown.append(now), worker)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("order=a", "sim.engine", "cap=b"), "x"
    )
    assert (shown[0], shown[-1]) == ((0, 12), (12, 12))
    assert shown == sorted(shown)


@pytest.mark.skipif(not JIT, reason="about compiled code")
def test_what_is_said_is_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the cache has not is announced and compiled: the core, or single policies although the core is there,
    or nothing.
    """
    made: list[str] = []
    monkeypatch.setattr(warm, "in_processes", lambda parts, _show: made.extend(parts))
    policies = [find("order", "lcfs"), find("select", "easy"), find("place", "lowest")]
    monkeypatch.setattr(warm.importlib, "import_module", lambda _name: None)
    for cold, parts, said in (
        (
            {"run", "daily", "lcfs", "easy", "lowest"},
            ["sim.engine", "control.daily", *AHEAD, "order=lcfs", "select=easy", "place=lowest"],
            "the core and 3 policies",
        ),
        ({"easy"}, ["select=easy"], "1 policy"),
        ({"daily"}, ["control.daily"], "the core"),
        (set(), [], ""),
    ):
        made.clear()
        heard: list[str] = []
        monkeypatch.setattr(warm, "is_warm", lambda _module, name, cold=cold: name not in cold)
        monkeypatch.setattr(warm, "_warm", set())
        warm.warm_up(policies, heard.append, nodes_change=False)
        assert made == parts
        assert [line.partition("compiling ")[2].partition(" for this machine")[0] for line in heard] == [said] * bool(
            said
        )


@pytest.mark.skipif(not JIT or not FAST, reason="about compiled code of a version of numba that we know")
def test_what_is_translated_ahead_is_what_the_core_calls() -> None:
    """Helpers that are translated ahead exist, and take nothing but records and numbers."""
    for part in (helper for helpers in warm.AHEAD.values() for helper in helpers):
        warm.make(part)


def test_helpers_come_right_after_the_parts_that_wait_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The long part of the core is begun first, then the helpers that it comes to late, then the rest, long ones
    first.
    """
    monkeypatch.setattr(warm, "workers", lambda: 1)
    worker = f"{READER}    open({str(tmp_path / 'made')!r}, 'a').write(part + '\\n')\n    print(part, flush=True)\n"
    warm.in_processes(["order=a", "control.daily", "select=b", "control.guard:take", "sim.engine"], NOTHING, worker)
    made = (tmp_path / "made").read_text().split()
    assert made == ["sim.engine", "control.guard:take", "select=b", "control.daily", "order=a"]


@pytest.mark.parametrize(("part", "others"), [("sim.engine", ("daily", "chores")), ("control.chores", ("daily",))])
def test_a_part_of_the_core_compiles_no_other(part: str, others: tuple[str, ...]) -> None:
    """The loop and all chores are entry points of their own: who compiles one imports no other, which would compile it
    too.
    """
    code = f"import sys, wattline.{part}; print([n for n in {others} if f'wattline.control.{{n}}' in sys.modules])"
    plain = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
