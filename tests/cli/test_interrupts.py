"""Ctrl-C is heard wherever it comes: also where Python drops what is raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import python
from wattline.kernel.compiled import JIT

HEAD = """\
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from wattline.cli.interrupts import hear
hear()
pressed = []

def press():
    if not pressed:
        pressed.append(1)
        signal.raise_signal(signal.SIGINT)
"""
WATCH = """\
import sys

def profile(frame, event, arg):
    if event == 'call' and (frame.f_code.co_filename.endswith(FILE) and frame.f_code.co_name == NAME):
        press()
"""
PLACES = {
    "a finalizer": "class A:\n    def __del__(self):\n        press()\n\ndef work():\n    a = A()\n    del a\n",
    "what a finalizer calls": (
        "class A:\n    def __del__(self):\n        self.end()\n\n    def end(self):\n        press()\n\n"
        "def work():\n    A()\n"
    ),
    "an import": (
        WATCH.replace("FILE", "'importlib._bootstrap>'").replace("NAME", "'cb'")
        + "def work():\n    sys.setprofile(profile)\n    import colorsys\n    sys.setprofile(None)\n"
    ),
    "the compiler": (
        "import numba\n"
        + WATCH.replace("FILE", "'executionengine.py'").replace("NAME", "'_raw_object_cache_getbuffer'")
        + "def work():\n    sys.setprofile(profile)\n    numba.njit('int64(int64)')(lambda x: x + 1)\n"
    ),
}
TAIL = """
try:
    work()
    assert pressed, "nobody pressed"
    time.sleep(5.0)
    print("not heard")
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_is_not_lost(tmp_path: Path, place: str) -> None:
    """It is raised a moment later, where somebody hears it."""
    if place == "the compiler" and not JIT:
        pytest.skip("about compiled code")
    done = python(HEAD + PLACES[place] + TAIL, tmp_path)
    assert done.code == 0, done.err
    assert done.out == "heard\n", done.err


def test_elsewhere_it_is_heard_at_once(tmp_path: Path) -> None:
    """Where it is ignored, as with nohup, it stays so."""
    done = python(HEAD + "work = press\n" + TAIL, tmp_path)
    assert done.out == "heard\n", done.err
    ignored = HEAD.replace("signal.default_int_handler", "signal.SIG_IGN")
    done = python(ignored + "work = press\n" + TAIL.replace("5.0", "0.1"), tmp_path)
    assert done.out == "not heard\n", done.err


PRESSES = """\
import os, signal, time
import wattline as wl

calls = 0


@wl.policy("learn")
def presses(s, arg, param, memory):
    global calls
    calls += 1
    if calls == AT:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
    return 0
"""
ENDS = {
    "short runs": (
        "jobs = wl.draw_trace('lublin', nodes=8, jobs=3, load=0.5, seed=1)\nfor i in range(200):\n"
        "    wl.simulate(jobs, wl.Machine(nodes=8), learn=presses, progress=False)\n"
    ),
    "wl.check": "wl.check(presses)\n",
    "check-policy": "import sys\nfrom wattline.cli import main\nsys.argv[1:] = 'check-policy', 'pressing.py'\nmain()\n",
}


@pytest.mark.parametrize("at", [2, 6, 33])
@pytest.mark.parametrize("work", ENDS)
def test_ctrl_c_while_the_last_instants_are_simulated_ends_what_goes_on(tmp_path: Path, work: str, at: int) -> None:
    """A run that is over is whole, but who began it is to stop: no other run begins."""
    (tmp_path / "pressing.py").write_text(PRESSES.replace("AT", str(at)))
    body = "".join("    " + line for line in ENDS[work].splitlines(keepends=True))
    tail = "    print('not heard')\nexcept KeyboardInterrupt:\n    print('heard')\n"
    done = python(HEAD + "from pressing import presses\nimport wattline as wl\ntry:\n" + body + tail, tmp_path)
    if work == "check-policy":
        assert (done.code, done.err.splitlines()[-1]) == (130, "wattline: interrupted"), done.err
    else:
        assert done.out == "heard\n", done.err
